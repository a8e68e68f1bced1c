"""Split: which rows train, which choose, and which stay closed to the end."""

import hashlib
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice

import numpy as np

from smpcore.datasets.columns import as_text, distinct_times
from smpcore.datasets.dataset import Dataset, read_only
from smpcore.datasets.display_names import (
    listed,
    plain_number,
    plural,
    shown,
    with_rest,
)
from smpcore.datasets.time_to_event import answered, with_events
from smpcore.errors import SmpcoreError

# Folds of which a part takes several: shares come out in steps of 5 %.
_FOLDS = 20
# Balancing classes over groups looks at each group in turn; many groups need it less.
_FEW_GROUPS = 500


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of the three parts of a data set.

    Attributes
    ----------
    train, validation, test : ndarray of int
        Sorted, disjoint, read-only.
    seed : int
        What drew the parts.
    validation_share, test_share : float
        Shares asked for.
    notices : tuple of str
        What a reader of the scores should know about the parts.
    censored : ndarray of int
        Rows drawn for training that have no answer (see `event_within`): no model
        learns from them, only how often rows are censored.
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    seed: int
    validation_share: float
    test_share: float
    notices: tuple[str, ...] = ()
    censored: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @cached_property
    def with_censored(self) -> np.ndarray:
        """Training rows and those of them that were censored: folds divide these."""
        return read_only(np.sort(np.concatenate([self.train, self.censored])))

    @cached_property
    def key(self) -> str:
        """Short text that is the same for the same parts only."""
        digest = hashlib.blake2b(digest_size=8)
        for part in (self.train, self.validation, self.test):
            digest.update(repr(part.size).encode())
            digest.update(part)
        digest.update(self.censored)
        return digest.hexdigest()

    def with_row(self, row: int) -> "Split":
        """Return the split of a table that got one more row, for training."""
        return replace(self, train=read_only(np.append(self.train, row)))

    def with_rows(self, rows: np.ndarray) -> "Split":
        """Return the split of a table that got rows at its end, each at random.

        Validation and test part get as many as they lack for their shares; the rest is
        for training.
        """
        parts = {name: getattr(self, name) for name in ("validation", "test", "train")}
        total = sum(map(len, parts.values())) + len(rows)
        lacking = [
            max(0, int(share * total) - len(parts[name]))
            for name, share in (
                ("validation", self.validation_share),
                ("test", self.test_share),
            )
        ]
        drawn = np.random.default_rng(total).permutation(rows)
        pieces = np.split(drawn, np.minimum(np.cumsum(lacking), len(rows)))
        return replace(
            self,
            **{
                name: read_only(np.sort(np.append(part, piece)))
                for (name, part), piece in zip(parts.items(), pieces, strict=True)
            },
        )

    def thinned(self, y: np.ndarray, n_rows: int, classify: bool) -> "Split":
        """Return the split with at most about so many training rows.

        Every so-many-th of the training rows, sorted by `y` and shuffled within equal
        values: shares of classes, or quantiles, stay. Each class keeps a row. Censored
        rows are thinned alike.
        """
        n = len(self.train)
        if n_rows >= n:
            return self
        shuffled = self.train[np.random.default_rng(0).permutation(n)]
        rows = shuffled[np.argsort(y[shuffled], kind="stable")]
        chosen = rows[np.linspace(0, n - 1, n_rows).round().astype(np.int64)]
        if classify:
            chosen = np.append(chosen, rows[np.unique(y[rows], return_index=True)[1]])
        n_censored = round(len(self.censored) * n_rows / n)
        places = np.linspace(0, len(self.censored) - 1, n_censored).round().astype(int)
        censored = read_only(self.censored[places])
        return replace(self, train=read_only(np.unique(chosen)), censored=censored)

    def without_row(self, row: int) -> "Split":
        """Return the split of a table that lost a row: later rows move up by one."""
        parts = {
            name: read_only(part[part != row] - (part[part != row] > row))
            for name, part in vars(self).items()
            if name in ("train", "validation", "test")
        }
        return replace(self, **parts)


def split(
    dataset: Dataset, validation: float = 0.2, test: float = 0.2, seed: int = 0
) -> Split:
    """Divide the rows into training, validation and test part.

    Rows of one group stay together. Classes keep their shares; a class with fewer
    rows than there are parts stays in training. With a time column the parts are
    blocks in time instead, in this order, each later than the one before: a cut is made
    only where no group straddles it, as near to the share as there is such a moment.
    Rows of weight 0 are in no part.
    Of a table of `event_within` the rows without an answer are in no part, and another
    horizon moves no row from one part to another.

    Parameters
    ----------
    dataset : Dataset
        If it has a test file, that file is the test part.
    validation, test : float
        Shares of the rows (validation: of the rows outside the test file), each from
        0, together at most 0.95.
    seed : int
        Drawing again with the same seed gives the same parts.

    Returns
    -------
    Split
        ``notices`` name the classes that a part lacks, and the times of the parts.
    """
    _check_shares(validation, test, seed)
    rows = np.arange(dataset.n_samples)
    n_parts = 1 + (validation > 0) + (test > 0 and dataset.test_rows is None)
    known, censored = answered(dataset)
    counted = known if dataset.weights is None else known & (dataset.weights > 0)
    question, dataset = dataset, with_events(dataset)
    large = dataset.task == "regression" or np.bincount(dataset.y_encoded) >= n_parts
    notices = []
    if dataset.test_rows is None:
        tested, rows = _carve(dataset, rows, test, seed, large)
        validation_of_rest = validation / (1 - test)
    else:
        tested = dataset.test_rows
        rows, shared = _outside(dataset, tested)
        validation_of_rest = validation
        if shared:
            why = "their group is in the test file too"
            if dataset.times is not None:
                why = "they are not before the test file's first row, or " + why
            notices.append(f"{shared:,} rows are in no part: {why}.")
    validated, trained = _carve(dataset, rows, validation_of_rest, seed, large)
    censored = trained[censored[trained]]
    trained, validated, tested = (r[counted[r]] for r in (trained, validated, tested))
    if n_idle := int((known & ~counted).sum()):
        notices.append(f"{plural(n_idle, 'row')} of weight 0 are in no part.")
    notices += _few_by_weight(question)
    notices += _gaps(question, trained, {"validation": validated, "test": tested})
    if dataset.times is not None:
        notices += _blocks(
            dataset, {"training": trained, "validation": validated, "test": tested}
        )
    *parts, censored = map(read_only, (trained, validated, tested, censored))
    return Split(*parts, int(seed), validation, test, tuple(notices), censored)


def _few_by_weight(dataset: Dataset) -> list[str]:
    """Say that weights make less of the rows than there are: an SVM's C counts them."""
    if dataset.weights is None or dataset.weights.sum() > dataset.n_samples / 2:
        return []
    return [
        f"The weights sum to {plain_number(dataset.weights.sum())}, and count as so "
        "many rows where a method's C counts them; there are "
        f"{dataset.n_samples:,}. Multiply them by a number to make them as many."
    ]


def _check_shares(validation: float, test: float, seed: int) -> None:
    for name, share in (("validation", validation), ("test", test)):
        if not 0 <= share < 1:
            raise SmpcoreError(f"{name}={share} should be a share from 0 to below 1.")
    if validation + test > 0.95:
        raise SmpcoreError(
            f"validation={validation} and test={test} should leave at least 5 % of the "
            "rows for training; make one of them smaller."
        )
    if not (isinstance(seed, (int, np.integer)) and 0 <= seed < 2**32):
        raise SmpcoreError(f"seed={seed} should be a whole number from 0 to 2^32 - 1.")


def _outside(dataset: Dataset, tested: np.ndarray) -> tuple[np.ndarray, int]:
    """Rows that may train beside a test file, and how many it excludes."""
    free = np.ones(dataset.n_samples, bool)
    free[tested] = False
    shared = np.zeros(dataset.n_samples, bool)
    if dataset.groups is not None:
        shared |= free & np.isin(dataset.groups, dataset.groups[tested])
    if dataset.times is not None:
        shared |= free & (dataset.times >= dataset.times[tested].min())
    return np.flatnonzero(free & ~shared), int(shared.sum())


def _carve(
    dataset: Dataset, rows: np.ndarray, share: float, seed: int, large: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Take a share of the rows; those of classes that are not large stay."""
    from sklearn import model_selection

    size = min(round(share * rows.size), rows.size - 1)
    if dataset.times is not None:
        return _carve_latest(dataset, rows, size)
    if share == 0 or (size < 1 and dataset.groups is None):
        return rows[:0], rows
    if dataset.groups is not None:
        taken = _carve_groups(dataset, rows, share, seed)
    elif dataset.task == "regression":
        draw = model_selection.ShuffleSplit(1, test_size=size, random_state=seed)
        taken = _first_test(draw, rows)
    else:
        taken = _carve_classes(rows, dataset.y_encoded[rows], size, seed, large)
    return np.sort(rows[taken]), np.delete(rows, taken)


def _carve_latest(
    dataset: Dataset, rows: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Take about so many of the latest rows, if a moment parts them from the rest."""
    groups = None if dataset.groups is None else dataset.groups[rows]
    block = distinct_times(dataset.times[rows], groups)
    sizes = np.bincount(block)
    if size < 1 or sizes.size < 2:
        return rows[:0], rows
    left = np.cumsum(sizes)[:-1]  # rows before each cut
    last = np.argmin(np.abs(left - (rows.size - size)))
    return rows[block > last], rows[block <= last]


def _blocks(dataset: Dataset, parts: dict[str, np.ndarray]) -> list[str]:
    """Say that parts are blocks in time, and from when to when each lasts."""
    name = shown(dataset.time)
    words = as_text(dataset.frame[dataset.time])
    spans = []
    for part, rows in parts.items():
        times = dataset.times[rows]
        if rows.size:
            first_last = (words[rows[times.argmin()]], words[rows[times.argmax()]])
            spans.append("{} from {} to {}".format(part, *map(shown, first_last)))
    notices = [
        f"The parts are blocks in time ({name}): trained on the past, judged on what "
        f"came after; the seed changes nothing. In time: {'; '.join(spans)}."
    ]
    if distinct_times(dataset.times, dataset.groups).max() == 0:
        notices.append(
            f"No moment in {name} parts the rows"
            + (" without parting a group" if dataset.groups is not None else "")
            + ": choose another role for it, or other groups."
        )
    return notices


def _first_test(splitter, rows: np.ndarray, *labels: np.ndarray) -> np.ndarray:
    return next(splitter.split(rows, *labels))[1]


def _carve_classes(
    rows: np.ndarray, y_encoded: np.ndarray, size: int, seed: int, large: np.ndarray
) -> np.ndarray:
    from sklearn import model_selection

    large = large & (np.bincount(y_encoded, minlength=large.size) >= 2)
    free = np.flatnonzero(large[y_encoded])
    size = min(size, free.size - 1)
    if size < 1:
        return free[:0]
    n_classes = np.count_nonzero(large)
    # With fewer rows to take than classes, no share of a class can be kept.
    enough = n_classes <= min(size, free.size - size)
    splitter = model_selection.ShuffleSplit
    if enough:
        splitter = model_selection.StratifiedShuffleSplit
    draw = splitter(1, test_size=size, random_state=seed)
    return free[_first_test(draw, free, y_encoded[free])]


def _carve_groups(
    dataset: Dataset, rows: np.ndarray, share: float, seed: int
) -> np.ndarray:
    from sklearn import model_selection

    groups = dataset.groups[rows]
    n_groups = np.unique(groups).size
    if n_groups < 2:
        return rows[:0]
    if dataset.task == "regression" or n_groups > _FEW_GROUPS:
        size = min(max(1, round(share * n_groups)), n_groups - 1)
        draw = model_selection.GroupShuffleSplit(1, test_size=size, random_state=seed)
        return _first_test(draw, rows, rows, groups)
    y_encoded = dataset.y_encoded[rows]
    counts = np.bincount(y_encoded)
    most = min(_FOLDS, n_groups, int(counts.max()))
    if most < 2:
        return rows[:0]
    part = Fraction(share).limit_denominator(most) or Fraction(1, most)
    part = min(part, 1 - Fraction(1, most))
    # A class with fewer rows than folds cannot be balanced over them.
    y_encoded = np.where(
        counts[y_encoded] < part.denominator, counts.argmax(), y_encoded
    )
    draw = model_selection.StratifiedGroupKFold(
        part.denominator, shuffle=True, random_state=seed
    )
    folds = islice(draw.split(rows, y_encoded, groups), part.numerator)
    return np.concatenate([fold for _, fold in folds])


def _gaps(
    dataset: Dataset, trained: np.ndarray, others: dict[str, np.ndarray]
) -> list[str]:
    """Say which parts are empty, and which classes a part lacks."""
    notices = [f"The {n} part is empty." for n, rows in others.items() if not rows.size]
    if dataset.task == "regression":
        return notices
    n_classes = len(dataset.classes)
    counts = np.bincount(dataset.y_encoded, minlength=n_classes)
    in_training = np.bincount(dataset.y_encoded[trained], minlength=n_classes) > 0
    for name, rows in others.items():
        present = np.bincount(dataset.y_encoded[rows], minlength=n_classes) > 0
        absent = [
            f"{shown(dataset.classes[i])} ({counts[i]} rows)"
            for i in np.flatnonzero(in_training & ~present)
        ]
        if rows.size and absent:
            words = with_rest(absent[:5], len(absent) - 5, "; ")
            notices.append(f"No row in the {name} part: class {words}.")
    unseen = dataset.classes[~in_training]
    if unseen.size:
        notices.append(
            f"No row in the training part, so no model can predict: class "
            f"{listed(unseen)}."
        )
    return notices
