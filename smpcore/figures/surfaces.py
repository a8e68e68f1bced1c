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
    """Show one feature, and the target above it.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Training rows: they set the window's edges.
    y : ndarray of shape (n_samples,)
        Target of each row; sets the window's height.
    names : tuple of str
        Name of each feature, for the axis title.
    feature : int
        The one along x.
    target : str
        What the target is called.
    rest : ndarray of shape (n_features,), optional
        Where the other features stand; the training medians if not given.

    Returns
    -------
    View
        `of_target`: a row's height is its target, which the view does not read.
    """
    view = axis_view(X, names, feature, feature, rest)
    return replace(view, y=edges(y), y_label=target, of_target=True)


def prediction_raster(
    model: PrototypeModel, view: View, n_nodes: int = 100
) -> np.ndarray:
    """Paint a regression model on a window.

    Parameters
    ----------
    model : PrototypeModel
        Regression model that is evaluated at each node.
    view : View
        Window whose points are inputs of the model.
    n_nodes : int
        Nodes along each axis.

    Returns
    -------
    ndarray of float32, shape (n_nodes, n_nodes) or (n_nodes,)
        Predictions in the target's units: of a curve from left to right, else rows
        from low y to high y.

    Raises
    ------
    SmpcoreError
        If the model is a classifier.
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
