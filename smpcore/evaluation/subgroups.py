"""How good a model is in parts of the rows that a column makes.

A *group* is a band of a number or a level of a category; a *measure* has a value for
each row, whose mean over the rows of a group is compared with that over all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from smpcore.datasets import (
    Dataset,
    as_numbers,
    as_text,
    plain_number,
    plural,
    read_times,
    shown,
)
from smpcore.errors import SmpcoreError
from smpcore.evaluation.differences import (
    LEVEL,
    Difference,
    Sample,
    corrected,
    difference_of_means,
    difference_of_shares,
)
from smpcore.evaluation.scores import (
    STUDENT,
    chosen_rows,
    class_numbers,
    mean_interval,
    rate,
)
from smpcore.readouts import READOUTS, number_text

#: From fewer rows a group's figure is marked, and not tested.
FEWEST_ROWS = 10
#: Levels that are groups of their own; the others are one group.
MOST_LEVELS = 10
#: A number with so few different values has a group for each.
_FEW_VALUES = 6
_N_BANDS = 4


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups that a column makes."""

    column: str
    names: tuple[str, ...]
    codes: np.ndarray


@dataclass(frozen=True, eq=False)
class RowMeasure:
    """A value for each row, whose mean says how good a model is.

    Parameters
    ----------
    name : str
        What the mean is.
    values : ndarray of shape (n_rows,)
        NaN where a row does not count.
    is_share : bool
        Whether the values are hits (1) and misses (0).
    """

    name: str
    values: np.ndarray
    is_share: bool

    def text(self, value: float) -> str:
        """A mean, or a difference of means, for people."""
        return number_text(value, "%" if self.is_share else "target")


def group_rows(
    dataset: Dataset,
    column: str,
    rows: np.ndarray,
    values: pd.Series | None = None,
) -> Grouping:
    """Divide a table by one of its columns, whatever its role.

    Bands and levels are determined on some rows, those of training, so that they stay
    the same whichever part is looked at, and in other tables.

    Parameters
    ----------
    dataset : Dataset
        Table with the column.
    column : str
        Name of the column: a number is cut at its quartiles, rounded to readable
        numbers, and so is the time; of a category the most frequent levels are groups,
        and the others one.
    rows : ndarray of int
        Numbers of the rows that determine bands and levels.
    values : Series of shape (n_others,), optional
        The column of another table, whose rows are grouped; by default the table's own.

    Returns
    -------
    Grouping

    Raises
    ------
    SmpcoreError
        If there is no such column, it makes no two groups, or no level has enough rows.
    """
    if column not in dataset.roles:
        raise SmpcoreError(
            f"column={shown(column)} should be a column of the table; choose another."
        )
    seen = dataset.frame[column]
    values = seen if values is None else values.reset_index(drop=True)
    if dataset.kinds[column] == "number":
        known, numbers = as_numbers(seen)[rows], as_numbers(values)
        known = known[np.isfinite(known)]
        if len(np.unique(known)) > _FEW_VALUES:
            return _two_or_more(column, *_bands(known, numbers))
        order = [str(text) for text in as_text(pd.Series(np.unique(known)))]
        values = pd.Series(numbers)
    elif column == dataset.time:
        times = dataset.times if values is seen else read_times(values)
        old = dataset.times[rows], as_text(seen.iloc[rows])
        return _two_or_more(column, *_periods(*old, times))
    else:
        order = _frequent(column, as_text(seen.iloc[rows]))
    return _two_or_more(column, *_levels(as_text(values), order))


def _two_or_more(column: str, names: list[str], codes: np.ndarray) -> Grouping:
    """Groups that have rows, numbered anew."""
    used, codes = np.unique(codes, return_inverse=True)
    if len(used) < 2:
        raise SmpcoreError(
            f"column={shown(column)} has one value in all rows, which makes no groups; "
            "choose another column."
        )
    return Grouping(column, tuple(names[code] for code in used), codes)


def _bands(known: np.ndarray, numbers: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names and codes of bands between rounded quartiles; missing values are last."""
    edges = _readable(np.quantile(known, np.arange(1, _N_BANDS) / _N_BANDS), known)
    texts = [plain_number(edge, 15) for edge in edges]
    names = [f"below {texts[0]}"]
    names += [f"{a} to below {b}" for a, b in pairwise(texts)]
    names += [f"{texts[-1]} or more", "missing value"]
    codes = np.searchsorted(edges, numbers, side="right")
    return names, np.where(np.isfinite(numbers), codes, len(edges) + 1)


def _readable(quantiles: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Quantiles with as few digits as leave the bands nearly what they were.

    An edge is moved past at most a twentieth of the rows.
    """
    spread = np.subtract(*np.quantile(known, [0.95, 0.05])) or np.ptp(known)
    first = math.floor(math.log10(spread))
    wanted = np.searchsorted(np.sort(known), quantiles)
    for step in (10.0 ** (first - i) * half for i in range(16) for half in (1, 0.5)):
        edges = np.unique(np.round(np.round(quantiles / step) * step, 15))
        moved = np.searchsorted(np.sort(known), np.round(quantiles / step) * step)
        if np.all(np.abs(moved - wanted) <= len(known) / 20):
            break
    # The lowest band would be empty below an edge at the smallest value.
    inside = edges[(edges > known.min()) & (edges <= known.max())]
    return inside if len(inside) else np.array([np.unique(known)[1]])


def _periods(
    known: np.ndarray, texts: pd.Series, times: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Names and codes of four periods of about equally many of the known rows."""
    ordered = np.argsort(known, kind="stable")
    first = ordered[np.arange(1, _N_BANDS) * len(ordered) // _N_BANDS]
    edges, at = np.unique(known[first], return_index=True)
    starts = [str(text) for text in texts.iloc[first[at]]]
    names = [f"before {starts[0]}"]
    names += [f"{a} to before {b}" for a, b in pairwise(starts)]
    return [*names, f"{starts[-1]} or later"], np.searchsorted(edges, times, "right")


def _frequent(column: str, texts: pd.Series) -> list[str]:
    """The most frequent levels, unless none has enough rows."""
    counts = texts.value_counts()
    if len(counts) > MOST_LEVELS and counts.iloc[0] < FEWEST_ROWS:
        raise SmpcoreError(
            f"column={shown(column)} has {len(counts):,} levels in "
            f"{len(texts):,} training rows, and none has {FEWEST_ROWS} rows; choose a "
            "column whose values repeat."
        )
    return [str(level) for level in counts.index[:MOST_LEVELS]]


def _levels(texts: pd.Series, order: list[str]) -> tuple[list[str], np.ndarray]:
    """Names and codes of these levels, of all others, and of missing values."""
    codes = pd.Index(order).get_indexer(texts)
    missing = texts.isna().to_numpy()
    others = (codes < 0) & ~missing
    n_others = texts[others].nunique()
    codes = np.where(others, len(order), np.where(missing, len(order) + 1, codes))
    rest = f"{plural(n_others, 'other level')}"
    return [*order, rest, "missing value"], codes


def row_measures(
    classes: np.ndarray | None,
    answers: np.ndarray,
    y: np.ndarray,
    probabilities: np.ndarray | None = None,
    intervals: np.ndarray | None = None,
) -> list[RowMeasure]:
    """What can be compared between groups of rows.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,), sorted, or None
        Labels of the model; None of a regression.
    answers : ndarray of shape (n_rows,)
        What it predicts for rows, none of them used in the fit for an honest figure.
    y : ndarray of shape (n_rows,)
        True label or number of each row.
    probabilities : ndarray of shape (n_rows, n_classes), optional
        Of a calibrated classifier.
    intervals : ndarray of shape (n_rows, 2), optional
        Of a calibrated regression, for rows that it has not learned from; NaN of rows
        that have none.

    Returns
    -------
    list of RowMeasure
        Accuracy, the recall of each class, and calibration-in-the-large (observed less
        predicted frequency of a class) where there are probabilities; of a regression
        the mean absolute error, calibration-in-the-large (actual less predicted) and
        the coverage of its intervals.
    """
    if classes is None:
        error = np.asarray(y, np.float64) - answers
        measures = [
            RowMeasure(READOUTS["mae"].label, np.abs(error), False),
            RowMeasure("Mean of actual - predicted", error, False),
        ]
        if intervals is not None:
            low, high = intervals.T
            inside = np.where(np.isnan(low), np.nan, (low <= y) & (y <= high))
            name = f"Coverage of the {READOUTS['interval'].label}"
            measures.append(RowMeasure(name, inside, True))
        return measures
    truth, hits = class_numbers(y, classes), (answers == y) * 1.0
    measures = [RowMeasure(READOUTS["accuracy"].label, hits, True)]
    for number, label in enumerate(classes):
        values = np.where(truth == number, hits, np.nan)
        measures.append(RowMeasure(f"Recall of {label}", values, True))
    if probabilities is not None:
        for number, label in enumerate(classes):
            values = (truth == number) - probabilities[:, number]
            name = f"Observed - predicted frequency of {label}"
            measures.append(RowMeasure(name, values, False))
    return measures


def subgroups(
    grouping: Grouping,
    rows: np.ndarray,
    measures: Sequence[RowMeasure],
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> pd.DataFrame:
    """Compare each group with all other rows, corrected for the number of groups.

    The intervals of the values hold together (Bonferroni: each at 5 % divided by the
    number of groups): Wilson's for shares, Student's for means. P-values and intervals
    of the differences are corrected by Holm's procedure over the groups that have
    `FEWEST_ROWS` rows; smaller groups are marked and not tested.

    Parameters
    ----------
    grouping : Grouping
        Of the table, from `group_rows`.
    rows : ndarray of int, shape (n_rows,)
        Numbers of the rows that are looked at.
    measures : sequence of RowMeasure
        Values of these rows, from `row_measures`.
    clusters, weights : ndarray of shape (n_rows,), optional
        Which rows depend on each other; how much each counts.

    Returns
    -------
    DataFrame
        A line for each measure and each group that has rows: ``measure``, ``group``,
        ``rows`` (that count), ``value``, ``low``, ``high``, ``interval by`` (whose
        method), ``few`` (fewer than `FEWEST_ROWS`), ``rest`` (value of all other rows),
        ``difference``, ``difference_low``, ``difference_high``, ``p_value``.
    """
    codes = grouping.codes[rows]
    lines: list[dict] = []
    for measure in measures:
        counts = np.isfinite(measure.values)
        columns = measure.values, clusters, weights
        present = np.unique(codes[counts])
        level = LEVEL / max(1, len(present))
        samples = {
            code: (
                Sample(*chosen_rows(counts & (codes == code), *columns)),
                Sample(*chosen_rows(counts & (codes != code), *columns)),
            )
            for code in present
        }
        tested = [
            code
            for code in present
            if min(len(values) for values, *_ in samples[code]) >= FEWEST_ROWS
        ]
        compare = difference_of_shares if measure.is_share else difference_of_means
        tests = [partial(compare, *samples[code]) for code in tested]
        # Each of two groups is the other's rest: both tests are one.
        corrections = corrected(tests, is_one=len(present) == 2)
        differences = dict(zip(tested, corrections, strict=True))
        for code in present:
            line = {"measure": measure.name, "group": grouping.names[code]}
            line |= _value(samples[code][0], measure.is_share, level)
            rest, _, of_rest = samples[code][1]
            line["rest"] = np.average(rest, weights=of_rest) if len(rest) else np.nan
            lines.append(line | _difference(differences.get(code)))
    return pd.DataFrame(lines)


def _value(sample: Sample, is_share: bool, level: float) -> dict:
    """Mean of a group with its interval, and how many rows it is of."""
    values, clusters, weights = sample
    mean, method = float(np.average(values, weights=weights)), STUDENT
    if is_share:
        _, low, high, method = rate(values > 0, clusters, level, weights).estimate
    else:
        low, high = mean_interval(values, clusters, level, weights)
    return {
        "rows": len(values),
        "value": mean,
        "low": float(low),
        "high": float(high),
        "interval by": method if np.isfinite(low) else "",
        "few": len(values) < FEWEST_ROWS,
    }


def _difference(one: Difference | None) -> dict:
    names = ("difference", "difference_low", "difference_high", "p_value")
    if one is None:
        return dict.fromkeys(names, np.nan)
    return dict(zip(names, (one.mean, one.low, one.high, one.p_value), strict=True))
