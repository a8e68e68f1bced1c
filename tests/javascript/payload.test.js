import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { decode, sameBytes } from "../../assets/canvas/payload.js";

const bytes = new Uint8Array(readFileSync(new URL("payload.bin", import.meta.url)));

test("a payload written by Python is read with its shapes and types", () => {
  const { seq, text, winner, weights, count: [count], empty } = decode(bytes);
  assert.deepEqual([seq, text, winner.shape, empty.shape], [7, "Prüfung ±", [2, 3], [0, 3]]);
  for (const [array, kind, values] of [
    [winner, Uint8Array, [0, 1, 2, 255, 1, 0]],
    [weights, Float32Array, [1.5, -2, 0, 0.25]],
    [count, Int32Array, [70000, 1]],
  ]) {
    assert.ok(array instanceof kind);
    assert.deepEqual([...array], values);
  }
});

test("a payload that lies anywhere in a larger buffer is read alike", () => {
  const larger = new Uint8Array(bytes.length + 3);
  larger.set(bytes, 3);
  assert.deepEqual(decode(larger.subarray(3)), decode(bytes));
});

test("payloads are compared by their bytes", () => {
  assert.ok(sameBytes(bytes, bytes.slice()));
  assert.ok(!sameBytes(bytes, bytes.slice(1)));
  assert.ok(!sameBytes(bytes, null) && !sameBytes(undefined, bytes));
  const other = bytes.slice();
  other[other.length - 1] ^= 1;
  assert.ok(!sameBytes(bytes, other));
});
