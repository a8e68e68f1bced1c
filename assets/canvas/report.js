/** Everything that the figure says in words. */

import { scoresOfLines } from "./answers.js";
import { differences } from "./behind.js";
import { brief, el, keepChildren, newId, percent, say, setText, signed } from "./elements.js";
import { BANDS, DENSE, TINTS, UNKNOWN, classColour, css, markIcon, mix } from "./marks.js";
import { fourOf } from "./present.js";
import { casesOf } from "./prototypes.js";
import { SQUARES, nodeAt } from "./regions.js";
import { drawValue, paintRamp, predictionAt } from "./surface.js";
import { hintOf } from "./tools.js";

const SCROLLS = { tabindex: 0, role: "group", "aria-label": "Legend" };
/** Marks of the legend that come and go, in the order of `Report.key`. */
const KINDS = [{ target: true }, { star: true }, { star: true, off: true }, { way: true }, { sign: "arrow" }, { sign: "tie" },
  { way: true }, { sign: "dashed" }, { sign: "cross" }];
const MANY = 12; // classes: from here on the legend scrolls

/** A place by its coordinates; a map has none. */
const whereOf = ({ xlabel, ylabel, far }, x, y, curve) => (far ? "" : `${xlabel} ${say(x)}${curve ? "" : ` · ${ylabel} ${say(y)}`}`);

/** Where a row lies, and whether another answer is painted there. */
const under = (view, { x, y }, index, { hollow }, curve) =>
  [whereOf(view, x[index], y[index], curve), hollow[index] && "the background colour differs from the prediction"];

/** Why a row's or a node's prediction is in doubt; "" where it is not. */
const doubtOf = ({ doubts }, kind, i) => doubts?.words[doubts[kind][i]] ?? "";

/** The main read-outs in words. */
export const factsOf = ({ readouts }) => readouts.slice(0, 4).map(({ name, value }) => `${name} ${value}`);

/** Everything said in words: read-outs, what is under the pointer, legend, notices, the table twin. */
export class Report {
  /** @param {Element} canvas that it describes @param {() => void} onStop of a long fit */
  constructor(state, canvas, codes, lesson, onStop) {
    Object.assign(this, { state, canvas, codes, lesson });
    this.headline = el("p", { class: "headline" });
    this.four = el("dl", { class: "four", "aria-label": "Main metrics" });
    this.numbers = el("dl", { class: "numbers", "aria-label": "Metrics" });
    this.first = el("div");
    this.second = el("div");
    this.here = el("div", { class: "here" }, this.first, this.second);
    this.columns = el("div", { class: "columns", hidden: true });
    this.spoken = el("div", { class: "unseen", "aria-live": "polite" });
    this.legend = el("div", { class: "legend" });
    this.marks = el("div", { class: "entries" });
    this.kinds = KINDS.map(() => el("span", { class: "entry kind", hidden: true }));
    this.bandScale = el("span", { class: "bands" });
    this.hint = el("span", { class: "hint" });
    this.ramp = el("span", { class: "tones", hidden: true }, el("span"), el("span"), el("canvas", { width: 256, height: 1, "aria-hidden": "true" }), el("span"));
    this.legend.append(this.marks, this.hint, this.bandScale, this.ramp);
    this.note = el("p", { class: "note" });
    this.busy = el("p", { class: "busy" });
    this.notices = el("ul");
    this.news = el("div", { class: "news", "aria-live": "polite" }, this.notices, this.busy);
    this.work = el("span");
    this.bar = el("progress", { max: 1 });
    const stop = () => {
      this.stop.disabled = true; // until the next fit
      onStop();
    };
    this.stop = el("button", { type: "button", click: stop }, "Stop");
    this.job = el("div", { class: "job", role: "status", hidden: true }, this.work, this.bar, this.stop);
    this.table = el("div", { class: "tables" });
    this.twin = el("details", { class: "twin", id: newId(), toggle: () => this.tables() }, el("summary", {}, "Show as a table"), this.table);
  }

  setScene(scene) {
    const { theme } = this.state;
    const { points, parts, classes } = scene;
    const [shown, total] = scene.shown_of ?? [points.x.length, points.x.length];
    this.sampled = shown < total ? `${shown} of ${total} rows are drawn.` : "";
    const used = new Set(points.part);
    this.marks.classList.toggle("many", classes.length > MANY);
    const { target } = scene;
    const key = JSON.stringify([classes, parts, [...used].sort(), theme, target, points.x.length > DENSE]);
    if (key === this.drawn) return;
    this.drawn = key;
    const named = (name) => el("span", { class: "word", title: name }, name);
    const entry = (spec, text) => el("span", { class: "entry" }, markIcon(theme, spec), named(text));
    const entries = classes.map((name, k) => entry({ label: k }, name));
    const plain = target ? { draw: drawValue, tone: 128 } : { label: UNKNOWN };
    parts.forEach((name, part) => used.has(part) && entries.push(entry({ ...plain, part }, name)));
    if (target) entries.push(entry({ ...plain, thick: 3 }, "large error"));
    this.measure(target);
    this.kinds.forEach((kind, i) => kind.replaceChildren(markIcon(theme, KINDS[i]), el("span", { class: "word" })));
    // The others come with the first stars, and with the layer of assignments.
    this.marks.replaceChildren(...entries, this.kinds[0], this.kinds[4]);
    // What scrolls is reached with the keyboard too.
    if (classes.length > MANY) Object.entries(SCROLLS).forEach((pair) => this.marks.setAttribute(...pair));
    else Object.keys(SCROLLS).forEach((name) => this.marks.removeAttribute(name));
  }

  /** What colours and outlines say; of a regression with the range of its target. */
  measure(target) {
    const outline = "Fill: true value. The thicker the outline, the larger the error";
    const dense = this.state.scene.points.x.length > DENSE;
    const wrong = "Small: predicted rightly. Otherwise outline: true class, fill: predicted class";
    setText(this.hint, target ? outline : dense ? wrong : "Outline: true class. Fill: predicted class");
    this.ramp.hidden = !target;
    if (!target) return;
    const [name, low, canvas, high] = this.ramp.children;
    paintRamp(canvas);
    [[name, brief(target.name)], [low, say(target.low)], [high, say(target.high)]].forEach(([node, text]) => setText(node, text));
    this.ramp.title = `${target.name}, in its own units: training rows range from ${say(target.low)} to ${say(target.high)}; values beyond have the end colours`;
  }

  /** The marks of what prototypes are made of, where they are drawn, and the bands. */
  key(picture) {
    this.margins(picture);
    const { show } = this.state;
    const { marks, marks_label: label = "training row used in prototypes", mark_size: stars, mark_off: off, mark_start: start } =
      (show.arrows && picture.prototypes) || {};
    const words = [!stars && marks && label, stars && label, stars && off && "invented case far from all data", start && "path from its starting position",
      show.arrows && picture.lines && "prototype: its score rises along the arrow",
      show.assignments && picture.assignments && "row tied to its prototype; thin border: prototypes of one class",
      picture.codes && "on pointing at a row: line to each training row of its code, as wide as its weight",
      ...this.lesson.words];
    this.kinds.forEach((kind, i) => {
      if (words[i] && !kind.isConnected) this.marks.append(kind);
      kind.hidden = !words[i];
      const text = kind.lastElementChild;
      if (text) setText(text, words[i] || "");
      kind.title = words[i] || "";
    });
  }

  update(picture) {
    this.describe(picture);
    const found = new Map(picture.readouts.map((readout) => [readout.key, readout]));
    const shown = this.placesOf(picture.readouts);
    const four = fourOf(shown.map(({ key }) => key));
    this.fill(this.four, shown.filter(({ key }) => four.has(key)), found);
    this.fill(this.numbers, shown.filter(({ key }) => !four.has(key)), found);
    this.key(picture);
    this.remarks(picture);
    this.tables();
  }

  /** What the method does, in a sentence or two; the first one leads. */
  lead(words) {
    if (words === this.led) return; // it comes with every picture of a drag
    this.led = words;
    this.headline.hidden = !words; // in a lesson
    const [first, ...rest] = words.split(/(?<=\.) /u);
    this.headline.replaceChildren(el("b", {}, first), ` ${rest.join(" ")}`);
  }

  /** Read-outs in their places. */
  fill(list, shown, found) {
    const cells = keepChildren(list, shown.length, () => el("div", {}, el("dt"), el("dd"), el("small")));
    shown.forEach(({ key, name }, i) => {
      const { value = "–", detail = "", help = "" } = found.get(key) ?? {};
      const [term, number, small] = cells[i].children;
      setText(term, name);
      term.title = help;
      setText(number, String(value));
      number.title = String(value);
      setText(small, detail);
      small.title = detail;
    });
  }

  /** A read-out keeps its place, with a dash while there is nothing to say, so that none jumps. */
  placesOf(readouts) {
    const placed = `${this.state.scene.title} ${this.state.path?.param}`;
    if (placed !== this.placed) [this.placed, this.places] = [placed, []];
    this.places.push(...readouts.filter(({ key }) => !this.places.some((place) => place.key === key)));
    return this.places;
  }

  margins({ margin_max: most }) {
    const { theme, show, scene } = this.state;
    this.bandScale.hidden = !show.bands || Boolean(scene.target) || !most;
    if (this.bandScale.hidden) return;
    const tints = TINTS[theme.dark ? "dark" : "light"];
    const edges = [0, ...BANDS, 1].map((share) => say(share * most, 2));
    const boxes = keepChildren(this.bandScale, 5, () => el("span"));
    setText(boxes[0], `Lead over the runner-up, to ${edges[4]}; pale: hardly any`);
    const colour = classColour(0, theme);
    for (let band = 0; band < 4; band++) {
      setText(boxes[band + 1], edges[band]);
      boxes[band + 1].style.backgroundColor = css(mix(theme.back, colour, tints[band]));
    }
    this.bandScale.title = `Score of the winner minus score of the runner-up, shown for class ${scene.classes[0]}; not a probability`;
  }

  /** What the picture does not show: rows that are not drawn, and hollow ones. */
  remarks({ own_share: own, shares = [] }) {
    const { scene: { view: { note, alone, far }, target }, layingOut, list } = this.state;
    const what = target ? "Within 5 % of the range of the model's prediction" : "Shown as predicted";
    const parts = ["of training rows", "of rows placed later", "at the border (smallest tenth of lead)", "of wrong predictions"];
    const each = parts.map((of, i) => (shares[i] == null ? "" : `${percent(shares[i])} ${of}`)).filter(Boolean).join(", ");
    const hollow = `${what}: ${far ? `${each}, each left out of the map` : `${percent(own)} of the rows`}; the others are hollow.`;
    const blank = far?.every(Boolean) ? "No region can be shown rightly: look at the rows." : "";
    const about = list?.some(({ name }) => name === "v.kind") ? "" : note; // else it stands there
    const other = `For the whole model, see the prototypes${alone ? "" : " or choose another picture under View"}.`;
    setText(this.note, [layingOut?.words, blank, own < 1 ? hollow : "", this.sampled, own < 0.8 ? other : "", about].filter(Boolean).join(" "));
    this.note.title = this.note.textContent;
  }

  notify(notices, busy) {
    setText(this.busy, busy > 0
      ? `The server is busy: ${busy} ${busy === 1 ? "visitor is" : "visitors are"} fitting at the same time; updates are slower.`
      : "");
    const lines = (notices ?? []).map(({ level, text }) => `${level === "info" ? "" : `${level[0].toUpperCase()}${level.slice(1)}: `}${text}`);
    const rows = keepChildren(this.notices, lines.length, () => el("li"));
    lines.forEach((line, i) => {
      setText(rows[i], line);
      rows[i].className = notices[i].level;
    });
  }

  /** A fit that takes long: what is being done, how far it is, and a way to stop it. */
  progress(job) {
    this.job.hidden = !job;
    if (!job) return (this.stop.disabled = false);
    setText(this.work, `${job.text}, ${say(Math.round(job.seconds))} s`);
    this.bar.value = job.progress;
  }

  /** The figure in words, for those who do not see it. */
  describe(picture) {
    const [facts, kind] = [factsOf(picture), picture.canonical ? "" : picture.coarse ?? "Preview"];
    this.canvas.setAttribute("aria-label", [this.state.scene.alt, ...facts, kind].filter(Boolean).join(". "));
    if (picture.canonical) this.speak(facts.join(". "));
  }

  /** Say what is at a place: a star, a point, or the scores; without a place what the tool does. */
  read(place, index, star, speak) {
    const { shown, scene, tool, phone } = this.state;
    const hint = hintOf(tool, scene?.target);
    let lines = phone ? [hint[0].replace(/^(Point at|Click)/u, "Tap"), ""] : hint; // no keyboard there
    if (star >= 0) lines = this.starText(star, shown, scene);
    else if (place && shown) lines = index >= 0 ? this.pointText(index, shown, scene) : this.scoreText(place, shown, scene);
    setText(this.first, lines[0]);
    setText(this.second, lines[1]);
    this.here.title = lines.join("\n");
    this.here.classList.toggle("idle", !place);
    this.readInput(place, index);
    clearTimeout(this.timer);
    if (speak) this.speak(lines.join(" "));
  }

  /** In a file: a row's contributions, or the input behind a place, in a line. */
  readInput(place, index) {
    const { answers, scene, shown } = this.state;
    this.columns.hidden = !answers;
    if (!answers) return;
    this.input = place && shown && (answers.inputOf(index) ?? answers.inputAt(place, scene.view));
    let line = "";
    if (this.input && index >= 0) {
      const known = answers.columnsOf(shown, this.input, scene.features).filter(({ part }) => part);
      known.sort((a, b) => Math.abs(b.part) - Math.abs(a.part));
      const parts = known.map(({ name, value, part }) => `${brief(name)} ${signed(part)} (${value})`);
      line = parts.length ? `${this.partOf()}: ${parts.join(" · ")}` : "";
    } else if (this.input && !scene.image) {
      line = `Input: ${scene.features.map((name, i) => `${brief(name)} ${say(this.input[i])}`).join(" · ")}`;
    }
    setText(this.columns, line);
    this.columns.title = line;
  }

  /** What contributions add up to. */
  partOf() {
    const { answers, scene: { classes, target }, shown } = this.state;
    const { runner } = answers.of(shown, this.input);
    return target ? "Contributions to the prediction" : `Contributions to the lead over ${brief(classes[runner] ?? "")}`;
  }

  speak(text) {
    this.timer = setTimeout(() => setText(this.spoken, text), 300);
  }

  /** A line in place of what is under the pointer, until the pointer moves. */
  advise(line) {
    setText(this.first, line);
    setText(this.second, "");
  }

  pointText(index, picture, scene) {
    const { points, classes, parts, view, target } = scene;
    if (target) return this.valueText(index, picture, scene);
    const name = (k) => brief(classes[k] ?? "unknown");
    const predicted = picture.predicted[index];
    const right = predicted === points.label[index] ? "right" : "wrong";
    return [
      `Row ${points.number[index]}, ${parts[points.part[index]] ?? "drawn"} · true ${name(points.label[index])} · predicted ${name(predicted)} (${right})`,
      [doubtOf(picture, "rows", index), this.codes.text, ...under(view, points, index, picture)].filter(Boolean).join(" · "),
    ];
  }

  valueText(index, picture, { points, parts, view, target }) {
    const [value, answer] = [points.value[index], picture.predicted[index]];
    const off = answer === undefined ? "" : ` · predicted ${say(answer)} · error ${signed(answer - value)}`;
    return [
      `Row ${points.number[index]}, ${parts[points.part[index]] ?? "drawn"} · true ${brief(target.name)} ${say(value)}${off}`,
      under(view, points, index, picture, target.curve).filter(Boolean).join(" · "),
    ];
  }

  starText(j, { prototypes }, { classes, view }) {
    const { marks, mark_owner: owner, mark_weight: weight, mark_off: off, words } = prototypes;
    const does = words ? `${words[j]} the prediction` : `class ${brief(classes[owner[j]] ?? "")}`;
    const away = off?.[j] === 1;
    const reason = "Farther from every training row than 95 % of training rows are from their nearest neighbour";
    return [
      `Prototype ${j + 1}, invented case · ${does} · weight ${signed(weight[j])}${away ? " · far from all data" : ""}`,
      away ? reason : whereOf(view, marks[2 * j], marks[2 * j + 1]),
    ];
  }

  scoreText({ x, y }, picture, scene) {
    const { classes, view, target } = scene;
    const name = (k) => brief(classes[k] ?? "");
    const where = whereOf(view, x, y, target?.curve) || differences(scene, { x, y });
    const answer = this.state.answers?.at({ x, y }, picture, view) ?? (picture.lines && scoresOfLines(picture.lines, { x, y }, classes.length));
    if (target) return [`Predicted ${brief(target.name)} ${say(answer?.scores[0] ?? predictionAt({ x, y }, picture, view))}`, where];
    const node = nodeAt(picture.grid, { x, y }, view);
    const told = (line, k) => [picture.winner[node] === k && doubtOf(picture, "nodes", node), line].filter(Boolean).join(" · ");
    if (!answer) {
      const gap = SQUARES[picture.margin[node]] * picture.margin_max;
      const winner = picture.winner[node];
      return [`${name(winner)} wins · runner-up ${name(picture.runner[node])} · lead ${say(gap)}`, told(where, winner)];
    }
    const { scores, winner, runner } = answer;
    const known = [...scores.entries()].filter(([, score]) => score > -Infinity);
    const listed = classes.length > 6 ? known.sort((a, b) => b[1] - a[1]) : known;
    const second = runner >= 0 ? ` · runner-up ${name(runner)} · lead ${say(Math.max(scores[winner] - scores[runner], 0))}` : "";
    return [
      `${name(winner)} wins${second}${view.far ? "" : ` · at ${where}`}`,
      told([`Scores: ${listed.map(([k, score]) => `${name(k)} ${say(score)}`).join(" · ")}`, view.far && where].filter(Boolean).join(" · "), winner),
    ];
  }

  /** The figure's content as tables, made only while they are open. */
  tables() {
    const { scene, shown } = this.state;
    if (!this.twin.open) return;
    if (!shown) return this.table.replaceChildren();
    const { points, classes, parts } = scene;
    const drawn = scene.target ? this.errorRows() : classes.map((name, k) => [name, ...parts.map((_, part) => {
      const own = Array.from(points.label.keys()).filter((i) => points.label[i] === k && points.part[i] === part);
      const hits = own.filter((i) => shown.predicted[i] === k).length;
      return own.length ? `${hits} of ${own.length} right` : "–";
    })]);
    this.table.replaceChildren(
      this.grid("Points drawn", scene.target ? ["Part", "Rows", "Mean error", "Maximum error"] : ["Class", ...parts], drawn),
      this.grid("Metrics", ["Name", "Value", "Detail"], shown.readouts.map((r) => [r.name, String(r.value), r.detail ?? ""])),
      ...(shown.prototypes ? [this.prototypes(shown.prototypes)] : []),
      ...(shown.bars ? [this.bars(shown.bars)] : []),
      ...(this.input ? [this.inputTable()] : []),
      ...(this.codes.cases.length ? [this.grid(...this.codes.table)] : []));
  }

  /** The columns of what was pointed at last. */
  inputTable() {
    const { answers, shown, scene } = this.state;
    const columns = answers.columnsOf(shown, this.input, scene.features);
    const has = columns.every(({ part }) => part !== undefined);
    return this.grid("Input pointed at", ["Column", "Value", ...(has ? [this.partOf()] : [])],
      columns.map(({ name, value, part }) => [name, value, ...(has ? [signed(part)] : [])]));
  }

  /** Errors of the drawn rows, by part. */
  errorRows() {
    const { scene: { points, parts }, shown } = this.state;
    return parts.map((name, part) => {
      const own = Array.from(points.value.keys()).filter((i) => points.part[i] === part);
      const errors = own.map((i) => Math.abs(shown.predicted[i] - points.value[i]));
      const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
      return own.length ? [name, String(own.length), say(mean), say(Math.max(...errors))] : [name, "0", "–", "–"];
    });
  }

  bars({ title, names, values, note }) {
    const table = this.grid(title, ["Name", "Weight"], names.map((name, i) => [name, signed(values[i])]));
    table.caption.append(el("small", {}, ` (${note})`));
    return table;
  }

  prototypes({ weights, owner, count, bias, size, cases, mark_off: off, words, noun }) {
    const { classes, features } = this.state.scene;
    const d = weights?.shape[1] ?? 0;
    const rows = Array.from(owner, (k, j) => {
      const own = Array.from({ length: d }, (_, i) => [features?.[i] ?? i + 1, weights[j * d + i]]);
      const list = own.filter(([, w]) => w !== 0).map(([name, w]) => `${name} ${signed(w)}`);
      const made = weights ? list.join(", ") || "none" : String(size?.[j] ?? "–");
      const more = [off && (off[j] ? "yes" : "no"), cases && casesOf(cases, j).map(({ row, share }) => `row ${row} ${percent(share)}`).join(", ")];
      return [`${j + 1}`, words?.[j] ?? classes[k], String(count[j]), signed(bias[j]), made, ...more.filter(Boolean)];
    });
    const last = weights ? (noun ? "Values other than 0" : "Non-zero weights") : "Number of parts";
    const more = [off && "Far from all data", cases && "Cases with the largest weights"].filter(Boolean);
    return this.grid("Prototypes", ["Prototype", words ? "Effect" : "Class", "Merged", "Bias", last, ...more], rows);
  }

  grid(caption, heads, rows) {
    return el("table", {}, el("caption", {}, caption),
      el("thead", {}, el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text)))),
      el("tbody", {}, ...rows.map(([first, ...cells]) =>
        el("tr", {}, el("th", { scope: "row" }, first), ...cells.map((text) => el("td", {}, text))))));
  }
}
