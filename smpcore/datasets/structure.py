"""What the values of a table say about its rows: whose they are, and when they came.

No name of a column is understood: a key of patients is known by its rows being alike,
whatever it is called. What is proposed is never done unasked.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from smpcore.datasets.checks import leaky_features
from smpcore.datasets.cleaning import Steps, step_of, with_step
from smpcore.datasets.columns import Role, is_numeric
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import list_names, plural, shorten_name
from smpcore.datasets.guessing import looks_like_dates, names_groups
from smpcore.datasets.splits import Split
from smpcore.datasets.times import distinct_times, read_times
from smpcore.errors import DatasetError

#: Rows that are compared, columns that they are compared in, keys that are tried.
_MOST_ROWS, _MOST_COLUMNS, _MOST_KEYS = 4_000, 60, 40
#: A key has so many values at least, of so many rows on average, and of each so many
#: are compared; keys that are proposed, at most.
_FEWEST_VALUES, _LEAST_ROWS, _MOST_OF_ONE, _MOST_SAID = 10, 1.2, 4, 3
#: Rows of one value differ by this share of what rows of two values do, at most; and
#: those of the next value by that share of what rows of any two values do, at least.
_ALIKE, _APART = 0.8, 0.8
#: Standard errors between rows of one value and of any two, at least.
_SURE, _N_SHUFFLES = 4.5, 4
#: Chance that so many rows are of one class by accident, at most.
_ACCIDENT = 1e-6

_PREFIX = "[munkMGcdhµμ]?"
_SYMBOL = (
    rf"(?:{_PREFIX}(?:m|g|s|A|K|mol|l|L|Hz|Pa|J|W|Wh|V|Ω|F|T|N|Bq|Sv|bar|eq|U|IU|cal|B)"
    "|min|h|d|years?|months?|weeks?|days?|hours?|mmHg|cmH2O|°|°C|°F|C|F|%|‰|ppm|ppb|dB"
    "|bpm|rpm|inch|in|ft|lbs?|oz|mph|€|[$]|£|USD|EUR)(?:\\^?[23]|[²³])?"
)
_UNIT = rf"{_SYMBOL}(?:[/·*]{_SYMBOL})*"
_BRACKETED = re.compile(rf".*\S[ _]*[(\[]\s*({_UNIT})\s*[)\]]", re.DOTALL)
# Without brackets one letter may be anything, and "min" is mostly the least.
_BEHIND = re.compile(rf".*\S[ _.](?!min$|in$)({_UNIT})(?<=[^ _.][^ _.])", re.DOTALL)


class Proposal(NamedTuple):
    """Something to know about a table, and what can be done about it.

    Parameters
    ----------
    words : str
        What was seen, in one or two sentences.
    action : str
        What can be done, as a button says it; empty: nothing.
    roles : mapping of str to str
        Roles that do it.
    cleaning : tuple of CleaningStep, optional
        All steps of the table then, if they do it.
    is_leak : bool
        Whether scores are too good as it is.
    """

    words: str
    action: str = ""
    roles: Mapping[str, Role] = {}
    cleaning: Steps | None = None
    is_leak: bool = True


def find_structure(dataset: Dataset, split: Split) -> list[Proposal]:
    """Propose roles and units by the values of a table.

    Parameters
    ----------
    dataset : Dataset
        A table; of series and matrices only features that tell the target are named.
    split : Split
        Its parts: only training rows are looked at together with their targets.

    Returns
    -------
    list of Proposal
        Repeated keys whose rows should stay together, columns that only rows of one
        class have, features that predict the target alone, what is constant in each
        group, dates that order the rows, units in names of columns.
    """
    kinds = [_leaks(dataset, split)]
    if not dataset.matrices and not dataset.channels:
        kinds = [_groups(dataset, split), _only_one_class(dataset, split), *kinds]
        kinds += [_constants(dataset), _dates(dataset), _units(dataset)]
    return [proposal for proposals in kinds for proposal in proposals]


def _groups(dataset: Dataset, split: Split) -> Iterator[Proposal]:
    if dataset.groups is not None:
        return
    frame, others = dataset.frame, np.concatenate([split.validation, split.test])
    named = [n for n, role in dataset.roles.items() if role == "ignore"]
    named = [name for name in named if names_groups(frame[name])]
    free = [n for n, r in dataset.roles.items() if r in ("feature", "ignore")]
    keys = dict.fromkeys([*named, *repeated_keys(frame, free)])
    for name in [*keys][:_MOST_SAID]:
        held_out = frame[name].iloc[others].dropna()
        n_known = int(held_out.isin(frame[name].iloc[split.train]).sum())
        codes, _ = pd.factorize(frame[name], use_na_sentinel=False)
        if n_known:
            label, action = shorten_name(name, 40), "Keep the rows of one {} together"
            times = dataset.times  # groups that all overlap would be in one part
            if times is not None and not distinct_times(times, codes).any():
                action = ""
            yield Proposal(
                f"{n_known:,} of {others.size:,} validation and test rows "
                f"({n_known / others.size:.0%}) have a {label} that is also in the "
                "training rows: possible leakage, which makes the scores optimistic.",
                action.format(label),
                {name: "group"},
            )


def repeated_keys(frame: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """Columns whose equal values stand for one patient, machine, or place.

    Of `names` whole numbers and texts are tried that have many values, most of them in
    several rows. They are keys if they are written as such (P003), lie together, or
    occur equally often; or if rows of one value are alike in some column, and rows of
    the next value are not: along a measurement these would be nearly as alike.
    """
    step = -(-frame.shape[1] // _MOST_COLUMNS)
    compared = [(name, _ranks(frame[name])) for name in frame.columns[::step]]
    keys, n_tried = [], 0
    for name in names:
        column = frame[name]
        if is_numeric(column) and (column % 1 != 0).any():
            continue
        codes, values = pd.factorize(column, sort=True)
        size = np.count_nonzero(codes >= 0) / max(1, len(values))
        fewest = _FEWEST_VALUES * (1 + (size > 2 * _FEWEST_VALUES))
        if len(values) < fewest or size < _LEAST_ROWS or looks_like_dates(column):
            continue
        others = (ranks for other, ranks in compared if other != name)
        if _is_written_as_key(codes, values) or any(
            _tells_apart(codes, ranks) for ranks in others
        ):
            keys.append(name)
        n_tried += 1
        if n_tried == _MOST_KEYS:
            break
    return keys


def _is_written_as_key(codes: np.ndarray, values: pd.Index) -> bool:
    """Whether a letter and a number make each value, or their places are regular."""
    if values.dtype.kind not in "if":
        shapes = {re.sub(r"\d+", "0", value) for value in values[:1000]}
        shape = shapes.pop()
        if not shapes and "0" in shape and shape[0].isalpha():
            return True
    counts = np.bincount(codes[codes >= 0])
    is_even = np.ptp(counts) == 0 and counts[0] <= len(values) >= 2 * _FEWEST_VALUES
    return bool(is_even or 1 + np.count_nonzero(np.diff(codes)) == len(values))


def _ranks(column: pd.Series) -> tuple[np.ndarray, bool]:
    """Place of each value among all, and whether these have an order."""
    if is_numeric(column):
        return column.rank(pct=True).to_numpy(), True
    return pd.factorize(column)[0].astype(np.float64), False


def _tells_apart(codes: np.ndarray, ranks: tuple[np.ndarray, bool]) -> bool:
    """Whether rows of one value are alike in a column, and those of the next not."""
    values, is_ordered = ranks
    random = np.random.default_rng(0)
    # Whole keys, not rows, are drawn where there are too many rows.
    chosen = random.permutation(codes.max() + 1) * codes.size
    chosen = chosen < _MOST_ROWS * (codes.max() + 1)
    rows = np.flatnonzero((codes >= 0) & chosen[codes] & ~np.isnan(values))
    apart = []
    for _ in range(_N_SHUFFLES):
        rows = random.permutation(rows)
        differs = np.diff(codes[rows]) != 0
        apart.append(_differences(values[rows], is_ordered)[differs])
    of_any = np.concatenate(apart)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    place = np.arange(rows.size) - np.searchsorted(codes[rows], codes[rows])
    rows = rows[place < _MOST_OF_ONE]  # one value, such as 0, must not decide alone
    differences, is_next = _differences(values[rows], is_ordered), np.diff(codes[rows])
    of_one, of_next = differences[is_next == 0], differences[is_next != 0]
    if min(of_one.size, of_next.size) < _FEWEST_VALUES - 1:
        return False
    error = np.sqrt(of_one.var() / of_one.size + of_any.var() / of_any.size)
    is_alike = of_any.mean() - of_one.mean() > _SURE * error
    is_alike &= of_one.mean() <= _ALIKE * min(of_next.mean(), of_any.mean())
    return bool(is_alike and of_next.mean() >= _APART * of_any.mean())


def _differences(values: np.ndarray, is_ordered: bool) -> np.ndarray:
    steps = np.abs(np.diff(values))
    return steps if is_ordered else (steps > 0).astype(np.float64)


def _only_one_class(dataset: Dataset, split: Split) -> Iterator[Proposal]:
    """Columns that have values in rows of one class only, and not in all rows."""
    if dataset.task != "classification":
        return
    y = dataset.y_encoded[split.train]
    shares = np.bincount(y, minlength=len(dataset.classes)) / y.size
    for name in dataset.feature_columns:
        known = dataset.frame[name].iloc[split.train].notna().to_numpy()
        if known.all() or not known.any() or np.ptp(y[known]):
            continue
        share = shares[y[known][0]]
        if share ** np.count_nonzero(known) < _ACCIDENT:
            label, value = shorten_name(name, 40), dataset.classes[y[known][0]]
            yield Proposal(
                f"{label} has a value in {known.sum():,} training rows, all of the "
                f"class {shorten_name(value, 40)}: it may have been recorded after the "
                "outcome.",
                f"Do not use {label}",
                {name: "ignore"},
            )


def _leaks(dataset: Dataset, split: Split) -> Iterator[Proposal]:
    for name, share in leaky_features(dataset, split):
        label = shorten_name(name, 40)
        yield Proposal(
            f"{label} alone predicts {share:.1%} of the training rows. Possible target "
            "leakage: is it known before the target?",
            f"Do not use {label}",
            {name: "ignore"},
        )


def _constants(dataset: Dataset) -> Iterator[Proposal]:
    """Columns that are the same in all rows of a group."""
    if dataset.groups is None or dataset.groups.max() + 1 == dataset.n_samples:
        return
    group = next(n for n, role in dataset.roles.items() if role == "group")
    label, n_groups = shorten_name(group, 40), dataset.groups.max() + 1
    used = [*dataset.feature_columns, dataset.target]
    by_group = dataset.frame[used].groupby(dataset.groups)
    n_values = by_group.nunique(dropna=False).max()
    same = [n for n in used if n_values[n] == 1 and dataset.frame[n].nunique() > 1]
    if same:
        words = f"The same in all rows of one {label}: {list_names(same)}."
        if dataset.target in same:
            words += f" There are {plural(int(n_groups), 'independent case')}, not "
            words += f"{dataset.n_samples:,}."
        yield Proposal(words, is_leak=False)


def _dates(dataset: Dataset) -> Iterator[Proposal]:
    """Dates that order the rows."""
    if dataset.time is not None:
        return
    free = [n for n, role in dataset.roles.items() if role in ("feature", "ignore")]
    for name in free:
        column = dataset.frame[name]
        if is_numeric(column) or not looks_like_dates(column):
            continue
        try:
            times = read_times(column)
        except DatasetError:
            continue
        if distinct_times(times, dataset.groups).max() >= 2:
            label = shorten_name(name, 40)
            first, last = column.iloc[[times.argmin(), times.argmax()]]
            yield Proposal(
                f"{label} orders the rows in time, from {first} to {last}. Drawn at "
                "random, training rows are later than some that are tested.",
                f"Split by time: {label}",
                {name: "time"},
                is_leak=False,
            )


def _units(dataset: Dataset) -> Iterator[Proposal]:
    """Units in the names of columns of numbers, which follow them everywhere."""
    steps, units = dataset.cleaning, []
    for name, kind in dataset.kinds.items():
        step = step_of(dataset.cleaning, name)
        unit = unit_of(name)
        if kind == "number" and dataset.roles[name] == "feature" and not step.unit:
            if unit:
                steps = with_step(steps, replace(step, unit=unit))
                units.append(f"{shorten_name(name, 40)}: {unit}")
    if units:
        rest = f" and {len(units) - 5} more" * (len(units) > 5)
        yield Proposal(
            f"Units stand in names of columns ({'; '.join(units[:5])}{rest}). Taken as "
            "units, they stand behind values in sheets and exports.",
            "Take these units",
            cleaning=steps,
            is_leak=False,
        )


def unit_of(name: str) -> str:
    """Unit at the end of a column's name, such as kg in "weight (kg)"; empty: none."""
    match = _BRACKETED.fullmatch(name[:200]) or _BEHIND.fullmatch(name[:200])
    return match[1] if match else ""
