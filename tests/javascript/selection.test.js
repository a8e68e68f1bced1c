import assert from "node:assert/strict";
import test from "node:test";

import { summary } from "../../assets/canvas/selection.js";

test("selected rows are counted by class, with those that are predicted wrongly", () => {
  const scene = { points: { row: [0, 1, 2, 3], label: [0, 0, 1, 1] }, classes: ["benign", "malignant"] };
  const words = "3 of 4 rows selected: 1 of class benign, 2 of class malignant; 2 predicted wrongly.";
  assert.equal(summary(scene, { predicted: [0, 1, 1, 0] }, [1, 2, 3]), words);
  assert.equal(summary(scene, { predicted: [] }, [0]), "1 of 4 rows selected: 1 of class benign.");
});

test("of a number the mean stands beside that of all rows", () => {
  const scene = { points: { row: [0, 1, 2], value: [1, 2, 6] }, classes: [], target: { name: "price" } };
  assert.equal(summary(scene, { predicted: [1, 2, 6] }, [1, 2]), "2 of 3 rows selected: mean price 4, of all 3.");
});
