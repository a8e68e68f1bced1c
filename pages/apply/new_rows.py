"""New rows from a file: matched, answered, and counted beside their labels."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.apply.new_file import NewFile
from pages.state import session
from pages.ui.readouts import percent
from pages.ui.text import escape_markdown, number_columns, short_label
from pages.ui.worth import shortcomings
from pages.work import cache
from smpcore import PrototypeModel, SmpcoreError
from smpcore.evaluation import (
    Matched,
    RegressionScores,
    Scores,
    answer_rows,
    count_answers,
    known_rows,
    labelled,
    match_columns,
)
from smpcore.evaluation import class_numbers as numbers_of

#: Rows of the table on the screen; the file has all of them.
MOST_SHOWN = 1000
#: A spreadsheet would run text that begins like this as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: Parts of the data set, as rows that equal theirs are told.
_EQUAL = {
    "train": "training",
    "validation": "validation",
    "test": "test",
    "left out": "in no part",
}
_CHOOSE, _MISSING = "choose …", "none: its values are missing"


def expected(data: cache.Parts, used: Collection[str]) -> None:
    """The columns that the file should have: those that the model uses."""
    inputs = [given for given in data.preparation.inputs if given.name in used]
    lines = [
        {
            "column": given.name,
            "holds": "numbers" if given.kind == "number" else "a category",
            "in training": f"{given.low:.6g} to {given.high:.6g}"
            if given.kind == "number"
            else ", ".join(given.levels[:6]),
        }
        for given in inputs[:200]
    ]
    rest = len(data.preparation.inputs) - len(inputs)
    others = f" The model does not use the other {rest:,} columns." if rest else ""
    st.caption(
        f"It should have these {len(inputs):,} columns, in any order; "
        f"with {escape_markdown(short_label(data.dataset.target))} as well, the "
        f"predictions are scored.{others}"
    )
    if lines:
        st.dataframe(lines, hide_index=True)


def matched(file: NewFile, data: cache.Parts, used: Collection[str]) -> Matched | None:
    """The file's columns in their places; None while the visitor must choose."""
    frame = file.frame
    roles = data.dataset.roles
    # The interval takes those into account.
    beside = [name for name in roles if roles[name] in ("group", "time")]
    how = {"needed": used, "beside": beside}
    asked = frame, data.preparation, data.dataset.target
    try:
        return match_columns(*asked, **how)
    except SmpcoreError as problem:
        names = [given.name for given in data.preparation.inputs]
        absent = [name for name in used if name not in frame]
        if frame.empty or not absent or len(absent) > 50:
            raise
        st.warning(escape_markdown(str(problem)))
    chosen = _chosen(file, absent, [name for name in frame if name not in names])
    if _CHOOSE in chosen.values():
        return None
    renamed = {n: None if c == _MISSING else c for n, c in chosen.items()}
    return match_columns(*asked, renamed, **how)


def _chosen(file: NewFile, absent: list[str], free: list[str]) -> dict[str, str]:
    """For each column that is not there, what the visitor takes in its place."""
    chosen = {}
    options = [_CHOOSE, _MISSING, *free]
    columns = st.columns(3)
    for place, name in enumerate(absent):
        chosen[name] = columns[place % 3].selectbox(
            f"Column {escape_markdown(short_label(name))}",
            options,
            format_func=short_label,
            key=file.remember(name, options),
        )
    file.chosen.update(chosen)
    return chosen


def answers(model: PrototypeModel, data: cache.Parts, matched: Matched) -> pd.DataFrame:
    """Answer the rows, numbered from 1 as in the file."""
    table = answer_rows(model, data.preparation, matched.frame)
    return table.set_axis(pd.RangeIndex(1, len(table) + 1, name="row"), axis=0)


def known(file: NewFile, data: cache.Parts, matched: Matched) -> np.ndarray:
    """Of each row, the part of the data set that has an equal one; empty: none."""
    of = data.dataset, data.split, data.preparation, data.X, matched
    given = tuple(matched.frame.notna().any())
    key = file.key, data.split.key, given, tuple(sorted(file.chosen.items()))
    return session.remembered("known_rows", key, lambda: known_rows(*of))


def overlap(where: np.ndarray, open_test: bool) -> None:
    """Say how many rows equal rows of the data set, or that none does."""
    counts = {part: int((where == part).sum()) for part in _EQUAL}
    told = [f"{_EQUAL[part]} {n:,}" for part, n in counts.items() if n]
    if not told:
        closed = "" if open_test else "; the test set of that data set stays closed"
        st.caption(f"These rows are not part of the data set{closed}.")
        return
    st.warning(
        f"Of these {len(where):,} rows, {sum(counts.values()):,} equal rows of this "
        f"data set ({', '.join(told)}). Equal means all values that both have; where "
        "values are few, rows are equal by chance as well."
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
    off = table[["out of range", "missing", "unseen"]] > 0
    with st.container(horizontal=True):
        st.metric("Rows", f"{len(table):,}", width=130)
        if model.classes is None:
            ends = f"{table['answer'].min():.4g} to {table['answer'].max():.4g}"
            st.metric("Predictions", ends, width=220)
        for name in off:
            st.metric(f"Rows {name}", f"{int(off[name].sum()):,}", width=160)
    if model.classes is not None:
        counts = table["answer"].value_counts()
        words = [f"{short_label(c)}: {n:,}" for c, n in counts.iloc[:12].items()]
        rest = "" if len(counts) <= 12 else f" and {len(counts) - 12} more classes"
        st.caption(escape_markdown(f"Predictions: {'; '.join(words)}{rest}."))


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
        st.warning(escape_markdown(notice))
    if not rows.size:
        return
    if groups is not None:
        groups = groups[scored][rows]
    answers = table["answer"].to_numpy()[rows]
    if model.classes is None:
        scores = _errors(RegressionScores(truth, answers, groups), data)
    else:
        known = numbers_of(truth, model.classes)
        given = numbers_of(answers, model.classes)
        scores = count_answers(known, given, model.classes, groups)
        _counts(scores, rows.size)
    if model.classes is None or scores.rows:
        _beaten(scores, data)
    _dependent(data, groups)


def _errors(errors: RegressionScores, data: cache.Parts) -> RegressionScores:
    low, high = errors.interval
    usual = errors.always(float(np.median(data.of("train")[1])))
    with st.container(horizontal=True):
        st.metric("Mean absolute error", f"{errors.mae:.4g}", width=200)
        st.metric("95 % interval", f"{low:.4g}–{high:.4g}", width=200)
        st.metric("R²", f"{errors.r2:.3f}", width=120)
        st.metric("Training-median baseline", f"{usual:.4g}", width=220)
    return errors


def _counts(scores: Scores, total: int) -> None:
    """How many of all rows are right; those of unknown classes never are."""
    with st.container(horizontal=True):
        st.metric("Accuracy", percent(scores.hits / total), width=130)
        st.metric("Correct rows", f"{scores.hits:,} of {total:,}", width="content")
        if scores.rows:
            low, high = scores.interval
            ends = f"{100 * low:.0f}–{100 * high:.0f} %"
            st.metric("95 % interval (known classes)", ends, width=240)
            st.metric("Balanced accuracy", percent(scores.balanced_accuracy), width=160)
            st.metric("Majority-class baseline", percent(scores.majority), width=220)
    if scores.rows:
        shares = ["" if np.isnan(share) else percent(share) for share in scores.recall]
        lines = {
            "class": [str(label) for label in scores.classes],
            "rows": scores.confusion.sum(axis=1),
            "predicted": scores.confusion.sum(axis=0),
            "recall": shares,
        }
        st.dataframe(lines, hide_index=True)


def _dependent(data: cache.Parts, groups: np.ndarray | None) -> None:
    """Say what the interval counts together, where rows of these data depend."""
    if data.cluster_summary and groups is None:
        st.caption(
            "The interval takes these rows as independent: the file has no column that "
            "says which of them belong together."
        )
    elif data.cluster_summary:
        st.caption(f"In the interval, {data.cluster_summary}.")


def _beaten(scores: Scores | RegressionScores, data: cache.Parts) -> None:
    """Say where one answer to all rows would do as well."""
    for sentence in shortcomings(scores, data.of("train")[1]):
        st.warning(escape_markdown(sentence))


def table(answers: pd.DataFrame) -> None:
    """The rows' answers on the screen, and all of them as a file."""
    some = answers.iloc[:MOST_SHOWN]
    st.dataframe(some, key="answers", column_config=number_columns(some))
    if len(answers) > MOST_SHOWN:
        st.caption(f"The first {MOST_SHOWN:,} of {len(answers):,} rows.")
    st.download_button(
        "Download all predictions as CSV",
        data=lambda: as_csv(answers),
        file_name="answers.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="answers_download",
    )


def as_csv(answers: pd.DataFrame) -> bytes:
    """The answers as CSV in which no label can be a spreadsheet's formula."""
    texts = answers.select_dtypes(include=["object", "str"]).columns
    safe = answers.assign(**{name: answers[name].map(_harmless) for name in texts})
    safe.columns = [_harmless(name) for name in safe.columns]
    return safe.to_csv().encode("utf-8")


def _harmless(value: Any) -> Any:
    return f"'{value}" if str(value).startswith(FORMULA) else value
