/** Present mode: figure, strip and four numbers on one screen, in large type. */

import { button, setText } from "./elements.js";

const PAGE = "spe-present"; // on the document: assets/style.css hides what is not the figure

/** What a class looks at while a control moves, besides the two accuracies or errors. */
const MOVING = ["n_prototypes", "n_nonzeros", "invented_cases", "n_features"];

/** The four read-outs that are shown: the first two, and what shrinks or grows. */
export function fourOf(keys) {
  const rest = keys.slice(2);
  const order = [...MOVING.filter((key) => rest.includes(key)), ...rest.filter((key) => !MOVING.includes(key))];
  return new Set([...keys.slice(0, 2), ...order.slice(0, 2)]);
}

/** The switch, and what it hides. The server keeps it in the link. */
export class Present {
  /** @param {() => void} onTurn type has another size @param {() => void} onPress by the visitor */
  constructor(root, onTurn, onPress) {
    Object.assign(this, { root, onTurn });
    this.button = button("Present", "Present", () => {
      this.set(!this.on);
      onPress();
    }, "M3 4h18v12H3zM12 16v4M8 20h8");
    this.set(false);
  }

  set(on) {
    this.on = on;
    const [label, title] = on ? ["Leave", "Leave present mode (Esc)"] : ["Present", "Show figure, strip and four numbers on one screen, in large type"];
    Object.assign(this.button, { ariaPressed: on, ariaLabel: label, title });
    setText(this.button.lastElementChild, label);
    this.root.classList.toggle("present", on);
    document.documentElement.classList.toggle(PAGE, on);
    this.onTurn();
  }

  /** Another page is not presented. */
  stop() {
    document.documentElement.classList.remove(PAGE);
  }
}
