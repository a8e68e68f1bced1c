/** The input that stands behind a place of a map, as a picture in the figure's corner. */

import { clamp, el } from "./elements.js";

export class Behind {
  constructor(app) {
    this.app = app;
    this.canvas = el("canvas", { class: "behind", hidden: true, role: "img", "aria-label": "The input behind this place" });
  }

  /** @param {{x: number, y: number} | null} place what the pointer or the crosshair is at */
  show(place) {
    const { scene, prototypes } = this.app;
    const inputs = scene?.behind;
    this.canvas.hidden = !inputs || !place;
    if (this.canvas.hidden) return;
    const [n, , size] = inputs.shape;
    const node = (v, [low, high]) => Math.round(clamp((v - low) / (high - low), 0, 1) * (n - 1));
    const at = node(place.y, scene.view.y) * n + node(place.x, scene.view.x);
    const [h, w] = scene.image;
    Object.assign(this.canvas, { width: w, height: h });
    prototypes.face(this.canvas, inputs.subarray(at * size, (at + 1) * size), [h, w]);
  }
}
