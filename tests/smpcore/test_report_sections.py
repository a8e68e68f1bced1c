"""A colleague checks a report: what it says of parts, groups, versions and errors."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import softmax

from smpcore import METHODS, export, split
from smpcore.datasets import make_dataset
from smpcore.evaluation import RowMeasure, calibrate, group_rows, margins, subgroups
from smpcore.report import (
    CALIBRATED,
    SOFTMAX,
    calibration_section,
    confusion_section,
    interval_lines,
    numbers_section,
    parts_section,
    quartile_lines,
    subgroups_section,
    versions_section,
)
from smpcore.similarity import Similarity
from tests.shown import oracle
from tests.smpcore.codegen.models import random_linear
from tests.smpcore.codegen.toolchain import unpack
from tests.smpcore.test_report_calculator import fitted


def words_of(section):
    """All its paragraphs."""
    return " ".join(block for block in section.blocks if isinstance(block, str))


def table_of(section, number=0):
    """One of its tables."""
    return [block for block in section.blocks if not isinstance(block, str)][number]


def test_what_cannot_be_printed_is_said():
    other = replace(random_linear(3, 2, 1, 1.0), similarity=Similarity("strings"))
    assert "strings has no formula" in words_of(numbers_section(other))
    wide = random_linear(10_001, 2, 1, 1.0)
    assert "20,006 numbers" in words_of(numbers_section(wide))


def test_parts_and_bands_are_told_in_words():
    frame = pd.DataFrame({"size": np.arange(120) % 7 + 0.5, "patient": np.arange(120)})
    frame["y"] = np.where(frame["size"] > 3, "b", "a")
    dataset = make_dataset(frame, "t", roles={"patient": "group", "y": "target"})
    division = split(dataset, 0.25, 0.25, seed=7)
    words = words_of(parts_section(dataset, division, "2 times"))
    assert "Seed 7; test set opened: 2 times." in words
    assert "same value of patient always stay in one part" in words
    assert "shares of 0.25 for validation and 0.25 for test; classes keep" in words
    model = replace(random_linear(1, 2, 1, 1.0), classes=dataset.classes)
    X = frame[["size"]].to_numpy()
    model = replace(model, band=float(np.median(np.abs(margins(model, X)))))
    section = confusion_section(model, {"Validation": (X, dataset.y, None)})
    counts, measures = table_of(section), table_of(section, 1)
    assert 0 < (~model.sure(X)).sum() < len(X)
    assert sum(int(line["not sure"]) for line in counts) == (~model.sure(X)).sum()
    assert "Coverage" in [line["measure"] for line in measures]


def test_the_id_is_that_of_the_export(tmp_path):
    _, preparation, model = fitted("smp")
    packed = export(model, preparation, "javascript", name="mine")
    assert unpack(packed, tmp_path)
    number = re.search(r'"id": "(\w{8})"', (tmp_path / "mine.json").read_text())[1]
    section = versions_section(model, preparation)
    assert f"Model ID {number}" in words_of(section)
    programs = {line["program"]: line["version"] for line in table_of(section)}
    assert programs["numpy"] == np.__version__
    assert {"smpcore", "Python", "scikit-learn", "numba"} <= {*programs}
    unused = replace(model, anchors=0 * model.anchors)
    assert "No model ID: " in words_of(versions_section(unused, preparation))


def test_groups_are_printed_as_they_are_counted():
    site = np.where(np.arange(200) % 10, "north", "south")
    x = np.random.default_rng(0).normal(size=200)
    frame = pd.DataFrame({"x": x, "site": site, "y": np.where(x > 0, "yes", "no")})
    dataset = make_dataset(frame, "made", roles={"site": "ignore", "y": "target"})
    rows, hits = np.arange(80), np.arange(80) % 4 > 0
    measures = [RowMeasure("Accuracy", hits * 1.0, True)]
    grouping = group_rows(dataset, "site", np.arange(200))
    section = subgroups_section(grouping, rows, measures)
    assert section.title == "Subgroups by site"
    north, south = table_of(section)
    inside = site[:80] == "north"
    low, high = subgroups(grouping, rows, measures).loc[0, ["low", "high"]]
    assert north.items() >= {
        ("rows", str(inside.sum())),
        ("value", f"{100 * hits[inside].mean():.1f} %"),
        ("all others", f"{100 * hits[~inside].mean():.1f} %"),
        ("simultaneous 95 % interval", f"{100 * low:.1f} % to {100 * high:.1f} %"),
    }
    assert south["rows"] == "8" and south["difference"] == "not tested"
    assert "fewer than 10 rows are not tested" in words_of(section)


def test_probabilities_are_checked_in_the_report():
    fit = oracle.fit("smallk", "wine")
    dataset, X = fit.table, fit.X
    train, rows = fit.parts["train"], fit.parts["validation"]
    learned = calibrate(fit.model.scores(X[train]), dataset.y[train], dataset.classes)
    model = replace(fit.model, calibration=learned)
    checked = {"Validation": (X[rows], dataset.y[rows], None)}
    section = calibration_section(model, checked, fit.model)
    shares = model.probabilities(X[rows])
    plain = softmax(fit.model.scores(X[rows]), axis=1)
    lines = table_of(section, 1)
    for line, of in zip(lines, (shares, plain), strict=True):
        score = np.square(of - np.eye(3)[dataset.y_encoded[rows]]).sum(axis=1).mean()
        assert line["Brier score"].startswith(f"{score:.3f} (")
        right = of.argmax(axis=1) == dataset.y_encoded[rows]
        for name, ends in zip(
            ("Calibration intercept", "Calibration slope"),
            oracle.recalibrated(of.max(axis=1), right),
            strict=True,
        ):
            oracle.says_with_ends(line[name], ends)
    assert [line["probabilities"] for line in lines] == [CALIBRATED, SOFTMAX]
    assert {line["intervals by"] for line in lines} == {"Student's; Wald's"}
    assert sum(int(line["rows"]) for line in table_of(section, 2)) == len(rows)
    assert learned.choice in words_of(section)
    strange = np.append(dataset.y[rows], "unseen")  # a class that training lacks
    checked = {"Validation": (X[np.append(rows, rows[0])], strange, None)}
    assert calibration_section(model, checked, fit.model) == section


def test_the_report_of_a_regression_tells_width_and_coverage():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (160, 1))
    y = np.sin(X[:, 0]) + rng.normal(scale=0.2, size=160)
    row = next(m for m in METHODS.values() if "regression" in m.estimators)
    model = row.estimator({}, "regression").fit(X[:80], y[:80]).model_
    learned = calibrate(model.predict(X[80:120]), y[80:120])
    model = replace(model, calibration=learned)
    checked = {"Validation": (X[120:], y[120:], None)}
    section = calibration_section(model, checked, model)
    assert "of 40 training rows" in words_of(section)
    of_rows = X[120:], y[120:], None
    assert table_of(section) == interval_lines(model, *of_rows)
    assert table_of(section, 1) == quartile_lines(model, *of_rows)
