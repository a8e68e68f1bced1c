"""New rows from a file: matched, answered, and counted beside their labels."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session
from pages.state.context import Context
from pages.ui.elements import metric
from pages.ui.elements import table as show_table
from pages.ui.files import OpenFile
from pages.ui.quality import shortcomings
from pages.ui.readouts import percent
from pages.ui.text import escape_markdown, message, short_label
from pages.work import cache
from pages.work.memo import pairs
from smpcore import PrototypeModel, SmpcoreError
from smpcore.datasets import (
    Preparation,
    list_names,
    plain_number,
)
from smpcore.evaluation import (
    Matched,
    RegressionScores,
    Scores,
    answer_rows,
    known_rows,
    labelled,
    match_columns,
    score_answers,
    suggest_carried,
)
from smpcore.readouts import READOUTS

#: Parts of the data set, as rows that equal theirs are told.
_EQUAL = {
    "train": "training",
    "validation": "validation",
    "test": "test",
    "left out": "in no part",
}
_CHOOSE, _MISSING = "choose …", "none: its values are missing"


def matched(
    file: OpenFile, data: cache.Parts, used: Collection[str], whole: Preparation
) -> Matched | None:
    """The file's columns in their places; None while the visitor must choose."""
    frame = file.content
    # The interval takes groups and times into account, and predictions carry them.
    carried = suggest_carried(data.dataset, frame.columns)
    options = {"needed": used, "carried": carried}
    columns = frame, whole, data.dataset.target
    try:
        return match_columns(*columns, **options)
    except SmpcoreError as problem:
        names = [column.name for column in whole.inputs]
        needed = whole.source_columns(used)
        absent = [name for name in needed if name not in frame]
        if frame.empty or not absent or len(absent) > 50:
            raise
        message(st.warning, str(problem))
    chosen = _chosen(file, absent, [name for name in frame if name not in names])
    if _CHOOSE in chosen.values():
        return None
    renamed = {n: None if c == _MISSING else c for n, c in chosen.items()}
    return match_columns(*columns, renamed, **options)


def _chosen(file: OpenFile, absent: list[str], free: list[str]) -> dict[str, str]:
    """For each column that is not there, what the visitor takes in its place."""
    before, chosen = file.replaced, {}
    options = [_CHOOSE, _MISSING, *free]
    columns = st.columns(3)
    for place, name in enumerate(absent):
        chosen[name] = columns[place % 3].selectbox(
            f"Column {escape_markdown(short_label(name))}",
            options,
            options.index(before[name]) if before.get(name) in options else 0,
            format_func=short_label,
            key=f"renamed_{name}_{file.id}",
        )
    before.update(chosen)
    return chosen


def answers(
    context: Context,
    model: PrototypeModel,
    file: OpenFile,
    matched: Matched,
    whole: Preparation,
) -> pd.DataFrame:
    """Answer the rows, numbered from 1 as in the file; once for a model and a file."""

    def compute() -> pd.DataFrame:
        table = answer_rows(model, context.data.preparation, matched.frame, whole)
        return table.set_axis(pd.RangeIndex(1, len(table) + 1, name="row"), axis=0)

    about = context.key, context.operating, model.calibration is not None
    key = file.id, about, pairs(file.replaced)
    return session.remembered("answers", key, compute)


def known(file: OpenFile, data: cache.Parts, matched: Matched) -> np.ndarray:
    """Of each row, the part of the data set that has an equal one; empty: none."""
    of = data.dataset, data.split, data.preparation, data.X, matched
    column = tuple(matched.frame.notna().any())
    parts = data.dataset.digest, data.split.key
    key = file.id, parts, column, pairs(file.replaced)
    return session.remembered("known_rows", key, lambda: known_rows(*of))


def overlap(where: np.ndarray, open_test: bool) -> None:
    """Say how many rows equal rows of the data set, or that none does."""
    counts = {part: int((where == part).sum()) for part in _EQUAL}
    counts_text = [f"{_EQUAL[part]} {n:,}" for part, n in counts.items() if n]
    if not counts_text:
        closed = "" if open_test else "; the test set of that data set stays closed"
        st.caption(f"These rows are not part of the data set{closed}.")
        return
    st.warning(
        f"Of these {len(where):,} rows, {sum(counts.values()):,} equal rows of this "
        f"data set ({', '.join(counts_text)}). Equal means all values that both "
        "have; where values are few, rows are equal by chance as well."
    )


def counted(where: np.ndarray, open_test: bool) -> np.ndarray:
    """Which rows are scored: new ones, and test rows once these are open."""
    scored = (where == "") | ((where == "test") & open_test)
    if not scored.all():
        closed = "" if open_test else " The test set stays closed."
        rest = f"The other {scored.sum():,} rows are scored."
        if not scored.any():
            rest = "No rows are left to score."
        st.caption(
            "Rows equal to those used for training or model selection do not "
            f"show how good the model is on new rows.{closed} {rest}"
        )
    return scored


def summary(model: PrototypeModel, table: pd.DataFrame) -> None:
    """How many rows got which answer, and how many lie off the training data."""
    off = table[["out of range", "missing", "unseen", "not used by this model"]] != ""
    off.columns = [*off.columns[:3], "out of range, not used"]
    with st.container(horizontal=True):
        metric("Rows", f"{len(table):,}", width=130)
        if model.classes is None:
            ends = table["answer"].min(), table["answer"].max()
            limits = " to ".join(map(plain_number, ends))
            metric("Predictions", limits, width=220)
        for name in off:
            width = 160 if len(name) < 15 else 230
            metric(f"Rows {name}", f"{int(off[name].sum()):,}", width=width)
    if model.classes is not None:
        counts = table["answer"].value_counts()
        names = [f"{short_label(label)}: {n:,}" for label, n in counts.items()]
        message(st.caption, f"Predictions: {list_names(names, 12, 80)}.")


def read_out(
    model: PrototypeModel,
    data: cache.Parts,
    table: pd.DataFrame,
    labels: pd.Series,
    scored: np.ndarray,
    groups: np.ndarray | None,
) -> None:
    """How good the answers are to the rows that are scored, beside no other part."""
    table, labels = table[scored], labels[scored]
    if not len(table):
        return
    rows, truth, notices = labelled(labels, model.classes)
    for notice in notices:
        message(st.warning, notice)
    if not rows.size:
        return
    if groups is not None:
        groups = groups[scored][rows]
    answers = table["answer"].to_numpy()[rows]
    scores = score_answers(truth, answers, model.classes, groups)
    if isinstance(scores, Scores):
        _counts(scores, rows.size)
    else:
        _errors(scores, data)
    if scores.rows:
        for sentence in shortcomings(scores, data.of("train")[1]):
            message(st.warning, sentence)
    _dependent(data, groups)


def _errors(errors: RegressionScores, data: cache.Parts) -> None:
    low, high = errors.interval
    usual = errors.always(float(np.median(data.of("train")[1])))
    with st.container(horizontal=True):
        metric(READOUTS["mae"].label, plain_number(errors.mae), width=200)
        metric("95 % interval", f"{plain_number(low)}–{plain_number(high)}", width=200)
        metric(READOUTS["r2"].label, f"{errors.r2:.3f}", width=120)
        metric("Training-median baseline", plain_number(usual), width=220)


def _counts(scores: Scores, total: int) -> None:
    """How many of all rows are right; those of unknown classes never are."""
    with st.container(horizontal=True):
        metric(READOUTS["accuracy"].label, percent(scores.hits / total), width=130)
        metric("Correct rows", f"{scores.hits:,} of {total:,}", width="content")
        if scores.rows:
            low, high = scores.interval
            limits = f"{100 * low:.0f}–{100 * high:.0f} %"
            metric("95 % interval (known classes)", limits, width=240)
            label = READOUTS["balanced_accuracy"].label
            metric(label, percent(scores.balanced_accuracy), width=160)
            metric("Majority-class baseline", percent(scores.majority), width=220)
    if scores.rows:
        shares = ["" if np.isnan(share) else percent(share) for share in scores.recall]
        lines = {
            "class": [str(label) for label in scores.classes],
            "rows": scores.confusion.sum(axis=1),
            "predicted": scores.confusion.sum(axis=0),
            "recall": shares,
        }
        show_table(lines)


def _dependent(data: cache.Parts, groups: np.ndarray | None) -> None:
    """Say what the interval counts together, where rows of these data depend."""
    if data.cluster_summary and groups is None:
        st.caption(
            "The interval takes these rows as independent: the file has no column that "
            "says which of them belong together."
        )
    elif data.cluster_summary:
        st.caption(f"In the interval, {data.cluster_summary}.")
