/** The border as it was before a lesson's question was answered, beside the one after it. */

import { css, strokes } from "./marks.js";
import { boundaries } from "./regions.js";

/** While a question is open, a picture comes without its numbers. */
export const isAsked = (picture) => picture?.readouts.length === 0;

/** The window of a scene: pictures of the same one lie on each other. */
export const frameOf = ({ view }) => String([...view.x, ...view.y, view.xlabel, view.ylabel]);

/**
 * Every other piece of a border: its segments are shorter than a dash of a pen and in no order.
 * @param {number[]} lines x, y, x, y of each segment @param {number} length of a dash
 */
export function dashes(lines, length) {
  const kept = [];
  for (let i = 0; i < lines.length; i += 4) {
    const [ax, ay, bx, by] = lines.slice(i, i + 4);
    const along = Math.abs(bx - ax) > Math.abs(by - ay) ? ax + bx : ay + by;
    if (Math.floor(along / 2 / length) % 2 === 0) kept.push(ax, ay, bx, by);
  }
  return kept;
}

/** Keeps the border that the answer has changed until the visitor changes something. */
export class Ghost {
  constructor() {
    this.lines = null;
  }

  /** A picture comes in the place of another one, in the same window or not. */
  follow(scene, before, after) {
    const frame = frameOf(scene);
    const changed = before && String(before.winner) !== String(after.winner);
    if (isAsked(after)) this.clear();
    else if (isAsked(before) && before.winner && frame === this.frame && changed) {
      this.lines = dashes(boundaries(before), Math.max(...before.grid) / 50);
      this.grid = before.grid;
    }
    this.frame = frame;
  }

  clear() {
    this.lines = null;
  }

  /** Draw it dashed above the regions. */
  paint(pen, plot) {
    if (!this.lines) return;
    const { theme } = plot.app;
    plot.tracePath(pen, this.lines, this.grid);
    pen.lineCap = "butt";
    strokes(pen, [3.4, css(theme.back, 0.8)], [1.6, css(theme.text, 0.75)]);
  }
}
