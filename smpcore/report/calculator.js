// What a reader does with the model above. Every word of a table is set as text.
{
  const MOST_BARS = 12;
  const root = document.getElementById("calculator");
  const FOR = "var(--positive)";
  const AGAINST = "var(--negative)";

  function add(parent, name, text = "", attributes = {}) {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, one] of Object.entries(attributes)) made.setAttribute(key, one);
    parent.append(made);
    return made;
  }

  /** Four digits; whole numbers have all of theirs. */
  function brief(one) {
    return String(Math.abs(one) < 1e4 ? Number(one.toPrecision(4)) : Math.round(one));
  }

  /** Bars from a common zero: [name, length, words beside it]. */
  function bars(parent, lines, below = AGAINST) {
    const ends = [0, ...lines.map(([, length]) => length)];
    const low = Math.min(...ends);
    const width = Math.max(...ends) - low || 1;
    const table = add(parent, "table", "", { class: "bars" });
    for (const [name, length, words] of lines) {
      const row = add(table, "tr");
      add(row, "th", name, { scope: "row" });
      const track = add(add(row, "td"), "div", "", { class: "track" });
      const bar = add(track, "div", "", { class: "bar" });
      bar.style.marginLeft = `${(100 * (Math.min(0, length) - low)) / width}%`;
      bar.style.width = `${(100 * Math.abs(length)) / width}%`;
      bar.style.background = length > 0 ? FOR : below;
      add(track, "div", "", { class: "zero" }).style.left = `${(-100 * low) / width}%`;
      add(row, "td", words);
    }
  }

  /** A number: typed, or dragged over the training range. Empty: missing. */
  function numberField(parent, input, i, changed) {
    const { low, high } = input;
    const unit = input.unit ? ` (${input.unit})` : "";
    add(parent, "label", input.name + unit, { for: `input${i}` });
    const box = { id: `input${i}`, type: "number", step: "any", inputmode: "decimal" };
    if (CAN_MISS[i]) box.placeholder = "missing";
    const typed = add(parent, "input", "", box);
    const step = input.integer ? 1 : "any";
    const range = { type: "range", min: low, max: high, step };
    const name = `${input.name}: slider`;
    const slider = add(parent, "input", "", { ...range, "aria-label": name });
    const hint = add(parent, "small");
    const field = {
      read() {
        const isEmpty = typed.value === "" && !typed.validity.badInput;
        const one = isEmpty ? NaN : typed.valueAsNumber;
        let words = `training range ${brief(low)} to ${brief(high)}`;
        field.isOut = one < low || one > high;
        field.isWrong = isEmpty ? !CAN_MISS[i] : !(Math.abs(one) <= LARGEST);
        if (field.isWrong) words = "should be a number";
        if (field.isOut) words = `outside the ${words}`;
        hint.textContent = isEmpty && CAN_MISS[i] ? `missing; ${words}` : words;
        hint.classList.toggle("warning", field.isOut || field.isWrong);
        return one;
      },
      write(one) {
        // More digits would be lost in a 32-bit float.
        typed.value = one === null ? "" : Number(one.toPrecision(8));
        slider.value = one === null ? (low + high) / 2 : one;
      },
    };
    typed.addEventListener("input", () => {
      if (typed.value !== "") slider.value = typed.value;
      changed();
    });
    slider.addEventListener("input", () => {
      const one = Number(slider.value);
      const short = input.integer ? one : Number(brief(one));
      typed.value = Math.min(high, Math.max(low, short));
      changed();
    });
    return field;
  }

  function levelField(parent, input, i, changed) {
    add(parent, "label", input.name, { for: `input${i}` });
    const list = add(parent, "select", "", { id: `input${i}` });
    input.levels.forEach((level, k) => add(list, "option", level, { value: k }));
    const other = MISSING_LEVEL[i] < 0 ? "(missing or another)" : "(another)";
    if (CAN_MISS[i]) add(list, "option", other, { value: -1 });
    list.addEventListener("change", changed);
    return {
      read: () => Number(list.value),
      write: (one) => {
        list.value = one === null ? -1 : one;
      },
    };
  }

  function rowFields(parent, changed) {
    const fields = INPUTS.map((input, i) => {
      const group = add(parent, "div", "", { class: "field" });
      const make = input.levels.length ? levelField : numberField;
      return make(group, input, i, changed);
    });
    return {
      read: () => fields.map((field) => field.read()),
      write: (row) => fields.forEach((field, i) => field.write(row[i])),
      where: (is) => INPUTS.filter((_, i) => fields[i][is]).map((one) => one.name),
    };
  }

  const answer = add(root, "p", "", { class: "answer", role: "status" });
  const form = add(root, "form", "", { class: "inputs" });
  const details = add(root, "div", "", { class: "result" });
  form.addEventListener("submit", (event) => event.preventDefault());
  const picked = add(form, "p");
  add(picked, "label", "Start from ", { for: "start" });
  const start = add(picked, "select", "", { id: "start" });
  ROWS.forEach((row, k) => add(start, "option", row.name, { value: k }));
  const reset = add(picked, "button", "Reset", { type: "button" });
  const body = add(form, "div", "", { class: "fields" });
  const fields = rowFields(body, update);

  function begin() {
    fields.write(ROWS[Number(start.value)].values);
    update();
  }
  start.addEventListener("change", begin);
  reset.addEventListener("click", begin);

  function update() {
    const x = fields.read();
    details.replaceChildren();
    const wrong = fields.where("isWrong");
    if (wrong.length) {
      answer.textContent = `No prediction: ${wrong.join(", ")} should be a number.`;
      return;
    }
    const isClass = CLASSES.length > 0;
    const words = isClass ? label(predict(x)) : `${brief(value(x))}`;
    answer.textContent = `${isClass ? "Prediction" : TARGET}: ${words}`;
    warn(x, isClass);
    if (isClass) {
      add(details, "h3", "Scores");
      bars(details, scores(x).map((one, k) => [label(k), one, brief(one)]), FOR);
    }
    explain(x, isClass);
  }

  function warn(x, isClass) {
    const out = fields.where("isOut");
    if (out.length) {
      const words = `Outside the training range: ${out.join(", ")}. `;
      const more = "The model was not fitted on such rows.";
      add(details, "p", words + more, { class: "warning" });
    }
    if (isClass && !sure(x)) {
      let words = "Not sure: no class has a score.";
      if (NOT_SURE >= 0) {
        words = `Not sure: the lead of ${brief(margin(x))} is within the band of `;
        words += `${brief(NOT_SURE)}. Leave this case to a person or to another test.`;
      }
      add(details, "p", words, { class: "warning" });
    }
  }

  function explain(x, isClass) {
    const { total, parts, winner, runner } = leadOf(x);
    if (!Number.isFinite(total) || !parts.every(Number.isFinite)) return;
    let title = `What ${brief(total)} is the sum of`;
    if (isClass) title = `Why ${label(winner)} and not ${label(runner)}`;
    add(details, "h3", title);
    bars(details, linesOf(parts, total));
    const sum = isClass ? "the lead over the runner-up" : "the prediction";
    add(details, "small", `${RULE} The sum of all is ${sum}, ${brief(total)}.`);
  }

  function linesOf(parts, total) {
    const order = parts.map((_, k) => k).filter((k) => parts[k] !== 0);
    order.sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a]));
    const lines = order.slice(0, MOST_BARS).map((k) => [NAMES[k], parts[k]]);
    const rest = order.slice(MOST_BARS);
    const sum = (those) => those.reduce((all, k) => all + parts[k], 0);
    if (rest.length) lines.push([`${rest.length} smaller ones`, sum(rest)]);
    const constant = total - sum(order);
    // Less is the rounding of 32-bit floats.
    const least = 1e-6 * order.reduce((all, k) => all + Math.abs(parts[k]), 0);
    if (Math.abs(constant) > least) lines.push(["constant", constant]);
    return lines.map(([name, length]) => [name, length, brief(length)]);
  }

  root.hidden = false;
  begin();
}
