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
  /** @param {Element} root of the figure @param {(on: boolean) => void} onPress */
  constructor(root, onPress) {
    this.root = root;
    this.button = button("Present", "Present", () => onPress(!this.on), "M3 4h18v12H3zM12 16v4M8 20h8");
    this.set(false);
  }

  set(on) {
    this.on = on;
    this.button.setAttribute("aria-pressed", String(on));
    setText(this.button.lastElementChild, on ? "Leave" : "Present");
    this.button.setAttribute("aria-label", on ? "Leave" : "Present");
    this.button.title = on ? "Leave present mode (Esc)" : "Show figure, strip and four numbers on one screen, in large type";
    this.root.classList.toggle("present", on);
    document.documentElement.classList.toggle(PAGE, on);
  }

  /** Another page is not presented. */
  stop() {
    document.documentElement.classList.remove(PAGE);
  }
}
