"""Write the rows and folds of the comparison as plain files, for `tests.bench.rivals`.

``python -m tests.bench.rival_rows ROWS --data FOLDER`` writes a file for each table
whose data are here, and names the others.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from smpcore import Dataset, prepare
from smpcore.evaluation import folds
from smpcore.papers import EXPERIMENTS, Place, by_name, missing_data
from smpcore.papers.comparison.experiments import N_FOLDS
from smpcore.papers.protocols import prepared


def rows_of(dataset: Dataset) -> dict[str, np.ndarray]:
    """Prepared rows of each outer fold and of the inner folds of its training rows.

    Keys are ``OUTER/PART/NAME``: the part is ``all``, or the number of an inner fold;
    ``OUTER/columns`` has the column that each feature is made from.
    """
    comparison, arrays = by_name(EXPERIMENTS, "comparison"), {}
    for number in range(comparison.repetitions):
        outer = comparison.divide(dataset, number)
        inner = folds(dataset, outer.train, N_FOLDS)
        parts = {str(one.number): one for one in inner if one.repeat == 0}
        for part, fold in {"all": outer, **parts}.items():
            rows = prepared(dataset, fold.train, fold.held_out)
            for name in ("y", "y_test"):
                codes = np.searchsorted(dataset.classes, getattr(rows, name))
                arrays[f"{number}/{part}/{name}"] = codes
            for name in ("X", "X_test"):
                arrays[f"{number}/{part}/{name}"] = getattr(rows, name)
        preparation = prepare(dataset, outer.train)
        each = np.eye(preparation.n_features, dtype=bool)
        arrays[f"{number}/columns"] = np.array(
            [preparation.used_columns(one).argmax() for one in each]
        )
    return arrays


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, help="a folder with data files")
    args = parser.parse_args()
    comparison = by_name(EXPERIMENTS, "comparison")
    missing = missing_data(comparison, Place(data=args.data))
    args.out.mkdir(parents=True, exist_ok=True)
    for place, (name, source) in enumerate(comparison.data.items()):
        if name in missing:
            print(f"left out: {name}, {missing[name]}")
            continue
        path = args.out / f"{place:02}-{name}.npz"
        np.savez_compressed(path, **rows_of(source.load(args.data)))


if __name__ == "__main__":
    main()
