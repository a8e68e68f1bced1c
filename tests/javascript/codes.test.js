import assert from "node:assert/strict";
import test from "node:test";

import { casesOfCode } from "../../assets/canvas/codes.js";

const table = (values, columns) => Object.assign(values, { shape: [values.length / columns, columns] });

// Two drawn rows; three prototypes mixed from four training rows.
const codes = {
  prototype: table(Uint8Array.of(2, 0, 255, 255), 2),
  weight: table(Float32Array.of(0.5, 0.25, 0, 0), 2),
  case: table(Int32Array.of(0, 1, 3, -1, 1, 2), 2),
  share: table(Float32Array.of(0.5, 0.5, 1, 0, 0.25, 0.75), 2),
  row: Int32Array.of(10, 20, 30, 40),
  label: Uint8Array.of(0, 1, 1, 0),
};
const marks = Float32Array.of(0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5);

test("a training row counts once, with its weight in all prototypes of the code", () => {
  const cases = casesOfCode(codes, marks, 0);
  // .5 * .75, then .5 * .25 + .25 * .5, then .25 * .5: of .75 together
  assert.deepEqual(cases.map(({ row }) => row), [30, 20, 10]);
  assert.deepEqual(cases.map(({ share }) => share), [0.5, 1 / 3, 1 / 6]);
  assert.deepEqual(cases.map(({ of }) => of), [[3], [3, 1], [1]]);
  assert.deepEqual(cases.map(({ x, y }) => [x, y]), [[2, 2.5], [1, 1.5], [0, 0.5]]);
  assert.deepEqual(cases.map(({ label }) => label), [1, 1, 0]);
});

test("an empty code has no training rows", () => {
  assert.deepEqual(casesOfCode(codes, marks, 1), []);
});
