import assert from "node:assert/strict";
import test from "node:test";

import { Place } from "../../assets/canvas/notebook.js";

test("a pinned row is one of the caller's table, from 0, and is told once", () => {
  const sent = [];
  const model = {
    selected: [],
    get: (name) => model[name],
    set: (name, value) => (model[name] = value),
    save_changes: () => sent.push(model.selected),
  };
  for (const number of [0, 40, 40, 1, 0]) Place.prototype.select.call({ model }, number);
  assert.deepEqual(sent, [[39], [0], []]);
});
