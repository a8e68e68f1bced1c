/**
 * One channel of a series, to be drawn: a drag sets the values that it passes, the arrow
 * keys move a cursor and the value under it. One message at a time, the latest wins.
 *
 * data: { label, value, low, high, answered }, of which `answered` is the number of the
 * last message that the server has drawn. A message: { number, value }.
 */
const PATIENCE = 3000; // milliseconds after which a message counts as lost
const WIDTH = 600, HEIGHT = 160;

/** Values after a drag from one place to another, those between on a line. */
export function drawn(values, from, to) {
  const after = [...values];
  const [first, last] = from.time <= to.time ? [from, to] : [to, from];
  for (let t = first.time; t <= last.time; t++) {
    const share = first.time === last.time ? 1 : (t - first.time) / (last.time - first.time);
    after[t] = first.time === last.time ? to.value : first.value + share * (last.value - first.value);
  }
  return after;
}

export default function ({ parentElement, data, setStateValue }) {
  const svg = parentElement.querySelector("svg");
  const output = parentElement.querySelector("output");
  const own = (svg.own ??= { number: data.answered, at: 0, moved: false, cursor: 0 });
  const { low, high } = data;
  const last = data.value.length - 1;
  const x = (time) => (last ? (time / last) * WIDTH : WIDTH / 2);
  const y = (value) => HEIGHT - ((value - low) / (high - low)) * HEIGHT;

  const show = () => {
    svg.querySelector("polyline").setAttribute(
      "points", own.values.map((value, time) => `${x(time)},${y(value)}`).join(" "));
    // A line of no length with round ends: a dot that is not stretched with the pad.
    svg.querySelector("path").setAttribute(
      "d", `M${x(own.cursor)} ${y(own.values[own.cursor])}h0`);
    output.textContent = `time ${own.cursor + 1}: ${Number(own.values[own.cursor].toPrecision(3))}`;
  };
  const send = () => {
    const waits = own.number !== own.answered && performance.now() - own.at < PATIENCE;
    if (waits || !own.moved) return;
    own.moved = false;
    own.number += 1;
    own.at = performance.now();
    setStateValue("move", { number: own.number, value: own.values });
  };
  const set = (from, to) => {
    own.values = drawn(own.values, from, to);
    own.cursor = to.time;
    own.moved = true;
    show();
    send();
  };
  const place = (event) => {
    const box = svg.getBoundingClientRect();
    const within = (share) => Math.min(Math.max(share, 0), 1);
    return {
      time: Math.round(within((event.clientX - box.left) / box.width) * last),
      value: high - within((event.clientY - box.top) / box.height) * (high - low),
    };
  };

  own.answered = data.answered;
  parentElement.querySelector("span").textContent = data.label;
  svg.setAttribute("aria-label", `${data.label}: arrow keys move along the series and change its value`);
  // While a later drawing is on its way, the hand is right.
  if (!own.values || own.values.length !== data.value.length || (!own.moved && own.number === own.answered)) {
    own.values = [...data.value];
    own.cursor = Math.min(own.cursor, last);
  }
  show();
  svg.onpointerdown = (event) => {
    svg.setPointerCapture(event.pointerId);
    own.from = place(event);
    set(own.from, own.from);
  };
  svg.onpointermove = (event) => {
    if (!own.from) return;
    const to = place(event);
    set(own.from, to);
    own.from = to;
  };
  svg.onpointerup = svg.onpointercancel = () => { own.from = null; };
  svg.onkeydown = (event) => {
    const step = ((high - low) / 50) * (event.shiftKey ? 5 : 1);
    const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const up = { ArrowDown: -step, ArrowUp: step }[event.key];
    if (along) own.cursor = Math.min(Math.max(own.cursor + along, 0), last);
    if (up) {
      const value = Math.min(Math.max(own.values[own.cursor] + up, low), high);
      const to = { time: own.cursor, value };
      set(to, to);
    }
    if (along || up) event.preventDefault();
    show();
  };
  send();
}
