/** The visitor's hand on the figure: tools, pointer, touch, wheel, keyboard. */

import { button, clamp, el, keepChildren, offer, say, setText } from "./elements.js";
import { MAX_ZOOM } from "./plot.js";
import { TOOLS } from "./tools.js";

const BROOM = 9; // px: how near a sweep passes the points that it erases
const CLOUD = 20; // px: how far around the pointer a spray reaches
const BESIDE = 6; // px: how far two outliers lie from their middle
const LENS = "M10 3a7 7 0 1 0 .1 0zM15 15l6 6";
const VIEWS = new Set(["look", "box"]); // tools that change no table
const STEP = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/**
 * Whether a unit of x is drawn as long as a unit of y from the beginning: arrows are then
 * perpendicular to borders. Not where one of them would be squeezed.
 */
export function isSquare({ features, view: { x, y, far }, target }) {
  const ratio = (y[1] - y[0]) / (x[1] - x[0]);
  return features.length === 2 && !far && !target && ratio > 0.4 && ratio < 2.5;
}

/** Turns gestures and keys into movements of the window, edits and readings. */
export class Hand {
  /** @param {object} events `onEdit`, `onReset`, `onTour`, and `onAdvise` with a line to be shown */
  constructor(state, set, plot, messenger, events, signal) {
    Object.assign(this, { state, set, plot, messenger, ...events, label: 0, dragged: null });
    this.pointers = new Map();
    this.build();
    this.listen(signal);
  }

  /* -- tools -- */

  build() {
    const { plot } = this;
    this.tools = Object.entries(TOOLS).map(([tool, { label, name, icon }]) => {
      const node = button(label, name, () => this.take(tool), icon);
      node.dataset.tool = tool;
      node.title = `${name}; key ${label[0]}`;
      node.setAttribute("aria-keyshortcuts", label[0]);
      return node;
    });
    const choose = () => {
      this.label = this.classes.selectedIndex;
      if (!TOOLS[this.state.tool].adds) this.take("add");
    };
    const type = () => {
      const value = Number(this.value.value.trim().replace(",", ".").replace("−", "-") || NaN);
      if (Number.isFinite(value)) this.given = value;
      this.value.value = say(this.given);
      if (!TOOLS[this.state.tool].adds) this.take("add");
    };
    this.classes = el("select", { "aria-label": "Class of added points", change: choose });
    this.value = el("input", { type: "text", inputmode: "decimal", class: "value", "aria-label": "Value of added points", hidden: true, change: type });
    this.undo = button("Undo", "Nothing to undo", () => this.takeBack(), "M8 4L3 9l5 5M3 9h11a5 5 0 0 1 0 11H8");
    this.setUndo("");
    this.editing = el("span", { class: "group" }, ...this.tools, this.classes, this.value);
    this.zooms = [
      button("Out", "Zoom out", () => plot.zoom(1 / 1.5), `${LENS}M7 10h6`),
      button("In", "Zoom in", () => plot.zoom(1.5), `${LENS}M7 10h6M10 7v6`),
      button("Fit", "Reset the zoom and show everything", () => plot.zoom(0), "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5")];
    const reset = button("Reset", "Reset all settings, the view and the zoom", this.onReset, "M4 4v6h6M4.6 10a8 8 0 1 1-.4 5");
    this.ends = el("span", { class: "group" }, this.undo, reset);
    this.tour = button("Take the tour", "Take the tour", this.onTour, "M5 22V3l14 5-14 5");
    this.tour.className = "tour";
    const keydown = (event) => event.target.matches("button") && this.pick(event);
    this.bar = el("div", { class: "bar", role: "group", "aria-label": "Figure tools", keydown },
      this.editing, this.ends, this.tour, el("span", { class: "group" }, ...this.zooms));
    this.flags = el("div", { class: "flags" });
    this.boxes = {};
    const layers = { bands: "Lead bands", arrows: "Prototypes", points: "Points", assignments: "Assignments", equal: "Equal axes" };
    for (const [name, text] of Object.entries(layers)) {
      const change = ({ target }) => {
        this.set({ show: { ...this.state.show, [name]: target.checked } }, "view");
        if (name === "equal") plot.resize();
      };
      const box = (this.boxes[name] = el("input", { type: "checkbox", change }));
      this.flags.append(el("label", {}, box, el("span", {}, text)));
    }
  }

  /** @param {string} what the next undo takes back; empty if nothing */
  setUndo(what) {
    offer(this.undo, !what && "Nothing to undo", `Undo ${what}`);
    this.undo.setAttribute("aria-label", this.undo.title);
    if (what) this.undo.title += "; keys Ctrl Z";
  }

  /** Undo. While a message is on its way nobody knows what is left to undo: then later. */
  takeBack() {
    if (this.messenger.busy) this.undos = (this.undos ?? 0) + 1;
    else if (this.undo.ariaDisabled !== "true") this.onEdit({ op: "undo" });
  }

  /** An answer is painted: undo what was asked for meanwhile, if there is something. */
  goOn() {
    if (!this.undos || this.messenger.busy) return;
    this.undos = this.undo.ariaDisabled === "true" ? 0 : this.undos - 1;
    this.takeBack();
  }

  /** The window has moved: zoom is offered as far as it goes. */
  follow() {
    const [[out, closer, fit], factor] = [this.zooms, this.plot.zoomFactor];
    const whole = factor <= 1 && "Everything is shown";
    offer(out, whole, "Zoom out; key −");
    offer(closer, factor >= MAX_ZOOM && "This is the closest zoom", "Zoom in; key +");
    offer(fit, whole, "Reset the zoom and show everything; key 0");
    this.setTouch();
    this.set({}, "view");
  }

  setScene(scene, previous) {
    for (const node of this.tools) node.hidden = scene.saved || (!scene.editable && !VIEWS.has(node.dataset.tool));
    if ((!scene.editable || !previous?.editable) && this.state.tool !== "box") this.take("look");
    keepChildren(this.classes, scene.classes.length, () => el("option"));
    scene.classes.forEach((name, i) => setText(this.classes.options[i], name));
    this.label = Math.max(0, Math.min(this.label, scene.classes.length - 1));
    this.classes.selectedIndex = this.label;
    this.measure(scene, previous?.title !== scene.title);
    // Pictures of prototypes say more than their directions in a plane.
    if (previous?.title !== scene.title) this.set({ show: { ...this.state.show, arrows: !scene.image, equal: isSquare(scene) } });
    for (const [name, box] of Object.entries(this.boxes)) box.checked = this.state.show[name];
    if (this.dragged) this.carry(this.dragged);
  }

  /** What is drawn with where a number is predicted: a value in place of a class. */
  measure({ target, editable, saved }, fresh) {
    this.classes.hidden = !editable || Boolean(target);
    this.value.hidden = !editable || !target || target.curve;
    const { bands } = this.boxes;
    setText(bands.nextElementSibling, target ? "Contour lines" : "Lead bands");
    bands.parentElement.hidden = Boolean(target?.curve);
    this.boxes.assignments.parentElement.hidden = Boolean(target || saved);
    this.boxes.equal.parentElement.hidden = Boolean(target?.curve);
    if (!target || !fresh) return;
    this.given = Number(((target.low + target.high) / 2).toPrecision(3));
    this.value.value = say(this.given);
  }

  /** A letter takes its tool; whether it did. */
  pick({ key, ctrlKey, metaKey, altKey }) {
    const tool = Object.keys(TOOLS).find((name) => TOOLS[name].label[0].toLowerCase() === key.toLowerCase());
    if (!tool || this.tools.find((node) => node.dataset.tool === tool).hidden || ctrlKey || metaKey || altKey) return false;
    this.take(tool);
    return true;
  }

  take(tool) {
    this.set({ tool });
    this.bar.classList.toggle("looks", tool === "look");
    this.dragged = this.from = null;
    this.plot.outline();
    if (this.state.scene) this.plot.onPoint(null, -1);
    for (const node of this.tools) node.setAttribute("aria-pressed", node.dataset.tool === tool);
    Object.assign(this.plot.canvas.style, { cursor: TOOLS[tool].cursor });
    this.setTouch();
  }

  /** Fingers scroll the page over an unzoomed figure that is only looked at. */
  setTouch() {
    const page = this.state.tool === "look" && (!this.plot.view || this.plot.zoomFactor === 1);
    this.plot.canvas.style.touchAction = page ? "pan-y" : "none";
  }

  /* -- edits -- */

  /** Class or value of a point that is added at a place. */
  answer(place) {
    const { target } = this.state.scene;
    return target ? { value: target.curve ? place.y : this.given } : { label: this.label };
  }

  add(place) {
    const what = this.answer(place);
    this.plot.ghosts.push({ ...place, ...what });
    this.onEdit({ op: "add", ...place, ...what });
    this.set({}, "view");
  }

  /** Two training rows beside each other, far from others of their class: one step to undo. */
  outliers(place) {
    const { area, view } = this.plot;
    this.onEdit({ op: "outliers", ...place, ...this.answer(place), dx: (BESIDE / area.w) * (view.x1 - view.x0) });
  }

  /** Add several points around each place; a stroke is one step to undo. */
  spray(places, dragging) {
    const { area, view } = this.plot;
    const reach = { dx: (CLOUD / area.w) * (view.x1 - view.x0), dy: (CLOUD / area.h) * (view.y1 - view.y0) };
    this.onEdit({ op: "spray", places, ...reach, ...this.answer({ y: 0 }), dragging });
  }

  /** Spray along a stroke, as often as it has moved on by half a cloud. */
  stroke(gesture, px, py) {
    const begins = gesture.kind !== "stroke";
    if (!begins && Math.hypot(px - gesture.px, py - gesture.py) < CLOUD / 2) return;
    Object.assign(gesture, { kind: "stroke", px, py });
    const { x, y } = this.plot.place(px, py);
    this.spray([[x, y]], true);
  }

  erase(index) {
    if (index >= 0) this.wipe([index], [], false);
  }

  /**
   * Erase points: at once here; there in one step to undo, however many messages a sweep
   * takes. They go by their places, since rows get new numbers with every answer.
   * @param {number[]} indices @param {number[][]} places what the sweep has erased so far
   */
  wipe(indices, places, dragging) {
    for (const i of indices) {
      const { x, y } = this.pointAt(i);
      places.push([x, y]);
      this.plot.gone.add(`${x} ${y}`);
    }
    this.plot.ringPoint(-1);
    this.plot.onPoint(null, -1);
    if (places.length) this.onEdit({ op: "erase", places: [...places], dragging });
    this.set({}, "view");
  }

  /** What the server has not erased by the end of a sweep is there again. */
  answered(seq) {
    const { plot, messenger } = this;
    if (this.gesture?.kind === "sweep" || messenger.waiting("erase", seq)) return;
    if (plot.gone.size) this.set({}, "view");
    plot.gone.clear();
  }

  pointAt(index) {
    const { x, y, label, row } = this.plot.points;
    return { x: x[index], y: y[index], label: label[index], row: row[index] };
  }

  /** Draw the held point at its place, before the server answers. */
  carry({ x, y, row }) {
    const { points } = this.plot;
    const index = points.row.indexOf(row);
    if (index < 0) return;
    points.x[index] = x;
    points.y[index] = y;
    if (this.state.scene.target?.curve) points.value[index] = y;
    this.set({}, "view");
  }

  /** Move the held point; let go of it at the end. */
  drag(place, dragging) {
    Object.assign(this.dragged, place);
    this.carry(this.dragged);
    this.onEdit({ op: "move", ...this.dragged, dragging });
    if (!dragging) this.dragged = null;
  }

  /** What Enter or a click does at a place with the tool in hand. */
  act(place, index) {
    if (this.plot.lesson.mark?.open) this.onEdit({ op: "mark", ...place });
    else if (this.dragged) this.drag(place, false);
    else TOOLS[this.state.tool].act(this, place, index);
  }

  /** Pick up a point; it follows the pointer or the arrow keys until the next click or Enter. */
  hold(index) {
    if (index >= 0) this.dragged = this.pointAt(index);
  }

  /* -- pointer -- */

  listen(signal) {
    const { canvas } = this.plot;
    const on = (names, act, options) =>
      names.split(" ").forEach((name) => canvas.addEventListener(name, (event) => {
        const box = canvas.getBoundingClientRect();
        if (this.plot.area && this.plot.view) act(event, event.clientX - box.left, event.clientY - box.top);
      }, options));
    on("pointerdown", (event, px, py) => this.down(event, px, py));
    on("pointermove", (event, px, py) => this.moveTo(event, px, py));
    on("pointerup pointercancel", (event, px, py) => this.up(event, px, py));
    on("pointerleave", () => this.leave());
    on("dblclick", () => this.state.tool === "look" && this.plot.zoom(0));
    on("wheel", (event, px, py) => this.wheel(event, px, py), { passive: false });
    on("keydown", (event) => this.key(event));
    on("focus", () => {
      if (!this.plot.cursor && canvas.matches(":focus-visible")) this.plot.setCursor(this.plot.middle, true);
    });
    window.addEventListener("pointerdown", (event) => (this.entered &&= event.composedPath().includes(canvas)), { signal, capture: true });
  }

  down(event, px, py) {
    const { plot } = this;
    if (event.button !== 0 || !plot.inside(px, py)) return;
    plot.canvas.setPointerCapture(event.pointerId);
    this.entered = true;
    this.pointers.set(event.pointerId, [px, py]);
    if (this.pointers.size === 2) {
      this.finish(this.gesture);
      this.gesture = { kind: "pinch", ...this.spread() };
      return;
    }
    const index = plot.nearest(px, py);
    this.gesture = { kind: "press", px, py, index, places: [], adds: event.ctrlKey || event.metaKey, selects: event.shiftKey && !this.state.scene.saved };
    if (this.state.tool !== "move" || this.dragged || index < 0) return;
    this.hold(index);
    this.gesture.kind = "grip";
  }

  /** End a sweep or a stroke: the one that is told so is one step to undo. */
  finish({ kind, places, from, to, adds }) {
    if (kind === "box") this.selectBox(from, to, adds);
    if (kind === "sweep") this.wipe([], places, false);
    if (kind === "stroke") this.spray([], false);
  }

  /** Middle and distance of two fingers. */
  spread() {
    const [[ax, ay], [bx, by]] = [...this.pointers.values()];
    return { cx: (ax + bx) / 2, cy: (ay + by) / 2, far: Math.max(Math.hypot(ax - bx, ay - by), 1) };
  }

  moveTo(event, px, py) {
    const { plot, gesture } = this;
    if (!this.pointers.has(event.pointerId)) {
      if (this.dragged && plot.inside(px, py)) this.drag(plot.place(px, py), true);
      if (this.from) plot.outline(this.from, plot.place(px, py));
      this.hover(px, py);
      return;
    }
    const [lastX, lastY] = this.pointers.get(event.pointerId);
    this.pointers.set(event.pointerId, [px, py]);
    if (gesture.kind === "pinch") {
      const now = this.spread();
      plot.pan(now.cx - gesture.cx, now.cy - gesture.cy);
      plot.zoom(now.far / gesture.far, plot.place(now.cx, now.cy));
      Object.assign(gesture, now);
      return;
    }
    gesture.moved ||= Math.hypot(px - gesture.px, py - gesture.py) > 4;
    if (!gesture.moved) return;
    const boxes = gesture.selects && this.state.tool === "look"; // Shift
    TOOLS[boxes ? "box" : this.state.tool].drag(this, gesture, px, py, px - lastX, py - lastY);
  }

  /** Draw a box from where the gesture began; the rows in it are selected at its end. */
  stretch(gesture, px, py) {
    const from = gesture.from ?? this.plot.place(gesture.px, gesture.py);
    Object.assign(gesture, { kind: "box", from, to: this.plot.place(px, py) });
    this.plot.outline(from, gesture.to);
  }

  /** A box without a drag: its first corner, then the opposite one. */
  corner(place) {
    if (this.from) return this.selectBox(this.from, place, this.gesture?.adds);
    this.from = place;
    this.plot.outline(place, place);
  }

  selectBox(a, b, adds) {
    const { x, y, row } = this.plot.points;
    const between = (v, p, q) => Math.min(p, q) <= v && v <= Math.max(p, q);
    const rows = Array.from(row).filter((_, i) => between(x[i], a.x, b.x) && between(y[i], a.y, b.y));
    this.from = null;
    this.plot.outline();
    this.onSelect(adds ? [...new Set([...this.state.selected, ...rows])] : rows);
  }

  /** Erase what the pointer has passed since it was here last. */
  sweep(gesture, px, py) {
    const struck = this.struck(gesture.px, gesture.py, px, py);
    Object.assign(gesture, { kind: "sweep", px, py });
    if (struck.length) this.wipe(struck, gesture.places, true);
  }

  /** Indices of the points near a stroke between two positions in the box. */
  struck(ax, ay, bx, by) {
    const { plot } = this;
    const { x, y } = plot.points;
    const [dx, dy] = [bx - ax, by - ay];
    const long = Math.max(dx * dx + dy * dy, 1e-9);
    return Array.from(x.keys()).filter((i) => {
      const [px, py] = [plot.px(x[i]) - ax, plot.py(y[i]) - ay];
      const along = clamp((px * dx + py * dy) / long, 0, 1);
      return Math.hypot(px - along * dx, py - along * dy) < BROOM && !plot.isGone(x[i], y[i]);
    });
  }

  up(event, px, py) {
    const { plot, gesture } = this;
    if (!this.pointers.delete(event.pointerId) || gesture.kind === "rest") return;
    const { kind } = gesture;
    if (["stroke", "sweep", "box", "pinch"].includes(kind)) gesture.kind = "rest"; // another finger means nothing any more
    this.finish({ ...gesture, kind });
    if (kind === "grip" && gesture.moved) this.drag(plot.place(px, py), false);
    else if (gesture.kind !== "rest" && !gesture.moved && event.type === "pointerup") {
      const place = plot.place(px, py);
      if (gesture.kind === "press") this.act(place, gesture.index);
      const known = gesture.index >= 0 && this.state.tool === "look";
      plot.setCursor(known ? this.pointAt(gesture.index) : place);
    }
  }

  hover(px, py) {
    const { plot } = this;
    if (!plot.inside(px, py)) return this.leave();
    const index = plot.nearest(px, py);
    const place = plot.place(px, py);
    plot.ringPoint(plot.starAt(place, index) < 0 ? index : -1);
    this.plot.onPoint(place, index);
  }

  leave() {
    this.plot.ringPoint(-1);
    this.plot.onPoint(this.plot.cursor, this.plot.underCursor());
  }

  /** The wheel scrolls the page, until a click into the figure or with Ctrl: then it zooms. */
  wheel(event, px, py) {
    const { plot } = this;
    if (!plot.inside(px, py)) return;
    if (!this.entered && !event.ctrlKey) return this.onAdvise("To zoom with the wheel, click the figure first or hold Ctrl.");
    if (event.deltaY > 0 && plot.zoomFactor === 1 && !event.ctrlKey) return;
    event.preventDefault();
    const turn = clamp(event.deltaY * (event.deltaMode === 1 ? 33 : 1), -300, 300);
    plot.zoom(Math.exp(-turn / (event.ctrlKey ? 100 : 400)), plot.place(px, py));
  }

  /* -- keyboard -- */

  key(event) {
    const { plot } = this;
    const { key } = event;
    const { editable } = this.state.scene;
    const command = event.ctrlKey || event.metaKey;
    if (event.altKey || (command && key !== "z")) return;
    if (command) this.takeBack();
    else if (STEP[key]) this.step(STEP[key], event.shiftKey ? 0.1 : 0.02);
    else if (key === "[" || key === "]") this.jump(key === "]" ? 1 : -1);
    else if (key === "+" || key === "=") plot.zoom(1.5);
    else if (key === "-") plot.zoom(1 / 1.5);
    else if (key === "0") plot.zoom(0);
    else if (this.pick(event)) event.stopPropagation();
    else if ((key === "Enter" || key === " ") && (editable || this.state.tool === "box" || plot.lesson.mark?.open)) this.act(plot.cursor ?? plot.middle, plot.underCursor(40));
    else if ((key === "Delete" || key === "Backspace") && editable) this.erase(plot.underCursor(1e4));
    else return;
    event.preventDefault();
  }

  step([dx, dy], share) {
    const { view, cursor, middle } = this.plot;
    const from = cursor ?? middle;
    this.plot.setCursor({
      x: from.x + dx * share * (view.x1 - view.x0),
      y: from.y + dy * share * (view.y1 - view.y0),
    }, true);
    if (this.dragged) this.drag(this.plot.cursor, true);
    if (this.from) this.plot.outline(this.from, this.plot.cursor);
  }

  /** Put the crosshair on the next point, in the order of rows. */
  jump(by) {
    const n = this.plot.points.x.length;
    if (n === 0) return;
    this.at = this.at === undefined ? (by > 0 ? 0 : n - 1) : (this.at + by + n) % n;
    this.plot.setCursor(this.pointAt(this.at), true);
    this.plot.ringPoint(this.at);
  }
}
