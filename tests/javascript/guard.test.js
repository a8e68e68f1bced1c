import assert from "node:assert/strict";
import test from "node:test";

import { Guard } from "../../assets/canvas/guard.js";

/** As much of an element as is used here. */
const element = () => ({
  textContent: "", isConnected: false,
  setAttribute() {}, append() {},
  remove() { this.isConnected = false; },
  after(node) { this.next = node; node.isConnected = true; },
});

test("what fails says so in its place until it is drawn again, and is logged once", (t) => {
  globalThis.document = { createElement: element };
  const logged = t.mock.method(console, "error", () => {});
  const [guard, place] = [new Guard(), element()];
  const fail = () => { throw new Error("<b>no colour</b>"); };
  assert.equal(guard.draw("regions", place, fail), false);
  guard.draw("regions", place, fail);
  assert.equal(place.next.textContent, "This part could not be drawn (regions: <b>no colour</b>).");
  assert.ok(place.next.isConnected);
  assert.equal(logged.mock.callCount(), 1);
  assert.equal(guard.draw("regions", place, () => {}), true);
  assert.ok(!place.next.isConnected);
  guard.draw("regions", place, () => { throw "text alone"; });
  assert.match(place.next.textContent, /text alone/);
});
