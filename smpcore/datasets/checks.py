"""What is wrong, or too good to be true, about a data set and its split."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from smpcore.datasets.columns import as_numbers
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import shown
from smpcore.datasets.splits import Split
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
