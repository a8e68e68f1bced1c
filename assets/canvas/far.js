/** Hatching where a map has no row near: what is painted there, no data speak for. */

import { css } from "./marks.js";

const NODES = 100;
const STEP = 7;

/** A canvas off the page; an OffscreenCanvas cannot be written into a picture to save. */
const drawingOf = (width, height) => Object.assign(document.createElement("canvas"), { width, height });

/** A canvas of 100 x 100 pixels, opaque where no row is near, from high y to low y. */
function maskOf(far) {
  const mask = drawingOf(NODES, NODES);
  const image = new ImageData(NODES, NODES);
  for (let i = 0; i < NODES; i++)
    for (let j = 0; j < NODES; j++) image.data[4 * (i * NODES + j) + 3] = 255 * far[(NODES - 1 - i) * NODES + j];
  mask.getContext("2d").putImageData(image, 0, 0);
  return mask;
}

/** Draw it over the regions, within the area of the plot as it is zoomed. */
export function drawFar(pen, theme, plot) {
  const { area: { x, y, w, h }, app: { scene: { view } } } = plot;
  if (!view.far) return;
  if (plot.farOf !== view.far) [plot.farOf, plot.farMask] = [view.far, maskOf(view.far)];
  const [left, top] = [plot.px(view.x[0]) - x, plot.py(view.y[1]) - y];
  const size = [plot.px(view.x[1]) - x - left, plot.py(view.y[0]) - y - top];
  // It stands still while the model changes below it.
  const key = [w, h, left, top, ...size, ...theme.back, ...theme.muted].join();
  if (plot.hatchedFor !== key || plot.hatchedOf !== view.far)
    Object.assign(plot, { hatchedFor: key, hatchedOf: view.far, hatched: hatchedArea(theme, plot, [left, top, ...size]) });
  pen.drawImage(plot.hatched, x, y);
}

function hatchedArea(theme, { area: { w, h }, farMask }, place) {
  const hatched = drawingOf(Math.ceil(w), Math.ceil(h));
  const hatch = hatched.getContext("2d");
  hatch.fillStyle = css(theme.back, 0.75);
  hatch.fillRect(0, 0, w, h);
  hatch.strokeStyle = css(theme.muted, 0.5);
  hatch.beginPath();
  for (let at = 0; at < w + h; at += STEP) {
    hatch.moveTo(at, 0);
    hatch.lineTo(at - h, h);
  }
  hatch.stroke();
  hatch.globalCompositeOperation = "destination-in";
  hatch.drawImage(farMask, ...place);
  return hatched;
}
