"""What the papers' experiments share: random halves, grids and how one is chosen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, train_test_split

from smpcore.baselines import BASELINES
from smpcore.datasets import Dataset, prepare
from smpcore.model import PrototypeModel

#: Parameters of a model.
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Halves:
    """Training and test rows of one repetition, prepared on training rows only."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def test_accuracy(self, fitted: Any) -> float:
        """Share of the test rows that get their own class."""
        return accuracy(fitted, self.X_test, self.y_test)


def prepared(dataset: Dataset, train: np.ndarray, test: np.ndarray) -> Halves:
    """These training and test rows."""
    preparation = prepare(dataset, train)
    X, X_test = (preparation.transform(dataset.frame.iloc[r]) for r in (train, test))
    return Halves(X, dataset.y[train], X_test, dataset.y[test])


def halves(dataset: Dataset, repetition: int, share: float = 0.5) -> Halves:
    """Divide the rows at random, stratified where there are classes.

    ``share`` of them are for training.
    """
    rows, classes = np.arange(dataset.n_samples), None
    if dataset.task == "classification":
        classes = dataset.y
    parts = train_test_split(
        rows, test_size=1.0 - share, random_state=repetition, stratify=classes
    )
    return prepared(dataset, *parts)


def standardised(rows: Halves) -> Halves:
    """The rows with mean 0 and standard deviation 1 in the training half."""
    center, scale = rows.X.mean(axis=0), rows.X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    X, X_test = ((part - center) / scale for part in (rows.X, rows.X_test))
    return Halves(X, rows.y, X_test, rows.y_test)


def standardised_halves(
    dataset: Dataset, repetition: int, share: float = 0.5
) -> Halves:
    """Random halves, or another share for training, standardised by these rows."""
    return standardised(halves(dataset, repetition, share))


def scaled_numbers(rows: Halves) -> Halves:
    """The rows with numbers to predict in standard deviations of the training half.

    Rows of classes stay as they are.
    """
    if rows.y.dtype.kind != "f":
        return rows
    middle, unit = rows.y.mean(), rows.y.std()
    return replace(
        rows, y=(rows.y - middle) / unit, y_test=(rows.y_test - middle) / unit
    )


def with_codes(dataset: Dataset) -> Dataset:
    """The same rows, each nominal column as the numbers of its sorted levels."""
    nominal = [c for c in dataset.feature_columns if dataset.kinds[c] == "category"]
    codes = {}
    for column in nominal:
        number, _ = pd.factorize(dataset.frame[column], sort=True)
        codes[column] = np.where(number < 0, np.nan, number)
    kinds = {**dataset.kinds, **dict.fromkeys(nominal, "number")}
    frame = dataset.frame.assign(**codes)
    return replace(dataset, frame=frame, kinds=kinds, origin=None)


def accuracy(fitted: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Share of the rows that get their own class."""
    return float(np.mean(fitted.predict(X) == y))


def seconds(call: Callable[[], Any], times: int) -> list[float]:
    """Processor seconds of some calls, one after the other."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        call()
        taken.append(time.process_time() - started)
    return taken


def scikit_learns(key: str, **values: Any) -> Any:
    """A standardising classifier of `BASELINES`, unfitted."""
    return BASELINES[key].estimator(values)


def grid_of(**values: Iterable[Any]) -> list[Values]:
    """All combinations of the values of some parameters."""
    each = product(*values.values())
    return [dict(zip(values, one, strict=True)) for one in each]


def best_by_folds(
    make: Callable[..., Any],
    grid: Sequence[Values],
    X: np.ndarray,
    y: np.ndarray,
    seed: int = 0,
) -> Values:
    """Choose parameters by five folds of training rows, fewer of a small class."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    drawn = stratified(X, y, max(2, min(5, smallest)), seed)
    return max(grid, key=lambda values: mean_accuracy(make, values, X, y, drawn))


def stratified(
    X: np.ndarray, y: np.ndarray, n_folds: int, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds of training rows, drawn at random."""
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return list(folds.split(X, y))


def mean_accuracy(
    make: Callable[..., Any],
    values: Values,
    X: np.ndarray,
    y: np.ndarray,
    drawn: Iterable[tuple[np.ndarray, np.ndarray]],
) -> float:
    """Mean accuracy of a setting on the folds' held-out rows."""
    fits = ((make(**values).fit(X[a], y[a]), b) for a, b in drawn)
    return float(np.mean([accuracy(fit, X[b], y[b]) for fit, b in fits]))


class Fit(NamedTuple):
    """A model of a table: what makes it, and the settings that are tried."""

    make: Callable[..., Any]
    #: Settings, or ``grid(rows)`` returns them.
    grid: Any = ({},)
    #: Key of the method, for Explore.
    method: str = ""
    #: Settings are chosen on test rows.
    on_test: bool = False

    def chosen(self, rows: Halves, seed: int = 0) -> tuple[Values, Any]:
        """The best setting, by five folds of training rows, and the fit with it.

        Test rows choose only in experiments whose names say so, as some papers did.
        """
        grid = self.grid(rows) if callable(self.grid) else self.grid
        if self.on_test:
            fits = [(one, self.make(**one).fit(rows.X, rows.y)) for one in grid]
            return max(fits, key=lambda pair: rows.test_accuracy(pair[1]))
        values = grid[0]
        if len(grid) > 1:
            values = best_by_folds(self.make, grid, rows.X, rows.y, seed=seed)
        return values, self.make(**values).fit(rows.X, rows.y)


class AsPrinted:
    """A paper's algorithm as a classifier: ``model_of(X, y, **values)`` runs it."""

    def __init__(self, model_of: Callable[..., PrototypeModel], **values: Any) -> None:
        self.model_of, self.values = model_of, values

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Run it on rows."""
        self.model_ = self.model_of(X, y, **self.values)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of each row."""
        return self.model_.predict(X)


def standard(*keys: str, **values: tuple[Any, ...]) -> Fit:
    """A baseline, or the best of several, with all combinations of values."""
    return Fit(scikit_learns, grid_of(key=keys, **values))
