"""What a fit of the multi-prototype SVM reports while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.shared.recorded import Recorder
from smpcore.model import History, Trace
from smpcore.solvers.iterations import CONVERGED, ITERATION_LIMIT, STOPPED


@dataclass(frozen=True)
class Certificate:
    """Objective at some prototypes and how far it can be from the best."""

    objective: float  # Of the rows as assigned
    free: float  # If every row took its best prototype
    gap: float  # `objective` minus the dual's bound


class Monitor:
    """Collects the certificates of a fit and reports its progress."""

    def __init__(self, options: SolverOptions, span: tuple[float, float]) -> None:
        self.options, self.span = options, span
        self.rows: list[tuple[float, float, float]] = []
        self.recorder = Recorder(options.record)
        self.phases: list[tuple[float, str]] = []

    def begin(self, phase: str, n_sweeps: int) -> None:
        """Begin a phase of the fit after so many sweeps."""
        self.phases.append((float(n_sweeps), phase))

    def add(
        self,
        certificate: Certificate,
        n_sweeps: int,
        state: Callable[[], Any],
        last: bool = False,
    ) -> None:
        """Add a certificate to the history."""
        if self.recorder.every:
            self.recorder.add(len(self.rows), state, last)
        self.rows.append((n_sweeps, certificate.objective, certificate.gap))
        share = certificate.gap / max(certificate.objective, 1e-300)
        if 0.0 < share < 1.0:
            far = np.log(share) / np.log(min(self.options.tol, 0.99))
            far = self.span[0] + self.span[1] * min(far, 0.99)
            self.options.progress[0] = max(self.options.progress[0], far)

    def history(self, finished: bool, n_iter: int, steps: Trace) -> History:
        """All certificates as a history, and how the fit ended."""
        iteration, objective, gap = np.array(self.rows, dtype=np.float64).T
        status = CONVERGED if finished else ITERATION_LIMIT
        return History(
            iteration=iteration,
            objective=objective,
            gap=gap,
            steps=steps,
            status=STOPPED if self.options.stopped else status,
            n_iter=n_iter,
            seconds=self.options.seconds,
            phases=tuple(self.phases),
        )
