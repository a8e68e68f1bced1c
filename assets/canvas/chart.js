/** What the strip and the curves of the steps draw alike: their span, lines, numbers beside them. */

import { clamp } from "./elements.js";

/** The span of a chart on its canvas, the same as a slider's thumb walks. */
export const spanOf = (canvas, { em }) => ({ left: 2.9 * em, width: Math.max(canvas.clientWidth - 9.5 * em, 10) });

/** How far along the span of a chart a pointer is, 0 to 1. */
export function shareAt(event, canvas, theme) {
  const { left, width } = spanOf(canvas, theme);
  return clamp((event.clientX - canvas.getBoundingClientRect().left - left) / width, 0, 1);
}

/** Heights of values over their whole range; all of them in the middle where they are equal. */
export function heightsOf(values, top, bottom) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (value) => (high > low ? bottom - ((value - low) / (high - low)) * (bottom - top) : (top + bottom) / 2);
}

/** A line through points, with a gap where one is null. */
export function drawLine(pen, points, colour, dash) {
  Object.assign(pen, { strokeStyle: colour, lineWidth: 1.6 });
  pen.setLineDash(dash);
  pen.beginPath();
  points.forEach((point, i) => point && pen[points[i - 1] ? "lineTo" : "moveTo"](...point));
  pen.stroke();
  pen.setLineDash([]);
}

/** Numbers at the right end of a chart, at their heights as far as none covers another. */
export function drawNumbers(pen, numbers, { top, bottom, end, em }) {
  const rows = [...numbers].sort((a, b) => a.y - b.y);
  rows.forEach((row, i) => (row.y = Math.max(row.y, i ? rows[i - 1].y + 1.1 * em : top)));
  for (let i = rows.length - 1, floor = bottom; i >= 0; i--, floor = rows[i + 1].y - 1.1 * em)
    rows[i].y = Math.min(rows[i].y, floor);
  Object.assign(pen, { textAlign: "left", textBaseline: "middle" });
  for (const { colour, text, y } of rows) {
    pen.fillStyle = colour;
    pen.fillText(text, end + 0.5 * em, y, 6 * em);
  }
}

/** Scales that rest while a control moves, so that what shrinks is seen to shrink. */
export class Ruler {
  held = new Map();

  /**
   * Size that fills a scale: the largest now, or at rest before, while something moves.
   * @param {string} name of the scale @param {number} most largest size now
   * @param {boolean} settled nothing moves
   */
  of(name, most, settled) {
    const before = this.held.get(name) ?? 0;
    this.held.set(name, settled ? most : Math.max(before, most));
    return this.held.get(name);
  }

  /** Forget the scales: other data or another method. */
  reset() {
    this.held.clear();
  }
}
