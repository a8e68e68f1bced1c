/** What a lesson draws on the figure: the border before an answer, and a marked place. */

import { css, strokes } from "./marks.js";
import { boundaries } from "./regions.js";
import { frameOf } from "./scene.js";

const ARM = 8; // px of the mark's cross

/** While a question is open, a picture comes without its numbers. */
export const isAsked = (picture) => picture?.readouts.length === 0;

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

/** Index of the place nearest to another one, or -1. */
export function nearestOf([x, y], places) {
  const far = places.map(([px, py]) => Math.hypot(px - x, py - y));
  return far.indexOf(Math.min(...far));
}

/** The border that an answer has changed, until the visitor changes something; the visitor's mark. */
export class LessonLayer {
  lines = null;
  mark = null;

  /** A picture comes in the place of another one, maybe with what the server says of the question. */
  follow(scene, before, after, mark = null) {
    this.mark = mark;
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

  /** What there is to say in the legend. */
  get words() {
    return [this.lines && "dashed: border before the answer", this.mark?.at && "your mark; ring: where it was"];
  }

  paint(pen, theme, plot) {
    if (this.lines) {
      plot.tracePath(pen, this.lines, this.grid);
      pen.lineCap = "butt";
      strokes(pen, [3.4, css(theme.back, 0.8)], [1.6, css(theme.text, 0.75)]);
    }
    if (!this.mark?.at) return;
    const { at, found } = this.mark;
    const place = ([x, y]) => [plot.px(x), plot.py(y)];
    const index = nearestOf(at, found);
    const [x, y] = place(at);
    pen.lineCap = "round";
    pen.beginPath();
    pen.moveTo(x - ARM, y - ARM);
    pen.lineTo(x + ARM, y + ARM);
    pen.moveTo(x - ARM, y + ARM);
    pen.lineTo(x + ARM, y - ARM);
    if (index >= 0) {
      pen.moveTo(x, y);
      pen.lineTo(...place(found[index]));
    }
    for (const [px, py] of found.map(place)) {
      pen.moveTo(px + 1.5 * ARM, py);
      pen.arc(px, py, 1.5 * ARM, 0, 7);
    }
    strokes(pen, [5, css(theme.back, 0.9)], [2, css(theme.text)]);
  }
}
