/** A pen that writes SVG: the canvas's methods as far as the figure draws with them. */

const ANCHORS = { left: "start", center: "middle", right: "end" };
const BASELINES = { top: "text-before-edge", middle: "central" };
const SHADES = /^rgb\((\d+) (\d+) (\d+) \/ ([\d.]+)\)$/;
const TWO_PI = 2 * Math.PI;

/** Text for XML: markup escaped, characters left out that XML does not have. */
export const escapeXml = (text) =>
  String(text)
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "")
    .replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

const short = (value) => String(Math.round(value * 100) / 100);

/** An element as text; attributes that are undefined are left out. */
function element(name, attributes, content = "") {
  const written = Object.entries(attributes).filter(([, value]) => value !== undefined);
  const text = written.map(([key, value]) => ` ${key}="${escapeXml(value)}"`).join("");
  return content ? `<${name}${text}>${content}</${name}>` : `<${name}${text}/>`;
}

/** A colour of the canvas as two attributes, which every reader of SVG knows. */
function paint(kind, colour) {
  const shade = SHADES.exec(colour);
  if (!shade) return { [kind]: colour };
  const [, r, g, b, alpha] = shade;
  return { [kind]: `rgb(${r},${g},${b})`, [`${kind}-opacity`]: Number(alpha) < 1 ? alpha : undefined };
}

/** A font that every reader of SVG has: the page's own is not in the file. */
export const plainFont = (font) => font.replace(/px .*/, "px sans-serif");

/** What `save` keeps, as a pen begins; of it `dash`, `area` and `at` are no properties of a canvas. */
const START = {
  fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, lineJoin: "miter", lineCap: "butt", lineDashOffset: 0,
  font: "14px sans-serif", textAlign: "left", textBaseline: "middle", dash: [], area: undefined, at: [1, 1, 0, 0],
};

/** What `canvas.getContext("2d")` is for a picture on the screen. */
export class SvgPen {
  constructor() {
    Object.assign(this, START, { parts: [], defs: [], stack: [], path: "" });
    this.stamps = new Map(); // image of a mark -> id of its drawing
  }

  /** The whole picture. */
  toString(width, height, title) {
    const size = { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, role: "img" };
    return element("svg", size, element("title", {}, escapeXml(title)) + element("defs", {}, this.defs.join("")) + this.content());
  }

  /** What was drawn, the parts below one clip in a group. */
  content() {
    const groups = [];
    for (const { area, text } of this.parts) {
      if (groups.at(-1)?.area !== area || !groups.length) groups.push({ area, texts: [] });
      groups.at(-1).texts.push(text);
    }
    return groups.map(({ area, texts }) => (area ? element("g", { "clip-path": area }, texts.join("\n")) : texts.join("\n"))).join("\n");
  }

  /* -- state -- */

  save() {
    this.stack.push(Object.fromEntries(Object.keys(START).map((name) => [name, this[name]])));
  }

  restore() {
    Object.assign(this, this.stack.pop());
  }

  translate(x, y) {
    const [sx, sy, tx, ty] = this.at;
    this.at = [sx, sy, tx + sx * x, ty + sy * y];
  }

  scale(x, y) {
    const [sx, sy, tx, ty] = this.at;
    this.at = [sx * x, sy * y, tx, ty];
  }

  setTransform(sx, _b, _c, sy, tx, ty) {
    this.at = [sx, sy, tx, ty];
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  place(x, y) {
    const [sx, sy, tx, ty] = this.at;
    return [sx * x + tx, sy * y + ty];
  }

  /* -- paths -- */

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${this.place(x, y).map(short).join(" ")}`;
  }

  lineTo(x, y) {
    this.path += `L${this.place(x, y).map(short).join(" ")}`;
  }

  closePath() {
    this.path += "Z";
  }

  rect(x, y, w, h) {
    this.moveTo(x, y);
    this.lineTo(x + w, y);
    this.lineTo(x + w, y + h);
    this.lineTo(x, y + h);
    this.closePath();
  }

  /** A whole circle: the figure draws no other arcs. */
  arc(x, y, radius, _from, to) {
    if (to < TWO_PI) throw new RangeError("only whole circles");
    const [cx, cy] = this.place(x, y);
    const r = short(radius * this.at[0]);
    const [left, right] = [cx - radius * this.at[0], cx + radius * this.at[0]].map(short);
    this.path += `M${right} ${short(cy)}A${r} ${r} 0 1 1 ${left} ${short(cy)}A${r} ${r} 0 1 1 ${right} ${short(cy)}Z`;
  }

  clip() {
    const id = `clip${this.defs.length}`;
    this.defs.push(element("clipPath", { id }, element("path", { d: this.path })));
    this.area = `url(#${id})`;
  }

  /** A shape of `marks.js` knows its text and its transform; any other path is this pen's. */
  outline(shape) {
    if (!shape) return { d: this.path };
    const [sx, , tx, ty] = this.at;
    return { d: shape.text, transform: `translate(${short(tx)} ${short(ty)}) scale(${shape.radius * sx}) rotate(${shape.turn})`, "vector-effect": "non-scaling-stroke" };
  }

  add(name, attributes, content) {
    this.parts.push({ area: this.area, text: element(name, attributes, content) });
  }

  fill(shape) {
    this.add("path", { ...this.outline(shape), ...paint("fill", this.fillStyle) });
  }

  stroke(shape) {
    this.add("path", { ...this.outline(shape), fill: "none", ...this.line() });
  }

  line() {
    const dash = this.dash.length ? this.dash.map(short).join(" ") : undefined;
    return {
      ...paint("stroke", this.strokeStyle),
      "stroke-width": short(this.lineWidth * this.at[0]),
      "stroke-linejoin": this.lineJoin,
      "stroke-linecap": this.lineCap,
      "stroke-dasharray": dash,
      "stroke-dashoffset": dash && this.lineDashOffset ? short(this.lineDashOffset) : undefined,
    };
  }

  /** Draw a rectangle, without the path so far. */
  alone(draw, ...box) {
    const { path } = this;
    this.beginPath();
    this.rect(...box);
    draw();
    this.path = path;
  }

  fillRect(...box) {
    this.alone(() => this.fill(), ...box);
  }

  strokeRect(...box) {
    this.alone(() => this.stroke(), ...box);
  }

  /* -- text and images -- */

  fillText(text, x, y) {
    this.write(text, x, y, paint("fill", this.fillStyle));
  }

  strokeText(text, x, y) {
    this.write(text, x, y, { fill: "none", ...this.line() });
  }

  write(text, x, y, style) {
    const [px, py] = this.place(x, y).map(short);
    const where = { x: px, y: py, style: `font:${plainFont(this.font)}`, "text-anchor": ANCHORS[this.textAlign], "dominant-baseline": BASELINES[this.textBaseline] };
    this.add("text", { ...where, ...style }, escapeXml(text));
  }

  /** A mark is drawn once and then used; a raster is kept as an image. */
  drawImage(image, x, y, w = image.width, h = image.height) {
    const [px, py] = this.place(x, y);
    if (image.draw) {
      const id = this.stamped(image);
      const opacity = this.globalAlpha < 1 ? this.globalAlpha : undefined;
      return this.add("use", { href: `#${id}`, x: short(px + w / 2), y: short(py + h / 2), opacity });
    }
    const [sx, sy] = this.at;
    this.add("image", { href: image.toDataURL(), x: short(px), y: short(py), width: short(w * sx), height: short(h * sy) });
  }

  stamped(image) {
    if (!this.stamps.has(image)) {
      const id = `mark${this.stamps.size}`;
      const pen = new SvgPen();
      image.draw(pen);
      this.defs.push(element("g", { id }, pen.content()));
      this.stamps.set(image, id);
    }
    return this.stamps.get(image);
  }
}
