"""What Explore's first screen shows: ``python -m tests.bench.first_screen``.

The default method with its default settings on generated tables, 100 of each: mean
accuracy on training and validation rows, how far the table of seed 0, which everybody
sees, is from these means in standard deviations, and where on the slider of lambda
(0 left, 100 right) prototypes merge. Test rows are not used.
Names of tables may follow, to measure these only.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np

from smpcore import METHODS, Dataset, load_dataset, prepare, split
from smpcore.datasets import Split
from smpcore.methods.shared.method import Method

SEEDS, SEEDS_OF_PATHS = 100, 10
NOISES = {
    "moons": (0.15, 0.2, 0.25, 0.3, 0.35),
    "circles": (0.08, 0.16),
    "xor": (0.4, 0.8),
}
SIZES = 100, 200, 300


def accuracies(dataset: Dataset) -> list[float]:
    """Of the default model on training and validation rows, in percent."""
    method, rows, X = _prepared(dataset)
    estimator = method.estimator(method.defaults(dataset.task), dataset.task)
    model = estimator.fit(X[rows.train], dataset.y[rows.train]).model_
    parts = rows.train, rows.validation
    return [100 * np.mean(model.predict(X[p]) == dataset.y[p]) for p in parts]


def fusions(dataset: Dataset) -> list[float]:
    """Where on the slider the first prototypes merge and the last ones, in percent."""
    method, rows, X = _prepared(dataset)
    values = method.defaults(dataset.task)
    estimator = method.estimator(values, dataset.task)
    problem = estimator.problem(X[rows.train], dataset.y[rows.train])
    grid = method.grid(estimator.bounds(problem)[method.path])
    path = [{**values, method.path: float(value)} for value in grid]
    fits = [method.estimator(at, dataset.task).solve(problem) for at in path]
    counts = np.array([fit.model_.n_prototypes for fit in fits])
    first, last = (counts < counts[0]).argmax(), (counts == counts.min()).argmax()
    return [100 * index / (len(grid) - 1) for index in (first, last)]


def _prepared(dataset: Dataset) -> tuple[Method, Split, np.ndarray]:
    rows = split(dataset)
    X = prepare(dataset, rows.train).transform(dataset.frame)
    return next(iter(METHODS.values())), rows, X


def main() -> None:
    """Print a line for each table."""
    asked = sys.argv[1:] or list(NOISES)
    print("table    rows noise  train  valid.  seed 0: train, valid. (sd)  merging")
    for key, n_samples in product(asked, SIZES):
        for noise in NOISES[key]:
            options = {"n_samples": n_samples, "noise": noise}
            tables = [load_dataset(key, **options, seed=s) for s in range(SEEDS)]
            found = np.array([accuracies(table) for table in tables])
            (train, valid), spread = found.mean(axis=0), found.std(axis=0)
            off = (found[0] - found.mean(axis=0)) / spread
            merging = np.array([fusions(table) for table in tables[:SEEDS_OF_PATHS]])
            ours = [f"{x:5.1f} ({z:+.1f})" for x, z in zip(found[0], off, strict=True)]
            print(
                f"{key:8} {n_samples:4} {noise:5}  {train:5.1f}   {valid:5.1f}  ",
                *ours,
                f" {merging.min():.0f}-{merging.max():.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
