import assert from "node:assert/strict";
import test from "node:test";

import { Guess, nearestOf } from "../../assets/canvas/guess.js";
import { SvgPen } from "../../assets/canvas/svg.js";

test("the nearest of several places, or none", () => {
  assert.equal(nearestOf([0, 0], [[3, 0], [1, 1], [0, -2]]), 1);
  assert.equal(nearestOf([0, 0], []), -1);
});

test("a mark can be made while the question is open, and is drawn where it was made", () => {
  const plot = { px: (x) => 10 * x, py: (y) => 10 * y, app: { theme: { back: [0, 0, 0], text: [255, 255, 255] } } };
  const guess = new Guess();
  guess.take({ open: true, at: null, found: [] });
  assert.ok(guess.isOpen);
  const empty = new SvgPen();
  guess.paint(empty, plot);
  assert.equal(empty.content(), "");
  guess.take({ open: false, at: [2, 3], found: [[4, 3]] });
  assert.ok(!guess.isOpen);
  const pen = new SvgPen();
  guess.paint(pen, plot);
  assert.ok(pen.content().includes("M12 22L28 38") && pen.content().includes("M20 30L40 30"));
  guess.take();
  assert.ok(!guess.isOpen);
});
