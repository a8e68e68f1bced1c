/** The code of a row: lines from it to the training rows that it is reconstructed from. */

import { brief, el, percent, sized } from "./elements.js";
import { UNKNOWN, circle, classColour, css, strokes, writeOver } from "./marks.js";

const MOST_NAMED = 5; // lines with their weight beside them
const NAMED = 0.05; // share of the whole weight from which a line has one
const WIDEST = 9; // px

/**
 * Training rows of the code of a drawn row, the heaviest first; their shares sum to 1.
 * @param {object} codes of the picture @param {ArrayLike<number>} marks places of the training rows
 * @param {number} index of the drawn row
 */
export function casesOfCode({ prototype, weight, case: cases, share, row, label }, marks, index) {
  const [entries, most] = [prototype.shape[1], cases.shape[1]];
  const found = new Map();
  for (let e = index * entries; e < (index + 1) * entries; e++) {
    const j = prototype[e];
    if (j === UNKNOWN) continue;
    for (let c = j * most; c < (j + 1) * most; c++) {
      const at = cases[c];
      if (at < 0) continue;
      const one = found.get(at) ?? { at, row: row[at], label: label[at], share: 0, of: [], x: marks[2 * at], y: marks[2 * at + 1] };
      one.share += weight[e] * share[c];
      one.of.push(j + 1);
      found.set(at, one);
    }
  }
  const all = [...found.values()].sort((a, b) => b.share - a.share || a.at - b.at);
  const total = all.reduce((sum, one) => sum + one.share, 0);
  return all.map((one) => ({ ...one, share: one.share / total }));
}

/** A place a little beyond the end of a line. */
function beyond([fx, fy], { px, py }) {
  const far = Math.hypot(px - fx, py - fy) || 1;
  return [px + (14 * (px - fx)) / far, py + (14 * (py - fy)) / far];
}

/** Draws the code of the row that is pointed at, above the figure, which is not painted anew. */
export class Codes {
  constructor(state, plot) {
    Object.assign(this, { state, plot });
    this.index = -1;
    this.node = el("canvas", { class: "code", "aria-hidden": "true" });
    plot.canvas.after(this.node);
  }

  /** Training rows of the code of the row that is pointed at; none while a control is dragged. */
  get cases() {
    const { codes, prototypes } = this.state.shown ?? {};
    if (this.index < 0 || !codes || this.index >= codes.prototype.shape[0]) return [];
    return casesOfCode(codes, prototypes.marks, this.index);
  }

  /** @param {number} index of the drawn row, or -1 */
  show(index) {
    if (index === this.index && index < 0) return;
    this.index = index;
    this.paint();
  }

  paint() {
    const { plot, state: { theme } } = this;
    const { area, points } = plot;
    const cases = area ? this.cases : [];
    this.node.dataset.lines = cases.length;
    this.node.hidden = !cases.length;
    if (!cases.length) return;
    const pen = sized(this.node, plot.width, plot.height, plot.dpr);
    pen.beginPath();
    pen.rect(area.x, area.y, area.w, area.h);
    pen.clip();
    const from = [plot.px(points.x[this.index]), plot.py(points.y[this.index])];
    const ends = cases.filter(({ x }) => Number.isFinite(x)).map((one) => ({ ...one, px: plot.px(one.x), py: plot.py(one.y) }));
    // The lightest first, so that the heaviest line is on top.
    [...ends].reverse().forEach((one) => this.line(pen, theme, from, one, cases[0].share));
    const named = []; // places of the shares; a lighter one does not cover a heavier one
    for (const one of ends.filter(({ share }) => share >= NAMED).slice(0, MOST_NAMED)) {
      const at = beyond(from, one);
      if (named.some(([x, y]) => Math.abs(at[0] - x) < 3.2 * theme.em && Math.abs(at[1] - y) < 1.2 * theme.em)) continue;
      named.push(at);
      Object.assign(pen, { font: theme.font, textAlign: one.px >= from[0] ? "left" : "right", textBaseline: "middle" });
      writeOver(pen, theme, `${Math.round(100 * one.share)} %`, ...at);
    }
  }

  line(pen, theme, [fx, fy], { px, py, share, label }, most) {
    const wide = Math.max(WIDEST * (share / most), 1);
    pen.lineCap = "round";
    pen.beginPath();
    pen.moveTo(fx, fy);
    pen.lineTo(px, py);
    strokes(pen, [wide + 3, css(theme.back, 0.9)], [wide + 1.2, css(theme.text)], [wide, css(classColour(label, theme))]);
    circle(pen, px, py, 7);
    strokes(pen, [2, css(theme.text)]);
  }

  /** The training rows in a line of text. */
  get text() {
    const { cases } = this;
    if (!cases.length) return "";
    const first = cases.slice(0, 3).map(({ row, share }) => `row ${row} (${percent(share)})`);
    const more = cases.length > 3 ? ` and ${cases.length - 3} more` : "";
    return `reconstructed from ${first.join(", ")}${more}`;
  }

  /** Cells of a table, a line for each training row. */
  get table() {
    const { classes, points } = this.state.scene;
    const rows = this.cases.map(({ row, label, share, of }) => [String(row), brief(classes[label] ?? "unknown"), percent(share), of.join(", ")]);
    return [`Code of row ${points.number[this.index]}`, ["Training row", "Class", "Weight", "In prototypes"], rows];
  }
}
