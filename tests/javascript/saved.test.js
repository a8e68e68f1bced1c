import assert from "node:assert/strict";
import test from "node:test";

import { Saved } from "../../assets/canvas/saved.js";

const VALUES = [0.1, 1, 10];
const KNOTS = VALUES.map((value, knot) => ({ knot, value, canonical: true, name: `k${knot}` }));
const FULL = {
  seq: 0, kind: "full", scene: { id: "saved" }, picture: { value: 0.5, knot: null, name: "first" }, headline: "", terms: [],
  controls: [{ name: "lam", value: 0.5 }], path: { param: "lam", values: VALUES },
};
const saved = () => new Saved({ ...FULL, knots: KNOTS });

test("a value is answered by the nearest solved one", () => {
  for (const [asked, knot] of [[0.1, 0], [0.9, 1], [4, 2], [1e9, 2]]) {
    const answer = saved().reply({ kind: "set", seq: 3, values: { lam: asked }, dragging: false });
    assert.equal(answer.seq, 3);
    assert.equal(answer.kind, "picture");
    assert.equal(answer.picture.name, `k${knot}`);
    assert.deepEqual(answer.controls, [{ name: "lam", value: VALUES[knot] }]);
    assert.equal(answer.path, FULL.path);
  }
});

test("what changes no value shows the last picture again, and a reset the first", () => {
  const file = saved();
  assert.equal(file.reply({ kind: "set", seq: 1, values: {} }).picture.name, "first");
  file.reply({ kind: "set", seq: 2, values: { lam: 10 } });
  for (const kind of ["set", "poll", "stop", "edit"]) assert.equal(file.reply({ kind, seq: 3 }).picture.name, "k2");
  assert.equal(file.reply({ kind: "reset", seq: 4 }).picture.name, "first");
  assert.equal(file.reply({ kind: "poll", seq: 5 }).picture.name, "first");
});

test("knots come as they are asked for; others are none", () => {
  const { kind, knots } = saved().reply({ kind: "knots", seq: 1, want: [2, 0, 7] });
  assert.equal(kind, "knots");
  assert.deepEqual(knots.map((knot) => knot.name), ["k2", "k0"]);
});

test("a second slider leads to its own path, at the same place of the first", () => {
  const other = VALUES.map((value, knot) => ({ knot, value, canonical: true, name: `other${knot}` }));
  const second = { param: "mu", values: [1, 5], at: 0, knots: [[], other] };
  const controls = [...FULL.controls, { name: "mu", value: 1 }];
  const file = new Saved({ ...FULL, controls, knots: KNOTS, second });
  file.reply({ kind: "set", seq: 1, values: { lam: 9 } });
  const moved = file.reply({ kind: "set", seq: 2, values: { mu: 4 } });
  assert.equal(moved.picture.name, "other2");
  assert.deepEqual(moved.controls.map(({ value }) => value), [10, 5]);
  assert.deepEqual(file.reply({ kind: "knots", seq: 3, want: [0] }).knots.map(({ name }) => name), ["other0"]);
  assert.equal(file.reply({ kind: "set", seq: 4, values: { lam: 0.1 } }).picture.name, "other0");
  assert.equal(file.reply({ kind: "set", seq: 5, values: { mu: 2 } }).picture.name, "k0");
  assert.equal(file.reply({ kind: "reset", seq: 6 }).picture.name, "first");
  assert.deepEqual(file.reply({ kind: "knots", seq: 7, want: [1] }).knots.map(({ name }) => name), ["k1"]);
});
