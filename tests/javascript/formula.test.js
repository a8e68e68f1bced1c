import assert from "node:assert/strict";
import test from "node:test";

import { tokens } from "../../assets/canvas/formula.js";

test("letters, numbers and signs, with what stands below and above", () => {
  assert.deepEqual(tokens("λ ∑_{i<j} w^2"), [
    { tag: "mi", text: "λ" },
    { tag: "mo", text: "∑", below: [{ tag: "mi", text: "i" }, { tag: "mo", text: "<" }, { tag: "mi", text: "j" }] },
    { tag: "mi", text: "w", above: [{ tag: "mn", text: "2" }] },
  ]);
});

test("braces may hold scripts of their own, and words are one token", () => {
  const [log, base] = tokens("log e^{w_{a_i}}");
  assert.deepEqual(log, { tag: "mo", text: "log" });
  assert.deepEqual(base.above, [{ tag: "mi", text: "w", below: [{ tag: "mi", text: "a", below: [{ tag: "mi", text: "i" }] }] }]);
});

test("what is not closed or begins with a script is no error", () => {
  assert.equal(tokens("x_{a").at(-1).below[0].text, "a");
  assert.equal(tokens("_a")[0].tag, "mo");
  assert.deepEqual(tokens(""), []);
});
