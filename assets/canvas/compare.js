/** The algorithm as printed beside our fit: one time axis, one scale, and the same moment of both. */

import { drawLine, heightsOf } from "./chart.js";
import { clamp, el, offer, say, setText, sized } from "./elements.js";
import { classColour, css, disc, tintsOf } from "./marks.js";
import { locate, paintRegions } from "./regions.js";

const SIDES = { ours: "Ours", printed: "As printed" };
const FAR = 20; // values that differ by this factor are drawn on a log scale
const LEAST = 1e-9; // of the bound: nearer is drawn as this
const DASH = { ours: [], printed: [6, 4] };

/** The last state that is not after `time`; the iterations are in order. */
export function stateAt(iterations, time) {
  let at = 0;
  while (at + 1 < iterations.length && iterations[at + 1] <= time) at++;
  return at;
}

/**
 * What the heights of both curves mean: log10 of the objective minus our bound where all
 * values are above it, else the objective, on a log scale if its values are far apart.
 */
export function scaleOf(ours, printed) {
  const all = [...ours.objective, ...printed.objective];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const gap = ours.gap.at(-1);
  const bound = gap === null ? null : ours.objective.at(-1) - gap;
  if (bound !== null && low >= bound) {
    const least = LEAST * Math.max(Math.abs(bound), 1);
    return { name: "objective above our bound, log scale", height: (value) => Math.log10(Math.max(value - bound, least)) };
  }
  if (low > 0 && high > FAR * low) return { name: "objective, log scale", height: Math.log10 };
  return { name: "objective", height: (value) => value };
}

/** Colour of a side's curve. */
function colourOf(side, theme) {
  if (side === "ours") return css(theme.text);
  return css(theme.dark ? [255, 176, 92] : [172, 74, 0]);
}

/** Switch, legend and small picture; the stepper has the states. */
export class Comparison {
  /** @param {(isOn: boolean) => void} onSwitch @param {(side: string) => void} onChoose */
  constructor(state, onSwitch, onChoose) {
    Object.assign(this, { state, isOn: false });
    this.switch = el("button", { type: "button", "aria-pressed": "false", hidden: true, click: () => onSwitch(!this.isOn) }, "Algorithm as printed");
    this.buttons = Object.entries(SIDES).map(([side, name]) => {
      const sample = el("canvas", { class: "sample", "aria-hidden": "true" });
      return el("button", { type: "button", "data-side": side, "aria-keyshortcuts": "p", click: () => onChoose(side) }, sample, name);
    });
    this.sides = el("span", { class: "group", role: "group", "aria-label": "States shown (key P changes)", hidden: true }, ...this.buttons);
    this.small = el("canvas", { "aria-hidden": "true" });
    this.caption = el("figcaption");
    this.beside = el("figure", { class: "beside", hidden: true }, this.small, this.caption);
    this.axes = el("p", { class: "axes", hidden: true });
    this.difference = el("p", { class: "difference", "aria-live": "polite", hidden: true });
  }

  /** Show what belongs to the comparison, and nothing of it where there is none. */
  turn(isOn) {
    this.isOn = isOn;
    this.switch.setAttribute("aria-pressed", String(isOn));
    for (const node of [this.sides, this.difference, this.axes]) node.hidden = !isOn;
    this.beside.hidden = true;
  }

  mark(side, sets) {
    for (const node of this.buttons) {
      node.setAttribute("aria-pressed", String(node.dataset.side === side));
      offer(node, !sets[node.dataset.side].trace && "The states are on their way");
    }
  }

  /** The other side at the same moment, whole window, without a control of its own. */
  paintBeside(side, picture) {
    const { scene, theme, show } = this.state;
    this.beside.hidden = !picture?.winner || Boolean(scene.target);
    if (this.beside.hidden || this.small.clientWidth < 10) return;
    setText(this.caption, picture.canonical ? SIDES[side] : `${SIDES[side]}, ${picture.coarse.split(", ").at(-1).toLowerCase()}`);
    const [width, height, dpr] = [this.small.clientWidth, this.small.clientHeight, window.devicePixelRatio];
    const pen = sized(this.small, width, height, dpr);
    const image = new ImageData(this.small.width, this.small.height);
    const [gx, gy] = picture.grid;
    const cols = locate(image.width, gx, 0, gx - 1);
    const rows = locate(image.height, gy, gy - 1, 0);
    paintRegions(new Uint32Array(image.data.buffer), picture, cols, rows, tintsOf(theme, scene.classes.length, show.bands));
    pen.putImageData(image, 0, 0);
    const { x, y, label } = scene.points;
    const place = (value, [low, high]) => (value - low) / (high - low);
    for (let i = 0; i < x.length; i++) {
      pen.fillStyle = css(classColour(label[i], theme));
      pen.fillRect(place(x[i], scene.view.x) * width - 1, (1 - place(y[i], scene.view.y)) * height - 1, 2, 2);
    }
  }

  /** Both curves over the iterations, the states that are shown marked on them. */
  paintCurves(pen, theme, sets, box) {
    const { x, top, bottom, last } = box;
    const { name, height } = scaleOf(sets.ours.trace, sets.printed.trace);
    const curves = Object.entries(sets).map(([side, { trace, at }]) => ({ side, trace, at, heights: trace.objective.map(height) }));
    const y = heightsOf(curves.flatMap(({ heights }) => heights), top, bottom);
    setText(this.axes, `Across: iterations, 0 to ${say(last)}. Up: ${name}.`);
    return curves.map(({ side, trace, at, heights }) => {
      drawLine(pen, heights.map((value, i) => [x(trace.iteration[i]), y(value)]), colourOf(side, theme), DASH[side]);
      disc(pen, x(trace.iteration[at]), y(heights[at]), 4, colourOf(side, theme));
      return { colour: colourOf(side, theme), text: say(trace.objective[at], 4), y: y(heights[at]) };
    });
  }

  /** A line of each curve's colour and dash on its button. */
  paintSamples(theme) {
    for (const node of this.buttons) {
      const canvas = node.firstElementChild;
      const pen = sized(canvas, canvas.clientWidth, canvas.clientHeight, window.devicePixelRatio);
      pen.strokeStyle = node.getAttribute("aria-pressed") === "true" ? css(theme.back) : colourOf(node.dataset.side, theme);
      pen.lineWidth = 2;
      pen.setLineDash(DASH[node.dataset.side]);
      pen.beginPath();
      pen.moveTo(0, canvas.clientHeight / 2);
      pen.lineTo(canvas.clientWidth, canvas.clientHeight / 2);
      pen.stroke();
    }
  }
}

/** Where iteration `value` stands between the first and the last of both. */
export function timeAxis(traces, left, width) {
  const last = Math.max(...traces.map(({ iteration }) => iteration.at(-1)), 1);
  return { last, x: (value) => left + clamp(value / last, 0, 1) * width };
}
