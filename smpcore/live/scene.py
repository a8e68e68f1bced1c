"""Rows and window of the live figure, which stand still while a model changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from smpcore import figures
from smpcore.datasets import in_place, shorten_name, text_features
from smpcore.evaluation import class_numbers
from smpcore.live.context import Context
from smpcore.live.parts import PARTS, Parts
from smpcore.live.points import is_editable
from smpcore.similarity import Similarity

#: Rows that are drawn, at most; scores always count all of them.
SHOWN_ROWS = 2000
#: Pixels behind a map that are sent, at most: its first message is so much longer.
MOST_BEHIND = 200_000
#: Features in which a place differs most from the nearest row, that are named.
MOST_DIFFERENCES = 3


def laid_out_rows(data: Parts) -> tuple[np.ndarray, np.ndarray]:
    """Training rows that are laid out, and other rows that are placed among them."""
    classify = data.dataset.task == "classification"
    division = data.split
    if len(division.train) > figures.MOST_LAID_OUT:
        division = division.thinned(data.y, figures.MOST_LAID_OUT, classify)
    others = np.concatenate([data.split.validation, data.split.test])
    others = np.concatenate([others, np.setdiff1d(data.split.train, division.train)])
    return division.train, others[: figures.MOST_PLACED]


class Scene:
    """What stands still while a model changes: rows, window, labels."""

    def __init__(self, data: Parts, view: figures.View, open_test: bool) -> None:
        self.parts = PARTS if open_test else PARTS[:2]
        self.view, self.most_nodes, self.spread = view, view.most_nodes, 0.0
        rows = [getattr(data.split, part) for part in self.parts]
        part = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
        row = np.concatenate(rows)
        total = len(row)
        if total > SHOWN_ROWS:
            chosen = np.random.default_rng(0).permutation(total)[:SHOWN_ROWS]
            row, part = row[chosen], part[chosen]
        self.X, self.y = data.X[row], data.y[row]
        self.n_training = len(data.split.train)
        place = np.full(len(data.y), -1)
        place[data.split.train] = np.arange(self.n_training)
        self.place_in_training = place[row]
        self.xy = view.places(self.X, self.y)
        self.lifted = view.lift(self.xy)
        self.left_out = view.left_out(self.X, self.lifted)
        #: Rows that what is shown at their place does not depend on.
        self.placed = (self.left_out == self.lifted).all(axis=1)
        regression = data.dataset.task == "regression"
        classes = [] if regression else np.unique(data.of("train")[1])
        label = np.full(len(row), -1) if regression else class_numbers(self.y, classes)
        self.header = self._header(data, classes)
        self.header["points"] = {
            "x": self.xy[:, 0].astype(np.float32),
            "y": self.xy[:, 1].astype(np.float32),
            "label": np.where(label < 0, 255, label).astype(np.uint8),
            "part": part.astype(np.uint8),
            "row": row.astype(np.int32),
            "number": data.dataset.row_numbers(row).astype(np.int32),
        }
        self.header["shown_of"] = [len(row), total]
        if regression:
            self._measure(data, self.y)

    def _header(self, data: Parts, classes: Any) -> dict[str, Any]:
        """These data and this window for the figure."""
        view = self.view
        return {
            "title": data.dataset.name,
            "classes": [str(label) for label in classes],
            "editable": is_editable(data, view),
            "parts": ["training", "validation", "test"],
            "view": {
                "x": list(view.x),
                "y": list(view.y),
                "xlabel": shorten_name(view.x_label, 80),
                "ylabel": shorten_name(view.y_label, 80),
                "note": view.note,
                "far": view.far(100),  # as fine as any picture
            },
            "image": _image_shape(data),
            "behind": _behind(view, data),
            "features": [shorten_name(n, 80) for n in data.preparation.feature_names],
            "alt": f"Decision regions on {data.dataset.name}",
        }

    def _measure(self, data: Parts, y: np.ndarray) -> None:
        """Add what a regression needs: the target's name and range, and true values."""
        name, train = data.dataset.target[:80], data.of("train")[1]
        self.spread = float(np.ptp(train))
        self.header["target"] = {
            "name": name,
            "low": float(train.min()),
            "high": float(train.max()),
            "curve": self.view.of_target,
        }
        self.header["points"]["value"] = y.astype(np.float32)
        self.header["alt"] = f"Predictions of {name} on {data.dataset.name}"


def laying_out(context: Context, scene: Scene) -> dict[str, Any] | None:
    """What there is to say of a map that is not shown; None if nothing.

    The browser looks again while it has a share that is done.
    """
    chosen = context.choice.view.get("kind")
    map_of = context.host.studies.map_of
    job = map_of(context.data) if map_of and chosen in (None, "map") else None
    if job is None:
        return None
    # It may have come since the scene was made.
    is_late = scene.view.far(2) is None and context.view["kind"] == "map"
    if job.view and not is_late:
        return None
    if job.was_left:  # by everybody, before it was done
        job.start()
    if job.problem:
        return {"words": job.problem if chosen else "", "share": None}
    share = 1.0 if job.view else float(job.progress[0])
    words = f"A map is being laid out: {100 * share:.0f} %."
    return {"words": words, "share": share}


def _behind(view: figures.View, data: Parts) -> dict[str, np.ndarray] | None:
    """What stands for a node of a map: its picture, or how it differs from a row."""
    if view.far(2) is None:
        return None
    shape, n_nodes = _image_shape(data), min(50, view.most_nodes)
    if shape is not None:
        n_nodes = nodes_behind(view, math.prod(shape))
        if n_nodes < 2:
            return None
        rows = data.of("train")[0]
        low, high = rows.min(), rows.max()
        grey = 255 * (view.nodes(n_nodes) - low) / max(high - low, 1e-300)
        pixels = in_place(data.dataset, np.clip(np.rint(grey), 0, 255), 0.0)
        return {"pixels": pixels.astype(np.uint8).reshape(n_nodes, n_nodes, -1)}
    most = 0 if data.dataset.matrices else MOST_DIFFERENCES  # its columns are rows
    row, *features = view.differences(n_nodes, most)
    number = data.dataset.row_numbers(laid_out_rows(data)[0][row])
    kinds = {"feature": np.int32, "value": np.float32, "of_row": np.float32}
    named = zip(kinds.items(), features, strict=True)
    shown = {name: values.astype(kind) for (name, kind), values in named}
    shown = {"row": number.astype(np.int32)[:, None], **shown}
    square = n_nodes, n_nodes
    return {name: v.reshape(*square, v.shape[1]) for name, v in shown.items()}


def nodes_behind(view: figures.View, n_values: int) -> int:
    """Nodes along each axis of a map whose inputs, of so many values, can be sent."""
    return min(50, view.most_nodes, int((MOST_BEHIND / n_values) ** 0.5))


def _image_shape(data: Parts) -> list[int] | None:
    shape = data.dataset.sample_shape
    one_each = len(data.dataset.feature_columns) == data.X.shape[1]
    is_grey = data.dataset.is_image and len(shape) == 2
    return list(shape) if is_grey and one_each else None


def flat_window(data: Parts, chosen: Mapping[str, Any]) -> figures.View:
    """The window of a view that is no map."""
    X, y = data.of("train")
    if data.dataset.matrices:
        return figures.similarity_view(X)
    if text_features(data.dataset):
        return figures.nearest_view(X, Similarity("strings", gamma=0.3).values)
    if chosen["kind"] == "pca":
        return figures.pca_view(X)
    rest = np.median(X, axis=0)
    for index, value in chosen["at"]:
        rest[index] = value
    names, first = data.preparation.feature_names, chosen["first"]
    if chosen["kind"] == "curve":
        return figures.curve_view(X, y, names, first, data.dataset.target, rest)
    return figures.axis_view(X, names, first, chosen["second"], rest)
