"""The very model on the screen as files: C in a zip, and the Python that makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from pages.state import session, table_store
from pages.state.choice import BUNDLED, MINE, Choice
from pages.state.context import Context, resolve
from pages.work import cache, fits, openml_sets
from smpcore import SmpcoreError, compile_model, evaluate
from smpcore.codegen import (
    CompiledModel,
    QuantModel,
    TestVectors,
    bundle,
    check_supported,
    emit_python,
    test_vectors,
)
from smpcore.evaluation import RegressionScores, Scores

VERSIONS = ("numpy", "numba", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Export:
    """A canonical model, compiled.

    Parameters
    ----------
    context : Context
    estimator : fitted estimator
    compiled : CompiledModel
    """

    context: Context
    estimator: Any
    compiled: CompiledModel

    @property
    def data(self) -> cache.Parts:
        """Its rows."""
        return self.context.data

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
        """Prototypes that can win; of a regression all of those it adds up."""
        if self.compiled.is_regression:
            return self.estimator.model_.n_prototypes
        return self.compiled.n_rows

    def vectors(self, model: CompiledModel | QuantModel, real: bool) -> TestVectors:
        """Test vectors; real training rows are in them only when asked for."""
        # Integers are small: so many that every prototype has a corner of its own.
        n = 64 if isinstance(model, QuantModel) else 32
        if not real:
            return test_vectors(model, n=n)
        dataset = self.data.dataset
        train = dataset.frame.iloc[self.data.split.train]
        return test_vectors(model, model.rows(train), n, source=dataset.name)

    def zip(self, real: bool, prefix: str = "mdl") -> bytes:
        """The bundle in 32-bit floats: the same bytes for the same model."""
        return bundle(self.compiled, self.vectors(self.compiled, real), prefix)


def export(context: Context) -> Export:
    """Compile the canonical model of a choice.

    Raises
    ------
    SmpcoreError
        If its fit is still running, or no target can express it.
    """
    return _compiled(context, context.fit())


def _compiled(context: Context, fit: fits.Fit) -> Export:
    estimator = context.with_threshold(fit.finished())
    provenance = _provenance(context, estimator)
    compiled = compile_model(estimator.model_, context.data.preparation, provenance)
    return Export(context, estimator, compiled)


def _provenance(context: Context, estimator: Any) -> dict[str, Any]:
    """Where the model comes from; no date, so that the bytes repeat."""
    choice, data = context.choice, context.data
    accuracy = {
        part: measured(
            evaluate(estimator.model_, *data.of(part), data.clusters(part)), data
        )
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


def measured(scores: Scores | RegressionScores, data: cache.Parts) -> dict[str, Any]:
    """Scores as they go into the bundle.

    Parameters
    ----------
    scores : Scores or RegressionScores
    data : Parts
        The median of its training rows is what a regression must beat.

    Returns
    -------
    dict
    """
    about = {"interval_note": data.cluster_summary} if data.cluster_summary else {}
    if isinstance(scores, Scores):
        return scores.as_dict() | about
    return scores.as_dict(float(np.median(data.of("train")[1]))) | about


def carries_real_rows(data: cache.Parts) -> bool:
    """Whether a bundle has real rows by default: never a visitor's own."""
    return not data.dataset.private


def offer(choice: Choice) -> tuple[str, Callable[[], bytes]]:
    """Say whether the model of a choice can be exported, and promise its zip.

    A button calls the promise in a thread without a session, so what the choice stands
    for is looked up now; the work waits.

    Parameters
    ----------
    choice : Choice

    Returns
    -------
    (str, callable)
        Why it cannot, as far as seen (empty if it can), and what makes the zip.
    """
    results = session.get().results
    key, offered = results.get("offer", (None, None))
    if key is choice:  # asked anew for every picture of a drag
        return offered
    try:
        context = resolve(choice)
        _ = context.times_opened  # known from now on: the thread cannot visit a table
        fit = context.fit()
    except SmpcoreError as error:
        return str(error), bytes

    def make() -> bytes:
        return _compiled(context, fit).zip(carries_real_rows(context.data))

    if not fit.wait(0.0):
        return "", make
    refused = ""
    try:
        check_supported(fit.estimator.model_)
    except SmpcoreError as error:
        refused = str(error)
    results["offer"] = choice, (refused, make)
    return refused, make


def _table_source(context: Context) -> dict[str, Any]:
    """How a table that is not bundled is read, or fetched, the same way again."""
    dataset, drawn = context.table, None
    if context.choice.data == MINE:
        drawn = table_store.visit(context.choice.token)[1]
    reading = dataset.reading
    if reading is None or drawn is not None or dataset.test_rows is not None:
        raise SmpcoreError(
            "Drawn points and a separate test file have no short Python version; the "
            "C bundle's model.json contains the whole model."
        )
    columns = {"roles": dict(dataset.roles), "kinds": dict(dataset.kinds)}
    columns["task"] = dataset.task
    if (number := openml_sets.number_behind(dataset)) is not None:
        return {"openml": number, "params": columns}
    name = reading.filename or dataset.name
    return {"file": name, "params": reading.options() | columns}


def python_of_choice(context: Context) -> str:
    """Python that fits the same model with the library."""
    choice, method = context.choice, context.method
    estimator = method.estimators[context.task]
    defaults = method.defaults(context.task)
    if (number := openml_sets.number_of(choice.data)) is not None:
        source = {"openml": number}
    elif choice.data not in BUNDLED:
        source = _table_source(context)
    else:
        info = BUNDLED[choice.data]
        start = {param.name: param.start for param in info.params}
        changed = {n: v for n, v in choice.data_values.items() if v != start[n]}
        source = {"key": choice.data, "params": changed}
    if context.task != context.table.task:
        source["two_classes"] = True
    if choice.forbidden:
        source["forbidden"] = choice.forbidden
    return emit_python(
        {
            "dataset": source,
            "split": {
                "validation": choice.validation,
                "test": choice.test,
                "seed": choice.seed,
            },
            "estimator": estimator.__name__,
            "params": {n: v for n, v in context.values.items() if v != defaults[n]},
        }
    )
