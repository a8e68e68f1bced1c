/** Numbers in words, and document elements made without any HTML text. */

/** Smaller numbers are rounding errors of 64-bit floats. */
const ROUNDING = 1e-15;

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** A number with sensible digits: 0.00316, 1.2e-5, −42; what is only rounding error is 0. */
export function say(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value) < ROUNDING ? 0 : Math.abs(value);
  const far = size !== 0 && (size < 1e-4 || size >= 1e9);
  // 1745.3 is 1745, not 1750: no digit before the point is rounded away.
  const kept = size < 1 ? digits : Math.max(digits, size.toFixed(0).length);
  let text = String(Number.isInteger(size) ? size : Number(size.toPrecision(kept)));
  if (far) text = size.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  return value < 0 && size ? `−${text}` : text;
}

/** R² in so many digits that it is 1 for predictions without an error only. */
export function sayR2(value) {
  const digits = value === 1 ? 3 : Math.max(3, -Math.floor(Math.log10(1 - value)));
  return value.toFixed(digits).replace("-", "−");
}

/** The number of `say` with an explicit sign, for weights. */
export const signed = (value) => (value >= ROUNDING ? "+" : "") + say(value);

export const percent = (share) => `${say(Math.round(share * 1000) / 10, 4)} %`;

/** A name that leaves room for others; the whole one stands in a title or a table. */
export const brief = (name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name);

/** Round tick values inside [low, high], about `count` of them. */
export function ticks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k * step);
  return found;
}

/** Make an element. Attributes are set as text, functions listen; children are nodes or text: never HTML. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Lines on a field of 24 x 24, as a small picture that has no name of its own. */
function icon(lines) {
  const [svg, path] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  svg.setAttribute("viewBox", "0 0 24 24");
  path.setAttribute("d", lines);
  svg.append(path);
  return svg;
}

/** A button with a name that says more than its text, below an icon if it has one. */
export function button(text, name, act, lines = "") {
  const inside = lines ? [icon(lines), el("span", {}, text)] : [text];
  return el("button", { type: "button", "aria-label": name, title: name, click: act }, ...inside);
}

/** Offer a button, or say in its title why it does nothing now. With the focus it keeps that. */
export function offer(node, why, usual = "") {
  node.ariaDisabled = Boolean(why);
  node.disabled = why && !node.matches(":focus");
  node.title = why || usual;
}

/** Change text only when it differs: live regions speak only news. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Keep exactly `count` children in `parent`, made by `make(index)`. */
export function keepChildren(parent, count, make) {
  while (parent.children.length > count) parent.lastElementChild.remove();
  while (parent.children.length < count) parent.append(make(parent.children.length));
  return parent.children;
}

/** Size a canvas in device pixels and return its context, scaled to CSS pixels. */
export function sized(canvas, width, height, dpr) {
  const [w, h] = [Math.round(width * dpr), Math.round(height * dpr)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(dpr, 0, 0, dpr, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

let made = 0;

/** A fresh id, for labels and descriptions. */
export const newId = () => `spe-${++made}`;
