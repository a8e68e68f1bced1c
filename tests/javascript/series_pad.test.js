// What a drag over the pad of a series makes of its values.

import assert from "node:assert/strict";
import test from "node:test";

import { drawn } from "../../assets/series_pad.js";

test("a point that is dragged moves alone", () => {
  const at = { time: 1, value: 5 };
  assert.deepEqual(drawn([0, 1, 2], at, at), [0, 5, 2]);
});

test("a fast drag leaves a line, whichever way it goes", () => {
  const from = { time: 0, value: 0 }, to = { time: 4, value: 8 };
  assert.deepEqual(drawn([9, 9, 9, 9, 9, 7], from, to), [0, 2, 4, 6, 8, 7]);
  assert.deepEqual(drawn([9, 9, 9, 9, 9, 7], to, from), [0, 2, 4, 6, 8, 7]);
});

test("the values before are left as they were", () => {
  const before = [1, 2];
  drawn(before, { time: 0, value: 3 }, { time: 1, value: 4 });
  assert.deepEqual(before, [1, 2]);
});
