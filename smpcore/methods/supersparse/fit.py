"""One super-sparse fit: its start, its solver, and the model that it leads to."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from smpcore.errors import SmpcoreError
from smpcore.methods.shared.distinct import equal_groups, projected
from smpcore.methods.shared.problem import Fitted, SolverOptions, Start
from smpcore.methods.shared.row_blocks import row_blocks
from smpcore.methods.shared.starts import MOST_ROWS, kmeans_centers
from smpcore.methods.supersparse import problem as problems
from smpcore.methods.supersparse import value_solvers
from smpcore.model import History, PrototypeModel
from smpcore.similarity import SIMILARITIES, SMOOTH, Similarity
from smpcore.solvers.iterations import CONVERGED

#: Rows among which a greedy step chooses.
POOL = 300

#: How much more a target counts than a feature in the clusters.
TARGET_WEIGHT = 3.0

#: Below this size (rows x features x prototypes) several starts are tried.
SMALL = 100_000

#: Random starts tried then, clusterings of rows that are read in blocks, and steps of
#: each trial.
N_RANDOM, N_CLUSTERED, TRIAL_STEPS = 5, 5, 20


def draw_rows(
    rows: problems.Rows, n_rows: int, random: np.random.RandomState
) -> np.ndarray:
    """Draw different rows, the same ones however rows are ordered or repeated.

    Rows are lined up along a random direction, where a row of weight 3 covers the
    same stretch as three equal rows.
    """
    direction = random.normal(size=rows.cases.shape[1])
    if rows.joined is None:
        along = (rows.cases * direction).sum(axis=1)
    else:
        along = projected(rows.cases, direction)
    order = np.argsort(along, kind="stable")
    reach = np.cumsum(rows.weights[order])
    draws = random.uniform(size=3 * n_rows) * reach[-1]
    places = np.minimum(np.searchsorted(reach, draws, side="right"), len(order) - 1)
    drawn = order[places]
    if rows.joined is None:
        drawn = rows.cases[drawn]
    else:
        drawn = problems.rows_in_any_order(rows.cases, drawn)
    _, first = np.unique(drawn, axis=0, return_index=True)
    return drawn[np.sort(first)[:n_rows]]


def cluster_start(
    rows: problems.Rows, n_prototypes: int, random: np.random.RandomState
) -> np.ndarray:
    """Centres of clusters of rows and targets together, without the targets."""
    factor = TARGET_WEIGHT * rows.spread / math.sqrt(len(rows.Y))
    chosen = np.arange(rows.n_distinct)
    if len(chosen) > MOST_ROWS:
        chosen = np.sort(random.choice(chosen, MOST_ROWS, replace=False))
    cases, targets, weights = rows.distinct(chosen)
    joined = np.hstack([cases, factor * targets])
    n_trials = 2 + int(math.log(n_prototypes))
    centers = kmeans_centers(
        joined, weights, n_prototypes, random, n_trials=n_trials, max_iter=8
    )
    return np.ascontiguousarray(centers[:, : rows.cases.shape[1]])


def greedy_rows(
    objective: problems.Objective, Z: np.ndarray, pool: np.ndarray, n: int
) -> np.ndarray:
    """Add rows of a pool one by one, each the one that explains most of what is
    left.
    """
    # Hundreds of similarities of each row would be read in blocks once a prototype.
    objective = objective.condensed(np.vstack([Z, pool]))
    rows = objective.rows
    columns = objective.similarities(pool)
    centred = columns - rows.weights @ columns
    length = np.sqrt(rows.weights @ centred**2) + 1e-9
    S = objective.similarities(Z) if len(Z) else np.empty((len(columns), 0))
    free = np.ones(len(pool), dtype=bool)
    if len(Z):
        free = cdist(pool, Z).min(axis=1) > 1e-9 * rows.spread
    for _ in range(min(n, free.sum())):
        residuals = objective.refit(S)[3] if S.shape[1] else -rows.Y.T
        correlation = centred.T @ (rows.weights[:, None] * residuals)
        gain = np.where(free, np.linalg.norm(correlation, axis=1) / length, -1.0)
        best = int(gain.argmax())
        free[best] = False
        Z = np.vstack([Z, pool[best]])
        S = np.column_stack([S, columns[:, best]])
    return Z


#: Times that dead or idle prototypes may be revived.
MOST_REVIVALS = 2


@dataclass(frozen=True, eq=False)
class Search:
    """What is minimised, with how many prototypes, and how they are looked for."""

    objective: problems.Objective
    n_prototypes: int
    box: problems.Box
    options: SolverOptions
    random: np.random.RandomState
    start: str = "auto"  # {"auto", "kmeans", "greedy", "random"}
    #: {"rise", "coefficient"}: Which prototypes a warm start leaves out
    removal: str = "rise"

    def run(
        self, state: problems.SuperSparseState | None = None
    ) -> tuple[problems.Solution, np.ndarray, tuple[Start, ...]]:
        """Find prototypes and their coefficients; also where they started, and how."""
        objective, options = self.objective, self.options
        if objective.similarity.kind == "precomputed":
            columns = objective, self.n_prototypes, options, state
            return *value_solvers.fit_columns(*columns), ()
        if state is None:
            Z, starts = self.choose_start()
        else:
            Z, starts = self.resized(state.Z, self.removal), ()
        return *self._from(Z), starts

    def _from(self, Z: np.ndarray) -> tuple[problems.Solution, np.ndarray]:
        """Solve from a start, which is returned beside."""
        objective, options = self.objective, self.options
        if objective.rows.constant:
            recorded = ([Z], [0]) if options.record else ()
            ended = CONVERGED, 0, np.zeros(1)
            at = objective.coefficients(Z)
            return problems.Solution(Z, *at, *ended, *recorded), Z
        if (sample := objective.sample) is not objective:
            # Its steps cost little, and go on where all rows would end on a plateau.
            tol = 0.01 * options.tol
            few = replace(options, tol=tol, record=0, progress=np.zeros(1))
            near = replace(self, objective=sample, options=few)._solved(Z)
            return objective.solve(near.Z, self.box, options, near.pairs), Z
        return self._solved(Z), Z

    def choose_start(self) -> tuple[np.ndarray, tuple[Start, ...]]:
        """Find prototypes to start from, no two of them alike; and what was tried."""
        sample = replace(self, objective=self.objective.sample)
        many = self.start == "auto" and sample.objective is not self.objective
        starts = list(map(sample.separated, sample._ways(N_CLUSTERED if many else 1)))
        if len(starts) == 1:
            return starts[0], ()
        most = min(TRIAL_STEPS, self.options.max_iter)
        few = replace(self.options, max_iter=most, record=0, progress=np.zeros(1))
        solve = sample.objective.solve
        tried = [solve(Z, self.box, few).objective[-1] for Z in starts]
        n = self.n_prototypes
        left = [Start(n, objective, np.nan, False) for objective in tried]
        return starts[int(np.argmin(tried))], tuple(left)

    def _ways(self, n_clustered: int) -> list[np.ndarray]:
        """The starts to try, which may hold too few or equal rows."""
        rows, n, random = self.objective.rows, self.n_prototypes, self.random
        kind = self.objective.similarity.kind
        if self.start == "greedy" or kind == "strings":
            return [self._greedy()]
        if self.start == "random":
            return [draw_rows(rows, n, random)]
        ways = [cluster_start(rows, n, random) for _ in range(n_clustered)]
        is_small = math.prod(rows.cases.shape) * n < SMALL
        if self.start == "auto" and is_small and kind != "callable":
            ways.append(self._greedy())
            ways += [draw_rows(rows, n, random) for _ in range(N_RANDOM)]
        return ways

    def _greedy(self) -> np.ndarray:
        """Choose rows greedily out of a random pool (orthogonal matching pursuit)."""
        none = np.empty((0, self.objective.rows.cases.shape[1]))
        return greedy_rows(self.objective, none, self._pool(), self.n_prototypes)

    def _pool(self) -> np.ndarray:
        """Rows among which a greedy step chooses."""
        n_rows = max(POOL, 2 * self.n_prototypes)
        return draw_rows(self.objective.rows, n_rows, self.random)

    def separated(self, Z: np.ndarray) -> np.ndarray:
        """Take the equal ones away and add greedy rows up to the number asked for.

        Equal prototypes have equal gradients: they would never part. So all are brought
        into the box before.
        """
        n, Z = self.n_prototypes, self._inside(Z)
        for pool in (self._pool, lambda: self.objective.rows.pool):
            if len(Z) < n:
                few = self._inside(pool())
                Z = greedy_rows(self.objective, Z, few, n - len(Z))
        return Z

    def _inside(self, Z: np.ndarray) -> np.ndarray:
        """Those that differ once they are brought into the box, or into the ball."""
        box, Z = self.box, np.clip(Z, self.box.low, self.box.high)
        if box.radius > 0:
            length = np.linalg.norm(Z, axis=1, keepdims=True)
            Z = Z * (box.radius / np.maximum(length, box.radius))
        _, first = np.unique(Z, axis=0, return_index=True)
        return Z[np.sort(first)]

    def resized(self, Z: np.ndarray, removal: str = "rise") -> np.ndarray:
        """Make a warm start of another number of prototypes out of solved ones.

        Dead ones go first, then those of `kept_columns`; missing ones are chosen
        greedily.
        """
        few = self.objective.condensed(Z)
        Z = problems.without_dead(few, Z)
        if len(Z) > self.n_prototypes:
            S = few.similarities(Z)
            Z = Z[problems.kept_columns(few, S, self.n_prototypes, removal)]
        return replace(self, objective=self.objective.sample).separated(Z)

    def _solved(self, Z: np.ndarray) -> problems.Solution:
        """Solve from a start, and once more where prototypes are dead or idle."""
        objective, options = self.objective, self.options
        solve = value_solvers.solve_blackbox
        if objective.similarity.kind == "strings":
            solve = value_solvers.solve_strings
        elif objective.similarity.kind in SMOOTH:
            solve = type(objective).solve
        solution = solve(objective, Z, self.box, options)
        for _ in range(MOST_REVIVALS):
            revived = self._revived(solution)
            if revived is None:
                break
            left = replace(options, max_iter=options.max_iter - solution.n_iter)
            solution = _joined(solution, solve(objective, revived, self.box, left))
        return solution

    def _revived(self, solution: problems.Solution) -> np.ndarray | None:
        """Prototypes with the dead, or else an idle one, replaced, if it helps."""
        options, Z = self.options, solution.Z
        if options.max_iter <= solution.n_iter or options.stopped:
            return None
        if solution.status > 1:
            return None
        few = self.objective.condensed(Z)
        alive = problems.without_dead(few, Z)
        if len(alive) == len(Z):
            alive = problems.without_idle(few, Z)
        if len(alive) == len(Z):
            return None
        Z = self.resized(alive)
        few = self.objective.condensed(Z)
        F = few.refit(few.similarities(Z))[0]
        return Z if F < solution.objective[-1] else None


def _joined(first: problems.Solution, second: problems.Solution) -> problems.Solution:
    """Two runs as one; the second began where the first had ended, or below."""
    return replace(
        second,
        n_iter=first.n_iter + second.n_iter,
        objective=np.concatenate([first.objective, second.objective[1:]]),
        steps=[*first.steps, *second.steps[1:]],
        places=[*first.places, *np.add(second.places[1:], first.n_iter)],
    )


def refuse_diverged(solution: problems.Solution) -> None:
    """Refuse a fit that is not finite."""
    good = np.isfinite(solution.objective).all() and np.isfinite(solution.Z).all()
    if not (good and np.isfinite(solution.B).all()):
        raise SmpcoreError(
            "The objective is not finite; raise lam, use standardize=True "
            "or divide large columns by a power of ten."
        )


def shortfall(solution: problems.Solution, max_iter: int) -> str:
    """How far a fit that reached the limit of steps is from its end, in words."""
    objective = solution.objective[-4:]
    fall = (objective[0] - objective[-1]) / max(objective[-1], 1e-300)
    fall /= max(len(objective) - 1, 1)
    return (
        f"The limit of {solution.n_iter} steps (max_iter={max_iter}) was reached; the "
        f"last ones still lowered the objective by {fall:.1e} each; raise max_iter or "
        "tol."
    )


def fitted_state(
    problem: problems.AnyProblem,
    objective: problems.Objective,
    start: np.ndarray,
    Z: np.ndarray,
    history: History,
    coefficients: tuple[np.ndarray, np.ndarray] | None = None,
) -> Fitted:
    """Wrap prototypes, those at the same place as one, in the user's units."""
    similarity, rows = objective.similarity, objective.rows
    B, intercept = coefficients or objective.coefficients(Z)
    same = np.zeros(len(Z), dtype=np.int64)
    by_column = similarity.kind == "precomputed"
    merged = equal_groups(Z, 1.0 if by_column else rows.spread, "euclidean", same)
    counts = np.bincount(merged)
    anchors = np.zeros((len(counts), problem.n_features))
    votes = np.zeros((len(counts), len(rows.Y)))
    np.add.at(anchors, merged, Z)
    np.add.at(votes, merged, B * rows.unit)
    parts = {"similarity": similarity, "counts": counts}
    if by_column:
        parts |= {"similarity": Similarity(), "kind_of_prototype": "real case"}
    outputs = votes, intercept * rows.unit + rows.middle
    model = problems.similarity_model(
        problem, anchors / counts[:, None], outputs, history, **parts
    )
    off_data, measures = None, {}
    if not by_column and SIMILARITIES[similarity.kind].by_distance:
        off_data = problems.off_the_data(problem.rows, model.anchors)
        measures["far_cases"] = (
            f"{off_data.sum()} of {model.n_prototypes}",
            "invented cases farther from every training row than 95 % of training "
            "rows are from their nearest neighbour",
        )
    if isinstance(problem.X, np.ndarray):
        assignment, scores = similarity.values(problem.X, Z).argmax(axis=1), None
    else:
        assignment, scores = _answers(problem, model, Z)
    return Fitted(
        model,
        state=None,
        assignment=assignment,
        n_asked=len(Z),
        merged=merged,
        anchor_rows=value_solvers.chosen_columns(model.anchors) % len(problem.X)
        if by_column
        else None,
        start=start,
        off_data=off_data,
        measures=measures,
        scores=scores,
    )


def _answers(
    problem: problems.AnyProblem,
    model: PrototypeModel,
    Z: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Prototype that each row is most like, and each block's largest absolute score."""
    nearest, largest = [], []
    for _, block in row_blocks(problem.X):
        nearest.append(model.similarity.values(block, Z).argmax(axis=1))
        scores = model.scores(block * problem.scale + problem.center)
        largest.append(np.abs(scores).max())
    return np.concatenate(nearest), np.array(largest)
