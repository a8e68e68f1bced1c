import assert from "node:assert/strict";
import test from "node:test";

import { scaleOf, stateAt, timeAxis } from "../../assets/canvas/compare.js";

test("the state at a time is the last one until then", () => {
  const iterations = [0, 5, 5, 13];
  assert.deepEqual([0, 4.9, 5, 12, 13, 200].map((time) => stateAt(iterations, time)), [0, 0, 2, 2, 3, 3]);
});

test("above a bound that holds for both, heights are log distances to it", () => {
  const ours = { objective: [11, 2], gap: [null, 1] };
  const { name, height } = scaleOf(ours, { objective: [101, 1.1] });
  assert.match(name, /above our bound, log scale/);
  assert.deepEqual([2, 11, 101].map(height), [0, 1, 2]);
});

test("a bound that the printed algorithm falls below is none for both", () => {
  const ours = { objective: [3, 2], gap: [null, 0.5] };
  const { name, height } = scaleOf(ours, { objective: [4, 1.25] });
  assert.equal(name, "objective");
  assert.equal(height(1.25), 1.25);
});

test("without a bound, values far apart are drawn on a log scale where they are positive", () => {
  const ours = { objective: [1], gap: [null] };
  assert.equal(scaleOf(ours, { objective: [1000] }).name, "objective, log scale");
  assert.equal(scaleOf(ours, { objective: [1000, -1] }).name, "objective");
});

test("the time axis reaches the last iteration of both", () => {
  const { last, x } = timeAxis([{ iteration: [0, 13] }, { iteration: [0, 200] }], 10, 100);
  assert.equal(last, 200);
  assert.deepEqual([0, 100, 200].map(x), [10, 60, 110]);
});
