import assert from "node:assert/strict";
import test from "node:test";

import { hubs } from "../../assets/canvas/assignments.js";
import { innerBorders } from "../../assets/canvas/regions.js";
import { Ruler } from "../../assets/canvas/chart.js";

const points = { x: [0, 2, 5, 9], y: [0, 4, 5, 9] };

test("ties meet in the middle of the tied rows, or at the invented case", () => {
  const rows = Uint8Array.of(0, 0, 1, 255);
  const owner = Uint8Array.of(0, 1, 1);
  assert.deepEqual(hubs(rows, points, { owner }), [{ x: 1, y: 2, n: 2 }, { x: 5, y: 5, n: 1 }, null]);
  const stars = { owner, marks: [7, 8, 3, 4, 0, 0], mark_size: [1, 1, 1] };
  assert.deepEqual(hubs(rows, points, stars)[0], { x: 7, y: 8, n: 2 });
});

test("inner borders run between prototypes of one class only", () => {
  const lead = Uint8Array.of(255, 255, 255, 255, 255, 255);
  const winner = Uint8Array.of(0, 0, 1, 0, 0, 1); // classes: the second cell has two of them
  const assignments = { winner: Uint8Array.of(0, 1, 2, 0, 1, 2), lead };
  assert.deepEqual([...innerBorders({ winner, grid: [3, 2], assignments })], [0.5, 0, 0.5, 1]);
});

test("a scale rests while something moves, and grows where it must", () => {
  const ruler = new Ruler();
  assert.equal(ruler.of("w", 4, true), 4);
  assert.equal(ruler.of("w", 2, false), 4);
  assert.equal(ruler.of("w", 6, false), 6);
  assert.equal(ruler.of("w", 1, true), 1);
  ruler.reset();
  assert.equal(ruler.of("w", 3, false), 3);
});
