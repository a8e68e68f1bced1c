"""The alternation of IMKPL: codes, prototypes, kernel weights, in turn."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np

from smpcore.methods.imkpl import kinds_of_kernels as kinds
from smpcore.methods.imkpl.kernel import DEAD, update_prototypes
from smpcore.methods.imkpl.problem import IMKPLParameters, IMKPLProblem, IMKPLState
from smpcore.methods.shared.problem import Fitted, Recorder, SolverOptions
from smpcore.model import History, Trace
from smpcore.model.prototype_model import sparse_codes
from smpcore.solvers.iterations import CONVERGED, DIVERGED, ITERATION_LIMIT, STOPPED
from smpcore.solvers.nqp import nqp_rows

#: A step of the kernel weights waits, between the first and the last, while it would
#: lower the objective by less than this share of the change that ends a fit.
LITTLE = 0.1

#: Unit of `kappa` at least, in errors of a kernel: what kernels that tell rows apart
#: alike differ by is chance, and a unit of it would be another in every fold.
LEAST_SPREAD = 0.02

#: Times that a step of the kernel weights is halved before it is given up.
MOST_HALVINGS = 3


class Alternation:
    """Prototypes U, codes and kernel weights beta on their way to a minimum.

    Every step after the first of beta lowers the objective, or leaves it. Invariants:
    beta >= 0 with sum 1; u' K u = 1 for every prototype u; at most `code_size` entries
    in a prototype and `most_in_code` in a code, none below 0.
    """

    def __init__(
        self,
        problem: IMKPLProblem,
        parameters: IMKPLParameters,
        stop: np.ndarray,
        start: IMKPLState | None = None,
    ) -> None:
        self.problem, self.parameters, self.stop = problem, parameters, stop
        self.K, self.beta, self.spread = problem.K, problem.even_weights, 0.0
        self._across_U = self._gram = self._held = None
        self.is_warm = start is not None and self._fits(start)
        if self.is_warm:
            self.U = start.U.copy()
            self.spread = start.spread if start.key == parameters.key else 0.0
            if not math.isinf(parameters.kappa):
                self.beta = start.beta.copy()
            if (self.beta != problem.even_weights).any():
                self.K = problem.kernels.mix(self.beta, stop)
        else:
            self.U = problem.U.copy()
        self.KU = kinds.mixed_product(self.U, self.K)
        if self.is_warm:
            lengths = np.sqrt(np.einsum("ij,ij->i", self.KU, self.U))[:, None]
            self.U /= lengths
            self.KU /= lengths
        self.codes = np.zeros_like(self.U)
        self.update_codes()

    def _fits(self, start: IMKPLState) -> bool:
        """Whether another alternation's end has this one's shapes."""
        return (
            start.U.shape == self.problem.U.shape
            and start.beta.shape == self.beta.shape
            and not start.beta[~self.problem.active].any()
            and np.count_nonzero(start.U, axis=1).max() <= self.parameters.code_size
        )

    def go_on(self, parameters: IMKPLParameters) -> None:
        """Have the next run begin where the last one ended, with other parameters."""
        self.parameters, self.is_warm = parameters, True
        vars(self).pop("is_fixed", None)

    @property
    def rho(self) -> float:
        """Weight of the ridge on beta; none where beta is given."""
        return 0.0 if self.is_fixed else self.parameters.kappa * self.spread

    @cached_property
    def is_fixed(self) -> bool:
        """Whether there is nothing to choose about the kernel weights."""
        return math.isinf(self.parameters.kappa) or self.problem.active.sum() == 1

    @property
    def gram(self) -> np.ndarray:
        """Inner products of the prototypes, shape (n_prototypes, n_prototypes)."""
        if self._gram is None:
            gram = self.KU @ self.U.T
            self._gram = 0.5 * (gram + gram.T)
        return self._gram

    def across(self, A: np.ndarray) -> np.ndarray:
        """A (1 - S K): what of A reaches rows that are unlike, or of another class."""
        return A.sum(axis=1, keepdims=True) - self.problem.own_class(A, self.K)

    def across_U(self) -> np.ndarray:
        """`across` of the prototypes, computed once for them and the mixed kernel."""
        if self._across_U is None:
            self._across_U = self.across(self.U)
        return self._across_U

    def update_codes(self) -> None:
        """Best code of every row; one that would get worse is kept."""
        Q = 2.0 * self.gram
        C = np.ascontiguousarray(
            (self.parameters.lam * self.across_U() - 2 * self.KU).T
        )
        codes, values = np.ascontiguousarray(self.codes.T), np.empty(len(C))
        nqp_rows(Q, C, self.parameters.most_in_code, codes, values)
        self.codes = np.ascontiguousarray(codes.T)
        self.overlap = kinds.thin_product(self.codes * self.problem.counts, codes)

    def update_prototypes(self) -> None:
        """Improve the prototypes one after the other."""
        codes = self.codes
        counted = codes * self.problem.counts
        pull = self.parameters.lam * self.across(counted)
        pull -= 2.0 * kinds.mixed_product(counted, self.K)
        overlap = self.overlap
        worst = np.empty(0, dtype=np.int64)
        n_dead = int((overlap.diagonal() <= DEAD).sum())
        if n_dead:
            missing = ((self.gram @ codes - 2.0 * self.KU) * codes).sum(axis=0)
            missing = self.problem.counts * (1.0 + missing)
            worst = np.argsort(-missing, kind="stable")[:n_dead]
        if self._held is None:
            likely = np.flatnonzero(self.U.any(axis=0))
            self._held = kinds.held_rows(self.K, self.parameters.code_size, likely)
        self._across_U = self._gram = None
        at, parameters = (self._held, self.U, self.KU), self.parameters
        limits = float(parameters.tau), parameters.code_size, parameters.path
        update_prototypes(*at, codes, pull, overlap, worst, *limits)

    def kernel_errors(self) -> np.ndarray:
        """What each kernel alone would cost, shape (n_kernels,).

        ``errors @ beta`` is the objective but for ``lam <1 - S, H>``, the sizes of the
        prototypes and the ridge. Only rows with weight in a prototype are looked at.
        """
        problem, parameters, overlap = self.problem, self.parameters, self.overlap
        codes = self.codes * self.problem.counts
        if problem.kernels.low_rank is not None:
            of_class = problem.votes(codes) * problem.votes(self.U)
            across = of_class.sum()
            products = problem.kernels.low_rank.products(
                self.U, codes, overlap, parameters.lam, problem.starts
            )
        else:
            rows = np.flatnonzero(self.U.any(axis=0))
            mix = np.ascontiguousarray(self.U[:, rows].T)
            W = mix @ (overlap @ self.U - 2.0 * codes)
            shared = mix @ codes
            shared[problem.y_encoded[rows][:, None] != problem.y_encoded] = 0.0
            W -= parameters.lam * shared
            across = shared.sum()
            products = problem.kernels.products(rows, W, problem.active, self.stop)
        pairs = problem.neighbours + 2.0 * problem.n_same
        constant = problem.counts.sum() + parameters.lam * across
        return constant + products + parameters.mu * pairs

    def update_kernels(self, least: float = 0.0) -> bool:
        """Move the kernel weights to their minimum, or as far as the objective falls.

        The first step sets the scale of `kappa` and is always taken.
        """
        if self.is_fixed or self.stop[0]:
            return False
        active = self.problem.active
        errors = self.kernel_errors()[active]
        if self.stop[0]:
            return False
        first = self.spread == 0.0
        if first:
            below = np.maximum(errors.mean() - errors, 0.0).sum()
            self.spread = float(max(below, LEAST_SPREAD * np.abs(errors).max()))
        old = self.beta[active]
        new = ridge_weights(errors, self.rho)
        beta = np.zeros_like(self.beta)
        beta[active] = new
        ridge = 0.5 * self.rho * (old @ old - new @ new)
        if not first and errors @ (old - new) + ridge < least:
            return True
        if (new == old).all():
            return False
        K = self.problem.kernels.mix(beta, self.stop)
        if self.stop[0]:
            return False
        sizes, KU = self.U.sum(axis=1), kinds.mixed_product(self.U, K)
        squares = np.einsum("ij,ij->i", KU, self.U)

        def value(share: float) -> float:
            at = old + share * (new - old)
            lengths = np.sqrt(1.0 + share * (squares - 1.0))
            ridge = 0.5 * self.rho * (at @ at)
            return float(
                errors @ at + self.parameters.tau * (sizes / lengths).sum() + ridge
            )

        before = value(0.0)
        for halving in range(MOST_HALVINGS + 1):
            share = 0.5**halving
            if first or value(share) <= before + 1e-12 * abs(before):
                break
        else:
            return False
        self.beta = beta if share == 1.0 else self.beta + share * (beta - self.beta)
        if share < 1.0:
            if isinstance(K, kinds.FactoredMix):
                K = self.problem.kernels.mix(self.beta, self.stop)
            else:
                K *= share
                K += (1.0 - share) * self.K
            KU = kinds.mixed_product(self.U, K)
        self.K, self.KU = K, KU
        self._across_U = self._gram = self._held = None
        lengths = np.sqrt(np.einsum("ij,ij->i", self.KU, self.U))[:, None]
        self.U /= lengths
        self.KU /= lengths
        self.codes *= lengths
        self.overlap *= lengths * lengths.T
        return False

    def terms(self) -> dict[str, float]:
        """Parts of the objective, without their weights."""
        codes = self.codes * self.problem.counts
        rec = self.problem.counts.sum() - 2.0 * np.vdot(self.KU, codes)
        return {
            "rec": float(rec + np.vdot(self.gram, self.overlap)),
            "dis": float(np.vdot(self.across_U(), codes)),
            "ls": float(self.beta @ self.problem.neighbours + 2 * self.problem.n_same),
            "ip": float(self.U.sum()),
            "ridge": 0.5 * float(self.beta @ self.beta),
        }

    def objective(self) -> float:
        """The objective G."""
        parts, at = self.terms(), self.parameters
        value = parts["rec"] + at.lam * parts["dis"] + at.mu * parts["ls"]
        return value + at.tau * parts["ip"] + self.rho * parts["ridge"]

    def run(self, options: SolverOptions) -> tuple[int, np.ndarray, Recorder]:
        """Alternate until the objective changes by `tol` at most, relatively."""
        recorder, progress = Recorder(options.record), options.progress
        values: list[float] = []
        status = STOPPED if self.stop[0] else ITERATION_LIMIT
        soonest = 1 if self.is_warm else 2  # another's end may be good at once
        waits = False
        while status == ITERATION_LIMIT and len(values) < options.max_iter:
            self.update_prototypes()
            least = LITTLE * options.tol * abs(values[-1]) if values else 0.0
            waits = self.update_kernels(least)
            values.append(self.objective())
            self.update_codes()
            done = len(values)
            progress[0] = max(progress[0], done / options.max_iter)
            if recorder.every:
                recorder.add(done - 1, self.recorded)
            if not math.isfinite(values[-1]):
                status = DIVERGED
            elif self.stop[0]:
                status = STOPPED
            elif done > soonest:
                change = abs(values[-2] - values[-1])
                if change <= options.tol * abs(values[-1]):
                    status = CONVERGED
        progress[0] = 1.0
        if waits:
            self.update_kernels()
            self.update_codes()
        if values:
            values[-1] = self.objective()
        recorder.add(max(len(values), 1) - 1, self.recorded, last=True)
        return status, np.array(values), recorder

    def recorded(self) -> Self:
        """Copy what a model is made of: not the mixed kernel, which is large."""
        state = copy.copy(self)
        state.U, state.KU, state.K = self.U.copy(), self.KU.copy(), np.empty((0, 0))
        state._across_U = state._held = None
        return state

    @property
    def state(self) -> IMKPLState:
        """Start of the next alternation."""
        key, kappa = self.parameters.key, self.parameters.kappa
        return IMKPLState(self.U, self.codes, self.beta, self.spread, key, kappa)

    def plain_codes(self) -> np.ndarray:
        """Codes of the rows as of new inputs, shape (n_samples, n_prototypes)."""
        return sparse_codes(self.gram, self.KU.T, self.parameters.most_in_code)


def ridge_weights(errors: np.ndarray, rho: float) -> np.ndarray:
    """Minimiser of ``errors @ beta + rho / 2 |beta|^2`` on the simplex."""
    gain = errors.min() - errors
    with np.errstate(divide="ignore", invalid="ignore"):
        target = np.where(gain < 0.0, gain / rho, 0.0)
    falling = np.sort(target)[::-1]
    with np.errstate(invalid="ignore"):
        levels = (np.cumsum(falling) - 1.0) / np.arange(1, len(target) + 1)
        level = levels[np.flatnonzero(falling > levels)[-1]]
    beta = np.maximum(target - level, 0.0)
    beta[beta < 1e-6 * beta.max()] = 0.0
    return beta / beta.sum()


#: What a run gives: status, objective of each iteration, recorded states.
Run = tuple[int, np.ndarray, Recorder]


def best_run(
    problem: IMKPLProblem,
    parameters: IMKPLParameters,
    options: SolverOptions,
    state: IMKPLState | None,
) -> tuple[Alternation, Run, tuple[str, str] | None]:
    """Alternate from another fit's end or, without one, from the better of two starts.

    The problem is not convex. One start is cold; the other lies on the path from even
    weights: the solution for them. The lower objective is kept.
    """
    cold = Alternation(problem, parameters, options.stop, state)
    run = cold.run(options)
    if cold.is_warm or cold.is_fixed or run[0] in (STOPPED, DIVERGED):
        return cold, run, None
    even = Alternation(problem, replace(parameters, kappa=math.inf), options.stop)
    even.run(replace(options, record=0))
    end = replace(even.state, spread=cold.spread)
    along = Alternation(problem, parameters, options.stop, end)
    other = along.run(options)
    if other[0] == STOPPED:
        return along, other, None
    final = run[1][-1], other[1][-1]
    words = f"objective {min(final):.6g}; from the other start {max(final):.6g}"
    if final[1] < final[0]:
        return along, other, ("path from even weights", words)
    return cold, run, ("central cases of each class", words)


def landmark_start(
    problem: IMKPLProblem, parameters: IMKPLParameters, options: SolverOptions
) -> IMKPLState:
    """Where a fit of the landmarks alone ends, as a start for all rows."""
    rows, part = problem.landmarks, problem.of_landmarks()
    solution = best_run(part, parameters, replace(options, record=0), None)[0]
    U = np.zeros(problem.U.shape)
    U[:, rows] = solution.U
    # Errors of the kernels, whose spread is the unit of kappa, are sums over rows.
    spread = solution.spread / problem.landmark_share
    return replace(solution.state, U=U, codes=U, spread=spread)


#: Kernels that are named, at most.
NAMED = 6


def measures_in_words(
    ip: float, dr: float, beta: np.ndarray, dropped: np.ndarray, names: tuple[str, ...]
) -> dict[str, tuple[str, str]]:
    """Interpretability, discrimination and kernels kept, each with a sentence."""
    measures = {
        "interpretability": (
            f"{ip:.1f} %",
            "mean over prototypes; 100 % if the cases of each are equal, of one class",
        ),
        "discrimination": (
            f"{dr:.1f} %" if np.isfinite(dr) else "none",
            "share of each prototype's use that is by training rows of its own class",
        ),
    }
    if len(beta) == 1:
        return measures
    none_left = np.count_nonzero(beta) == len(beta)
    detail = "all have a weight" if none_left else "the others have weight 0"
    if len(dropped):
        numbered = len(names) != len(beta)
        left = [f"number {i + 1}" if numbered else names[i][:24] for i in dropped]
        more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
        detail = "removed before fitting (almost constant): "
        detail += ", ".join(left[:NAMED]) + more
    used = f"{np.count_nonzero(beta)} of {len(beta)}"
    return measures | {"kernels": (used, detail)}


def run_history(
    alternation: Alternation, run: Run, steps: Trace, seconds: float
) -> History:
    """A run as a history; without iterations, the objective of its start."""
    status, objective, _ = run
    n_iter = len(objective)
    return History(
        iteration=np.arange(min(1, n_iter), n_iter + 1, dtype=np.float64),
        objective=objective if n_iter else np.array([alternation.objective()]),
        gap=np.full(max(n_iter, 1), np.nan),
        steps=steps,
        status=status,
        n_iter=n_iter,
        seconds=seconds,
    )


def fitted_state(
    problem: IMKPLProblem,
    kernels: str,
    sample_shape: tuple[int, ...],
    alternation: Alternation,
    history: History,
    codes: np.ndarray | None = None,
) -> Fitted:
    """The model of an alternation, and which training row is which of its anchors."""
    U = alternation.U
    if codes is None:
        codes = alternation.plain_codes()
    model = problem.mixed_model(
        kernels,
        U,
        alternation.beta,
        history,
        sample_shape=sample_shape,
        code_size=alternation.parameters.most_in_code,
        gram=alternation.gram,
    )
    assignment = codes.argmax(axis=1)[problem.place]
    if len(problem.left_out):
        of_left = model.activations(problem.left_out).argmax(axis=1)
        assignment[problem.place < 0] = of_left
    return Fitted(
        model,
        state=None,
        assignment=assignment,
        n_asked=len(U),
        anchor_rows=problem.order[U.any(axis=0)],
        scores=codes @ model.votes,
    )
