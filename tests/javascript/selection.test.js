import assert from "node:assert/strict";
import test from "node:test";

import { summary } from "../../assets/canvas/selection.js";

test("selected rows are counted by class, with those that are predicted wrongly", () => {
  const scene = { points: { row: [0, 1, 2, 3], label: [0, 0, 1, 1] }, classes: ["benign", "malignant"] };
  const words = "3 of 4 rows selected: 1 of class benign, 2 of class malignant; 2 predicted wrongly.";
  const picture = { predicted: [0, 1, 1, 0], readouts: [{ name: "Training accuracy" }] };
  assert.equal(summary(scene, picture, [1, 2, 3]), words);
  const short = "1 of 4 rows selected: 1 of class benign.";
  assert.equal(summary(scene, { ...picture, predicted: [] }, [0]), short);
  // While a question of a lesson is open, nothing is counted for whom it asks.
  assert.equal(summary(scene, { ...picture, readouts: [] }, [0]), short);
});

test("of a number the mean stands beside that of all rows", () => {
  const scene = { points: { row: [0, 1, 2], value: [1, 2, 6] }, classes: [], target: { name: "price" } };
  assert.equal(summary(scene, { predicted: [1, 2, 6], readouts: [] }, [1, 2]), "2 of 3 rows selected: mean price 4, of all 3.");
});
