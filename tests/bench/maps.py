"""How true maps are: ``python -m tests.bench.maps [table ...] [--data F] [--save]``.

Share of rows whose place shows what the model answers to them, each method at its
defaults: of training rows on the main plane, and on the map of training rows, of rows
that were placed on it afterwards (validation), of the tenth with the smallest lead, and
of those with a wrong answer. The surface of the map knows no row that is measured: of
training rows five parts are left out, each once. "Nearby" is what a surface through
other rows can reach: of all planes through three of a row's ten nearest others (in all
features) that which passes nearest to the row, asked about its nearest point. It knows
the row and folds as it likes; a map does neither. "Without the row" is what a place can
know: how often fits of the default model without the row's fold answer as it does.
Tables: fourteen, six of them bundled, or those of a folder. The last line counts tables
of which the map shows 80 % of the left-out rows as SMP answers. ``--save`` writes the
places of bundled tables that open with their map for the app.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.spatial import KDTree
from sklearn.datasets import (
    load_sample_images,
    make_classification,
    make_swiss_roll,
)

from pages.work import cache, studies
from pages.work.studies import MAPS, TRUE_SHARE, laid_out_rows, stored
from smpcore import METHODS, SmpcoreError, figures, load_dataset, split
from smpcore.datasets import Dataset, read_table
from smpcore.figures.embedding import BORDER
from smpcore.live import Parts

N_ROWS, SIDE = 600, 8


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


def waveform() -> tuple[np.ndarray, np.ndarray]:
    """Breiman's: mixes of two of three triangles in 21 features, with noise."""
    rng = np.random.default_rng(0)
    hats = [np.maximum(6 - np.abs(np.arange(1, 22) - c), 0) for c in (11, 7, 15)]
    y, share = rng.integers(0, 3, N_ROWS), rng.random((N_ROWS, 1))
    first, second = np.array([[0, 1], [0, 2], [1, 2]])[y].T
    X = share * np.array(hats)[first] + (1 - share) * np.array(hats)[second]
    return X + rng.normal(size=X.shape), y


def textures() -> tuple[np.ndarray, np.ndarray]:
    """Stripes in four directions, at any phase, with noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, N_ROWS)
    turn = y * np.pi / 4 + rng.normal(0, 0.1, N_ROWS)
    ways = np.column_stack([np.cos(turn), np.sin(turn)])
    pixels = np.indices((SIDE, SIDE)).reshape(2, -1)
    phase = rng.uniform(0, 2 * np.pi, (N_ROWS, 1))
    X = np.sin(4 * np.pi / SIDE * ways @ pixels + phase)
    return X + rng.normal(0, 0.3, X.shape), y


def photographs() -> tuple[np.ndarray, np.ndarray]:
    """Pieces of two photographs: which one?"""
    rng = np.random.default_rng(0)
    photos = [image.mean(axis=2) for image in load_sample_images().images]
    y, X = rng.integers(0, 2, N_ROWS), []
    for k in y:
        i, j = (rng.integers(0, n - SIDE) for n in photos[k].shape)
        X.append(photos[k][i : i + SIDE, j : j + SIDE].ravel())
    return np.array(X), y


def swiss_roll() -> tuple[np.ndarray, np.ndarray]:
    """A rolled sheet, in four pieces along the roll."""
    X, along = make_swiss_roll(N_ROWS, noise=0.5, random_state=0)
    return X, np.digitize(along, np.quantile(along, [0.25, 0.5, 0.75]))


def clusters() -> tuple[np.ndarray, np.ndarray]:
    """Two clusters of each class, in 6 of 20 features."""
    more = {"n_informative": 6, "n_redundant": 4, "n_classes": 3, "random_state": 0}
    return make_classification(N_ROWS, 20, **more)


def numeric() -> tuple[np.ndarray, np.ndarray]:
    """Three classes in 6 of 12 features."""
    more = {"n_informative": 6, "n_redundant": 2, "n_classes": 3, "random_state": 0}
    return make_classification(500, 12, **more)


def mixed() -> Dataset:
    """Four numbers and three categories with 22 levels, whose effects add up."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 4))).add_prefix("x")
    total = frame.to_numpy() @ [1, -1, 0.5, 0] + rng.normal(0, 0.5, len(frame))
    for n_levels in (5, 8, 9):
        level = rng.integers(0, n_levels, len(frame))
        frame[f"of {n_levels}"] = [f"level {k}" for k in level]
        total += rng.normal(size=n_levels)[level]
    frame["class"] = np.digitize(total, np.quantile(total, [1 / 3, 2 / 3]))
    content = frame.to_csv(index=False).encode()
    return read_table(content, "mixed.csv", task="classification")


def made(points: Callable) -> Dataset:
    """A table of drawn points."""
    X, y = points()
    frame = pd.DataFrame(X).add_prefix("x").assign(**{"class": y})
    content = frame.to_csv(index=False).encode()
    return read_table(content, f"{points.__name__}.csv", task="classification")


BUNDLED = ("iris", "wine", "breast_cancer", "digits", "friedman", "series")
TABLES = {name: lambda name=name: load_dataset(name) for name in BUNDLED}
TABLES["diabetes, two classes"] = lambda: load_dataset("diabetes").two_classes()
for drawn in (waveform, textures, photographs, swiss_roll, clusters, numeric):
    TABLES[drawn.__name__] = lambda drawn=drawn: made(drawn)
TABLES["mixed"] = mixed


def nearby(X: np.ndarray) -> np.ndarray:
    """The point nearest to each row on a plane through three rows near it."""
    unit = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    rows = X / unit
    others = KDTree(rows).query(rows, k=11)[1][:, 1:]
    threes, points = np.array([*combinations(range(10), 3)]), []
    for row, ten in zip(rows, others, strict=True):
        corner = rows[ten[threes[:, 0]]]
        sides = (rows[ten[threes[:, 1:]]] - corner[:, None]).transpose(0, 2, 1)
        steps = np.linalg.pinv(sides) @ (row - corner)[..., None]
        on = corner + (sides @ steps)[..., 0]
        points.append(on[((on - row) ** 2).sum(axis=1).argmin()] * unit)
    return np.array(points)


def shares_of(shares: Iterable[float]) -> str:
    """In per cent."""
    return "  ".join(f"{100 * share:5.1f}" for share in shares)


def answers_without_the_row(data: Parts, rows: np.ndarray, n_train: int) -> list[float]:
    """How often the default model's fits without the row answer as that model."""
    X, y, parts = data.X[rows], data.y[rows], np.arange(len(rows)) % figures.FOLDS
    dataset = data.dataset
    method = next(m for m in METHODS.values() if m.learns(dataset, dataset.task))
    values = method.defaults(dataset.task)
    values |= method.data_params(dataset, values)
    placed, alike = np.arange(len(rows)) >= n_train, np.zeros(len(rows), dtype=bool)
    parts[np.argsort(y[:n_train], kind="stable")] = np.arange(n_train) % figures.FOLDS
    model = method.estimator_for(dataset, values).fit(X[:n_train], y[:n_train]).model_
    answers = model.predict(X)
    for k in range(figures.FOLDS):
        known = ~placed & (parts != k)
        fitted = method.estimator_for(dataset, values).fit(X[known], y[known])
        alike[parts == k] = (fitted.model_.predict(X) == answers)[parts == k]
    lead = np.diff(np.sort(model.scores(X), axis=1)[:, -2:]).ravel()
    groups = ~placed, placed, lead <= np.quantile(lead, BORDER), answers != y
    return [float(alike[group].mean()) for group in groups]


def measured(name: str, dataset: Dataset, save: bool) -> dict[str, float]:
    """Lay out one table; a line for each method, and its share of left-out rows."""
    data, left_out = cache.computed.parts(dataset, split(dataset)), {}
    job = studies.map_of(data)
    if job is None:
        return left_out
    began = time.process_time()
    try:
        job.result()
    except SmpcoreError as error:
        print(f"{name}: {error}")
        return left_out
    seconds = time.process_time() - began
    view, train = job.view, laid_out_rows(data)[0]
    X, y = data.X[train], data.y[train]
    plane, beside = figures.pca_view(X), nearby(X)
    measured_rows = np.concatenate([train, data.split.validation])
    placed = np.arange(len(measured_rows)) >= len(train)
    rows = data.X[measured_rows]
    unknown = view.left_out(rows, view.lift(view.project(rows)))
    spread = float(np.ptp(y)) if dataset.task == "regression" else 0.0
    if dataset.task == "classification":
        without = answers_without_the_row(data, measured_rows, len(train))
        print(f"{name:24.24} {'without the row':26} {shares_of(without)}", flush=True)
    for method in METHODS.values():
        if not method.learns(dataset, dataset.task):
            continue
        values = method.defaults(dataset.task)
        values |= method.data_params(dataset, values)
        model = method.estimator_for(dataset, values).fit(X, y).model_
        answers = rows, data.y[measured_rows]
        on_map = figures.agreement(model, answers, unknown, placed, spread)
        left_out[method.key] = on_map.training
        shares = [
            figures.shown_rightly(model, model.predict(X), shown, spread).mean()
            for shown in (plane.lift(plane.project(X)), beside)
        ]
        words = shares_of((*shares, *on_map[1:]))
        opens = "plane" if not job.opens else "map" if view.holds else "rows"
        print(
            f"{name:24.24} {method.key:12} {words}  {opens:6} {seconds:5.1f}",
            flush=True,
        )
    if save and job.opens and not dataset.private:
        MAPS.mkdir(exist_ok=True)
        np.savez_compressed(stored(data), places=job.places, smoothing=job.smoothing)
    return left_out


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    columns = "plane nearby  train placed border errors  opens  s of CPU"
    print(f"{'table':24} {'method':12} {columns}")
    chosen = options.tables or ([] if options.data else TABLES)
    tables = [(name, TABLES[name]()) for name in chosen]
    if options.data:
        tables += [(dataset.name, dataset) for dataset in found(options.data)]
    shares = [measured(name, dataset, options.save) for name, dataset in tables]
    enough = sum(share.get("smp", 0.0) >= TRUE_SHARE for share in shares)
    print(f"SMP, 80 % of the left-out rows: {enough} of {len(shares)} tables")


if __name__ == "__main__":
    main()
