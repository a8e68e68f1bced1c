/** Plays the slider of a solved path: to its right end, to its left end, and back. */

import { el, setText } from "./elements.js";

const STEP_MS = 120;

/** All positions on the way, without the first one. */
export function wayOf(from, end) {
  const run = (a, b) => Array.from({ length: Math.abs(b - a) }, (_, i) => a + Math.sign(b - a) * (i + 1));
  return [...run(from, end), ...run(end, 0), ...run(0, from)];
}

/** The button. Space pauses and goes on: it is pressed again. */
export class Play {
  constructor(app) {
    this.app = app;
    this.button = el("button", { type: "button", class: "play", title: "Move the slider from end to end and back. Space pauses." });
    this.button.addEventListener("click", () => (this.timer ? this.pause() : this.start()));
    this.pause();
  }

  start() {
    const { controls: { scrub }, path } = this.app;
    if (!scrub || !path) return;
    this.scrub = scrub;
    const at = Number(scrub.range.value);
    if (!this.way?.length || this.at !== at) this.way = wayOf(at, path.values.length - 1);
    scrub.held = true;
    setText(this.button, "‖ Pause");
    this.timer = setInterval(() => this.step(), STEP_MS);
  }

  step() {
    const { controls: { scrub } } = this.app;
    const gone = scrub !== this.scrub || !this.button.isConnected; // another path, another page
    if (gone || !this.way.length) return this.pause();
    this.at = this.way.shift();
    scrub.slide(this.at);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = undefined;
    if (this.scrub) this.scrub.release();
    this.scrub = undefined;
    setText(this.button, "▶ Play");
  }

  /** It is there as long as the slider is, and nobody has locked it. */
  show() {
    const { scrub } = this.app.controls;
    this.button.hidden = !scrub || scrub.range.disabled;
  }
}
