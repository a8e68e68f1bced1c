"""New rows: matched to the columns that a model knows, answered, old ones told."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pandas as pd

from smpcore.codegen import used_inputs
from smpcore.datasets import (
    Dataset,
    Preparation,
    Split,
    apply_steps,
    as_numbers,
    as_text,
    describe_steps,
    listed,
    plural,
    shown,
)
from smpcore.errors import DatasetError, SmpcoreError
from smpcore.evaluation.scores import class_numbers
from smpcore.explain import doubts
from smpcore.model import PrototypeModel

#: Share of the rows that an interval covers.
COVERAGE = 0.9


@dataclass(frozen=True, eq=False)
class Matched:
    """A table whose columns have found their places.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_inputs)
        The columns of the training table, under its names and cleaned as it was; one
        that is not there and not needed has no values.
    labels : Series of shape (n_rows,) or None
        The target, if the table has it.
    notices : tuple of str
        What differs from the training table.
    """

    frame: pd.DataFrame
    labels: pd.Series | None
    notices: tuple[str, ...]


def match_columns(
    frame: pd.DataFrame,
    preparation: Preparation,
    target: str,
    renamed: Mapping[str, str | None] | None = None,
    needed: Collection[str] | None = None,
    carried: Collection[str] = (),
) -> Matched:
    """Find the columns that a model asks for in another table.

    Names that differ only in case, spaces, dots, dashes or underscores are the same,
    as long as no two columns claim one place; every such match is said.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Table with new rows; its columns may have other names.
    preparation : Preparation
        Of the model's training rows.
    target : str
        Name of the target.
    renamed : mapping of str to str, optional
        Column asked for -> column of `frame`; None: there is none, its values count
        as missing.
    needed : collection of str, optional
        Columns that the model uses (`used_inputs`), all by default. The others are
        taken where they are there.
    carried : collection of str, optional
        Columns that the caller carries into the result: no notice names them.

    Returns
    -------
    Matched

    Raises
    ------
    DatasetError
        If there are no rows, or a needed column is missing and not in `renamed`.
    """
    if frame.empty:
        raise DatasetError("The table has no rows; choose a file with rows of data.")
    renamed = dict(renamed or {})
    inputs = [spec.name for spec in preparation.inputs]
    every = preparation.source_columns(inputs)
    needed_names = every if needed is None else preparation.source_columns(needed)
    source_of, notices = _places(frame, [*every, target], renamed)
    absent = [
        name for name in needed_names if name not in source_of and name not in renamed
    ]
    if absent:
        error = DatasetError(
            f"The table has no column {listed(absent)}; say which of its columns "
            f"{'it is' if len(absent) == 1 else 'they are'}, or that the values are "
            "missing."
        )
        error.absent = absent
        raise error
    filled = [name for name in needed_names if name not in source_of]
    if filled:
        notices.append(
            f"Not in the table: {listed(filled)}; all values count as missing, so that "
            "the training median, or no level of a category (of two levels the "
            "commoner), takes their place."
        )
    taken = {*source_of.values(), *carried}
    extra = [name for name in frame if name not in taken]
    if extra:
        notices.append(f"Not used: {listed(extra)}.")
    empty = pd.Series(np.nan, index=frame.index)
    there = [name for name in (*every, target) if name in source_of or name in every]
    columns = {n: frame[source_of[n]] if n in source_of else empty for n in there}
    raw = pd.DataFrame(columns)
    cleaned = apply_steps(raw, preparation.cleaning)
    if changes := describe_steps(preparation.cleaning, raw, only_changes=True):
        notices.append(f"Cleaned as the training rows were: {' '.join(changes)}")
    notices += _retyped(cleaned, preparation, needed_names)
    labels = cleaned[target] if target in cleaned else None
    return Matched(cleaned[inputs], labels, tuple(notices))


def _plain(name: str) -> str:
    return re.sub(r"[\s._-]+", "", name).casefold()


def _places(
    frame: pd.DataFrame, wanted: list[str], renamed: Mapping[str, str | None]
) -> tuple[dict[str, str], list[str]]:
    """Which column of the table each wanted one is, and what was taken as the same."""
    source_of = {name: column for name, column in renamed.items() if column in frame}
    source_of |= {
        name: name for name in wanted if name in frame and name not in renamed
    }
    free = [column for column in frame if column not in source_of.values()]
    notices = []
    for name in wanted:
        alike = [column for column in free if _plain(column) == _plain(name)]
        rivals = [w for w in wanted if w not in source_of and _plain(w) == _plain(name)]
        if name in source_of or name in renamed or len(alike) != 1 or len(rivals) != 1:
            continue
        source_of[name] = alike[0]
        notices.append(f"Column {shown(alike[0])} was taken for {shown(name)}.")
    return source_of, notices


def _retyped(
    columns: pd.DataFrame, preparation: Preparation, names: list[str]
) -> list[str]:
    """Say which numbers are no numbers in the new table."""
    notices = []
    for spec in preparation.inputs:
        column = columns[spec.name]
        if spec.kind != "number" or spec.name not in names:
            continue
        lost = np.isnan(as_numbers(column)) & column.notna().to_numpy()
        if lost.any():
            first = column.iloc[int(lost.argmax())]
            notices.append(
                f"Column {shown(spec.name)} should hold numbers; {lost.sum():,} of "
                f"{len(lost):,} values are none, or too large ({shown(first)} is the "
                "first), and count as missing."
            )
    return notices


def answer_rows(
    model: PrototypeModel,
    preparation: Preparation,
    frame: pd.DataFrame,
    whole: Preparation | None = None,
) -> pd.DataFrame:
    """Answer rows, and say how far each is from what the model has seen.

    Parameters
    ----------
    model : PrototypeModel
        Model that answers; its features are those of `preparation`.
    preparation : Preparation
        Preparation that the model was fitted with.
    frame : DataFrame of shape (n_rows, n_inputs)
        As `match_columns` gives it.
    whole : Preparation, optional
        Preparation whose other columns are checked as well; default: `preparation`.

    Returns
    -------
    DataFrame of shape (n_rows, ...)
        ``out of range``; ``answer``; for a classifier ``margin`` (score of the answer
        less that of the runner-up) and one ``score of ...`` per class; of a model
        with a band ``not sure``: which answers lie within it. ``out of
        range``, ``missing`` and ``unseen`` (categories) name the row's values that the
        model uses, and ``not used by this model`` those out of range or unseen that it
        does not use. Of a calibrated classifier also ``probability`` (of the answer),
        ``doubt`` (see `smpcore.explain.doubts`) and one ``probability of ...`` per
        class; of a calibrated regression both ends of the 90 % interval.

    Raises
    ------
    SmpcoreError
        If a score is not finite.
    """
    X = preparation.transform(frame)
    scores, is_far = model.scores(X), model.far_outside(X).any(axis=1)
    if not np.isfinite(scores).all():
        raise SmpcoreError(
            "Some values are so large that scores overflow; correct them in the file."
        )
    whole, used = whole or preparation, used_inputs(model, preparation)
    odd = whole.report_rows(frame, used)
    table = {"out of range": odd.pop("out of range")}
    if model.classes is None:
        table["answer"] = scores[:, 0]
        if model.calibration is not None:
            limits = model.calibration.interval(scores[:, 0], COVERAGE)
            for end, values in zip(("low", "high"), limits.T, strict=True):
                name = f"{100 * COVERAGE:.0f} % interval {end}"
                table[name] = np.where(is_far, np.nan, values)
    else:
        numbers = model.decide(scores)
        table["answer"] = model.classes[numbers]
        if model.calibration is not None:
            shares = model.calibration.probabilities(scores)
            shares[is_far] = np.nan
            table["probability"] = shares[np.arange(len(shares)), numbers]
            table["doubt"] = doubts(model, X)
            for name, column in zip(model.classes, shares.T, strict=True):
                table[f"probability of {name}"] = column
        if model.band:
            table["not sure"] = np.where(model.sure(X), "", "within the band")
        two_best = np.sort(scores, axis=1)[:, -2:]
        table["margin"] = two_best[:, 1] - two_best[:, 0]
        for name, column in zip(model.classes, scores.T, strict=True):
            table[f"score of {name}"] = column
    table |= odd
    others = {spec.name for spec in whole.inputs}.difference(used)
    idle = whole.report_rows(frame, others)
    both = zip(idle["out of range"], idle["unseen"], strict=True)
    table["not used by this model"] = ["; ".join(filter(None, pair)) for pair in both]
    return pd.DataFrame(table, index=frame.index)


def suggest_carried(dataset: Dataset, columns: Collection[str]) -> list[str]:
    """Columns that tell rows apart: groups, times, and ignored ones without repeats.

    Parameters
    ----------
    dataset : Dataset
        Whose roles say what a column is for.
    columns : collection of str
        Columns of another table.

    Returns
    -------
    list of str
        Those of `columns` that its answers should carry.
    """

    def tells_apart(name: str, role: str) -> bool:
        if role in ("group", "time"):
            return True
        is_idle = role == "ignore" and name not in dataset.forbidden
        return is_idle and dataset.frame[name].is_unique

    roles = dataset.roles.items()
    return [name for name, role in roles if name in columns and tells_apart(name, role)]


def carry_columns(
    frame: pd.DataFrame, names: Collection[str], answers: pd.DataFrame
) -> pd.DataFrame:
    """Put columns of a table before the answers to its rows.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Table with the rows that were answered, in their order.
    names : collection of str
        Columns to carry, as they are in the file.
    answers : DataFrame of shape (n_rows, ...)
        From `answer_rows`.

    Returns
    -------
    DataFrame of shape (n_rows, n_names + ...)
        A carried column with the name of an answer's column has "(file)" behind it.
    """
    carried = frame[list(names)].set_axis(answers.index, axis=0)
    taken, titles = {*answers.columns, *names}, {}
    for name in names:
        title = name
        while title in answers.columns or (title != name and title in taken):
            title += " (file)"
        taken.add(title)
        titles[name] = title
    return pd.concat([carried.rename(columns=titles), answers], axis=1)


def labelled(
    labels: pd.Series, classes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Read the labels of new rows as the training labels were read.

    Parameters
    ----------
    labels : Series of shape (n_rows,)
        Raw labels of the new rows; an empty one is no label.
    classes : ndarray of shape (n_classes,) or None
        The model's; None for regression.

    Returns
    -------
    rows : ndarray of int
        Positions of the rows whose label counts.
    y : ndarray of shape (n_counted,)
    notices : list of str
        Which rows were left out, and which classes the model has never seen.
    """
    numeric = classes is None or classes.dtype.kind in "iu"
    values = as_numbers(labels) if numeric else as_text(labels).to_numpy(object)
    rows = np.flatnonzero(~pd.isna(values))
    notices = []
    if lost := len(labels) - rows.size:
        what = "number to compare" if classes is None else "label"
        notices.append(f"Not scored: {plural(lost, 'row')} without a readable {what}.")
    y = np.asarray(values[rows], np.float64 if numeric else np.str_)
    if classes is not None:
        if numeric and (y == y.round()).all():  # 7, not 7.0
            y = y.astype(classes.dtype)
        strange = np.setdiff1d(y, classes)
        if strange.size:
            count = int(np.isin(y, strange).sum())
            notices.append(
                f"{plural(count, 'row')} of a class that the model has never seen "
                f"({listed(strange.tolist())}): no answer is right."
            )
    return rows, y, notices


#: A row that equals rows of several parts counts for the first of these.
_PARTS = ("test", "train", "validation")


def known_rows(
    dataset: Dataset,
    split: Split,
    preparation: Preparation,
    X: np.ndarray,
    matched: Matched,
) -> np.ndarray:
    """Say of each row of another table which part of a data set has an equal one.

    Rows are equal where all their features are, as the models get them, and their
    labels. A column without a value is not compared, nor is a label that the row does
    not have or that is no class of the data set. In tables of few different values
    rows are equal by chance as well.

    Parameters
    ----------
    dataset : Dataset
        Data set whose rows are searched.
    split : Split
        Its parts: row numbers of training, validation and test.
    preparation : Preparation
        Preparation of the training rows.
    X : ndarray of shape (n_samples, n_features)
        Rows of the data set, prepared.
    matched : Matched
        The other table, from `match_columns`.

    Returns
    -------
    ndarray of str, shape (n_rows,)
        ``train``, ``validation``, ``test``, ``left out`` (in no part), or empty: the
        row is new.
    """
    compared = [
        feature
        for spec in preparation.inputs
        if matched.frame[spec.name].notna().any()
        for feature in range(spec.first, spec.first + spec.width)
    ]
    if not compared:
        return np.full(len(matched.frame), "", dtype=object)
    digests, targets = _digests(X[:, compared]), _numbers(dataset, dataset.frame)
    matches: dict[bytes, str] = {}
    left_out = np.setdiff1d(
        np.arange(dataset.n_samples), [r for p in _PARTS for r in getattr(split, p)]
    )
    parts = [("left out", left_out), *((p, getattr(split, p)) for p in _PARTS[::-1])]
    for part, rows in parts:
        for row in rows:
            matches[digests[row]] = matches[digests[row] + targets[row].tobytes()] = (
                part
            )
    keys = _digests(preparation.transform(matched.frame)[:, compared])
    if matched.labels is not None:
        labels = _numbers(dataset, matched.labels.to_frame(dataset.target))
        keys = [
            key if np.isnan(label) else key + label.tobytes()
            for key, label in zip(keys, labels, strict=True)
        ]
    return np.array([matches.get(key, "") for key in keys], dtype=object)


def _digests(X: np.ndarray) -> list[bytes]:
    # Adding 0 turns -0 into 0: equal numbers have equal bytes.
    return [blake2b(row + 0.0, digest_size=16).digest() for row in np.array(X, float)]


def _numbers(dataset: Dataset, frame: pd.DataFrame) -> np.ndarray:
    """The target as numbers; NaN where there is none, or none of the classes."""
    numbers = np.full(len(frame), np.nan)
    rows, y, _ = labelled(frame[dataset.target], dataset.classes)
    if dataset.classes is None:
        numbers[rows] = y + 0.0
        return numbers
    y_encoded = class_numbers(y, dataset.classes)
    numbers[rows] = np.where(y_encoded < 0, np.nan, y_encoded)
    return numbers
