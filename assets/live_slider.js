/**
 * A slider that sends its value while it moves: one message at a time, the latest value
 * wins. Streamlit's own slider sends it when the pointer lets go.
 *
 * data: { label, low, high, step, value, answered }, of which `answered` is the number of
 * the last message that the server has drawn. A message: { number, value }.
 */
const PATIENCE = 3000; // milliseconds after which a message counts as lost

export default function ({ parentElement, data, setStateValue }) {
  const input = parentElement.querySelector("input");
  const output = parentElement.querySelector("output");
  const own = (input.own ??= { number: data.answered, at: 0, moved: false });

  const show = (value) => {
    output.textContent = String(Number(value.toPrecision(4)));
  };
  const send = () => {
    const waits = own.number !== own.answered && performance.now() - own.at < PATIENCE;
    if (waits || !own.moved) return;
    own.moved = false;
    own.number += 1;
    own.at = performance.now();
    setStateValue("move", { number: own.number, value: Number(input.value) });
  };

  own.answered = data.answered;
  parentElement.querySelector("span").textContent = data.label;
  const { label: ariaLabel, low: min, high: max, step } = data;
  Object.assign(input, { ariaLabel, min, max, step });
  // While a later value is on its way, the hand is right.
  if (!own.moved && own.number === own.answered) {
    input.value = data.value;
    show(data.value); // which may lie between two steps
  }
  input.oninput = () => {
    own.moved = true;
    show(Number(input.value));
    send();
  };
  send();
}
