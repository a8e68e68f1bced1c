import assert from "node:assert/strict";
import test from "node:test";

import { fileName, settings, wrap } from "../../assets/canvas/share.js";

test("a caption names data, method and values, but no view and nothing hidden", () => {
  const options = [{ value: "moons", label: "Moons" }];
  const controls = [
    { label: "Data", value: "moons", options, shown: true, group: "data", scale: "choice" },
    { label: "Merge prototypes (λ)", value: 0.003, options: [], shown: true, group: "method", scale: "log" },
    { label: "η", value: 1, options: [], shown: false, group: "method", scale: "log" },
    { label: "x axis", value: 0, options: [], shown: true, group: "view", scale: "choice" },
  ];
  assert.deepEqual(settings(controls), ["Data: Moons", "Merge prototypes (λ) 0.003"]);
});

test("lines break between words, and a word that is too long stands alone", () => {
  const length = (text) => text.length;
  assert.deepEqual(wrap(["aa", "bb", "ccccccc", "d"], 5, length), ["aa bb", "ccccccc", "d"]);
});

test("a file's name has no path in it", () => {
  assert.equal(fileName("../My table: a/b"), "my-table-a-b");
  assert.equal(fileName("///"), "figure");
});
