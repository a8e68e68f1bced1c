"""Series in text tables: a row per sample and time, or a row per series."""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

from smpcore.datasets.columns import as_text, is_numeric, parsed_numbers
from smpcore.datasets.display_names import listed, shown
from smpcore.datasets.series import Table, side_by_side, without_end
from smpcore.errors import DatasetError

#: Values of one series lie in one range: spreads of columns differ by no more; of few
#: columns all do, and of so many the next value differs less than any other one.
_MOST_SPREAD, _MOST_OF_FEW, _MANY, _SMOOTH = 20.0, 3.0, 10, 0.8
_LABELS = re.compile(r"(?i)(class|target|labels?)")


def is_row_per_series(frame: pd.DataFrame) -> bool:
    """Whether a table without names is as those of the UCR archive.

    The first column holds whole numbers that repeat, the others numbers of one scale,
    and if they are many, each is near the one before it.
    """
    if frame.shape[1] < 4 or not all(is_numeric(frame[name]) for name in frame):
        return False
    label, X = frame.iloc[:, 0], frame.iloc[:, 1:].to_numpy(np.float64)
    last = X[:, -1][~np.isnan(X[:, -1])]
    whole = not (label % 1).any() and not label.isna().any()
    if not whole or not 2 <= label.nunique() <= len(label) / 2:
        return False
    spread, means = pd.DataFrame(X).std(), pd.DataFrame(X).mean()
    usual = spread.median()
    if X.shape[1] < _MANY:
        alike = max(spread.max(), np.ptp(means)) <= _MOST_OF_FEW * usual
    else:
        steps, any_steps = (
            np.nanmean(np.abs(np.diff(values, axis=1)))
            for values in (X, np.random.default_rng(0).permutation(X, axis=1))
        )
        alike = spread.max() <= _MOST_SPREAD * usual and steps <= _SMOOTH * any_steps
    return bool(alike and (last % 1).any())


def from_rows(frame: pd.DataFrame, n_times: int | None) -> Table:
    """Series of one channel, a row each: the label, then the values."""
    if texts := [name for name in frame.iloc[:, 1:] if not is_numeric(frame[name])]:
        raise DatasetError(
            f"Behind the label each row should hold the numbers of a series, there is "
            f"text in {listed(texts)}; correct it, or read the file as a table."
        )
    X = frame.iloc[:, 1:].to_numpy(np.float64)
    label = as_text(frame.iloc[:, 0]).rename("class")
    series = [without_end(row[None]) for row in X]
    frame, shape, notices = side_by_side(series, ["c1"], label, n_times)
    words = (
        "Without names, and with a label before numbers of one scale: each row is read "
        "as one series, as in the UCR archive; choose 0 rows of names to have a table."
    )
    return frame, shape, [words, *notices]


def from_long(
    frame: pd.DataFrame,
    lines: np.ndarray | None,
    n_times: int | None = None,
    roles: tuple[str, ...] | None = None,
) -> Table:
    """Turn a table with a row per sample and time into one with a row per sample."""
    sample, time, label = _checked(roles or long_roles(list(frame)), list(frame))
    channels = [name for name in frame if name not in (sample, time, label)]
    word = "Row" if lines is None else "Line"
    lines = np.arange(1, len(frame) + 1) if lines is None else lines

    def where(rows: np.ndarray) -> str:
        return f"{word} {lines[rows[0]]}"

    for name in (sample, time, label):
        _require(frame[name].isna(), where, f"has nothing in the column {shown(name)}")
    X = np.empty((1 + len(channels), len(frame)))
    for row, name in zip(X, (time, *channels), strict=True):
        row[:] = parsed_numbers(frame[name])
        words = f"holds text in the column {shown(name)}, which should hold numbers"
        _require(np.isnan(row) & frame[name].notna(), where, words)
    codes, _ = pd.factorize(frame[sample])
    order = np.lexsort((X[0], codes))
    codes, (times, *values) = codes[order], X[:, order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    again = np.append(False, (codes[1:] == codes[:-1]) & (times[1:] == times[:-1]))
    labels, _ = pd.factorize(frame[label])
    first_labels = labels[order][starts][codes]
    for wrong, words in (
        (again, "has a time that its sample already has"),
        (
            labels[order] != first_labels,
            "has another label than its sample has elsewhere",
        ),
    ):
        bad = np.sort(order[wrong])
        name = shown(frame[sample].iloc[bad[0]]) if bad.size else ""
        _require(np.isin(np.arange(len(frame)), bad), where, f"{words} ({name})")
    series = np.split(np.array(values), starts[1:], axis=1)
    column = frame[label].iloc[order[starts]].reset_index(drop=True)
    return side_by_side(series, channels, column, n_times)


def long_roles(names: list[str]) -> tuple[str, str, str]:
    """Guess which columns of a long table are the sample, the time and the label.

    Parameters
    ----------
    names : list of str
        Names of all columns, in their order.

    Returns
    -------
    tuple of str
        The columns named "sample" and "time", and the one named class, target or
        label, else the last one.

    Raises
    ------
    DatasetError
        If no column is named "sample", or none "time".
    """
    by_name = {name.lower(): name for name in reversed(names)}
    absent = [name for name in ("sample", "time") if name not in by_name]
    if absent:
        raise DatasetError(
            f"A long table of series should have the columns 'sample' and 'time', it "
            f"has no {listed(absent)} among {listed(names)}; name them in its first "
            "line."
        )
    sample, time = by_name["sample"], by_name["time"]
    rest = [name for name in names if name not in (sample, time)]
    named = [name for name in rest if _LABELS.fullmatch(name)]
    return sample, time, (named or rest or [time])[-1]


def _checked(roles: tuple[str, ...], names: list[str]) -> tuple[str, ...]:
    """The columns of sample, time and label, if they are three and leave a channel."""
    absent = [name for name in roles if name not in names]
    if absent:
        raise DatasetError(
            f"The long table of series has no column {listed(absent)}, it has "
            f"{listed(names)}; choose its columns of the sample, the time "
            "and the label."
        )
    rest = [name for name in names if name not in roles[:2]]
    if len(rest) < 2:
        raise DatasetError(
            f"A long table of series should have a channel and a label besides "
            f"{listed(roles[:2])}, it has {listed(rest) or 'nothing'}; add them."
        )
    if len(set(roles)) < 3:
        raise DatasetError(
            "The sample, the time and the label of a long table of series should be "
            f"three columns, {listed(roles)} are chosen; choose another."
        )
    return roles


def _require(
    wrong: np.ndarray | pd.Series, where: Callable[[np.ndarray], str], words: str
) -> None:
    rows = np.flatnonzero(wrong)
    if rows.size:
        more = f" (and {rows.size - 1:,} more)" if rows.size > 1 else ""
        raise DatasetError(
            f"{where(rows)}{more} {words}; correct the table, or fetch it again if it "
            "is cut off."
        )
