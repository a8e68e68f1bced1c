/** Scales that rest while a control moves, so that what shrinks is seen to shrink. */
export class Ruler {
  constructor() {
    this.held = new Map();
  }

  /**
   * Size that fills a scale: the largest now, or at rest before, while something moves.
   * @param {string} name of the scale @param {number} most largest size now
   * @param {boolean} settled nothing moves
   */
  of(name, most, settled) {
    const before = this.held.get(name) ?? 0;
    this.held.set(name, settled ? most : Math.max(before, most));
    return this.held.get(name);
  }

  /** Forget the scales: other data or another method. */
  reset() {
    this.held.clear();
  }
}

/** The largest part of an area in which a unit of x is as long as a unit of y. */
export function equalArea({ x, y, w, h }, view, snap) {
  const ratio = (view.y[1] - view.y[0]) / (view.x[1] - view.x[0]);
  const [wide, high] = w * ratio > h ? [snap(h / ratio), h] : [w, snap(w * ratio)];
  return { x: snap(x + (w - wide) / 2), y: snap(y + (h - high) / 2), w: Math.max(wide, 1), h: Math.max(high, 1) };
}
