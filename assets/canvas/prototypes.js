/** The panel of prototypes. */

import { el, keepChildren, say, setText, signed } from "./elements.js";
import { divergingMap, markIcon } from "./marks.js";

const MOST_TILES = 60;
const MOST_BARS = 12;

/** Every prototype: a picture of signed weights, sorted bars, or in words where it has no weights. */
export class Prototypes {
  constructor(app) {
    this.app = app;
    this.title = el("h3", {}, "Prototypes");
    this.caption = el("p", { class: "caption" });
    this.list = el("div", { tabindex: 0, role: "group", "aria-label": "Prototypes" });
    this.ramp = el("canvas", { class: "ramp", width: 255, height: 1, "aria-hidden": "true" });
    this.ends = [0, 1, 2].map(() => el("span"));
    this.legend = el("div", { class: "scale" }, this.ramp, el("div", {}, ...this.ends));
    this.node = el("section", { class: "prototypes" },
      el("div", { class: "sheet" }, this.title, this.caption, this.legend, this.list));
    this.orders = [];
  }

  /** Forget everything that was drawn with another scene or theme. */
  reset() {
    this.list.replaceChildren();
    this.orders = [];
    this.map = divergingMap(this.app.theme);
    const pen = this.ramp.getContext("2d");
    const image = new ImageData(255, 1);
    new Uint32Array(image.data.buffer).set(this.map);
    pen.putImageData(image, 0, 0);
  }

  update(picture, settled) {
    const { prototypes } = picture;
    this.node.hidden = !prototypes;
    if (!prototypes) return;
    const { weights, owner } = prototypes;
    const shown = Math.min(owner.length, MOST_TILES);
    const more = owner.length > shown ? `, the first ${shown} shown` : "";
    setText(this.title, `Prototypes (${owner.length}${more})`);
    setText(this.caption, prototypes.caption ?? "");
    let most = 0;
    for (const w of weights ?? []) most = Math.max(most, Math.abs(w));
    const image = weights ? this.app.scene.image : null;
    const way = `${Boolean(weights)} ${image}`;
    if (way !== this.way) this.list.replaceChildren();
    this.way = way;
    this.legend.hidden = !image;
    ["−" + say(most), "0", "+" + say(most)].forEach((text, i) => setText(this.ends[i], text));
    this.list.className = image ? "tiles" : weights ? "cards" : "cards words";
    const cards = keepChildren(this.list, shown, () => this.card(image));
    for (let j = 0; j < shown; j++) {
      this.head(cards[j], prototypes, j);
      if (image) this.tile(cards[j], prototypes, j, most);
      else if (weights) this.bars(cards[j], prototypes, j, most, settled);
    }
  }

  card(image) {
    const head = el("div", { class: "name" }, el("span"), el("b"), el("small"));
    const body = image ? el("canvas", { class: "tile", width: image[1], height: image[0], role: "img" }) : el("div", { class: "bars" });
    return el("div", { class: "card" }, ...(image ? [body, head] : [head, body]));
  }

  /** What a prototype is made of: short, and in full. */
  facts({ weights, size, bias, noun = "weight" }, j) {
    if (!weights) {
      const long = bias?.some((b) => b !== 0) ? `, bias ${signed(bias[j])}` : "";
      const made = size ? `made of ${size[j]} ${size[j] === 1 ? "part" : "parts"}` : "";
      return [made + long, made ? `it is ${made}${long}` : "it has no weights of its own"];
    }
    const d = weights.shape[1];
    let nonzero = 0;
    for (let i = j * d; i < (j + 1) * d; i++) if (weights[i] !== 0) nonzero++;
    const short = nonzero ? `${nonzero} ${noun}${nonzero === 1 ? "" : "s"}` : `all ${noun}s 0`;
    return [short, `${nonzero} of ${d} ${noun}s are not zero`];
  }

  head(card, prototypes, j) {
    const { owner, count } = prototypes;
    const name = this.app.scene.classes[owner[j]] ?? String(owner[j]);
    const [short, long] = this.facts(prototypes, j);
    const [icon, title, facts] = card.querySelector(".name").children;
    if (card.owner !== owner[j]) {
      card.owner = owner[j];
      icon.replaceChildren(markIcon(this.app.theme, { label: owner[j] }, 14));
    }
    setText(title, `${j + 1} · ${name}`);
    title.title = name;
    setText(facts, `${count[j] > 1 ? `×${count[j]}, ` : ""}${short}`);
    card.title = `Prototype ${j + 1} of class ${name}: ${long}`
      + (count[j] > 1 ? `, ${count[j]} merged into one` : "");
  }

  tile(card, { weights }, j, most) {
    const canvas = card.querySelector(".tile");
    const [h, w] = this.app.scene.image;
    card.image ??= new ImageData(w, h);
    const words = new Uint32Array(card.image.data.buffer);
    const scale = most > 0 ? 127 / most : 0;
    for (let i = 0; i < h * w; i++) words[i] = this.map[127 + Math.round(weights[j * h * w + i] * scale)];
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
    const { features } = this.app.scene;
    const order = this.order(weights, j, settled);
    const rows = keepChildren(card.querySelector(".bars"), order.length + 1, () =>
      el("div", { class: "weight" }, el("span", { class: "feature" }), el("span", { class: "track" }, el("i")), el("span", { class: "number" })));
    const fill = (row, name, value, share) => {
      const [label, track, number] = row.children;
      setText(label, name);
      label.title = name;
      track.firstElementChild.style.setProperty("--from", 50 + 50 * Math.min(share, 0) + "%");
      track.firstElementChild.style.setProperty("--long", 50 * Math.abs(share) + "%");
      track.className = share < 0 ? "track low" : "track";
      setText(number, signed(value));
    };
    order.forEach((i, r) => {
      const w = weights[j * d + i];
      fill(rows[r], features?.[i] ?? `feature ${i + 1}`, w, most > 0 ? w / most : 0);
      rows[r].className = w === 0 ? "weight zero" : "weight";
      rows[r].hidden = false;
    });
    const last = rows[order.length];
    last.className = "weight bias";
    last.hidden = !bias || !bias.some((b) => b !== 0);
    if (!last.hidden) fill(last, "bias", bias[j], 0);
  }
}
