"""A super-sparse fit of rows that stay in a file: sums over blocks of rows.

Every step is that of the fit in memory. Similarities are computed anew for each block,
in two passes a step: one for the equations of the coefficients, one for the gradient.
So most steps are made on a sample in memory, and the last few on all rows begin where
it ended, with the curvature that it saw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.shared.row_blocks import map_blocks
from smpcore.methods.supersparse import kernel as solvers
from smpcore.methods.supersparse.problem import Box, Objective, Solution, StepLog
from smpcore.solvers import similarity as forms

#: Numbers in the rows on which prototypes are moved before all rows are read.
SAMPLE_SIZE = 2**24

#: Steps that the solver remembers, and shorter ones that it tries.
MEMORY, MOST_TRIALS = 10, 30


class Refit(NamedTuple):
    """Objective and best coefficients of prototypes."""

    F: float
    B: np.ndarray  # (n_prototypes, n_outputs)
    intercept: np.ndarray  # (n_outputs,)


@dataclass(frozen=True, eq=False)
class CondensedObjective(Objective):
    """A few rows in place of all: the same objective of any of some points."""

    #: (n_points, n_features): What it knows the similarities of
    points: np.ndarray = None
    #: (n_rows, n_points): These, with the means and products that they have on all rows
    columns: np.ndarray = None

    def similarities(self, Z: np.ndarray) -> np.ndarray:
        """Similarity of each row to each prototype, which is one of the points."""
        places = [int((self.points == z).all(axis=1).argmax()) for z in Z]
        return self.columns[:, places]


@dataclass(frozen=True, eq=False)
class BlockObjective(Objective):
    """An objective whose rows are read in blocks; errors are squared."""

    def condensed(self, Z: np.ndarray) -> CondensedObjective:
        """As few rows as have the same objective of any of these prototypes.

        It depends on means and products of similarities and targets only, and these
        are also those of twice as many rows as there are columns.
        """
        Y, weights = self.rows.Y, self.rows.weights
        n = len(Z) + len(Y)
        means, products = np.zeros(n), np.zeros((n, n))

        def products_of(
            part: slice, X: np.ndarray, sz: np.ndarray, S: np.ndarray, D: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            columns = np.vstack([S, Y[:, part]])
            weighed = columns * weights[part]
            return weighed.sum(axis=1), weighed @ columns.T

        for of_means, of_products in self._blocks(products_of, Z):
            means += of_means
            products += of_products
        values, vectors = np.linalg.eigh(products - np.outer(means, means))
        root = np.sqrt(n * np.maximum(values, 0.0))[:, None] * vectors.T
        columns = np.vstack([means + root, means - root])
        few = replace(
            self.rows,
            cases=np.empty((2 * n, Z.shape[1])),
            Y=np.ascontiguousarray(columns[:, len(Z) :].T),
            weights=np.full(2 * n, 0.5 / n),
            joined=None,
        )
        parts = self.similarity, self.lam, self.free
        return CondensedObjective(few, *parts, Z, columns[:, : len(Z)])

    def refitted(self, Z: np.ndarray) -> Refit:
        """Objective and best coefficients of prototypes."""
        few = self.condensed(Z)
        return Refit(*few.refit(few.columns)[:3])

    def gradient(self, Z: np.ndarray, refit: Refit) -> np.ndarray:
        """Gradient of the objective along the prototypes."""

        def pulled_back(
            part: slice, X: np.ndarray, sz: np.ndarray, S: np.ndarray, D: np.ndarray
        ) -> np.ndarray:
            residuals = refit.B.T @ S + refit.intercept[:, None] - self.rows.Y[:, part]
            W = refit.B @ (2.0 * self.rows.weights[part] * residuals)
            G = np.empty(Z.shape)
            forms.pull_back(self.form, X, Z, sz, S, D, W, G)
            return G

        return sum(self._blocks(pulled_back, Z))

    def coefficients(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Best coefficients of prototypes."""
        return self.refitted(Z)[1:]

    @cached_property
    def sample(self) -> BlockObjective:
        """The same objective of rows drawn into memory; itself if it has few rows."""
        n_rows = max(SAMPLE_SIZE // self.rows.cases.shape[1], 1)
        if self.rows.joined is None or self.rows.n_distinct <= n_rows:
            return self
        return replace(self, rows=self.rows.sampled(n_rows))

    def solve(
        self,
        Z: np.ndarray,
        box: Box,
        options: SolverOptions,
        pairs: Pairs | None = None,
    ) -> Solution:
        """Move prototypes as `solve_supersparse` does."""
        Z, limits = _copy(Z), options.for_kernel(Z)[0]
        solvers.clip(Z, box)
        refit = self.refitted(Z)
        trace, pairs = StepLog(refit.F, Z, options), pairs or Pairs(Z.shape)
        before, recent = None, 0
        for k in range(int(options.max_iter) + 1):
            F = refit.F
            status = solvers.note_step(k, F, recent, limits)
            if status != solvers.ITERATION_LIMIT or k == options.max_iter:
                break
            G = self.gradient(Z, refit)  # a pass that the last step can do without
            if before is not None:
                pairs.add(Z - before[0], G - before[1])
            found = self._step(Z, F, G, pairs, box)
            if found is None:
                status = solvers.CONVERGED
                break
            before = Z, G
            Z, refit = found
            recent = recent + 1 if F - refit.F <= options.tol * F else 0
            trace.add(refit.F, Z, int(options.max_iter))
        solution = trace.solution(self, Z, status, (refit.B, refit.intercept))
        return replace(solution, pairs=pairs)

    def _step(
        self, Z: np.ndarray, F: float, G: np.ndarray, pairs: Pairs, box: Box
    ) -> tuple[np.ndarray, Refit] | None:
        """The next prototypes, or None where no step lowers the objective."""
        while True:
            steps, is_newton = pairs.direction(Z, G, box)
            square = solvers.inner(steps, steps)
            if square == 0.0:
                return None
            t = 1.0 if is_newton else 0.1 * math.sqrt(len(Z) / square) * self.reach
            found = self._shortened(Z, F, G, t, steps, box)
            if found is not None or not pairs.count:
                return found
            pairs.count = 0  # the memory is stale: once more along the gradient

    def _shortened(
        self,
        Z: np.ndarray,
        F: float,
        G: np.ndarray,
        t: float,
        steps: np.ndarray,
        box: Box,
    ) -> tuple[np.ndarray, Refit] | None:
        """A step so short that the objective falls enough."""
        for _ in range(MOST_TRIALS):
            Z_new = Z - t * steps
            solvers.clip(Z_new, box)
            slope = solvers.inner(G, Z_new - Z)
            refit = self.refitted(Z_new)
            if refit.F <= F + 1e-4 * min(slope, 0.0):
                return Z_new, refit
            over = refit.F - F - slope
            shorter = 0.5 * -slope / over if over else math.inf
            t *= min(max(shorter, 0.1), 0.5) if math.isfinite(shorter) else 0.1
        return None

    def _blocks(self, work: Callable[..., Any], Z: np.ndarray) -> Iterator[Any]:
        """Work on places, rows, prototypes' sizes, similarities, slopes of a block."""
        Z = _copy(Z)

        def of_block(part: slice, X: np.ndarray) -> Any:
            sizes, sz = np.einsum("ij,ij->i", X, X), np.empty(len(Z))
            S, D = np.empty((2, len(Z), len(X)))
            forms.write_values(self.form, X, sizes, Z, sz, S, D)
            return work(part, X, sz, S, D)

        return map_blocks(of_block, self.rows.cases)


class Pairs:
    """The last steps and changes of the gradient: what L-BFGS knows of curvature."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.count = 0
        pairs, numbers = np.empty((2, MEMORY, *shape)), np.empty((2, MEMORY))
        self.memory = solvers.Memory(*pairs, *numbers)

    def add(self, move: np.ndarray, change: np.ndarray) -> None:
        """Remember a step; without curvature it says nothing on a minimum."""
        if solvers.inner(move, change) > 1e-300:
            self.memory.V[self.count % MEMORY] = move
            self.memory.Q[self.count % MEMORY] = change
            self.count += 1

    def direction(
        self, Z: np.ndarray, G: np.ndarray, box: Box
    ) -> tuple[np.ndarray, bool]:
        """Minus the direction to go in, and whether the pairs made it."""
        steepest, free = G.copy(), np.empty(G.shape)
        solvers.keep_inside(Z, box, steepest, free)
        if not self.count:
            return steepest, False
        steps, held = np.empty(G.shape), np.empty(G.shape)
        solvers.quasi_newton(steepest, free, self.memory, self.count, steps)
        solvers.keep_inside(Z, box, steps, held)
        squares = solvers.inner(steepest, steepest) * solvers.inner(steps, steps)
        if solvers.inner(steepest, steps) > 1e-12 * math.sqrt(squares):
            return steps, True
        self.count = 0
        return steepest, False


def _copy(Z: np.ndarray) -> np.ndarray:
    """Prototypes as kernels take them."""
    return np.array(Z, dtype=np.float64, order="C")
