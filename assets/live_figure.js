/**
 * The place of the live figure. Streamlit sends a component's script with each of its
 * answers: the figure's own, canvas.js, comes once, in a component beside this one.
 */
export default function (call) {
  let stop = () => {};
  const begin = () => {
    if (call.parentElement.isConnected) stop = globalThis.spe(call);
  };
  if (globalThis.spe) begin();
  else addEventListener("spe", begin, { once: true });
  return () => stop();
}
