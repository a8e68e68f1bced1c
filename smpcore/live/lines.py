"""Numbers of a model beside its picture: scores, size, certificate, solver."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from smpcore.datasets import (
    Preparation,
    forbiddable,
    list_names,
    plain_number,
    plural,
    text_features,
    used_matrices,
)
from smpcore.evaluation import RegressionScores, Scores, brier_score, class_numbers
from smpcore.live.parts import Parts
from smpcore.live.words import MEANINGS, define
from smpcore.model import PrototypeModel
from smpcore.readouts import (
    COVERAGE,
    READOUTS,
    Shown,
    interval_text,
    number_text,
    r2_text,
    width_text,
)

#: What is calibrated, and its term in the glossary.
CALIBRATED = {
    "classification": ("probabilities", "Calibration"),
    "regression": ("intervals", "Prediction interval"),
}


def calibration_basis(model: PrototypeModel) -> str:
    """What a calibration was learned on, and for which rows it holds."""
    rows = f"{model.calibration.rows:,} training rows"
    if model.classes is None:
        basis = f"From out-of-fold residuals of {rows}. {model.calibration.choice}"
        return basis.rstrip()
    return (
        f"Calibrated on out-of-fold scores of {rows}, for rows with the same shares of "
        f"the classes. {model.calibration.choice}"
    ).rstrip()


def calibration_help(model: PrototypeModel) -> str:
    """What the numbers of a calibration mean."""
    _, term = CALIBRATED["regression" if model.classes is None else "classification"]
    return (
        f"{define(term)} {calibration_basis(model)} Of a row that the model has "
        "learned from it is optimistic."
    )


def calibration_line(
    model: PrototypeModel, data: Parts, part: str
) -> tuple[str, str, str]:
    """Key, value and detail of a line about a calibration, on rows of a part."""
    X, y = data.of(part)
    of_rows = data.clusters(part), data.weights(part)
    if model.classes is None:
        low, high = model.intervals(X, COVERAGE).T
        covered = int(((low <= y) & (y <= high)).sum())
        detail = f"covers {covered} of {plural(len(y), f'{part} row')}"
        widths = high - low
        text = width_text(widths.min(), widths.max(), data.target_unit)
        return "interval", text, detail
    y_encoded = class_numbers(y, model.classes)
    score = brier_score(model.probabilities(X), y_encoded, *of_rows)
    n_known = int((y_encoded >= 0).sum())
    shown = Shown("Brier score", score, unit="")
    detail = f"Brier score of {plural(n_known, f'{part} row')}, 95 % interval "
    detail += f"{shown.interval}{data.weight_note}"
    return "probabilities", shown.text, detail


#: What a prototype of each kind is.
KINDS = {
    "real case": "A prototype is a real training row: an input is scored by its "
    "similarity to each of them. The model contains these rows.",
    "direction": "A prototype is a direction: one weight per feature. The class "
    "whose prototype has the highest score is predicted.",
    "mix of real cases": "A prototype is a mix of real training rows: it sums the "
    "similarities of an input to each of them.",
    "invented case": "A prototype is an invented case: an input is scored by its "
    "similarity to each of them. The model contains no training rows.",
}
_REAL = "real case", "mix of real cases"
#: What marks in the live figure stand for them.
RINGS = dict.fromkeys(_REAL, " Ringed points are these rows.")
#: What the points are that prototypes are made of.
MARKS = {
    "mix of real cases": "training row used in prototypes",
    "real case": "prototype (a training row)",
    "invented case": "prototype (invented case)",
}
#: Key of the count of those points.
CASES = {**dict.fromkeys(_REAL, "real_cases"), "invented case": "invented_cases"}

#: A smaller gap, in percent, is a rounding error.
ROUNDING = 1e-12

NAMES = {"train": "training", "validation": "validation", "test": "test"}
TITLES = {part: name.capitalize() for part, name in NAMES.items()}

#: Key -> what stands still in a line about it.
_SHOWN = {
    key: {"key": key, "name": row.label, "help": MEANINGS[key]}
    for key, row in READOUTS.items()
}


def effect(voice: float) -> str:
    """What a prototype of a regression does where it is matched, in a word."""
    return "raises" if voice > 0 else "lowers" if voice < 0 else "does not change"


def readouts(
    estimator: Any,
    data: Parts,
    parts: tuple[str, ...],
    winners: np.ndarray,
) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Describe a fitted model in numbers."""
    model = estimator.model_
    texts, counted = [], {}
    strip: dict[str, Any] = {"nonzeros": model.n_nonzeros}
    for part in ("validation", "train", "test"):
        if part not in parts or not getattr(data.split, part).size:
            continue
        scores = data.evaluate(model, part)
        name = NAMES[part]
        texts += of_part(part, scores, data, model.band)
        if isinstance(scores, RegressionScores):
            strip[name] = scores.mae
            r2 = scores.r2 if np.isfinite(scores.r2) else None
            strip.setdefault("r2", {})[name] = r2
        else:
            strip[name] = scores.accuracy
        counted[part] = scores
    part = "validation" if "validation" in counted else "train"
    if model.classes is None:
        texts.append(_worst(counted[part], data, part))
    else:
        texts += _classes(counted[part], counted["train"], winners)
    if model.calibration is not None:
        line = _text(*calibration_line(model, data, part))
        texts.append(line | {"help": calibration_help(model)})
    if data.dataset.forbidden:
        texts.append(_forbidden(data))
    texts += _size(estimator, data.preparation)
    for key, line in estimator.measures_.items():
        texts.append(_text(key, *line))
    return texts + solver_readouts(SimpleNamespace(estimator=estimator)), strip


#: What shares of all rows are where a model has a band.
BAND_NOTE = "Rows within the band are counted like all others."


def of_part(
    part: str, scores: Scores | RegressionScores, data: Parts, band: float = 0.0
) -> list[dict[str, str]]:
    """How good a model is on one part, beside what one answer to all would reach."""
    if isinstance(scores, RegressionScores):
        return _errors(part, scores, data)
    # Not by `Shown`: this is read at every picture of a drag.
    balanced = scores.balanced_estimate
    detail = (
        f"{scores.hits} of {scores.rows} rows{data.weight_note}, 95 % interval "
        f"{interval_text(scores.estimate)}{data.cluster_note}; balanced accuracy "
        f"{number_text(balanced.value)} ({interval_text(balanced)}); "
        "majority-class baseline: "
        f"{number_text(scores.majority)}{f'. {BAND_NOTE[:-1]}' if band else ''}"
    )
    return [_text(f"{NAMES[part]}_accuracy", number_text(scores.accuracy), detail)]


def _errors(part: str, scores: RegressionScores, data: Parts) -> list[dict[str, str]]:
    """Mean error with its interval beside the training median's, and R²."""
    # Not by functions for each number: this is read at every picture of a drag.
    interval, unit = interval_text(scores.estimate, "target"), data.target_unit
    sure = f"95 % interval {interval}{unit}{data.cluster_note}; "
    scale = "" if unit else f", in units of {data.dataset.target:.24}"
    detail = (
        f"mean absolute error of {plural(scores.rows, 'row')}{data.weight_note}"
        f"{scale}; {sure if interval else ''}{data.median_baselines[part]}"
    )
    detail_r2 = f"root mean squared error {plain_number(scores.rmse, 3, ',')}{unit}"
    if not np.isfinite(scores.r2):
        same = "undefined, as the target has the same value in all rows"
        detail_r2 = f"{same}; {detail_r2}"
    error = plain_number(scores.mae, 4, ",") + unit
    return [
        _text(f"{NAMES[part]}_error", error, detail),
        _text(f"{NAMES[part]}_r2", r2_text(scores.r2), detail_r2),
    ]


def _worst(scores: RegressionScores, data: Parts, part: str) -> dict[str, str]:
    """The row whose answer is farthest off."""
    worst = scores.worst
    row = data.dataset.row_numbers(getattr(data.split, part)[worst])
    truth, answer = scores.truth[worst], scores.answers[worst]
    unit = data.target_unit
    detail = f"{NAMES[part]} row {row}: true {plain_number(truth, 4, ',')}{unit}, "
    detail += f"predicted {plain_number(answer, 4, ',')}{unit}"
    error = plain_number(scores.errors[worst], 3, ",") + unit
    return _text("largest_error", error, detail)


def _classes(
    scores: Scores, training: Scores, winners: np.ndarray
) -> list[dict[str, str]]:
    known = np.flatnonzero(np.isfinite(scores.recall))
    order = known[np.argsort(scores.recall[known], kind="stable")]
    names, shares = [], []
    for i in order[:4]:
        names.append(f"class {scores.classes[i]!s:.24}")
        shares.append(number_text(scores.recall[i]))
    others = "; ".join(map("{}: {}".format, names[1:], shares[1:]))
    detail = f"{names[0]}; then {others}" if others else names[0]
    rows = [_text("worst_recall", shares[0], detail)]
    if len(training.never_answered):
        names = list_names(training.never_answered, longest=20)
        rows.append(_text("never_predicted", names, "for any training row"))
    absent = np.delete(training.classes, winners)  # the classes of the model
    if len(absent):
        names = list_names(absent, longest=20)
        detail = "predicted outside the picture, or never"
        rows.append(_text("not_in_picture", names, detail))
    return rows


def _forbidden(data: Parts) -> dict[str, str]:
    """What the model was learned without."""
    gone = set(data.dataset.forbidden)
    known = forbiddable(data.dataset)
    names = [name for name, columns in known.items() if gone.issuperset(columns)]
    detail = f"trained without {list_names(names, 6, 24)}"
    return _text("forbidden", str(len(names)), detail)


def _size(estimator: Any, preparation: Preparation) -> list[dict[str, str]]:
    model, requested = estimator.model_, estimator.n_asked_
    used = np.flatnonzero(preparation.used_columns(model.support))
    names = list_names([preparation.inputs[i].name for i in used], 6, 24)
    weights = f"{model.n_nonzeros} weights" if model.is_linear else ""
    if not weights and preparation.has_level_features:
        weights = f"{model.support.sum()} of {model.n_features} features"
    notes, of_columns = [], f"{len(used)} of {len(preparation.inputs)}"
    if lost := requested - model.n_prototypes:
        notes.append(f"{plural(lost, 'prototype')} {estimator.removal_reason}")
    wins = estimator.wins_
    if idle := 0 if wins is None else int((wins == 0).sum()):
        wins = "wins" if idle == 1 else "win"
        notes.append(f"{plural(idle, 'prototype')} {wins} no training row")
    detail = f"of {model.anchors.size} weights (biases excluded)"
    size = _text("n_nonzeros", str(model.n_nonzeros), detail)
    if not model.is_linear:
        key = CASES[model.kind_of_prototype]
        size = _text(key, str(len(model.anchors)), MEANINGS[key])
    return [
        _text("n_prototypes", f"{model.n_prototypes} of {requested}", "; ".join(notes)),
        size,
        _text("n_features", of_columns, ": ".join(filter(None, (weights, names)))),
    ]


def prototype_texts(model: PrototypeModel, data: Parts) -> list[str]:
    """The prototypes as texts; empty of data that are no texts."""
    if not text_features(data.dataset):
        return []
    (column,) = data.preparation.inputs
    return [column.text(z) for z in model.prototypes]


def kernel_weights(
    model: PrototypeModel, data: Parts
) -> tuple[str, list[str], np.ndarray]:
    """What a similarity's kernels belong to, its names, and the weight of each."""
    if matrices := used_matrices(data.dataset):
        shares = np.abs(model.anchors).sum(axis=0).reshape(len(matrices), -1)
        weights = shares.sum(axis=1) / max(shares.sum(), 1e-300)
        return "matrices", [matrix.name for matrix in matrices], weights
    weights = np.array(model.similarity.weights)
    if len(weights) == model.n_features:
        columns = [column.name for column in data.preparation.inputs]
        return "columns", columns, data.preparation.sum_by_column(weights)
    known = data.dataset.channels
    numbered = [f"channel {i + 1}" for i in range(len(weights))]
    return "channels", known if len(known) == len(weights) else numbered, weights


def solver_readouts(fitted: Any) -> list[dict[str, str]]:
    """What is certified of a fit, and how its solver ended."""
    estimator, gap = fitted.estimator, READOUTS["gap"].value(fitted)
    history = estimator.history_
    value, detail = "none", "No certificate: the problem is not convex"
    if np.isfinite(gap):
        share = plain_number(gap, 2) if gap >= ROUNDING else "0"
        value = f"≤ {share} %"
        detail = f"{estimator.certificate} can have an objective more than {share} % "
        detail += f"lower than {plain_number(estimator.objective_, 5)}"
    seconds, steps = history.seconds, plural(history.n_iter, "iteration")
    spent = f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
    return [
        _text("gap", value, detail),
        _text("solver", spent, f"{steps}, {history.status_text}"),
    ]


def _text(key: str, value: str, detail: str) -> dict[str, str]:
    return _SHOWN[key] | {"value": value, "detail": detail}


def quality_of(model: PrototypeModel, data: Parts) -> str:
    """How good a model is beside one and the same answer to all rows, in sentences."""
    return quality(data.evaluate(model, data.scored_part), data, model.band)


def quality(scores: Scores | RegressionScores, data: Parts, band: float = 0.0) -> str:
    """How good these scores of its `scored_part` are, in sentences."""
    part = data.scored_part
    entry = of_part(part, scores, data, band)[0]
    words = f"{entry['name']} {entry['value']}: {entry['detail']}."
    return " ".join([words, *shortcomings(scores, data)])


def shortcomings(scores: Scores | RegressionScores, data: Parts) -> list[str]:
    """What a model does no better than one answer to all rows, in sentences."""
    if isinstance(scores, RegressionScores):
        dead = scores.mae >= scores.always(data.training_median)
        return ["Not better than the training-median baseline."] if dead else []
    sentences = []
    if scores.accuracy <= scores.majority:
        sentences.append("Not better than the majority-class baseline.")
    if len(scores.never_answered):
        names = list_names(scores.never_answered, longest=24)
        sentences.append(f"{READOUTS['never_predicted'].label}: {names}.")
    return sentences
