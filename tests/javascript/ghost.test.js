import assert from "node:assert/strict";
import test from "node:test";

import { Ghost, dashes, isAsked } from "../../assets/canvas/ghost.js";

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
  const ghost = new Ghost();
  ghost.follow(scene(0), null, ASKED);
  assert.equal(ghost.lines, null);
  ghost.follow(scene(0), ASKED, ANSWERED);
  assert.ok(ghost.lines.length);
  ghost.follow(scene(0), ANSWERED, ASKED);
  assert.equal(ghost.lines, null);
});

test("there is none in another window, nor where nothing has moved", () => {
  for (const [low, after] of [[-1, ANSWERED], [0, picture(ASKED.winner, [{}])]]) {
    const ghost = new Ghost();
    ghost.follow(scene(0), null, ASKED);
    ghost.follow(scene(low), ASKED, after);
    assert.equal(ghost.lines, null);
  }
});
