"""Fits of the multi-prototype SVM: sweeps, assignments, starts, and which is kept.

The objective is not convex in the assignments: what a fit reaches depends on its start.
One prototype per class is convex. More start from fewer with one split in each class,
and at some numbers also anew; the model of lowest objective is kept, whatever its
number of prototypes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from smpcore.methods.mprotsvm import problem as problems
from smpcore.methods.mprotsvm.kernel import evaluate_rows, gather, sweep
from smpcore.methods.mprotsvm.kernel_gram import gather_gram, sweep_gram
from smpcore.methods.mprotsvm.kernel_sparse import gather_sparse, sweep_sparse
from smpcore.methods.shared.problem import Fitted, SolverOptions
from smpcore.model import History, PrototypeModel

#: Rows side by side in memory that a sweep visits one after the other. The problem's
#: rows are in a drawn order: a sweep draws no more than the order of such stretches.
STRETCH = 8

#: Sweeps after which rounding is swept out of the prototypes.
RENEWED = 100


class Descent:
    """A dual, its assignments and the prototypes they stand for, moved by sweeps."""

    def __init__(
        self,
        problem: problems.SVMProblem,
        C: float,
        tol: float,
        state: problems.SVMState | None,
        stop: np.ndarray,
    ) -> None:
        self.problem, self.tol, self.stop = problem, tol, stop
        self.C, self.limits = C, C * problem.shares
        self.rows, self.kernels = _compiled(problem)
        self.starts = problem.starts
        n, n_prototypes = len(problem.y_encoded), len(problem.prototype_labels)
        self.slack = np.empty((n, int(np.diff(self.starts).max())))
        self.psi = np.full(n, np.inf)
        self.orders = np.random.default_rng([problem.seed, 0])
        self.draws = np.random.default_rng([problem.seed, 1])
        self.n_sweeps = 0
        width = problem.linear_rows.shape[1] if problem.gram is None else n_prototypes
        height = n_prototypes if problem.gram is None else n
        self.scores = np.zeros((width, height))
        if state is None:
            state = problems.SVMState(
                problem.prototype_labels,
                problem.assignment,
                self.limits,
                np.zeros(n, dtype=np.int64),
                np.empty(0, dtype=np.int32),
                np.empty(0),
            )
        self.load(state)

    @property
    def single(self) -> bool:
        """Whether every class has one prototype: nothing to assign."""
        return len(self.starts) == self.starts[-1] + 1

    @property
    def dual(self) -> tuple[np.ndarray, ...]:
        """The lists as kernels take them."""
        return self.first, self.count, self.index, self.value

    def load(self, state: problems.SVMState) -> None:
        """Start from another's dual, scaled to these limits."""
        self.assign = state.assignment.copy()
        factor = np.repeat(self.limits / state.limits, state.count)
        self._unpack(state, state.value * factor)
        if len(state.index):
            self.renew()

    def _unpack(
        self, state: problems.SVMState, value: np.ndarray, more: int = 0
    ) -> None:
        """Lists of a packed dual, with room behind them for what they grow by."""
        n_used = len(state.index)
        self.count, self.room = state.count.copy(), state.count.copy()
        self.first = np.cumsum(self.count) - self.count
        self.used = np.array([n_used])
        spare = 2 * len(self.assign) + 4 * len(self.problem.prototype_labels)
        room = n_used + more + spare
        self.index, self.value = np.zeros(room, dtype=np.int32), np.zeros(room)
        self.index[:n_used], self.value[:n_used] = state.index, value

    def save(self) -> problems.SVMState:
        """The dual without unused places."""
        entries = np.arange(self.count.sum())
        entries += np.repeat(
            self.first - np.cumsum(self.count) + self.count, self.count
        )
        return problems.SVMState(
            self.problem.prototype_labels,
            self.assign.copy(),
            self.limits,
            self.count.copy(),
            self.index[entries],
            self.value[entries],
        )

    def recorded(self) -> tuple[problems.SVMState, np.ndarray]:
        """What a recorded state needs: beside a Gram matrix the dual, else its sums."""
        if self.problem.gram is not None:
            return self.save(), np.empty((0, 0))
        labels, none = self.problem.prototype_labels, np.empty(0)
        indices = np.empty(0, dtype=np.int32)
        lists = indices, indices, none
        state = problems.SVMState(labels, self.assign.copy(), none, *lists)
        return state, self.scores.copy()

    def renew(self) -> None:
        """Compute the prototypes, or their scores, from the dual."""
        self.kernels[1](*self.rows, self.assign, *self.dual, self.scores)

    def sweep(self, order: np.ndarray) -> None:
        """Solve rows one after the other."""
        problem = self.problem
        self.n_sweeps += 1
        reached = 0
        while True:
            reached = self.kernels[0](
                *self.rows, order, reached, problem.y_encoded, self.starts, self.assign,
                self.limits, problem.squares, self.scores, self.first, self.room,
                self.count, self.index, self.value, self.used, self.psi, self.stop,
            )  # fmt: skip
            if reached == len(order) or self.stop[0]:
                break
            state = self.save()
            self._unpack(state, state.value, len(state.index))
        if self.n_sweeps % RENEWED == 0:
            self.renew()

    def full_sweep(self) -> None:
        """Solve all rows once, in a random order."""
        self.sweep(self.shuffled(np.arange(len(self.assign))))

    def shuffled(self, rows: np.ndarray) -> np.ndarray:
        """Stretches of rows in a random order."""
        stretches = self.orders.permutation(-(-len(rows) // STRETCH))
        places = (STRETCH * stretches[:, None] + np.arange(STRETCH)).ravel()
        return rows[places[places < len(rows)]]

    def polish(self, sweeps: int, far: float) -> None:
        """A few sweeps over the rows that were far from optimal when last seen."""
        active = np.arange(len(self.assign))
        for _ in range(sweeps):
            active = active[self.psi[active] > far]
            if not len(active) or self.stop[0]:
                return
            self.sweep(self.shuffled(active))

    def certify(self) -> problems.Certificate:
        """Compute all scores, slacks and violations, and the certificate."""
        sums = np.zeros(4)
        problem = self.problem
        for first in range(0, len(self.assign), problems.ROWS_AT_ONCE):
            part = slice(first, first + problems.ROWS_AT_ONCE)
            if problem.gram is None:
                F = problem.linear_rows[part] @ self.scores
            else:
                F = self.scores[:, part].T.copy()
            sums += evaluate_rows(
                F, first, problem.y_encoded, self.starts, self.assign, self.limits,
                *self.dual, self.slack, self.psi,
            )  # fmt: skip
        loss, free, mass, norm = sums.tolist()
        return problems.Certificate(
            0.5 * norm + loss, 0.5 * norm + free, norm + loss - mass
        )

    def tie(self, assign: np.ndarray) -> None:
        """Tie rows to other prototypes of their class; their masses go along."""
        self.assign = assign.copy()
        self.renew()


def _compiled(
    problem: problems.SVMProblem,
) -> tuple[tuple[np.ndarray, ...], tuple[Any, Any]]:
    """Rows as the kernels take them, and the kernels: sweep, and gather."""
    X = problem.linear_rows
    if problem.gram is not None:
        return (problem.gram,), (sweep_gram, gather_gram)
    if not issparse(X):
        return (X,), (sweep, gather)
    columns, begins = X.indices.astype(np.int32), X.indptr.astype(np.int64)
    return (X.data, columns, begins), (sweep_sparse, gather_sparse)


#: Annealing ends at this temperature, in units of C.
COLD = 0.05

#: Sweeps over the rows that need it, between two over all.
POLISH = 5

#: The same between two certificates if each class has one prototype: nothing to assign.
POLISH_ONE = 8

#: Rows that far from optimal are not swept over then; together they make up at most
#: this part of the gap.
SPARED = 0.5

#: Price of slack at first, as a part of C, if each class has one prototype; and the
#: sweeps of that start. Parts are powers of two: what is solved there scales up without
#: rounding.
LOW, SWEEPS_LOW = 0.25, 3

#: Of that many rows the part is such that a usual row has at most this mass, in units
#: of what its margin asks for. Of few rows a sweep costs too little to be spared.
MANY, MASS = 5000, 0.5

#: Rows whose own mass is between its limits have no slack but rounding's: they stay.
ROUNDING = 1e-9

#: Rows stay, too, if all moves together are worth at most this part of the gap allowed.
SETTLED = 0.1


def gibbs_probabilities(
    slack: np.ndarray, weights: np.ndarray, temperature: float
) -> np.ndarray:
    """Chance of each prototype of a row's class, by the loss it would leave."""
    excess = slack - slack.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        chances = np.exp(-(weights[:, None] / temperature) * excess)
    return chances / chances.sum(axis=1, keepdims=True)


def drawn_assignment(descent: Descent, temperature: float) -> np.ndarray:
    """Draw a prototype for every row, all from the same prototypes."""
    chances = gibbs_probabilities(descent.slack, descent.problem.shares, temperature)
    reach = np.cumsum(chances, axis=1)
    draws = descent.draws.random(len(reach)) * reach[:, -1]
    place = (reach <= draws[:, None]).sum(axis=1)
    last = np.diff(descent.starts)[descent.problem.y_encoded] - 1
    return descent.starts[descent.problem.y_encoded] + np.minimum(place, last)


def best_assignment(descent: Descent) -> np.ndarray:
    """Tie every row to its best prototype; where it is as good already, it stays."""
    if descent.single:
        return descent.assign
    lowest = descent.starts[descent.problem.y_encoded]
    best = descent.slack.argmin(axis=1)
    rows = np.arange(len(best))
    now = descent.slack[rows, descent.assign - lowest]
    better = descent.slack[rows, best] < now - ROUNDING
    return np.where(better, lowest + best, descent.assign)


def warm_start(descent: Descent) -> None:
    """Start at a low price of slack, and scale up what is found.

    It takes few sweeps there, and is near to what a higher price asks for: rows of
    most mass stay there. Where C alone keeps a usual row from its margin, most rows
    end with most mass from any start: nothing is done.
    """
    limits = descent.limits
    most = np.mean(limits * descent.problem.squares)
    if most < 1.0:
        return
    low = LOW if len(limits) < MANY else 2.0 ** np.rint(np.log2(MASS / most))
    descent.limits = low * limits
    descent.full_sweep()
    descent.polish(SWEEPS_LOW, 0.2 * descent.tol)
    descent.value /= low
    descent.scores /= low
    descent.limits = limits


def anneal(
    descent: Descent, temperature: float, cooling: float, monitor: problems.Monitor
) -> None:
    """Tie rows to prototypes by chance, less and less so."""
    while temperature > COLD and not descent.stop[0]:
        monitor.add(descent.certify(), descent.n_sweeps, descent.recorded)
        descent.tie(drawn_assignment(descent, temperature))
        descent.full_sweep()
        temperature *= cooling


def alternate(
    descent: Descent, max_sweeps: int, monitor: problems.Monitor
) -> tuple[problems.SVMState, problems.Certificate, np.ndarray, bool]:
    """Solve for the assignments, tie every row to its best prototype, and again.

    Rows move as soon as that pays: when the objective with best assignments falls
    below the lowest so far. The end is a certified solution from which no move pays.
    """
    best, lowest = None, np.inf
    while True:
        now = descent.certify()
        monitor.add(now, descent.n_sweeps, descent.recorded)
        closed = now.gap <= descent.tol * now.objective
        improved = now.free < lowest
        assign = best_assignment(descent)
        over = descent.n_sweeps >= max_sweeps or bool(descent.stop[0])
        is_done = closed and (
            not improved
            or np.array_equal(assign, descent.assign)
            or now.objective - now.free <= SETTLED * descent.tol * now.objective
        )
        certified = best is not None and best[1].gap <= descent.tol * best[1].objective
        if best is None or improved or (is_done and not certified):
            best = descent.save(), now, descent.scores.copy()
        if is_done or over:
            return *best, is_done
        lowest = min(lowest, now.free)
        far = SPARED * now.gap / descent.limits.sum()
        if descent.single and (descent.psi > far).any():
            descent.polish(POLISH_ONE, far)
            continue
        if improved:
            descent.tie(assign)
        descent.full_sweep()
        descent.polish(POLISH, 0.2 * descent.tol)


#: Multiply-adds of a sweep for each prototype of a class, times new starts: the budget
#: from which their number is taken. And their largest number.
BUDGET, MOST_INITS = 300_000, 2

#: Annealing of a split start begins at this temperature at most, in units of C: it
#: lets rows move between the halves, and does not forget where it started.
SPLIT_TEMPERATURE = 2.0

#: Steps of the power method for a principal direction.
POWER_STEPS = 8


@dataclass(frozen=True, eq=False)
class Candidate:
    """Where one start led."""

    state: problems.SVMState
    certificate: problems.Certificate
    scores: np.ndarray  # Of the descent there
    finished: bool
    monitor: problems.Monitor
    n_sweeps: int

    def beats(self, other: Candidate | None) -> bool:
        """Whether both objectives are at most the other's, and one is lower."""
        if other is None:
            return True
        mine, theirs = self.certificate, other.certificate
        return (
            mine.objective <= theirs.objective
            and mine.free <= theirs.free
            and (mine.objective, mine.free) != (theirs.objective, theirs.free)
        )


def affordable_inits(problem: problems.SVMProblem) -> int:
    """New starts that the budget allows; it does not depend on their prototypes."""
    rows, columns = problem.linear_rows.shape
    width = columns if problem.gram is None else rows / 10
    work = rows * width * len(problem.classes)
    return int(np.clip(BUDGET / work, 1, MOST_INITS))


def starts_anew(count: int) -> bool:
    """Whether fits of that many prototypes per class have new starts.

    They are 1, 3, 5, 6, 10, 12, 20, ...: all of them up to a number cost about three
    times as much as the largest.
    """
    while count > 5 and count % 2 == 0:
        count //= 2
    return count in (1, 3, 5)


def split_state(
    problem: problems.SVMProblem, state: problems.SVMState, count: int
) -> problems.SVMState | None:
    """A start with up to `count` prototypes per class: the most used ones are split.

    The rows of a prototype are parted at their mean along their principal direction;
    one half, and its mass, goes to a prototype without rows, or to a new one.
    """
    prototype_labels = state.prototype_labels.tolist()
    assignment = state.assignment.copy()
    most = np.minimum(np.bincount(problem.y_encoded), count)
    for code, size in enumerate(most):
        prototypes = np.flatnonzero(state.prototype_labels == code).tolist()
        mass = np.bincount(assignment, problem.shares, len(prototype_labels))
        mass = mass[prototypes].tolist()
        free = [number for number, m in zip(prototypes, mass, strict=True) if m == 0.0]
        for _ in range(len(free) + size - len(prototypes)):
            rows = np.flatnonzero(assignment == prototypes[int(np.argmax(mass))])
            half = rows[principal_scores(problem, rows) > 0]
            if not 0 < len(half) < len(rows):
                break
            if not free:
                free.append(len(prototype_labels))
                prototypes.append(len(prototype_labels))
                prototype_labels.append(code)
                mass.append(0.0)
            number = free.pop()
            assignment[half] = number
            moved = problem.shares[half].sum()
            mass[int(np.argmax(mass))] -= moved
            mass[prototypes.index(number)] = moved
    if np.array_equal(assignment, state.assignment):
        return None
    order = np.argsort(prototype_labels, kind="stable")
    place = np.argsort(order)
    return replace(
        state,
        prototype_labels=np.array(prototype_labels)[order],
        assignment=place[assignment],
        index=place[state.index].astype(np.int32),
    )


def principal_scores(problem: problems.SVMProblem, rows: np.ndarray) -> np.ndarray:
    """Scores of rows along their principal direction, by the power method."""
    mass = problem.shares[rows] / problem.shares[rows].sum()
    if problem.gram is None:
        X = problem.linear_rows[rows]
        first = X[[0]].toarray()[0] if issparse(X) else X[0]
        scores = X @ first
    else:
        gram = problem.gram[np.ix_(rows, rows)].astype(np.float64)
        scores = gram[0]
    for step in range(POWER_STEPS + 1):
        scores = scores - mass @ scores
        length = np.sqrt(mass @ scores**2)
        if step == POWER_STEPS or length <= 1e-9 * problem.squares[rows[0]]:
            break
        weighed = mass * scores / length
        scores = X @ (weighed @ X) if problem.gram is None else gram @ weighed
    return scores if length > 0 else np.zeros(len(rows))


def best_fit(
    problem: problems.SVMProblem,
    estimator: Any,
    options: SolverOptions,
    state: problems.SVMState | None,
    highest: float = 1.0,
) -> Candidate:
    """The model of lowest objective that any start leads to.

    A cold fit goes through all numbers of prototypes up to the one asked for, with the
    same draws as fits of fewer, so that its objective is at most theirs. A warm fit
    goes on from its state only.
    """
    best, split, n_sweeps, span = None, None, 0, (0.0, 0.0)

    def descend(
        part: problems.SVMProblem, start: problems.SVMState | None, temperature: float
    ) -> None:
        nonlocal best, n_sweeps
        at = replace(estimator, temperature=temperature)
        candidate = descend_from(part, at, options, start, span)
        n_sweeps += candidate.n_sweeps
        best = candidate if candidate.beats(best) else best

    count = int(np.bincount(problem.prototype_labels).max())
    counts, hottest = range(1, count + 1), estimator.temperature
    if state is not None:
        descend(problem, state, 0.0)
        counts = range(count, count + 1)
        if state.n_asked == len(problem.prototype_labels) and hottest == 0:
            counts = range(0)
    done, total = 0, sum(counts)
    for number in counts:
        span = highest * done / total, highest * number / total
        n_trials = estimator.n_init if number > 1 else 1
        for trial in range(n_trials if starts_anew(number) else 0):
            if not (options.stopped and best):
                part = _new_start(problem, number, estimator.start, trial)
                descend(part, None, hottest)
        # A model whose split has not paid is not split again.
        if number > 1 and not options.stopped and best is not split:
            split, start = best, split_state(problem, best.state, number)
            if start is not None:
                descend(problem, start, min(hottest, SPLIT_TEMPERATURE))
        done += number
    finished = best.finished and not options.stopped
    return replace(best, finished=finished, n_sweeps=n_sweeps)


def _new_start(
    problem: problems.SVMProblem, count: int, start: str, trial: int
) -> problems.SVMProblem:
    """The same rows, tied to that many prototypes per class by chance or k-means."""
    if trial == 0 and count == np.bincount(problem.prototype_labels).max():
        return problem
    seed = problem.seed + trial
    rows = problem.X, problem.y_encoded, problem.weights
    assignment, prototype_labels = problems.drawn_start(*rows, count, start, seed)
    return replace(
        problem, assignment=assignment, prototype_labels=prototype_labels, seed=seed
    )


def descend_from(
    problem: problems.SVMProblem,
    estimator: Any,
    options: SolverOptions,
    state: problems.SVMState | None,
    span: tuple[float, float],
) -> Candidate:
    """Anneal from one start, then tie every row to its best prototype."""
    if state is not None:
        problem = replace(problem, prototype_labels=state.prototype_labels)
    temperature = estimator.temperature
    descent = Descent(problem, float(estimator.C), options.tol, state, options.stop)
    monitor = problems.Monitor(options, span)
    if descent.single:
        if state is None and not options.stopped:
            warm_start(descent)
    elif temperature > 0:
        monitor.begin("annealing", 0)
        anneal(descent, float(temperature), estimator.cooling, monitor)
        monitor.begin("best assignments", descent.n_sweeps)
    state, certificate, scores, finished = alternate(descent, options.max_iter, monitor)
    monitor.add(certificate, descent.n_sweeps, lambda: (state, scores), last=True)
    return Candidate(state, certificate, scores, finished, monitor, descent.n_sweeps)


def solve_in_memory(
    problem: problems.SVMProblem,
    estimator: Any,
    options: SolverOptions,
    state: problems.SVMState | None,
) -> tuple[Fitted, problems.Certificate]:
    """Fit from all starts, keep the best, and leave out prototypes without rows."""
    best = best_fit(problem, estimator, options, state)
    options.progress[0] = 1.0
    build = partial(fitted_state, problem)
    history = best.monitor.history(best.finished, best.n_sweeps, problem, build)
    fitted = build((best.state, best.scores), history)
    state = replace(best.state, n_asked=fitted.n_asked)
    return replace(fitted, state=state), best.certificate


def fitted_state(
    problem: problems.SVMProblem,
    solved: tuple[problems.SVMState, np.ndarray],
    history: History,
) -> Fitted:
    """Wrap a state without the prototypes that no row is tied to."""
    (final, scores), rows = solved, problem.row
    if not scores.size:
        scores = _scores(problem, final)
    used = np.unique(final.assignment)
    prototype_labels = final.prototype_labels[used]
    model, alive = _model(problem, (final, scores), used, history)
    scores = alive.T if problem.gram is not None else problem.linear_rows @ alive.T
    best = problems.best_of_class(scores, problem.y_encoded, prototype_labels)
    merged = np.full(len(final.prototype_labels), -1)
    merged[used] = np.arange(len(used))
    return Fitted(
        model,
        state=None,
        assignment=np.where(rows >= 0, final.assignment[rows], used[0]),
        n_asked=len(problem.prototype_labels),
        merged=merged,
        # A prediction compares with these rows: the user has to know which they are.
        anchor_rows=problem.chosen[np.flatnonzero(final.count)]
        if problem.precomputed
        else None,
        wins=np.bincount(best[rows[rows >= 0]], minlength=len(prototype_labels)),
        # A linear model has them at once; any other would have to compare rows.
        scores=None if problem.is_plain else model.pool(scores),
    )


def _scores(problem: problems.SVMProblem, state: problems.SVMState) -> np.ndarray:
    """Score of each row on each prototype of a dual, beside a Gram matrix."""
    scores = np.zeros((len(state.prototype_labels), len(problem.y_encoded)))
    first = np.cumsum(state.count) - state.count
    dual = first, state.count, state.index, state.value
    gather_gram(problem.gram, state.assignment, *dual, scores)
    return scores


def _model(
    problem: problems.SVMProblem,
    solved: tuple[problems.SVMState, np.ndarray],
    used: np.ndarray,
    history: History,
) -> tuple[PrototypeModel, np.ndarray]:
    """Wrap the prototypes that are kept; also them, or their scores beside a Gram."""
    state, scores = solved
    labels = state.prototype_labels[used]
    if problem.gram is not None:
        heavy, mixing = problems.support_rows(problem, state, used)
        model = problem.mixed_model(problem.anchors(heavy), mixing, labels, history)
        return model, scores[used]
    alive = scores[:, used].T
    if problem.landmarks is None:
        return problem.linear_model(alive, labels, history), alive
    mixed = problem.landmarks.mixed(alive.T)
    return problem.mixed_model(*mixed, labels, history), alive
