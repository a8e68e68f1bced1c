"""The very model on the screen as files in a zip."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

import pandas as pd

from pages.state import links
from pages.state.host import resolve
from smpcore import PrototypeModel, SmpcoreError, codegen, compile_model, export
from smpcore.evaluation import RegressionScores, Scores
from smpcore.live import Choice, Context, Parts
from smpcore.model import Calibration

VERSIONS = ("numpy", "numba", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Export:
    """A canonical model, compiled."""

    context: Context
    estimator: Any
    compiled: codegen.CompiledModel
    #: Column -> which counts of a converter the compiled model takes it as.
    counts: Mapping[str, codegen.Counts] = field(default_factory=dict)

    @property
    def data(self) -> Parts:
        """Its rows."""
        return self.context.data

    @cached_property
    def _in_counts(self) -> tuple[PrototypeModel, Any, dict[str, codegen.SensorRange]]:
        return codegen.in_counts(
            self.estimator.model_, self.data.preparation, self.counts
        )

    @property
    def model(self) -> PrototypeModel:
        """What it was compiled from: in counts where there are such."""
        return self._in_counts[0]

    @property
    def preparation(self) -> Any:
        """The preparation of its rows: of counts where there are such."""
        return self._in_counts[1]

    @property
    def ranges(self) -> dict[str, codegen.SensorRange]:
        """Of the inputs that come as counts."""
        used = {entry.name for entry in self.compiled.inputs}
        return {n: one for n, one in self._in_counts[2].items() if n in used}

    def frame(self, part: str) -> pd.DataFrame:
        """Rows of a part, as they come to the model."""
        rows = self.data.dataset.frame.iloc[getattr(self.data.split, part)]
        return codegen.table_in_counts(rows, self.counts)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Where the model comes from, and its scores on every open part."""
        return self.compiled.provenance

    @property
    def parts(self) -> list[str]:
        """Parts whose rows may be looked at, as far as they have rows."""
        return list(self.provenance["accuracy"])

    @cached_property
    def scores(self) -> dict[str, Scores | RegressionScores]:
        """Of the fitted model in float64, on every open part."""
        model, data = self.estimator.model_, self.data
        return {part: data.evaluate(model, part) for part in self.parts}

    @property
    def n_prototypes(self) -> int:
        """Prototypes that can win; of a model that adds them up, all of them."""
        model = self.estimator.model_
        return model.n_prototypes if model.pooling == "sum" else self.compiled.n_rows

    def with_calibration(self, calibration: Calibration | None) -> Export:
        """The same model with this calibration, or without any."""
        estimator = copy.copy(self.estimator)
        estimator.model_ = replace(estimator.model_, calibration=calibration)
        return replace(self, estimator=estimator)

    def vectors(
        self, model: codegen.CompiledModel | codegen.QuantModel, real: bool
    ) -> codegen.TestVectors:
        """Test vectors; real training rows are in them only when asked for."""
        # Integers are small: so many that every prototype has a corner of its own.
        n = 64 if isinstance(model, codegen.QuantModel) else 32
        if not real:
            return codegen.test_vectors(model, n=n)
        rows = model.rows(self.frame("train"))
        return codegen.test_vectors(model, rows, n, source=self.data.dataset.name)

    def zip(
        self,
        vectors: codegen.TestVectors,
        target: str = "c99",
        number: str = "float32",
        name: str = "",
        ranges: Mapping[str, codegen.SensorRange] | None = None,
        stream: codegen.Stream | None = None,
        as_exported: Mapping[str, Any] | None = None,
        apart: bool = False,
    ) -> bytes:
        """The model as files: the same bytes for the same model."""
        return export(
            self.estimator.model_,
            self.data.preparation,
            target,
            number,
            name or usual_name(self.context),
            vectors=vectors,
            ranges=ranges,
            counts=self.counts,
            stream=stream,
            apart=apart,
            provenance=self.provenance
            | ({"as_exported": as_exported} if as_exported else {}),
        )


def with_counts(made: Export, counts: Mapping[str, codegen.Counts]) -> Export:
    """Compile a model for inputs that come as counts."""
    made = replace(made, counts=counts)
    if not counts:
        return made
    compiled = compile_model(made.model, made.preparation, made.provenance)
    return replace(made, compiled=compiled)


def usual_name(context: Context) -> str:
    """Name of a model in generated code where the visitor gives none."""
    return codegen.default_name(context.data.dataset.name)


def compiled(context: Context) -> Export:
    """Compile the canonical model of a choice."""
    estimator = context.with_threshold(context.fit().finished())
    provenance = _provenance(context, estimator)
    model = compile_model(estimator.model_, context.data.preparation, provenance)
    return Export(context, estimator, model)


def _provenance(context: Context, estimator: Any) -> dict[str, Any]:
    """Where the model comes from; no date, so that the bytes repeat."""
    choice, data = context.choice, context.data
    asks = data.dataset.follow_up
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
        **({"question": f"{asks.title}? {asks.rule}"} if asks else {}),
        **({"rows_weighted_by": column} if (column := data.dataset.weight) else {}),
        "forbidden": list(choice.forbidden),
        # A state file has the same; "mine" is the key to a visitor's own table.
        "link": {k: one for k, one in links.write_url(choice).items() if k != "mine"},
        "method": context.method.title,
        "parameters": context.values,
        "objective": float(estimator.objective_),
        "operating_point": {
            **_outcome(estimator.model_),
            "threshold": context.turned(choice.threshold) if context.operating else 0.0,
            "not_sure_within": choice.band if context.operating else 0.0,
        },
        "accuracy": accuracy,
        "test_set_opened": context.times_opened,
        "versions": {name: version(name) for name in VERSIONS},
    }


def _outcome(model: PrototypeModel) -> dict[str, str]:
    """Which class a threshold is of."""
    return (
        {"outcome": str(model.classes[model.outcome])} if model.n_outputs == 2 else {}
    )


def measured(scores: Scores | RegressionScores, data: Parts) -> dict[str, Any]:
    """Scores as they go into the bundle."""
    about = {"interval_note": data.cluster_summary} if data.cluster_summary else {}
    if data.row_weights is not None:
        about["weights_note"] = data.weight_summary
    if isinstance(scores, Scores):
        return scores.as_dict() | about
    return scores.as_dict(data.training_median) | about


def offer(choice: Choice) -> tuple[str, Callable[[], bytes]]:
    """Why the model of a choice cannot be exported, and what makes its zip later."""
    try:
        context = resolve(choice)
        fit = context.fit()
        if fit.ready(0.0):
            codegen.check_supported(fit.estimator.model_)
    except SmpcoreError as error:
        return str(error), bytes

    def make() -> bytes:
        made = compiled(context)
        private = made.data.dataset.private  # a visitor's own rows stay here
        return made.zip(made.vectors(made.compiled, real=not private))

    return "", make
