import assert from "node:assert/strict";
import test from "node:test";

import { meaningOf } from "../../assets/canvas/controls.js";

test("a Greek letter is explained by the first clause of its help", () => {
  const help = "Larger: smaller weights, and a tighter certificate.";
  assert.equal(meaningOf({ label: "λ ridge", help }), "λ here: larger means smaller weights, and a tighter certificate");
  assert.equal(meaningOf({ label: "μ sparsity", help: "Shrinks weights. More." }), "μ here: shrinks weights");
  assert.equal(meaningOf({ label: "Rows", help: "How many." }), "");
  assert.equal(meaningOf({ label: "λ", help: "" }), "");
});
