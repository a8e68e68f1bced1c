"""The very model on the screen as files: C in a zip, and the Python that makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from pages.shared import cached, fetched, readouts
from pages.shared.choice import BUNDLED, Choice
from smpcore import (
    METHODS,
    Agreement,
    CompiledModel,
    Dataset,
    RegressionScores,
    Scores,
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
        """Float32 answers beside float64 answers on one part's raw rows."""
        rows = self.data.dataset.frame.iloc[getattr(self.data.split, part)]
        model, preparation = self.estimator.model_, self.data.preparation
        return agreement(self.compiled, model, rows, preparation)

    @property
    def n_prototypes(self) -> int:
        """Prototypes that can win; of a regression all of those it adds up."""
        if self.compiled.is_regression:
            return self.estimator.model_.n_prototypes
        return self.compiled.n_rows

    @property
    def besides(self) -> str:
        """What the files take besides their tables, in sentences."""
        code = [
            f"{least / 1000:.1f}-{most / 1000:.1f} kB ({chip})"
            for chip, (least, most) in self.compiled.code_bytes.items()
        ]
        stack = f"{self.compiled.stack_bytes} bytes of arrays"
        return f"Code adds {', '.join(code)}. Stack: {stack}."

    @property
    def worth(self) -> str:
        """How good it is beside one and the same answer to all rows, in sentences."""
        return readouts.worth(self.estimator.model_, self.data)

    @property
    def proof(self) -> str:
        """What is proved of the agreement, in a sentence."""
        if self.compiled.is_regression:
            return (
                "Errors are in the target's own units; rounding reaches no farther "
                "than is proved."
            )
        return "Proved the same: the float64 margin is wider than rounding can reach."

    def agreements(self) -> list[dict[str, Any]]:
        """Agreement on every open part, as lines of a table."""
        line = self._values if self.compiled.is_regression else self._labels
        return [line(part) for part in self.compiled.provenance["accuracy"]]

    def _labels(self, part: str) -> dict[str, Any]:
        """Labels right in either arithmetic, and how many are the same."""
        answers, truth = self._answers(part)
        same, known = self.agreement(part), self.compiled.provenance["accuracy"][part]
        return {
            "part": part,
            "rows": same.n_rows,
            "right in float64": known["hits"],
            "right in float32": int((answers == truth).sum()),
            "always the most frequent class": known["hits_of_most_frequent_class"],
            "same answer": same.n_equal,
            "proved the same": same.n_certified,
            "score error": same.reach_in_words,
        }

    def _values(self, part: str) -> dict[str, Any]:
        """Mean error in either arithmetic, and the largest difference of a value."""
        answers, truth = self._answers(part)
        same = self.agreement(part)
        known = self.compiled.provenance["accuracy"][part]
        return {
            "part": part,
            "rows": same.n_rows,
            "mean error in float64": f"{known['mean_absolute_error']:.6g}",
            "mean error in float32": f"{RegressionScores(truth, answers).mae:.6g}",
            "always the training median": f"{known['always_the_training_median']:.6g}",
            "largest difference": f"{same.score_error:.1e}",
            "proved at most": f"{same.score_bound:.1e}",
            "within that": same.n_equal,
        }

    def _answers(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """What the float32 model answers on a part's raw rows, and the truth."""
        rows = getattr(self.data.split, part)
        table = self.data.dataset.frame.iloc[rows]
        return self.compiled.predict_frame(table), self.data.y[rows]

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
    estimator = choice.at_work(fit.finished())
    compiled = compile_model(
        estimator.model_, data.preparation, _provenance(choice, data, estimator)
    )
    return Export(choice, data, estimator, compiled)


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
            accuracy[part] = _measured(scores, data.of("train")[1])
    return {
        "data": {"name": data.dataset.name, "digest": data.dataset.digest},
        "split": {
            "seed": data.split.seed,
            "validation": data.split.validation_share,
            "test": data.split.test_share,
            "key": data.split.key,
        },
        "forbidden": list(choice.forbidden),
        "method": METHODS[choice.method].title,
        "parameters": choice.all_values,
        "objective": float(estimator.objective_),
        "operating_point": {
            "threshold": choice.threshold if choice.operating else 0.0,
            "not_sure_within": choice.band if choice.operating else 0.0,
        },
        "accuracy": accuracy,
        "test_set_opened": choice.times_opened,
        "versions": {name: version(name) for name in VERSIONS},
    }


def _measured(scores: Scores | RegressionScores, train: np.ndarray) -> dict[str, Any]:
    """Scores as they go into the bundle.

    Parameters
    ----------
    scores : Scores or RegressionScores
    train : ndarray of shape (n_samples,)
        Targets of the training rows: their median is what a regression must beat.

    Returns
    -------
    dict
    """
    low, high = scores.interval
    if isinstance(scores, Scores):
        silent = [str(label) for label in scores.never_answered]
        return {
            "hits": scores.hits,
            "rows": scores.rows,
            "interval_95": [round(low, 4), round(high, 4)],
            "balanced": round(scores.balanced_accuracy, 4),
            "most_frequent_class": round(scores.majority, 4),
            "hits_of_most_frequent_class": round(scores.majority * scores.rows),
        } | ({"never_answered": silent} if silent else {})
    numbers = {
        "mean_absolute_error": scores.mae,
        "root_mean_squared_error": scores.rmse,
        "r2": scores.r2,
        "always_the_training_median": scores.always(float(np.median(train))),
    }
    known = {name: float(f"{v:.6g}") for name, v in numbers.items() if np.isfinite(v)}
    ends = [float(f"{end:.6g}") for end in (low, high) if np.isfinite(end)]
    return {"rows": scores.rows, "interval_95": ends} | known


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
    if not reading.header:
        options["header"] = False
    if dataset.channels:
        series = {"series": reading.series, "n_times": reading.n_times}
        options |= {name: value for name, value in series.items() if value}
    options |= {"roles": dict(dataset.roles), "kinds": dict(dataset.kinds)}
    name = reading.filename or dataset.name
    return {"file": name, "params": options | {"task": dataset.task}}


def python_of_choice(choice: Choice) -> str:
    """Python that fits the same model with the library."""
    data = choice.parts()
    method = METHODS[choice.method]
    estimator = method.estimators[data.dataset.task]
    defaults = method.defaults(data.dataset.task)
    if (number := fetched.number_of(choice.data)) is not None:
        source = {"openml": number}
    elif choice.data not in BUNDLED:
        source = _file(choice.table())
    else:
        info = BUNDLED[choice.data]
        start = {param.name: param.start for param in info.params}
        changed = {n: v for n, v in choice.data_values.items() if v != start[n]}
        source = {"key": choice.data, "params": changed}
    if data.dataset.task != choice.table().task:
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
            "params": {n: v for n, v in choice.all_values.items() if v != defaults[n]},
        }
    )
