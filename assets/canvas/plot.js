/** The figure itself: regions below, boundaries, points, arrows and axes above. */

import { drawHubs, drawInnerBorders, drawTies } from "./assignments.js";
import { clamp, el, newId, say, setText, sized, ticks } from "./elements.js";
import { LessonLayer } from "./lesson.js";
import { DENSE, css, drawArrows, drawMark, drawStars, drawTargets, paleness, starRadius, strokes, tintsOf, word } from "./marks.js";
import { boundaries, locate, paintRegions } from "./regions.js";
import { WAITING, frameOf } from "./scene.js";
import { drawContours, drawCurve, drawLevels, drawSticks, drawValue, paintSurface, thickness, toneOf } from "./surface.js";

export const MAX_ZOOM = 40;
const REACH = 14; // px: how near a pointer must be to a point to mean it
const NODES = 100; // of the mask of a map, along each axis
const STEP = 7; // px between two lines of its hatching

/** The largest part of an area in which a unit of x is as long as a unit of y. */
function equalArea({ x, y, w, h }, view, snap) {
  const ratio = (view.y[1] - view.y[0]) / (view.x[1] - view.x[0]);
  const [wide, high] = w * ratio > h ? [snap(h / ratio), h] : [w, snap(w * ratio)];
  return { x: snap(x + (w - wide) / 2), y: snap(y + (h - high) / 2), w: Math.max(wide, 1), h: Math.max(high, 1) };
}

/** A canvas off the page; an OffscreenCanvas cannot be written into a picture to save. */
const drawingOf = (width, height) => Object.assign(document.createElement("canvas"), { width, height });

/** A canvas of 100 x 100 pixels, opaque where no row is near, from high y to low y. */
function maskOf(far) {
  const mask = drawingOf(NODES, NODES);
  const image = new ImageData(NODES, NODES);
  for (let i = 0; i < NODES; i++)
    for (let j = 0; j < NODES; j++) image.data[4 * (i * NODES + j) + 3] = 255 * far[(NODES - 1 - i) * NODES + j];
  mask.getContext("2d").putImageData(image, 0, 0);
  return mask;
}

/** Hatch the regions where a map has no row near: what is painted there, no data speak for. */
function drawFar(pen, theme, plot) {
  const { area: { x, y, w, h }, extent: view } = plot;
  if (!view.far) return;
  if (plot.farOf !== view.far) [plot.farOf, plot.farMask] = [view.far, maskOf(view.far)];
  const [left, top] = [plot.px(view.x[0]) - x, plot.py(view.y[1]) - y];
  const size = [plot.px(view.x[1]) - x - left, plot.py(view.y[0]) - y - top];
  // It stands still while the model changes below it.
  const key = [w, h, left, top, ...size, ...theme.back, ...theme.muted].join();
  if (plot.hatchedFor !== key || plot.hatchedOf !== view.far)
    Object.assign(plot, { hatchedFor: key, hatchedOf: view.far, hatched: hatchedArea(theme, plot, [left, top, ...size]) });
  pen.drawImage(plot.hatched, x, y);
}

function hatchedArea(theme, { area: { w, h }, farMask }, place) {
  const hatched = drawingOf(Math.ceil(w), Math.ceil(h));
  const hatch = hatched.getContext("2d");
  hatch.fillStyle = css(theme.back, 0.75);
  hatch.fillRect(0, 0, w, h);
  hatch.strokeStyle = css(theme.muted, 0.5);
  hatch.beginPath();
  for (let at = 0; at < w + h; at += STEP) {
    hatch.moveTo(at, 0);
    hatch.lineTo(at - h, h);
  }
  hatch.stroke();
  hatch.globalCompositeOperation = "destination-in";
  hatch.drawImage(farMask, ...place);
  return hatched;
}

/** Owns the window (zoom), the canvases, the crosshair; `Hand` moves them. */
export class Plot {
  /** @param {object} events `onMove`: the window was moved; `onPoint`: a place is pointed at, with the row there */
  constructor(state, guard, ruler, events) {
    Object.assign(this, { state, guard, ruler, ...events });
    this.sprites = new Map();
    this.lesson = new LessonLayer();
    this.ghosts = []; // added points that the server has not confirmed
    this.gone = new Set(); // places of erased points that the server has not confirmed
    this.cursor = null;
    this.raster = el("canvas", { class: "raster", "aria-hidden": "true" });
    this.keys = el("p", { class: "unseen", id: newId() });
    this.canvas = el("canvas", { class: "marks", tabindex: 0, role: "application", "aria-roledescription": "figure", "aria-describedby": this.keys.id });
    this.cross = el("div", { class: "cross", hidden: true });
    this.halo = el("div", { class: "halo", hidden: true });
    this.badge = el("span", { class: "badge", hidden: true }, "preview");
    this.frame = el("div", { class: "frame", hidden: true });
    this.box = el("div", { class: "figure" }, this.raster, this.canvas, this.frame, this.cross, this.halo, this.badge);
  }

  /** @param {object} scene @param {object} [previous] @param {boolean} edited by the visitor's hand */
  setScene(scene, previous, edited) {
    const { view } = scene;
    [this.points, this.extent] = [scene.points, view]; // the whole window
    if (!previous || (frameOf(previous) !== frameOf(scene) && !edited)) {
      this.view = { x0: view.x[0], x1: view.x[1], y0: view.y[0], y1: view.y[1] };
      this.cursor = null;
    }
    this.clampView();
    const more = "Enter adds, picks up or erases with the chosen tool, Delete erases the nearest point.";
    setText(this.keys, `Arrow keys move a crosshair, [ and ] step through the points; plus, minus and 0 zoom. ${scene.editable ? more : ""}`);
  }

  /* -- the window -- */

  get zoomFactor() {
    const { x } = this.extent;
    return Math.round(((x[1] - x[0]) / (this.view.x1 - this.view.x0)) * 1000) / 1000;
  }

  clampView() {
    const { x, y } = this.extent;
    const v = this.view;
    for (const [a, b, low, high] of [["x0", "x1", ...x], ["y0", "y1", ...y]]) {
      const span = clamp(v[b] - v[a], (high - low) / MAX_ZOOM, high - low);
      v[a] = clamp(v[a], low, high - span);
      v[b] = v[a] + span;
    }
    this.onMove();
  }

  /** Zoom about a place (the crosshair, or the middle), which keeps its position. */
  zoom(factor, at = this.cursor ?? this.middle) {
    const v = this.view;
    const { x, y } = this.extent;
    const now = (x[1] - x[0]) / (v.x1 - v.x0);
    const wanted = clamp(now * factor, 1, MAX_ZOOM);
    const by = wanted / now;
    v.x0 = at.x - (at.x - v.x0) / by;
    v.x1 = at.x + (v.x1 - at.x) / by;
    v.y0 = at.y - (at.y - v.y0) / by;
    v.y1 = at.y + (v.y1 - at.y) / by;
    if (wanted === 1) Object.assign(v, { x0: x[0], x1: x[1], y0: y[0], y1: y[1] });
    this.clampView();
  }

  pan(dx, dy) {
    const v = this.view;
    const [mx, my] = [(dx / this.area.w) * (v.x1 - v.x0), (dy / this.area.h) * (v.y1 - v.y0)];
    Object.assign(v, { x0: v.x0 - mx, x1: v.x1 - mx, y0: v.y0 + my, y1: v.y1 + my });
    this.clampView();
  }

  get middle() {
    return { x: (this.view.x0 + this.view.x1) / 2, y: (this.view.y0 + this.view.y1) / 2 };
  }

  px(x) {
    return this.area.x + ((x - this.view.x0) / (this.view.x1 - this.view.x0)) * this.area.w;
  }

  py(y) {
    return this.area.y + ((this.view.y1 - y) / (this.view.y1 - this.view.y0)) * this.area.h;
  }

  /** The place in data units under a position in the box, inside the raster. */
  place(px, py) {
    const { x0, x1, y0, y1 } = this.view;
    const { x, y } = this.extent;
    return {
      x: clamp(x0 + ((px - this.area.x) / this.area.w) * (x1 - x0), ...x),
      y: clamp(y1 - ((py - this.area.y) / this.area.h) * (y1 - y0), ...y),
    };
  }

  inside(px, py) {
    const { x, y, w, h } = this.area;
    return px >= x && px <= x + w && py >= y && py <= y + h;
  }

  /** Index of the point nearest to a position in the box, or -1. */
  nearest(px, py, reach = REACH) {
    if (!this.state.show.points) return -1;
    const { x, y } = this.points;
    let found = -1;
    let least = reach * reach;
    for (let i = 0; i < x.length; i++) {
      const far = (this.px(x[i]) - px) ** 2 + (this.py(y[i]) - py) ** 2;
      if (far < least && !this.isGone(x[i], y[i])) [found, least] = [i, far];
    }
    return found;
  }

  /** Number of the star at a place, or -1; a point that is nearer (`index`) comes first. */
  starAt({ x, y }, index) {
    const { marks, mark_size: size } = this.state.shown?.prototypes ?? {};
    if (!size || !this.state.show.arrows || this.state.tool !== "look") return -1;
    const far = (ax, ay) => Math.hypot(this.px(ax) - this.px(x), this.py(ay) - this.py(y));
    let found = -1;
    let least = index >= 0 ? far(this.points.x[index], this.points.y[index]) : Infinity;
    size.forEach((share, j) => {
      const apart = far(marks[2 * j], marks[2 * j + 1]);
      if (apart < least && apart <= starRadius(share)) [found, least] = [j, apart];
    });
    return found;
  }

  isGone(x, y) {
    return this.gone.size > 0 && this.gone.has(`${x} ${y}`);
  }

  /* -- the crosshair -- */

  /** Put the crosshair on a place; the window follows it when it leaves. */
  setCursor(place, speak = false) {
    const v = this.view;
    const { x, y } = this.extent;
    this.cursor = { x: clamp(place.x, ...x), y: clamp(place.y, ...y) };
    const { x: cx, y: cy } = this.cursor;
    if (cx < v.x0 || cx > v.x1 || cy < v.y0 || cy > v.y1) {
      const [hx, hy] = [(v.x1 - v.x0) / 2, (v.y1 - v.y0) / 2];
      Object.assign(v, { x0: cx - hx, x1: cx + hx, y0: cy - hy, y1: cy + hy });
      this.clampView();
    }
    this.placeCursor();
    this.onPoint(this.cursor, this.underCursor(), speak);
  }

  underCursor(reach = REACH) {
    return this.cursor ? this.nearest(this.px(this.cursor.x), this.py(this.cursor.y), reach) : -1;
  }

  placeCursor() {
    const at = this.cursor && [this.px(this.cursor.x), this.py(this.cursor.y)];
    this.cross.hidden = !at || !this.inside(...at);
    if (at) this.cross.style.transform = `translate(${at[0]}px, ${at[1]}px)`;
  }

  /** Draw a box between two places; without them none. */
  outline(a, b) {
    this.frame.hidden = !a;
    if (!a) return;
    const [[ax, ay], [bx, by]] = [a, b].map(({ x, y }) => [this.px(x), this.py(y)]);
    Object.assign(this.frame.style, { left: `${Math.min(ax, bx)}px`, top: `${Math.min(ay, by)}px`, width: `${Math.abs(ax - bx)}px`, height: `${Math.abs(ay - by)}px` });
  }

  ringPoint(index) {
    this.halo.hidden = index < 0;
    if (index < 0) return;
    const { x, y } = this.points;
    this.halo.style.transform = `translate(${this.px(x[index])}px, ${this.py(y[index])}px)`;
  }

  /* -- painting -- */

  /** Fit the canvases to the box; every pixel of the plot area is a device pixel. */
  resize(dpr = window.devicePixelRatio) {
    const { em } = this.state.theme;
    Object.assign(this, { dpr, width: this.box.clientWidth, height: this.box.clientHeight });
    const snap = (v) => Math.round(v * dpr) / dpr;
    const [above, below] = this.extent.far ? [0.3, 1.8] : [1.5, 2.9]; // a map has no numbers beside it
    let [x, y] = [snap(2.9 * em), snap(above * em)];
    let [w, h] = [snap(this.width - x - 0.6 * em), snap(this.height - y - below * em)];
    this.area = this.state.show.equal ? equalArea({ x, y, w, h }, this.extent, snap) : { x, y, w, h };
    ({ x, y, w, h } = this.area);
    Object.assign(this.raster.style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` });
    this.sprites.clear();
  }

  /** Draw fainter while a term of the formula shows what it moves, and it is not this. */
  dim(pen, kind, draw) {
    const { lit } = this.state;
    pen.globalAlpha = lit && lit !== kind ? 0.2 : 1;
    draw();
    pen.globalAlpha = 1;
  }

  paint(picture, coarse) {
    if (!this.area || this.area.w < 20) return;
    const { guard } = this;
    guard.draw("regions", this.box, () => this.paintRaster(picture, coarse));
    const pen = sized(this.canvas, this.width, this.height, this.dpr);
    // An interrupted drawing leaves its pen in any state: a new size resets it.
    if (!guard.draw("points and borders", this.box, () => this.paintMarks(pen, picture))) this.canvas.width = 0;
    this.mark(picture);
    this.placeCursor();
  }

  /** Everything above the regions, with the pen of a canvas or of another kind. */
  paintMarks(pen, picture) {
    const { area: { x, y, w, h }, state: { theme, show } } = this;
    pen.font = theme.font;
    this.paintAxes(pen, theme);
    pen.save();
    pen.beginPath();
    pen.rect(x, y, w, h);
    pen.clip();
    const tied = show.assignments && picture.assignments;
    if (tied) drawInnerBorders(pen, theme, this, picture);
    if (picture.surface) this.paintPrediction(pen, theme, picture, true);
    else this.paintBoundaries(pen, theme, picture);
    drawFar(pen, theme, this);
    if (tied) drawTies(pen, theme, this, picture);
    if (show.points) this.dim(pen, "rows", () => this.paintPoints(pen, picture));
    if (picture.surface) this.paintPrediction(pen, theme, picture, false);
    if (show.arrows) this.dim(pen, "prototypes", () => this.paintPrototypes(pen, theme, picture));
    if (tied) drawHubs(pen, theme, this, picture);
    this.lesson.paint(pen, theme, this);
    pen.restore();
    Object.assign(pen, { strokeStyle: css(theme.text, 0.45), lineWidth: 1 });
    pen.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
  }

  paintPrototypes(pen, theme, picture) {
    const rests = this.state.settled && !picture.step;
    if (picture.lines) drawArrows(pen, theme, this, picture, (steepest) => this.ruler.of("arrows", steepest, rests));
    if (picture.prototypes?.mark_size) drawStars(pen, theme, this, picture);
    else drawTargets(pen, theme, this, picture.prototypes?.marks ?? []);
  }

  /** What the picture is, where it is not the fit of what the controls say. */
  mark(picture) {
    const { waits } = this.state;
    setText(this.badge, waits ? "Release to refit" : picture?.coarse ?? "Preview");
    this.badge.hidden = !waits && (!picture || picture.canonical || picture.knot !== null);
  }

  paintRaster(picture, coarse) {
    const start = performance.now();
    const { theme, scene } = this.state;
    const scale = coarse && this.slow ? 2 : 1; // half resolution only while a slow machine scrubs
    const [w, h] = [this.area.w, this.area.h].map((v) => Math.max(1, Math.round((v * this.dpr) / scale)));
    const [gx, gy] = picture.grid;
    const { x: ex, y: ey } = scene.view;
    const v = this.view;
    const unit = (value, [low, high], nodes) => ((value - low) / (high - low)) * (nodes - 1);
    const key = [w, h, gx, gy, v.x0, v.x1, v.y0, v.y1, ...ex, ...ey].join();
    if (key !== this.located) {
      this.located = key;
      this.cols = locate(w, gx, unit(v.x0, ex, gx), unit(v.x1, ex, gx));
      this.rows = locate(h, gy, unit(v.y1, ey, gy), unit(v.y0, ey, gy));
    }
    if (this.raster.width !== w || this.raster.height !== h || !this.image) {
      this.raster.width = w;
      this.raster.height = h;
      this.image = new ImageData(w, h);
      this.words = new Uint32Array(this.image.data.buffer);
    }
    if (scene.target?.curve || picture === WAITING) this.words.fill(word(theme.back));
    else if (scene.target) paintSurface(this.words, picture, this.cols, this.rows, scene.target);
    else paintRegions(this.words, picture, this.cols, this.rows, tintsOf(theme, scene.classes.length, this.state.show.bands));
    this.raster.getContext("2d").putImageData(this.image, 0, 0);
    if (scale === 1) this.slow = performance.now() - start > 14;
  }

  paintAxes(pen, theme) {
    const { x, y, w, h } = this.area;
    const { view } = this.state.scene;
    const [v, { em }] = [this.view, theme];
    pen.fillStyle = pen.strokeStyle = css(theme.muted);
    pen.lineWidth = 1;
    Object.assign(pen, { textAlign: "center", textBaseline: "top" });
    pen.beginPath();
    const scaled = !view.far; // distances on a map have no scale
    for (const value of scaled ? ticks(v.x0, v.x1, w / (6 * em)) : []) {
      const at = Math.round(this.px(value)) + 0.5;
      pen.moveTo(at, y + h);
      pen.lineTo(at, y + h + 4);
      pen.fillText(say(Number(value.toPrecision(6))), at, y + h + 6);
    }
    Object.assign(pen, { textAlign: "right", textBaseline: "middle" });
    for (const value of scaled ? ticks(v.y0, v.y1, h / (4 * em)) : []) {
      const at = Math.round(this.py(value)) + 0.5;
      pen.moveTo(x - 4, at);
      pen.lineTo(x, at);
      pen.fillText(say(Number(value.toPrecision(6))), x - 6, at);
    }
    pen.stroke();
    pen.fillStyle = css(theme.text);
    pen.textBaseline = "top";
    pen.fillText(scaled ? `${view.xlabel} →` : view.xlabel, x + w, y + h + (scaled ? 1.5 : 0.4) * em, w);
    pen.textAlign = "left";
    if (view.ylabel) pen.fillText(`↑ ${view.ylabel}`, x, 0.15 * em, w);
  }

  /** What a regression says below the rows and above them: contour lines, or a curve. */
  paintPrediction(pen, theme, picture, below) {
    const { target } = this.state.scene;
    if (target.curve && !below) drawCurve(pen, theme, this, picture);
    else if (target.curve && this.state.show.points) drawSticks(pen, theme, this, picture);
    else if (!target.curve && this.state.show.bands)
      (below ? drawContours(pen, this, picture, target) : drawLevels(pen, theme, this, picture, target));
  }

  paintBoundaries(pen, theme, picture) {
    this.tracePath(pen, boundaries(picture), picture.grid);
    pen.lineCap = "round";
    strokes(pen, [1.4, css(theme.text, 0.8)]);
  }

  /** Begin a path of segments that are given in grid units. */
  tracePath(pen, lines, [gx, gy]) {
    const { x, y } = this.extent;
    const [ax, ay] = [this.px(x[0]), this.py(y[0])];
    const [bx, by] = [(this.px(x[1]) - ax) / (gx - 1), (this.py(y[1]) - ay) / (gy - 1)];
    pen.beginPath();
    for (let i = 0; i < lines.length; i += 4) {
      pen.moveTo(ax + bx * lines[i], ay + by * lines[i + 1]);
      pen.lineTo(ax + bx * lines[i + 2], ay + by * lines[i + 3]);
    }
  }

  /** A mark, drawn once per kind and then copied. */
  sprite(label, fill, part, hollow, radius, small) {
    const key = ((((label * 256 + fill) * 4 + part) * 2 + hollow) * 2 + small) * 16 + radius;
    return this.stamp(key, radius, (pen) => drawMark(pen, this.state.theme, { label, fill, part, hollow: Boolean(hollow), radius, small }));
  }

  /** The mark of a row of a regression: 64 tones are enough for a disc. */
  valueSprite(value, predicted, part, hollow, radius) {
    const { target } = this.state.scene;
    const tone = toneOf(value, target) & ~3;
    const thick = thickness(value, predicted, target);
    const kind = { tone, thick, part, hollow: Boolean(hollow), radius };
    return this.stamp(`v${Object.values(kind)}`, radius + 5, (pen) => drawValue(pen, this.state.theme, kind));
  }

  stamp(key, radius, draw) {
    let image = this.sprites.get(key);
    if (!image) {
      const size = Math.ceil((radius + 6) * this.dpr) * 2;
      image = new OffscreenCanvas(size, size);
      const pen = image.getContext("2d");
      pen.setTransform(this.dpr, 0, 0, this.dpr, size / 2, size / 2);
      draw(pen);
      this.sprites.set(key, Object.assign(image, { draw }));
    }
    return image;
  }

  paintPoints(pen, picture) {
    const { x, y, label, part, value, row } = this.points;
    const { selected } = this.state;
    const radius = x.length > DENSE ? 3 : x.length > 250 ? 4 : 5;
    const [dense, opaque] = [x.length > DENSE && !value, pen.globalAlpha];
    const isLit = (i) => selected.has(row[i]);
    const order = Array.from(x.keys());
    if (selected.size) order.sort((i, j) => isLit(i) - isLit(j)); // selected rows above the others
    const known = picture.predicted.length === x.length;
    const stamp = (px, py, image) => pen.drawImage(image, Math.round(px * this.dpr - image.width / 2), Math.round(py * this.dpr - image.height / 2));
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    for (const i of order) {
      if (this.isGone(x[i], y[i])) continue;
      const hollow = known ? picture.hollow[i] : 1;
      const fill = known ? picture.predicted[i] : value ? value[i] : label[i];
      const small = dense && fill === label[i] && !isLit(i);
      const image = value ? this.valueSprite(value[i], fill, part[i], hollow, radius) : this.sprite(label[i], fill, part[i], hollow, radius, Number(small));
      pen.globalAlpha = opaque * (small ? paleness(x.length) : 1) * (selected.size && !isLit(i) ? 0.35 : 1);
      stamp(this.px(x[i]), this.py(y[i]), image);
    }
    pen.globalAlpha = opaque;
    for (const ghost of this.ghosts) {
      const image = value ? this.valueSprite(ghost.value, ghost.value, 0, 1, radius) : this.sprite(ghost.label, ghost.label, 0, 1, radius, 0);
      stamp(this.px(ghost.x), this.py(ghost.y), image);
    }
    pen.restore();
  }
}
