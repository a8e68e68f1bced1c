"""What the live figure paints: rows and window, which stand still, and models."""

from __future__ import annotations

from typing import Any

import numpy as np

from pages.shared import cached, readouts
from pages.shared.choice import Choice
from pages.shared.edits import is_editable
from smpcore import PrototypeModel, class_numbers, figures

#: Rows that are drawn, at most; scores always count all of them.
SHOWN_ROWS = 2000
PARTS = ("train", "validation", "test")


class Scene:
    """What stands still while a model changes: rows, window, labels.

    Parameters
    ----------
    choice : Choice
    data : Parts
    view : figures.View
    """

    def __init__(self, choice: Choice, data: cached.Parts, view: figures.View) -> None:
        open_test = choice.open_test or data.dataset.open_test
        self.parts = PARTS if open_test else PARTS[:2]
        self.view = view
        rows = [getattr(data.split, part) for part in self.parts]
        part = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
        row = np.concatenate(rows)
        total = len(row)
        if total > SHOWN_ROWS:
            chosen = np.random.default_rng(0).permutation(total)[:SHOWN_ROWS]
            row, part = row[chosen], part[chosen]
        self.X = data.X[row]
        self.xy = view.project(self.X)
        self.lifted = view.lift(self.xy)
        classes = np.unique(data.of("train")[1])
        label = class_numbers(data.y[row], classes)
        self.header = {
            "title": data.dataset.name,
            "classes": [str(label) for label in classes],
            "editable": is_editable(data),
            "parts": ["training", "validation", "test"],
            "points": {
                "x": self.xy[:, 0].astype(np.float32),
                "y": self.xy[:, 1].astype(np.float32),
                "label": np.where(label < 0, 255, label).astype(np.uint8),
                "part": part.astype(np.uint8),
                "row": row.astype(np.int32),
            },
            "shown_of": [len(row), total],
            "view": {
                "x": list(view.x),
                "y": list(view.y),
                "xlabel": view.x_label[:80],
                "ylabel": view.y_label[:80],
                "note": view.note,
            },
            "image": _image_shape(data),
            "features": [name[:80] for name in data.preparation.feature_names],
            "alt": f"Decision regions on {data.dataset.name}",
        }


def _image_shape(data: cached.Parts) -> list[int] | None:
    shape = data.dataset.sample_shape
    n_features = len(data.preparation.feature_names)
    return list(shape) if len(shape) == 2 and np.prod(shape) == n_features else None


def picture(estimator: Any, scene: Scene, data: cached.Parts) -> dict[str, Any]:
    """A fitted model as the live figure paints it.

    Parameters
    ----------
    estimator : fitted estimator
    scene : Scene
    data : Parts

    Returns
    -------
    dict
    """
    model = estimator.model_
    raster = figures.decision_raster(model, scene.view)
    predicted = model.scores(scene.X).argmax(axis=1)
    painted = model.scores(scene.lifted).argmax(axis=1)
    hollow = painted != predicted
    texts, strip = readouts.readouts(estimator, data, scene.parts, raster)
    n_nodes = len(raster.winner)
    return {
        "grid": [n_nodes, n_nodes],
        "winner": raster.winner,
        "runner": raster.runner,
        "margin": raster.margin,
        "margin_max": raster.margin_max,
        "lines": None
        if raster.lines is None or model.pooling != "max"
        else {"coef": raster.lines, "owner": model.owner.astype(np.uint8)},
        "predicted": predicted.astype(np.uint8),
        "hollow": hollow.astype(np.uint8),
        "own_share": float(1 - hollow.mean()),
        "prototypes": _prototypes(model, scene.view),
        "readouts": texts,
        "strip": strip,
    }


def _prototypes(model: PrototypeModel, view: figures.View) -> dict[str, Any]:
    """What the figure shows of the prototypes themselves."""
    shown = {
        "weights": model.weights.astype(np.float32) if model.is_linear else None,
        "owner": model.owner.astype(np.uint8),
        "count": model.counts.astype(np.int32),
        "bias": model.bias.astype(np.float32),
        "caption": readouts.KINDS[model.kind_of_prototype],
    }
    if model.kind_of_prototype == "invented case":
        shown |= {"weights": model.anchors.astype(np.float32), "noun": "value"}
    if model.kind_of_prototype in readouts.MARKS:
        marks = view.project(model.prototypes[:SHOWN_ROWS])
        shown["marks"] = marks.astype(np.float32)
        shown["marks_label"] = readouts.MARKS[model.kind_of_prototype]
        shown["size"] = np.count_nonzero(model.mixing, axis=0).astype(np.int32)
    return shown
