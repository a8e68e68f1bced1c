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
