/** A lesson in a file (pages/ui/lesson_page.py): its steps beside the figure; answers are checked here. */

import { Course } from "./course.js";
import { button, el, say, setText } from "./elements.js";
import { mathOf } from "./formula.js";
import { nearestOf } from "./lesson.js";

const FORMULA = /(?<!\$)\$(?![\s\d])([^$`[\]!\n]{1,200}(?<!\s))\$(?![\d$])/;

/** Paragraphs of a lesson's text: formulas are set, all else is text. */
const paragraphs = (text, name = "p") =>
  text.split(/\n\s*\n/).map((part) => el(name, {}, ...part.split(FORMULA).map((one, i) => (i % 2 ? mathOf(one) : one))));

/** Is an answer right, by what the step says of its question? */
export function isRight({ choices, point, right, within }, answer) {
  if (answer === null || answer === undefined) return false;
  if (choices) return right.includes(answer);
  if (point) return right.some(([x, y]) => Math.hypot(x - answer[0], y - answer[1]) <= within);
  return Math.abs(answer - right) <= within + 1e-9;
}

/** Steps that count, and how many of them are right or reached. */
export function scoreOf(steps, { answers, reached }) {
  const counted = [...steps.keys()].filter((i) => steps[i].question || steps[i].has_task);
  const right = counted.filter((i) => (steps[i].question ? isRight(steps[i].question, answers[i]) : reached[i]));
  const open = counted.filter((i) => (steps[i].question ? answers[i] === undefined : !reached[i]));
  return { right: right.length, of: counted.length, open: open.length };
}

/** What was kept, as far as it can be of these steps. */
export function restored(steps, kept) {
  const state = { at: 0, answers: {}, reached: {} };
  if (!kept || typeof kept !== "object") return state;
  for (const [i, { question }] of steps.entries()) {
    const answer = kept.answers?.[i];
    const can = question?.point ? Array.isArray(answer) && answer.length === 2 && answer.every(Number.isFinite) : Number.isFinite(answer);
    if (question && can && (!question.choices || question.choices[answer] !== undefined)) state.answers[i] = answer;
    if (kept.reached?.[i] === true) state.reached[i] = true;
  }
  // Nobody goes past a question that is open.
  const open = steps.findIndex(({ question }, i) => question && state.answers[i] === undefined);
  const last = open < 0 ? steps.length - 1 : open;
  if (Number.isInteger(kept.at)) state.at = Math.min(Math.max(kept.at, 0), last);
  return state;
}

export class LessonPage {
  /**
   * @param {Element} place @param {{lesson: object, figures: object[]}} payload
   * @param {(host: Element, figure: object, on: object) => {stop: () => void}} draw a figure
   */
  constructor(place, { lesson, figures }, draw) {
    Object.assign(this, { ...lesson, figures, draw, course: new Course(lesson.key) });
    this.state = restored(this.steps, this.course.load());
    this.place = el("div");
    this.news = el("p", { role: "status" });
    this.card = el("section", { class: "card", "aria-label": "Lesson" });
    place.className = "lesson";
    place.append(this.card, this.place);
    this.show();
  }

  get step() {
    return this.steps[this.state.at];
  }

  get isOpen() {
    return Boolean(this.step.question) && this.state.answers[this.state.at] === undefined;
  }

  save() {
    const { right, of, open } = scoreOf(this.steps, this.state);
    const done = of ? open === 0 : this.state.at === this.steps.length - 1;
    this.course.save(this.state, of ? right / of : 1, done);
    return of ? `${right} of ${of} right${open ? `, ${open} open` : ""}.` : "";
  }

  go(at) {
    this.state.at = at;
    this.show();
  }

  /** The step as it stands, with its figure. */
  show() {
    const { step, isOpen, state: { at, answers } } = this;
    this.mark = null;
    setText(this.news, "");
    this.score = el("span", {}, this.save());
    const asks = step.question && (isOpen ? this.form() : this.reveal(answers[at]));
    this.card.replaceChildren(this.way(), el("h2", { tabindex: -1 }, step.title), ...paragraphs(isOpen || !step.question ? step.text : step.answered),
      ...(step.asked ? paragraphs(step.asked, "strong") : []), ...(asks ?? []), this.news, ...this.notes());
    this.drawn?.stop();
    const host = el("div");
    this.place.replaceChildren(host);
    const point = step.question?.point;
    this.drawn = this.draw(host, this.figures[isOpen ? step.before : step.after], {
      mark: point && { open: isOpen, at: isOpen ? null : answers[at], found: isOpen ? [] : step.question.right },
      onMark: (place) => this.marked(place),
      onPicture: ({ reached }) => reached && this.reach(),
    });
    if (step.has_task && this.state.reached[at]) setText(this.news, "Done.");
  }

  way() {
    const { state: { at }, steps } = this;
    const act = (text, to, off) => {
      const made = button(text, text, () => (this.go(to), this.card.querySelector("h2").focus()));
      made.disabled = off;
      return made;
    };
    return el("div", { class: "way" }, el("span", {}, `Step ${at + 1} of ${steps.length}`),
      act("Back", at - 1, at === 0), act("Next", at + 1, at === steps.length - 1 || this.isOpen));
  }

  /** What is not here, the way to the app, and the score. */
  notes() {
    const { isOpen, step: { note, app, asked, has_task: counts, question } } = this;
    const words = isOpen ? ["Numbers, strip and test rows are hidden until the answer is shown."] : [note];
    if (asked && !question && !counts) words.push("This task can be done in the app only; it does not count here.");
    const link = /^https?:/.test(app) ? el("a", { href: app }, "This step in the app") : el("span", {}, "In the app: ", el("code", {}, app), " behind its address.");
    const again = button("Start again", "Start again: forget all answers", () => {
      Object.assign(this.state, { answers: {}, reached: {} });
      this.go(0);
    });
    return [el("small", {}, `${words.join(" ")} `, app && !isOpen ? link : ""), el("div", { class: "way" }, this.score, again)];
  }

  form() {
    const { question } = this.step;
    const send = el("button", {}, "Answer");
    const field = question.choices
      ? el("fieldset", {}, el("legend", {}, "Your prediction"), ...question.choices.map((text, i) =>
          el("label", {}, el("input", { type: "radio", name: "answer", value: i }), text)))
      : !question.point && el("label", {}, `Your prediction: ${question.label.toLowerCase()} `, el("input", { name: "answer", inputmode: "decimal", autocomplete: "off" }));
    if (question.point) setText(this.news, "Click into the figure, or move its crosshair with the arrow keys and press Enter; then answer.");
    const form = el("form", { submit: (event) => (event.preventDefault(), this.answer(form.elements.answer?.value)) }, field || "", send);
    return [form];
  }

  marked({ x, y }) {
    this.mark = [x, y];
    setText(this.news, `Your mark: (${say(x)}, ${say(y)}). It can be moved until you answer.`);
  }

  /** Take what was sent, if it can be an answer. */
  answer(text) {
    const { question } = this.step;
    if (question.point) return this.mark && this.take(this.mark);
    const value = Number(text ? text.replace(",", ".") : NaN);
    const { whole, least, most, wanted } = question;
    if (question.choices ? question.choices[value] === undefined : !(value >= least && value <= most) || (whole && value % 1))
      return setText(this.news, wanted ?? "Choose one of the answers.");
    this.take(value);
  }

  take(value) {
    this.state.answers[this.state.at] = value;
    this.show();
    this.card.querySelector(".verdict").focus();
  }

  reach() {
    if (this.state.reached[this.state.at] || !this.step.has_task) return;
    this.state.reached[this.state.at] = true;
    setText(this.news, "Done.");
    setText(this.score, this.save());
  }

  /** What was answered, what is right, and the read-outs before and after. */
  reveal(answer) {
    const { question } = this.step;
    const good = isRight(question, answer);
    const yours = question.choices?.[answer] ?? (question.point ? "" : say(answer));
    let words = `Measured: ${question.measured} (${good ? "as predicted" : `your prediction: ${yours}`}).`;
    if (question.point) {
      const near = question.right[nearestOf(answer, question.right)];
      const far = near ? `Your mark is ${say(Math.hypot(near[0] - answer[0], near[1] - answer[1]), 2)} away` : "No prototype has a place in this figure";
      words = `${far}; within ${say(question.within)} is right.`;
    }
    const rows = question.readouts.map(([label, value, change]) => el("div", {}, el("dt", {}, label), el("dd", {}, value, el("small", {}, ` ${change}`))));
    return [el("p", { class: `verdict ${good ? "good" : ""}`, tabindex: -1 }, words), ...paragraphs(question.reveal), el("dl", {}, ...rows)];
  }
}
