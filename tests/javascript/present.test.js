import assert from "node:assert/strict";
import test from "node:test";

import { fourOf } from "../../assets/canvas/present.js";

test("four numbers are presented: both accuracies, and what moves", () => {
  const names = ["Validation accuracy", "Training accuracy", "Worst recall", "Prototypes", "Non-zeros", "Solver"];
  assert.deepEqual([...fourOf(names)], ["Validation accuracy", "Training accuracy", "Prototypes", "Non-zeros"]);
  assert.deepEqual([...fourOf(["a", "b", "c"])], ["a", "b", "c"]);
});
