"""Fits of the multi-prototype SVM: sweeps, assignments, starts, and which is kept.

The objective is not convex in the assignments: what a fit reaches depends on its start.
One prototype per class is convex. More start from fewer with one split in each class,
and at some numbers also anew; the model of lowest objective is kept, whatever its
number of prototypes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from smpcore.methods.mprotsvm import problem as problems
from smpcore.methods.mprotsvm.kernel import (
    DenseRows,
    Dual,
    GramRows,
    Margins,
    Seen,
    SparseRows,
    anneal_rows,
    gather,
    go_round,
)
from smpcore.methods.shared.problem import (
    Fitted,
    SolverOptions,
    Start,
    starts_in_words,
)
from smpcore.model import History, PrototypeModel


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
        self.rows = _compiled(problem)
        self.starts = problem.starts
        n, n_prototypes = len(problem.y_encoded), len(problem.prototype_labels)
        sizes = np.diff(self.starts)
        slack, psi = np.empty((n, int(sizes.max()))), np.full(n, np.inf)
        self.seen = Seen(slack, psi, np.empty(n, dtype=np.int64))
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
    def margins(self) -> Margins:
        """What the problem asks of rows, as kernels take it."""
        problem = self.problem
        return Margins(problem.y_encoded, self.starts, self.limits, problem.squares)

    def load(self, state: problems.SVMState) -> None:
        """Start from another's dual, scaled to these limits."""
        n_used, count = len(state.index), state.count.copy()
        first, used = np.cumsum(count) - count, np.array([n_used])
        self.dual = Dual(state.assignment.copy(), first, count.copy(), count, used)
        room = n_used + 2 * len(count) + 64
        self.index, self.value = np.zeros(room, dtype=np.int32), np.zeros(room)
        self.index[:n_used] = state.index
        factor = np.repeat(self.limits / state.limits, count)
        self.value[:n_used] = state.value * factor
        if n_used:
            gather(self.rows, self.dual, self.index, self.value, self.scores)

    def snapshot(self) -> Snapshot:
        """The dual as it is, in lists with unused places."""
        used, dual = int(self.dual.used[0]), self.dual
        lists = dual.first, dual.count, self.index[:used], self.value[:used]
        copies = (array.copy() for array in (dual.assign, *lists))
        return Snapshot(*copies, self.scores.copy())

    def save(self, snapshot: Snapshot | None = None) -> problems.SVMState:
        """The dual, or what it was, without unused places."""
        assign, first, count, index, value, _ = snapshot or self.snapshot()
        entries = np.arange(count.sum())
        entries += np.repeat(first - np.cumsum(count) + count, count)
        labels, lists = self.problem.prototype_labels, (index[entries], value[entries])
        return problems.SVMState(labels, assign, self.limits, count, *lists)

    def recorded(self) -> tuple[problems.SVMState, np.ndarray]:
        """What a recorded state needs: beside a Gram matrix the dual, else its sums."""
        if self.problem.gram is not None:
            return self.save(), np.empty((0, 0))
        labels, none = self.problem.prototype_labels, np.empty(0)
        indices = np.empty(0, dtype=np.int32)
        lists = indices, indices, none
        state = problems.SVMState(labels, self.dual.assign.copy(), none, *lists)
        return state, self.scores.copy()

    def go_round(
        self, sweeps: int = 1, far: float = 0.0, *, moves: bool = False
    ) -> problems.Certificate:
        """Sweep over rows that are not optimal, then over those `far` from it.

        If it `moves`, every row takes its best prototype before, as last evaluated.
        """
        self.index, self.value, self.n_sweeps, sums = go_round(
            self.rows, self.problem.orders, self.n_sweeps, moves, sweeps, far,
            self.margins, self.dual, self.index, self.value, self.scores, self.seen,
            self.stop,
        )  # fmt: skip
        return _certificate(*sums)

    def certify(self) -> problems.Certificate:
        """Compute all slacks and violations, and the certificate."""
        return self.go_round(0)

    def anneal(self, temperatures: np.ndarray) -> list[tuple[int, Any]]:
        """Draw and sweep at each temperature; the sweeps and certificates after."""
        trace = np.empty((len(temperatures), 5))
        draws = self.draws.random((len(temperatures), len(self.dual.assign)))
        self.index, self.value, self.n_sweeps = anneal_rows(
            self.rows, self.problem.orders, self.n_sweeps, self.C * temperatures, draws,
            self.margins, self.dual, self.index, self.value, self.scores, self.seen,
            self.stop, trace,
        )  # fmt: skip
        return [(int(n), _certificate(*sums)) for n, *sums in trace.tolist()]


def _certificate(
    loss: float, free: float, mass: float, norm: float
) -> problems.Certificate:
    half = 0.5 * norm
    return problems.Certificate(half + loss, half + free, norm + loss - mass)


class Snapshot(NamedTuple):
    """What a descent was."""

    assign: np.ndarray
    first: np.ndarray
    count: np.ndarray
    index: np.ndarray
    value: np.ndarray
    scores: np.ndarray


def _compiled(problem: problems.SVMProblem) -> DenseRows | GramRows | SparseRows:
    """Rows as the kernels take them."""
    X = problem.linear_rows
    if problem.gram is not None:
        return GramRows(problem.gram, problem.squares)
    if not issparse(X):
        return DenseRows(X)
    return SparseRows(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64))


#: Annealing ends at this temperature, in units of C.
COLD = 0.02

#: Draws that annealing takes at once, and one temperature more.
AT_ONCE = 100_000

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

#: Rows stay, too, if all moves together are worth at most this part of the gap allowed.
SETTLED = 0.1


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
    descent.go_round(1 + SWEEPS_LOW, far=0.2 * descent.tol)
    descent.value /= low
    descent.scores /= low
    descent.limits = limits


def anneal(
    descent: Descent, temperature: float, cooling: float, monitor: problems.Monitor
) -> None:
    """Tie rows to prototypes by chance, less and less so, once the start is seen."""
    monitor.add(descent.go_round(), descent.n_sweeps, descent.recorded)
    count = max(0, int(np.ceil(np.log(COLD / temperature) / np.log(cooling))))
    temperatures = temperature * cooling ** np.arange(count)
    # One by one where states are recorded or rows are many, else at once.
    at_once = 1 if monitor.recorder.every else AT_ONCE // len(descent.dual.assign) + 1
    for first in range(0, count, at_once):
        if descent.stop[0]:
            return
        for n_sweeps, now in descent.anneal(temperatures[first : first + at_once]):
            monitor.add(now, n_sweeps, descent.recorded)


class Run:
    """One start: solve for its assignments, tie rows to their best prototype, again.

    Rows move as soon as that pays: when the objective with best assignments falls
    below the lowest so far. The end is a certified solution from which no move pays.
    """

    def __init__(
        self, descent: Descent, max_sweeps: int, monitor: problems.Monitor
    ) -> None:
        self.descent, self.max_sweeps, self.monitor = descent, max_sweeps, monitor
        self.best: tuple[Snapshot, problems.Certificate] | None = None
        self.lowest = np.inf
        self.finished = self.over = False
        self.now = descent.certify()

    @property
    def bound(self) -> float:
        """No prototypes have a lower objective, unless rows move."""
        return self.now.objective - self.now.gap

    def go(self, rounds: float = np.inf) -> None:
        """Go on for at most so many rounds."""
        while rounds > 0 and not self.over:
            self._look()
            if not self.over:
                self._step()
            rounds -= 1

    def _look(self) -> None:
        """Keep what is the best so far, and see whether this is the end."""
        now, descent, tol = self.now, self.descent, self.descent.tol
        self.monitor.add(now, descent.n_sweeps, descent.recorded)
        closed = now.gap <= tol * now.objective
        self.improved = now.free < self.lowest
        self.finished = closed and (
            not self.improved
            or now.objective - now.free <= SETTLED * tol * now.objective
            or np.array_equal(descent.seen.best, descent.dual.assign)
        )
        best = self.best
        certified = best is not None and best[1].gap <= tol * best[1].objective
        if best is None or self.improved or (self.finished and not certified):
            self.best = descent.snapshot(), now
        late = descent.n_sweeps >= self.max_sweeps or bool(descent.stop[0])
        self.over = self.finished or late
        self.lowest = min(self.lowest, now.free)

    def _step(self) -> None:
        """Move rows if that pays, and prototypes."""
        descent = self.descent
        far = SPARED * self.now.gap / descent.limits.sum()
        if descent.single and (descent.seen.psi > far).any():
            self.now = descent.go_round(POLISH_ONE, far)
            return
        at = 1 + POLISH, 0.2 * descent.tol
        self.now = descent.go_round(*at, moves=self.improved)

    @property
    def start(self) -> Start:
        """What became of it."""
        q = int(np.diff(self.descent.starts).max())
        objective = min(self.lowest, self.now.free)
        return Start(q, objective, self.bound, self.finished)

    def candidate(self) -> Candidate:
        """Where it led."""
        snapshot, certificate = self.best
        state, scores = self.descent.save(snapshot), snapshot.scores
        n_sweeps = self.descent.n_sweeps
        self.monitor.add(certificate, n_sweeps, lambda: (state, scores), last=True)
        return Candidate(
            state, certificate, scores, self.finished, self.monitor, n_sweeps
        )


#: Multiply-adds of a sweep for each prototype of a class, times new starts: the budget
#: from which their number is taken. And their largest number.
BUDGET, MOST_INITS = 3_000_000, 7

#: What is kept is solved to this part of the gap allowed.
CLOSER = 0.4

#: Rounds that starts go before one in so many goes on; then as many times more.
ROUNDS, KEPT = 2, 3

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
    starts: tuple[Start, ...] = ()

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
    return count in (1, 2, 3, 5)


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
    starts: list[Start] = []

    def begin(
        part: problems.SVMProblem, start: problems.SVMState | None, temperature: float
    ) -> Run:
        at = replace(estimator, temperature=temperature)
        return begin_run(part, at, options, start, span)

    count = int(np.bincount(problem.prototype_labels).max())
    counts, hottest = range(1, count + 1), estimator.temperature
    if state is not None:
        best, n_sweeps = race([begin(problem, state, 0.0)], None, starts)
        counts = range(count, count + 1)
        if state.n_asked == len(problem.prototype_labels) and hottest == 0:
            counts = range(0)
    done, total = 0, sum(counts)
    for number in counts:
        span, runs = (highest * done / total, highest * number / total), []
        n_trials = -(-5 * estimator.n_init // (number + 3)) if number > 1 else 1
        for trial in range(n_trials if starts_anew(number) else 0):
            if not (options.stopped and (runs or best)):
                part = _new_start(problem, number, estimator.start, trial)
                runs.append(begin(part, None, hottest))
        # A model whose split has not paid is not split again.
        if number > 1 and not options.stopped and best is not split:
            split, start = best, split_state(problem, best.state, number)
            if start is not None:
                runs.append(begin(problem, start, min(hottest, SPLIT_TEMPERATURE)))
        best, sweeps = race(runs, best, starts)
        n_sweeps += sweeps
        done += number
    finished = best.finished and not options.stopped
    return replace(best, finished=finished, n_sweeps=n_sweeps, starts=tuple(starts))


def race(
    runs: list[Run], best: Candidate | None, starts: list[Start]
) -> tuple[Candidate | None, int]:
    """The best of some starts and what was best before; and the sweeps of all starts.

    A bound soon tells where a start leads. The third whose bounds are lowest goes on
    after a few rounds, and again, until one start goes on to its end: at once where
    all bounds are above the best.
    """
    going, rounds = runs, ROUNDS
    while len(going) > 1:
        for run in going:
            run.go(rounds)
        going = sorted(going, key=lambda run: run.bound)[: -(-len(going) // KEPT)]
        rounds *= KEPT
        if best is not None and going[0].bound >= best.certificate.objective:
            break
    for run in going[:1]:
        run.descent.tol *= CLOSER
        run.go()
        candidate = run.candidate()
        best = candidate if candidate.beats(best) else best
    starts += [run.start for run in runs]
    return best, sum(run.descent.n_sweeps for run in runs)


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


def begin_run(
    problem: problems.SVMProblem,
    estimator: Any,
    options: SolverOptions,
    state: problems.SVMState | None,
    span: tuple[float, float],
) -> Run:
    """Anneal from one start."""
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
    return Run(descent, options.max_iter, monitor)


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
    measures = starts_in_words(best.starts)
    more = {"state": state, "starts": best.starts, "measures": measures}
    return replace(fitted, **more), best.certificate


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
        # Short rows have them at once; any other would have to be compared again.
        scores=None
        if problem.is_plain and problem.mapped is None
        else model.pool(scores),
    )


def _scores(problem: problems.SVMProblem, state: problems.SVMState) -> np.ndarray:
    """Score of each row on each prototype of a dual, beside a Gram matrix."""
    scores = np.zeros((len(state.prototype_labels), len(problem.y_encoded)))
    first = np.cumsum(state.count) - state.count
    dual = Dual(state.assignment, first, state.count, state.count, np.zeros(1, int))
    gather(_compiled(problem), dual, state.index, state.value, scores)
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
    points, mixing = problem.landmarks.mixed(alive.T)
    if problem.is_plain:
        return problem.linear_model(mixing.T @ points, labels, history), alive
    return problem.mixed_model(points, mixing, labels, history), alive
