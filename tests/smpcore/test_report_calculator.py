"""The script of a report: the very module of the JavaScript target, and its terms."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from smpcore import METHODS, codegen, compile_model, contributions, prepare, report
from smpcore.codegen import model_id
from smpcore.codegen.lower import stored_anchors
from smpcore.codegen.targets.javascript.source import emit_javascript
from smpcore.datasets import Dataset
from smpcore.report import Calculator, Page, typical_row
from smpcore.similarity import Similarity
from tests.smpcore.codegen.models import mixed_table, random_linear
from tests.smpcore.codegen.toolchain import run

#: Reads rows, writes what the page would show of each.
_ASK = """
const { readFileSync } = await import("node:fs");
const rows = JSON.parse(readFileSync("rows.json", "utf8"));
const told = rows.map((row) => {
  const x = row.map((cell) => (cell === null ? NaN : cell));
  const found = CLASSES.length ? [...scores(x), predict(x)] : [value(x)];
  return { found, lead: leadOf(x), names: NAMES };
});
console.log(JSON.stringify(told));
"""


@cache
def fitted(method, task="classification"):
    """A model of a table of numbers and categories, with missing values."""
    dataset, _ = mixed_table()
    frame, roles = dataset.frame, dataset.roles
    y = np.where(frame["size, cm"] > 170, "tall", "small")
    if task == "regression":
        y, roles = frame["year"] + 0.5, {**roles, "year": "ignore"}
    dataset = Dataset("mixed", frame.assign(y=y), roles, task)
    dataset = dataset.with_roles(kinds={"stage": "category", "empty": "category"})
    preparation = prepare(dataset, np.arange(40))
    X = preparation.transform(dataset.frame.iloc[:40])
    X = pd.DataFrame(X, columns=preparation.feature_names)
    row = METHODS[method]
    estimator = row.estimator(row.defaults(task), task)
    return dataset, preparation, estimator.fit(X, dataset.y[:40]).model_


FITTED = [(key, task) for key in METHODS for task in METHODS[key].estimators]


def page_of(model, **parts):
    return Page("t", {}, model.prototypes, False, **parts)


def script_of(text):
    """The one script of a report, which its policy allows, and nothing else."""
    (script,) = re.findall(r'<script type="module">(.*?)</script>', text, re.S)
    assert text.count("<script") == text.count("</script") == 1
    (policy,) = re.findall(r'Policy" content="(.*?)"', text)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["default-src"] == parts["base-uri"] == parts["form-action"] == "'none'"
    assert parts["script-src"] == f"'sha256-{digest}'"
    assert script.isascii()
    return script


def answers(tool, folder, text, rows):
    """What the script of a report computes of rows of its inputs, without a page."""
    script = script_of(text)
    head, found, _ = script.partition("// What a reader does with the model above.")
    assert found
    (folder / "page.mjs").write_text(f"{head}{_ASK}}}\n")
    values = [[None if np.isnan(v) else float(v) for v in row] for row in rows]
    (folder / "rows.json").write_text(json.dumps(values))
    return json.loads(run(tool("node"), "page.mjs", cwd=folder))


@pytest.mark.parametrize(("method", "task"), FITTED)
def test_the_script_is_the_exported_module_and_answers_all_test_vectors(
    tool, tmp_path, method, task
):
    """Its terms are those of the library, but for those of what is not used."""
    dataset, preparation, model = fitted(method, task)
    calculator = Calculator(preparation, target=dataset.target)
    text = report(model, page_of(model, calculator=calculator))
    compiled = compile_model(model, preparation)
    module = emit_javascript(compiled, number=model_id(compiled))
    assert script_of(text).startswith(f"\n{module}\n{{\n")
    vectors = codegen.test_vectors(compiled)
    X = preparation.transform(dataset.frame.iloc[40:])
    rows = np.vstack([vectors.rows, compiled.rows(dataset.frame.iloc[40:])])
    lines = answers(tool, tmp_path, text, rows)
    computed = np.array([line["found"] for line in lines[: len(vectors.rows)]])
    wanted = vectors.scores
    if task == "classification":
        wanted = np.column_stack([vectors.scores, vectors.winners])
    finite = np.isfinite(wanted).all(axis=1)
    assert finite.sum() >= 5
    np.testing.assert_array_equal(computed[finite], wanted[finite])
    places = [entry.index for entry in compiled.inputs]
    n_shown = 0
    for x, line in zip(X, lines[len(vectors.rows) :], strict=True):
        terms, lead = contributions(model, x, preparation=preparation), line["lead"]
        assert lead.get("winner", 0) == terms.winner
        assert lead.get("runner", 0) == terms.runner_up
        if terms.of == "case":
            places = stored_anchors(model, preparation)
        elif terms.of == "prototype":
            places = np.arange(model.n_prototypes)
        room = 1e-4 * (1 + np.abs(terms.parts).sum())
        assert lead["total"] == pytest.approx(terms.lead, abs=room)
        np.testing.assert_allclose(lead["parts"], terms.parts[places], atol=room)
        assert np.abs(np.delete(terms.parts, places)).sum() <= room
        assert len(line["names"]) == len(lead["parts"])
        n_shown += np.count_nonzero(np.abs(lead["parts"]) > 10 * room)
    assert n_shown >= len(X)


def test_rows_to_begin_with_are_only_those_that_are_given(tool, tmp_path):
    dataset, preparation, model = fitted("smp")
    training = dataset.frame.iloc[:40]
    row = typical_row(training, preparation)
    names = ["sex", "stage", "empty"]
    common = [training[n].mode().iloc[0] if n != "empty" else None for n in names]
    assert row[names].iloc[0].tolist() == common
    assert row["size, cm"].item() == training["size, cm"].median()

    def start(**parts):
        calculator = Calculator(preparation, **parts)
        text = report(model, page_of(model, calculator=calculator))
        rows = re.search(r"const ROWS = (\[.*?),\n\];\n", text, re.S)[1]
        return json.loads(f"{rows}]")

    compiled = compile_model(model, preparation)
    (middle,) = start()
    for value, entry in zip(middle["values"], compiled.inputs, strict=True):
        assert entry.levels or abs(value - (entry.low + entry.high) / 2) < 1
    given = pd.concat([row, training.iloc[[3]].set_axis(["Row 3"])])
    first, third = start(rows=given)
    assert (first["name"], third["name"]) == ("Median of the training rows", "Row 3")
    names = [entry.name for entry in compiled.inputs]
    assert third["values"][names.index("size, cm")] is None


def test_a_model_without_that_form_says_so_in_a_sentence():
    linear = random_linear(3, 2, 1, 1.0)
    strings, zeros = Similarity("strings"), np.zeros((2, 3))
    cases = {
        "cannot be exported": replace(linear, similarity=strings),
        "uses no input": replace(linear, anchors=zeros),
        "at most 200 can be filled in": random_linear(201, 2, 1, 1.0),
    }
    for words, model in cases.items():
        text = report(model, page_of(model, calculator=Calculator()))
        assert words in text and "<script" not in text and "script-src" not in text
    told = report(linear, page_of(linear, calculator="<i>Left out."))
    assert "&lt;i&gt;Left out." in told and "<script" not in told
