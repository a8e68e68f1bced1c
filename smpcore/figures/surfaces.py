"""A regression model painted on a window: a surface over two features, or a curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.figures.views import View, axis_view, edges
from smpcore.model import PrototypeModel


def curve_view(
    X: np.ndarray,
    y: np.ndarray,
    names: tuple[str, ...],
    feature: int,
    target: str,
    rest: np.ndarray | None = None,
) -> View:
    """Show one feature, and the target above it; the others stand where `rest` says.

    A row's height is its target, which the view does not read.
    """
    view = axis_view(X, names, feature, feature, rest)
    return replace(view, y=edges(y), y_label=target, of_target=True)


def prediction_raster(
    model: PrototypeModel, view: View, n_nodes: int = 100
) -> np.ndarray:
    """Paint a regression model on a window, in the target's units.

    Of a curve one number a node from left to right, else rows from low y to high y.
    """
    if model.classes is not None:
        raise SmpcoreError(
            "model should be a regression model; it answers with classes."
        )
    if view.of_target:
        line = np.column_stack([np.linspace(*view.x, n_nodes), np.zeros(n_nodes)])
        return model.predict(view.lift(line)).astype(np.float32)
    values = model.predict(view.nodes(n_nodes)).astype(np.float32)
    return values.reshape(n_nodes, n_nodes)
