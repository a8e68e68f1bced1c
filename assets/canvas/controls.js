/** Controls, made from the payload: sliders that emit while they move, choices, flags. */

import { clamp, el, newId, say, setText } from "./elements.js";

/** How a slider's whole positions stand for values. */
function scaleOf(control, path) {
  const { low, high, zero } = control;
  if (path) {
    const values = path.values;
    return { end: values.length - 1, at: (v) => nearestIndex(values, v), value: (p) => values[p] };
  }
  if (control.scale === "int")
    return { end: Math.round(high - low), at: (v) => Math.round(v - low), value: (p) => low + p };
  const steps = 200;
  const slot = zero ? 10 : 0; // the left end of a log slider may stand for an exact 0
  const span = steps - slot;
  const log = control.scale === "log";
  const at = (v) => {
    if (zero && v <= 0) return 0;
    const share = log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low);
    return slot + Math.round(span * clamp(share || 0, 0, 1));
  };
  const value = (p) => {
    if (zero && p < slot / 2) return 0;
    const share = Math.max(p - slot, 0) / span;
    if (share === 0) return low;
    if (share === 1) return high;
    return Number((log ? low * (high / low) ** share : low + (high - low) * share).toPrecision(3));
  };
  return { end: steps, at, value };
}

/** The index whose value is nearest, by ratio where both are positive. */
export function nearestIndex(values, value) {
  let best = 0;
  let least = Infinity;
  values.forEach((other, i) => {
    const far = value > 0 && other > 0 ? Math.abs(Math.log(other / value)) : Math.abs(other - value) * 1e6;
    if (far < least) [best, least] = [i, far];
  });
  return best;
}

const GROUPS = { data: "Data", method: "Method", view: "View" };

/** Label, help and the frame that every control has. */
class Row {
  constructor(control, state, events) {
    Object.assign(this, { state, events, name: control.name, id: newId(), active: false });
    this.title = el("label", { for: this.id });
    this.tip = el("span", { class: "tip", role: "tooltip", id: `${this.id}-tip` });
    this.help = el("button", { type: "button", class: "help" }, "?");
    this.help.setAttribute("aria-describedby", this.tip.id);
    this.head = el("div", { class: "head" }, this.title, this.help, this.tip);
    this.node = el("div", { class: "row", "data-name": control.name }, this.head);
  }

  describe(control) {
    setText(this.title, control.label);
    this.help.ariaLabel = `Help for ${control.label}`;
    setText(this.tip, control.help ?? "");
    this.help.style.visibility = control.help ? "visible" : "hidden";
    // Under a heading of the same word the label is for those who hear the page.
    this.head.classList.toggle("unseen", !control.help && control.label === GROUPS[control.group]);
  }

  /** A lesson lets nobody change it; the server ignores a change all the same. */
  lock(yes) {
    this.node.classList.toggle("locked", yes);
    for (const input of this.node.querySelectorAll("input, select")) input.disabled = yes;
  }
}

/** A slider with an editable value; emits while it moves and once more when let go. */
class SliderRow extends Row {
  constructor(...needs) {
    super(...needs);
    const described = `${this.id}-tip ${this.id}-foot`;
    const type = () => this.type();
    this.range = el("input", {
      type: "range", id: this.id, min: 0, step: 1, "aria-describedby": described,
      input: () => this.slide(this.position), pointerdown: () => (this.held = true),
    });
    this.field = el("input", {
      type: "text", inputmode: "decimal", class: "value", autocomplete: "off", "aria-describedby": `${this.id}-foot`,
      input: () => (this.typing = true), change: type, blur: type, keydown: ({ key }) => key === "Enter" && type(),
    });
    this.foot = el("div", { class: "foot", id: `${this.id}-foot` });
    this.head.append(this.field);
    this.node.append(this.range, this.foot);
  }

  update(control, keep) {
    this.describe(control);
    const path = control.scrub ? this.state.path : null;
    const shape = JSON.stringify([control.low, control.high, control.zero, control.marks, path?.values]);
    this.control = control;
    if (shape !== this.shape) {
      this.shape = shape;
      this.scale = scaleOf(control, path);
      this.range.max = this.end = this.scale.end;
      this.rest();
    }
    this.field.setAttribute("aria-label", `${control.label}, value`);
    if (!keep && !this.active) this.show(control.value);
  }

  show(value) {
    this.value = value;
    this.range.value = this.scale.at(value);
    this.range.style.setProperty("--share", Number(this.range.value) / (this.end || 1));
    this.range.setAttribute("aria-valuetext", say(value));
    if (!this.typing) this.field.value = say(value);
  }

  slide(position) {
    this.active = this.moved = true;
    this.typing = false;
    this.show(this.scale.value(position));
    clearTimeout(this.timer);
    if (!this.held) this.timer = setTimeout(() => this.release(), 250); // keyboard
    this.emit(true);
  }

  get position() {
    return Number(this.range.value);
  }

  release() {
    clearTimeout(this.timer);
    const moved = this.moved;
    this.active = this.moved = this.held = false;
    if (moved) this.emit(false);
  }

  emit(dragging) {
    if (this.control.scrub && this.state.path) this.events.onScrub(this.value, dragging);
    else this.events.onChange(this.name, this.value, dragging);
  }

  /** A typed value is taken, or put right with the reason said. */
  type() {
    if (!this.typing) return;
    this.typing = false;
    const { low, high, zero, scale, label } = this.control;
    let text = this.field.value.trim().replace("−", "-");
    if (scale === "int") text = text.replace(/[,\s'’](?=\d{3}(\D|$))/g, ""); // 1,000 rows
    text = text.replace(",", ".");
    let value = text === "" ? NaN : Number(text);
    let reason = "";
    if (!Number.isFinite(value)) {
      reason = "Not a number; the last value is kept.";
      value = this.value;
    } else if (scale === "int" && !Number.isInteger(value)) {
      value = Math.round(value);
      reason = `${label} must be a whole number; rounded to ${value}.`;
    }
    const exempt = zero && value === 0;
    if (value < low && !exempt) [value, reason] = [low, `The minimum is ${say(low)}.`];
    if (value > high) [value, reason] = [high, `The maximum is ${say(high)}.`];
    if (reason) this.explain(reason);
    const changed = value !== this.value;
    this.show(value);
    if (changed) this.events.onChange(this.name, value, false);
  }

  explain(reason) {
    this.foot.replaceChildren(el("span", { class: "reason", role: "status" }, reason));
    clearTimeout(this.reason);
    this.reason = setTimeout(() => this.rest(), 6000);
  }

  /** While the slider is dragged on data too large for previews. */
  wait(yes) {
    if (!yes === !this.waiting) return;
    this.waiting = yes;
    this.rest();
    if (yes) this.foot.append(el("span", { class: "reason chip", role: "status" }, "Release to refit"));
  }

  /** The foot in its usual state: named places on the slider. */
  rest() {
    const marks = (this.control?.marks ?? []).map((mark) => {
      const share = this.scale.at(mark.value) / (this.end || 1);
      const node = el("span", { class: "tick", title: mark.text }, mark.text);
      node.style.setProperty("--share", share);
      return node;
    });
    this.foot.replaceChildren(...marks);
  }

  stop() {
    clearTimeout(this.timer);
    clearTimeout(this.reason);
  }
}

/** One of a few: a segmented radio group; one of many: a select. */
class ChoiceRow extends Row {
  update(control, keep) {
    this.describe(control);
    this.remark ??= this.node.appendChild(el("p", { class: "why", hidden: true }));
    this.remark.hidden = !control.remark;
    setText(this.remark, control.remark ?? "");
    const shape = JSON.stringify([control.options, control.label]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.options = control.options;
      this.choice?.remove();
      this.choice = control.options.length > 4 ? this.select() : this.segments(control.label);
      this.remark.before(this.choice);
    }
    if (keep) return;
    const index = control.options.findIndex((o) => JSON.stringify(o.value) === JSON.stringify(control.value));
    if (this.choice.tagName === "SELECT") this.choice.selectedIndex = index;
    else this.choice.querySelectorAll("input").forEach((input, i) => (input.checked = i === index));
  }

  select() {
    const options = this.options.map((option, i) => el("option", { value: i }, option.label));
    const pick = ({ target }) => this.pick(target.selectedIndex);
    return el("select", { id: this.id, "aria-describedby": this.tip.id, change: pick }, ...options);
  }

  segments(label) {
    const group = newId();
    const buttons = this.options.map((option, i) => {
      const input = el("input", { type: "radio", name: group, change: () => this.pick(i) });
      return el("label", {}, input, el("span", { title: option.label }, option.label));
    });
    this.title.removeAttribute("for");
    return el("div", { class: "segments", role: "radiogroup", "aria-label": label, "aria-describedby": this.tip.id }, ...buttons);
  }

  pick(index) {
    this.events.onChange(this.name, this.options[index].value, false);
  }
}

class FlagRow extends Row {
  constructor(...needs) {
    super(...needs);
    const change = () => this.events.onChange(this.name, this.box.checked, false);
    this.box = el("input", { type: "checkbox", id: this.id, "aria-describedby": this.tip.id, change });
    this.head.prepend(this.box);
  }

  update(control, keep) {
    this.describe(control);
    if (!keep) this.box.checked = Boolean(control.value);
  }
}

const ROWS = { choice: ChoiceRow, flag: FlagRow };

/** All controls, made from the payload; rows are reused, so that focus and drags survive. */
export class Controls {
  /** @param {object} events `onChange(name, value, dragging)` and, on a solved path, `onScrub(value, dragging)` */
  constructor(state, events, signal) {
    Object.assign(this, { state, events });
    this.rows = new Map();
    this.groups = new Map();
    for (const [key, title] of Object.entries(GROUPS)) {
      const body = el("div");
      this.groups.set(key, body);
      body.frame = el("div", { class: "block", role: "group", "aria-label": title, hidden: true }, el("h3", {}, title), body);
    }
    this.more = this.folded("More settings", "block");
    // Where the other features stand in a picture of two: as many sliders as there are features.
    this.slices = this.folded("Other features", "slices");
    this.groups.get("view").frame.append(this.slices.frame);
    this.node = el("section", { class: "controls", "aria-label": "Settings" });
    this.scrubPlace = el("div", { class: "scrub" });
    this.methodPlace = el("div", { class: "under" });
    // Wherever it is let go: a range whose pointer is captured cannot be dragged in WebKit.
    for (const end of ["pointerup", "pointercancel"])
      window.addEventListener(end, () => setTimeout(() => this.release()), { signal });
  }

  release() {
    for (const row of this.rows.values()) if (row.held) row.release();
  }

  folded(title, kind) {
    const body = el("div");
    body.heading = el("summary", {}, title);
    body.frame = el("details", { class: kind, hidden: true }, body.heading, body);
    return body;
  }

  /** On a narrow page the method's controls stand right under the picture and its strip. */
  arrange(narrow) {
    const [data, method, view] = [...this.groups.values()].map((body) => body.frame);
    this.node.replaceChildren(...(narrow ? [view, data] : [data, method, view, this.more.frame]));
    this.methodPlace.replaceChildren(...(narrow ? [method, this.more.frame] : []));
  }

  /** Every slider is told: the one that is dragged says that its picture comes later. */
  wait(yes) {
    for (const row of this.rows.values()) row.wait?.(yes && row.active);
  }

  /** @param {object[]} list @param {(name: string) => boolean} keep rows the user is ahead of */
  update(list, keep) {
    const shown = list.filter((control) => control.shown !== false);
    const places = new Map();
    for (const control of shown) {
      const Kind = ROWS[control.scale] ?? SliderRow;
      let row = this.rows.get(control.name);
      if (!(row instanceof Kind)) {
        row?.node.remove();
        row = new Kind(control, this.state, this.events);
        this.rows.set(control.name, row);
      }
      row.update(control, keep(control.name));
      row.lock(control.locked === true);
      const place = this.placeOf(control);
      places.set(place, [...(places.get(place) ?? []), row.node]);
    }
    const names = new Set(shown.map((control) => control.name));
    for (const [name, row] of this.rows) {
      if (names.has(name)) continue;
      row.stop?.();
      row.node.remove();
      this.rows.delete(name);
    }
    for (const [place, nodes] of places)
      nodes.forEach((node, i) => {
        if (place.children[i] !== node) place.insertBefore(node, place.children[i] ?? null);
      });
    for (const body of [...this.groups.values(), this.more, this.slices]) body.frame.hidden = !body.childElementCount;
    setText(this.slices.heading, `Other features (${this.slices.childElementCount})`);
    this.scrubPlace.hidden = !this.scrubPlace.childElementCount;
  }

  placeOf(control) {
    if (control.scrub && this.state.path) return this.scrubPlace;
    if (control.advanced) return this.more;
    if (control.group === "view" && !(control.scale in ROWS)) return this.slices;
    return this.groups.get(control.group) ?? this.groups.get("method");
  }

  /** The slider of the scrubbed path, if there is one. */
  get scrub() {
    return this.rows.get(this.state.path?.param);
  }

  stop() {
    for (const row of this.rows.values()) row.stop?.();
  }
}
