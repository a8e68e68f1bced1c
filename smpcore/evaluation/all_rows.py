"""A model of all rows of a Parquet file, and how good it is on rows left out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from joblib import parallel_config

from smpcore.datasets import Dataset, prepare
from smpcore.datasets.display_names import clean_names
from smpcore.datasets.parquet_rows import PreparedRows
from smpcore.errors import DatasetError
from smpcore.evaluation.scores import RegressionScores, Scores, score_answers

#: Rows that are predicted at once.
AT_ONCE = 50_000


@dataclass(frozen=True, eq=False)
class AllRowsFit:
    """A model of the rows of a file but those left out.

    Parameters
    ----------
    estimator : PrototypeClassifier or PrototypeRegressor
        The fitted one.
    n_train : int
        Rows that it learned from.
    scores : Scores or RegressionScores
        Of its answers on the rows left out.
    """

    estimator: Any
    n_train: int
    scores: Scores | RegressionScores


def fit_all_rows(
    path: Path,
    dataset: Dataset,
    estimator: Any,
    share: float,
    seed: int,
    stop: np.ndarray,
    progress: np.ndarray,
) -> AllRowsFit | None:
    """Fit the rows of a file, of which a data set is a sample, in blocks.

    Rows are left out by chance, but none of the sample: settings were chosen on it.
    Blocks are worked on by every core, at the priority of the thread. Categories and
    missing values become what the sample says.

    Parameters
    ----------
    path : Path
        Of a Parquet file.
    dataset : Dataset
        The sample, which says what the target and the features are.
    estimator : PrototypeClassifier or PrototypeRegressor
        Not fitted; one that reads rows in blocks.
    share : float
        Of the other rows that are left out.
    seed : int
        Of the drawing.
    stop : ndarray of int64, shape (1,)
        Ends it once it is not 0.
    progress : ndarray of float64, shape (1,)
        Rises to 1 while the model is fitted.

    Returns
    -------
    AllRowsFit or None
        None if it was stopped.

    Raises
    ------
    DatasetError
        If the file is damaged or not the one that was sampled, or rows have weights.
    """
    if dataset.weights is not None:
        raise DatasetError(
            "All rows of a file are learned from without weights; give their column "
            "the role ignore."
        )
    # Who reads no file does not wait for it.
    from smpcore.datasets.parquet import damage_in_words, flat_columns, opened

    with damage_in_words():
        file = opened(path)
        stored = flat_columns(file.schema_arrow)
        in_file = dict(zip(clean_names(stored)[0], stored, strict=True))
        read = {dataset.target, *dataset.feature_columns}
        if file.metadata.num_rows != dataset.reading.sampled_from or read - {*in_file}:
            raise DatasetError(
                f"{path.name} has changed since its sample was read; open it again."
            )
        values, places = _targets(file, in_file[dataset.target], dataset.task)
    left_out = np.random.default_rng(seed).random(len(places)) < share
    left_out[dataset.row_numbers(np.arange(dataset.n_samples)) - 1] = False
    preparation = prepare(dataset, np.arange(dataset.n_samples))
    train = np.flatnonzero(~left_out & (places >= 0))
    test = np.flatnonzero(left_out & (places >= 0))
    rows, answers = PreparedRows(path, preparation, in_file, train), [values[:0]]
    problem = estimator.problem(rows, values[places[train]])
    if not stop[0]:
        with parallel_config("threading", n_jobs=-1):
            estimator.solve(problem, stop=stop, progress=progress)
    rows = PreparedRows(path, preparation, in_file, test)
    for first in range(0, len(test), AT_ONCE):
        if stop[0]:
            return None
        part = slice(first, first + AT_ONCE)
        answers.append(estimator.predict(rows.frame(part)))
    truth, classes = values[places[test]], estimator.model_.classes
    scores = score_answers(truth, np.concatenate(answers), classes)
    return AllRowsFit(estimator, len(train), scores)


def _targets(file: Any, name: str, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Classes or numbers of a Parquet file, and the place of each row's; -1 if none."""
    from smpcore.datasets.parquet import class_codes

    column = file.read(columns=[name]).column(0)
    if task == "classification":
        codes, labels = class_codes(column)
        return np.array(labels), codes
    numbers = column.cast(pa.float64(), safe=False).to_numpy()
    return numbers, np.where(np.isfinite(numbers), np.arange(len(numbers)), -1)
