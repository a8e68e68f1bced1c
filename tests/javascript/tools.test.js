import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { TOOLS, hintOf } from "../../assets/canvas/tools.js";

const ENTRIES = { label: "string", name: "string", icon: "string", cursor: "string", adds: "boolean", hint: "object", act: "function", drag: "function" };

test("everything is said of every tool, and no two are called the same", () => {
  for (const [tool, entry] of Object.entries(TOOLS)) {
    for (const [name, type] of Object.entries(ENTRIES)) assert.equal(typeof entry[name], type, `${tool}: ${name}`);
    assert.ok(entry.name.includes("(tool)") && entry.cursor);
    for (const target of [undefined, { curve: false }, { curve: true }]) {
      const lines = hintOf(tool, target);
      assert.equal(lines.length, 2);
      assert.ok(lines.every((line) => /^\S.*\.$/.test(line)), `${tool}: ${lines}`);
      assert.match(lines[1], /^Keyboard: /);
    }
  }
  for (const of of [({ name }) => name, ({ icon }) => icon, ({ label }) => label[0]]) {
    const all = Object.values(TOOLS).map(of);
    assert.equal(new Set(all).size, all.length);
  }
});

test("every edit that the server knows has its tool", () => {
  const edits = readFileSync(new URL("../../smpcore/live/points.py", import.meta.url), "utf8");
  const [, steps] = edits.match(/^STEPS = \{([^}]*)\}/m);
  const known = [...steps.matchAll(/"(\w+)":/g)].map(([, op]) => op);
  assert.deepEqual(Object.keys(TOOLS).filter((tool) => tool !== "look" && tool !== "box").sort(), known.sort());
});

test("a hint names a value where a number is predicted, and neither on a curve", () => {
  for (const tool of Object.keys(TOOLS)) {
    assert.doesNotMatch(hintOf(tool, { curve: false })[0], /class/);
    assert.doesNotMatch(hintOf(tool, { curve: true })[0], /class|value/);
  }
});
