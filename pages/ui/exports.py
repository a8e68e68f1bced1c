"""The very model on the screen as files in a zip."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from pages.state import session
from pages.state.choice import Choice
from pages.state.context import Context, resolve
from pages.work import cache, fits
from smpcore import PrototypeModel, SmpcoreError, compile_model, export
from smpcore.codegen import (
    CompiledModel,
    Counts,
    QuantModel,
    SensorRange,
    TestVectors,
    check_supported,
    default_name,
    in_counts,
    table_in_counts,
    test_vectors,
)
from smpcore.evaluation import RegressionScores, Scores
from smpcore.model import Calibration

VERSIONS = ("numpy", "numba", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Export:
    """A canonical model, compiled.

    Parameters
    ----------
    context : Context
    estimator : fitted estimator
    compiled : CompiledModel
    counts : mapping of str to Counts
        Column -> which counts of a converter the compiled model takes it as.
    """

    context: Context
    estimator: Any
    compiled: CompiledModel
    counts: Mapping[str, Counts] = field(default_factory=dict)

    @property
    def data(self) -> cache.Parts:
        """Its rows."""
        return self.context.data

    @cached_property
    def _in_counts(self) -> tuple[PrototypeModel, Any, dict[str, SensorRange]]:
        given = self.estimator.model_, self.data.preparation
        return in_counts(*given, self.counts)

    @property
    def model(self) -> PrototypeModel:
        """What it was compiled from: in counts where there are such."""
        return self._in_counts[0]

    @property
    def preparation(self) -> Any:
        """The preparation of its rows: of counts where there are such."""
        return self._in_counts[1]

    @property
    def ranges(self) -> dict[str, SensorRange]:
        """Of the inputs that come as counts."""
        used = {entry.name for entry in self.compiled.inputs}
        return {n: one for n, one in self._in_counts[2].items() if n in used}

    def frame(self, part: str) -> pd.DataFrame:
        """Rows of a part, as they come to the model."""
        rows = self.data.dataset.frame.iloc[getattr(self.data.split, part)]
        return table_in_counts(rows, self.counts)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Where the model comes from, and its scores on every open part."""
        return self.compiled.provenance

    @property
    def parts(self) -> list[str]:
        """Parts whose rows may be looked at, as far as they have rows."""
        return list(self.provenance["accuracy"])

    @property
    def n_prototypes(self) -> int:
        """Prototypes that can win; of a model that adds them up, all of them."""
        model = self.estimator.model_
        return model.n_prototypes if model.pooling == "sum" else self.compiled.n_rows

    @property
    def usual_name(self) -> str:
        """See `usual_name`."""
        return usual_name(self.context)

    def with_calibration(self, calibration: Calibration | None) -> Export:
        """The same model with this calibration, or without any."""
        estimator = copy.copy(self.estimator)
        estimator.model_ = replace(estimator.model_, calibration=calibration)
        return replace(self, estimator=estimator)

    def vectors(self, model: CompiledModel | QuantModel, real: bool) -> TestVectors:
        """Test vectors; real training rows are in them only when asked for."""
        # Integers are small: so many that every prototype has a corner of its own.
        n = 64 if isinstance(model, QuantModel) else 32
        if not real:
            return test_vectors(model, n=n)
        rows = model.rows(self.frame("train"))
        return test_vectors(model, rows, n, source=self.data.dataset.name)

    def zip(
        self,
        vectors: TestVectors,
        target: str = "c99",
        number: str = "float32",
        name: str = "",
        ranges: Mapping[str, SensorRange] | None = None,
        told: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The model as files: the same bytes for the same model."""
        return export(
            self.estimator.model_,
            self.data.preparation,
            target,
            number,
            name or self.usual_name,
            vectors=vectors,
            ranges=ranges,
            counts=self.counts,
            provenance=self.provenance | ({"as_exported": told} if told else {}),
        )


def with_counts(made: Export, counts: Mapping[str, Counts]) -> Export:
    """Compile a model for inputs that come as counts."""
    made = replace(made, counts=counts)
    if not counts:
        return made
    of = made.model, made.preparation, made.provenance
    return replace(made, compiled=compile_model(*of))


def usual_name(context: Context) -> str:
    """Name of a model in generated code where the visitor gives none."""
    return default_name(context.data.dataset.name)


def compiled(context: Context) -> Export:
    """Compile the canonical model of a choice."""
    return _compiled(context, context.fit())


def _compiled(context: Context, fit: fits.Fit) -> Export:
    estimator = context.with_threshold(fit.finished())
    provenance = _provenance(context, estimator)
    model = compile_model(estimator.model_, context.data.preparation, provenance)
    return Export(context, estimator, model)


def _provenance(context: Context, estimator: Any) -> dict[str, Any]:
    """Where the model comes from; no date, so that the bytes repeat."""
    choice, data = context.choice, context.data
    accuracy = {
        part: measured(data.evaluate(estimator.model_, part), data)
        for part in context.open_parts
    }
    return {
        "data": {"name": data.dataset.name, "digest": data.dataset.digest},
        "split": {
            "seed": data.split.seed,
            "validation": data.split.validation_share,
            "test": data.split.test_share,
            "key": data.split.key,
        },
        **_question(data),
        "forbidden": list(choice.forbidden),
        "method": context.method.title,
        "parameters": context.values,
        "objective": float(estimator.objective_),
        "operating_point": {
            "threshold": choice.threshold if context.operating else 0.0,
            "not_sure_within": choice.band if context.operating else 0.0,
        },
        "accuracy": accuracy,
        "test_set_opened": context.times_opened,
        "versions": {name: version(name) for name in VERSIONS},
    }


def _question(data: cache.Parts) -> dict[str, str]:
    """The question of time to event, in words; empty of other data."""
    asks = data.dataset.follow_up
    return {} if asks is None else {"question": f"{asks.title}? {asks.rule}"}


def measured(scores: Scores | RegressionScores, data: cache.Parts) -> dict[str, Any]:
    """Scores as they go into the bundle."""
    about = {"interval_note": data.cluster_summary} if data.cluster_summary else {}
    if data.row_weights is not None:
        about["weights_note"] = data.weight_summary
    if isinstance(scores, Scores):
        return scores.as_dict() | about
    return scores.as_dict(float(np.median(data.of("train")[1]))) | about


def carries_real_rows(data: cache.Parts) -> bool:
    """Whether a bundle has real rows by default: never a visitor's own."""
    return not data.dataset.private


def offer(choice: Choice) -> tuple[str, Callable[[], bytes]]:
    """Say whether the model of a choice can be exported, and promise its zip.

    What the choice stands for is looked up now; the work waits.
    """
    results = session.get().results
    key, offered = results.get("offer", (None, None))
    if key is choice:  # asked anew for every picture of a drag
        return offered
    try:
        context = resolve(choice)
        fit = context.fit()
    except SmpcoreError as error:
        return str(error), bytes

    def make() -> bytes:
        made = _compiled(context, fit)
        return made.zip(made.vectors(made.compiled, carries_real_rows(made.data)))

    if not fit.wait(0.0):
        return "", make
    refused = ""
    try:
        check_supported(fit.estimator.model_)
    except SmpcoreError as error:
        refused = str(error)
    results["offer"] = choice, (refused, make)
    return refused, make
