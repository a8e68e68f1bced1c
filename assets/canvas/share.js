/** The figure to take along: PNG or SVG with legend and settings, and the link to what it shows. */

import { el, newId, offer, say, setText } from "./elements.js";
import { UNKNOWN, css, drawMark } from "./marks.js";
import { factsOf } from "./report.js";
import { SvgPen, plainFont } from "./svg.js";

const SCALE = 3; // pixels of the image for each of the screen
const SAID = 4_000; // ms that a button says what it did

/** The settings in words: "Data: Moons", "Merge prototypes (λ) 0.003". */
export function settings(controls) {
  return controls
    .filter(({ shown, group, scale }) => shown && group !== "view" && scale !== "flag")
    .map(({ label, value, options }) => {
      const name = options.find((option) => option.value === value)?.label;
      return name !== undefined ? `${label}: ${name}` : `${label} ${typeof value === "number" ? say(value) : value}`;
    });
}

/** Lines of at most `width`, broken between words. */
export function wrap(words, width, measure) {
  const lines = [];
  for (const word of words) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && measure(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** A name for a file: letters and digits of any script, the rest as hyphens. */
export const fileName = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "figure";

/** The buttons below the figure. */
export class Share {
  /** @param {() => Element[]} kinds entries of the page's legend that are to be seen */
  constructor(state, plot, kinds) {
    Object.assign(this, { state, plot, kinds });
    const button = (text, click) => el("button", { type: "button", click }, text);
    this.image = button("Save as PNG", () => this.draw().toBlob((blob) => this.keep(blob, "png")));
    this.svg = button("Save as SVG", () => this.keep(new Blob([this.vector()], { type: "image/svg+xml" }), "svg"));
    this.copy = button("Copy link", () => this.copyLink());
    this.link = el("input", { type: "text", class: "value link", readonly: true, hidden: true, "aria-label": "Link to this figure", id: newId() });
    this.said = el("span", { class: "unseen", role: "status" });
    this.node = el("div", { class: "share group" }, this.image, this.svg, this.copy, this.link, this.said);
  }

  /** Say what was done, on the button and to those who hear the page. */
  say(button, text, usual) {
    setText(button, text);
    setText(this.said, text);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => setText(button, usual), SAID);
  }

  /** The address bar's link; where the browser forbids copying it is shown, selected. */
  async copyLink() {
    try {
      await navigator.clipboard.writeText(window.location.href);
      this.say(this.copy, "Link copied", "Copy link");
    } catch {
      this.link.value = window.location.href;
      this.link.hidden = false;
      this.link.select();
      setText(this.said, "Copy the selected link");
    }
  }

  /** An image is offered once there is a picture. */
  offer(shown) {
    for (const node of [this.image, this.svg]) offer(node, !shown && "Waiting for the model");
  }

  /** Hand a file to the browser. */
  keep(blob, ending) {
    const [button, usual] = ending === "png" ? [this.image, "Save as PNG"] : [this.svg, "Save as SVG"];
    const address = URL.createObjectURL(blob);
    el("a", { href: address, download: `${fileName(this.state.scene.title)}.${ending}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), SAID);
    this.say(button, "Saved", usual);
  }

  /** Legend and caption below the figure, and how high all of it is. */
  layout(font, share = 1) {
    const { plot, state: { theme } } = this;
    const measure = el("canvas", {}).getContext("2d");
    measure.font = font;
    const width = share * (plot.width - theme.em);
    const lines = wrap(this.caption().split(" "), width, (text) => measure.measureText(text).width);
    const legend = this.legend(measure, width);
    const line = 1.5 * theme.em;
    return { lines, legend, line, height: plot.height + (legend.at(-1).row + 1 + lines.length + 1) * line };
  }

  /** The figure painted anew for paper. */
  draw() {
    const { plot, state: { shown, theme } } = this;
    const layout = this.layout(theme.font);
    const canvas = el("canvas", { width: plot.width * SCALE, height: layout.height * SCALE });
    const pen = canvas.getContext("2d");
    pen.scale(SCALE, SCALE);
    plot.resize(SCALE);
    plot.paint(shown, false);
    this.compose(pen, layout, () => pen.drawImage(plot.canvas, 0, 0, plot.width, plot.height));
    return canvas;
  }

  /** The same as SVG: marks, borders and text as shapes, the regions as an image. */
  vector() {
    const { plot, state: { shown, scene, theme } } = this;
    const layout = this.layout(plainFont(theme.font), 0.9); // another machine's may be wider
    const pen = new SvgPen();
    plot.resize(SCALE);
    plot.paintRaster(shown, false);
    this.compose(pen, layout, () => {
      plot.resize(1);
      plot.paintMarks(pen, shown);
    });
    return pen.toString(plot.width, Math.ceil(layout.height), scene.title);
  }

  /** Regions, what is above them, legend and caption; then the screen's own again. */
  compose(pen, { lines, legend, line, height }, drawMarks) {
    const { plot, state: { shown, theme } } = this;
    pen.fillStyle = css(theme.back);
    pen.fillRect(0, 0, plot.width, height);
    const { x, y, w, h } = plot.area;
    pen.drawImage(plot.raster, x, y, w, h);
    drawMarks();
    pen.font = theme.font;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    this.drawLegend(pen, legend, plot.height + line / 2, line);
    const top = plot.height + (legend.at(-1).row + 1.75) * line;
    lines.forEach((text, i) => pen.fillText(text, theme.em / 2, top + i * line));
    plot.resize();
    plot.paint(shown, false);
  }

  /** Classes, parts and whatever else the legend on the page names, in rows. */
  legend(pen, width) {
    const { scene, theme } = this.state;
    const used = new Set(scene.points.part);
    const entries = scene.classes.map((text, k) => ({ text, mark: { label: k, fill: k } }));
    scene.parts.forEach((text, part) => used.has(part) && entries.push({ text, mark: { label: UNKNOWN, fill: UNKNOWN, part } }));
    for (const kind of this.kinds()) entries.push({ text: kind.textContent, icon: kind.querySelector("canvas") });
    let [x, row] = [0, 0];
    return entries.map((entry) => {
      const wide = pen.measureText(entry.text).width + 2.8 * theme.em;
      if (x && x + wide > width) [x, row] = [0, row + 1];
      x += wide;
      return { ...entry, x: x - wide + theme.em, row };
    });
  }

  drawLegend(pen, entries, top, line) {
    const { theme } = this.state;
    for (const { text, mark, icon, x, row } of entries) {
      const y = top + row * line;
      pen.save();
      pen.translate(x, y);
      if (mark) drawMark(pen, theme, { ...mark, radius: 5 });
      else pen.drawImage(icon, -9, -9, 18, 18);
      pen.restore();
      pen.fillStyle = css(theme.text);
      pen.fillText(text, x + 0.9 * theme.em, y);
    }
  }

  /** What the picture shows, and with which settings. */
  caption() {
    const { shown, list, scene } = this.state;
    const what = shown.canonical ? "" : ` (${shown.coarse ?? "preview"})`;
    const view = scene.view.note ? ` ${scene.view.note}` : "";
    return `${settings(list ?? []).join(", ")}${what}. ${factsOf(shown).join(", ")}.${view}`;
  }
}
