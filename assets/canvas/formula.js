/** What the method minimises: terms with a colour each, and the marks that they move. */

import { el } from "./elements.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const SCRIPTS = { "_": "below", "^": "above" };
const COLOURS = 5; // of figure.css
const SHOWN_MS = 900; // that a term stays marked after its control has moved
/** Words for marks, for those who do not see the colour. */
const MARKS = { rows: "depends on the rows", prototypes: "moves the prototypes", weights: "moves the weights" };

/** The group after a script sign: what is in braces, or one sign. */
function group(text, at) {
  if (text[at] !== "{") return [[...text.slice(at)][0] ?? "", at + 1];
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    depth += (text[i] === "{") - (text[i] === "}");
    if (depth === 0) return [text.slice(at + 1, i), i + 1];
  }
  return [text.slice(at + 1), text.length];
}

/** A formula as tokens: letters, numbers and signs, each with what stands below and above it. */
export function tokens(formula) {
  const found = [];
  for (let i = 0; i < formula.length;) {
    const script = SCRIPTS[formula[i]];
    if (script && found.length) {
      const [inner, next] = group(formula, i + 1);
      found.at(-1)[script] = tokens(inner);
      i = next;
    } else if (formula[i] === " ") i += 1;
    else {
      const [text] = /^(?:log|max|tr|[0-9]+|.)/u.exec(formula.slice(i));
      const letter = text.length === 1 || /^[^a-z0-9]/u.test(text) ? "mi" : "mo"; // log stands apart
      const tag = /^[0-9]/.test(text) ? "mn" : /^\p{L}/u.test(text) ? letter : "mo";
      found.push({ tag, text });
      i += text.length;
    }
  }
  return found;
}

function node(tag, ...children) {
  const made = document.createElementNS(MATHML, tag);
  made.append(...children);
  return made;
}

function draw({ tag, text, below, above }) {
  const base = node(tag, text);
  if (tag === "mo") base.setAttribute("stretchy", "false");
  const row = (list) => node("mrow", ...list.map(draw));
  if (below && above) return node("msubsup", base, row(below), row(above));
  if (below) return node("msub", base, row(below));
  return above ? node("msup", base, row(above)) : base;
}

/** What LaTeX calls the signs of lessons; any other command stays as it is written. */
const SIGNS = {
  "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eta": "η", "kappa": "κ", "lambda": "λ", "mu": "μ", "sigma": "σ", "tau": "τ",
  "sum": "∑", "lVert": "‖", "rVert": "‖", "infty": "∞", "cdot": "·", "times": "×", "leq": "≤", "geq": "≥", ",": "",
};

/** A formula of a text, between its dollar signs. */
export const mathOf = (text) => node("math", ...tokens(text.replace(/\\([A-Za-z]+|,)/g, (whole, name) => SIGNS[name] ?? whole)).map(draw));

/** The formula below the figure. */
export class Formula {
  constructor(root, state, set) {
    Object.assign(this, { root, state, set });
    this.row = el("div", { class: "terms", role: "group", "aria-label": "What is minimised: the sum of these terms" });
    this.node = el("details", { class: "formula", open: window.innerWidth >= 640 }, el("summary", {}, "What is minimised"), this.row);
  }

  /** Terms of the method; the same ones stay as they are. */
  take(terms) {
    const key = JSON.stringify(terms);
    if (!terms || key === this.key) return;
    Object.assign(this, { key, terms });
    this.buttons = terms.map((term, i) => this.button(term, i));
    this.row.replaceChildren(...this.buttons.flatMap((made, i) => (i ? ["+", made] : [made])));
    this.mark(-1);
  }

  button({ formula, words, marks }, index) {
    const math = mathOf(formula);
    const name = { title: MARKS[marks], "aria-label": `${words}: ${MARKS[marks]}` };
    const [on, off] = [() => this.mark(index), () => this.mark(-1)];
    const pointed = { pointerenter: on, focus: on, pointerleave: off, blur: off };
    return el("button", { type: "button", class: `term term${index % COLOURS}`, ...name, ...pointed }, math, el("small", {}, words));
  }

  light(index) {
    this.buttons?.forEach((made, i) => made.classList.toggle("on", i === index));
  }

  /** Mark a term and what it moves; -1: none. */
  mark(index) {
    this.light(index);
    const marks = this.terms[index]?.marks ?? "";
    Object.assign(this.root.dataset, { term: marks, colour: marks && String(index % COLOURS) });
    if (this.state.lit !== marks) this.set({ lit: marks }, "view");
  }

  /** A control moves: its term is marked for a moment, the figure stays as it is. */
  touch(name) {
    this.light(this.terms?.findIndex(({ params }) => params.includes(name)));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.light(-1), SHOWN_MS);
  }
}
