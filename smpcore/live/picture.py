"""A fitted model as the live figure paints it."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore import explain, figures
from smpcore.datasets import in_place, used_matrices
from smpcore.evaluation import class_numbers
from smpcore.live import lines
from smpcore.live.parts import Parts
from smpcore.live.scene import SHOWN_ROWS, Scene
from smpcore.model import PrototypeModel, value_range

#: Number that stands for no prototype; a model with more of them has no such layer.
NONE = 255


def assignments(estimator: Any, scene: Scene, n_nodes: int) -> dict[str, Any] | None:
    """Prototypes of the drawn rows and of the window's nodes."""
    model = estimator.model_
    if model.classes is None or model.n_prototypes > NONE:
        return None
    activations = model.activations(scene.view.nodes(n_nodes))
    winner = explain.deciding_prototypes(model, activations)
    return {
        "rows": _tied(estimator, scene).astype(np.uint8),
        "winner": winner.astype(np.uint8),
        "lead": _lead(model, activations, winner),
    }


def _tied(estimator: Any, scene: Scene) -> np.ndarray:
    """Prototype of each drawn row: training rows as the solver tied them."""
    model = estimator.model_
    tied = explain.deciding_prototypes(model, model.activations(scene.X))
    place = scene.place_in_training
    # A fit on a part of the rows has tied others than those that are drawn.
    if len(estimator.assignment_) == scene.n_training:
        training = place >= 0
        tied[training] = estimator.merged_[estimator.assignment_[place[training]]]
    return np.where(tied < 0, NONE, tied)


def _lead(
    model: PrototypeModel, activations: np.ndarray, winner: np.ndarray
) -> np.ndarray:
    """How far the deciding prototype leads over the next of its class, as a margin."""
    # A prototype with votes for several classes counts as one of each of them.
    output = model.decide(model.pool(activations))
    votes = model.votes[:, output].T
    terms = activations * votes if model.pooling == "sum" else activations
    others = np.where(votes != 0, terms, -np.inf)
    rows = np.arange(len(winner))
    others[rows, winner] = -np.inf
    lead = np.maximum(terms[rows, winner] - others.max(axis=1), 0.0)
    finite = np.isfinite(lead)
    most = lead[finite].max(initial=0.0) or 1.0
    share = np.where(finite, lead, most) / most
    return np.rint(255 * np.sqrt(share)).astype(np.uint8)


#: Prototypes of a row's code, and cases of a prototype, that are sent at most.
MOST_ENTRIES, MOST_CODED = 10, 20


def codes(estimator: Any, scene: Scene, data: Parts) -> dict[str, Any] | None:
    """Codes of the drawn rows, and the training rows that prototypes are mixed from."""
    model = estimator.model_
    if not model.code_size or model.n_prototypes > NONE:
        return None
    weights = model.activations(scene.X)
    entered = np.argsort(-weights, axis=1, kind="stable")[:, :MOST_ENTRIES]
    weight = np.take_along_axis(weights, entered, axis=1)
    case, _ = explain.heaviest_cases(model, MOST_CODED)
    share = model.mixing[case, np.arange(model.n_prototypes)[:, None]]
    rows = data.split.train[estimator.anchor_rows_]
    return {
        "prototype": np.where(weight > 0, entered, NONE).astype(np.uint8),
        "weight": weight.astype(np.float32),
        "case": case.astype(np.int32),
        "share": np.where(case < 0, 0.0, share).astype(np.float32),
        "row": data.dataset.row_numbers(rows).astype(np.int32),
        "label": class_numbers(data.y[rows], model.classes).astype(np.uint8),
    }


#: Comparisons with anchors that the regions of one picture may take: above it they are
#: painted more coarsely.
MOST_COMPARISONS = 4e6
#: Bars of weights, and cases of a mix, that are shown at most.
MOST_BARS, MOST_CASES = 12, 5
#: Pixels of a picture's cases at most; beyond them cases have numbers only.
CASE_PIXELS = 100_000
#: Nodes of a curve.
CURVE_NODES = 400


def picture(
    estimator: Any,
    scene: Scene,
    data: Parts,
    tied: bool = False,
    coded: bool = False,
) -> dict[str, Any]:
    """A fitted model as the live figure paints it."""
    model = estimator.model_
    cost = max(model.n_comparisons, 1)
    n_nodes = int(np.clip(np.sqrt(MOST_COMPARISONS / cost), 30, 100))
    n_nodes = min(n_nodes, scene.most_nodes)
    paint = _regions if model.classes is not None else _surface
    painted, winners = paint(model, scene, n_nodes)
    texts, strip = lines.readouts(estimator, data, scene.parts, winners)
    if tied:
        painted["assignments"] = assignments(estimator, scene, n_nodes)
    if coded and (of_rows := codes(estimator, scene, data)):
        painted["codes"] = of_rows
    shares = [float(1 - painted["hollow"].mean())]
    if scene.left_out is not scene.lifted:
        measured = (scene.X, scene.y), scene.left_out, scene.placed, scene.spread
        shares = [
            s if np.isfinite(s) else None for s in figures.agreement(model, *measured)
        ]
    return painted | {
        "own_share": shares[0],
        "shares": shares[1:],
        "prototypes": _prototypes(estimator, scene, data),
        "bars": _bars(model, data),
        "readouts": texts,
        "strip": strip,
    }


def _regions(
    model: PrototypeModel, scene: Scene, n_nodes: int
) -> tuple[dict[str, Any], np.ndarray]:
    """Decision regions and the rows' answers; which classes win somewhere in them."""
    raster = figures.decision_raster(model, scene.view, n_nodes)
    predicted = model.decide(model.scores(scene.X))
    painted = model.decide(model.scores(scene.lifted))
    return {
        "grid": [n_nodes, n_nodes],
        "winner": raster.winner,
        "runner": raster.runner,
        "margin": raster.margin,
        "margin_max": raster.margin_max,
        "lines": None
        if raster.lines is None or model.pooling != "max"
        else {
            "coef": raster.lines,
            "owner": model.prototype_labels.astype(np.uint8),
            "tie": model.tie,
        },
        "predicted": predicted.astype(np.uint8),
        "hollow": (painted != predicted).astype(np.uint8),
        "doubts": _doubts(model, scene, n_nodes) if model.calibration else None,
    }, np.flatnonzero(np.bincount(raster.winner.ravel()))


def _doubts(model: PrototypeModel, scene: Scene, n_nodes: int) -> dict[str, Any]:
    """Which predictions of rows and nodes are doubtful, in the words of all pages."""
    words, place = np.unique(
        ["", *explain.doubts(model, np.vstack([scene.X, scene.view.nodes(n_nodes)]))],
        return_inverse=True,
    )
    rows, nodes = np.split(place[1:].astype(np.uint8), [len(scene.X)])
    return {"words": words.tolist(), "rows": rows, "nodes": nodes}


def _surface(
    model: PrototypeModel, scene: Scene, n_nodes: int
) -> tuple[dict[str, Any], np.ndarray]:
    """Predictions over the window and of the rows; no class wins anywhere."""
    curve = scene.view.of_target
    n_nodes = CURVE_NODES if curve else n_nodes
    predicted = model.predict(scene.X)
    error = np.abs(model.predict(scene.lifted) - predicted)
    return {
        "grid": [n_nodes, 1 if curve else n_nodes],
        "surface": figures.prediction_raster(model, scene.view, n_nodes),
        "predicted": predicted.astype(np.float32),
        "hollow": (error > figures.NEAR * scene.spread).astype(np.uint8),
    }, np.empty(0, dtype=int)


def _prototypes(estimator: Any, scene: Scene, data: Parts) -> dict[str, Any]:
    """What the figure shows of the prototypes themselves."""
    model, view = estimator.model_, scene.view
    # Of similarities that were given, the real cases say more than their weights.
    weighs = model.is_linear and estimator.anchor_rows_ is None
    shown = {
        "weights": model.weights.astype(np.float32) if weighs else None,
        "owner": model.prototype_labels.astype(np.uint8),
        "count": model.counts.astype(np.int32),
        "bias": model.bias.astype(np.float32),
        "caption": lines.KINDS[model.kind_of_prototype]
        + lines.RINGS.get(model.kind_of_prototype, ""),
    }
    if model.kind_of_prototype in lines.MARKS:
        marks = _on_view(model, view, _placed(estimator, data)[:SHOWN_ROWS])
        shown["marks"] = marks.astype(np.float32)
        shown["marks_label"] = lines.MARKS[model.kind_of_prototype]
        shown["size"] = np.count_nonzero(model.mixing, axis=0).astype(np.int32)
    if model.classes is None:
        shown["owner"] = np.full(model.n_prototypes, 255, np.uint8)
        shown["words"] = [
            lines.effect(voice) for voice in explain.prototype_weights(model)
        ]
    if model.similarity.kind == "strings" and (
        texts := lines.prototype_texts(model, data)
    ):
        shown["words"] = texts
        if model.classes is not None:
            sides = model.classes[model.prototype_labels]
            named = zip(sides, texts, strict=True)
            shown["words"] = [f"{side!s:.24}: {text}" for side, text in named]
        shown |= _stars(estimator, view, shown["owner"])
    elif model.kind_of_prototype == "invented case":
        shown |= _values(model, scene.header["image"], shown["caption"])
        shown |= _stars(estimator, view, shown["owner"])
    elif estimator.anchor_rows_ is not None:
        shown["cases"] = _cases(estimator, scene.header["image"], data)
    if scene.header["image"] and shown["weights"] is not None:
        blank = shown.get("range", [0.0])[0]
        shown["weights"] = in_place(data.dataset, shown["weights"], blank)
    return shown


def _placed(estimator: Any, data: Parts) -> np.ndarray:
    """Inputs at which prototypes stand; real cases are the training rows themselves."""
    if estimator.anchor_rows_ is None:
        return estimator.model_.prototypes
    return data.of("train")[0][estimator.anchor_rows_]


def _on_view(model: PrototypeModel, view: figures.View, X: np.ndarray) -> np.ndarray:
    """Where cases stand in the window; on the line, if it shows a curve."""
    xy = view.project(X)
    return view.places(X, model.predict(view.lift(xy))) if view.of_target else xy


def _values(
    model: PrototypeModel, image: list[int] | None, caption: str
) -> dict[str, Any]:
    """Values of invented cases; those of pictures in the data's own units."""
    weights, limits = model.anchors, {}
    more = "Values are in standard deviations from the training mean."
    if image:
        low, high = value_range(model)
        weights, limits = model.prototypes, {"range": [low, high]}
        more = (
            f"Pictures show the values of the training rows, {low:g} (white) to "
            f"{high:g} (black); a case may go below (crimson) or above (teal)."
        )
    weights, caption = weights.astype(np.float32), f"{caption} {more}"
    return {"weights": weights, "noun": "value", "caption": caption} | limits


def _stars(estimator: Any, view: figures.View, owner: np.ndarray) -> dict[str, Any]:
    """How much each invented case weighs, whether it is off the data, its start."""
    model = estimator.model_
    size, off = np.abs(explain.prototype_weights(model)), estimator.off_data_
    # The start of a case that several fell together into is that of the first.
    _, first = np.unique(estimator.merged_, return_index=True)
    start = estimator.start_[first] * model.scale + model.center
    start = None if view.of_target else view.project(start).astype(np.float32)
    return {
        "mark_size": (size / (size.max() or 1.0)).astype(np.float32),
        "mark_weight": explain.prototype_weights(model).astype(np.float32),
        "mark_owner": owner,
        "mark_off": None if off is None else off.astype(np.uint8),
        "mark_start": start,
    }


def _cases(estimator: Any, image: list[int] | None, data: Parts) -> dict[str, Any]:
    """The heaviest real cases of each mix: rows, shares, and pixels of images."""
    model = estimator.model_
    case, share = explain.heaviest_cases(model, MOST_CASES)
    row = data.split.train[estimator.anchor_rows_[case]]
    label = class_numbers(data.y[row.ravel()], model.classes).reshape(row.shape)
    pixels = None
    if image is not None and row.size * data.X.shape[1] <= CASE_PIXELS:
        low, high = value_range(model)
        pixels = 255 * (data.X[row.ravel()] - low) / max(high - low, 1e-300)
        pixels = in_place(data.dataset, np.clip(pixels, 0, 255), 0.0)
        pixels = pixels.reshape(*row.shape, -1).astype(np.uint8)
    return {
        "row": np.where(case >= 0, data.dataset.row_numbers(row), -1).astype(np.int32),
        "share": share.astype(np.float32),
        "label": label.astype(np.uint8),
        "pixels": pixels,
    }


def _speakers(model: PrototypeModel) -> tuple[list[str], np.ndarray | None, str]:
    """Names of invented cases, for whom each speaks, and what their weights mean."""
    if model.classes is None:
        names = [
            f"Prototype {j + 1} ({lines.effect(v)})"
            for j, v in enumerate(explain.prototype_weights(model))
        ]
        note = "right: raises the prediction for similar inputs; left: lowers it"
        return names, None, note
    classes = [f"{label!s:.24}" for label in model.classes]
    numbered = enumerate(model.prototype_labels)
    names = [f"Prototype {j + 1} (class {classes[k]})" for j, k in numbered]
    note = "largest contribution of each to the score of its class"
    if model.n_outputs == 2:
        outcome, other = classes[model.outcome], classes[1 - model.outcome]
        note = f"right: class {outcome}; left: class {other}"
    return names, model.prototype_labels, note


def _bars(model: PrototypeModel, data: Parts) -> dict[str, Any] | None:
    """Weights that are drawn as bars beside the picture, the largest first."""
    owner = None
    if model.kind_of_prototype == "invented case":
        values, title = explain.prototype_weights(model), "Weights of the cases"
        names, owner, note = _speakers(model)
    elif len(model.similarity.weights) > 1 or (
        data.dataset.matrices and len(used_matrices(data.dataset)) > 1
    ):
        what, names, values = lines.kernel_weights(model, data)
        title, names = f"Weights of the {what}", [name[:80] for name in names]
        note = "weight of each in the similarity of two cases; they sum to 1"
        if data.dataset.matrices:
            note = "share of each in what a row is compared by"
    else:
        return None
    shown = np.argsort(-np.abs(values), kind="stable")[:MOST_BARS]
    if more := len(values) - len(shown):
        left = np.count_nonzero(values) - np.count_nonzero(values[shown])
        weighing = {0: " with weight 0", more: ""}
        weighs = weighing.get(left, f", {left} of them with non-zero weight")
        note = f"and {more} more{weighs}; {note}"
    return {
        "title": title,
        "names": [names[i] for i in shown],
        "values": values[shown].astype(np.float32),
        "owner": None if owner is None else owner[shown].astype(np.uint8),
        "note": note,
    }
