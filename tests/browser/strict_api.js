/** A learning platform's SCORM 1.2 API that accepts what the standard allows, and notes all else. */

const time = /^\d{2,4}:\d{2}:\d{2}(\.\d{1,2})?$/;
const number = (low, high) => (value) => /^-?\d+(\.\d+)?$/.test(value) && Number(value) >= low && Number(value) <= high;
const within = (most) => (value) => value.length <= most;
const one = (...words) => (value) => words.includes(value);
const WRITTEN = {
  "cmi.core.lesson_status": one("passed", "completed", "failed", "incomplete", "browsed"),
  "cmi.core.lesson_location": within(255),
  "cmi.core.exit": one("time-out", "suspend", "logout", ""),
  "cmi.core.session_time": (value) => time.test(value),
  "cmi.core.score.raw": number(0, 100),
  "cmi.core.score.min": number(0, 100),
  "cmi.core.score.max": number(0, 100),
  "cmi.suspend_data": within(4096),
};
const UNREADABLE = ["cmi.core.exit", "cmi.core.session_time"];

function begin(kept = {}) {
  const record = { values: { "cmi.core.lesson_status": "not attempted", ...kept }, wrong: [], commits: 0, stage: "closed" };
  const check = (fine, words) => fine || record.wrong.push(words);
  const runs = (name) => check(record.stage === "open", `${name} while it is ${record.stage}`);
  window.record = record;
  window.API = {
    LMSInitialize: (text) => (check(text === "" && record.stage === "closed", "LMSInitialize"), (record.stage = "open"), "true"),
    LMSFinish: (text) => (runs("LMSFinish"), check(text === "", "LMSFinish"), (record.stage = "finished"), "true"),
    LMSCommit: (text) => (runs("LMSCommit"), check(text === "", "LMSCommit"), (record.commits += 1), "true"),
    LMSGetValue: (name) => (runs(name), check(name in WRITTEN && !UNREADABLE.includes(name), `get ${name}`), record.values[name] ?? ""),
    LMSSetValue: (name, value) => {
      runs(name);
      check(typeof value === "string" && WRITTEN[name]?.(value), `set ${name} to ${value}`);
      record.values[name] = value;
      return "true";
    },
    LMSGetLastError: () => "0", LMSGetErrorString: () => "", LMSGetDiagnostic: () => "",
  };
}
