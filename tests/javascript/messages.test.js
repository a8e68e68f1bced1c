import assert from "node:assert/strict";
import test from "node:test";

import { Messenger } from "../../assets/canvas/messages.js";

/** Timers that a test sets off by hand. */
function clock(t) {
  const timers = new Map();
  const { setTimeout, clearTimeout, performance } = globalThis;
  let now = 0;
  let made = 0;
  globalThis.performance = { now: () => now };
  globalThis.setTimeout = (call, ms) => (timers.set(++made, { call, at: now + ms }), made);
  globalThis.clearTimeout = (id) => timers.delete(id);
  t.after(() => Object.assign(globalThis, { setTimeout, clearTimeout, performance }));
  return (ms) => {
    now += ms;
    for (const [id, { call, at }] of [...timers]) if (at <= now && timers.delete(id)) call();
  };
}

function messenger(t) {
  const wait = clock(t);
  const heard = { sent: [], stale: [], lost: 0 };
  const line = new Messenger(
    (message) => heard.sent.push(structuredClone(message)),
    (stale) => heard.stale.push(stale),
    () => (heard.lost += 1),
  );
  return { line, heard, wait };
}

const set = (values, dragging = true) => ({ kind: "set", values, dragging });

test("one message is in flight, and the latest value wins", (t) => {
  const { line, heard } = messenger(t);
  line.send(set({ mu: 1 }));
  line.send(set({ mu: 2 }));
  line.send(set({ mu: 3, k: 5 }, false));
  assert.equal(heard.sent.length, 1);
  line.answered(1);
  assert.deepEqual(heard.sent[1], { ...set({ mu: 3, k: 5 }, false), seq: 2 });
  line.answered(2);
  assert.equal(heard.sent.length, 2);
  assert.ok(!line.busy);
});

test("an old answer does not free the line", (t) => {
  const { line, heard } = messenger(t);
  line.send(set({ mu: 1 }));
  line.answered(1);
  line.send(set({ mu: 2 }));
  line.send(set({ mu: 3 }));
  line.answered(1);
  assert.equal(heard.sent.length, 2);
});

test("a visitor's message does not wait for knots", (t) => {
  const { line, heard } = messenger(t);
  line.send({ kind: "knots", want: 4 });
  assert.ok(!line.busy);
  line.send(set({ mu: 1 }));
  assert.deepEqual(heard.sent.map((message) => message.kind), ["knots", "set"]);
});

test("sprayed points add up, moves and sweeps keep the last", (t) => {
  const { line, heard } = messenger(t);
  const edit = (op, more) => ({ kind: "edit", op, dragging: true, ...more });
  line.send(set({ mu: 1 }));
  line.send(edit("spray", { places: [[0, 0]] }));
  line.send(edit("spray", { places: [[1, 1]] }));
  line.send(edit("move", { row: 3, to: [1, 2] }));
  line.send(edit("move", { row: 3, to: [4, 5] }));
  line.send(edit("move", { row: 4, to: [6, 7] }));
  for (const seq of [1, 2, 3, 4]) line.answered(seq);
  const [, spray, first, second] = heard.sent;
  assert.deepEqual(spray.places, [[0, 0], [1, 1]]);
  assert.deepEqual([first.row, first.to], [3, [4, 5]]);
  assert.deepEqual([second.row, second.to], [4, [6, 7]]);
});

test("without an answer values go again with what waits", (t) => {
  const { line, heard, wait } = messenger(t);
  line.send(set({ mu: 1, k: 2 }));
  wait(300);
  assert.deepEqual(heard.stale, [true]);
  line.send(set({ mu: 9 }));
  wait(10_000);
  assert.deepEqual(heard.sent[1].values, { mu: 9, k: 2 });
});

test("an edit keeps its number when it goes again, so that it counts once", (t) => {
  const { line, heard, wait } = messenger(t);
  line.send({ kind: "edit", op: "add", at: [0, 0] });
  assert.equal(line.waiting("add", 0), 1);
  wait(10_000);
  assert.deepEqual(heard.sent.map((message) => message.seq), [1, 1]);
  line.answered(1);
  assert.equal(line.waiting("add", 1), 0);
});

for (const kind of ["knots", "steps"]) test(`${kind} that do not come are said to be lost`, (t) => {
  const { line, heard, wait } = messenger(t);
  line.send({ kind, want: 4 });
  wait(3_000);
  assert.equal(heard.lost, 1);
  assert.equal(heard.sent.length, 1);
});

test("what was on its way when the page began anew goes again at once", (t) => {
  const { line, heard } = messenger(t);
  line.send(set({ mu: 1 }));
  line.send(set({ mu: 2 }, false));
  line.answered(0);
  assert.deepEqual(heard.sent[1], { ...set({ mu: 2 }, false), seq: 2 });
  line.answered(2);
  assert.ok(!line.busy);
  line.send({ kind: "knots", want: 4 });
  line.answered(0);
  assert.equal(heard.sent.length, 3);
});

const MESSAGES = {
  knots: { want: [4] },
  steps: { want: [4] },
  poll: {},
  set: { values: { mu: 1 }, dragging: false },
  edit: { op: "add", at: [0, 0] },
};
for (const [kind, more] of Object.entries(MESSAGES)) for (const seconds of [4, 12, 90, 700])
  test(`${seconds} s an answer: ${kind} come, though the server drops what a newer one overtakes`, (t) => {
    const wait = clock(t);
    const work = { seq: 0, left: Infinity, answers: 0 };
    const ask = () => line.send({ kind, ...more });
    const line = new Messenger(({ seq }) => Object.assign(work, { seq, left: 1000 * seconds }), () => {}, ask);
    ask();
    for (let tick = 0; tick < 100 * seconds; tick += 1) {
      wait(100);
      work.left -= 100;
      if (work.left > 0) continue;
      work.left = Infinity;
      work.answers += 1;
      line.answered(work.seq);
      if (!line.flight) ask();
    }
    // In ten times as long; what was given in vain at first took no longer than one does.
    assert.ok(work.answers >= 7, `${work.answers} answers`);
  });

test("a page that begins anew loses knots, which are asked for at once and not again", (t) => {
  const { line, heard, wait } = messenger(t);
  line.send({ kind: "knots", want: 4 });
  line.answered(0);
  assert.equal(heard.lost, 1);
  wait(60_000);
  assert.equal(heard.lost, 1);
});
