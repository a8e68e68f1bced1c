"""Rows that are selected in the figure, compared with the others that it draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smpcore.datasets import shorten_name, text_features
from smpcore.live.parts import Parts
from smpcore.live.scene import Scene

#: Features that are compared at most, and rows whose values are listed at most.
MOST_FEATURES, MOST_LISTED = 8, 100


def selection(data: Parts, scene: Scene, selected: Sequence[int]) -> dict[str, Any]:
    """Describe selected rows.

    Parameters
    ----------
    data : Parts
        Rows and their features.
    scene : Scene
        Rows that are drawn: others cannot be selected.
    selected : sequence of int
        Rows of the table.

    Returns
    -------
    dict of str to value
        ``rows`` that are selected; the ``features`` whose means differ most from those
        of the other drawn rows, in their standard deviations, with both means; values
        of the first rows in these features.
    """
    drawn = scene.header["points"]["row"]
    inside = np.isin(drawn, np.asarray(selected, dtype=int))
    X, rest = scene.X[inside], scene.X[~inside]
    compares = len(X) and not data.dataset.matrices and not text_features(data.dataset)
    shown = _largest_differences(scene.X, X, rest) if compares else []
    names = data.preparation.feature_names
    return {
        "rows": drawn[inside],
        "features": [shorten_name(names[i], 80) for i in shown],
        "means": [[_mean(X[:, i]), _mean(rest[:, i])] for i in shown],
        "values": X[:MOST_LISTED, shown].astype(np.float32),
    }


def _largest_differences(
    drawn: np.ndarray, inside: np.ndarray, rest: np.ndarray
) -> list[int]:
    """Features by the difference of the means, the largest first; constants last."""
    apart = inside.mean(axis=0) - (rest if len(rest) else inside).mean(axis=0)
    spread = drawn.std(axis=0)
    apart = np.abs(np.divide(apart, spread, np.zeros_like(apart), where=spread > 0))
    return np.argsort(-apart, kind="stable")[:MOST_FEATURES].tolist()


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None
