import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { decode, sameBytes } from "../../assets/canvas/payload.js";

const bytes = new Uint8Array(readFileSync(new URL("payload.bin", import.meta.url)));

test("a payload written by Python is read with its shapes and types", () => {
  const read = decode(bytes);
  assert.equal(read.seq, 7);
  assert.equal(read.notices[0].text, "Prüfung ±");
  const { winner, lines, prototypes } = read.picture;
  assert.deepEqual([...winner], [0, 1, 2, 255, 1, 0]);
  assert.deepEqual(winner.shape, [2, 3]);
  assert.ok(winner instanceof Uint8Array);
  assert.deepEqual([...prototypes.weights], [1.5, -2, 0, 0.25]);
  assert.ok(prototypes.weights instanceof Float32Array);
  assert.deepEqual([...prototypes.count], [70000, 1]);
  assert.ok(prototypes.count instanceof Int32Array);
  assert.deepEqual(lines.coef.shape, [0, 3]);
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
