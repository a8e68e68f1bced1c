import assert from "node:assert/strict";
import test from "node:test";

import { WAITING, pictureIn } from "../../assets/canvas/scene.js";
import { boundaries } from "../../assets/canvas/regions.js";

const scene = (id, high = 1, classes = ["a", "b"]) => ({ id, classes, view: { x: [0, high], y: [0, 1], xlabel: "x", ylabel: "y" } });
const PICTURE = { winner: [0, 1], predicted: [1, 0], hollow: [0, 0], codes: {}, doubts: {}, assignments: {} };
const MOVE = { kind: "edit", op: "move" };

test("a picture stays in its scene, and goes with it", () => {
  assert.equal(pictureIn(PICTURE, scene("A"), scene("A")), PICTURE);
  for (const message of [undefined, { kind: "set" }, { kind: "edit", op: "undo" }])
    assert.equal(pictureIn(PICTURE, scene("A"), scene("B"), message), null);
  assert.equal(pictureIn(PICTURE, undefined, scene("B"), MOVE), null);
  assert.equal(pictureIn(null, scene("A"), scene("B"), MOVE), null);
});

test("under an edit of the same table its regions stay, what it says row by row does not", () => {
  const kept = pictureIn(PICTURE, scene("A"), scene("B"), MOVE);
  assert.deepEqual(kept, { winner: [0, 1], predicted: [], hollow: [], codes: null, doubts: null, assignments: null });
  assert.equal(pictureIn(PICTURE, scene("A"), scene("B", 2), MOVE), null, "another window");
  assert.equal(pictureIn(PICTURE, scene("A"), scene("B", 1, ["a"]), MOVE), null, "other classes");
});

test("what is painted meanwhile has no border and no number", () => {
  assert.equal(boundaries({ ...WAITING }).length, 0);
  assert.equal(WAITING.readouts.length + WAITING.predicted.length, 0);
  assert.match(WAITING.coarse, /^Waiting/);
});
