"""One model in several number formats, each beside the float64 model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from smpcore.codegen import (
    NUMBERS,
    Agreement,
    CompiledModel,
    QuantModel,
    SensorRange,
    agreement,
    quantise,
)
from smpcore.errors import ExportError
from smpcore.evaluation.scores import RegressionScores, Scores, score_answers
from smpcore.model import PrototypeModel


class Rows(NamedTuple):
    """Rows on which formats are compared.

    Parameters
    ----------
    frame : DataFrame
        Raw columns of the rows, as `CompiledModel.predict_frame` takes them.
    truth : ndarray of shape (n,)
        True labels or numbers.
    clusters : ndarray of int, shape (n,) or None
        Which rows depend on each other.
    weights : ndarray of shape (n,) or None
        Of the rows, for all shares.
    """

    frame: pd.DataFrame
    truth: np.ndarray
    clusters: np.ndarray | None = None
    weights: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Predictions of a number format for some rows, beside those of the float64 model.

    Parameters
    ----------
    scores : Scores or RegressionScores
        How good they are.
    same : Agreement
        How close they are to the float64 model's.
    answers : ndarray of shape (n,)
        Predicted labels or numbers.
    differ : ndarray of int
        Rows of a classifier whose labels differ.
    saturated : int
        Rows with an input at an end of its integers.
    """

    scores: Scores | RegressionScores
    same: Agreement
    answers: np.ndarray
    differ: np.ndarray
    saturated: int


@dataclass(frozen=True, eq=False)
class ComparedFormat:
    """A model in one number format.

    Parameters
    ----------
    name : str
        Key of `NUMBERS`.
    model : CompiledModel, QuantModel or None
        None if there is none.
    problem : str
        Why there is no model, in a sentence.
    parts : dict of str to ComparedRows
        Name of the rows -> what was found there.
    """

    name: str
    model: CompiledModel | QuantModel | None
    problem: str = ""
    parts: dict[str, ComparedRows] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether it computes with integers."""
        return isinstance(self.model, QuantModel)

    @property
    def n_inputs(self) -> int:
        """Columns that can change a prediction."""
        lost = self.model.zero_weights.values() if self.is_whole else ()
        return len(self.model.inputs) - sum(zero == total for zero, total in lost)

    @property
    def n_rows(self) -> int:
        """Rows compared."""
        return sum(part.same.n_rows for part in self.parts.values())

    @property
    def n_certified(self) -> int:
        """Rows whose float64 prediction is proved."""
        return sum(part.same.n_certified for part in self.parts.values())

    @property
    def n_differ(self) -> int:
        """Rows with another label than that of the float64 model."""
        return sum(len(part.differ) for part in self.parts.values())

    @property
    def n_saturated(self) -> int:
        """Rows with an input at an end of its integers."""
        return sum(part.saturated for part in self.parts.values())


def compare_number_formats(
    compiled: CompiledModel,
    model: PrototypeModel,
    preparation: Any,
    parts: Mapping[str, Rows],
    ranges: Mapping[str, SensorRange],
    stop: np.ndarray,
    progress: np.ndarray,
) -> dict[str, ComparedFormat]:
    """Predict rows with a model in every number format.

    Parameters
    ----------
    compiled : CompiledModel
        Model in 32-bit floats.
    model : PrototypeModel
        What it was compiled from.
    preparation : Preparation
        Turns raw rows into the inputs of `model`.
    parts : mapping of str to Rows
        Rows to compare on.
    ranges : mapping of str to SensorRange
        See `quantise`.
    stop : ndarray of int64, shape (1,)
        Anything but 0 leaves the remaining rows out.
    progress : ndarray of float64, shape (1,)
        Share that is done.

    Returns
    -------
    dict of str to ComparedFormat
        In the order of `NUMBERS`.
    """
    formats = {}
    for name, width in NUMBERS.items():
        try:
            form = quantise(compiled, width, ranges) if width else compiled
        except ExportError as error:
            formats[name] = ComparedFormat(name, None, str(error))
            continue
        compared = {}
        for part, rows in parts.items():
            if not stop[0]:
                compared[part] = _compare(form, model, preparation, rows)
                progress[0] += 1 / len(parts) / len(NUMBERS)
        formats[name] = ComparedFormat(name, form, parts=compared)
    return formats


def _compare(
    form: CompiledModel | QuantModel,
    model: PrototypeModel,
    preparation: Any,
    rows: Rows,
) -> ComparedRows:
    same = agreement(form, model, rows.frame, preparation)
    answers, saturated = form.predict_frame(rows.frame), 0
    if isinstance(form, QuantModel):
        integers = form.quantise(form.rows(rows.frame))
        saturated = int((form.saturated(integers) > 0).sum())
    scores = score_answers(
        rows.truth, answers, model.classes, rows.clusters, rows.weights
    )
    differ = np.array([], int)
    if model.classes is not None:
        exact = model.predict(preparation.transform(rows.frame))
        differ = np.flatnonzero(answers != exact)
    return ComparedRows(scores, same, answers, differ, saturated)
