"""What the values of a table say: what hinders a fit, whose rows are, which are codes.

No name of a column is understood: a key of patients is known by its rows being alike,
whatever it is called. What is proposed is never done unasked.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from smpcore.datasets.cleaning import (
    DATE_WORDS,
    PAIR_WORDS,
    CleaningStep,
    Steps,
    apply_steps,
    step_of,
    values_in_words,
    where_one_of,
    with_step,
)
from smpcore.datasets.columns import (
    AFTERWARDS,
    CLOCKS,
    Role,
    as_numbers,
    as_text,
    date_forms,
    date_values,
    distinct_times,
    is_numeric,
    mostly_dates,
    read_times,
)
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import (
    list_names,
    plain_number,
    plural,
    shorten_name,
    shown,
    with_rest,
)
from smpcore.datasets.follow_up import FollowUp
from smpcore.datasets.notation import (
    Notation,
    are_dressed,
    are_pairs,
    find_notations,
    in_unit,
    is_missing_word,
    is_value,
    number_of,
    parse_pair,
)
from smpcore.datasets.roles import MOST_LOST, looks_like_dates, names_groups
from smpcore.datasets.splits import Split
from smpcore.datasets.targets import FEW_VALUES
from smpcore.errors import DatasetError

MAX_CLASSES = 100
# A feature "tells" the target when it alone is right on this share of the rows ...
TELLING = 0.99
# ... and makes at most this share of the mistakes of always naming one class.
_OF_MAJORITY_ERRORS = 0.2
# Or on this share, and makes at most a third of the mistakes of the next best one.
_STANDING_OUT, _OF_NEXT_ERRORS = 0.9, 1 / 3
# Trees are grown for so many columns of numbers at least.
_MOST_PROMISING = 8
# Enough rows to see 99 %, few enough to look at every column at once.
_TELLING_ROWS = 5000
_TELLING_CELLS = 1_000_000
# With fewer rows a few cuts separate anything.
_FEWEST_TELLING_ROWS = 20
_FEWEST_ROWS_PER_CLASS = 5


def check_fit(dataset: Dataset, split: Split | None = None) -> None:
    """Refuse data that no model can learn from; say what to change.

    A table that fails here can still be shown: other roles may mend it.

    Parameters
    ----------
    dataset : Dataset
        Checked for features, rows, classes.
    split : Split, optional
        If given, the training part is checked instead of all rows.

    Raises
    ------
    DatasetError
        What is wrong, where, and the remedy.
    """
    rows = np.arange(dataset.n_samples) if split is None else split.train
    where = "The table" if split is None else "The training part"
    target = shown(dataset.target)
    if not dataset.feature_columns:
        raise DatasetError(
            "No column has the role feature; give it to the columns to learn from."
        )
    if rows.size < 2:
        raise DatasetError(
            f"{where} has {rows.size} row{'s' * (rows.size != 1)} with a target, a "
            "model needs at least 2; use a file with more rows or smaller other parts."
        )
    if dataset.task == "regression":
        if np.ptp(dataset.y[rows]) == 0:
            raise DatasetError(
                f"{where} has one value only in the target {target}; choose another "
                "target column."
            )
    else:
        _check_classes(dataset, rows, where)
    features = dataset.frame[dataset.feature_columns].iloc[rows]
    if not any(features[c].nunique(dropna=False) > 1 for c in features):
        raise DatasetError(
            f"{where} has the same feature values in every row, so nothing tells the "
            "rows apart; use another file or more columns."
        )


def _check_classes(dataset: Dataset, rows: np.ndarray, where: str) -> None:
    present = np.unique(dataset.y_encoded[rows])
    target = shown(dataset.target)
    if present.size == 1:
        other = "target column" if dataset.follow_up is None else "horizon"
        raise DatasetError(
            f"{where} has one class only in the target {target} "
            f"({shown(dataset.classes[present[0]])}), a model needs at least 2; choose "
            f"another {other} or other rows."
        )
    if len(dataset.classes) > MAX_CLASSES:
        remedy = "choose another target"
        if dataset.kinds[dataset.target] == "number":
            remedy += " or the task regression"
        raise DatasetError(
            f"The target {target} has {len(dataset.classes):,} classes, at most "
            f"{MAX_CLASSES} are possible; {remedy}."
        )


def find_duplicates(dataset: Dataset, split: Split) -> int:
    """Count the rows outside training whose features also stand in training.

    Parameters
    ----------
    dataset : Dataset
        Compared by all feature columns, missing values included.
    split : Split
        Row numbers of training, validation and test.

    Returns
    -------
    int
        Rows of the validation and test parts; a model may know them by heart.
    """
    features = dataset.frame[dataset.feature_columns]
    if not len(features.columns):
        return 0
    keys = pd.util.hash_pandas_object(features, index=False).to_numpy()
    others = np.concatenate([split.validation, split.test])
    return int(np.isin(keys[others], keys[split.train]).sum())


def leaky_features(dataset: Dataset, split: Split) -> list[tuple[str, float]]:
    """Name the features that predict the target alone: often a leak of the answer.

    They are right on nearly all rows, or on most and far more often than the next best
    feature: a treatment that follows from the diagnosis.

    A number is cut into as many intervals as there are classes (at least four), a
    category answers the most frequent class of each value. Regression asks how much of
    the target a straight line in one feature explains.

    Parameters
    ----------
    dataset : Dataset
        Features and target.
    split : Split
        Training rows only are looked at, at most 5000 of them.

    Returns
    -------
    list of (str, float)
        Column and share of the rows that it predicts (regression: share of the
        variance), highest first.
    """
    if dataset.matrices:  # being like a row tells its class, which is no leak
        return []
    columns = dataset.feature_columns
    most = min(_TELLING_ROWS, max(200, _TELLING_CELLS // max(1, len(columns))))
    rows = split.train[:: -(-split.train.size // most) or 1]
    if rows.size < _FEWEST_TELLING_ROWS:
        return []
    frame = dataset.frame[columns].iloc[rows]
    if dataset.task == "regression":
        # A strong cause of a number is no leak: only nearly all of it is.
        mistakes, shares, least = 0.0, [*_explained(frame, dataset, rows)], TELLING
    else:
        y_encoded = dataset.y_encoded[rows]
        mistakes = 1 - np.bincount(y_encoded).max() / rows.size
        shares = [*_predicted(frame, dataset, y_encoded)]
        least = max(TELLING, 1 - _OF_MAJORITY_ERRORS * mistakes)
    shares.sort(key=lambda pair: -pair[1])
    telling = [(name, share) for name, share in shares if share >= least]
    if not telling and len(shares) > 1:
        (_, best), (_, following) = shares[:2]
        bound = _OF_NEXT_ERRORS * min(1 - following, mistakes)
        if best >= _STANDING_OUT and 1 - best <= bound:
            return shares[:1]
    return telling


def _predicted(
    frame: pd.DataFrame, dataset: Dataset, y_encoded: np.ndarray
) -> Iterator[tuple[str, float]]:
    """Share of the rows that each column predicts, of the columns that may do well."""
    from sklearn.tree import DecisionTreeClassifier

    n_classes = np.unique(y_encoded).size
    if not 1 < n_classes <= y_encoded.size / _FEWEST_ROWS_PER_CLASS:
        return
    leaves = max(4, n_classes)
    numbers = [name for name in frame if dataset.kinds[name] == "number"]
    values = frame[numbers].to_numpy(np.float64)
    changes = _changes(values, y_encoded)
    promising = np.argsort(changes, kind="stable")[:_MOST_PROMISING]
    few = np.flatnonzero(changes <= leaves + 0.02 * y_encoded.size)
    for j in np.union1d(promising, few):
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
        column = values[:, j : j + 1]
        yield numbers[j], float(tree.fit(column, y_encoded).score(column, y_encoded))
    for name in frame.columns.difference(numbers, sort=False):
        table = pd.crosstab(pd.factorize(frame[name])[0], y_encoded).to_numpy()
        # A value that occurs once predicts nothing but itself.
        right = table.max(axis=1)[table.sum(axis=1) > 1]
        yield name, float(right.sum() / y_encoded.size)


def _changes(values: np.ndarray, y_encoded: np.ndarray) -> np.ndarray:
    """How often the label changes along each sorted column, (n_columns,).

    Few intervals that are right on 99 % of the rows leave few changes, so that
    trees are grown for few columns only.
    """
    by_class = np.argsort(y_encoded, kind="stable")
    order = by_class[np.argsort(values[by_class], axis=0, kind="stable")]
    return np.count_nonzero(np.diff(y_encoded[order], axis=0), axis=0)


def _explained(
    frame: pd.DataFrame, dataset: Dataset, rows: np.ndarray
) -> Iterator[tuple[str, float]]:
    for name in frame:
        values = as_numbers(frame[name])
        known = ~np.isnan(values)
        values, y = values[known], dataset.y[rows][known]
        if dataset.kinds[name] == "category" or known.sum() < _FEWEST_TELLING_ROWS:
            continue
        if np.ptp(values) > 0 and np.ptp(y) > 0:
            yield name, float(np.corrcoef(values, y)[0, 1] ** 2)


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
    question : FollowUp, optional
        What can be asked about time to event instead.
    """

    words: str
    action: str = ""
    roles: Mapping[str, Role] = {}
    cleaning: Steps | None = None
    is_leak: bool = True
    question: FollowUp | None = None


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
    if dataset.matrices or dataset.channels:
        return [*_leaks(dataset, split)]
    gaps = [*_only_one_class(dataset, split)]
    kinds = [_groups(dataset, split), gaps, _leaks(dataset, split, gaps)]
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
                f"Known only afterwards: {label}",
                {name: AFTERWARDS},
            )


def _leaks(
    dataset: Dataset, split: Split, known: Iterable[Proposal] = ()
) -> Iterator[Proposal]:
    """Columns that tell the target almost alone, but for those of known proposals."""
    reasons = {
        name: f"alone predicts {share:.1%} of the training rows"
        for name, share in leaky_features(dataset, split)
    }
    if dataset.task == "classification" and not dataset.matrices:
        reasons = dict(_nearly_alone(dataset, split)) | reasons
    for name in (name for proposal in known for name in proposal.roles):
        reasons.pop(name, None)
    if (n := len(reasons)) > _MOST_SAID:
        name, why = next(iter(reasons.items()))
        yield Proposal(
            f"{n:,} columns tell the target almost alone: {list_names([*reasons])}. "
            f"{shorten_name(name, 40)} {why}. Possible target leakage: are they known "
            "before the target?",
            f"Known only afterwards: these {n:,} columns",
            dict.fromkeys(reasons, AFTERWARDS),
        )
        return
    for name, why in reasons.items():
        label = shorten_name(name, 40)
        yield Proposal(
            f"{label} {why}. Possible target leakage: is it known before the target?",
            f"Known only afterwards: {label}",
            {name: AFTERWARDS},
        )


#: Area under the ROC curve of one column that looks like a leak; and a level of a
#: category does that has rows of one class only, and so much of that class at least.
_TELLING_AREA, _OF_CLASS = 0.99, 0.5


def _nearly_alone(dataset: Dataset, split: Split) -> Iterator[tuple[str, str]]:
    """Columns that part two classes by their order, or find a class by one level."""
    columns = dataset.feature_columns
    most = min(_TELLING_ROWS, max(200, _TELLING_CELLS // max(1, len(columns))))
    rows = split.train[:: -(-split.train.size // most) or 1]
    if rows.size < _FEWEST_TELLING_ROWS:
        return
    codes, labels = dataset.y_encoded[rows], dataset.classes
    for name, column in dataset.frame[columns].iloc[rows].items():
        why = ""
        if dataset.kinds[name] == "category":
            why = _pure_level(column, codes, labels)
        elif dataset.kinds[name] == "number" and len(labels) == 2:
            area = _area(column.to_numpy(np.float64), codes)
            if max(area, 1 - area) > _TELLING_AREA:
                why = "alone puts the classes of the training rows in order"
                why += f" (AUC {max(area, 1 - area):.3f})"
        if why:
            yield name, why


def _area(values: np.ndarray, codes: np.ndarray) -> float:
    """How often a row of the second class lies above one of the first."""
    known = ~np.isnan(values)
    values, is_second = values[known], codes[known] == 1
    n = np.count_nonzero(is_second), np.count_nonzero(~is_second)
    if min(n) < _FEWEST_ROWS_PER_CLASS:
        return 0.5
    ranks = rankdata(values)[is_second].sum() - n[0] * (n[0] + 1) / 2
    return float(ranks / (n[0] * n[1]))


def _pure_level(column: pd.Series, codes: np.ndarray, labels: np.ndarray) -> str:
    """Say which level has rows of one class, by no accident, and most of that class."""
    levels, values = pd.factorize(column)
    known, sizes = levels >= 0, np.bincount(codes, minlength=len(labels))
    table = np.zeros((len(values), len(labels)), np.int64)
    np.add.at(table, (levels[known], codes[known]), 1)
    is_alone = (table == table.sum(axis=1, keepdims=True)) & (table > 0)
    is_alone &= (sizes / codes.size) ** table < _ACCIDENT
    cells = np.argwhere(is_alone & (table >= _OF_CLASS * sizes))
    if not len(cells):
        return ""
    place, code = max(cells.tolist(), key=lambda cell: table[*cell])
    n = table[place, code]
    return (
        f"is {shorten_name(values[place], 40)} in {n:,} training rows, all of the "
        f"class {shorten_name(labels[code], 40)}, {n / sizes[code]:.0%} of it"
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
        is_number = kind == "number" and dataset.roles[name] == "feature"
        if is_number and unit and not step.unit:
            steps = with_step(steps, replace(step, unit=unit))
            units.append(f"{shorten_name(name, 40)}: {unit}")
    if units:
        words = with_rest(units[:5], len(units) - 5, "; ")
        yield Proposal(
            f"Units stand in names of columns ({words}). Taken as units, they stand "
            "behind values in sheets and exports.",
            "Take these units",
            cleaning=steps,
            is_leak=False,
        )


def unit_of(name: str) -> str:
    """Unit at the end of a column's name, such as kg in "weight (kg)"; empty: none."""
    match = _BRACKETED.fullmatch(name[:200]) or _BEHIND.fullmatch(name[:200])
    return match[1] if match else ""


def column_unit(dataset: Dataset, name: str) -> str:
    """Unit of a column, as it was taken on Data or as it stands in its name.

    Parameters
    ----------
    dataset : Dataset
        Table with its cleaning.
    name : str
        Name of one of its columns, whatever its role is.

    Returns
    -------
    str
        Empty where none is known.
    """
    return step_of(dataset.cleaning, name).unit or unit_of(name)


def with_unit(dataset: Dataset, name: str) -> str:
    """Name of a column for an axis, with the unit that does not stand in it.

    Parameters
    ----------
    dataset : Dataset
        Table with its cleaning.
    name : str
        Name of one of its columns, whatever its role is.

    Returns
    -------
    str
    """
    unit = column_unit(dataset, name)
    return name if unit in ("", unit_of(name)) else f"{name} [{unit}]"


_BELOW = (-9, -99, -999, -9999, -99999, -8, -88, -888, -7, -77, -777, -97, -98)
_ABOVE = (99, 999, 9999, 99999, 88, 888, 8888)
#: -1 is an ordinary number where a column has fewer other values.
_FEWEST_OTHERS = 10
#: Different texts that are tried as dates, and what has digits enough to be one.
_LOOKED_AT, _DATE_LIKE = 500, r"(?=.*\d\D+\d)(\D*\d){3}"
#: Different texts that are read as numbers before this is offered.
_MOST_PARSED = 20_000
#: Texts in a column of numbers that may stand for values that are held back.
_MOST_MARKS = 2
#: What buttons say for what a date becomes.
DATE_ACTIONS = {"days": "Read as days", "weekday": "Weekday", "hours": "Read as hours"}
#: A code above all others is at least so many times the next one.
_FAR_ABOVE = 2.0


class Suggestion(NamedTuple):
    """A cleaning step that may be right.

    Parameters
    ----------
    step : CleaningStep
        The column's step with the codes added; unchanged: what hinders it is said.
    reason : str
        What looks like a code, and how often it occurs, in a sentence.
    as_number : bool
        Whether only numbers are left, and so many that they are no names of classes:
        then the column is read as a number.
    action : str
        What a button says that takes the step; empty: there is none to take.
    """

    step: CleaningStep
    reason: str
    as_number: bool
    action: str = ""


def suggest_codes(dataset: Dataset) -> list[Suggestion]:
    """Find values that look like codes for "missing".

    Words such as "unknown"; -9, -99, ... where no other number is negative; 999, ...
    where every other number is less than half as large; -1 where it is the only
    negative number among many; one or two texts among many different numbers. The
    target is not compared with anything.

    Parameters
    ----------
    dataset : Dataset
        Its cleaning so far is taken into account.

    Returns
    -------
    list of Suggestion
        At most one for each column that is not ignored.
    """
    frame = apply_steps(dataset.whole, dataset.cleaning)
    return [
        suggestion
        for kind, roles in (
            (_dressed, ("feature", "target")),
            (_paired, ("feature", "ignore")),
            (_dated, ("feature", "ignore")),
            (_coded, ("feature", "target", "group", "time")),
        )
        for name, column in frame.items()
        if dataset.roles[name] in roles
        for suggestion in kind(dataset, column, step_of(dataset.cleaning, name))
    ]


def _coded(
    dataset: Dataset, column: pd.Series, step: CleaningStep
) -> Iterator[Suggestion]:
    """Values that may stand for a missing one."""
    name = step.column
    doubtful = () if dataset.reading is None else dataset.reading.doubtful_levels
    codes = [*_words(column, dataset.kinds[name]), *_numbers(column)]
    codes = [code for code in codes if code != "NA" or (name, "level") not in doubtful]
    if not codes:
        return
    where = where_one_of(column, codes)
    left = column[~where].dropna()
    numbers = as_numbers(left)
    as_number = dataset.kinds[name] == "category" and not np.isnan(numbers).any()
    as_number = as_number and np.unique(numbers).size > FEW_VALUES
    looks = "looks like a code" if len(codes) == 1 else "look like codes"
    rows = f"{where.sum():,} of {len(column):,} rows"
    words = f"{name}: {values_in_words(codes)} in {rows}"
    reason = f"{words} {looks} for a missing value."
    codes = (*step.codes, *codes)
    yield Suggestion(replace(step, codes=codes), reason, as_number, "Treat as missing")


def _dressed(
    dataset: Dataset, column: pd.Series, step: CleaningStep
) -> Iterator[Suggestion]:
    """Numbers with a unit, a currency or separated thousands; or why they are none."""
    texts = [] if is_numeric(column) else column.dropna().unique().tolist()
    if dataset.kinds[step.column] == "text" or step.numbers or not are_dressed(texts):
        return
    texts = texts[:: 1 + len(texts) // _MOST_PARSED]
    known = "." if dataset.reading is None else dataset.reading.decimal
    notations, hindrance = find_notations(texts, known)
    looks = f"{step.column}: {values_in_words(texts[:2])} … are"
    if hindrance:
        yield Suggestion(step, f"{looks} not read as numbers: {hindrance}.", False)
    for notation in notations:
        yield _as_numbers_of(column, step, texts, notation)


def _as_numbers_of(
    column: pd.Series, step: CleaningStep, texts: list[str], notation: Notation
) -> Suggestion:
    """An offer to read a column in one notation, or why it is not read so."""
    looks = f"{step.column}: {values_in_words(texts[:2])} … are"
    read = {text: in_unit(*number_of(text, notation), notation.unit) for text in texts}
    odd = [text for text in texts if np.isnan(read[text]) and is_value(text)]
    numbers = [text for text in texts if not np.isnan(read[text])]
    n_odd, n = (int(column.isin(some).sum()) for some in (odd, texts))
    rest = f"{n_odd:,} of {n:,} are none, such as {shown(odd[0])}" if odd else ""
    if n_odd > MOST_LOST * n:
        return Suggestion(step, f"{looks} not read as numbers: {rest}.", False)
    unit = notation.unit or step.unit
    oddest = max(numbers, key=lambda text: sum(not one.isalnum() for one in text))
    reason = f"{looks} numbers {f'in {unit}' if unit else 'written as texts'}, "
    if notation.words:
        reason = f"{step.column}: {values_in_words(texts[:2])} … may be read in two "
        reason += f"ways. If {notation.words}, "
    reason += f"{shown(oddest)} is {plain_number(read[oddest], 12)}"
    reason += f"; {rest}, and count as missing." if rest else "."
    ways = {"decimal": notation.decimal, "cell_unit": notation.unit}
    step = replace(step, numbers=True, unit=unit, digits=notation.digits, **ways)
    action = re.sub("^a ", "A ", notation.words) or "Read as numbers"
    return Suggestion(step, reason, True, action)


def _paired(_: Dataset, column: pd.Series, step: CleaningStep) -> Iterator[Suggestion]:
    """Texts such as 3/4: a fraction, or two numbers such as blood pressures."""
    texts = [] if is_numeric(column) else column.dropna().unique().tolist()
    if step.pair or not are_pairs(texts):
        return
    text = next(text for text in texts if parse_pair(text))
    first, second = parse_pair(text) or (0.0, 0.0)
    quotient = plain_number(first / second, 6) if second else "missing"
    two = f"{plain_number(first, 6)} and {plain_number(second, 6)}"
    for pair, meaning, action in (
        ("quotient", f"a fraction, {quotient}", "Read as fractions"),
        ("two numbers", f"two numbers, {two}", "Read as two numbers"),
    ):
        reason = f"{step.column}: {shown(text)} may be {meaning}: {PAIR_WORDS[pair]}."
        yield Suggestion(replace(step, pair=pair), reason, True, action)


def _dated(_: Dataset, column: pd.Series, step: CleaningStep) -> Iterator[Suggestion]:
    """Dates and times of day, which are no categories."""
    if is_numeric(column) or step.date_use:
        return
    every = pd.Series(column.dropna().unique()[:_LOOKED_AT], dtype="str")
    dated = every[every.str.match(_DATE_LIKE)]
    if 2 * len(dated) <= len(every) or are_dressed(every.tolist()):
        return
    texts = mostly_dates(dated)
    if 2 * len(texts) <= len(every):
        return
    odd = every[~every.isin(texts)]
    if (n_odd := column.isin(odd).sum()) > MOST_LOST * column.count():
        rest = f"{n_odd:,} of {column.count():,} are none, such as {shown(odd.iloc[0])}"
        looks = f"{step.column}: {values_in_words(texts[:2].tolist())} …"
        yield Suggestion(step, f"{looks} are not read as dates: {rest}.", False)
        return
    forms = date_forms(texts)
    days = pd.DataFrame({form: date_values(texts, form, "days") for form in forms})
    place = days.nunique(axis=1).idxmax()  # where the forms differ
    for form in forms:
        is_clock = form.startswith(CLOCKS)
        example = texts[[place]]
        first = date_values(example, form, "hours" if is_clock else "days")[place]
        day = pd.Timestamp("2000-01-01") + pd.Timedelta(first, "D")
        for use in ("hours",) if is_clock else ("days", "weekday"):
            unit = {"days": "days since 2000-01-01", "hours": "h"}.get(use, "")
            in_words = f"{first:g} h" if is_clock else f"{day:%-d %B %Y}"
            reason = f"{step.column}: {shown(texts[place])} is {in_words}; "
            reason += f"{DATE_WORDS[use]}."
            step_of_use = replace(step, date_use=use, date_form=form, unit=unit)
            is_number = use != "weekday"
            yield Suggestion(step_of_use, reason, is_number, DATE_ACTIONS[use])


def _words(column: pd.Series, kind: str) -> Iterator[str]:
    if is_numeric(column):
        return
    different = pd.Series(sorted(column.dropna().unique()), dtype="str")
    numbers = as_numbers(different)
    others = different[np.isnan(numbers)]
    few = 0 < len(others) <= _MOST_MARKS and kind == "category"
    few = few and 2 * column.isin(others).sum() < column.count()
    many = np.unique(numbers).size > FEW_VALUES
    for value in others:
        is_mark = few and (many or not any(map(str.isalnum, value)))
        if is_mark and is_value(value):
            is_mark = column.eq(value).sum() <= MOST_LOST * column.count()
        if is_mark or is_missing_word(value):
            yield value


def _numbers(column: pd.Series) -> Iterator[str]:
    values = as_numbers(column)
    values = values[~np.isnan(values)]
    if not values.size or {values.min(), values.max()}.isdisjoint(
        (*_BELOW, -1, *_ABOVE)
    ):
        return  # before they are sorted: most columns have no code at an end
    different = np.unique(values)
    others = different[~np.isin(different, [*_BELOW, *_ABOVE])]
    if others.size < 2:
        return
    lowest, highest = others[others != -1].min(initial=np.inf), others.max()
    for value in different.tolist():
        is_code = value in _BELOW and others[0] >= -1 and lowest >= 0
        is_code |= value in _ABOVE and value >= _FAR_ABOVE * highest > 0
        many = others.size > _FEWEST_OTHERS
        is_code |= value == -1 and lowest >= 0 and many
        if is_code:
            yield as_text(pd.Series([value]))[0]
