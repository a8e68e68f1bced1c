"""The path that is scrubbed: models along one parameter, fitted as they are needed."""

from __future__ import annotations

import threading
from typing import Any

from smpcore import METHODS


class Path:
    """Knots of a scrubbed path, fitted as they are asked for.

    Each is the canonical fit at its value, the one that a release there gives: it
    depends on no other knot.

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
                method = self._method
                value = method.param(method.path).clean(self._knots[index])
                estimator = method.estimator(
                    {**self._values, method.path: value}, self._problem.task
                )
                self._solved[index] = estimator.solve(self._problem)
            return self._solved[index]
