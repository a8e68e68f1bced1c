import assert from "node:assert/strict";
import test from "node:test";

import { wayOf } from "../../assets/canvas/play.js";

test("it plays to both ends and comes back to where it was", () => {
  assert.deepEqual(wayOf(2, 4), [3, 4, 3, 2, 1, 0, 1, 2]);
  assert.deepEqual(wayOf(0, 2), [1, 2, 1, 0]);
  assert.deepEqual(wayOf(2, 2), [1, 0, 1, 2]);
});
