import assert from "node:assert/strict";
import test from "node:test";

import { LessonLayer, dashes, isAsked, nearestOf } from "../../assets/canvas/lesson.js";
import { SvgPen } from "../../assets/canvas/svg.js";

const scene = (low) => ({ view: { x: [low, 1], y: [0, 1], xlabel: "a", ylabel: "b" } });
const picture = (winner, readouts) => ({ winner, margin: [9, 9, 9, 9], grid: [2, 2], readouts });
const ASKED = picture([0, 1, 0, 1], []);
const ANSWERED = picture([0, 0, 1, 1], [{ name: "Accuracy" }]);

test("every other piece of a border is kept, along its own direction", () => {
  const across = Array.from({ length: 8 }, (_, i) => [i, 5, i + 1, 5]).flat();
  const kept = dashes(across, 2);
  assert.deepEqual(kept.filter((_, i) => i % 4 === 0), [0, 1, 4, 5]);
  assert.deepEqual(dashes([5, 0, 5, 1, 5, 2, 5, 3], 2), [5, 0, 5, 1]);
});

test("the border before an answer stays until it is cleared or asked again", () => {
  assert.ok(isAsked(ASKED) && !isAsked(ANSWERED) && !isAsked(undefined));
  const layer = new LessonLayer();
  layer.follow(scene(0), null, ASKED);
  assert.equal(layer.lines, null);
  layer.follow(scene(0), ASKED, ANSWERED);
  assert.ok(layer.lines.length && layer.words[0]);
  layer.follow(scene(0), ANSWERED, ASKED);
  assert.equal(layer.lines, null);
});

test("there is none in another window, nor where nothing has moved", () => {
  for (const [low, after] of [[-1, ANSWERED], [0, picture(ASKED.winner, [{}])]]) {
    const layer = new LessonLayer();
    layer.follow(scene(0), null, ASKED);
    layer.follow(scene(low), ASKED, after);
    assert.equal(layer.lines, null);
  }
});

test("the nearest of several places, or none", () => {
  assert.equal(nearestOf([0, 0], [[3, 0], [1, 1], [0, -2]]), 1);
  assert.equal(nearestOf([0, 0], []), -1);
});

test("a mark is drawn where it was made, with a line to where it was", () => {
  const plot = { px: (x) => 10 * x, py: (y) => 10 * y };
  const theme = { back: [0, 0, 0], text: [255, 255, 255] };
  const layer = new LessonLayer();
  layer.follow(scene(0), null, ANSWERED, { open: true, at: null, found: [] });
  const empty = new SvgPen();
  layer.paint(empty, theme, plot);
  assert.ok(layer.mark.open && empty.content() === "");
  layer.follow(scene(0), null, ANSWERED, { open: false, at: [2, 3], found: [[4, 3]] });
  const pen = new SvgPen();
  layer.paint(pen, theme, plot);
  assert.ok(pen.content().includes("M12 22L28 38") && pen.content().includes("M20 30L40 30"));
  layer.follow(scene(0), null, ANSWERED);
  assert.equal(layer.mark, null);
});
