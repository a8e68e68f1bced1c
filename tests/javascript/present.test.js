import assert from "node:assert/strict";
import test from "node:test";

import { fourOf } from "../../assets/canvas/present.js";

test("four numbers are presented: both accuracies, and what moves", () => {
  const keys = ["validation_accuracy", "training_accuracy", "worst_recall", "n_prototypes", "n_nonzeros", "solver"];
  assert.deepEqual([...fourOf(keys)], ["validation_accuracy", "training_accuracy", "n_prototypes", "n_nonzeros"]);
  assert.deepEqual([...fourOf(["a", "b", "c"])], ["a", "b", "c"]);
});
