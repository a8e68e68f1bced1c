import assert from "node:assert/strict";
import test from "node:test";

import { boundaries, locate, paintRegions } from "../../assets/canvas/regions.js";

test("every pixel has its cell, and each cell's run its start", () => {
  const { cell, part, runs } = locate(8, 5, 0, 4);
  assert.deepEqual([...cell], [0, 0, 1, 1, 2, 2, 3, 3]);
  assert.deepEqual([...part], [0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.25, 0.75]);
  assert.deepEqual([...runs], [0, 2, 4, 6, 8]);
});

const grid = { winner: Uint8Array.of(0, 1, 0, 1), margin: Uint8Array.of(255, 255, 255, 255), grid: [2, 2] };

test("two classes that win by as much meet in the middle of a cell", () => {
  const out = new Uint32Array(40);
  const table = Uint32Array.from({ length: 8 }, (_, i) => (i >> 2) + 1); // by class alone
  paintRegions(out, grid, locate(10, 2, 0, 1), locate(4, 2, 0, 1), table);
  for (let row = 0; row < 4; row++) {
    assert.deepEqual([...out.slice(10 * row, 10 * row + 10)], [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
  }
});

test("their boundary runs there, too", () => {
  assert.deepEqual([...boundaries({ ...grid })], [0.5, 0, 0.5, 1]);
});
