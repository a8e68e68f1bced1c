import assert from "node:assert/strict";
import test from "node:test";

import { differences } from "../../assets/canvas/behind.js";

const shaped = (values, ...shape) => Object.assign(Float32Array.from(values), { shape });

test("a place is told by the nearest row and what differs from it, the place clamped to the map", () => {
  const behind = {
    row: shaped([1, 2, 3, 4], 2, 2, 1),
    feature: shaped([0, 1, 1, 0, 0, 1, 1, 0], 2, 2, 2),
    value: shaped([5, 6, 7, 8, 9, 10, 0.5, 12], 2, 2, 2),
    of_row: shaped([5, 6, 1, 8, 9, 10, -2, 3], 2, 2, 2),
  };
  const scene = { behind, view: { x: [0, 10], y: [0, 1] }, features: ["a", "b".repeat(30)] };
  const long = `${"b".repeat(23)}…`;
  assert.equal(differences(scene, { x: 1, y: 0.1 }), "Nearest row 1");
  assert.equal(differences(scene, { x: 9, y: -4 }), `Nearest row 2, largest differences: ${long} 7 (row: 1)`);
  assert.equal(differences(scene, { x: 99, y: 1 }), `Nearest row 4, largest differences: ${long} 0.5 (row: −2) · a 12 (row: 3)`);
  assert.equal(differences({ ...scene, behind: null }, { x: 0, y: 0 }), "");
  assert.equal(differences({ ...scene, behind: { pixels: shaped([0], 1, 1, 1) } }, { x: 0, y: 0 }), "");
});
