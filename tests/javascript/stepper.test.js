import assert from "node:assert/strict";
import test from "node:test";

import { missingStates, phaseStarts } from "../../assets/canvas/stepper.js";

test("a phase begins where its name is new", () => {
  assert.deepEqual(phaseStarts(["a", "a", "b", "b", "a"]), [[0, "a"], [2, "b"], [4, "a"]]);
  assert.deepEqual(phaseStarts([]), []);
});

test("states that come next are asked for first, then those before", () => {
  const here = new Map([[0, {}], [3, {}]]);
  assert.deepEqual(missingStates(6, here, 2), [2, 4, 5, 1]);
  assert.deepEqual(missingStates(2, new Map([[0, {}], [1, {}]]), 0), []);
});
