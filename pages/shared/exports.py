"""The very model on the screen as files: C in a zip, and the Python that makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from pages.shared import cached
from pages.shared.choice import BUNDLED, MINE, Choice
from smpcore import (
    METHODS,
    Agreement,
    CompiledModel,
    Dataset,
    SmpcoreError,
    TestVectors,
    agreement,
    bundle,
    check_supported,
    compile_model,
    emit_python,
    evaluate,
    test_vectors,
)

VERSIONS = ("numpy", "numba", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Export:
    """A canonical model, compiled.

    Parameters
    ----------
    choice : Choice
    data : Parts
    estimator : fitted estimator
    compiled : CompiledModel
    """

    choice: Choice
    data: cached.Parts
    estimator: Any
    compiled: CompiledModel

    def agreement(self, part: str) -> Agreement:
        """Float32 labels beside float64 labels on one part's raw rows."""
        rows = self.data.dataset.frame.iloc[getattr(self.data.split, part)]
        model, preparation = self.estimator.model_, self.data.preparation
        return agreement(self.compiled, model, rows, preparation)

    def agreements(self) -> list[dict[str, Any]]:
        """Agreement on every open part, as lines of a table."""
        lines = []
        for part, exact in self.compiled.provenance["accuracy"].items():
            rows = getattr(self.data.split, part)
            answers = self.compiled.predict_frame(self.data.dataset.frame.iloc[rows])
            same = self.agreement(part)
            error = f"{same.score_error:.1e} (bound {same.score_bound:.1e})"
            lines.append(
                {
                    "part": part,
                    "rows": same.n_rows,
                    "right in float64": exact["hits"],
                    "right in float32": int((answers == self.data.y[rows]).sum()),
                    "same answer": same.n_equal,
                    "proved the same": same.n_certified,
                    "score error": error,
                }
            )
        return lines

    def vectors(self, real_rows: bool) -> TestVectors:
        """Test vectors; real training rows are in them only when asked for."""
        if not real_rows:
            return test_vectors(self.compiled)
        train = self.data.dataset.frame.iloc[self.data.split.train]
        return test_vectors(
            self.compiled,
            self.compiled.rows(train),
            source=self.data.dataset.name,
        )

    def zip(self, real_rows: bool, prefix: str = "mdl") -> bytes:
        """The bundle: the same bytes for the same model."""
        return bundle(self.compiled, self.vectors(real_rows), prefix)


def export(choice: Choice) -> Export:
    """Compile the canonical model of a choice.

    Raises
    ------
    SmpcoreError
        If its fit is still running, or no target can express it.
    """
    data = choice.parts()
    fit = cached.fit(data, choice.method, choice.all_values)
    return _compiled(choice, data, fit)


def _compiled(choice: Choice, data: cached.Parts, fit: cached.Fit) -> Export:
    if not fit.wait(20.0):
        raise SmpcoreError("The fit is still running; export when it is done.")
    if fit.was_stopped:
        raise SmpcoreError(
            "The fit was stopped; let it finish on Explore to export it."
        )
    compiled = compile_model(
        fit.estimator.model_, data.preparation, _provenance(choice, data, fit.estimator)
    )
    return Export(choice, data, fit.estimator, compiled)


def _provenance(choice: Choice, data: cached.Parts, estimator: Any) -> dict[str, Any]:
    """Where the model comes from; no date, so that the bytes repeat."""
    parts = ["train", "validation"]
    if choice.open_test or data.dataset.open_test:
        parts.append("test")
    accuracy = {}
    for part in parts:
        X, y = data.of(part)
        if len(y):
            scores = evaluate(estimator.model_, X, y)
            low, high = scores.interval
            accuracy[part] = {
                "hits": scores.hits,
                "rows": scores.rows,
                "interval_95": [round(low, 4), round(high, 4)],
                "balanced": round(scores.balanced_accuracy, 4),
                "most_frequent_class": round(scores.majority, 4),
            }
    return {
        "data": {"name": data.dataset.name, "digest": data.dataset.digest},
        "split": {
            "seed": data.split.seed,
            "validation": data.split.validation_share,
            "test": data.split.test_share,
            "key": data.split.key,
        },
        "method": METHODS[choice.method].title,
        "parameters": choice.all_values,
        "objective": float(estimator.objective_),
        "accuracy": accuracy,
        "test_set_opened": choice.opened.get(data.dataset.digest, 0),
        "versions": {name: version(name) for name in VERSIONS},
    }


def carries_real_rows(data: cached.Parts) -> bool:
    """Whether a bundle has real rows by default: never a visitor's own."""
    return not data.dataset.private


def refusal(choice: Choice) -> str:
    """Why the model of a choice cannot be exported; empty if it can, as far as seen."""
    try:
        fit = cached.fit(choice.parts(), choice.method, choice.all_values)
        if fit.wait(0.0):
            check_supported(fit.estimator.model_)
    except SmpcoreError as error:
        return str(error)
    return ""


def promise(choice: Choice) -> Callable[[], bytes]:
    """Promise the zip for a choice: made when a download button is pressed.

    A button calls this in a thread without a session, so what the choice stands for
    is looked up now; the work waits.

    Parameters
    ----------
    choice : Choice

    Returns
    -------
    callable
    """
    try:
        data = choice.parts()
        fit = cached.fit(data, choice.method, choice.all_values)
    except SmpcoreError:
        return bytes

    def make() -> bytes:
        return _compiled(choice, data, fit).zip(carries_real_rows(data))

    return make


def _file(dataset: Dataset) -> dict[str, Any]:
    """How `read_table` reads a visitor's file the same way again."""
    if dataset.reading is None or dataset.test_rows is not None:
        raise SmpcoreError(
            "Drawn points and a second file for testing have no short Python; the "
            "C bundle's model.json holds the whole model."
        )
    reading = dataset.reading
    words = {
        "delimiter": reading.delimiter,
        "decimal": reading.decimal,
        "encoding": reading.encoding,
    }
    options = {name: value for name, value in words.items() if value}
    options |= {"roles": dict(dataset.roles), "kinds": dict(dataset.kinds)}
    return {"file": dataset.name, "params": options | {"task": dataset.task}}


def python_of_choice(choice: Choice) -> str:
    """Python that fits the same model with the library."""
    data = choice.parts()
    method = METHODS[choice.method]
    estimator = method.estimators[data.dataset.task]
    defaults = method.defaults(data.dataset.task)
    if choice.data == MINE:
        source = _file(data.dataset)
    else:
        info = BUNDLED[choice.data]
        start = {param.name: param.start for param in info.params}
        changed = {n: v for n, v in choice.data_values.items() if v != start[n]}
        source = {"key": choice.data, "params": changed}
    return emit_python(
        {
            "dataset": source,
            "split": {
                "validation": choice.validation,
                "test": choice.test,
                "seed": choice.seed,
            },
            "estimator": estimator.__name__,
            "params": {n: v for n, v in choice.all_values.items() if v != defaults[n]},
        }
    )
