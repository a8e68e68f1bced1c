import assert from "node:assert/strict";
import test from "node:test";

import { Course } from "../../assets/canvas/course.js";
import { isRight, restored, scoreOf } from "../../assets/canvas/lesson_page.js";

const NUMBER = { right: 5, within: 1 };
const CHOICES = { choices: ["a", "b"], right: [1], within: 0 };
const POINT = { point: true, right: [[0, 0], [3, 4]], within: 1 };
const STEPS = [{ question: NUMBER }, {}, { question: CHOICES }, { has_task: true }];

test("an answer is right by the distance, the choice or the place", () => {
  assert.deepEqual([3.9, 4, 6, 6.1, null, undefined].map((answer) => isRight(NUMBER, answer)), [false, true, true, false, false, false]);
  assert.deepEqual([0, 1].map((answer) => isRight(CHOICES, answer)), [false, true]);
  assert.deepEqual([[0, 1], [3, 3.5], [1, 1]].map((answer) => isRight(POINT, answer)), [true, true, false]);
  assert.equal(isRight({ ...POINT, right: [] }, [0, 0]), false);
});

test("texts count for nothing, questions and tasks for one each", () => {
  assert.deepEqual(scoreOf(STEPS, { answers: {}, reached: {} }), { right: 0, of: 3, open: 3 });
  assert.deepEqual(scoreOf(STEPS, { answers: { 0: 5, 2: 0 }, reached: { 3: true } }), { right: 2, of: 3, open: 0 });
});

test("what was kept is taken as far as it can be, and nobody passes an open question", () => {
  const none = { at: 0, answers: {}, reached: {} };
  for (const kept of [null, 5, "x", [], { at: 3 }, { answers: { 0: "5", 2: 7, 9: 1 }, reached: { 3: 1 } }]) assert.deepEqual(restored(STEPS, kept), none);
  assert.deepEqual(restored(STEPS, { at: 3, answers: { 0: 4 } }), { at: 2, answers: { 0: 4 }, reached: {} });
  assert.equal(restored(STEPS, { at: 99, answers: { 0: 4, 2: 1 } }).at, 3);
  assert.deepEqual(restored([{ question: POINT }], { answers: { 0: [1, 2] } }).answers, { 0: [1, 2] });
  assert.deepEqual(restored([{ question: POINT }], { answers: { 0: [1, "2"] } }).answers, {});
});

test("a platform is found around the window, around its opener, or not at all", () => {
  const calls = [];
  const API = new Proxy({}, { get: (_, name) => (...args) => (calls.push([name, ...args]), name === "LMSInitialize" ? "true" : "not attempted") });
  const alone = (more = {}) => {
    const made = { addEventListener() {}, opener: null, ...more };
    made.parent ??= made;
    return made;
  };
  const opened = alone({ parent: alone({ opener: alone({ parent: alone({ API }) }) }) });
  new Course("key", opened).save({ at: 1 }, 0.5, false);
  assert.deepEqual(calls[0], ["LMSInitialize", ""]);
  assert.deepEqual(calls.find(([, name]) => name === "cmi.core.score.raw"), ["LMSSetValue", "cmi.core.score.raw", "50"]);
  assert.deepEqual(calls.at(-1), ["LMSCommit", ""]);
  const foreign = alone({ parent: new Proxy({}, { get: () => assert.fail("a window of another site") }) });
  for (const from of [alone(), foreign]) assert.equal(new Course("key", from).load(), null);
});
