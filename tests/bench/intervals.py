"""How many rows intervals cover where one looks: ``python -m tests.bench.intervals``.

For each table and 20 splits the first method of regression is fitted, its intervals of
90 % are learned on training rows, and test rows are counted, in quarters by their
prediction: with one width for all rows, and with the width that is chosen. After the
name of a folder ``baskball.arff``, ``housing.arff`` and ``humandevel.arff`` in it come
as well. Widths are means over the rows, in units of the constant one; where intervals
are infinite on a split, its width is left out.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from smpcore import METHODS, Dataset, load_dataset, prepare, read_table, split
from smpcore.evaluation import calibrate, clusters, out_of_fold
from smpcore.evaluation.prediction_intervals import half_widths, quarters
from smpcore.model import Calibration
from smpcore.readouts import COVERAGE

BUNDLED, FILES = ("sine", "hills", "diabetes"), ("baskball", "housing", "humandevel")
SPLITS = 20


def tables(folder: str | None) -> dict[str, Dataset]:
    """Name and table, the last column of a file as the target."""
    read = {name: load_dataset(name) for name in BUNDLED}
    for name in FILES if folder else ():
        path = Path(folder) / f"{name}.arff"
        dataset = read_table(path.read_bytes(), path.name)
        target = str(dataset.frame.columns[-1])
        read[name] = dataset.with_roles({target: "target"}, task="regression")
    return read


def measure(
    dataset: Dataset, seed: int
) -> tuple[np.ndarray, list[np.ndarray], list[float], str]:
    """Quarter of each test row, whether both kinds cover it, widths, and the choice."""
    method = next(m for m in METHODS.values() if "regression" in m.estimators)
    estimator = method.estimator_for(dataset, method.defaults("regression"))
    parts = split(dataset, seed=seed)
    train, test = parts.train, parts.test
    X = prepare(dataset, train).transform(dataset.frame)
    scores = out_of_fold(estimator, dataset, parts)[:, 0]
    of_rows = clusters(dataset, train)
    of_rows = np.arange(len(train)) if of_rows is None else of_rows
    chosen = calibrate(scores, dataset.y[train], None, of_rows)
    widths = half_widths(np.abs(dataset.y[train] - scores), of_rows)
    usual = Calibration(len(train), half_widths=widths)
    estimator.fit(X[train], dataset.y[train])
    inside, sizes = [], []
    for calibration in (usual, chosen):
        model = replace(estimator.model_, calibration=calibration)
        low, high = model.intervals(X[test], COVERAGE).T
        inside.append((low <= dataset.y[test]) & (dataset.y[test] <= high))
        sizes.append(float(np.mean(high - low)))
    return quarters(model.predict(X[test])), inside, sizes, chosen.spread_name


def main(folder: str | None = None) -> None:
    """Print a line for each table, before and after."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, dataset in tables(folder).items():
        with threadpool_limits(1):
            trials = [measure(dataset, seed) for seed in range(SPLITS)]
        quarter = np.concatenate([trial[0] for trial in trials])
        ratios = np.array([trial[2] for trial in trials])
        finite = np.isfinite(ratios).all(axis=1)
        width = np.mean(ratios[finite, 1] / ratios[finite, 0])
        for number, label in enumerate(("one width", "chosen")):
            inside = np.concatenate([trial[1][number] for trial in trials])
            shares = [100 * inside[quarter == q].mean() for q in range(4)]
            text = " ".join(f"{share:5.1f}" for share in shares)
            print(
                f"{name:11s}{label:10s} {text}   all {100 * inside.mean():5.1f}   "
                f"width {width if number else 1:.2f}"
            )
        print(f"{'':11s}{dict(Counter(trial[3] for trial in trials))}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
