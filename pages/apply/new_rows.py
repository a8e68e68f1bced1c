"""New rows from a file: matched, answered, counted beside their labels, and saved."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.apply import validation
from pages.state.session import Slot
from pages.ui import explanation_sheet
from pages.ui.elements import download, metric
from pages.ui.elements import table as show_table
from pages.ui.files import OpenFile, like, open_file, read_file
from pages.ui.text import escape_markdown, message, short_label
from pages.work.tasks import Task
from smpcore import PrototypeModel, SmpcoreError, evaluation
from smpcore.datasets import (
    TABLE_WRITERS,
    Input,
    Preparation,
    list_names,
    plain_number,
    read_frame,
    read_similarities,
    used_matrices,
)
from smpcore.live import BAND_NOTE, Context, Parts, pairs, shortcomings
from smpcore.model import Calibration
from smpcore.readouts import READOUTS, Shown, number_text, r2_text

_FILE = Slot[OpenFile | None]("new_rows")
_READING = Slot[Task]("reading new_rows")
_ANSWERS, _KNOWN = Slot[pd.DataFrame]("answers"), Slot[np.ndarray]("known_rows")
_HOLDS = {"number": "numbers", "category": "a category", "text": "texts"}


def _seen(column: Input) -> str:
    """What the training rows have in a column."""
    if column.kind == "number":
        low, high = plain_number(column.low, 6), plain_number(column.high, 6)
        return f"{low} to {high} {column.unit_beside}".rstrip()
    if column.kind == "text":
        return f"letters {', '.join(column.levels)}; at most {column.width} of them"
    return ", ".join(column.levels[:6])


def expected(data: Parts, used: Collection[str]) -> None:
    """The columns that the file should have: those that the model uses."""
    if data.dataset.matrices:
        _expected_matrices(data)
        return
    names = data.preparation.source_columns(used)
    inputs = [column for column in data.preparation.inputs if column.name in names]
    lines = [
        {
            "column": column.name,
            "holds": _HOLDS[column.kind],
            "in training": _seen(column),
        }
        for column in inputs[:200]
    ]
    rest = len(data.preparation.inputs) - len(inputs)
    others = (
        f" The model does not use the other {rest:,} columns; where the file has them, "
        "they are compared with the training range."
        if rest
        else ""
    )
    carried = evaluation.suggest_carried(data.dataset, data.dataset.frame.columns)
    if carried:
        names = escape_markdown(list_names(carried, 8))
        others += f" Carried into the predictions, if the file has them: {names}."
    these = "should have this column" if inputs else "needs no column for this model"
    if len(inputs) > 1:
        these = f"should have these {len(inputs):,} columns, in any order"
    target = escape_markdown(short_label(data.dataset.target))
    st.caption(
        f"It {these}; with {target} as well, the predictions are scored.{others}"
    )
    if lines:
        show_table(lines)


def _expected_matrices(data: Parts) -> None:
    """What a file of similarities should hold."""
    names = [matrix.name for matrix in used_matrices(data.dataset)]
    message(
        st.caption,
        f"An .npz file with an array for each matrix ({list_names(names, 8)}): a row "
        f"for each new sample, and {data.dataset.n_samples:,} columns, how similar it "
        "is to the samples of the data in their order. With labels as y, predictions "
        "are scored. What was normalised on Data must be normalised here as well.",
    )


def upload(data: Parts) -> OpenFile | None:
    """The file picker, and the file that is open."""
    is_similarities, dataset = bool(data.dataset.matrices), data.dataset

    def read(file: Any) -> pd.DataFrame | None:
        key = file.file_id, dataset.digest
        if is_similarities:
            return read_file(_READING, key, read_similarities, file, dataset)
        options = like(dataset)
        read = read_file(_READING, key, read_frame, file, file.name, **options)
        if read is None:
            return None
        frame, _, frame.attrs["notices"] = read
        return frame

    return open_file(
        _FILE,
        data.dataset.digest,
        read,
        "New rows: their similarities to the samples of the data"
        if is_similarities
        else "New rows: a table with the same columns, with or without the target",
        ["npz"] if is_similarities else None,
        "They stay in memory until you close them, half an hour after your last visit "
        "at most, are visible in your browser only, and join neither the data set nor "
        "any export.",
    )


#: Parts of the data set, as rows that equal theirs are told.
_EQUAL = {
    "train": "training",
    "validation": "validation",
    "test": "test",
    "left out": "in no part",
}
_CHOOSE, _MISSING = "choose …", "none: its values are missing"


def matched(
    file: OpenFile, data: Parts, used: Collection[str], whole: Preparation
) -> evaluation.Matched | None:
    """The file's columns in their places; None while the visitor must choose."""
    frame = file.content
    # The interval takes groups and times into account, and predictions carry them;
    # weights count in shares.
    carried = evaluation.suggest_carried(data.dataset, frame.columns)
    carried = [*carried, *filter(None, [data.dataset.weight])]
    options = {"needed": used, "carried": carried}
    columns = frame, whole, data.dataset.target
    try:
        return evaluation.match_columns(*columns, **options)
    except SmpcoreError as problem:
        names = [column.name for column in whole.inputs]
        if not 0 < len(problem.absent) <= 50:
            raise
        message(st.warning, str(problem))
        absent = problem.absent
    chosen = _chosen(file, absent, [name for name in frame if name not in names])
    if _CHOOSE in chosen.values():
        return None
    renamed = {n: None if c == _MISSING else c for n, c in chosen.items()}
    return evaluation.match_columns(*columns, renamed, **options)


def _chosen(file: OpenFile, absent: Sequence[str], free: list[str]) -> dict[str, str]:
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
    matched: evaluation.Matched,
    whole: Preparation,
) -> pd.DataFrame:
    """Answer the rows, numbered from 1 as in the file; once for a model and a file."""

    def compute() -> pd.DataFrame:
        table = evaluation.answer_rows(
            model, context.data.preparation, matched.frame, whole
        )
        return table.set_axis(pd.RangeIndex(1, len(table) + 1, name="row"), axis=0)

    about = context.key, context.operating, model.calibration is not None
    key = file.id, about, pairs(file.replaced)
    return _ANSWERS.get_or_make(key, compute)


def known(file: OpenFile, data: Parts, matched: evaluation.Matched) -> np.ndarray:
    """Of each row, the part of the data set that has an equal one; empty: none."""
    find = partial(
        evaluation.known_rows,
        *(data.dataset, data.split, data.preparation, data.X, matched),
    )
    column = tuple(matched.frame.notna().any())
    parts = data.dataset.digest, data.split.key
    key = file.id, parts, column, pairs(file.replaced)
    return _KNOWN.get_or_make(key, find)


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
            low, high = table["answer"].min(), table["answer"].max()
            limits = f"{plain_number(low)} to {plain_number(high)}"
            metric("Predictions", limits, width=220)
        for name in off:
            width = 160 if len(name) < 15 else 230
            metric(f"Rows {name}", f"{int(off[name].sum()):,}", width=width)
    if model.classes is not None:
        counts = table["answer"].value_counts()
        names = [f"{short_label(label)}: {n:,}" for label, n in counts.items()]
        unsure = ""
        if model.band:
            n_unsure = int((table["not sure"] != "").sum())
            unsure = f" {n_unsure:,} of them not sure: within the band."
        message(st.caption, f"Predictions: {list_names(names, 12, 80)}.{unsure}")


def read_out(
    context: Context,
    model: PrototypeModel,
    file: OpenFile,
    matched: evaluation.Matched,
    table: pd.DataFrame,
    scored: np.ndarray,
) -> Calibration | None:
    """How good the answers are to the rows that are scored, beside no other part.

    Returns the recalibration that the visitor takes, if any.
    """
    data, places = context.data, np.flatnonzero(scored)
    if not places.size:
        return None
    labels = matched.labels.iloc[places]
    rows, truth, notices = evaluation.labelled(labels, model.classes)
    for notice in notices:
        message(st.warning, notice)
    if not rows.size:
        return None
    places = places[rows]
    groups, weights = _dependence(data, file.content, places)
    table, taken = table.iloc[places], None
    answers = table["answer"].to_numpy()
    scores = evaluation.score_answers(truth, answers, model.classes, groups, weights)
    if isinstance(scores, evaluation.Scores):
        _counts(scores, model.order)
        if model.band:
            st.caption(BAND_NOTE)
        y_encoded = evaluation.class_numbers(truth, model.classes)
        fitted = context.fit().finished().model_
        of_rows = table, y_encoded, groups, weights
        taken = validation.section(validation.LabelledRows(model, fitted, *of_rows))
    else:
        _errors(scores, data)
    for sentence in shortcomings(scores, data):
        message(st.warning, sentence)
    _dependent(data, groups)
    _weighted(data, weights)
    sure = {}
    if model.classes is not None and model.calibration is not None:
        names = [f"probability of {name}" for name in model.classes]
        sure = {"probabilities": table[names].to_numpy()}
    elif model.calibration is not None:
        names = [f"90 % interval {end}" for end in ("low", "high")]
        sure = {"intervals": table[names].to_numpy()}
    measures = evaluation.row_measures(model.classes, answers, truth, **sure)
    of_rows = places, measures, (groups, weights)
    about = context.key, context.operating, bool(sure), context.open_test
    validation.subgroups(data, file, matched, *of_rows, about)
    return taken


def _dependence(
    data: Parts, frame: pd.DataFrame, places: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Which rows of a file depend on each other, and what each weighs."""
    groups = evaluation.clusters_like(data.dataset, frame)
    weights = evaluation.weights_like(data.dataset, frame)
    return (
        None if groups is None else groups[places],
        None if weights is None else weights[places],
    )


def _errors(errors: evaluation.RegressionScores, data: Parts) -> None:
    shown = Shown(READOUTS["mae"].label, errors.estimate, unit="target")
    usual = number_text(errors.always(data.training_median), "target")
    with st.container(horizontal=True):
        metric(shown.label, shown.text + data.target_unit, width=200)
        metric("95 % interval", shown.interval, width="content")
        metric(READOUTS["r2"].label, r2_text(errors.r2), width=120)
        if np.isfinite(errors.mape):
            metric(READOUTS["mape"].label, number_text(errors.mape), width=260)
        metric("Training-median baseline", usual + data.target_unit, width=220)


def _counts(scores: evaluation.Scores, order: np.ndarray) -> None:
    """How many of all rows are right; those of unknown classes never are."""
    shown = Shown(READOUTS["accuracy"].label, scores.estimate)
    with st.container(horizontal=True):
        metric(shown.label, shown.text, width=130)
        metric("Correct rows", f"{scores.hits:,} of {scores.rows:,}", width="content")
        metric("95 % interval", shown.interval, width="content")
        balanced = Shown(READOUTS["balanced_accuracy"].label, scores.balanced_estimate)
        metric(balanced.label, balanced.text, width=160)
        metric("Its 95 % interval", balanced.interval, width="content")
        metric("Majority-class baseline", number_text(scores.majority), width=220)
    recall = scores.recall[order]
    lines = {
        "class": [str(label) for label in scores.classes[order]],
        "rows": scores.confusion.sum(axis=1)[order],
        "predicted": scores.confusion.sum(axis=0)[order],
        "recall": ["" if np.isnan(share) else number_text(share) for share in recall],
    }
    show_table(lines)


def _dependent(data: Parts, groups: np.ndarray | None) -> None:
    """Say what the interval counts together, where rows of these data depend."""
    if data.cluster_summary and groups is None:
        st.caption(
            "The interval takes these rows as independent: the file has no column that "
            "says which of them belong together."
        )
    elif data.cluster_summary:
        st.caption(f"In the interval, {data.cluster_summary}.")


def _weighted(data: Parts, weights: np.ndarray | None) -> None:
    """Say how these rows count, where those of the data have weights."""
    if column := data.dataset.weight:
        label = short_label(column)
        words = f"Shares are weighted by the file's column {label}."
        if weights is None:
            words = f"Each row counts alike: the file has no weights in {label}."
        message(st.caption, words)


def with_points(
    context: Context, matched: evaluation.Matched, answers: pd.DataFrame
) -> pd.DataFrame:
    """The answers with points, total and risk of the score that was looked at last."""
    if context.task != "classification" or len(context.data.dataset.classes) != 2:
        return answers
    made = explanation_sheet.SCORE.get(explanation_sheet.score_key(context))
    if made is None or not made[0].lines:
        return answers
    score, _ = made
    words = "Points, total and risk by the score of Prototypes"
    if not st.toggle(words, key="apply_points"):
        return answers
    empty = [name for name in score.columns if matched.frame[name].isna().all()]
    if empty:
        without = list_names(empty, 8)
        message(
            st.warning, f"No values here, counted as missing in the score: {without}"
        )
    points = score.points_of_rows(context.data.preparation.transform(matched.frame))
    return answers.join(points.set_axis(answers.index))


#: Rows of the table on the screen; the files have all of them.
MOST_SHOWN = 1000
#: Columns of a file that can be chosen from.
MOST_OFFERED = 1000


def carried(file: OpenFile, data: Parts) -> list[str]:
    """Let the visitor choose which columns the predictions carry of the file."""
    names = list(file.content.columns[:MOST_OFFERED])
    chosen = st.multiselect(
        "Columns of the file to carry into the predictions",
        names,
        evaluation.suggest_carried(data.dataset, names),
        short_label,
        key=f"carried_{file.id}",
        help="At first those that tell rows apart: groups, times, and ignored columns "
        "in which no value repeats.",
    )
    words = f"Carried: {list_names(chosen, 8)}" if chosen else "No column is carried"
    message(st.caption, f"{words}. The table and all downloads have the same columns.")
    return chosen


def shown(file: OpenFile, names: list[str], answers: pd.DataFrame) -> None:
    """The first rows on the screen, and all of them as files."""
    table = evaluation.carry_columns(file.content, names, answers)
    show_table(table.iloc[:MOST_SHOWN], hide_index=False, key="answers")
    if len(table) > MOST_SHOWN:
        st.caption(f"The first {MOST_SHOWN:,} of {len(table):,} rows.")
    with st.container(horizontal=True):
        for title, (ending, write) in TABLE_WRITERS.items():
            download(
                f"All predictions as {title}",
                partial(_written, table, write),
                f"predictions{ending}",
                key=f"answers_download_{title}",
            )


def _written(table: pd.DataFrame, write) -> bytes:
    return write(table.reset_index())


#: Facts of a row that are carried from the file, and characters of each.
_MOST_FACTS, _MOST_TEXT = 6, 60


def sheet(
    context: Context, file: OpenFile, matched: evaluation.Matched, carried: pd.DataFrame
) -> None:
    """Offer a page for each row that the visitor chooses."""
    some = carried.iloc[:, :_MOST_FACTS]

    def facts(place: int) -> dict[str, str]:
        row = some.iloc[place].items()
        facts = {name: f"{v!s:.{_MOST_TEXT}}" for name, v in row if pd.notna(v)}
        if matched.labels is not None and pd.notna(truth := matched.labels.iloc[place]):
            facts["True value"] = f"{truth!s:.{_MOST_TEXT}}"
        return facts

    numbers = np.arange(1, len(matched.frame) + 1)
    every = np.arange(len(numbers))
    rows = explanation_sheet.Rows(matched.frame, every, numbers, file.name, facts)
    explanation_sheet.offer(context, context.model(), f"apply_{file.id}", rows)
