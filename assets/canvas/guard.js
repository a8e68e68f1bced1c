/** Draws the parts of the figure: one that fails says so in its place, and the others go on. */

import { el, setText } from "./elements.js";

export class Guard {
  lines = new Map(); // name of a part -> the sentence in its place
  logged = new Set();

  /**
   * Draw a part. What it throws is logged once and said beside it until it is drawn again.
   * @param {string} name of the part, in words @param {Element} place the sentence stands after it
   * @param {() => void} act @returns {boolean} whether it was drawn
   */
  draw(name, place, act) {
    try {
      act();
    } catch (error) {
      const text = `This part could not be drawn (${name}: ${error?.message ?? error}).`;
      if (!this.logged.has(text)) console.error(text, error);
      this.logged.add(text);
      if (!this.lines.has(name)) this.lines.set(name, el("p", { class: "failed", role: "status" }));
      const line = this.lines.get(name);
      setText(line, text);
      if (!line.isConnected) place.after(line);
      return false;
    }
    this.lines.get(name)?.remove();
    this.lines.delete(name);
    return true;
  }
}
