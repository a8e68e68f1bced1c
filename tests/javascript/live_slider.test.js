// The slider of assets/live_slider.js: one message at a time, the latest value wins.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";

const file = new URL("../../assets/live_slider.js", import.meta.url);
const script = "data:text/javascript," + encodeURIComponent(readFileSync(file, "utf-8"));
const { default: slider } = await import(script);

let nodes, sent, data;
const parentElement = { querySelector: (name) => nodes[name] };
const draw = (changes = {}) => {
  data = { ...data, ...changes };
  slider({ parentElement, data, setStateValue: (name, value) => sent.push(value) });
};
const drag = (value) => {
  nodes.input.value = String(value);
  nodes.input.oninput();
};

beforeEach(() => {
  nodes = { input: {}, output: {}, span: {} };
  sent = [];
  data = { label: "<b>x</b>", low: -3, high: 5, step: 0.1, value: 0.25, answered: 0 };
  draw();
});

test("it stands where the server says, also between two steps, and sends nothing", () => {
  assert.equal(nodes.input.value, 0.25);
  assert.equal(nodes.output.textContent, "0.25");
  assert.equal(nodes.span.textContent, "<b>x</b>");
  assert.deepEqual(sent, []);
});

test("while it moves, the next message waits for the answer and is the latest", () => {
  for (const value of [1, 2, 3]) drag(value);
  assert.deepEqual(sent, [{ number: 1, value: 1 }]);
  draw({ answered: 1, value: 1 });
  assert.deepEqual(sent.slice(1), [{ number: 2, value: 3 }]);
  assert.equal(nodes.input.value, "3", "the hand is not moved back");
  draw({ answered: 2, value: 3 });
  assert.equal(sent.length, 2);
});

test("what the server sets otherwise is shown, and the same value can be sent again", () => {
  drag(2);
  draw({ answered: 1, value: 2 });
  draw({ value: 0 });
  assert.equal(nodes.output.textContent, "0");
  drag(2);
  assert.deepEqual(sent.at(-1), { number: 2, value: 2 });
});
