/** A lesson's question about a place: the visitor's mark, and where it was. */

import { css, strokes } from "./marks.js";

const ARM = 8; // px of the mark's cross

/** Index of the place nearest to another one, or -1. */
export function nearestOf([x, y], places) {
  const far = places.map(([px, py]) => Math.hypot(px - x, py - y));
  return far.indexOf(Math.min(...far));
}

/** What the server says of the question, painted above the figure. */
export class Guess {
  constructor() {
    this.mark = null;
  }

  /** Does a click or Enter mark a place? */
  get isOpen() {
    return Boolean(this.mark?.open);
  }

  take(mark = null) {
    this.mark = mark;
  }

  paint(pen, plot) {
    if (!this.mark?.at) return;
    const { theme } = plot.app;
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
