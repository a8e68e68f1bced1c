"""What papers conclude, what is made of the numbers here, and what is shipped."""

from __future__ import annotations

import csv
import hashlib
from operator import gt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from smpcore import papers
from smpcore.papers import readings
from smpcore.papers.__main__ import main
from smpcore.papers.conclusions import Claim, Holds, _lines, finding_of, numbers_of
from tests.guide import GUIDE

CASES = [(one, line) for one in papers.EXPERIMENTS for line in one.conclusions]


def test_each_sentence_has_a_check_and_each_check_a_sentence():
    named = {(line["experiment"], line["check"]) for line in _lines()}
    assert len(named) == len(_lines()) > 50
    for line in readings._lines():
        kind, _, value = line["change"].partition(" ")
        if kind == "check":
            named.add((line["experiment"], value.split(" ")[0]))
        if kind == "from":
            named.add((value, line["checks"]))
    assert named == {
        (one.name, key) for one in papers.EXPERIMENTS for key in one.checks
    }
    for _, line in CASES:
        assert line.where.startswith(
            ("Abstract", "Section ", "Figure ", "Proposition ", "Theorem ")
        )
        assert 3 <= len(line.words.split()) <= 25, "short enough to quote"
    assert 20 <= sum(line.is_main for _, line in CASES) <= 30


@pytest.mark.parametrize(("one", "line"), CASES, ids=lambda x: getattr(x, "name", ""))
def test_the_papers_own_numbers_do_not_contradict_it(one, line):
    """A claim that the printed table refutes is not the paper's."""
    table = papers.table_of(one, papers.Place(papers.SHIPPED))
    finding = finding_of(line.check, numbers_of(table))
    assert finding.printed_held > 0.5 * finding.printed_n or not finding.printed_n


def numbers(values, column="measured"):
    """A table of a model a and its rival b, by data set."""
    rows = [
        {"data": data, "model": model, "measure": "m", "at": np.nan, column: value}
        for data, pair in enumerate(values)
        for model, value in zip("ab", pair, strict=True)
    ]
    other = {"measured": "reported", "reported": "measured"}[column]
    return pd.DataFrame(rows).assign(**{other: np.nan})


def concluded(check, *tables):
    return finding_of(check, numbers_of(pd.concat(tables)))


ABOVE = Claim("a", gt, ("b",), "m")


@pytest.mark.parametrize(
    ("claim", "pair", "holds"),
    [
        (ABOVE, (2, 1), 1),
        (ABOVE, (1, 1), 0),
        (Claim("a", gt, ("b",), "m", factor=2.0), (2, 1), 0),
        (Claim("a", gt, ("b",), "m", factor=2.0, more=-0.1), (2, 1), 1),
        (Claim("a", gt, ("b", "a"), "m"), (2, 1), 0),
    ],
)
def test_a_claim_is_about_each_rival(claim, pair, holds):
    assert concluded(claim, numbers([pair]))[1:3] == (holds, 1)


def test_it_holds_in_part_from_half_on_and_as_often_as_printed():
    def verdict(*pairs, printed=()):
        tables = [numbers(pairs)]
        tables += [numbers(printed, "reported")] if printed else []
        return concluded(ABOVE, *tables).verdict

    up, down, gone = (2, 1), (1, 2), (2, np.nan)
    assert verdict(up, up, gone) == "holds"
    assert verdict(up, down) == "holds in part"
    assert verdict(up, down, down) == "does not hold"
    assert verdict(gone) == "not tested here"
    assert verdict(up, down, printed=[down, up]) == "holds"
    shares = numbers([(0.25, 1.0)])
    assert concluded(Holds("m", ("a", "b")), shares)[1:3] == (1.25, 2)


def test_the_note_in_the_guide_is_what_the_numbers_say(tmp_path):
    """Where numbers are meant to change, the command writes the page anew."""
    page = next(path for path in GUIDE if path.stem == "7-papers")
    assert main(["note", str(tmp_path / page.name), "--out", str(tmp_path)]) == 0
    (picture,) = (tmp_path / "figures").iterdir()
    for path in (tmp_path / page.name, picture):
        shipped = page.parent / path.relative_to(tmp_path)
        assert path.read_text("utf-8") == shipped.read_text("utf-8")
    assert page.read_text("utf-8").count("The lead is not found") == 2


def test_the_note_is_also_a_page_of_html(tmp_path):
    path = tmp_path / "papers.html"
    assert main(["note", str(path), "--out", str(tmp_path)]) == 0
    text = path.read_text("utf-8")
    assert text.count("<svg") == 1 and text.count("<h4>") == 29
    assert "It depends on positive class: it holds in 1 of 10 readings." in text
    assert "it passes in 100 % of the shuffles" in text
    assert main(["note", str(tmp_path / "papers.txt")]) == 2


HERE = Path(__file__)


#: What the page says of each experiment, and a digest of the rows of its table.
with HERE.with_name("shipped.csv").open(encoding="utf-8", newline="") as file:
    LINES = {line["experiment"]: line for line in csv.DictReader(file)}


def test_every_shipped_line_is_a_trial_of_its_experiment():
    files = {path.stem for path in papers.SHIPPED.glob("*.jsonl")}
    for one in papers.EXPERIMENTS:
        path = papers.path_of(one.name, papers.SHIPPED)
        lines = path.read_bytes().splitlines() if path.is_file() else []
        # What was claimed of a data set was once measured as a trial of its own.
        lines = [line for line in lines if b'"model": "claims"' not in line]
        assert len(papers.read_measured(one, papers.SHIPPED)) == len(lines), one.name
        files.discard(one.name)
    assert not files


@pytest.mark.parametrize("one", papers.EXPERIMENTS, ids=lambda one: one.name)
def test_the_page_shows_the_same_numbers(one, tmp_path):
    """By design a changed number, status or name of a table breaks it.

    Where one is meant to change, the line of the failure goes into the file.
    """
    place = papers.Place(tmp_path)
    table = papers.table_of(one, place)
    rows = sorted(table.to_csv(index=False, float_format="%.6g").splitlines())
    digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]
    shown = papers.overview([one], lambda of: papers.table_of(of, place))
    shown = shown.iloc[0].to_dict()
    assert shown | {"rows": str(len(rows)), "digest": digest} == LINES[one.name]
