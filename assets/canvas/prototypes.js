/** The panel of prototypes. */

import { el, keepChildren, percent, say, setText, signed } from "./elements.js";
import { NEGATIVE, POSITIVE, classColour, css, divergingMap, markIcon, mix, paintGrey, word } from "./marks.js";

const MOST_TILES = 60;
const MOST_BARS = 12;

/** The cases that prototype j is a mix of, the heaviest first. */
export function casesOf({ row, share, label }, j) {
  const most = row.shape[1];
  const all = Array.from({ length: most }, (_, i) => j * most + i);
  return all.filter((at) => row[at] >= 0).map((at) => ({ at, row: row[at], share: share[at], label: label[at] }));
}

/** Colours of the ends of the training rows' range. */
const [PAPER, INK] = [[255, 255, 255], [0, 0, 0]];
const OUTSIDE = 0.75; // how far the legend goes beyond the range at each end

/**
 * Colour of a value in a picture: from paper to ink within a range, crimson below, teal above.
 * @param {number} share 0 at the low end of the range, 1 at the high one
 */
export function inkOf(share) {
  if (share < 0) return mix(PAPER, NEGATIVE, Math.min(1, -share));
  if (share > 1) return mix(INK, POSITIVE, Math.min(1, share - 1));
  return mix(PAPER, INK, share);
}

/** A line with a name, a bar and a number. */
const line = () => el("div", { class: "weight" }, el("span", { class: "feature" }), el("span", { class: "track" }, el("i")), el("span", { class: "number" }));

/** Write a name in parts: of "column = level" the column gives way where room is short. */
function setName(node, name) {
  if (node.textContent === name) return;
  const at = name.indexOf(" = ");
  const parts = at < 0 ? [name] : [name.slice(0, at), name.slice(at)];
  node.replaceChildren(...parts.map((text) => el("span", {}, text)));
}

/** Fill a line; the bar goes from `zero` (0 left, 0.5 middle), a whole one is share 1. */
function fill(row, name, text, share, zero = 0.5) {
  const [label, track, number] = row.children;
  setName(label, name);
  label.title = name;
  track.firstElementChild.style.setProperty("--from", 100 * (zero + (1 - zero) * Math.min(share, 0)) + "%");
  track.firstElementChild.style.setProperty("--long", 100 * (1 - zero) * Math.abs(share) + "%");
  track.className = `track${share < 0 ? " low" : ""}${zero ? "" : " whole"}`;
  setText(number, text);
}

/** Every prototype: a picture of signed weights, sorted bars, or in words where it has no weights. */
export class Prototypes {
  constructor(state, ruler) {
    Object.assign(this, { state, ruler });
    this.title = el("h3", {}, "Prototypes");
    this.caption = el("p", { class: "caption" });
    this.list = el("div", { tabindex: 0, role: "group", "aria-label": "Prototypes" });
    this.ramp = el("canvas", { class: "ramp", width: 255, height: 1, "aria-hidden": "true" });
    this.ends = [0, 1, 2].map(() => el("span"));
    this.legend = el("div", { class: "scale" }, this.ramp, el("div", {}, ...this.ends));
    this.weighed = el("h3");
    this.remark = el("p", { class: "remark" });
    this.rows = el("div");
    this.chart = el("div", { class: "chart", role: "group", hidden: true }, this.weighed, this.rows, this.remark);
    this.node = el("section", { class: "prototypes" },
      el("div", { class: "sheet" }, this.chart, this.title, this.caption, this.legend, this.list));
    this.orders = [];
    this.names = [];
  }

  /** Forget everything that was drawn with another scene or theme. */
  reset() {
    this.list.replaceChildren();
    this.orders = [];
    this.map = divergingMap(this.state.theme);
    this.ranged = null;
  }

  /** The colours of pictures: signed weights around 0, or values beside their usual range. */
  scale(range, most) {
    const ends = range ? [`below ${say(range[0])}`, `${say(range[0])} to ${say(range[1])}`, `above ${say(range[1])}`] : ["−" + say(most), "0", "+" + say(most)];
    ends.forEach((text, i) => setText(this.ends[i], text));
    if (this.ranged === Boolean(range)) return;
    this.ranged = Boolean(range);
    const share = (i) => -OUTSIDE + ((1 + 2 * OUTSIDE) * i) / 254;
    const image = new ImageData(255, 1);
    new Uint32Array(image.data.buffer).set(range ? this.map.map((_, i) => word(inkOf(share(i)))) : this.map);
    this.ramp.getContext("2d").putImageData(image, 0, 0);
  }

  update(picture, settled) {
    const { prototypes } = picture;
    this.node.hidden = !prototypes;
    if (!prototypes) return this.list.replaceChildren();
    this.weigh(picture.bars, settled, settled && !picture.step);
    const { weights, owner, cases } = prototypes;
    const shown = Math.min(owner.length, MOST_TILES);
    const more = owner.length > shown ? `, the first ${shown} shown` : "";
    setText(this.title, `Prototypes (${owner.length}${more})`);
    setText(this.caption, prototypes.caption ?? "");
    let most = 0;
    for (const w of weights ?? []) most = Math.max(most, Math.abs(w));
    most = this.ruler.of("weights", most, settled && !picture.step);
    const image = weights ? this.state.scene.image : null;
    const way = `${Boolean(weights)} ${image} ${Boolean(cases)} ${this.state.scene.image}`;
    if (way !== this.way) this.list.replaceChildren();
    this.way = way;
    this.legend.hidden = !image;
    this.scale(prototypes.range, most);
    this.list.className = image ? "tiles" : weights || cases ? "cards" : "cards words";
    const cards = keepChildren(this.list, shown, () => this.card(image));
    for (let j = 0; j < shown; j++) {
      this.head(cards[j], prototypes, j);
      if (image) this.tile(cards[j], prototypes, j, most);
      else if (weights) this.bars(cards[j], prototypes, j, most, settled);
      else if (cases) this.mix(cards[j], cases, j);
    }
  }

  /** The chart of weights. While a slider moves a name keeps its line as long as it is there. */
  weigh(bars, settled, rests) {
    this.chart.hidden = !bars;
    if (!bars) return;
    const { title, names, values, owner, note } = bars;
    setText(this.weighed, title);
    this.chart.setAttribute("aria-label", title);
    setText(this.remark, note);
    this.remark.title = note;
    const fresh = names.filter((name) => !this.names.includes(name));
    const kept = this.names.map((name) => (names.includes(name) ? name : fresh.shift())).filter((name) => name !== undefined);
    this.names = settled ? [...names] : [...kept, ...fresh];
    const largest = values.reduce((big, value) => Math.max(big, Math.abs(value)), 0);
    const most = this.ruler.of("bars", largest, rests);
    const zero = values.some((value) => value < 0) ? 0.5 : 0;
    const rows = keepChildren(this.rows, names.length, line);
    this.names.forEach((name, r) => {
      const i = names.indexOf(name);
      fill(rows[r], name, zero ? signed(values[i]) : say(values[i]), most > 0 ? values[i] / most : 0, zero);
      rows[r].className = values[i] === 0 ? "weight zero" : "weight";
      rows[r].children[1].firstElementChild.style.background = owner ? css(classColour(owner[i], this.state.theme)) : "";
    });
  }

  /** The heaviest cases of a mix: small pictures of images, else lines with bars. */
  mix(card, cases, j) {
    const { image, classes } = this.state.scene;
    const own = casesOf(cases, j);
    const body = card.querySelector(".bars");
    const name = ({ row, label }) => `row ${row} · ${classes[label] ?? "unknown"}`;
    body.classList.toggle("faces", Boolean(cases.pixels));
    if (!cases.pixels) {
      const rows = keepChildren(body, own.length, line);
      return own.forEach((one, r) => fill(rows[r], name(one), percent(one.share), Math.abs(one.share), 0));
    }
    const [h, w] = image;
    const faces = keepChildren(body, own.length, () =>
      el("span", {}, el("canvas", { width: w, height: h, role: "img" }), el("small")));
    own.forEach((one, r) => {
      const [canvas, small] = faces[r].children;
      const pixels = cases.pixels.subarray(one.at * h * w, (one.at + 1) * h * w);
      if (String(pixels) !== canvas.drawn) paintGrey(canvas, pixels); // hundreds stay as they are from step to step
      const words = `${name(one)}, ${percent(one.share)}`;
      canvas.setAttribute("aria-label", words);
      faces[r].title = words;
      setText(small, `${Math.round(100 * one.share)} %`);
    });
  }

  card(image) {
    const head = el("div", { class: "name" }, el("span"), el("b"), el("small"));
    const body = image ? el("canvas", { class: "tile", width: image[1], height: image[0], role: "img" }) : el("div", { class: "bars" });
    return el("div", { class: "card" }, ...(image ? [body, head] : [head, body]));
  }

  /** What a prototype is made of: short, and in full. */
  facts({ weights, words, size, bias, cases, range, mark_weight: own, noun = "weight" }, j) {
    if (range) {
      const d = weights.shape[1];
      const beyond = weights.slice(j * d, (j + 1) * d).filter((v) => v < range[0] || v > range[1]).length;
      return [`weight ${say(own[j])}`, `weight ${say(own[j])}; ${beyond} of ${d} values outside the range of the training rows`];
    }
    if (!weights && cases) {
      const more = size[j] - casesOf(cases, j).length;
      const short = `${size[j]} ${size[j] === 1 ? "case" : "cases"}${more > 0 ? `, ${more} not shown` : ""}`;
      return [short, `a mix of ${short}`];
    }
    if (!weights) {
      const long = bias?.some((b) => b !== 0) ? `, bias ${signed(bias[j])}` : "";
      const made = size && !words ? `made of ${size[j]} ${size[j] === 1 ? "part" : "parts"}` : "";
      return [made + long, made ? `it is ${made}${long}` : "it has no feature weights"];
    }
    const d = weights.shape[1];
    let nonzero = 0;
    for (let i = j * d; i < (j + 1) * d; i++) if (weights[i] !== 0) nonzero++;
    const short = nonzero ? `${nonzero} ${noun}${nonzero === 1 ? "" : "s"}` : `all ${noun}s 0`;
    return [short, `${nonzero} of ${d} ${noun}s are non-zero`];
  }

  head(card, prototypes, j) {
    const { owner, count, mark_off: off, words } = prototypes;
    const away = off?.[j] ? ", far from all data" : "";
    const name = words?.[j] ?? this.state.scene.classes[owner[j]] ?? String(owner[j]);
    const [short, long] = this.facts(prototypes, j);
    const [icon, title, facts] = card.querySelector(".name").children;
    if (card.owner !== owner[j]) {
      card.owner = owner[j];
      icon.replaceChildren(markIcon(this.state.theme, words ? { star: true } : { label: owner[j] }, 14));
    }
    setText(title, `Prototype ${j + 1} (${words ? "" : "class\u00a0"}${name})`);
    title.title = name;
    setText(facts, `${count[j] > 1 ? `×${count[j]}, ` : ""}${short}${away}`);
    card.title = `Prototype ${j + 1}${words ? "," : " of class"} ${name}: ${long}${away}`
      + (count[j] > 1 ? `, ${count[j]} merged into one` : "");
  }

  tile(card, { weights, range }, j, most) {
    const canvas = card.querySelector(".tile");
    const [h, w] = this.state.scene.image;
    card.image ??= new ImageData(w, h);
    const words = new Uint32Array(card.image.data.buffer);
    const scale = most > 0 ? 127 / most : 0;
    const [low, high] = range ?? [];
    for (let i = 0; i < h * w; i++) {
      const value = weights[j * h * w + i];
      words[i] = range ? word(inkOf((value - low) / (high - low))) : this.map[127 + Math.round(value * scale)];
    }
    canvas.getContext("2d").putImageData(card.image, 0, 0);
    canvas.setAttribute("aria-label", card.title);
  }

  /**
   * The largest weights, none of them zero. While a slider moves their order rests: what
   * becomes zero keeps its line until it is let go, newcomers take such lines, then new ones.
   */
  order(weights, j, settled) {
    const d = weights.shape[1];
    const size = (i) => Math.abs(weights[j * d + i]);
    const best = [];
    for (let i = 0; i < d; i++) {
      if (size(i) === 0) continue;
      let place = best.length;
      while (place > 0 && size(best[place - 1]) < size(i)) place--;
      if (place < MOST_BARS) best.splice(place, 0, i);
      best.length = Math.min(best.length, MOST_BARS);
    }
    const last = this.orders[j];
    if (settled || !last) return (this.orders[j] = best);
    const fresh = best.filter((i) => !last.includes(i));
    const kept = last.map((i) => (size(i) === 0 && fresh.length ? fresh.shift() : i));
    return (this.orders[j] = [...kept, ...fresh].slice(0, MOST_BARS));
  }

  bars(card, { weights, bias }, j, most, settled) {
    const d = weights.shape[1];
    const { features } = this.state.scene;
    const order = this.order(weights, j, settled);
    const rows = keepChildren(card.querySelector(".bars"), order.length + 1, line);
    order.forEach((i, r) => {
      const w = weights[j * d + i];
      fill(rows[r], features?.[i] ?? `feature ${i + 1}`, signed(w), most > 0 ? w / most : 0);
      rows[r].className = w === 0 ? "weight zero" : "weight";
      rows[r].hidden = false;
    });
    const last = rows[order.length];
    last.className = "weight bias";
    last.hidden = !bias || !bias.some((b) => b !== 0);
    if (!last.hidden) fill(last, "bias", signed(bias[j]), 0);
  }
}
