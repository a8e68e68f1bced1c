/** A learning platform that shows the page: SCORM 1.2. Without one, answers stay in the browser. */

/** The API object of the platform, by SCORM's search: the windows around this one, then those that opened it. */
function find(from) {
  for (let [at, steps] = [from, 0]; at && steps < 10; steps++) {
    try {
      if (at.API) return at.API;
      const next = at.parent && at.parent !== at ? at.parent : at.opener;
      if (next === at) return null;
      at = next;
    } catch {
      return null; // a window of another site
    }
  }
  return null;
}

/** Time as HHHH:MM:SS.SS. */
const span = (ms) => {
  const pad = (value) => String(Math.floor(value)).padStart(2, "0");
  return `${pad(ms / 3.6e6).padStart(4, "0")}:${pad((ms / 6e4) % 60)}:${pad((ms / 1000) % 60)}`;
};

/** Keeps the learner's state, and reports score and completion. */
export class Course {
  /** @param {string} key of the lesson's content @param {Window} from */
  constructor(key, from = window) {
    this.key = `spe-lesson-${key}`;
    this.began = Date.now();
    const api = find(from);
    if (api?.LMSInitialize("") !== "true") return;
    this.api = api;
    if (api.LMSGetValue("cmi.core.lesson_status") === "not attempted") this.set({ "core.lesson_status": "incomplete" });
    from.addEventListener("pagehide", () => this.end());
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) this.api.LMSSetValue(`cmi.${name}`, value);
  }

  /** What was kept; anything else than JSON is nothing. */
  load() {
    try {
      return JSON.parse(this.api ? this.api.LMSGetValue("cmi.suspend_data") : localStorage.getItem(this.key));
    } catch {
      return null;
    }
  }

  /** @param {object} state @param {number} share of the answers that are right @param {boolean} done */
  save(state, share, done) {
    const text = JSON.stringify(state);
    this.done = done;
    if (this.api) {
      const score = String(Math.round(100 * share));
      this.set({
        "core.score.min": "0", "core.score.max": "100", "core.score.raw": score,
        "core.lesson_status": done ? "completed" : "incomplete", "core.lesson_location": String(state.at), "suspend_data": text,
      });
      return this.api.LMSCommit("");
    }
    try {
      localStorage.setItem(this.key, text);
    } catch {
      // A browser may refuse: the lesson goes on, and begins anew when it is opened again.
    }
  }

  end() {
    if (!this.api) return;
    this.set({ "core.exit": this.done ? "" : "suspend", "core.session_time": span(Date.now() - this.began) });
    this.api.LMSFinish("");
    this.api = null;
  }
}
