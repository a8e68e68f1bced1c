"""Integers beside floats: ``python -m tests.bench.integers [--data FOLDER]``.

For generated tables of mixed kinds of columns, and for every ARFF and CSV file of a
folder with a class to predict: accuracy on held-out rows of the model in float64, in
int16 and int8, and the share of these rows that integers answer otherwise, for each
family that has an integer form. Tables: one of each kind, or as many as --seeds says;
models are fitted to 1,000 rows at most.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from smpcore import METHODS, SmpcoreError, compile_model, prepare, split
from smpcore.codegen import quantise
from smpcore.datasets import Dataset, check_fit, read_table
from tests.smpcore.codegen.integers.mixed_tables import TABLES, mixed_columns

#: Name of a family -> its method, and what differs from the defaults.
FAMILIES = {
    "smp": ("smp", {}),
    "smallk": ("smallk", {}),
    "mprotsvm": ("mprotsvm", {}),
    "mprotsvm rbf": ("mprotsvm", {"kernel": "rbf"}),
    "supersparse rbf": ("supersparse", {}),
    "supersparse laplacian": ("supersparse", {"similarity": "laplacian"}),
}
WIDTHS = (16, 8)
MOST_TRAINING_ROWS = 1000


def generated(seeds: int) -> Iterator[Dataset]:
    """Draw every table, once for each seed."""
    for name in TABLES:
        for seed in range(seeds):
            yield mixed_columns(name, seed=seed)


def found(folder: Path) -> Iterator[Dataset]:
    """Read the tables of a folder, numeric targets as two classes."""
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in (".arff", ".csv"):
            continue
        try:
            dataset = read_table(path.read_bytes(), path.name)
            if dataset.task == "regression":
                dataset = dataset.two_classes()
        except SmpcoreError as error:
            print(f"{path.name}: {error}")
            continue
        yield dataset


def compared(dataset: Dataset) -> Iterator[dict]:
    """Fit every family to a table; a line for each."""
    parts = split(dataset, validation=0.0, test=0.5)
    parts = parts.thinned(dataset.y, MOST_TRAINING_ROWS, True)
    preparation = prepare(dataset, parts.train)
    X, y = preparation.transform(dataset.frame), dataset.y
    check_fit(dataset, parts)
    held_out = dataset.frame.iloc[parts.test]
    for family, (key, changes) in FAMILIES.items():
        method = METHODS[key]
        line = {"table": dataset.name, "family": family, "rows": len(parts.test)}
        try:
            estimator = method.estimator({**method.defaults(), **changes})
            model = estimator.fit(X[parts.train], y[parts.train]).model_
            compiled = compile_model(model, preparation)
        except SmpcoreError as error:
            yield line | {"problem": str(error)}
            continue
        exact = model.predict(X[parts.test])
        line["float64"] = (exact == y[parts.test]).mean()
        for width in WIDTHS:
            try:
                answers = quantise(compiled, width).predict_frame(held_out)
            except SmpcoreError as error:
                yield line | {"problem": f"{width} bits: {error}"}
                continue
            line[f"int{width}"] = (answers == y[parts.test]).mean()
            line[f"int{width} differs"] = (answers != exact).mean()
        yield line


def report(title: str, datasets: Iterator[Dataset]) -> pd.DataFrame:
    """Compare and print, then the worst and the mean of each family."""
    lines = []
    for dataset in datasets:
        try:
            lines += compared(dataset)
        except SmpcoreError as error:
            print(f"{dataset.name}: {error}")
    frame = pd.DataFrame(lines)
    print(f"\n{title}")
    with pd.option_context("display.width", 250, "display.max_colwidth", 60):
        shown = frame.drop(columns="problem", errors="ignore").dropna()
        print(shown.round(4).to_string(index=False))
        for line in frame.to_dict("records"):
            if isinstance(line.get("problem"), str):
                print(f"{line['table']}, {line['family']}: {line['problem']}")
        names = [name for name in shown if "differs" in name]
        for width in WIDTHS:
            shown = shown.assign(
                **{f"int{width} lost": shown["float64"] - shown[f"int{width}"]}
            )
        names += [f"int{width} lost" for width in WIDTHS]
        by_family = shown.groupby("family", sort=False)[names]
        print(by_family.agg(["mean", "max"]).round(4).to_string())
    return frame


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of ARFF and CSV files")
    parser.add_argument("--seeds", type=int, default=1, help="tables of each kind")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    report("Generated tables", generated(asked.seeds))
    if asked.data:
        report(f"Tables of {asked.data}", found(asked.data))


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
