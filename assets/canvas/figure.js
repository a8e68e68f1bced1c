/**
 * The live figure. The engine's answers come as payloads of bytes; what the visitor does becomes
 * messages to it. Knots of a solved path are kept here and painted without a message.
 */

import { Behind } from "./behind.js";
import { Ruler } from "./chart.js";
import { Codes } from "./codes.js";
import { Controls, nearestIndex } from "./controls.js";
import { el } from "./elements.js";
import { Formula } from "./formula.js";
import { Guard } from "./guard.js";
import { Hand } from "./hand.js";
import { readTheme } from "./marks.js";
import { BACKGROUND, Messenger } from "./messages.js";
import { decode, sameBytes } from "./payload.js";
import { Play } from "./play.js";
import { Plot } from "./plot.js";
import { Present } from "./present.js";
import { Prototypes } from "./prototypes.js";
import { Report } from "./report.js";
import { WAITING, pictureIn } from "./scene.js";
import { Selection } from "./selection.js";
import { Share } from "./share.js";
import { beginState } from "./state.js";
import { Stepper } from "./stepper.js";
import { Strip } from "./strip.js";

const CHUNK = 8; // knots asked for at a time
const NARROW = 640; // px: less is one column, as in figure.css
/** Fewer settings than this stand below the picture, as in a lesson that frees one. */
const FEW = 4;
const POLL = 400; // ms between two looks at a fit that takes long

/** Owns the state; a payload or a scrub step changes it, one animation frame paints it. */
export class Figure {
  /**
   * @param {Element} host @param {string} style sheet @param {{post: (message: object) => void, begin: () => void}} transport
   * takes messages to the engine, whose answers go to `receive`, and hears that it began anew
   */
  constructor(host, style, transport) {
    const { signal } = (this.stopper = new AbortController());
    this.touched = new Map(); // control -> number of the message that carries its value
    this.dirty = new Set();
    Object.assign(this, { transport, answered: 0, paints: 0, chain: null, pointed: [null, -1] });
    const [state, set] = ([this.state, this.set] = beginState((what) => this.schedule(what)));
    const root = (this.root = el("div", { class: "spe" }, el("style", {}, style)));
    host.append(root);
    set({ theme: readTheme(root) });
    const stale = (yes) => root.classList.toggle("stale", yes);
    const askAgain = () => {
      this.asked = null;
      this.stepper.again();
      this.fetchKnots();
    };
    const messenger = (this.messenger = new Messenger((message) => this.post(message), stale, askAgain));
    this.guard = new Guard();
    this.ruler = new Ruler();
    this.plot = new Plot(state, this.guard, this.ruler, { onMove: () => this.hand.follow(), onPoint: (...where) => this.point(...where) });
    this.codes = new Codes(state, this.plot);
    this.behind = new Behind(state);
    this.hand = new Hand(state, set, this.plot, messenger, {
      onEdit: (edit) => this.edit(edit),
      onSelect: (rows) => this.select(rows),
      onReset: () => this.reset(),
      onTour: () => transport.post({ kind: "tour", seq: messenger.seq }),
      onAdvise: (line) => this.report.advise(line),
    }, signal);
    this.report = new Report(state, this.plot.canvas, this.codes, this.plot.lesson, () => this.send({ kind: "stop" }));
    this.selection = new Selection(state, this.plot, this.report.grid, () => this.select([]));
    this.controls = new Controls(state, { onChange: (...what) => this.change(...what), onScrub: (...what) => this.scrub(...what) }, signal);
    const slider = () => this.controls.scrub;
    this.play = new Play(slider);
    this.strip = new Strip(state, slider);
    this.stepper = new Stepper(root, state, set, messenger, () => this.lookAgain());
    this.prototypes = new Prototypes(state, this.ruler);
    this.present = new Present(root, () => this.readTheme(), () => messenger.send({ kind: "set", values: {}, dragging: false }));
    this.share = new Share(state, this.plot, () => this.report.kinds.filter((kind) => kind.isConnected && !kind.hidden));
    this.formula = new Formula(root, state, set);
    this.build();
    document.addEventListener("keydown", ({ key }) => key === "Escape" && this.present.on && this.present.button.click(), { signal });
  }

  build() {
    const { plot, hand, report, controls, strip, stepper, prototypes } = this;
    plot.box.append(report.news, report.job, this.behind.canvas);
    plot.canvas.setAttribute("aria-details", report.twin.id);
    hand.ends.append(this.present.button);
    this.stage = el("section", { class: "stage", "aria-label": "Figure" },
      report.headline, hand.bar, el("div", { class: "view" }, plot.box), plot.keys, report.here, report.columns, report.spoken, this.selection.node,
      el("div", { class: "path" }, controls.scrubPlace, el("div", { class: "plays" }, this.play.button, stepper.opener)),
      strip.canvas, stepper.panel, controls.methodPlace, report.note, strip.legend, this.formula.node,
      hand.flags, this.share.node);
    this.root.append(el("div", { class: "grid" }, this.stage, report.four, report.numbers, prototypes.node, report.twin));
    this.arrange();
    this.resized = new ResizeObserver(() => {
      this.arrange();
      if (this.state.scene) plot.resize();
      this.schedule("view");
    });
    for (const node of [this.root, plot.box, strip.canvas, stepper.curve]) this.resized.observe(node);
    // A button that keeps the focus though it is not offered: `offer`.
    this.root.addEventListener("click", (event) => event.target.closest("[aria-disabled=true]") && event.stopPropagation(), true);
    this.root.addEventListener("keydown", (event) => {
      // Letters typed into a field are not Streamlit's shortcuts.
      if (event.target.matches("input, select") && !event.ctrlKey && !event.metaKey) event.stopPropagation();
    });
  }

  /** On a narrow page, or where there are few, settings stand below the picture. */
  arrange() {
    const few = this.state.list?.filter((control) => control.group !== "view").length < FEW;
    this.set({ phone: this.root.clientWidth < NARROW });
    const narrow = few || this.state.phone;
    this.root.classList.toggle("few", few);
    if (narrow === this.narrow) return;
    this.narrow = narrow;
    this.controls.arrange(narrow);
    (narrow ? this.controls.methodPlace : this.plot.box).after(this.report.legend);
    this.stage[narrow ? "append" : "after"](this.controls.node);
    if (this.state.scene) this.point(null, -1);
  }

  /* -- what the server says -- */

  /** A payload has come, or the same one again (after a change of theme, say). */
  receive(bytes) {
    const { guard, plot } = this;
    guard.draw("the colours", plot.box, () => this.readTheme());
    if (!bytes?.length) return;
    let { seq } = this.messenger; // of an answer that cannot be read
    guard.draw("the answer", plot.box, () => {
      const header = decode(bytes);
      if (header.seq === 0) this.transport.begin();
      const known = sameBytes(bytes, this.bytes);
      seq = known ? this.answered : header.seq;
      this.bytes = bytes;
      if (!known) this.follow(header);
    });
    this.painted(seq); // whatever failed, so that the next message goes
  }

  /** An answer that is no bytes. */
  answer(header) {
    this.follow(header);
    this.painted(header.seq);
  }

  painted(seq) {
    this.done = seq;
    this.schedule("strip");
  }

  follow(header) {
    const { guard, hand, report } = this;
    this.answered = Math.max(this.answered, header.seq);
    this.messenger.seq = Math.max(this.messenger.seq, header.seq);
    for (const [name, seq] of this.touched) if (seq <= header.seq) this.touched.delete(name);
    const path = header.path === undefined ? header.scene?.path : header.path;
    if (path !== undefined) this.set({ path });
    if (header.scene) this.setScene(header.scene, header.seq);
    // What the answer to the visitor said stays while knots come in.
    if (!BACKGROUND.has(header.kind) || header.notices.length)
      guard.draw("notices", report.news, () => report.notify(header.notices, header.busy));
    hand.answered(header.seq);
    if (header.undo !== undefined) hand.setUndo(header.undo);
    if (this.state.scene) this.take(header);
    // What came is of a figure that stood here before: ask for everything.
    else setTimeout(() => this.state.scene || this.messenger.busy || this.send({ kind: "set", values: {}, dragging: false }), POLL);
  }

  /** A picture that another figure shows, with the mark that is here; nothing is asked for it. */
  lead(header) {
    if (!this.messenger.busy) this.follow({ ...header, mark: this.plot.lesson.mark });
  }

  take(header) {
    const { guard, formula, controls, hand, report, stepper } = this;
    guard.draw("the formula", formula.node, () => formula.take(header.terms));
    if ("headline" in header) {
      report.lead(header.headline);
      hand.tour.hidden = !header.headline || !this.transport.tours; // in a lesson, a file or a notebook
    }
    if (header.led) this.transport.follow?.(header.led);
    // What a picture is stands at its control; a refusal brings none: what was valid stands again.
    const list = header.controls?.map((row) => (row.name === "v.kind" ? { ...row, help: this.state.scene.view.note } : row));
    this.set({ list: list ?? this.state.list });
    this.arrange();
    if (header.knots) this.keep(header.knots.map((knot) => [knot.knot, knot]));
    if (this.state.list) guard.draw("settings", controls.node, () => controls.update(this.state.list, (name) => this.touched.has(name)));
    this.play.show();
    if (header.selection || header.scene) this.set({ selection: header.selection, selected: new Set(header.selection?.rows) }, "view");
    if (header.kind === "select") return;
    if (header.kind === "steps") return guard.draw("the steps", stepper.panel, () => stepper.receive(header));
    const replays = header.picture && stepper.isOpen; // a map came, or what was changed just before
    if (header.picture || header.kind === "notice") stepper.close();
    if (header.kind === "notice") this.chain = this.state.shown?.chain;
    if (header.picture) this.accept(header.picture, header.mark);
    const method = this.state.list?.find(({ name }) => name === "method")?.value;
    if (method !== this.method) this.ruler.reset();
    if (method !== this.method) this.strip.past = []; // another method's curve says nothing here
    this.method = method; // too large a table for previews: a drag is answered with the controls alone
    if (header.kind !== "knots") this.delay(header.kind !== "notice" && !header.picture && !header.job);
    // Knots of another scene: the server has one that is not here yet, and a look at it brings it.
    if (header.kind === "knots") this.asked = header.knots.some(({ chain }) => chain === this.chain) ? null : this.asked;
    else this.set({ job: header.job });
    if ("laying_out" in header) this.set({ layingOut: header.laying_out });
    report.progress(this.state.job);
    this.root.classList.toggle("working", Boolean(this.state.job));
    this.schedule(header.kind === "knots" ? "strip" : "picture");
    if (replays) stepper.open();
  }

  setScene(scene, seq) {
    const previous = this.state.scene;
    this.set({ scene });
    // Whatever belongs to another scene goes at once, before its own picture is here.
    const edited = this.messenger.flight?.kind === "edit";
    if (previous?.id !== scene.id) {
      this.stepper.close();
      this.set({ shown: pictureIn(this.state.shown, previous, scene, this.messenger.flight) });
      this.forget();
    }
    if (previous?.title !== scene.title) {
      this.ruler.reset();
      this.strip.past = [];
      this.prototypes.orders = [];
      this.prototypes.names = [];
    }
    const adding = this.messenger.waiting("add", seq);
    this.plot.ghosts = adding ? this.plot.ghosts.slice(-adding) : [];
    const { guard, plot, hand, report, codes } = this;
    plot.setScene(scene, previous, edited);
    if (!previous && scene.present) this.present.set(true);
    guard.draw("the tools", hand.bar, () => hand.setScene(scene, previous));
    if (!previous || this.state.show.equal || !previous.view.far !== !scene.view.far) plot.resize();
    if (String(previous?.image) !== String(scene.image)) this.prototypes.reset();
    guard.draw("the legend", report.legend, () => report.setScene(scene));
    // What was pointed at may have another number now, or be gone.
    if (previous && previous.id !== scene.id) this.pointed = [plot.cursor, plot.underCursor()];
    if (this.state.shown) return;
    plot.lesson.clear();
    codes.show(-1);
    hand.dragged = null;
    hand.leave();
  }

  /** Take an answer's picture, unless the scrub is already past it. */
  accept(picture, mark) {
    const { scrub } = this.controls;
    if (picture.chain !== this.chain) this.forget(picture.chain);
    const index = this.state.path ? nearestIndex(this.state.path.values, picture.value) : -1;
    if (picture.canonical && this.state.path?.values[index] === picture.value) this.keep([[index, picture]]);
    this.plot.lesson.follow(this.state.scene, this.latest, picture, mark);
    this.latest = picture;
    const local = scrub?.active && this.state.knots.get(scrub.position);
    this.set({ shown: local || picture, settled: picture.canonical && !scrub?.active });
  }

  /** Say beside what is being dragged that its picture comes when it is let go. */
  delay(waits) {
    this.set({ waits });
    this.root.classList.toggle("waiting", waits);
    this.controls.wait(waits);
    this.plot.mark(this.state.shown ?? WAITING);
  }

  /** Take pairs of an index on the path and its picture. */
  keep(knots) {
    const fresh = knots.filter(([, knot]) => knot.chain === this.chain && !this.lacksTies(knot));
    if (fresh.length) this.set({ knots: new Map([...this.state.knots, ...fresh]) });
  }

  forget(chain = null) {
    this.strip.fade(this.state.knots);
    this.set({ knots: new Map() });
    this.chain = chain;
    this.asked = null;
  }

  /** Is the layer of assignments on, and this picture without what it draws? */
  lacksTies(picture) {
    return this.state.show.assignments && !this.state.scene?.target && picture?.assignments === undefined;
  }

  /** Ask for what the layer of assignments draws, once the pictures here lack it. */
  fetchTies() {
    const { messenger, stepper } = this;
    if (this.transport.led || !this.state.shown || !this.lacksTies(this.state.shown) || messenger.busy || messenger.flight || this.state.job || this.controls.scrub?.active) return;
    if (stepper.isOpen) return stepper.refresh();
    this.forget();
    messenger.send({ kind: "set", values: {}, dragging: false });
  }

  readTheme() {
    const theme = readTheme(this.root);
    if (JSON.stringify(theme) === JSON.stringify(this.state.theme) && this.prototypes.map) return;
    this.set({ theme });
    this.root.classList.toggle("dark", theme.dark);
    this.prototypes.reset();
    if (!this.state.scene) return;
    this.plot.resize();
    this.report.setScene(this.state.scene);
    this.schedule("picture");
  }

  /* -- what the visitor does -- */

  send(message) {
    this.stepper.close(); // its states are those of the fit before
    for (const name of Object.keys(message.values ?? {})) this.touched.set(name, Infinity);
    if (message.kind !== "set" || Object.keys(message.values).length) this.plot.lesson.clear();
    this.messenger.send(message);
  }

  /** Hand a message over; its values are the server's until the visitor changes them again. */
  post(message) {
    if (message.kind !== "knots") this.asked = null; // something else drops a request for them
    for (const name of Object.keys(message.values ?? {})) {
      const waits = this.messenger.queue.some((other) => name in (other.values ?? {}));
      if (!waits) this.touched.set(name, message.seq);
    }
    const shown = { ...(this.state.show.assignments && { assignments: true }), ...(this.present.on && { present: true }) };
    this.transport.post({ ...message, ...shown, have: this.state.scene?.id ?? "" });
  }

  change(name, value, dragging) {
    if (name !== this.state.path?.param) this.forget();
    this.formula.touch(name);
    this.send({ kind: "set", values: { [name]: value }, dragging });
  }

  /** All settings of the method as they were before the first was changed, and the view. */
  reset() {
    this.plot.zoom(0);
    this.forget();
    this.send({ kind: "reset", dragging: false });
  }

  /** What an edit does not say is null in its message, or not there. */
  edit(edit) {
    this.forget();
    this.send({ kind: "edit", x: null, y: null, label: null, row: null, places: null, dragging: false, ...edit });
  }

  /** Select rows by their places in the table: they light up, and the engine compares them. */
  select(rows) {
    this.set({ selected: new Set(rows), selection: null }, "view");
    this.messenger.send({ kind: "select", want: rows });
  }

  /** A step along the path: painted here when its knot is known; sent when not, or when let go. */
  scrub(value, dragging) {
    const knot = this.state.knots.get(nearestIndex(this.state.path.values, value));
    this.stepper.close();
    this.formula.touch(this.state.path.param);
    if (knot) this.set({ shown: knot, settled: !dragging }, "picture");
    if (!knot || !dragging) this.change(this.state.path.param, value, dragging);
  }

  /** Ask for the nearest missing knots while nothing else is going on. */
  fetchKnots() {
    const { messenger, controls: { scrub }, state: { path, shown } } = this;
    if (!path || !this.chain || this.state.job || this.stepper.isOpen || messenger.flight || messenger.busy) return;
    if (!shown?.canonical || scrub?.active) return;
    if (this.asked?.length) return; // the server did not give these: it will not give them now
    const here = scrub?.position ?? 0;
    const missing = path.values.map((_, i) => i).filter((i) => !this.state.knots.has(i));
    this.asked = missing.sort((a, b) => Math.abs(a - here) - Math.abs(b - here)).slice(0, CHUNK);
    if (this.asked.length) messenger.send({ kind: "knots", want: this.asked });
  }

  /** The crosshair or the pointer has moved: say what is there, and show what stands behind it. */
  point(place, index, speak = false) {
    const { guard, plot, codes, behind, report } = this;
    this.pointed = [place, index];
    guard.draw("the text under the figure", report.here, () => {
      const star = place ? plot.starAt(place, index) : -1;
      codes.show(place && star < 0 && this.state.tool === "look" ? index : -1);
      behind.show(place, index);
      report.read(place, index, star, speak);
      if (place === plot.cursor) report.tables(); // the table has the code of the row that is pinned
    });
  }

  /* -- painting -- */

  /** @param {"picture" | "view" | "strip"} what */
  schedule(what) {
    this.dirty.add(what);
    this.frame ??= requestAnimationFrame(() => this.render());
  }

  render() {
    this.frame = null;
    if (this.state.scene) this.guard.draw("the figure", this.plot.box, () => this.draw(this.state.shown ?? WAITING, this.dirty));
    this.dirty.clear();
    if (this.done === undefined) return; // no answer waits to be counted as painted
    const seq = this.done;
    this.done = undefined;
    requestAnimationFrame(() => this.goOn(seq));
  }

  draw(shown, dirty) {
    const { guard, plot, codes, strip, stepper, prototypes, report } = this;
    this.fetchTies();
    const coarse = Boolean(this.controls.scrub?.active) || !shown.canonical;
    if (dirty.has("picture") || dirty.has("view")) {
      plot.paint(shown, coarse);
      guard.draw("codes", plot.box, () => codes.paint());
    }
    if (this.state.settled || dirty.has("view")) guard.draw("the selected rows", this.selection.node, () => this.selection.update(shown));
    guard.draw("the strip", strip.canvas, () => strip.paint(shown));
    guard.draw("the curves of the steps", stepper.panel, () => stepper.paint());
    if (dirty.has("picture")) {
      guard.draw("prototypes", prototypes.node, () => prototypes.update(shown, this.state.settled));
      this.point(...this.pointed);
      guard.draw("metrics", report.numbers, () => report.update(shown));
    } else if (dirty.has("view")) guard.draw("the legend", report.legend, () => report.key(shown));
    this.share.offer(this.state.shown);
    this.trace(shown);
  }

  /** What comes after a painted answer: the next message, knots, another look at a long fit. */
  goOn(seq) {
    this.messenger.answered(seq);
    this.hand.goOn();
    this.fetchTies();
    this.stepper.fetch();
    this.fetchKnots();
    this.lookAgain();
  }

  /** At a long fit, or a map that is laid out; what came would close the steps. */
  lookAgain() {
    clearTimeout(this.poll);
    const looksAgain = this.state.job || (this.state.layingOut?.share ?? null) !== null;
    if (looksAgain) this.poll = setTimeout(() => this.messenger.busy || this.stepper.isOpen || this.messenger.send({ kind: "poll" }), POLL);
  }

  /** What tests and benches read: state on the canvas, a mark on the timeline. */
  trace(picture) {
    const state = {
      seq: this.answered,
      knot: picture.knot ?? "",
      knots: this.state.knots.size,
      wanted: this.state.path?.values.length ?? 0,
      zoom: this.plot.zoomFactor,
      paintCount: ++this.paints,
      lastValue: picture.value ?? "",
      canonical: Number(Boolean(picture.canonical)),
      coarse: Number(picture !== WAITING && Boolean(picture.coarse)),
      step: picture.step?.index ?? "",
      steps: this.stepper.states.size,
      stepsWanted: this.stepper.count,
    };
    Object.assign(this.plot.canvas.dataset, state);
    if (this.paints % 500 === 0) performance.clearMarks("spe-paint");
    performance.mark("spe-paint", { detail: state });
  }

  stop() {
    this.stopper.abort();
    this.resized.disconnect();
    for (const part of [this.messenger, this.controls, this.stepper, this.present]) part.stop();
    clearTimeout(this.poll);
    cancelAnimationFrame(this.frame);
    this.root.remove();
  }
}
