import assert from "node:assert/strict";
import test from "node:test";

import { inkOf } from "../../assets/canvas/prototypes.js";

test("a value within the range is grey, and beyond it takes a colour little by little", () => {
  assert.deepEqual(inkOf(0), [255, 255, 255]);
  assert.deepEqual(inkOf(0.5), [128, 128, 128]);
  assert.deepEqual(inkOf(1), [0, 0, 0]);
  assert.deepEqual(inkOf(-1e-9), [255, 255, 255]);
  assert.deepEqual(inkOf(-5), inkOf(-1));
  const [red, , blue] = inkOf(-1);
  assert.ok(red > blue, "crimson below");
  const [low, , high] = inkOf(2);
  assert.ok(high > low, "teal above");
});
