/** Colours and marks: a class is a colour and a shape, in both themes. */

import { el, sized } from "./elements.js";

/** Okabe and Ito's seven, then four that differ from them in hue or lightness. */
const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442",
  "#AA3377", "#8C8C33", "#6A4FC9", "#8C510A"].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
/** For, above and right; against, below and wrong: near no class's colour, in both themes. */
export const [POSITIVE, NEGATIVE] = [[0, 144, 156], [204, 36, 48]];
export const UNKNOWN = 255;
export const BANDS = [1 / 16, 1 / 4, 9 / 16]; // of margin_max: quarters of the stored square root
export const TINTS = { light: [0.13, 0.25, 0.38, 0.52], dark: [0.2, 0.34, 0.48, 0.62] };
const FLAT = 0.42;
const LABELLED_ARROWS = 12; // more prototypes than this are drawn faintly and without numbers

let probe;
const parsed = new Map();

/** Any CSS colour as [r, g, b]. */
function rgb(colour) {
  if (!parsed.has(colour)) {
    probe ??= el("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = colour;
    probe.fillRect(0, 0, 1, 1);
    parsed.set(colour, [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)]);
  }
  return parsed.get(colour);
}

export const mix = (a, b, share) => a.map((v, i) => Math.round(v + (b[i] - v) * share));
export const css = (c, alpha = 1) => `rgb(${c[0]} ${c[1]} ${c[2]} / ${alpha})`;
export const word = (c) => ((255 << 24) | (c[2] << 16) | (c[1] << 8) | c[0]) >>> 0; // little-endian RGBA
const luminance = (c) => (0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]) / 255;

/** Read Streamlit's theme variables from `node`. */
export function readTheme(node) {
  const style = getComputedStyle(node);
  const read = (name, other) => rgb(style.getPropertyValue(name).trim() || other);
  const back = read("--st-background-color", "#ffffff");
  const text = read("--st-text-color", "#31333f");
  const dark = luminance(back) < 0.4;
  return {
    dark,
    back,
    text,
    primary: read("--st-primary-color", "#0072B2"),
    muted: mix(text, back, 0.25),
    faint: mix(text, back, 0.8),
    font: `${0.8 * parseFloat(style.fontSize)}px ${style.fontFamily}`,
    em: parseFloat(style.fontSize),
  };
}

/** The colour of class k; from the twelfth on the palette again, each turn lighter or darker. */
export function classColour(k, theme) {
  if (k === UNKNOWN) return theme.muted;
  const base = PALETTE[k % PALETTE.length];
  const turn = Math.floor(k / PALETTE.length);
  return mix(base, turn % 2 ? [255, 255, 255] : [0, 0, 0], Math.min(0.2 * turn, 0.6));
}

/** Tints of regions, by class * 4 + band. */
export function tintsOf(theme, n, bands) {
  const table = new Uint32Array(1024).fill(word(theme.back));
  const tints = TINTS[theme.dark ? "dark" : "light"];
  for (let at = 0; at < 4 * n; at++)
    table[at] = word(mix(theme.back, classColour(at >> 2, theme), bands ? tints[at & 3] : FLAT));
  return table;
}

const ring = (n, radius, turn = -Math.PI / 2) =>
  "M" + Array.from({ length: n }, (_, i) => {
    const angle = turn + (2 * Math.PI * i) / n;
    const r = typeof radius === "number" ? radius : radius[i % radius.length];
    return `${(r * Math.cos(angle)).toFixed(3)} ${(r * Math.sin(angle)).toFixed(3)}`;
  }).join("L") + "Z";
const PLUS = "M-.45-1.25H.45V-.45H1.25V.45H.45V1.25H-.45V.45H-1.25V-.45H-.45Z";
const SHAPES = [
  "M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0Z", // circle
  ring(4, 1.25, Math.PI / 4), // square
  ring(3, 1.35), // triangle
  ring(4, 1.35), // diamond
  PLUS,
  PLUS, // cross: the plus turned by 45 degrees
  ring(10, [1.4, 0.62]), // star
  ring(3, 1.35, Math.PI / 2), // triangle pointing down
  ring(5, 1.2), // pentagon
  ring(6, 1.2), // hexagon
];

/** A shape as a path that also knows what it is made of, for a pen that is no canvas. */
function shaped(text, radius, turn = 0) {
  const path = new Path2D();
  path.addPath(new Path2D(text), new DOMMatrix().scale(radius).rotate(turn));
  return Object.assign(path, { text, radius, turn });
}

/** From so many rows on, rightly predicted ones are small and pale, so that borders are seen below them. */
export const DENSE = 500;

/** How opaque small marks are: the more of them, the paler. */
export const paleness = (n) => Math.max(0.35, Math.sqrt(DENSE / n) * 0.85);

/**
 * Draw a mark at the pen's origin: outline = true class, fill = predicted class.
 * Part 0 (training) is plain, 1 (validation) has a centre dot, 2 (test) an outer ring.
 */
export function drawMark(pen, theme, { label, fill, part = 0, hollow = false, radius = 5, small = false }) {
  const shape = label === UNKNOWN ? 0 : label % SHAPES.length;
  const path = shaped(SHAPES[shape], radius, shape === 5 ? 45 : 0);
  const inside = hollow ? theme.back : classColour(fill, theme);
  const contour = theme.dark ? [0, 0, 0] : [35, 35, 45];
  if (small) {
    Object.assign(pen, { fillStyle: css(inside), strokeStyle: css(classColour(label, theme)), lineWidth: 1 });
    pen.fill(path);
    if (hollow) pen.stroke(path);
    return;
  }
  pen.lineJoin = "round";
  pen.lineWidth = 3.2;
  pen.strokeStyle = css(contour, theme.dark ? 0.9 : 0.75);
  pen.stroke(path);
  pen.fillStyle = css(inside);
  pen.fill(path);
  pen.lineWidth = 1.9;
  pen.strokeStyle = css(classColour(label, theme));
  pen.stroke(path);
  if (part === 1) disc(pen, 0, 0, radius * 0.36, luminance(inside) > 0.5 ? "#111" : "#fff");
  if (part !== 2) return;
  circle(pen, 0, 0, radius + 3.2);
  strokes(pen, [1.1, css(theme.text)]);
}

/** Begin a path with a circle. */
export function circle(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
}

export function disc(pen, x, y, radius, colour) {
  circle(pen, x, y, radius);
  pen.fillStyle = colour;
  pen.fill();
}

/** Stroke a path with several widths and colours, the widest below. */
export function strokes(pen, ...lines) {
  for (const [lineWidth, strokeStyle] of lines) {
    Object.assign(pen, { lineWidth, strokeStyle });
    pen.stroke();
  }
}

/** Write a text with a halo that keeps it apart from what is below. */
export function writeOver(pen, theme, text, x, y) {
  Object.assign(pen, { lineJoin: "round", lineWidth: 4, strokeStyle: css(theme.back, 0.85), fillStyle: css(theme.text) });
  pen.strokeText(text, x, y);
  pen.fillText(text, x, y);
}

/** Draw a ring with four ticks at the pen's origin: a row that prototypes are made of. */
function drawTarget(pen, theme, radius) {
  circle(pen, 0, 0, radius);
  for (const [x, y] of [[1, 0], [0, 1], [-1, 0], [0, -1]]) {
    pen.moveTo(x * radius, y * radius);
    pen.lineTo(x * radius * 1.5, y * radius * 1.5);
  }
  strokes(pen, [3.4, css(theme.back, 0.85)], [1.5, css(theme.text)]);
}

/** The rows that prototypes are made of: pairs of window coordinates. */
export function drawTargets(pen, theme, plot, marks) {
  const radius = marks.length > 2 * 60 ? 5.5 : 7.5; // many must not hide the points
  for (let i = 0; i + 1 < marks.length; i += 2) {
    pen.save();
    pen.translate(plot.px(marks[i]), plot.py(marks[i + 1]));
    drawTarget(pen, theme, radius);
    pen.restore();
  }
}

/** Radius in px of the star of a prototype that weighs so much of the heaviest. */
export const starRadius = (size) => 7 + 8 * Math.sqrt(size);

const EDGE = 0.664; // of a star of radius 1 whose inner radius is 0.5

/** Draw a star at the pen's origin: an invented case, with gaps where it lies off the data. */
function drawStar(pen, theme, { label, off = false, radius }) {
  const star = shaped(ring(10, [1, 0.5]), radius);
  pen.lineJoin = "round";
  pen.lineCap = "butt";
  pen.fillStyle = css(theme.back, off ? 0.7 : 1);
  if (off) {
    const edge = EDGE * radius;
    pen.setLineDash([0.64 * edge, 0.36 * edge]);
    pen.lineDashOffset = 0.32 * edge;
  }
  pen.lineWidth = 5;
  pen.strokeStyle = css(theme.text, 0.9);
  if (label !== UNKNOWN) pen.stroke(star);
  pen.fill(star);
  pen.lineWidth = 2.6;
  pen.strokeStyle = css(label === UNKNOWN ? theme.text : classColour(label, theme));
  pen.stroke(star);
  pen.setLineDash([]);
  if (label !== UNKNOWN && radius > 8) drawMark(pen, theme, { label, fill: label, radius: radius * 0.22 });
}

/** Lines at the pen's origin, of a path in units of `size`. */
function drawLines(pen, theme, path, size, width) {
  Object.assign(pen, { lineWidth: width, strokeStyle: css(theme.text) });
  pen.stroke(shaped(path, size));
}

/** A way from a start, with a dot where it begins. */
function drawWay(pen, theme, ax, ay, bx, by) {
  for (const [width, colour] of [[3, css(theme.back, 0.75)], [1.1, css(theme.text, 0.9)]]) {
    pen.beginPath();
    pen.moveTo(ax, ay);
    pen.lineTo(bx, by);
    strokes(pen, [width, colour]);
    disc(pen, ax, ay, width, colour);
  }
}

/**
 * Invented cases: first the ways from their starts, then the stars, the heaviest below.
 * A preview starts where the last fit ended: it has no way to show.
 */
export function drawStars(pen, theme, plot, { prototypes, canonical }) {
  const { marks, mark_size: size, mark_weight: weight, mark_owner: owner, mark_off: off, mark_start: start } = prototypes;
  const at = (places, j) => [plot.px(places[2 * j]), plot.py(places[2 * j + 1])];
  const order = Array.from(size.keys()).sort((a, b) => size[b] - size[a]);
  if (start && canonical) for (const j of order) drawWay(pen, theme, ...at(start, j), ...at(marks, j));
  for (const j of order) {
    pen.save();
    pen.translate(...at(marks, j));
    drawStar(pen, theme, { label: owner[j], off: Boolean(off?.[j]), radius: starRadius(size[j]) });
    // A prediction is raised or lowered: plus or minus inside the star.
    if (owner[j] === UNKNOWN && weight[j]) drawLines(pen, theme, `M-1 0H1${weight[j] > 0 ? "M0-1V1" : ""}`, 2.6, 1.5);
    pen.restore();
  }
}

/** The mean of the training rows on the screen; the middle where it is out of sight. */
function origin(plot) {
  const { area, points } = plot;
  const sum = [0, 0, 0];
  points.part.forEach((part, i) => {
    if (part !== 0) return;
    sum[0] += points.x[i];
    sum[1] += points.y[i];
    sum[2] += 1;
  });
  const at = [plot.px(sum[0] / sum[2]), plot.py(sum[1] / sum[2])];
  return sum[2] && plot.inside(...at) ? at : [area.x + area.w / 2, area.y + area.h / 2];
}

/**
 * Each linear prototype as an arrow from the mean of the training rows, along the steepest
 * rise of its score; `longestOf` says with how steep a one their length is compared.
 */
export function drawArrows(pen, theme, plot, { lines: { coef, owner }, prototypes }, longestOf) {
  const { area, view } = plot;
  const [cx, cy] = origin(plot);
  const slopes = Array.from(owner, (_, j) => [
    (coef[3 * j] * (view.x1 - view.x0)) / area.w,
    (-coef[3 * j + 1] * (view.y1 - view.y0)) / area.h,
  ]);
  const steepest = Math.max(...slopes.map(([a, b]) => Math.hypot(a, b)), 1e-30);
  const longest = longestOf(steepest);
  const size = Math.min(area.w, area.h);
  // None leaves the window, with room for its number; the mean may lie near an edge.
  const room = Math.min(cx - area.x, area.x + area.w - cx, cy - area.y, area.y + area.h - cy) - 30;
  const reach = Math.min(Math.max(room, 0.15 * size), 0.4 * size);
  const few = owner.length <= LABELLED_ARROWS;
  slopes.forEach(([a, b], j) => {
    const size = Math.hypot(a, b);
    const length = (size / longest) * reach;
    if (length < 6) return;
    const [ux, uy] = [a / size, b / size];
    const [tx, ty] = [cx + ux * length, cy + uy * length];
    pen.beginPath();
    pen.moveTo(cx, cy);
    pen.lineTo(tx, ty);
    pen.moveTo(tx - 8 * ux + 4 * uy, ty - 8 * uy - 4 * ux);
    pen.lineTo(tx, ty);
    pen.lineTo(tx - 8 * ux - 4 * uy, ty - 8 * uy + 4 * ux);
    strokes(pen, [few ? 4 : 2.5, css(theme.back, 0.7)], [few ? 1.6 : 1, css(theme.text, few ? 1 : 0.8)]);
    const [mx, my] = [tx + 11 * ux, ty + 11 * uy];
    pen.save();
    pen.translate(mx, my);
    drawMark(pen, theme, { label: owner[j], fill: owner[j], radius: few ? 4 : 3 });
    pen.restore();
    if (!few) return;
    const count = prototypes?.count[j] > 1 ? ` ×${prototypes.count[j]}` : "";
    Object.assign(pen, { textAlign: ux >= 0 ? "left" : "right", textBaseline: "middle" });
    writeOver(pen, theme, `${j + 1}${count}`, mx + (ux >= 0 ? 9 : -9), my);
  });
}

/** Signs of legends as paths, and the width of their lines: a direction, a tied row, a marked place, a dashed line. */
const SIGNS = {
  arrow: ["M-.34 .34L.34-.34M0-.34H.34V0", 1.6],
  tie: ["M-.35 .35L.1-.1M.4-.18A.22 .22 0 1 1-.04-.18A.22 .22 0 1 1 .4-.18", 1.2],
  cross: ["M-.28-.28L.28 .28M-.28 .28L.28-.28", 2],
  dashed: ["M-.45 0H-.2M-.05 0H.2M.35 0H.45", 1.6],
};

/** A mark as a small picture for legends and headings. */
export function markIcon(theme, spec, size = 18) {
  const canvas = el("canvas", { class: "icon", "aria-hidden": "true" });
  canvas.style.width = canvas.style.height = `${size}px`;
  const pen = sized(canvas, size, size, window.devicePixelRatio);
  pen.translate(size / 2, size / 2);
  if (spec.target) drawTarget(pen, theme, size * 0.25);
  else if (spec.star) drawStar(pen, theme, { label: UNKNOWN, radius: size * 0.4, ...spec });
  else if (spec.draw) spec.draw(pen, theme, { radius: size * 0.24, ...spec });
  else if (spec.sign) drawLines(pen, theme, SIGNS[spec.sign][0], size, SIGNS[spec.sign][1]);
  else if (spec.way) drawWay(pen, theme, -size * 0.35, size * 0.2, size * 0.4, -size * 0.2);
  else drawMark(pen, theme, { fill: spec.label, radius: size * 0.27, ...spec });
  return canvas;
}

/** Signed weights: teal speaks for, crimson against, the background for zero. */
export function divergingMap(theme) {
  return Uint32Array.from({ length: 255 }, (_, i) => {
    const t = (i - 127) / 127;
    return word(mix(theme.back, t < 0 ? NEGATIVE : POSITIVE, Math.abs(t)));
  });
}

/** A row of an image as a grey picture that fills a canvas. */
export function paintGrey(canvas, pixels) {
  canvas.drawn = String(pixels);
  const grey = new ImageData(canvas.width, canvas.height);
  pixels.forEach((value, i) => grey.data.set([255 - value, 255 - value, 255 - value, 255], 4 * i));
  canvas.getContext("2d").putImageData(grey, 0, 0);
}
