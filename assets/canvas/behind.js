/** The input that stands behind a place of a map: a picture in the figure's corner, or a line of words. */

import { brief, el, say } from "./elements.js";
import { paintGrey } from "./marks.js";
import { nodeAt } from "./regions.js";

/** In what a place differs most from the nearest row; "" where that is a picture, or no map. */
export function differences({ behind, view, features }, place) {
  if (!behind?.row) return "";
  const { row, feature, value, of_row: own } = behind;
  const at = nodeAt(row.shape, place, view);
  const most = feature.shape[2];
  const parts = Array.from({ length: most }, (_, k) => at * most + k).filter((i) => value[i] !== own[i])
    .map((i) => `${brief(features[feature[i]])} ${say(value[i])} (row: ${say(own[i])})`);
  return `Nearest row ${row[at]}${parts.length ? `, largest differences: ${parts.join(" · ")}` : ""}`;
}

/** Greys of a picture from 0 to 255, or null. */
function pixelsAt(behind, place, view) {
  if (!behind?.pixels) return null;
  const { pixels } = behind;
  const [at, size] = [nodeAt(pixels.shape, place, view), pixels.shape[2]];
  return pixels.subarray(at * size, (at + 1) * size);
}

export class Behind {
  constructor(state) {
    this.state = state;
    this.canvas = el("canvas", { class: "behind", hidden: true, role: "img", "aria-label": "The input behind this place" });
  }

  /** @param {{x: number, y: number} | null} place what the pointer or the crosshair is at @param {number} index of a row there, or -1 */
  show(place, index) {
    const { scene, answers } = this.state;
    const pixels = place && (answers?.pixelsOf(answers.inputOf(index) ?? answers.inputAt(place, scene.view)) ?? pixelsAt(scene?.behind, place, scene?.view));
    this.canvas.hidden = !pixels;
    if (!pixels) return;
    const [height, width] = scene.image;
    Object.assign(this.canvas, { width, height });
    paintGrey(this.canvas, pixels);
  }
}
