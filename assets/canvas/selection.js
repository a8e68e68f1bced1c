/** The rows that are selected: their classes, their means beside those of the others, their values. */

import { brief, button, el, say, setText } from "./elements.js";
import { isAsked } from "./lesson.js";

/** Selected rows in words: how many of each class and how many are wrong, or their mean target. */
export function summary({ points, classes, target }, picture, indices) {
  const count = `${indices.length} of ${points.row.length} rows selected`;
  const { label, value } = points;
  if (target) {
    const mean = indices.reduce((sum, i) => sum + value[i], 0) / indices.length;
    const all = value.reduce((sum, v) => sum + v, 0) / value.length;
    return `${count}: mean ${brief(target.name)} ${say(mean)}, of all ${say(all)}.`;
  }
  const counts = classes.map((name, k) => [name, indices.filter((i) => label[i] === k).length]).filter(([, n]) => n);
  const { predicted } = picture;
  const wrong = predicted.length && !isAsked(picture) ? `; ${indices.filter((i) => predicted[i] !== label[i]).length} predicted wrongly` : "";
  return `${count}: ${counts.map(([name, n]) => `${n} of class ${brief(name)}`).join(", ")}${wrong}.`;
}

export class Selection {
  /** @param {(...table: any[]) => Element} grid that makes a table @param {() => void} onClear */
  constructor(state, plot, grid, onClear) {
    Object.assign(this, { state, plot, grid });
    this.words = el("p", { role: "status" });
    this.tables = el("div", { class: "tables", tabindex: 0, role: "group", "aria-label": "Selected rows" });
    this.node = el("section", { class: "selection", hidden: true, "aria-label": "Selected rows" },
      el("div", {}, this.words, button("Clear", "Clear the selection", onClear)), this.tables);
  }

  update(picture) {
    const { scene, selected, selection } = this.state;
    const indices = Array.from(scene.points.row.keys()).filter((i) => selected.has(scene.points.row[i]));
    this.node.hidden = !indices.length;
    if (this.node.hidden) return setText(this.words, "");
    setText(this.words, summary(scene, picture, indices));
    if (this.drawn === selection && this.of === picture) return;
    [this.drawn, this.of] = [selection, picture];
    this.tables.replaceChildren(...(selection?.features.length ? [this.means(selection)] : []), this.rows(picture, indices));
  }

  means({ features, means }) {
    const say3 = (mean) => (mean === null ? "–" : say(mean));
    return this.grid("Means that differ most", ["Feature", "Selected", "Others"], features.map((name, i) => [name, ...means[i].map(say3)]));
  }

  /** A row a line; its button puts the crosshair on it. */
  rows({ predicted }, indices) {
    const { scene: { points, classes, target, parts }, selection } = this.state;
    const { features = [], values } = selection ?? {};
    const answer = (k) => (target ? say(k) : classes[k] ?? "–");
    const listed = indices.slice(0, values?.shape[0] ?? 0).map((i, at) => {
      const point = { x: points.x[i], y: points.y[i] };
      const find = button(String(points.number[i]), `Find row ${points.number[i]} in the figure`, () => this.plot.setCursor(point, true));
      find.addEventListener("focus", () => this.plot.ringPoint(i));
      find.addEventListener("pointerenter", () => this.plot.ringPoint(i));
      const answers = [(target ? points.value : points.label)[i], predicted[i]].map(answer);
      return [find, parts[points.part[i]], ...answers, ...features.map((_, j) => say(values[at * features.length + j]))];
    });
    const more = indices.length > listed.length ? `The first ${listed.length} selected rows` : "Selected rows";
    return this.grid(more, ["Row", "Part", "True", "Predicted", ...features], listed);
  }
}
