"""Calibrated probabilities beside the softmax: ``python -m tests.bench.calibration``.

Each family with its default settings on three data sets, over several splits. The
calibration is learned on out-of-fold scores of the training rows; the test rows judge
it, and nothing is chosen on them. Printed: expected calibration error (bins of equally
many rows) and Brier score of the test rows of all splits, of `predict_proba` (a
softmax) and calibrated, and whether the error is no larger, and at most half of one
above 0.05.
Names of data sets may follow, to measure these only.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import replace

import numpy as np

from smpcore import METHODS, Dataset, load_dataset, prepare, split
from smpcore.evaluation import (
    brier_score,
    calibrate,
    calibration_error,
    event,
    out_of_fold,
    reliability,
)

#: Data set -> its settings, and how many splits.
SETS = {
    "breast_cancer": ({}, 10),
    "digits": ({}, 3),
    "moons": ({"n_samples": 2000, "noise": 0.4}, 4),
}
LARGE = 0.05


def tested(
    key: str, dataset: Dataset, seeds: range
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Softmax and calibrated probabilities of test rows, and their class numbers."""
    row, found = METHODS[key], []
    for seed in seeds:
        parts = split(dataset, seed=seed, validation=0.0, test=0.3)
        estimator = row.estimator(row.defaults(dataset.task), dataset.task)
        scores = out_of_fold(estimator, dataset, parts)
        X, y = prepare(dataset, parts.train).transform(dataset.frame), dataset.y
        estimator.fit(X[parts.train], y[parts.train])
        model = estimator.model_
        calibration = calibrate(scores, y[parts.train], model.classes)
        model, rows = replace(model, calibration=calibration), X[parts.test]
        softmax = estimator.predict_proba(rows)
        found.append(
            (softmax, model.probabilities(rows), dataset.y_encoded[parts.test])
        )
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))


def errors(key: str, dataset: Dataset, seeds: range) -> np.ndarray:
    """Calibration error and Brier score: a row for softmax, one for calibrated."""
    *both, y_encoded = tested(key, dataset, seeds)
    return np.array(
        [
            (
                calibration_error(reliability(*event(shares, y_encoded))),
                brier_score(shares, y_encoded)[0],
            )
            for shares in both
        ]
    )


def is_kept(softmax: float, calibrated: float) -> bool:
    """Whether the error is no larger, and halved where it was large."""
    return calibrated <= (softmax / 2 if softmax > LARGE else softmax)


def main() -> None:
    """Print a line for each data set and family."""
    warnings.simplefilter("ignore")
    print(f"{'':28}{'softmax':>18}{'calibrated':>18}")
    print(f"{'':28}{'ECE':>9}{'Brier':>9}{'ECE':>9}{'Brier':>9}")
    for name in sys.argv[1:] or SETS:
        values, n_splits = SETS[name]
        dataset = load_dataset(name, **values)
        for key, row in METHODS.items():
            if "classification" not in row.estimators:
                continue
            start = time.perf_counter()
            table = errors(key, dataset, range(n_splits))
            seconds = time.perf_counter() - start
            kept = "yes" if is_kept(*table[:, 0]) else "NO"
            figures = "".join(f"{value:9.4f}" for value in table.ravel())
            print(f"{name:15}{key:13}{figures}  {kept:4}{seconds:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
