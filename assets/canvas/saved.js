/** A figure in a file (smpcore/live/page_file.py): its solved values are there, and no server is asked. */

import { Answers } from "./answers.js";
import { nearestIndex } from "./controls.js";
import { Figure } from "./figure.js";
import { LessonPage } from "./lesson_page.js";
import { decode } from "./payload.js";

/** Answers as the server would, with what is in the file. */
export class Saved {
  /** @param {object} payload the answer that draws everything, with the pictures of all `knots` */
  constructor({ knots, second, ...full }) {
    Object.assign(this, { knots, second, full, start: knots });
  }

  /** @param {object} message of the figure @returns {object} its answer */
  reply({ kind, seq, values = {}, want = [] }) {
    const { full, knots, second } = this;
    const head = { v: 1, seq, busy: 0, notices: [], undo: "", kind: "picture" };
    if (kind === "knots") return { ...head, kind, knots: want.flatMap((i) => knots[i] ?? []) };
    const { controls, path, terms, headline } = full;
    const same = { ...head, job: null, headline, path, terms };
    if (kind === "reset") Object.assign(this, { last: null, knots: this.start });
    const last = this.last ?? { controls, picture: full.picture };
    const moved = new Map(); // control -> its value among those that were solved
    if (second?.param in values) {
      const row = nearestIndex(second.values, values[second.param]);
      this.knots = row === second.at ? this.start : second.knots[row];
      moved.set(second.param, second.values[row]);
    }
    if (path && (path.param in values || moved.size)) {
      const at = nearestIndex(path.values, values[path.param] ?? last.picture.value);
      moved.set(path.param, path.values[at]);
      const rows = last.controls.map((row) => (moved.has(row.name) ? { ...row, value: moved.get(row.name) } : row));
      this.last = { controls: rows, picture: this.knots[at] };
    }
    return { ...same, ...(this.last ?? last) };
  }
}

/** The transport of the figure, which takes what needs the app away. */
class Place {
  /** @param {{mark?: object, onMark?: (place: object) => void, onPicture?: (picture: object) => void}} [lesson] that the figure is in */
  constructor(host, style, payload, lesson = {}) {
    this.saved = new Saved(payload);
    this.lesson = lesson;
    const figure = (this.figure = new Figure(host, style, this));
    const { hand, share, stepper } = figure;
    if (payload.answers) figure.set({ answers: new Answers(payload.answers, globalThis.savedPrograms) });
    for (const node of [hand.undo, share.copy, stepper.opener]) node.hidden = true;
    this.reply(this.saved.full);
    figure.answer(this.saved.reply({ kind: "knots", seq: 0, want: [...this.saved.knots.keys()] }));
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.themed = () => figure.readTheme();
    this.dark.addEventListener("change", this.themed);
  }

  /** An answer, with the place that a lesson's question asks for. */
  reply(header) {
    const { mark, onPicture } = this.lesson;
    this.figure.answer(header.picture && mark ? { ...header, mark } : header);
    if (header.picture) onPicture?.(header.picture);
  }

  post(message) {
    const { mark, onMark } = this.lesson;
    if (message.op === "mark" && mark?.open) {
      this.lesson.mark = { ...mark, at: [message.x, message.y] };
      onMark(message);
    }
    queueMicrotask(() => this.reply(this.saved.reply(message)));
  }

  stop() {
    this.dark.removeEventListener("change", this.themed);
    this.figure.stop();
  }
}

/** Unpack what stands in the file, and draw it. */
export async function open(place) {
  const text = (id) => document.getElementById(id).textContent;
  const packed = Uint8Array.from(atob(text("saved-payload")), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const payload = decode(new Uint8Array(await new Response(stream).arrayBuffer()));
  place.replaceChildren(); // what stood there for who has no script
  const draw = (host, of, lesson) => new Place(host.attachShadow({ mode: "open" }), text("saved-style"), of, lesson);
  if (payload.lesson) new LessonPage(place, payload, draw);
  else draw(place, payload);
}
