import assert from "node:assert/strict";
import test from "node:test";

import { Strip, lanesOf, pastOf, positionOf } from "../../assets/canvas/strip.js";

const knot = (value, nonzeros) => ({ value, strip: { nonzeros } });

test("a value stands between its neighbours by ratio, beside zero by difference", () => {
  const values = [0, 0.01, 0.1, 1];
  assert.deepEqual(values.map((value) => positionOf(values, value)), [0, 1, 2, 3]);
  assert.ok(Math.abs(positionOf(values, Math.sqrt(0.001)) - 1.5) < 1e-12);
  assert.equal(positionOf(values, 0.005), 0.5);
  assert.equal(positionOf(values, 2), null);
  assert.equal(positionOf([0.1, 1], 0.05), null);
});

test("a path that was solved on another axis stands at its own values on the new one", () => {
  const past = pastOf(new Map([[2, knot(1, 3)], [0, knot(0.01, 9)], [1, knot(0.1, 7)]]));
  assert.deepEqual(past.map(({ value }) => value), [0.01, 0.1, 1]);
  assert.deepEqual(past.map(({ value }) => positionOf([0.1, 1, 10], value)), [null, 0, 1]);
});

test("counts stand below the lowest share, which is no number of theirs", () => {
  const { floor, most } = lanesOf(12, 76, 14);
  assert.ok(12 < floor && floor < most && most < 76);
});

test("nothing is drawn over a knot that was not solved", () => {
  const past = pastOf(new Map([[5, knot(0.5, 1)], [2, knot(0.2, 3)], [3, knot(0.3, 2)]]));
  assert.deepEqual(past.map(({ strip }) => strip?.nonzeros), [3, 2, undefined, 1]);
});

test("the pale path is of one model, whole, and stays while nothing newer is known", () => {
  const strip = Object.assign(Object.create(Strip.prototype), { past: [] });
  strip.fade(new Map([[0, knot(0.1, 9)], [1, knot(1, 8)]]));
  strip.fade(new Map());
  assert.equal(strip.past.length, 2);
  strip.fade(new Map([[1, knot(2, 5)]]));
  assert.deepEqual(strip.past, [knot(2, 5)]);
});

test("R² is 1 where no prediction is off only", () => {
  const strip = Object.assign(Object.create(Strip.prototype), { state: { path: { count: "non-zeros" } } });
  const shown = (r2) => strip.texts({ training: 26, nonzeros: 3, r2: { training: r2 } })[0];
  assert.equal(shown(0.998), "training error 26, R² 0.998");
  assert.equal(shown(0.99996), "training error 26, R² 0.99996");
  assert.equal(shown(1), "training error 26, R² 1.000");
  assert.equal(shown(-0.5), "training error 26, R² −0.500");
});
