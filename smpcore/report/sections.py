"""Sections from which a colleague can check a model: data, performance, versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

import smpcore
from smpcore.codegen import compile_model, model_id
from smpcore.datasets import (
    Dataset,
    Preparation,
    Split,
    describe_steps,
    list_names,
    plain_number,
)
from smpcore.errors import ExportError
from smpcore.evaluation import (
    FEWEST_ROWS,
    RowMeasure,
    class_numbers,
    class_rates,
    subgroups,
)
from smpcore.evaluation.subgroups import Grouping
from smpcore.explain import Section
from smpcore.model import PrototypeModel

#: Packages that a refit depends on.
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
#: What the parts are for.
_PURPOSES = (
    "The model, its medians, levels and scaling are learned on training rows. It is "
    "evaluated on validation rows, which may have been used to choose it. Test rows "
    "stay closed until they are opened."
)
_TITLES = {"train": "training", "validation": "validation", "test": "test"}
#: Levels of a category that a table names.
_MOST_LEVELS = 8


def columns_section(
    dataset: Dataset, preparation: Preparation, train: np.ndarray, used: Sequence[str]
) -> Section:
    """List every column with its role, and what becomes of a missing value.

    Ranges and levels are those of the training rows; `used` names the columns that the
    model uses.
    """
    inputs = {column.name: column for column in preparation.inputs}
    absent = pd.DataFrame({name: [None] for name in inputs}, dtype=object)
    replaced = preparation.transform(absent)[0]
    training = dataset.frame.iloc[train]
    lines = []
    for name, role in dataset.roles.items():
        line = {"column": name, "role": role, "type": dataset.kinds[name]}
        line |= {"used by the model": "yes" if name in used else "no"}
        line |= {"training range or levels": "", "missing in training": ""}
        line |= {"a missing value becomes": ""}
        if name in inputs:
            line["training range or levels"] = _range(inputs[name])
            line["missing in training"] = str(int(training[name].isna().sum()))
            line["a missing value becomes"] = inputs[name].text(replaced)
        lines.append(line)
    words = (
        "Medians, levels and ranges are those of the training rows. A category is a "
        "feature of 0 or 1 for each of its levels, of two levels for the rarer one; a "
        "level that the training rows do not have is none of them."
    )
    return Section("Columns and missing values", (words, lines))


def _range(column: Any) -> str:
    if column.kind == "category":
        return list_names(column.levels, _MOST_LEVELS)
    return f"{plain_number(column.low, 6)} to {plain_number(column.high, 6)}"


def cleaning_section(dataset: Dataset) -> Section | None:
    """List the cleaning steps of a table, each with the rows that it changes."""
    if not dataset.cleaning:
        return None
    words = (
        "Each step looks at one cell at a time and learns nothing from other rows; it "
        "is applied to new rows, too. Counts are of all rows of the table as read."
    )
    sentences = describe_steps(dataset.cleaning, dataset.whole)
    return Section("Cleaning", (words, [{"step": one} for one in sentences]))


def parts_section(dataset: Dataset, division: Split, opened: str) -> Section:
    """Say how rows were divided, and which of them belong together.

    Of test rows it is told how often they were opened, and nothing of their target.
    """
    names = {role: name for name, role in dataset.roles.items()}
    lines = []
    for part in _TITLES:
        rows = getattr(division, part)
        line = {"part": _TITLES[part], "rows": str(len(rows))}
        line["share"] = f"{100 * len(rows) / dataset.n_samples:.1f} %"
        if dataset.groups is not None:
            line["groups"] = str(len(np.unique(dataset.groups[rows])))
        target = _target_summary(dataset, rows)
        if part == "test":
            target = dict.fromkeys(target, "")
        lines.append(line | target)
    words = [_PURPOSES, f"Seed {division.seed}; test set opened: {opened}."]
    if "group" in names:
        words.append(
            f"Rows with the same value of {names['group']} always stay in one part and "
            "in one fold; intervals count them together."
        )
    if "time" in names:
        words.append(
            f"Parts are blocks in time, by {names['time']}: validation rows are later "
            "than training rows, test rows later than both."
        )
    if not {"group", "time"} & {*names}:
        words.append("No column groups rows: each is taken as independent.")
    if dataset.test_rows is not None:
        words.append("The test part is a file of its own.")
    elif "time" not in names:
        shares = division.validation_share, division.test_share
        words.append(
            f"Drawn at random, shares of {shares[0]:g} for validation and "
            f"{shares[1]:g} for test"
            + "; classes keep theirs." * (dataset.classes is not None)
            + "." * (dataset.classes is None)
        )
    return Section("Parts of the data", (" ".join(words), *division.notices, lines))


def _target_summary(dataset: Dataset, rows: np.ndarray) -> dict[str, str]:
    """Rows of each class; mean and standard deviation of a number."""
    if dataset.classes is not None:
        counts = np.bincount(dataset.y_encoded[rows], minlength=len(dataset.classes))
        pairs = zip(dataset.classes, counts, strict=True)
        return {f"class {label}": str(count) for label, count in pairs}
    names = "mean of the target", "standard deviation of the target"
    y = dataset.y[rows]
    values = (y.mean(), y.std()) if len(rows) else (np.nan, np.nan)
    return {n: plain_number(value, 5) for n, value in zip(names, values, strict=True)}


def confusion_section(
    model: PrototypeModel, parts: Mapping[str, tuple[np.ndarray, ...]]
) -> Section:
    """Count answers by true class, with recall and precision of each class.

    A part is inputs, true labels, which rows depend on each other, and their weights.
    """
    blocks: list[Any] = [
        "Rows of a table are true classes, columns predictions. Recall: share of a "
        "class that is found. Precision: share of the predictions of a class that are "
        "right. Intervals are Wilson's."
    ]
    for title, (X, y, *of_rows) in parts.items():
        truth = class_numbers(y, model.classes)
        answers = model.decide(model.scores(X))
        n_unsure = int((~model.sure(X)).sum())
        words = f"{title}: {int((truth == answers).sum())} of {len(y)} rows are right."
        if model.band:
            words += f" {n_unsure} are within the band and counted like all others."
        blocks += [words, _confusion(model.classes, truth, answers, *of_rows)]
    return Section("Confusion matrix and recall", blocks)


def _confusion(
    classes: np.ndarray,
    truth: np.ndarray,
    answers: np.ndarray,
    clusters: np.ndarray | None,
    weights: np.ndarray | None = None,
) -> list[dict[str, str]]:
    lines = []
    rates = class_rates(truth, answers, classes, clusters, weights).to_dict("records")
    for number, rate in enumerate(rates):
        line = {"true class": rate["class"]}
        counts = np.bincount(answers[truth == number], minlength=len(classes))
        for other, count in zip(classes, counts, strict=True):
            line[f"predicted {other}"] = str(count)
        line["rows"] = str(rate["rows"])
        for name in ("recall", "precision"):
            values = [100 * rate[f"{name}{end}"] for end in ("", "_low", "_high")]
            share, interval = "", ""
            if np.isfinite(values[0]):
                share = f"{values[0]:.1f} %"
                interval = f"{values[1]:.1f} to {values[2]:.1f} %"
            line |= {name: share, f"95 % interval of {name}": interval}
        lines.append(line)
    return lines


def subgroups_section(
    grouping: Grouping,
    rows: np.ndarray,
    measures: Sequence[RowMeasure],
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Section:
    """Compare groups of rows with all others, as `subgroups` does.

    Rows are those that are looked at; measures, clusters and weights are of these.
    """
    shares = {measure.name for measure in measures if measure.is_share}
    lines = []
    for line in subgroups(grouping, rows, measures, clusters, weights).itertuples():
        percent = line.measure in shares
        limits = _limits(line.difference_low, line.difference_high, percent)
        tested = f"{limits}, p = {line.p_value:.2g}"
        lines.append(
            {
                "measure": line.measure,
                "group": line.group,
                "rows": str(line.rows),
                "value": _number(line.value, percent),
                "simultaneous 95 % interval": _limits(line.low, line.high, percent),
                "all others": _number(line.rest, percent),
                "difference": "not tested" if np.isnan(line.p_value) else tested,
            }
        )
    words = (
        f"{len(rows)} rows by {grouping.column}. The intervals of a measure hold "
        "together (Bonferroni); differences are group less all others, their intervals "
        "and p-values corrected for the number of groups (Holm). Groups of fewer than "
        f"{FEWEST_ROWS} rows are not tested."
    )
    return Section(f"Subgroups by {grouping.column}", (words, lines))


def _number(value: float, percent: bool) -> str:
    return f"{100 * value:.1f} %" if percent else plain_number(value)


def _limits(low: float, high: float, percent: bool) -> str:
    return f"{_number(low, percent)} to {_number(high, percent)}"


def versions_section(
    model: PrototypeModel, preparation: Preparation | None = None
) -> Section:
    """Name the model, and the programs that it was fitted with."""
    try:
        number = model_id(compile_model(model, preparation))
        words = f"Model ID {number}: that of its exported code in 32-bit floats. "
        words += "Integer formats have IDs of their own."
    except ExportError as problem:
        words = f"No model ID: {problem}"
    versions = {"smpcore": smpcore.__version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in _PACKAGES}
    lines = [{"program": name, "version": text} for name, text in versions.items()]
    return Section("Model ID and versions", (words, lines))
