"""Exports of a risk score answer as it does; the sheet holds the same numbers."""

import csv
import json
import math
import subprocess

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from smpcore import prepare
from smpcore.datasets import make_dataset
from smpcore.explain import risk_score, score_code, score_files, score_section
from smpcore.explain.score_sheet import _c_text


@pytest.fixture(scope="module")
def scored():
    """A score of numbers and categories with gaps, names and levels that bite."""
    rng = np.random.default_rng(5)
    n_rows = 200
    frame = pd.DataFrame(
        {
            'a "b" ?': np.round(rng.normal(0, 3, n_rows), 2),
            "class": np.round(rng.uniform(0, 1e-3, n_rows), 6),
            "=1+1": rng.choice(["ja\\n", 'n"ein', "ü"], n_rows),
            "sex": rng.choice(["male", "female"], n_rows),
        }
    )
    z = frame['a "b" ?'] + 2 * (frame["=1+1"] == "ü") - (frame["sex"] == "male")
    z -= 3000 * frame["class"]
    frame["y"] = np.where(rng.random(n_rows) < expit(z), "sick", "<b>well")
    for name in frame.columns[:-1]:
        frame.loc[rng.random(n_rows) < 0.1, name] = None
    data = make_dataset(frame, "bites", roles={"y": "target"})
    preparation = prepare(data, np.arange(n_rows))
    X = preparation.transform(data.frame)
    score = risk_score(
        *(X, data.y, preparation),
        n_lines=6,
        outcome="sick",
        required=["class", "=1+1", "sex"],
        n_parts=0,
    )
    return score, X, frame


def values_of(score, frame):
    """Raw values of the columns of the score: NaN or an empty text where missing."""
    kinds = {line.column.name: line.column.kind for line in score.lines}
    columns = []
    for name in score.columns:
        if kinds[name] == "number":
            columns.append(
                [float("nan") if v is None else float(v) for v in frame[name]]
            )
        else:
            columns.append(["" if pd.isna(v) else str(v) for v in frame[name]])
    return [list(row) for row in zip(*columns, strict=True)]


def test_python_answers_as_the_score(scored):
    score, X, frame = scored
    space = {}
    exec(score_code(score, "Python"), space)
    totals = [space["score_total"](*row) for row in values_of(score, frame)]
    np.testing.assert_array_equal(totals, score.totals(X))
    risks = [space["score_risk"](total) for total in totals]
    np.testing.assert_allclose(risks, score.risk(score.totals(X)), rtol=1e-12)


def test_javascript_answers_as_the_score(scored, tmp_path):
    score, X, frame = scored
    tmp_path.joinpath("score.mjs").write_text(score_code(score, "JavaScript"))
    rows = json.dumps(values_of(score, frame))
    tmp_path.joinpath("run.mjs").write_text(
        'import {score_total, score_risk} from "./score.mjs";\n'
        f"const rows = {rows};\n"
        "const totals = rows.map(row => score_total(...row));\n"
        "console.log(JSON.stringify([totals, totals.map(score_risk)]));"
    )
    command = ["node", "run.mjs"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    totals, risks = json.loads(made.stdout)
    np.testing.assert_array_equal(totals, score.totals(X))
    np.testing.assert_allclose(risks, score.risk(score.totals(X)), rtol=1e-12)


def test_c_answers_as_the_score(scored, tmp_path):
    score, X, frame = scored

    def written(value):
        if isinstance(value, float):
            return "NAN" if math.isnan(value) else repr(value)
        return '"' + "".join(f"\\{byte:03o}" for byte in value.encode()) + '"'

    calls = "\n".join(
        f"t = score_total({', '.join(map(written, row))});"
        'printf("%d %.17g\\n", t, score_risk(t));'
        for row in values_of(score, frame)
    )
    code = score_code(score, "C") + "#include <stdio.h>\n"
    code += f"int main(void) {{ int t;\n{calls}\nreturn 0; }}\n"
    tmp_path.joinpath("score.c").write_text(code)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wno-float-equal"]
    command = ["gcc", *flags, "-Werror", "-O0", "score.c", "-lm", "-o", "score"]
    subprocess.run(command, cwd=tmp_path, check=True)
    made = subprocess.run([tmp_path / "score"], capture_output=True, check=True)
    answers = np.array([line.split() for line in made.stdout.decode().splitlines()])
    np.testing.assert_array_equal(answers[:, 0].astype(int), score.totals(X))
    expected = score.risk(score.totals(X))
    np.testing.assert_allclose(answers[:, 1].astype(float), expected, rtol=1e-12)


def test_the_spreadsheet_has_lines_and_risks_and_no_formula(scored):
    score, _, _ = scored
    text = score_code(score, "CSV")
    rows = [*csv.reader(text.splitlines())]
    assert not any(cell.startswith(("=", "@")) for row in rows for cell in row)
    n = len(score.points)
    assert [int(row[2]) for row in rows[1 : n + 1]] == list(score.points)
    table = np.array(rows[n + 3 :], dtype=float)
    np.testing.assert_allclose(table[:, :4], score.risk_frame().iloc[:, :4], atol=1e-6)
    assert [*score_files()] == ["C", "Python", "JavaScript", "CSV"]


def test_the_sheet_says_points_risks_and_quality(scored):
    score, X, frame = scored
    y = frame["y"].to_numpy()
    section = score_section(score, "Sheet", {"Training": (X, y, None, None)})
    lines, _, risks, example, *words = section.blocks
    assert [row["points"] for row in lines] == list(score.points)
    assert [row["total"] for row in risks] == score.possible_totals()
    right = ((score.risk(score.totals(X)) >= 0.5) == (y == "sick")).mean()
    assert f"Training: accuracy {100 * right:.1f} %" in words[-1]
    assert example.startswith("Example")


@pytest.mark.parametrize("text", ["ja", "n'ein?" * 1000])
def test_a_text_of_any_length_stands_in_an_expression_of_c(text, tmp_path):
    compared = f"strcmp(text, {_c_text(text)})"
    program = "#include <string.h>\nint main(int n, char **text_) {\n"
    program += (
        f"    const char *text = text_[n - 1];\n    return {compared} != 0;\n}}\n"
    )
    tmp_path.joinpath("text.c").write_text(program)
    command = ["gcc", "-std=c99", "-Wall", "-Werror", "text.c", "-o", "text"]
    subprocess.run(command, cwd=tmp_path, check=True)
    for other, same in ((text, True), (text + "x", False)):
        assert (subprocess.run([tmp_path / "text", other]).returncode == 0) == same
