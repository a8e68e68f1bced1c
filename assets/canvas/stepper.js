/** The fit step by step: recorded states of the solver, played without a message. */

import { drawLine, drawNumbers, heightsOf, shareAt, spanOf } from "./chart.js";
import { Comparison, stateAt, timeAxis } from "./compare.js";
import { button, clamp, el, newId, offer, say, setText, sized } from "./elements.js";
import { isAsked } from "./lesson.js";
import { css } from "./marks.js";

const CHUNK = 16; // states asked for at a time
const POLL = 400; // ms between two looks at a fit that takes long
const MOST_PHASES = 8; // whose beginnings are marked: more would be a fence
const SPEEDS = [2, 5, 10, 20]; // steps in a second
const PLAY = "▶ Play the fit";
const MOVES = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };

/** Where each phase begins: [index, name]. */
export function phaseStarts(phases) {
  return phases.flatMap((name, i) => (name !== phases[i - 1] ? [[i, name]] : []));
}

/** States that are not here yet, those that come next first. */
export function missingStates(count, here, at) {
  const missing = Array.from({ length: count }, (_, i) => i).filter((i) => !here.has(i));
  const far = (i) => (i >= at ? i - at : at - i + count);
  return missing.sort((a, b) => far(a) - far(b));
}

/** States of one side: what all of them are, those that are here, and the one that is shown. */
const nothing = () => ({ trace: null, states: new Map(), at: 0 });

/** The states of the fit on the screen, a player for them, and their curves. */
export class Stepper {
  /** @param {Element} root of the figure @param {() => void} onClose @param {Messenger} messenger */
  constructor(root, state, set, messenger, onClose) {
    Object.assign(this, { root, state, set, messenger, onClose, isOpen: false });
    this.forget();
    this.comparison = new Comparison(state, (isOn) => this.compare(isOn), (side) => this.choose(side));
    const press = () => (this.isOpen ? this.play(!this.playing) : this.open());
    this.opener = el("button", { type: "button", "aria-expanded": "false", disabled: true, click: press }, PLAY);
    this.back = button("‹", "Step back", () => this.move(-1));
    this.next = button("›", "Step", () => this.move(1));
    const slide = () => this.move(Number(this.range.value) - this.at);
    this.range = el("input", { type: "range", min: 0, max: 0, step: 1, value: 0, "aria-label": "State of the fit", input: slide });
    this.speed = el("select", { "aria-label": "Speed" }, ...SPEEDS.map((n) => el("option", { value: n }, `${n} per second`)));
    this.speed.selectedIndex = 1;
    this.words = el("p", { class: "sentence", "aria-live": "polite" });
    this.where = el("p", { class: "where" });
    const point = (event) => event.buttons & 1 && this.point(event);
    this.curve = el("canvas", { class: "curve", "aria-hidden": "true", pointerdown: point, pointermove: point });
    const bar = el("div", { class: "group" }, this.back, this.next, this.speed, this.comparison.switch, this.comparison.sides,
      button("Close", "Close the steps", () => this.close()));
    const panel = { class: "steps", id: newId(), role: "group", "aria-label": "Steps of the fit", tabindex: -1, hidden: true };
    this.panel = el("div", { ...panel, keydown: (event) => this.key(event) },
      bar, this.range, this.comparison.beside, this.words, this.comparison.difference, this.where, this.curve, this.comparison.axes);
    this.opener.setAttribute("aria-controls", this.panel.id);
  }

  /* -- open and closed -- */

  open() {
    this.fitted = this.state.shown;
    this.forget();
    Object.assign(this, { isOpen: true, asked: false });
    this.comparison.switch.hidden = true;
    this.comparison.turn(false);
    setText(this.words, "Recording the states of the fit");
    setText(this.where, "");
    for (const node of [this.back, this.next]) offer(node, "The states are on their way");
    this.reveal();
    this.range.focus();
    this.fetch();
  }

  /** Back to the fitted picture; the visitor, or any change of the settings, does this. */
  close() {
    if (!this.isOpen) return;
    const focused = this.panel.contains(this.panel.getRootNode().activeElement);
    this.play(false);
    clearTimeout(this.poll);
    this.isOpen = false;
    this.reveal();
    this.forget();
    if (focused) this.opener.focus();
    this.set({ shown: this.fitted, settled: Boolean(this.fitted?.canonical) }, "picture");
    this.onClose();
  }

  reveal() {
    this.panel.hidden = !this.isOpen;
    this.opener.setAttribute("aria-expanded", String(this.isOpen));
    this.root.classList.toggle("stepping", this.isOpen);
  }

  /* -- what the server says -- */

  receive({ trace, steps, job, printed }) {
    if (!this.isOpen) return;
    this.asked = false;
    if (job) {
      if (printed) setText(this.comparison.difference, job.text);
      else setText(this.words, `${job.text}: ${Math.round(100 * job.progress)} %`);
      this.asked = true; // until then
      clearTimeout(this.poll);
      this.poll = setTimeout(() => this.again(), POLL);
      return;
    }
    const set = this.sets[printed ? "printed" : "ours"];
    const first = set.trace === null;
    if (this.trace && trace.chain !== this.trace.chain) return this.close();
    set.trace = trace;
    this.comparison.mark(this.side, this.sets);
    for (const picture of steps) set.states.set(picture.step.index, picture);
    this.comparison.switch.hidden = printed === null;
    if (printed && first) setText(this.comparison.difference, trace.difference);
    if (set !== this.chosen) return first ? this.goTo(this.time) : this.paint();
    if (first || !this.shows) this.seek(this.at);
    if (first && set === this.chosen) this.play(true);
  }

  /** Ask for the states that are missing while nothing else is going on. */
  fetch() {
    const { messenger } = this;
    if (!this.isOpen || this.asked || messenger.flight || messenger.busy) return;
    for (const side of this.comparison.isOn ? ["printed", "ours"] : ["ours"]) {
      const { trace, states, at } = this.sets[side];
      const want = trace ? missingStates(trace.objective.length, states, at).slice(0, CHUNK) : [0];
      if (!want.length) continue;
      this.asked = true;
      return messenger.send({ kind: "steps", want, printed: side === "printed" });
    }
  }

  /** Ask for all states anew: they lack what a layer draws. */
  refresh() {
    if (this.asked) return;
    this.states.clear();
    this.shows = false;
    this.fetch();
  }

  /** A request got lost. */
  again() {
    this.asked = false;
    this.fetch();
  }

  /* -- what the visitor does -- */

  /** Set our fit and the printed algorithm on one time axis, or show ours alone. */
  compare(isOn) {
    this.comparison.turn(isOn);
    if (!isOn) this.choose("ours");
    else if (this.sets.printed.trace) setText(this.comparison.difference, this.sets.printed.trace.difference);
    else setText(this.comparison.difference, "Running the algorithm as printed");
    this.comparison.mark(this.side, this.sets);
    this.fetch();
    this.paint();
  }

  /** Show the other side's state at the same iteration. */
  choose(side) {
    if (!this.sets[side].trace) return;
    this.side = side;
    this.comparison.mark(side, this.sets);
    this.goTo(this.time);
  }

  /** Both sides at an iteration; one that has ended before stays at its end. */
  goTo(time) {
    this.seek(stateAt(this.trace.iteration, time));
    this.time = time;
    this.follow();
    this.paint();
  }

  /** The other side stands at the same iteration. */
  follow() {
    for (const set of Object.values(this.sets))
      if (set.trace && set !== this.chosen) set.at = stateAt(set.trace.iteration, this.time);
  }

  forget() {
    Object.assign(this, { sets: { ours: nothing(), printed: nothing() }, side: "ours", time: 0, shows: false });
  }

  get chosen() {
    return this.sets[this.side];
  }

  get trace() {
    return this.chosen.trace;
  }

  get states() {
    return this.chosen.states;
  }

  get at() {
    return this.chosen.at;
  }

  /** Whether both sides are here and shown. */
  get isComparing() {
    return this.comparison.isOn && Boolean(this.sets.printed.trace);
  }

  get count() {
    return this.trace?.objective.length ?? 0;
  }

  move(by) {
    this.play(false);
    this.seek(this.at + by);
  }

  /** Show a state; one that is still on its way comes when it is here. */
  seek(index) {
    if (!this.count) return;
    this.chosen.at = clamp(index, 0, this.count - 1);
    this.time = this.trace.iteration[this.at];
    this.follow();
    this.range.max = this.count - 1;
    this.range.value = this.at;
    this.range.style.setProperty("--share", this.at / Math.max(this.count - 1, 1));
    const picture = this.states.get(this.at);
    this.shows = Boolean(picture);
    const { iteration, phase } = this.trace;
    const place = `State ${this.at + 1} of ${this.count}, iteration ${say(iteration[this.at])}, ${phase[this.at]}`;
    setText(this.where, place);
    this.range.setAttribute("aria-valuetext", place);
    setText(this.words, picture?.step.sentence ?? "This state is on its way");
    offer(this.back, this.at === 0 && "This is the first state", "Step back");
    offer(this.next, this.at === this.count - 1 && "This is the last state", "Step");
    this.paint();
    if (!picture) return;
    this.set({ shown: picture, settled: !this.playing }, "picture");
  }

  play(yes) {
    clearTimeout(this.timer);
    this.playing = yes && this.count > 0;
    setText(this.opener, this.playing ? "‖ Pause the fit" : PLAY);
    // A sentence every tenth of a second is too much to listen to.
    this.words.setAttribute("aria-live", this.playing ? "off" : "polite");
    if (!this.playing) return;
    if (this.at === this.count - 1) this.seek(0);
    this.timer = setTimeout(() => this.tick(), this.pause);
  }

  get pause() {
    return 1000 / Number(this.speed.value);
  }

  tick() {
    if (this.at === this.count - 1) return this.play(false);
    if (this.states.has(this.at + 1)) this.seek(this.at + 1);
    this.timer = setTimeout(() => this.tick(), this.pause);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
    if (event.key === " " && !event.target.matches("button")) this.play(!this.playing);
    else if (event.key.toLowerCase() === "p" && this.isComparing) this.choose(this.side === "ours" ? "printed" : "ours");
    else if (event.key in MOVES) this.move(MOVES[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  point(event) {
    const share = shareAt(event, this.curve, this.state.theme);
    this.play(false);
    if (this.isComparing) this.goTo(share * timeAxis([this.sets.ours.trace, this.sets.printed.trace], 0, 1).last);
    else this.seek(Math.round(share * (this.count - 1)));
  }

  /* -- the curves -- */

  /** Objective and gap over the states, phases named, and a marker at the shown one. */
  paint() {
    const { shown, job, theme } = this.state;
    // Its curves and sentences would answer a lesson's question.
    const why = isAsked(shown) ? "Answer the question first" : this.isOpen || (shown?.canonical && !job) ? "" : "The fit is not done yet";
    offer(this.opener, why, "Show how the solver gets there, state by state. Space pauses.");
    if (!this.isOpen || !this.count || !this.curve.clientWidth) return;
    const { em } = theme;
    const [width, height] = [this.curve.clientWidth, this.curve.clientHeight];
    const pen = sized(this.curve, width, height, window.devicePixelRatio);
    const { left, width: span } = spanOf(this.curve, theme);
    const [top, bottom] = [1.4 * em, height - 0.5 * em];
    const x = (i) => left + (i / Math.max(this.count - 1, 1)) * span;
    pen.font = theme.font;
    if (this.isComparing) return this.paintBoth(pen, theme, { left, span, top, bottom });
    this.paintPhases(pen, theme, { x, top, bottom, end: left + span });
    const { objective } = this.trace;
    const gaps = this.trace.gap.map((gap, i) => (gap !== null && objective[i] > 0 ? Math.log10(Math.max(gap / objective[i], 1e-6)) : null));
    const blue = css(theme.dark ? [120, 190, 255] : [0, 92, 150]);
    const lines = [[objective, css(theme.text), [], `objective ${say(objective[this.at])}`]];
    if (gaps.some((gap) => gap !== null)) {
      const gap = gaps[this.at];
      lines.push([gaps, blue, [5, 3], gap === null ? "no bound" : `gap ${say(100 * Math.max(this.trace.gap[this.at], 0) / objective[this.at], 2)} %`]);
    }
    pen.fillStyle = css(theme.primary);
    pen.fillRect(x(this.at) - 1, top - 0.2 * em, 2, bottom - top + 0.4 * em);
    const texts = lines.map(([values, colour, dash, text]) => ({ colour, text, y: this.paintLine(pen, values, colour, dash, { x, top, bottom }) }));
    drawNumbers(pen, texts, { top, bottom, end: left + span, em });
  }

  /** Ours and the printed algorithm over the iterations, and the other one's picture beside. */
  paintBoth(pen, theme, { left, span, top, bottom }) {
    const { sets, comparison } = this;
    const { x, last } = timeAxis([sets.ours.trace, sets.printed.trace], left, span);
    const end = left + span;
    this.paintPhases(pen, theme, { x: (i) => x(this.trace.iteration[i]), top, bottom, end });
    pen.fillStyle = css(theme.primary);
    pen.fillRect(x(this.time) - 1, top - 0.2 * theme.em, 2, bottom - top + 0.4 * theme.em);
    const texts = comparison.paintCurves(pen, theme, sets, { x, top, bottom, last });
    drawNumbers(pen, texts, { top, bottom, end, em: theme.em });
    const other = this.side === "ours" ? "printed" : "ours";
    comparison.paintBeside(other, sets[other].states.get(sets[other].at));
    comparison.paintSamples(theme);
  }

  paintPhases(pen, theme, { x, top, bottom, end }) {
    const starts = phaseStarts(this.trace.phase);
    pen.textAlign = "left";
    pen.textBaseline = "top";
    starts.forEach(([index, name], i) => {
      const until = i + 1 < starts.length ? x(starts[i + 1][0]) : end;
      pen.fillStyle = css(theme.text, 0.25);
      if (index && starts.length <= MOST_PHASES) pen.fillRect(x(index) - 0.5, 0, 1, bottom);
      pen.fillStyle = css(theme.muted);
      if (until - x(index) > 3 * theme.em) pen.fillText(name, x(index) + 4, 1, until - x(index) - 8);
    });
    pen.fillStyle = css(theme.faint);
    pen.fillRect(x(0), bottom, end - x(0), 1);
    pen.fillRect(x(0), top, 1, bottom - top);
  }

  /** One curve over its own range; the height at the shown state. */
  paintLine(pen, values, colour, dash, { x, top, bottom }) {
    const y = heightsOf(values.filter((value) => value !== null), top, bottom);
    drawLine(pen, values.map((value, i) => (value === null ? null : [x(i), y(value)])), colour, dash);
    return values[this.at] === null ? bottom : y(values[this.at]);
  }

  stop() {
    clearTimeout(this.timer);
    clearTimeout(this.poll);
  }
}
