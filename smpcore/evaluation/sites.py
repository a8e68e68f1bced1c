"""Internal-external validation: each site left out once, each period predicted.

Scores of random rows say how good a model is where it was learned; whether it holds at
a place, or in a time, that it has not seen is another question, which leaving out whole
sites answers (Steyerberg and Harrell, Journal of Clinical Epidemiology 69, 2016).
Training and validation rows take part, test rows never. Of two classes each model has
a calibration of its own, learned on folds of the rows that it was fitted on, so that
its probabilities are judged where it was not learned, too.
"""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pandas as pd

from smpcore.datasets import Dataset, Split, as_text, row_weights, shown
from smpcore.errors import SmpcoreError
from smpcore.evaluation.calibrate import (
    calibrate,
    fold_scores,
    in_order_of,
    scoring_folds,
)
from smpcore.evaluation.calibration_measures import (
    calibration_intercept,
    calibration_slope,
)
from smpcore.evaluation.folds import Fold, clusters, clusters_like, with_answers
from smpcore.evaluation.operating import roc_area
from smpcore.evaluation.scores import class_numbers, score_answers
from smpcore.evaluation.subgroups import FEWEST_ROWS, group_rows
from smpcore.methods.shared.base import PrototypeEstimator
from smpcore.model import Calibration
from smpcore.readouts import READOUTS, Estimate

#: A column with more values makes no sites.
MOST_SITES = 20
#: What is told of probabilities at a site.
_CALIBRATION = "Calibration intercept", "Calibration slope"


@dataclass(frozen=True, eq=False)
class SiteScores:
    """How good models are at sites, or in periods, that they have not seen.

    Parameters
    ----------
    column : str
        What parts the rows.
    in_time : bool
        Whether the parts are periods, each scored by a model of all earlier rows.
    lines : DataFrame
        For each part: ``group``, ``fitted on`` (rows), ``rows``, of two classes
        ``events`` (rows of the outcome), ``note``, and of each measure ``measure``,
        ``measure low`` and ``measure high``, the ends of its 95 % interval, and
        ``measure by``, whose method they are of.
    measures : tuple of str
        Those of the lines: accuracy, of two classes AUC; of a regression the mean
        absolute error; of two classes intercept and slope of the calibration.
    unused : int
        Rows without a value in the column, which no model learns from.
    """

    column: str
    in_time: bool
    lines: pd.DataFrame
    measures: tuple[str, ...]
    unused: int = 0

    def summary(self) -> pd.DataFrame:
        """Mean over the parts, each weighted equally, and range, of each measure."""
        values = self.lines[list(self.measures)]
        columns = {"measure": self.measures, "parts": values.count()}
        columns |= {"mean": values.mean(), "lowest": values.min()}
        return pd.DataFrame(columns | {"highest": values.max()}).reset_index(drop=True)


def site_columns(dataset: Dataset, split: Split) -> list[str]:
    """Columns that `internal_external` can part the rows by.

    Parameters
    ----------
    dataset : Dataset
        Table; the columns that make its answers are left out.
    split : Split
        Its training and validation rows are looked at.

    Returns
    -------
    list of str
        Those of few values first, two of which have `FEWEST_ROWS` rows; then the time.
    """
    asks, rows = dataset.follow_up, _open_rows(split)
    answers = {dataset.target} | ({asks.time, asks.event} if asks else set())
    columns = [n for n in dataset.roles if n not in answers | {dataset.time}]
    sites = []
    for name in columns:
        counts = dataset.frame[name].iloc[rows].value_counts()
        if len(counts) <= MOST_SITES and (counts >= FEWEST_ROWS).sum() >= 2:
            sites.append(name)
    return [*sites, dataset.time] if dataset.time else sites


def _open_rows(split: Split) -> np.ndarray:
    return np.sort(np.concatenate([split.with_censored, split.validation]))


def internal_external(
    estimator: PrototypeEstimator,
    dataset: Dataset,
    split: Split,
    column: str,
    *,
    executor: Executor | None = None,
    stop: np.ndarray | None = None,
    progress: np.ndarray | None = None,
) -> SiteScores:
    """Leave each site out once: learn from the others, and score its rows.

    The preparation is learned without the site, too. Rows of a group that has rows at
    the site are not learned from either, unless the sites are these groups. By the time
    column, periods of about equally many rows are in place of sites, and each after
    the first is scored by a model of all earlier ones.

    Parameters
    ----------
    estimator : PrototypeEstimator
        Model to fit without each site; itself it stays unfitted.
    dataset : Dataset
        Table to learn from.
    split : Split
        Its training and validation rows take part; its test rows never do.
    column : str
        What parts the rows: any but the target, of at most `MOST_SITES` values. Values
        of fewer than `FEWEST_ROWS` rows are learned from, and not left out.
    executor : Executor, optional
        Where the fits run, as in `out_of_fold`.
    stop : ndarray of int64, shape (1,), optional
        Ends soon after this becomes non-zero.
    progress : ndarray of float64, shape (1,), optional
        Receives the share of the fits that are done.

    Returns
    -------
    SiteScores

    Raises
    ------
    SmpcoreError
        If the column makes no two sites, a fit fails, or it was stopped.
    """
    rows = _open_rows(split)
    in_time = column == dataset.time
    names, codes = (_periods if in_time else _sites)(dataset, column, rows)
    drawn = with_answers(_folds(dataset, column, rows, names, codes), dataset)
    able = [fold for fold in drawn if len(fold.held_out) and _can_fit(dataset, fold)]
    if not able:
        raise SmpcoreError(
            f"column={shown(column)} leaves no site whose other rows have two classes; "
            "choose another column."
        )
    options = {"executor": executor, "stop": stop, "progress": progress}
    calibrated = able if _is_binary(dataset) else []
    inner_folds = {one: _inner_folds(dataset, one) for one in calibrated}
    inner = [one for drawn_inside in inner_folds.values() for one in drawn_inside]
    scored = fold_scores(estimator, dataset, [*able, *inner], **options)
    by_fold, lines = dict(zip([*able, *inner], scored, strict=True)), []
    for fold in drawn:
        line = {"group": names[fold.number], "fitted on": len(fold.train)}
        line |= {"rows": len(fold.held_out)}
        learned = _calibration(dataset, fold, inner_folds.get(fold, []), by_fold)
        scores = by_fold.get(fold)
        lines.append(line | _scores(dataset, column, fold, scores, learned))
    labels = [READOUTS["mae" if dataset.classes is None else "accuracy"].label]
    if _is_binary(dataset):
        labels += ["AUC", *_CALIBRATION]
    unused = int((codes < 0).sum())
    return SiteScores(column, in_time, pd.DataFrame(lines), tuple(labels), unused)


def _is_binary(dataset: Dataset) -> bool:
    return dataset.classes is not None and len(dataset.classes) == 2


def _inner_folds(dataset: Dataset, fold: Fold) -> list[Fold]:
    """Folds of the rows that a fold learns from; none where none can be drawn."""
    with suppress(SmpcoreError):
        inner = scoring_folds(dataset, fold.train, fold.with_censored)
        if all(len(one.held_out) and _can_fit(dataset, one) for one in inner):
            return inner
    return []


def _calibration(
    dataset: Dataset,
    fold: Fold,
    inner: list[Fold],
    scored: dict[Fold, np.ndarray],
) -> Calibration | None:
    """What the rows that a fold learns from say of its model's probabilities."""
    if dataset.classes is None:
        return None
    of_folds = [scored[one] for one in inner]
    scores = in_order_of(fold.train, dataset, inner, of_folds)
    of_rows = dataset.y[fold.train], dataset.classes, clusters(dataset, fold.train)
    weights = row_weights(dataset, fold.with_censored, fold.train)
    with suppress(SmpcoreError):
        return calibrate(scores, *of_rows, weights)
    return None


def _can_fit(dataset: Dataset, fold: Fold) -> bool:
    fewest = 1 if dataset.classes is None else 2
    return len(np.unique(dataset.y[fold.train])) >= fewest


def _sites(
    dataset: Dataset, column: str, rows: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Names of the values, and which one each row has; -1: none."""
    if column not in dataset.roles or column == dataset.target:
        raise SmpcoreError(
            f"column={shown(column)} should be a column other than the target; choose "
            "another."
        )
    codes, names = pd.factorize(as_text(dataset.frame[column].iloc[rows]), sort=True)
    often = (np.bincount(codes[codes >= 0]) >= FEWEST_ROWS).sum()
    if often < 2 or len(names) > MOST_SITES:
        raise SmpcoreError(
            f"column={shown(column)} has {len(names)} values in the open rows, "
            f"{often} of them with {FEWEST_ROWS} rows or more; choose a column with 2 "
            f"to {MOST_SITES} values, two of which have so many."
        )
    return [str(name) for name in names], codes


def _periods(
    dataset: Dataset, column: str, rows: np.ndarray
) -> tuple[list[str], np.ndarray]:
    grouping = group_rows(dataset, column, rows)
    return list(grouping.names), grouping.codes[rows]


def _folds(
    dataset: Dataset,
    column: str,
    rows: np.ndarray,
    names: list[str],
    codes: np.ndarray,
) -> list[Fold]:
    """A fold for each site that is left out; none of the first period."""
    in_time, drawn = column == dataset.time, []
    groups = None if dataset.groups is None else dataset.groups[rows]
    for number in range(in_time, len(names)):
        held_out = codes == number
        if held_out.sum() < FEWEST_ROWS:
            continue
        rest = (codes < number if in_time else ~held_out) & (codes >= 0)
        if groups is not None:
            rest &= ~np.isin(groups, groups[held_out])
        drawn.append(Fold(rows[rest], rows[held_out], 0, number))
    return drawn


def _scores(
    dataset: Dataset,
    column: str,
    fold: Fold,
    scores: np.ndarray | None,
    learned: Calibration | None,
) -> dict[str, object]:
    """Measures of one site with their intervals, and what there is to be noted."""
    rows, classes = fold.held_out, dataset.classes
    y, line = dataset.y[rows], {}
    two = _is_binary(dataset)
    if two:
        outcome = 1 if dataset.outcome_code is None else dataset.outcome_code
        events = class_numbers(y, classes) == outcome
        line["events"] = int(events.sum())
    label = READOUTS["mae" if classes is None else "accuracy"].label
    if scores is None:
        for name in (label, "AUC", *_CALIBRATION) if two else (label,):
            line |= _columns(name, Estimate(np.nan))
        return line | {"note": "not fitted: too few rows or one class elsewhere"}
    beside = _clusters(dataset, column, rows)
    beside = beside, row_weights(dataset, fold.with_censored, rows)
    answers = scores.ravel()
    if classes is not None:  # a class that the others do not have is never the answer
        known = np.nan_to_num(scores, nan=-np.inf)
        answers = classes[known.argmax(axis=1)]
    result = score_answers(y, answers, classes, *beside)
    line |= _columns(label, result.estimate)
    if two:
        lead = scores[:, outcome] - scores[:, 1 - outcome]
        line |= _columns("AUC", roc_area(lead, events, *beside))
        line |= _of_probabilities(learned, scores, outcome, events, beside)
    one = classes is not None and len(np.unique(y)) == 1
    return line | {"note": "one class" if one else ""}


def _of_probabilities(
    learned: Calibration | None,
    scores: np.ndarray,
    outcome: int,
    events: np.ndarray,
    beside: tuple[np.ndarray | None, np.ndarray | None],
) -> dict[str, float | str]:
    """Intercept and slope of one site, by the calibration of the others."""
    values = Estimate(np.nan), Estimate(np.nan)
    if learned is not None:
        shares = learned.probabilities(scores)[:, outcome]
        values = (
            calibration_intercept(shares, events, *beside),
            calibration_slope(shares, events, *beside),
        )
    lines = map(_columns, _CALIBRATION, values)
    return {name: value for line in lines for name, value in line.items()}


def _clusters(dataset: Dataset, column: str, rows: np.ndarray) -> np.ndarray | None:
    """Which rows of a site depend on each other; the site itself is no cluster."""
    if dataset.roles[column] == "group":
        return clusters_like(dataset, dataset.frame.iloc[rows].drop(columns=column))
    return clusters(dataset, rows)


def _columns(label: str, estimate: Estimate) -> dict[str, float | str]:
    names = label, f"{label} low", f"{label} high", f"{label} by"
    return dict(zip(names, estimate, strict=True))
