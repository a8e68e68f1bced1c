"""How true maps are: ``python -m tests.bench.maps [table ...] [--data F] [--save]``.

Share of training rows whose place shows what the model answers to them: on the main
plane, on the map, and on maps that did not know the row (five parts, each left out
once); of validation rows, which no map knows. Each method at its defaults. Tables: the
bundled ones with three features or more, and those of a folder. ``--save`` writes the
places of bundled tables that open with their map for the app.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pages.work import cache
from pages.work.map_jobs import FOLDER, laid_out_rows, stored
from smpcore import METHODS, SmpcoreError, figures, list_datasets, load_dataset, split
from smpcore.datasets import Dataset
from tests.bench.integers import found


def bundled(names: list[str]) -> Iterator[tuple[str, Dataset]]:
    """Read the tables that the app brings along."""
    for info in list_datasets():
        if not names or info.key in names:
            yield info.key, load_dataset(info.key)


def measured(name: str, dataset: Dataset, save: bool) -> None:
    """Lay out one table; a line for each method."""
    data = cache.parts(dataset, split(dataset))
    job = cache.map_of(data)
    if job is None:
        return
    began = time.process_time()
    try:
        job.result()
    except SmpcoreError as error:
        print(f"{name}: {error}")
        return
    seconds = time.process_time() - began
    view, train = job.view, laid_out_rows(data)[0]
    X, y = data.X[train], data.y[train]
    plane = figures.pca_view(X)
    held_out = data.X[data.split.validation]
    spread = float(np.ptp(y)) if dataset.task == "regression" else 0.0
    for method in METHODS.values():
        if not method.learns(dataset, dataset.task):
            continue
        values = method.defaults(dataset.task)
        values |= method.data_params(dataset, values)
        model = method.estimator_for(dataset, values).fit(X, y).model_
        shares = [
            figures.agreement(model, X, shown, spread)
            for shown in (
                plane.lift(plane.project(X)),
                view.lift(view.project(X)),
                view.unseen,
            )
        ]
        there = view.lift(view.project(held_out))
        shares.append(figures.agreement(model, held_out, there, spread))
        words = "  ".join(f"{100 * share:5.1f}" for share in shares)
        opens = "map" if job.opens else "plane"
        print(f"{name:24.24} {method.key:12} {words}  {opens:6} {seconds:5.1f}")
    if save and job.opens and not dataset.private:
        FOLDER.mkdir(exist_ok=True)
        np.savez_compressed(stored(data), places=job.places)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'table':24} {'method':12} plane    map  left out  validation  s of CPU")
    tables = [*bundled(options.tables)]
    if options.data:
        tables += [(dataset.name, dataset) for dataset in found(options.data)]
    for name, dataset in tables:
        measured(name, dataset, options.save)


if __name__ == "__main__":
    main()
