/** What the model of a picture answers, computed in a file (smpcore/live/answers.py) from an input. */

import { clamp, say } from "./elements.js";
import { nodeAt } from "./regions.js";

/** The largest score besides the winner's, or -1. */
const runnerUp = (scores, winner) =>
  scores.reduce((most, score, k) => (k !== winner && score > (scores[most] ?? -Infinity) ? k : most), -1);

/**
 * Scores of classes at a place, where prototypes are lines over the window.
 * @param {object} lines of a picture @param {{x: number, y: number}} place @param {number} count of classes
 */
export function scoresOfLines({ coef, owner, tie }, { x, y }, count) {
  const scores = new Array(count).fill(-Infinity);
  owner.forEach((k, j) => (scores[k] = Math.max(scores[k], coef[3 * j] * x + coef[3 * j + 1] * y + coef[3 * j + 2])));
  // The lowest class within `tie` of the largest score wins.
  const winner = scores.findIndex((score) => Math.max(...scores) - score <= tie);
  return { scores, winner, runner: runnerUp(scores, winner) };
}

/** Integers of generated code are plain arrays. */
const asWritten = (value) => (ArrayBuffer.isView(value) && !(value instanceof Float32Array) ? [...value] : value);

export class Answers {
  /**
   * @param {object} described inputs of places and rows, and columns
   * @param {((constants: object) => object)[]} sources make a model of its constants
   */
  constructor(described, sources) {
    Object.assign(this, described, { sources, models: new WeakMap() });
  }

  /** @returns {object} the functions that the model of a picture exports */
  modelOf({ program }) {
    if (!this.models.has(program)) this.models.set(program, this.made(program));
    return this.models.get(program);
  }

  made({ scores, winner, source, constants }) {
    if (scores) return { scores: () => [...scores], predict: () => winner };
    const written = Object.fromEntries(Object.entries(constants).map(([name, value]) => [name, asWritten(value)]));
    const { INPUTS: inputs, OWNER: owner = [0], LOWEST: lowest = -Infinity, PART: part } = written;
    const { value, scores: ofClasses = (x) => [value(x)], predict, rowScores, contributions } = this.sources[source](written);
    const of = (call) => (x) => call(inputs.map((i) => x[i]));
    return {
      scores: (x) => of(ofClasses)(x).map((score) => (score > lowest ? score : -Infinity)),
      predict: value ? () => 0 : of(predict),
      rowScores: of(rowScores), contributions: of(contributions), inputs, owner, part,
    };
  }

  /** The input behind a place of the window; on a map that of the nearest node. */
  inputAt(place, view) {
    const { nodes, origin, axes } = this;
    if (nodes) return this.rowOf(nodes, nodeAt(nodes.shape, place, view));
    return origin.map((value, i) => value + place.x * axes[i] + place.y * axes[origin.length + i]);
  }

  /** An input as greys from 0 to 255, where rows are pictures; else null. */
  pixelsOf(x) {
    if (!this.pixels) return null;
    const [low, high] = this.range;
    return Array.from(this.pixels, (i) => (i < 0 ? 0 : clamp(Math.round((255 * (x[i] - low)) / (high - low)), 0, 255)));
  }

  /** The input of a drawn row; null, if there is none (-1) or rows are not in the file. */
  inputOf(index) {
    return index < 0 ? null : this.rows && this.rowOf(this.rows, index);
  }

  rowOf(values, row) {
    return values.subarray(row * this.column.length, (row + 1) * this.column.length);
  }

  /** Of a place of the window, see `of`. */
  at(place, picture, view) {
    return this.of(picture, this.inputAt(place, view));
  }

  /** @returns {{scores: number[], winner: number, runner: number}} of an input: scores of classes, or the prediction */
  of(picture, x) {
    const model = this.modelOf(picture);
    const [scores, winner] = [model.scores(x), model.predict(x)];
    return { scores, winner, runner: runnerUp(scores, winner) };
  }

  /** The columns of an input, each with its value in words and what it adds, see `why`. */
  columnsOf(picture, x, features) {
    const parts = this.why(picture, x);
    return this.columns.map((name, c) => {
      const of = [...this.column.keys()].filter((i) => this.column[i] === c);
      const levels = of.filter((i) => x[i] !== 0).map((i) => `${features[i]} ${say(x[i])}`);
      return { name, value: of.length === 1 ? say(x[of[0]]) : levels.join(", ") || "none", part: parts?.[c] };
    });
  }

  /** What each column adds to the lead over the runner-up, or to the prediction, as `explain.contributions` says; null: not known. */
  why(picture, x) {
    const { columns, column } = this;
    const { reference } = picture.program;
    if (!reference) return null;
    const { scores, winner, runner } = this.of(picture, x);
    const lead = (of) => of[winner] - (of[runner] ?? 0);
    const { part, rowScores, owner, contributions, inputs } = this.modelOf(picture);
    if (part !== "input") return columns.map((_, c) => {
      const reset = x.map((value, i) => (column[i] === c ? reference[i] : value));
      return lead(scores) - lead(this.of(picture, reset).scores);
    });
    const rows = rowScores(x);
    const best = (k) => owner.reduce((most, of, row) => (of === k && !(rows[row] <= rows[most]) ? row : most), -1);
    const [here, there] = [x, reference].map(contributions);
    const parts = columns.map(() => 0);
    [[best(winner), 1], [best(runner), -1]].filter(([row]) => row >= 0).forEach(([row, sign]) =>
      inputs.forEach((feature, i) => (parts[column[feature]] += sign * (here[row][i] - there[row][i]))));
    return parts;
  }
}
