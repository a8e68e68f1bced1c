"""What the numbers beside the live figure say, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from pages.shared import cached
from smpcore import Scores, evaluate, figures

#: What a prototype of each kind is.
KINDS = {
    "direction": "A prototype is a direction: a weight for each feature. The class "
    "whose prototype gives the highest score wins.",
    "mix of real cases": "A prototype is a mix of real training rows: it adds up how "
    "alike an input is to each of them. Ringed points are those rows.",
    "invented case": "A prototype is an invented case, in standard deviations from "
    "the training mean: an input is judged by how like each of them it is. No training "
    "row is in the model.",
}
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


def readouts(
    estimator: Any,
    data: cached.Parts,
    parts: tuple[str, ...],
    raster: figures.Raster,
) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Describe a fitted model in numbers.

    Parameters
    ----------
    estimator : fitted estimator
    data : Parts
    parts : tuple of str
        Parts that are open.
    raster : Raster
        As painted: classes that it does not show are named.

    Returns
    -------
    readouts : list of dict
        ``name``, ``value``, ``detail``.
    strip : dict
        Training and validation accuracy and non-zeros, for the path's strip.
    """
    model = estimator.model_
    texts: list[dict[str, str]] = []
    strip: dict[str, Any] = {"nonzeros": model.n_nonzeros}
    counted: dict[str, Scores] = {}
    for part in ("validation", "train", "test"):
        X, y = data.of(part)
        if part not in parts or len(y) == 0:
            continue
        scores = evaluate(model, X, y)
        texts.append(_accuracy(TITLES[part], scores))
        strip["training" if part == "train" else part] = scores.accuracy
        counted[part] = scores
    shown = counted.get("validation", counted["train"])
    texts += _classes(shown, counted["train"], raster)
    texts += _size(estimator) + _measures(estimator)
    return texts + _solver(estimator), strip


def _accuracy(title: str, scores: Scores) -> dict[str, str]:
    low, high = scores.interval
    detail = (
        f"{scores.hits} of {scores.rows} rows, 95 % interval {100 * low:.0f}–"
        f"{100 * high:.0f} %; balanced {percent(scores.balanced_accuracy)}; always "
        f"the most frequent class: {percent(scores.majority)}"
    )
    return _text(f"{title} accuracy", percent(scores.accuracy), detail)


def _classes(
    scores: Scores, training: Scores, raster: figures.Raster
) -> list[dict[str, str]]:
    known = np.flatnonzero(np.isfinite(scores.recall))
    order = known[np.argsort(scores.recall[known], kind="stable")]
    found = [f"class {scores.classes[i]!s:.24}" for i in order[:4]]
    shares = [f"{100 * scores.recall[i]:.0f} %" for i in order[:4]]
    others = "; ".join(
        f"{name}: {share}" for name, share in zip(found[1:], shares[1:], strict=True)
    )
    detail = f"{found[0]}" + (f"; then {others}" if others else "")
    rows = [_text("Lowest recall", shares[0], detail)]
    silent = [f"{label!s:.20}" for label in training.never_answered[:5]]
    if silent:
        names = ", ".join(silent)
        rows.append(_text("Never answered", names, "no training row gets them"))
    absent = np.setdiff1d(np.arange(len(scores.classes)), np.unique(raster.winner))
    if len(absent):
        names = ", ".join(f"{scores.classes[i]!s:.20}" for i in absent[:6])
        rows.append(_text("Not in this picture", names, "they win elsewhere, or never"))
    return rows


def _size(estimator: Any) -> list[dict[str, str]]:
    model, asked = estimator.model_, estimator.n_asked_
    used = np.flatnonzero(model.support)
    names = ", ".join(model.feature_names[i][:24] for i in used[:6])
    notes = []
    if lost := asked - model.n_prototypes:
        notes.append(f"{lost} {estimator.loss_of_prototypes}")
    wins = getattr(estimator, "wins_", np.ones(1))
    if idle := int((wins == 0).sum()):
        notes.append(f"{idle} decide no training row")
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
            "Features used",
            f"{len(used)} of {model.n_features}",
            names + (" …" if len(used) > 6 else ""),
        ),
    ]


def _measures(estimator: Any) -> list[dict[str, str]]:
    """What the estimator measures of its own."""
    own = getattr(estimator, "measures_", {})
    return [_text(name, str(value), detail) for name, (value, detail) in own.items()]


def _solver(estimator: Any) -> list[dict[str, str]]:
    history = estimator.history_
    gap = getattr(estimator, "gap_", np.nan)
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
            f"{1000 * history.seconds:.1f} ms",
            f"{history.n_iter} iterations, {history.status_text}",
        ),
    ]


def _text(name: str, value: str, detail: str) -> dict[str, str]:
    return {"name": name, "value": value, "detail": detail}
