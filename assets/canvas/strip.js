/** The strip under the slider of a solved path. */

import { drawLine, drawNumbers, shareAt, spanOf } from "./chart.js";
import { nearestIndex } from "./controls.js";
import { clamp, el, percent, say, sayR2, setText, sized } from "./elements.js";
import { css } from "./marks.js";

/** What the strip draws, in words. */
const LINES = "line training, dashed validation. Grey, below:";
const PALE = " Pale: before.";
const isThere = (value) => value !== null && value !== undefined;

/** The path of one model: values of its knots and what the strip draws of them; null where one is missing. */
export function pastOf(knots) {
  const ordered = [...knots].sort(([i], [j]) => i - j);
  return ordered.flatMap(([index, { value, strip }], i) => {
    const gap = i > 0 && index > ordered[i - 1][0] + 1;
    return [...(gap ? [{ value, strip: null }] : []), { value, strip }];
  });
}

/**
 * Where a value stands among a path's values, in knots from its beginning: by ratio, or by
 * difference beside zero; null outside.
 */
export function positionOf(values, value) {
  const next = values.findIndex((other) => other >= value);
  if (next < 0 || value < values[0]) return null;
  const [a, b] = [values[next - 1], values[next]];
  if (b === value) return next;
  return next - 1 + (a > 0 ? Math.log(value / a) / Math.log(b / a) : (value - a) / (b - a));
}

/** Where shares end and the largest count begins: counts stand below, on no axis of shares. */
export function lanesOf(top, bottom, em) {
  const floor = bottom - 0.3 * (bottom - top);
  return { floor, most: floor + 0.2 * em };
}

/** Accuracy and non-zeros along the solved path; a press there scrubs. */
export class Strip {
  /** @param {() => object} slider of the path, if there is one */
  constructor(state, slider) {
    Object.assign(this, { state, slider });
    this.past = []; // the path of the model before the settings changed, drawn faintly
    const hold = (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.held = slider();
      if (this.held) this.held.held = true;
      this.to(event);
    };
    this.canvas = el("canvas", {
      class: "strip", role: "slider", tabindex: 0, "aria-valuemin": 0, hidden: true,
      keydown: (event) => this.key(event), pointerdown: hold, pointermove: (event) => this.held && this.to(event),
      lostpointercapture: () => (this.held = null),
    });
    this.legend = el("p", { class: "strip-key", hidden: true });
  }

  to(event) {
    const { path, theme } = this.state;
    const index = Math.round(shareAt(event, this.canvas, theme) * (path.values.length - 1));
    if (this.held?.position !== index || !this.held?.moved) this.held?.slide(index);
  }

  /** The same keys as the slider's. */
  key(event) {
    const slider = this.slider();
    const end = slider?.end ?? 0;
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -5, PageUp: 5, Home: -end, End: end };
    if (!slider || !(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = clamp(slider.position + steps[event.key], 0, end);
    if (next !== slider.position) slider.slide(next);
  }

  /** Keep the path that is known, faintly: its knots are about to go. Nothing else is kept. */
  fade(knots) {
    if (knots.size) this.past = pastOf(knots);
  }

  paint(picture) {
    const { path, theme, scene, knots } = this.state;
    this.canvas.hidden = this.legend.hidden = !path;
    if (!path || !this.canvas.clientWidth) return;
    const { em } = theme;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const pen = sized(this.canvas, width, height, window.devicePixelRatio);
    const { left, width: span } = spanOf(this.canvas, theme);
    const [top, bottom] = [0.9 * em, height - 1.6 * em];
    const end = Math.max(path.values.length - 1, 1);
    const x = (i) => left + (i / end) * span;
    const known = path.values.map((_, i) => knots.get(i)?.strip);
    const past = this.past.map(({ value, strip }) => [positionOf(path.values, value), strip]).filter(([at]) => at !== null);
    const now = [...known.entries()];
    const all = [...past, ...now].map(([, strip]) => strip);
    const shares = all.flatMap((s) => (s ? [s.training, s.validation] : [])).filter(isThere);
    const errors = Boolean(scene.target); // of a regression: errors from 0 up, not shares of right answers
    const low = errors ? 0 : Math.min(0.9, Math.floor(Math.min(...shares, picture.strip?.training ?? 1) * 10) / 10);
    const high = errors ? Math.max(...shares, picture.strip?.training ?? 0, picture.strip?.validation ?? 0) || 1 : 1;
    const { floor, most: highest } = lanesOf(top, bottom, em);
    const y = (share) => floor - ((share - low) / (high - low)) * (floor - top);
    const most = Math.max(1, ...all.map((s) => s?.nonzeros ?? 0), picture.strip?.nonzeros ?? 0);
    const words = `${path.score}: ${LINES} ${path.count}, up to ${most}. Dark ticks: solved.`;
    setText(this.legend, words + (this.past.length ? PALE : ""));
    const yCount = (n) => bottom - (n / most) * (bottom - highest);
    pen.font = theme.font;
    this.paintFrame(pen, theme, { x, y, left, span, bottom, ends: [low, high], path, known });
    const lines = [["training", css(theme.text), [], "circle"], ["validation", css(theme.dark ? [120, 190, 255] : [0, 92, 150]), [5, 3], "square"]];
    for (const [strips, alpha] of [[past, 0.35], [now, 1]]) {
      pen.globalAlpha = alpha;
      this.paintCounts(pen, theme, { x, yCount, bottom, strips, half: span / end / 2, end });
      for (const line of lines) this.paintLine(pen, line, { x, y, strips });
    }
    pen.globalAlpha = 1;
    this.paintMarker(pen, theme, { x, y, yCount, top, bottom, lines, picture, path });
    this.speak(picture, path);
  }

  /** What the strip shows, as a slider says it. */
  speak({ strip, knot, value }, path) {
    const at = knot ?? nearestIndex(path.values, value);
    const label = this.slider()?.control?.label ?? path.param;
    const texts = strip ? this.texts(strip) : [];
    const said = {
      "aria-label": `Path of ${label}`,
      "aria-valuemax": path.values.length - 1,
      "aria-valuenow": at,
      "aria-valuetext": [say(value), ...texts].join(", "),
    };
    for (const [name, text] of Object.entries(said)) this.canvas.setAttribute(name, text);
  }

  texts({ training, validation, nonzeros, r2 }) {
    const fit = (name) => (isThere(r2?.[name]) ? `, R² ${sayR2(r2[name])}` : "");
    const share = (name, v) => (isThere(v) ? [r2 ? `${name} error ${say(v)}${fit(name)}` : `${name} ${percent(v)}`] : []);
    return [...share("training", training), ...share("validation", validation), `${this.state.path.count} ${nonzeros}`];
  }

  paintFrame(pen, theme, { x, y, left, span, bottom, ends, path, known }) {
    const { em } = theme;
    known.forEach((strip, i) => {
      pen.fillStyle = css(theme.text, strip ? 0.75 : 0.16);
      pen.fillRect(x(i) - 1, 1, 2, 0.45 * em);
    });
    pen.strokeStyle = css(theme.faint);
    pen.lineWidth = 1;
    pen.fillStyle = css(theme.muted);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const errors = Boolean(this.state.scene.target);
    for (const share of ends) {
      pen.beginPath();
      pen.moveTo(left, Math.round(y(share)) + 0.5);
      pen.lineTo(left + span, Math.round(y(share)) + 0.5);
      pen.stroke();
      pen.fillText(errors ? say(share, 2) : `${Math.round(share * 100)} %`, left - 6, y(share));
    }
    if (errors) {
      pen.textAlign = "left";
      pen.fillText(path.score.toLowerCase(), left + 0.4 * em, y(ends[0]) - 0.7 * em);
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    let last = -Infinity;
    for (const [at, text] of this.labels(path.values)) {
      if (x(at) - last < 3.2 * em) continue;
      last = x(at);
      pen.fillText(text, x(at), bottom + 5);
    }
  }

  /** Where round values lie among the path's values: zero, and the powers of ten (or the ends). */
  labels(values) {
    const found = values[0] === 0 ? [[0, "0"]] : [];
    for (let i = 0; i + 1 < values.length; i++) {
      const [a, b] = [values[i], values[i + 1]];
      if (a <= 0 || b <= a) continue;
      const power = Math.ceil(Math.log10(a) - 1e-9);
      if (10 ** power < b) found.push([positionOf(values, 10 ** power) ?? i, say(10 ** power)]);
    }
    return found.length > 1 ? found : [[0, say(values[0])], [values.length - 1, say(values.at(-1))]];
  }

  /** Bars of the non-zeros: each from the middle to the one before to the middle to the next. */
  paintCounts(pen, theme, { x, yCount, bottom, strips, half, end }) {
    pen.fillStyle = css(theme.text, 0.13);
    const there = strips.filter(([, strip]) => strip);
    there.forEach(([at, { nonzeros }], i) => {
      const reach = (other) => (other ? Math.min(Math.abs(x(other[0]) - x(at)) / 2, half) : half);
      const [from, to] = [Math.max(x(at) - reach(there[i - 1]), x(0)), Math.min(x(at) + reach(there[i + 1]), x(end))];
      pen.fillRect(from, yCount(nonzeros), to - from, bottom - yCount(nonzeros));
    });
  }

  paintLine(pen, [name, colour, dash, mark], { x, y, strips }) {
    const points = strips.map(([at, strip]) => (isThere(strip?.[name]) ? [x(at), y(strip[name])] : null));
    drawLine(pen, points, colour, dash);
    pen.fillStyle = colour;
    const dense = x(1) - x(0) < 7;
    points.forEach((point, i) => {
      if (!point || (dense && i % 2)) return;
      const [px, py] = point;
      pen.beginPath();
      if (mark === "circle") pen.arc(px, py, 1.8, 0, 7);
      else pen.rect(px - 1.8, py - 1.8, 3.6, 3.6);
      pen.fill();
    });
  }

  /** The shown knot: a vertical line, and its values beside the chart, at their heights. */
  paintMarker(pen, theme, { x, y, yCount, top, bottom, lines, picture, path }) {
    const at = picture.knot ?? nearestIndex(path.values, picture.value);
    const { left, width } = spanOf(this.canvas, theme);
    pen.fillStyle = css(theme.primary);
    pen.fillRect(x(at) - 1, 0, 2, bottom);
    const strip = picture.strip;
    if (!strip) return;
    const texts = lines
      .filter(([name]) => isThere(strip[name]))
      .map(([name, colour]) => ({ text: `${name} ${strip.r2 ? say(strip[name]) : `${Math.round(strip[name] * 100)} %`}`, colour, y: y(strip[name]) }));
    texts.push({ text: `${path.count} ${strip.nonzeros}`, colour: css(theme.muted), y: yCount(strip.nonzeros) });
    drawNumbers(pen, texts, { top, bottom, end: left + width, em: theme.em });
  }
}
