"""SMP for rows that are read a block at a time: the same steps and certificate.

The steps are those of `smpcore.solvers.smp.solve_smp`. Only `RowBlocks` touches the
rows, by two products with each block, so that sparse matrices cost what they store;
files or the workers of a cluster can serve their blocks in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from smpcore.estimators.linear import ROWS_AT_ONCE
from smpcore.estimators.problem import SolverOptions
from smpcore.solvers.losses import softmax_block
from smpcore.solvers.prox import fusion_prox
from smpcore.solvers.smp import (
    ITERATION_LIMIT,
    dual_net,
    net_conjugate,
    note_step,
    penalty,
    scaled_entropy,
    step_curvature,
)


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """Training rows in blocks, and the loss of SMP on them.

    Parameters
    ----------
    X : csr_array of shape (n_samples, n_columns)
        Scaled rows, a last column of ones for a bias.
    y_encoded : ndarray of int, shape (n_samples,)
        Index of each row's class.
    assignment : ndarray of int, shape (n_samples,)
        Prototype that each row is tied to.
    weights : ndarray of shape (n_samples,)
        Weight of each row, sum 1.
    prototype_labels : ndarray of int, shape (n_prototypes,)
        Class of each prototype, ascending.
    offsets : ndarray of shape (n_prototypes,)
        Added to a rival's score: logarithm of how many prototypes it stands for.
    """

    X: Any
    y_encoded: np.ndarray
    assignment: np.ndarray
    weights: np.ndarray
    prototype_labels: np.ndarray
    offsets: np.ndarray

    @cached_property
    def blocks(self) -> list[tuple[slice, Any]]:
        """Places of the rows of each block, and the block: views, no copies."""
        X, found = self.X, []
        for first in range(0, X.shape[0], ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, X.shape[0])
            start, end = X.indptr[first], X.indptr[last]
            parts = X.data[start:end], X.indices[start:end]
            pointers = X.indptr[first : last + 1] - start
            shape = (last - first, X.shape[1])
            block = sparse.csr_array((*parts, pointers), shape=shape, copy=False)
            found.append((slice(first, last), block))
        return found

    @cached_property
    def _room(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores, exponentials, and three numbers for each row of a block."""
        N, rows = len(self.prototype_labels), min(ROWS_AT_ONCE, self.X.shape[0])
        return np.empty((N + 1) * rows), np.empty(N * rows), np.empty((3, rows))

    def loss_and_gradient(
        self, W: np.ndarray, smooth: bool, T: float, G: np.ndarray, miss: np.ndarray
    ) -> np.ndarray:
        """Loss and entropy at W; the gradient in G, the rivals' probability in `miss`.

        Parameters
        ----------
        W : ndarray of shape (n_prototypes, n_columns)
            Prototypes at which the loss is taken.
        smooth : bool
            Whether the loss is the smooth one; the max loss otherwise.
        T : float
            Temperature of the annealed loss; 1 for the smooth one.
        G : ndarray of shape (n_prototypes, n_columns)
            Overwritten with the gradient of the annealed loss.
        miss : ndarray of shape (n_samples,)
            Overwritten with the probability that the rivals of each row get.

        Returns
        -------
        ndarray of shape (4,)
            Annealed loss and its entropy, true loss and its entropy.
        """
        S, E, triple = self._room
        N, total = len(W), np.zeros(4)
        G[:] = 0.0
        for part, block in self.blocks:
            k = block.shape[0]
            scores = S[: N * k].reshape(N, k)
            scores[:] = (block @ W.T).T
            total += softmax_block(
                S[: (N + 1) * k], E[: N * k], E[: N * k].view(np.int64),
                self.y_encoded[part], self.assignment[part], self.prototype_labels,
                self.offsets, self.weights[part], smooth, T, triple[0], triple[1],
                triple[2], miss[part],
            )  # fmt: skip
            G += scores @ block
        return total


@dataclass(frozen=True, eq=False)
class Penalties:
    """Fusion and elastic net, as the kernels take them.

    Parameters
    ----------
    starts : ndarray of int, shape (n_classes + 1,)
        First prototype of each class, and the number of prototypes.
    copies : ndarray of shape (n_prototypes,)
        How many equal prototypes each one stands for.
    lam : float
        Weight of the fusion penalty, in units of the mean loss.
    l1, l2 : ndarray of shape (n_prototypes, n_columns)
        Weights of the elastic net for each entry.
    lipschitz : float
        Bound on the curvature of the loss.
    """

    starts: np.ndarray
    copies: np.ndarray
    lam: float
    l1: np.ndarray
    l2: np.ndarray
    lipschitz: float

    def cost(self, W: np.ndarray) -> float:
        """Both penalties at W."""
        return penalty(W, self.starts, self.lam, self.l1, self.l2, self.copies)

    def dual(self, G: np.ndarray, Y: np.ndarray, Z: np.ndarray) -> tuple[float, float]:
        """Conjugate of the elastic net, and the scale at which it costs nothing."""
        return dual_net(G, Y, self.starts, self.l1, self.l2, Z)

    def scaled(self, Z: np.ndarray, s: float) -> float:
        """Conjugate of the elastic net at s * Z."""
        return net_conjugate(Z, s, self.l1, self.l2)


def solve_by_blocks(
    rows: RowBlocks,
    penalties: Penalties,
    smooth: bool,
    W: np.ndarray,
    Y: np.ndarray,
    options: SolverOptions,
) -> tuple[Any, ...]:
    """Solve SMP until the certified gap is at most ``tol`` times the objective.

    Parameters
    ----------
    rows : RowBlocks
        Training rows, each tied to a prototype.
    penalties : Penalties
        What is added to the loss.
    smooth : bool
        Whether the loss is the smooth one; the max loss is approached by annealing.
    W : ndarray of shape (n_prototypes, n_columns)
        Start; overwritten.
    Y : ndarray of shape (n_pairs, n_columns)
        Feasible duals of the fusion penalty to start from; overwritten.
    options : SolverOptions
        When to stop, and what to record.

    Returns
    -------
    tuple
        As the kernels return: W, Y, status, steps taken, objective and gap after each
        step, and every `record`-th W.
    """
    tol, max_iter, record, stop, progress = options.for_kernel
    W_new, G, G_new, Z = (
        W.copy(),
        np.zeros(W.shape),
        np.empty(W.shape),
        np.empty(W.shape),
    )
    move, level, row = np.zeros(Y.shape), np.zeros(len(Y)), np.empty(W.shape[1])
    miss, recent = np.empty(len(rows.weights)), np.zeros(5)
    objectives, gaps = np.empty(max_iter + 1), np.empty(max_iter + 1)
    n_kept = min(200, max_iter // record + 1) if record > 0 else 0
    steps = np.empty((n_kept, *W.shape))
    lipschitz = penalties.lipschitz
    T, L, limit = 1.0, 0.03 * lipschitz, 2.0 * lipschitz
    worst, bound, n_iter = math.inf, -math.inf, -1
    while True:
        loss, entropy, true_loss, true_entropy = map(
            float, rows.loss_and_gradient(W_new, smooth, T, G_new, miss)
        )
        costs = penalties.cost(W_new)
        curvature, dd = step_curvature(W, W_new, G, G_new, n_iter % 2 == 0)
        if loss + costs > worst - 0.5e-4 * L * dd and L < limit:
            L = min(2.0 * L, limit)
        else:
            if n_iter >= 0:
                L = min(max(curvature, 1e-4 * lipschitz), limit)
            W, W_new, G, G_new = W_new, W, G_new, G
            n_iter += 1
            P = true_loss + costs
            net, s = penalties.dual(G, Y, Z)
            bound = max(bound, -true_entropy - net)
            if s < 1.0 and not (smooth and (1.0 - s) * loss - s * entropy <= bound):
                scaled = scaled_entropy(s, true_entropy, smooth, miss, rows.weights)
                bound = max(bound, -scaled - penalties.scaled(Z, s))
            gap = P - bound
            status = note_step(
                n_iter, record, P, gap, tol, W, objectives, gaps, steps, stop, progress
            )
            if status != ITERATION_LIMIT or n_iter == max_iter:
                break
            if not smooth and n_iter == 0:  # smoothing may cost a tenth of the gap
                T = min(1.0, 0.1 * gap / max(loss - true_loss, 1e-300))
                L, limit = 0.125 * lipschitz / T, 2.0 * lipschitz / T
            elif not smooth and 3.0 * (loss + costs + entropy + net) <= gap:
                T /= 3.0
                limit = 2.0 * lipschitz / T
            recent[n_iter % 5] = loss + costs
            worst = float(recent.max())
        fusion_prox(
            W - G / L, penalties.starts, 1.0 / L, penalties.lam, penalties.l1,
            penalties.l2, penalties.copies, 1e-3 * min(1.0, gap / P), W_new, Y, move,
            level, row,
        )  # fmt: skip
    progress[0] = 1.0
    kept = min(n_iter // record + 1, len(steps)) if record > 0 else 0
    counted = slice(n_iter + 1)
    return W, Y, status, n_iter, objectives[counted], gaps[counted], steps[:kept]
