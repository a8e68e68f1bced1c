"""What the numbers beside the live figure say, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from pages.work import cache
from smpcore import PrototypeModel, evaluate
from smpcore.datasets import Preparation, forbiddable, shorten_name
from smpcore.evaluation import RegressionScores, Scores

#: What a prototype of each kind is.
KINDS = {
    "real case": "A prototype is a real training row: an input is judged by how like "
    "each of them it is. The model holds these rows.",
    "direction": "A prototype is a direction: a weight for each feature. The class "
    "whose prototype gives the highest score wins.",
    "mix of real cases": "A prototype is a mix of real training rows: it adds up how "
    "alike an input is to each of them.",
    "invented case": "A prototype is an invented case, in standard deviations from "
    "the training mean: an input is judged by how like each of them it is. No training "
    "row is in the model.",
}
#: What marks in the live figure stand for them.
RINGS = {"mix of real cases": " Ringed points are those rows."}
#: What the points are that prototypes are made of.
MARKS = {
    "mix of real cases": "row that prototypes are made of",
    "invented case": "prototype, an invented case",
}
#: Name and explanation of the count of those points.
CASES = {
    "mix of real cases": (
        "Real cases",
        "training rows that the prototypes are mixed from: the model holds them",
    ),
    "invented case": ("Invented cases", "no training row is in the model"),
}

TITLES = {"train": "Training", "validation": "Validation", "test": "Test"}


def percent(share: float) -> str:
    """A share as text."""
    return f"{100 * share:.1f} %"


def effect(voice: float) -> str:
    """What a prototype of a regression does where it is matched, in a word."""
    return "raises" if voice > 0 else "lowers" if voice < 0 else "silent"


def readouts(
    estimator: Any,
    data: cache.Parts,
    parts: tuple[str, ...],
    winners: np.ndarray,
) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Describe a fitted model in numbers.

    Parameters
    ----------
    estimator : fitted estimator
    data : Parts
    parts : tuple of str
        Parts that are open.
    winners : ndarray of int
        Numbers of the classes that the picture shows: the others are named.

    Returns
    -------
    readouts : list of dict
        ``name``, ``value``, ``detail``.
    strip : dict
        Training and validation accuracy (or error) and non-zeros, for the path's
        strip.
    """
    model = estimator.model_
    texts: list[dict[str, str]] = []
    strip: dict[str, Any] = {"nonzeros": model.n_nonzeros}
    counted: dict[str, Any] = {}
    for part in ("validation", "train", "test"):
        X, y = data.of(part)
        if part not in parts or len(y) == 0:
            continue
        scores = evaluate(model, X, y, data.clusters(part))
        name = "training" if part == "train" else part
        texts += of_part(TITLES[part], scores, data)
        if isinstance(scores, RegressionScores):
            strip[name] = scores.mae
            strip.setdefault("r2", {})[name] = _finite(scores.r2)
        else:
            strip[name] = scores.accuracy
        counted[part] = scores
    part = "validation" if "validation" in counted else "train"
    if model.classes is None:
        texts.append(_worst(counted[part], data, part))
    else:
        texts += _classes(counted[part], counted["train"], winners)
    texts += _forbidden(data) + _size(estimator, data.preparation)
    texts += _measures(estimator)
    return texts + _solver(estimator), strip


def of_part(
    title: str, scores: Scores | RegressionScores, data: cache.Parts
) -> list[dict[str, str]]:
    """How good a model is on one part, beside what one answer to all would reach."""
    if isinstance(scores, RegressionScores):
        return _errors(title, scores, data)
    low, high = scores.interval
    detail = (
        f"{scores.hits} of {scores.rows} rows, 95 % interval {100 * low:.0f}–"
        f"{100 * high:.0f} %{cluster_summary(data)}; balanced "
        f"{percent(scores.balanced_accuracy)}; always the most frequent class: "
        f"{percent(scores.majority)}"
    )
    return [_text(f"{title} accuracy", percent(scores.accuracy), detail)]


def cluster_summary(data: cache.Parts) -> str:
    """What an interval counts together, in brackets; empty if nothing."""
    return f" ({data.cluster_summary})" if data.cluster_summary else ""


def _errors(
    title: str, scores: RegressionScores, data: cache.Parts
) -> list[dict[str, str]]:
    """Mean error with its interval beside the training median's, and R²."""
    low, high = scores.interval
    ends = f"95 % interval {low:.3g}–{high:.3g}{cluster_summary(data)}; "
    sure = ends if np.isfinite(low) else ""
    usual = float(np.median(data.of("train")[1]))
    detail = (
        f"mean absolute error of {scores.rows} rows, in units of "
        f"{data.dataset.target:.24}; {sure}always the training median {usual:.3g}: "
        f"{scores.always(usual):.3g}"
    )
    explained = "share of the variance that is explained; 0 is the rows' own mean"
    if not np.isfinite(scores.r2):
        explained = "these rows are all alike: there is nothing to explain"
    return [
        _text(f"{title} error", f"{scores.mae:.3g}", detail),
        _text(
            f"{title} R²",
            f"{scores.r2:.2f}" if np.isfinite(scores.r2) else "none",
            f"{explained}; root mean squared error {scores.rmse:.3g}",
        ),
    ]


def _worst(scores: RegressionScores, data: cache.Parts, part: str) -> dict[str, str]:
    """The row whose answer is farthest off."""
    worst = scores.worst
    row = getattr(data.split, part)[worst]
    truth, answer = scores.truth[worst], scores.answers[worst]
    detail = f"{TITLES[part].lower()} row {row}: true {truth:.4g}, predicted "
    return _text(
        "Largest error", f"{scores.errors[worst]:.3g}", f"{detail}{answer:.4g}"
    )


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _classes(
    scores: Scores, training: Scores, winners: np.ndarray
) -> list[dict[str, str]]:
    known = np.flatnonzero(np.isfinite(scores.recall))
    order = known[np.argsort(scores.recall[known], kind="stable")]
    names = [f"class {scores.classes[i]!s:.24}" for i in order[:4]]
    shares = [f"{100 * scores.recall[i]:.0f} %" for i in order[:4]]
    others = "; ".join(map("{}: {}".format, names[1:], shares[1:]))
    detail = f"{names[0]}; then {others}" if others else names[0]
    rows = [_text("Lowest recall", shares[0], detail)]
    silent = [f"{label!s:.20}" for label in training.never_answered[:5]]
    if silent:
        names = ", ".join(silent)
        rows.append(_text("Never answered", names, "no training row gets them"))
    absent = np.setdiff1d(np.arange(len(scores.classes)), winners)
    if len(absent):
        names = ", ".join(f"{scores.classes[i]!s:.20}" for i in absent[:6])
        rows.append(_text("Not in this picture", names, "they win elsewhere, or never"))
    return rows


def _forbidden(data: cache.Parts) -> list[dict[str, str]]:
    """What the model was learned without."""
    gone = set(data.dataset.forbidden)
    if not gone:
        return []
    known = forbiddable(data.dataset)
    names = [name for name, columns in known.items() if gone.issuperset(columns)]
    listed = ", ".join(name[:24] for name in names[:6]) + " …" * (len(names) > 6)
    return [_text("Forbidden", str(len(names)), f"learned without {listed}")]


def _size(estimator: Any, preparation: Preparation) -> list[dict[str, str]]:
    model, asked = estimator.model_, estimator.n_asked_
    used = np.flatnonzero(preparation.used_columns(model.support))
    names = ", ".join(shorten_name(preparation.inputs[i].name, 24) for i in used[:6])
    weights = f"{model.n_nonzeros} weights" if model.is_linear else ""
    if not weights and preparation.has_level_features:
        weights = f"{model.support.sum()} of {model.n_features} features"
    notes = []
    if lost := asked - model.n_prototypes:
        notes.append(f"{lost} {estimator.removal_reason}")
    wins = estimator.wins_
    if idle := 0 if wins is None else int((wins == 0).sum()):
        notes.append(f"{idle} decide{'s' * (idle == 1)} no training row")
    size = _text(
        "Non-zeros",
        str(model.n_nonzeros),
        f"of {model.anchors.size} weights (biases not counted)",
    )
    if not model.is_linear:
        name, detail = CASES[model.kind_of_prototype]
        size = _text(name, str(len(model.anchors)), detail)
    return [
        _text("Prototypes", f"{model.n_prototypes} of {asked}", "; ".join(notes)),
        size,
        _text(
            "Columns used",
            f"{len(used)} of {len(preparation.inputs)}",
            ": ".join(filter(None, (weights, names))) + " …" * (len(used) > 6),
        ),
    ]


def kernel_weights(
    model: PrototypeModel, data: cache.Parts
) -> tuple[str, list[str], np.ndarray]:
    """What a similarity's kernels belong to, its names, and the weight of each."""
    weights = np.array(model.similarity.weights)
    if len(weights) == model.n_features:
        columns = [given.name for given in data.preparation.inputs]
        return "columns", columns, data.preparation.sum_by_column(weights)
    known = data.dataset.channels
    numbered = [f"channel {i + 1}" for i in range(len(weights))]
    return "channels", known if len(known) == len(weights) else numbered, weights


def _measures(estimator: Any) -> list[dict[str, str]]:
    """What the estimator measures of its own."""
    measures = estimator.measures_.items()
    return [_text(name, str(value), detail) for name, (value, detail) in measures]


def _solver(estimator: Any) -> list[dict[str, str]]:
    history, gap = estimator.history_, estimator.gap_
    certified = np.isfinite(gap)
    share = gap / max(abs(estimator.objective_), 1e-300)
    return [
        _text(
            "Gap",
            f"≤ {100 * share:.2g} %" if certified else "none",
            f"objective {estimator.objective_:.5g} is at most that far from "
            f"{estimator.certificate}"
            if certified
            else "this variant gives no certificate",
        ),
        _text(
            "Solver",
            duration(history.seconds),
            f"{history.n_iter} iterations, {history.status_text}",
        ),
    ]


def duration(seconds: float) -> str:
    """A time with a unit that suits it."""
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _text(name: str, value: str, detail: str) -> dict[str, str]:
    return {"name": name, "value": value, "detail": detail}
