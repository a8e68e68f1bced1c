import assert from "node:assert/strict";
import test from "node:test";

import { nearestIndex } from "../../assets/canvas/controls.js";
import { brief, percent, say, signed, ticks } from "../../assets/canvas/elements.js";

test("numbers have sensible digits", () => {
  const said = { 0: "0", 42: "42", 0.0031623: "0.00316", 1.2e-5: "1.2e-5", 3e6: "3000000", 3e9: "3e9", 1745.3: "1745" };
  for (const [value, words] of Object.entries(said)) assert.equal(say(Number(value)), words);
  assert.equal(say(-42), "−42");
  assert.equal(say(NaN), "–");
  assert.equal(signed(2), "+2");
  assert.equal(signed(7e-18), "0", "a rounding error");
  assert.equal(signed(-7e-18), "0", "a rounding error");
  assert.equal(percent(0.98765), "98.8 %");
});

test("a long name is cut for display only", () => {
  assert.equal(brief("x".repeat(24)), "x".repeat(24));
  assert.equal(brief("x".repeat(25)), `${"x".repeat(23)}…`);
});

test("ticks are round and inside", () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(-1.2, 1.2, 4).map((v) => v + 0), [-1, 0, 1]);
});

test("the nearest knot is found", () => {
  assert.equal(nearestIndex([1, 2, 4, 8], 5), 2);
  assert.equal(nearestIndex([1, 2, 4, 8], -3), 0);
  assert.equal(nearestIndex([1, 2, 4, 8], 99), 3);
});
