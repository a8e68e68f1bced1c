"""The path that is scrubbed: models along one parameter, solved as they are needed."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from smpcore import METHODS, solve_path


class Path:
    """Knots of a scrubbed path, solved as they are asked for.

    Each knot starts from the nearest one that is solved already.

    Parameters
    ----------
    method : str
    problem : object
        Scaled training rows with their start assignment, of the method's own kind.
    values : dict
        The other controls' values.
    knots : tuple of float
    """

    def __init__(
        self,
        method: str,
        problem: Any,
        values: dict[str, Any],
        knots: tuple[float, ...],
    ) -> None:
        self._method, self._problem = METHODS[method], problem
        self._values, self._knots = values, knots
        self._solved: dict[int, Any] = {}
        self._lock = threading.Lock()

    def knot(self, index: int) -> Any:
        """The fitted estimator of one knot."""
        with self._lock:
            if index not in self._solved:
                near = min(self._solved, key=lambda i: abs(i - index), default=None)
                state = None if near is None else self._solved[near].state_
                start = np.array([self._knots[index]])
                (_, estimator), *_ = solve_path(
                    self._method, self._problem, self._values, start, state
                )
                self._solved[index] = estimator
            return self._solved[index]
