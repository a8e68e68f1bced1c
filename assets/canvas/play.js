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
  /** @param {() => object} slider of the path, if there is one */
  constructor(slider) {
    this.slider = slider;
    const title = "Move the slider from end to end and back. Space pauses.";
    this.button = el("button", { type: "button", class: "play", title, click: () => (this.timer ? this.pause() : this.start()) });
    this.pause();
  }

  start() {
    this.played = this.slider();
    if (!this.played) return;
    const { position, end } = this.played;
    if (!this.way?.length || this.at !== position) this.way = wayOf(position, end);
    this.played.held = true;
    setText(this.button, "‖ Pause");
    this.timer = setInterval(() => this.step(), STEP_MS);
  }

  step() {
    const gone = this.slider() !== this.played || !this.button.isConnected; // another path, another page
    if (gone || !this.way.length) return this.pause();
    this.at = this.way.shift();
    this.played.slide(this.at);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = undefined;
    this.played?.release();
    this.played = undefined;
    setText(this.button, "▶ Play");
  }

  /** It is there as long as the slider is, and nobody has locked it. */
  show() {
    this.button.hidden = this.slider()?.range.disabled ?? true;
  }
}
