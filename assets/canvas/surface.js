/** A regression model: its surface over two features, its curve over one, and the rows. */

import { clamp, say, ticks } from "./elements.js";
import { circle, css, disc, mix, strokes, word, writeOver } from "./marks.js";
import { cutsOf } from "./regions.js";

/** Cividis: even in lightness, and read alike with any kind of colour vision. */
const CIVIDIS = ["00224e", "123570", "3b496c", "575d6d", "707173", "8a8678", "a59c74", "c3b369", "e1cc55", "fee838"]
  .map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
const TONES = Array.from({ length: 256 }, (_, i) => {
  const at = (i / 255) * (CIVIDIS.length - 1);
  const from = Math.min(Math.floor(at), CIVIDIS.length - 2);
  return mix(CIVIDIS[from], CIVIDIS[from + 1], at - from);
});
const WORDS = Uint32Array.from(TONES, word);
const STEPS = 8; // contour lines over the target's range, about
const STICKS = 200; // more rows than this have no lines to their predictions
const THICK = [0, 0.05, 0.12, 0.25]; // errors, in shares of the range, from which an outline is thicker

const share = (value, { low, high }) => clamp((value - low) / (high - low || 1), 0, 1);

/** The tone of a value, 0 to 255; beyond the training targets it is that of their end. */
export const toneOf = (value, target) => Math.round(255 * share(value, target));

/** The values of contour lines inside [low, high], as round as the axes' ticks. */
export function levelsOf(target, low = target.low, high = target.high) {
  const round = ticks(target.low, target.high, STEPS);
  const step = round.length > 1 ? round[1] - round[0] : target.high - target.low || 1;
  const first = Math.ceil((low - round[0]) / step);
  const found = [];
  for (let k = first; round[0] + k * step <= high && found.length < 40; k++)
    found.push(Number((round[0] + k * step).toPrecision(12)));
  return found;
}

/** Fill `out` with the tones of a surface, between the nodes by bilinear interpolation. */
export function paintSurface(out, { surface, grid }, cols, rows, target) {
  const [gx] = grid;
  const width = cols.cell.length;
  const scale = 255 / (target.high - target.low || 1);
  for (let y = 0; y < rows.cell.length; y++) {
    const fy = rows.part[y];
    for (let x = 0, p = y * width; x < width; x++, p++) {
      const node = rows.cell[y] * gx + cols.cell[x];
      const fx = cols.part[x];
      const low = surface[node] + (surface[node + 1] - surface[node]) * fx;
      const high = surface[node + gx] + (surface[node + gx + 1] - surface[node + gx]) * fx;
      const tone = (low + (high - low) * fy - target.low) * scale;
      out[p] = WORDS[tone > 0 ? (tone < 255 ? Math.round(tone) : 255) : 0];
    }
  }
}

/** The prediction at a place of the window, between the nodes by interpolation. */
export function predictionAt({ x, y }, { surface, grid: [gx, gy] }, view) {
  const at = (v, [low, high], n) => clamp((v - low) / (high - low), 0, 1) * (n - 1);
  const [ax, ay] = [at(x, view.x, gx), gy > 1 ? at(y, view.y, gy) : 0];
  const [x0, y0] = [Math.min(Math.floor(ax), gx - 2), Math.max(Math.min(Math.floor(ay), gy - 2), 0)];
  const line = (row) => surface[row * gx + x0] + (surface[row * gx + x0 + 1] - surface[row * gx + x0]) * (ax - x0);
  return gy > 1 ? line(y0) + (line(y0 + 1) - line(y0)) * (ay - y0) : line(0);
}

/** Line segments (x0, y0, x1, y1 in grid units) of every level, by marching squares. */
export function contours(picture, target) {
  if (picture.contours) return picture.contours;
  const { surface, grid: [gx, gy] } = picture;
  let [least, most] = [Infinity, -Infinity];
  for (const value of surface) [least, most] = [Math.min(least, value), Math.max(most, value)];
  picture.contours = levelsOf(target, least, most).map((level) => ({ level, lines: isolines(surface, gx, gy, level) }));
  return picture.contours;
}

function isolines(surface, gx, gy, level) {
  const found = [];
  const isCut = (a, b) => surface[a] < level !== surface[b] < level;
  const share = (a, b) => (surface[a] - level) / (surface[a] - surface[b]);
  for (let y = 0; y + 1 < gy; y++) {
    for (let x = 0; x + 1 < gx; x++) {
      const cuts = cutsOf(x, y, gx, isCut, share);
      for (let i = 0; i + 1 < cuts.length; i += 2) found.push(...cuts[i], ...cuts[i + 1]);
    }
  }
  return Float32Array.from(found);
}

/** Where a place in grid units lies in the box. */
function placed(plot, { grid: [gx, gy] }) {
  const { x, y } = plot.extent;
  return (i, j) => [plot.px(x[0] + (i / (gx - 1)) * (x[1] - x[0])), plot.py(y[0] + (j / (gy - 1)) * (y[1] - y[0]))];
}

/** Contour lines; dark on light and light on dark at once. */
export function drawContours(pen, plot, picture, target) {
  plot.tracePath(pen, contours(picture, target).flatMap(({ lines }) => [...lines]), picture.grid);
  strokes(pen, [2.6, "rgb(255 255 255 / .4)"], [1, "rgb(0 0 0 / .75)"]);
}

/** The values of the contour lines, each where its line is farthest from the edges. */
export function drawLevels(pen, theme, plot, picture, target) {
  const at = placed(plot, picture);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const { level, lines } of contours(picture, target)) {
    const place = farthestInside(plot, lines, at);
    if (place) writeOver(pen, theme, say(level), ...place);
  }
}

/** The end of a segment that is farthest from the plot's edges; null if none is inside. */
function farthestInside({ area }, lines, at) {
  let [best, most] = [null, 8];
  for (let i = 0; i < lines.length; i += 4) {
    const [px, py] = at(lines[i], lines[i + 1]);
    const inside = Math.min(px - area.x, area.x + area.w - px, py - area.y, area.y + area.h - py);
    if (inside > most) [best, most] = [[px, py], inside];
  }
  return best;
}

/** Prediction against the feature. */
export function drawCurve(pen, theme, plot, { surface }) {
  const { x } = plot.extent;
  pen.beginPath();
  surface.forEach((value, i) =>
    pen[i ? "lineTo" : "moveTo"](plot.px(x[0] + (i / (surface.length - 1)) * (x[1] - x[0])), plot.py(value)));
  pen.lineJoin = "round";
  strokes(pen, [5, css(theme.back, 0.7)], [2.4, css(theme.primary)]);
}

/** On a curve: from every row to what the model predicts for it. */
export function drawSticks(pen, theme, plot, { predicted }) {
  const { x, y } = plot.points;
  if (x.length > STICKS || predicted.length !== x.length) return;
  pen.beginPath();
  for (let i = 0; i < x.length; i++) {
    if (plot.isGone(x[i], y[i])) continue;
    pen.moveTo(plot.px(x[i]), plot.py(y[i]));
    pen.lineTo(plot.px(x[i]), plot.py(predicted[i]));
  }
  strokes(pen, [1, css(theme.text, 0.55)]);
}

/** How thick the outline of a row is that is predicted so wrongly: 0 to 3. */
export function thickness(value, predicted, target) {
  const off = Math.abs(predicted - value) / (target.high - target.low || 1);
  return Math.max(THICK.findLastIndex((from) => off >= from), 0);
}

/**
 * Draw a row of a regression at the pen's origin: fill = true value, outline = error.
 * Part 0 (training) is plain, 1 (validation) has a centre dot, 2 (test) an outer ring.
 */
export function drawValue(pen, theme, { tone, thick = 0, part = 0, hollow = false, radius = 5 }) {
  const outline = 0.8 + thick;
  const discs = [[radius + outline + 0.4, css(theme.back, 0.9)], [radius + outline - 0.6, css(theme.text)], [radius - 0.6, css(TONES[tone])]];
  if (hollow) discs.push([radius * 0.55, css(theme.back)]);
  if (part === 1) discs.push([radius * 0.34, hollow ? css(theme.text) : tone > 140 ? "#111" : "#fff"]);
  for (const [r, colour] of discs) disc(pen, 0, 0, r, colour);
  if (part !== 2) return;
  circle(pen, 0, 0, radius + outline + 2.2);
  strokes(pen, [1.1, css(theme.text)]);
}

/** Paint the colours of the target's range into a small canvas, low to high. */
export function paintRamp(canvas) {
  const image = new ImageData(256, 1);
  new Uint32Array(image.data.buffer).set(WORDS);
  canvas.getContext("2d").putImageData(image, 0, 0);
}
