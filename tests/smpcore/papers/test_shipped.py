"""What the makers have measured stays readable, and the page's numbers as they are."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import pytest

from smpcore.papers import (
    EXPERIMENTS,
    SHIPPED,
    Place,
    overview,
    path_of,
    read_measured,
    table_of,
)

HERE = Path(__file__)
#: What the page says of each experiment, and a digest of the rows of its table.
with HERE.with_name("shipped.csv").open(encoding="utf-8", newline="") as file:
    LINES = {line["experiment"]: line for line in csv.DictReader(file)}


def test_every_shipped_line_is_a_trial_of_its_experiment():
    files = {path.stem for path in SHIPPED.glob("*.jsonl")}
    for one in EXPERIMENTS:
        path = path_of(one.name, SHIPPED)
        lines = path.read_bytes().splitlines() if path.is_file() else []
        # What was claimed of a data set was once measured as a trial of its own.
        lines = [line for line in lines if b'"model": "claims"' not in line]
        assert len(read_measured(one, SHIPPED)) == len(lines), one.name
        files.discard(one.name)
    assert not files


@pytest.mark.parametrize("one", EXPERIMENTS, ids=lambda one: one.name)
def test_the_page_shows_the_same_numbers(one, tmp_path):
    """By design a changed number, status or name of a table breaks it.

    Where one is meant to change, the line of the failure goes into the file.
    """
    table = table_of(one, Place(tmp_path))
    rows = sorted(table.to_csv(index=False, float_format="%.6g").splitlines())
    digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]
    shown = overview([one], lambda _: table).iloc[0].to_dict()
    assert shown | {"rows": str(len(rows)), "digest": digest} == LINES[one.name]
