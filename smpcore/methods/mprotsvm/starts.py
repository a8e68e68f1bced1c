"""Where fits of the multi-prototype SVM start, and which of them is kept.

The objective is not convex in the assignments: what a fit reaches depends on its start.
One prototype per class is convex. More start from fewer with one split in each class,
and at some numbers also anew; the model of lowest objective is kept, whatever its
number of prototypes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import issparse

from smpcore.methods.mprotsvm.assignment import alternate, anneal, warm_start
from smpcore.methods.mprotsvm.descent import Descent
from smpcore.methods.mprotsvm.monitor import Certificate, Monitor
from smpcore.methods.mprotsvm.problem import SVMParameters, SVMProblem, SVMState
from smpcore.methods.shared.problem import SolverOptions
from smpcore.methods.shared.starts import cluster_rows

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

    state: SVMState
    certificate: Certificate
    scores: np.ndarray  # Of the descent there
    finished: bool
    monitor: Monitor
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


def affordable_inits(problem: SVMProblem) -> int:
    """New starts that the budget allows; it does not depend on their prototypes."""
    rows, columns = problem.linear_rows.shape
    width = columns if problem.gram is None else rows / 10
    work = rows * width * len(problem.classes)
    return int(np.clip(BUDGET / work, 1, MOST_INITS))


def starts_anew(count: int) -> bool:
    """Whether fits of that many prototypes per class have new starts.

    They are 1, 3, 5, 10, 20, 40, ...: all of them up to a number cost about twice as
    much as the largest.
    """
    while count > 5 and count % 2 == 0:
        count //= 2
    return count in (1, 3, 5)


def drawn_start(
    rows: np.ndarray,
    y_encoded: np.ndarray,
    weights: np.ndarray,
    count: int,
    start: str,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Tie every row to a prototype of its class, by chance or by k-means."""
    count = min(count, int(np.bincount(y_encoded).max()))
    random = np.random.RandomState([seed, count])
    if start == "kmeans":
        return cluster_rows(rows, y_encoded, weights, count, random)
    sizes = np.minimum(np.bincount(y_encoded), count)
    starts = np.cumsum(sizes) - sizes
    draws = random.uniform(size=len(y_encoded))
    assignment = starts[y_encoded] + (draws * sizes[y_encoded]).astype(np.int64)
    return assignment, np.repeat(np.arange(len(sizes)), sizes)


def split_state(problem: SVMProblem, state: SVMState, count: int) -> SVMState | None:
    """A start with up to `count` prototypes per class: the most used ones are split.

    The rows of a prototype are parted at their mean along their principal direction;
    one half, and its mass, goes to a prototype without rows, or to a new one.
    """
    prototype_labels, assignment = (
        state.prototype_labels.tolist(),
        state.assignment.copy(),
    )
    most = np.minimum(np.bincount(problem.y_encoded), count)
    for code, size in enumerate(most):
        own = np.flatnonzero(state.prototype_labels == code).tolist()
        mass = np.bincount(assignment, problem.shares, len(prototype_labels))[
            own
        ].tolist()
        free = [number for number, load in zip(own, mass, strict=True) if load == 0.0]
        for _ in range(len(free) + size - len(own)):
            rows = np.flatnonzero(assignment == own[int(np.argmax(mass))])
            half = rows[principal_scores(problem, rows) > 0]
            if not 0 < len(half) < len(rows):
                break
            if not free:
                free.append(len(prototype_labels))
                own.append(len(prototype_labels))
                prototype_labels.append(code)
                mass.append(0.0)
            number = free.pop()
            assignment[half] = number
            moved = problem.shares[half].sum()
            mass[int(np.argmax(mass))] -= moved
            mass[own.index(number)] = moved
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


def principal_scores(problem: SVMProblem, rows: np.ndarray) -> np.ndarray:
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
    problem: SVMProblem,
    parameters: SVMParameters,
    options: SolverOptions,
    state: SVMState | None,
    highest: float = 1.0,
) -> Candidate:
    """The model of lowest objective that any start leads to.

    A cold fit goes through all numbers of prototypes up to the one asked for, with the
    same draws as fits of fewer, so that its objective is at most theirs. A warm fit
    goes on from its state only.
    """
    kept, split, n_sweeps, span = None, None, 0, (0.0, 0.0)

    def descend(part: SVMProblem, start: SVMState | None, temperature: float) -> None:
        nonlocal kept, n_sweeps
        at = replace(parameters, temperature=temperature)
        found = descend_from(part, at, options, start, span)
        n_sweeps += found.n_sweeps
        kept = found if found.beats(kept) else kept

    count = int(np.bincount(problem.prototype_labels).max())
    counts, hottest = range(1, count + 1), parameters.temperature
    if state is not None:
        descend(problem, state, 0.0)
        counts = range(count, count + 1)
        if state.n_asked == len(problem.prototype_labels) and hottest == 0:
            counts = range(0)
    done, total = 0, sum(counts)
    for number in counts:
        span = highest * done / total, highest * number / total
        n_trials = parameters.n_init if number > 1 else 1
        for trial in range(n_trials if starts_anew(number) else 0):
            if not (options.stopped and kept):
                part = _new_start(problem, number, parameters.start, trial)
                descend(part, None, hottest)
        # A model whose split has not paid is not split again.
        if number > 1 and not options.stopped and kept is not split:
            split, start = kept, split_state(problem, kept.state, number)
            if start is not None:
                descend(problem, start, min(hottest, SPLIT_TEMPERATURE))
        done += number
    finished = kept.finished and not options.stopped
    return replace(kept, finished=finished, n_sweeps=n_sweeps)


def _new_start(problem: SVMProblem, count: int, start: str, trial: int) -> SVMProblem:
    """The same rows, tied to that many prototypes per class by chance or k-means."""
    if trial == 0 and count == np.bincount(problem.prototype_labels).max():
        return problem
    seed = problem.seed + trial
    rows = problem.X, problem.y_encoded, problem.weights
    assignment, prototype_labels = drawn_start(*rows, count, start, seed)
    return replace(
        problem, assignment=assignment, prototype_labels=prototype_labels, seed=seed
    )


def descend_from(
    problem: SVMProblem,
    parameters: SVMParameters,
    options: SolverOptions,
    state: SVMState | None,
    span: tuple[float, float],
) -> Candidate:
    """Anneal from one start, then tie every row to its best prototype."""
    if state is not None:
        problem = replace(problem, prototype_labels=state.prototype_labels)
    temperature = parameters.temperature
    descent = Descent(problem, parameters, options.tol, state, options.stop)
    monitor = Monitor(options, span)
    if descent.single:
        if state is None and not options.stopped:
            warm_start(descent)
    elif temperature > 0:
        monitor.begin("annealing", 0)
        anneal(descent, float(temperature), parameters.cooling, monitor)
        monitor.begin("best assignments", descent.n_sweeps)
    found = alternate(descent, options.max_iter, monitor)
    ended = found[0], found[2]
    monitor.add(found[1], descent.n_sweeps, lambda: ended, last=True)
    return Candidate(*found, monitor, descent.n_sweeps)
