"""SMaLL's relaxation, its rounding to k weights, and the refit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.special import xlogy

from smpcore.errors import SmpcoreError
from smpcore.methods.shared import dask_rows, row_blocks
from smpcore.methods.shared.base import TOO_LARGE
from smpcore.methods.shared.linear import count_wins, tied_shares
from smpcore.methods.shared.problem import Fitted, SolverOptions, spread_trace
from smpcore.methods.shared.scaling import some_columns
from smpcore.methods.smallk import problem as problems
from smpcore.methods.smallk.kernel import Form, solve_smallk
from smpcore.methods.smallk.kernel_mirror_prox import solve_smallk_mirror_prox
from smpcore.methods.smallk.kernel_support_norm import squared_support_norm
from smpcore.model import History
from smpcore.solvers.branching import FREE, IN, OUT, Cut
from smpcore.solvers.iterations import DIVERGED, ITERATION_LIMIT, STOPPED
from smpcore.solvers.losses import LOSSES, SMOOTH, Ties


def swap_changes(
    problem: problems.SMaLLProblem,
    task: problems.Task,
    W: np.ndarray,
    lam: float,
    screen: Screen,
) -> tuple[np.ndarray, np.ndarray]:
    """How a swap of two features of a prototype changes the objective, nearly.

    The smooth loss is replaced by its second-order expansion at W, in the weights of
    one prototype; that minimum is known in closed form. For the other losses, which
    have no second derivatives, this is a guess of which swaps are worth a refit. A swap
    that is certain not to pay changes it by infinity.
    """
    n, ridge = problem.n_features, problem.ridge(lam)
    places, changes = [np.empty((0, 2), dtype=np.int64)], [np.empty((0, n))]
    columns = screen.columns(W, task.first)
    tied = problem.X, task.y_encoded, task.assignment, problem.weights
    at = {"labels": task.prototype_labels, "W": W, "columns": columns}
    sums = dask_rows.over_rows(_sums, *tied, **at) if columns else np.empty(0)
    for j, (inside, into) in columns.items():
        some, c = np.r_[inside, into], len(inside)
        of_prototype, sums = np.split(sums, [(2 + c) * len(some)])
        gained, curvature, *cross = of_prototype.reshape(2 + c, len(some))
        used, cross = inside[inside < n], np.array(cross)
        cross[np.arange(c), np.arange(c)] += ridge[inside]
        inverse = np.linalg.inv(cross[:, :c])
        solved, least = inverse @ cross, ridge[some]
        curvature = np.maximum(curvature + least - (cross * solved).sum(axis=0), least)
        moved = W[j, inside][:, None] + solved * (gained / curvature)
        spread = np.diag(inverse)[:, None] + solved**2 / curvature
        change = moved**2 / (2.0 * spread) - gained**2 / (2.0 * curvature)
        wide = np.full((len(used), n), np.inf)
        wide[:, into] = change[: len(used), c:]
        wide[screen.gains[j] - screen.gains[j, used][:, None] <= screen.slack] = np.inf
        places.append(np.column_stack([np.full(len(used), j), used]))
        changes.append(wide)
    return np.concatenate(places), np.concatenate(changes)


def _sums(
    X: Any,
    y_encoded: np.ndarray,
    assignment: np.ndarray,
    weights: np.ndarray,
    *,
    labels: np.ndarray,
    W: np.ndarray,
    columns: dict[int, tuple[np.ndarray, np.ndarray]],
) -> np.ndarray:
    """What rows add to the derivatives of the loss in the weights of each prototype.

    For each one after the other, in columns that it uses and some others: the gradient,
    the second derivatives in each column twice, and those in a pair of a column that it
    uses and any.
    """

    def sums(part: slice, block: Any) -> np.ndarray:
        tied, masses = assignment[part], weights[part]
        share = tied_shares(block @ W.T, y_encoded[part], tied, labels)
        of_block = []
        for j, (inside, into) in columns.items():
            some = block[:, np.r_[inside, into]]
            first = masses * (share[:, j] - (tied == j))
            second = masses * share[:, j] * (1.0 - share[:, j])
            if issparse(block):
                squares = second @ some.power(2)
            else:
                squares = np.einsum("i,ij,ij->j", second, some, some)
            used = some[:, : len(inside)]
            pairs = row_blocks.weighted_product(used, second, some)
            of_block += [first @ some, squares, pairs.ravel()]
        return np.concatenate(of_block)

    return sum(row_blocks.map_blocks(sums, X))


def _slopes(
    X: Any,
    y_encoded: np.ndarray,
    assignment: np.ndarray,
    weights: np.ndarray,
    *,
    labels: np.ndarray,
    W: np.ndarray,
) -> np.ndarray:
    """What rows add to the gradient of the smooth loss; in a last column, the entropy.

    The entropy is that of the dual, the same number for each prototype.
    """

    def slopes(part: slice, block: Any) -> np.ndarray:
        tied, masses = assignment[part], weights[part]
        share = tied_shares(block @ W.T, y_encoded[part], tied, labels)
        entropy = masses @ xlogy(share, share).sum(axis=1)
        share[np.arange(len(share)), tied] -= 1.0
        gradient = (masses[:, None] * share).T @ block
        return np.column_stack([gradient, np.full(len(W), entropy)])

    return sum(row_blocks.map_blocks(slopes, X))


class Screen(NamedTuple):
    """What tells which swaps of two features cannot pay, whatever the refit is."""

    #: (n_prototypes, n_features): What a weight gains by the bound of a dual point
    gains: np.ndarray
    #: A swap pays only if the gain of what comes in is larger by more
    slack: float

    def columns(
        self, W: np.ndarray, first: int
    ) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Of prototypes with swaps that may pay: columns used, and what may come in.

        A bias is used without being counted.
        """
        n, columns = self.gains.shape[1], {}
        for j in range(first, len(W)):
            inside = W[j, :n] != 0
            least = self.gains[j, inside].min(initial=np.inf)
            into = np.flatnonzero(~inside & (self.gains[j] - least > self.slack))
            if len(into):
                always = np.arange(n, W.shape[1])
                columns[j] = np.r_[np.flatnonzero(inside), always], into
        return columns


#: A refit is that much more exact than the relaxation; and a gain of less than the
#: second part of `tol` does not pay: no more is done for it.
REFIT, PAYS = 0.1, 0.03

#: Swaps are tried if the quadratic model lets the objective rise by that part at most.
PROMISING = 2e-3


@dataclass(frozen=True, eq=False)
class Start:
    """Where the kernel starts, and when it may give up."""

    W: np.ndarray
    #: First curvature of its steps.
    curvature: float
    #: It gives up once it is certain that the objective will not be lower.
    ceiling: float = np.inf


@dataclass(frozen=True, eq=False)
class TaskSearch:
    """The search for k-sparse prototypes of one task."""

    problem: problems.SMaLLProblem
    task: problems.Task
    #: The estimator, whose k is at most the number of features; there, and at 0, the
    #: relaxation is exact: a ridge.
    parameters: Any
    options: SolverOptions

    @cached_property
    def ridge(self) -> np.ndarray:
        """Of each column."""
        return self.problem.ridge(self.parameters.lam)

    @cached_property
    def ties(self) -> Ties:
        """The rows of the task, for a kernel."""
        task, kind = self.task, LOSSES[self.parameters.loss]
        labels, tied = task.prototype_labels, (task.y_encoded, task.assignment)
        return Ties(*tied, self.problem.weights, labels, np.zeros(len(labels)), kind)

    def relax(self, start: Start) -> problems.Solution:
        """Solve the convex relaxation; the start is overwritten."""
        problem, parameters, W = self.problem, self.parameters, start.W
        n, k, X = problem.n_features, parameters.k, problem.X
        if parameters.solver == "mirror-prox":
            if not isinstance(X, np.ndarray):
                raise SmpcoreError(
                    "solver='mirror-prox' takes dense rows only; use solver='fista'."
                )
            if parameters.loss != "smooth":
                raise SmpcoreError(
                    "solver='mirror-prox' is for loss='smooth' only; use "
                    "solver='fista'."
                )
            if 0 < k < n:
                support = np.full(W.shape, FREE)
                form = Form(self.task.first, n, k, support, self.ridge)
                rest = self.options.for_kernel(W)
                solved = solve_smallk_mirror_prox(X, self.ties, form, W, *rest)
                solution = problems.Solution(*solved)
                return replace(solution, curvature=0.125 * problem.lipschitz)
        support = np.full(W.shape, FREE if 0 < k < n else IN)
        if k == 0:
            support[:, :n] = OUT
            W[:, :n] = 0.0
        return self._run(X, support, start, self.options)

    def refit(
        self, support: np.ndarray, start: Start, tol: float | None = None
    ) -> problems.Solution:
        """Best prototypes whose weights lie on given supports: a ridge problem.

        A support of OUT, FREE and IN has the relaxation solved. Only columns that some
        prototype may use are looked at.
        """
        wide, X = np.full_like(start.W, IN), self.problem.X
        wide[:, : self.problem.n_features] = support
        if support.dtype == bool:
            wide[:, : self.problem.n_features] *= IN
        tol = REFIT * self.options.tol if tol is None else tol
        columns = np.flatnonzero(wide[self.task.first :].any(axis=0))
        if len(columns) < X.shape[1]:
            if isinstance(X, np.ndarray):
                X = np.take(X, columns, axis=1)
            elif dask_rows.is_dask(X):
                take = {"indices": columns, "axis": 1, "dtype": np.float64}
                X = dask_rows.map_to_array(np.take, X, n_columns=len(columns), **take)
            else:
                X = some_columns(X, columns)
        narrow = np.ascontiguousarray(wide[:, columns])
        options = replace(self.options, tol=tol, progress=np.zeros(1))
        at = replace(start, W=(narrow != OUT) * start.W[:, columns])
        solution = self._run(X, narrow, at, options)
        W = np.zeros_like(start.W)
        W[:, columns] = solution.W
        return replace(solution, W=W, columns=columns)

    def _run(
        self, X: Any, support: np.ndarray, start: Start, options: SolverOptions
    ) -> problems.Solution:
        """Call the kernel on these columns."""
        problem, W, ties = self.problem, start.W, self.ties
        n, n_features = problem.n_features, X.shape[1] - problem.n_bias
        ridge = self.ridge[n - n_features :]
        form = Form(self.task.first, n_features, self.parameters.k, support, ridge)
        limits, history = options.for_kernel(W)
        # What the kernel hands from step to step: whether to go on, T (always 1),
        # status, steps, whether the next point is the extrapolated one, L, t, the
        # bound, the loss there and how much it may rise. Not a function of its own: 24
        # fits make a picture.
        L, none = float(start.curvature), -np.inf
        at = True, 1.0, ITERATION_LIMIT, -1, False, L, 1.0, none, np.inf, 0.0
        work = np.zeros((5, *W.shape))
        work[0] = W
        room = np.empty(X.shape[1]), np.empty((2, n_features)), np.empty(n_features)
        more, rest = (problem.lipschitz, W, float(start.ceiling), limits), (work, *room)
        if isinstance(X, np.ndarray):
            now = row_blocks.NO_LOSSES, at, np.empty(len(X)), rest, history
            return problems.Solution(*solve_smallk(X, ties, form, *more, *now)[:-1])
        rows, nothing = dask_rows.blocks_of_rows(X, ties), np.empty((0, X.shape[1]))
        common = nothing, rows.for_kernel, form, *more

        def step(losses: tuple[float, ...], at: tuple[Any, ...]) -> tuple[Any, ...]:
            return solve_smallk(*common, losses, at, rows.miss, rest, history)

        return problems.Solution(*row_blocks.solve_by_blocks(rows, work, at, step)[:-1])

    def worth(self, lowest: float) -> float:
        """Objective that another refit has to be below to pay."""
        return (1.0 - PAYS * self.options.tol) * lowest

    def cut(self, W: np.ndarray) -> Cut:
        """Of the smooth loss, the bound by the dual point that belongs to W."""
        task, weights = self.task, self.problem.weights
        tied, n = (task.y_encoded, task.assignment, weights), self.problem.n_features
        at = {"labels": task.prototype_labels, "W": W}
        sums = dask_rows.over_rows(_slopes, self.problem.X, *tied, **at)
        gains = sums[:, :-1] ** 2 / (2.0 * self.ridge)
        return Cut(-sums[0, -1] - gains[task.first :, n:].sum(), gains[:, :n])

    def cuts(self, *points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Constants and gains of the cuts at some prototypes; of other losses, none."""
        if LOSSES[self.parameters.loss] != SMOOTH:
            return np.empty(0), np.empty((0, len(points[0]), self.problem.n_features))
        made = [self.cut(W) for W in points]
        return np.array([m.constant for m in made]), np.array([m.gains for m in made])

    def screen(self, best: problems.Solution) -> Screen:
        """Which swaps may pay; for losses without that bound, all."""
        support = best.W[:, : self.problem.n_features] != 0
        if LOSSES[self.parameters.loss] != SMOOTH:
            return Screen(np.zeros(support.shape), -1.0)
        cut = self.cut(best.W)
        bound = cut.constant - cut.gains[support].sum()
        return Screen(cut.gains, bound - self.worth(best.objective[-1]))

    def is_enough(self, best: problems.Solution, relaxed: problems.Solution) -> bool:
        """Whether no other prototypes are better by more than `tol`."""
        bound = relaxed.objective[-1] - relaxed.gap[-1]
        return best.objective[-1] - bound <= self.options.tol * best.objective[-1]

    def round_and_refit(
        self,
        relaxed: problems.Solution,
        random: np.random.RandomState,
        before: np.ndarray | None,
    ) -> list[problems.Solution]:
        """Round the relaxation; `before` are an earlier fit's prototypes.

        Returns the refit of the largest shares, and that of a draw if it is better.
        None is drawn where the relaxation's bound says that the first is good enough.
        """
        n, k, first = self.problem.n_features, self.parameters.k, self.task.first
        W = relaxed.W[:, :n]
        share = shares(W, k)
        share[:first] = 0.0
        tried: set[bytes] = set()
        solutions: list[problems.Solution] = []
        ceiling = np.inf
        constants, gains, W_start = np.empty(0), np.empty((0, *W.shape)), relaxed.W
        for draw in range(self.parameters.n_draws + 1):
            support = (
                draw_support(share, random) if draw else largest_shares(share, W, k)
            )
            support[:first] = False
            if support.tobytes() in tried or not support.any():
                continue
            tried.add(support.tobytes())
            bounds = constants - gains[:, support].sum(axis=1)
            if bounds.max(initial=-np.inf) >= ceiling:
                continue
            known = before is not None and np.array_equal(before[:, :n] != 0, support)
            begin = before if known else W_start
            solution = self.refit(support, Start(begin, relaxed.curvature, ceiling))
            if solution.objective[-1] < ceiling or not solutions:
                solutions = [*solutions[:1], solution]
                ceiling = self.worth(solution.objective[-1])
            if solution.status == STOPPED or self.parameters.n_draws == 0:
                break
            if len(tried) == 1:
                if self.is_enough(solution, relaxed):
                    break
                constants, gains = self.cuts(relaxed.W, solution.W)
                W_start = np.where(solution.W != 0, solution.W, relaxed.W)
        return solutions

    def swap_features(self, best: problems.Solution) -> problems.Solution:
        """Exchange one feature of one prototype at a time while that is better.

        At most `n_swaps` are tried, in the order of `swap_changes`, a quadratic model,
        of those that the bound of the best leaves open; most refits end after some
        steps, when their own bound reaches it.
        """
        n, left, improved = self.problem.n_features, self.parameters.n_swaps, True
        while improved and left > 0 and best.status != STOPPED:
            improved = False
            support, lowest = best.W[:, :n] != 0, best.objective[-1]
            at = self.parameters.lam, self.screen(best)
            places, changes = swap_changes(self.problem, self.task, best.W, *at)
            order = np.argsort(changes, axis=None)[:left]
            for place in order[changes.ravel()[order] < PROMISING * lowest]:
                row, into = np.unravel_index(place, changes.shape)
                prototype, out = places[row]
                swapped, W = support.copy(), best.W.copy()
                swapped[prototype, [out, into]] = False, True
                W[prototype, out] = 0.0
                start = Start(W, best.curvature, self.worth(lowest))
                solution = self.refit(swapped, start)
                left -= 1
                if solution.objective[-1] < start.ceiling:
                    best, improved = solution, True
                    break
        return best


def relax_all(
    problem: problems.SMaLLProblem,
    parameters: Any,
    options: SolverOptions,
    state: problems.SMaLLState | None = None,
) -> list[problems.Solution]:
    """Solve the convex relaxation of every task."""
    solutions, inner = [], options
    for number, task in enumerate(problem.tasks):
        shape = (len(task.prototype_labels), problem.X.shape[1])
        start = Start(np.zeros(shape), 0.125 * problem.lipschitz)
        if state is not None:
            start = Start(state.relaxed[number].copy(), state.curvature[number])
        if len(problem.tasks) > 1:
            inner = replace(options, progress=np.zeros(1))
        search = TaskSearch(problem, task, parameters, inner)
        solutions.append(search.relax(start))
        options.progress[0] = (number + 1) / len(problem.tasks)
    return solutions


def round_all(
    problem: problems.SMaLLProblem,
    relaxed: list[problems.Solution],
    parameters: Any,
    random: np.random.RandomState,
    options: SolverOptions,
    state: problems.SMaLLState | None = None,
) -> list[problems.Solution]:
    """The best k-sparse prototypes found from the relaxation of every task."""
    earlier = [None] * len(relaxed) if state is None else state.rounded
    rounded = []
    for task, solution, before in zip(problem.tasks, relaxed, earlier, strict=True):
        search = TaskSearch(problem, task, parameters, options)
        starts = search.round_and_refit(solution, random, before)
        if not search.is_enough(starts[0], solution):
            starts = [search.swap_features(start) for start in starts]
        rounded.append(min(starts, key=lambda solution: solution.objective[-1]))
    return rounded


def shares(W: np.ndarray, k: int) -> np.ndarray:
    """How much of each feature the relaxation uses: 1 fully, 0 not at all."""
    used_shares, sizes = np.empty(W.shape), np.empty((2, W.shape[1]))
    for row, share in zip(np.ascontiguousarray(W), used_shares, strict=True):
        squared_support_norm(row, k, share, sizes)
    return used_shares


def largest_shares(share: np.ndarray, W: np.ndarray, k: int) -> np.ndarray:
    """The k features of each prototype with the largest shares, then weights."""
    order = np.lexsort((-np.abs(W), -share), axis=1)
    chosen = np.zeros(share.shape, dtype=bool)
    np.put_along_axis(chosen, order[:, :k], True, axis=1)
    return chosen


def draw_support(share: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """A random support: a feature is in with its share as probability.

    Systematic sampling: features lie along a line in random order, as long as their
    shares; a comb with unit spacing hits no more than their sum, rounded up.
    """
    order = random.uniform(size=share.shape).argsort(axis=1)
    share_ends = np.cumsum(np.take_along_axis(share, order, axis=1), axis=1)
    # A sum that is whole but for rounding must not hit one feature too few.
    share_ends += 1e-12 - random.uniform(size=(len(share), 1))
    chosen = np.empty(share.shape, dtype=bool)
    hits = np.diff(np.floor(share_ends), axis=1, prepend=-1.0) > 0
    np.put_along_axis(chosen, order, hits, axis=1)
    return chosen


def fitted_state(
    problem: problems.SMaLLProblem, W: np.ndarray, history: History
) -> Fitted:
    """Wrap the prototypes of a state."""
    labels, order = problem.voters
    model = problem.linear_model(W, labels[order], history, outcome=problem.outcome)
    return Fitted(
        model,
        state=None,
        assignment=problem.assignment,
        n_asked=len(W),
        wins=count_wins(problem.X, W[:, : problem.X.shape[1]]),
    )


def fitted_as(
    problem: problems.SMaLLProblem,
    relaxed: list[problems.Solution],
    rounded: list[problems.Solution],
    options: SolverOptions,
) -> Fitted:
    """What the relaxation and, if there are some, the refits on k features give.

    Their history is the relaxation's, then the refit's; sums over tasks.
    """
    objective = problems.summed([solution.objective for solution in relaxed])
    gap = problems.summed([solution.gap for solution in relaxed])
    phases: tuple[tuple[float, str], ...] = ()
    begin = len(objective)
    if rounded:
        phases = (0.0, "relaxed"), (float(begin), "rounded to k")
        refit = problems.summed([solution.objective for solution in rounded])
        gap = np.concatenate([gap, refit - (objective[-1] - gap[-1])])
        objective = np.concatenate([objective, refit])
    status = max(solution.status for solution in relaxed + rounded)
    if status == DIVERGED:
        raise SmpcoreError(TOO_LARGE)
    states, places, build = [], [], partial(fitted_state, problem)
    if options.record:
        states, places = problems.recorded_states(problem, relaxed, options)
        if rounded:
            more, after = problems.recorded_states(problem, rounded, options)
            states = np.concatenate([states, more])
            places = np.append(places, begin + after)
    history = History(
        iteration=np.arange(len(objective), dtype=np.float64),
        objective=objective,
        gap=np.minimum(gap, objective),  # no objective is below 0
        steps=spread_trace(problem, states, places, build, "ridge"),
        status=status,
        n_iter=len(objective) - 1,
        seconds=options.seconds,
        phases=phases,
    )
    last = [solution.W[None] for solution in rounded or relaxed]
    return fitted_state(problem, problems.side_by_side(last, problem)[0], history)
