"""Search for scores: a few binary lines, each with a small whole number of points.

    y_i in {0, 1}   whether row i has the outcome         w_i  its weight, sum 1
    x_ij in {0, 1}  whether line j holds for it           S    at most k chosen lines
    p_j             points of a line, whole, |p_j| <= P   a, b multiplier, intercept
    B               a line changes the log-odds by at most B

    loss(S, p) = min over a, b of  sum_i w_i log(1 + e^z_i) - w_i y_i z_i
    z_i = b + a sum_j p_j x_ij,   a >= 0,   a |p_j| <= B

Only sums over rows count: k lines divide them into 2^k cells, so that after one product
of matrices a refit takes no more than the cells. Without whole numbers, beta_j = a p_j
is any number from -B to B, and the loss is convex. By convexity its slope g at any beta
bounds the loss of every choice of k lines from below,

    loss >= f(beta) - g beta - (sum of the k largest B |g_j|),

which is the dual bound of the relaxation, and lets whole parts of the search go.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from smpcore.solvers.branching import FREE, IN, OUT, Cut
from smpcore.solvers.logistic_boxes import fit_boxes

#: What a line may do to the log-odds, at most: odds times 148.
MOST_LOG_ODDS = 5.0
#: Choices that go on at each step of the beam, lines that each tries, rounds of swaps.
_WIDTH, _TRIED, _ROUNDS = 15, 30, 6
#: Choices that get points; pieces of the profile; vectors of points looked at at once.
_ROUNDED, _PIECES, _MOST_VECTORS = 100, 40, 300_000
#: A part of the search with at most so many choices is enumerated.
_ENUMERATED = 4000
#: Precision of losses that are compared, and while lines are looked for.
PRECISION, _ROUGH = 1e-9, 1e-5

Support = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows by their lines, and what scores may be.

    Parameters
    ----------
    lines : ndarray of float, shape (n_rows, n_candidates)
        0 or 1; equal rows are one.
    weights : ndarray of shape (n_rows, 2)
        Weight of the rows without and with the outcome; all sum to 1.
    low, high : ndarray of shape (n_candidates,)
        Bounds of what a line adds to the log-odds.
    columns : ndarray of int, shape (n_candidates,)
        Column that each line is about.
    required : frozenset of int
        Columns that must have points.
    n_lines, most_points : int
        Lines of a score and points of a line, at most.
    """

    lines: np.ndarray
    weights: np.ndarray
    low: np.ndarray
    high: np.ndarray
    columns: np.ndarray
    required: frozenset[int]
    n_lines: int
    most_points: int

    @property
    def with_outcome(self) -> np.ndarray:
        """Weight of the rows with the outcome."""
        _, weights = self.weights.T
        return weights

    @property
    def farthest(self) -> float:
        """Size of the intercept, at most: the mean prediction is the mean outcome."""
        without, with_outcome = self.weights.sum(axis=0)
        return self.n_lines * MOST_LOG_ODDS + abs(math.log(with_outcome / without))

    def cells(self, support: Iterable[int]) -> np.ndarray:
        """Weight of each class in each cell of a choice of lines, shape (2^k, 2)."""
        places = self.codes(support)
        size = 2 ** len(tuple(support))
        return np.column_stack([np.bincount(places, w, size) for w in self.weights.T])

    def codes(self, support: Iterable[int]) -> np.ndarray:
        """Cell of each row."""
        chosen = list(support)
        return (self.lines[:, chosen] @ (2 ** np.arange(len(chosen)))).astype(np.int64)

    def has_required(self, support: Iterable[int]) -> bool:
        """Whether every column that must have points has a line."""
        return self.required <= set(self.columns[list(support)].tolist())


class Scored(NamedTuple):
    """A score: its lines, their points, multiplier, intercept and loss."""

    lines: Support
    points: tuple[int, ...]
    scale: float
    intercept: float
    loss: float


class Fits(NamedTuple):
    """Fits of a batch: log-odds with the intercept last, losses and their bounds."""

    beta: np.ndarray
    loss: np.ndarray
    bound: np.ndarray


@cache
def cube(k: int) -> np.ndarray:
    """Lines of each cell, and a 1 for the intercept, shape (2^k, k + 1)."""
    bits = (np.arange(2**k)[:, None] >> np.arange(k)) & 1
    return np.column_stack([bits, np.ones(2**k)]).astype(float)


def fit(
    design: np.ndarray,
    cells: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    tol: float = PRECISION,
) -> Fits:
    """Minimise the losses of a batch in their boxes by a projected Newton method.

    Parameters
    ----------
    design : ndarray of shape (n_cells, m) or (n_batch, n_cells, m)
        What each coefficient is multiplied with.
    cells : ndarray of shape (n_batch, n_cells, 2)
        Weight of each class in each cell.
    low, high : ndarray of shape (n_batch, m)
        The boxes.
    tol : float
        Distance to the bound that is good enough.

    Returns
    -------
    Fits
        Bounds hold for any coefficients of the box, whether it has converged or not.
    """
    design = design.reshape(-1, *design.shape[-2:])
    arrays = (np.ascontiguousarray(a, dtype=float) for a in (design, cells, low, high))
    return Fits(*fit_boxes(*arrays, tol))


class Beam:
    """Choices of lines that were fitted, the promising ones after one another.

    Parameters
    ----------
    problem : Problem
        Rows and what scores may be.
    stopped : callable
        Whether to end.
    """

    def __init__(self, problem: Problem, stopped=lambda: False) -> None:
        self.problem, self.stopped = problem, stopped
        #: Choices of as many lines as there may be, with their losses.
        self.losses: dict[Support, float] = {}

    def run(self) -> None:
        """Add lines one by one, then exchange one at a time while that helps."""
        problem = self.problem
        size = min(problem.n_lines, problem.lines.shape[1])
        best: list[Support] = [()]
        for _ in range(size):
            losses = self.expand(best)
            best = sorted(losses, key=lambda one: (losses[one], one))[:_WIDTH]
        self.losses = losses
        done: set[Support] = set()
        for _ in range(_ROUNDS):
            order = sorted(self.losses, key=lambda one: (self.losses[one], one))
            fewer = [
                one[:place] + one[place + 1 :]
                for one in order[:_WIDTH]
                for place in range(size)
            ]
            parents = [one for one in dict.fromkeys(fewer) if one not in done]
            if not parents or self.stopped():
                break
            done |= set(parents)
            self.losses |= self.expand(parents)

    def expand(
        self, parents: list[Support], tried: int = _TRIED
    ) -> dict[Support, float]:
        """Losses of choices with one line more, the most promising of each parent."""
        problem, made = self.problem, {}
        size = len(parents[0])
        fits = self.fit(np.stack([problem.cells(one) for one in parents]), parents)
        codes = np.stack([problem.codes(one) for one in parents])
        z = np.matmul(cube(size), fits.beta[..., None])[..., 0]
        share = expit(np.take_along_axis(z, codes, axis=1))
        mass = problem.weights.sum(axis=1)
        slope = (mass * share - problem.with_outcome) @ problem.lines
        curved = mass * share * (1 - share)
        part = curved @ problem.lines
        spread = part * (1 - part / curved.sum(axis=1, keepdims=True))
        is_possible = np.where(slope < 0, problem.high > 0, problem.low < 0)
        gains = is_possible * slope**2 / np.maximum(spread, 1e-12)
        cells, children = [], []
        for parent, code, gain in zip(parents, codes, gains, strict=True):
            new = self._children(parent, gain, tried, made)
            if new:
                made |= dict.fromkeys(self._sorted(parent, new))
                children += [(*parent, j) for j in new]
                cells.append(self._divided(code, size, new))
        if not children:
            return {}
        losses = self.fit(np.concatenate(cells), children, _ROUGH).loss
        pairs = zip(children, losses.tolist(), strict=True)
        return {tuple(sorted(one)): loss for one, loss in pairs}

    @staticmethod
    def _sorted(parent: Support, new: list[int]) -> list[Support]:
        return [tuple(sorted((*parent, j))) for j in new]

    def _children(
        self, parent: Support, gain: np.ndarray, tried: int, made: dict
    ) -> list[int]:
        """Lines to add: those that promise most, where required columns still fit."""
        problem, new = self.problem, []
        missing = problem.required - set(problem.columns[list(parent)].tolist())
        is_needed = len(missing) >= problem.n_lines - len(parent)
        for j in np.argsort(-gain, kind="stable").tolist():
            if len(new) == tried:
                break
            if j in parent or (is_needed and problem.columns[j] not in missing):
                continue
            if tuple(sorted((*parent, j))) not in made:
                new.append(j)
        return new

    def _divided(self, code: np.ndarray, size: int, new: list[int]) -> np.ndarray:
        """Cells of a parent divided by each new line, which comes last."""
        member = np.zeros((2**size, len(code)))
        member[code, np.arange(len(code))] = 1.0
        lines, weights = self.problem.lines[:, new], self.problem.weights
        whole = member @ weights
        inside = np.stack([(member * w) @ lines for w in weights.T], axis=-1)
        inside = inside.swapaxes(0, 1)
        return np.concatenate([whole - inside, inside], axis=1)

    def fit(
        self, cells: np.ndarray, supports: list[Support], tol: float = PRECISION
    ) -> Fits:
        """Fit a batch of choices of equally many lines."""
        problem, chosen = self.problem, np.array(supports, dtype=int)
        chosen = chosen.reshape(len(supports), -1)
        box = np.full((len(supports), 1), problem.farthest)
        low = np.hstack([problem.low[chosen], -box])
        high = np.hstack([problem.high[chosen], box])
        return fit(cube(chosen.shape[1]), np.maximum(cells, 0.0), low, high, tol)


def fit_points(
    problem: Problem, points: np.ndarray, cells: np.ndarray, tol: float = PRECISION
) -> tuple[np.ndarray, np.ndarray]:
    """Multiplier and intercept of each vector of points, and its loss.

    Parameters
    ----------
    problem : Problem
        Rows and what scores may be.
    points : ndarray of int, shape (n_batch, k)
        Points of the lines.
    cells : ndarray of shape (n_batch, 2^k, 2)
        Weight of each class in each cell.
    tol : float
        Precision of the losses.

    Returns
    -------
    ndarray of shape (n_batch, 2), ndarray of shape (n_batch,)
    """
    totals = points @ cube(points.shape[1])[:, :-1].T
    design = np.stack([totals, np.ones_like(totals)], axis=2)
    most = MOST_LOG_ODDS / np.maximum(np.abs(points).max(axis=1), 1)
    box = np.full(len(points), problem.farthest)
    low, high = np.column_stack([0 * most, -box]), np.column_stack([most, box])
    fits = fit(design, cells, low, high, tol)
    return fits.beta, fits.loss


def rounded(problem: Problem, supports: list[Support]) -> list[Scored]:
    """The best rounding of each choice of lines that a few multipliers give, polished.

    Parameters
    ----------
    problem : Problem
        Rows and what scores may be.
    supports : list of tuple of int
        Choices of equally many lines.

    Returns
    -------
    list of Scored
        Those that have points for each required column; lines without points are left
        out.
    """
    cells = np.stack([problem.cells(one) for one in supports])
    beta = Beam(problem).fit(cells, supports).beta[:, :-1]
    most, scored = problem.most_points, []
    largest = np.maximum(np.abs(beta).max(axis=1, initial=0), 1e-9)[:, None, None]
    steps = np.linspace(1.0, most + 0.49, 3 * most)[None, :, None]
    points = np.clip(np.rint(beta[:, None] / largest * steps), -most, most)
    chosen = _best_of(problem, points, cells)
    moves = np.vstack([np.eye(beta.shape[1]), -np.eye(beta.shape[1])])
    bounds = [
        np.array([end[list(one)] for one in supports])
        for end in (problem.low, problem.high)
    ]
    for _ in range(20):
        near = np.clip(chosen[0][:, None] + moves, -most, most)
        allowed = np.where(near < 0, bounds[0][:, None] < 0, bounds[1][:, None] > 0)
        near = np.where(allowed | (near == 0), near, 0)
        near = np.concatenate([chosen[0][:, None], near], axis=1)
        better = _best_of(problem, near, cells)
        if (better[2] >= chosen[2] - _ROUGH).all():
            break
        chosen = better
    chosen = chosen[0], *fit_points(problem, chosen[0], cells)
    for support, points, fitted, loss in zip(supports, *chosen, strict=True):
        scored.append(_scored(support, points, fitted, loss))
    return [one for one in scored if problem.has_required(one.lines)]


def _best_of(problem: Problem, points: np.ndarray, cells: np.ndarray):
    """Best vector of points of each choice of lines, its fit and its loss."""
    n_choices, n_vectors, k = points.shape
    fitted, losses = fit_points(
        problem, points.reshape(-1, k), np.repeat(cells, n_vectors, axis=0), _ROUGH
    )
    best = losses.reshape(n_choices, -1).argmin(axis=1)
    rows = np.arange(n_choices)
    at = rows * n_vectors + best
    return points[rows, best], fitted[at], losses[at]


def _scored(support: Support, points: np.ndarray, fitted, loss) -> Scored:
    """A score without lines of no points, in the smallest whole numbers."""
    pairs = zip(support, points.astype(int).tolist(), strict=True)
    pairs = sorted((line, p) for line, p in pairs if p)
    common = math.gcd(*(p for _, p in pairs)) or 1
    lines = tuple(line for line, _ in pairs)
    small = tuple(p // common for _, p in pairs)
    scale, intercept = float(fitted[0]) * common, float(fitted[1])
    return Scored(lines, small, scale, intercept, float(loss))


def exact(problem: Problem, support: Support, ceiling: float) -> Scored | None:
    """The best points of a choice of lines, if their loss is at most a ceiling.

    The losses with one log-odds fixed are a convex profile: beyond pieces where its
    bound exceeds the ceiling no score can be. Points that no multiplier brings into the
    intervals of all lines are left out, the others are all fitted.

    Parameters
    ----------
    problem : Problem
        Rows and what scores may be.
    support : tuple of int
        Lines that may have points.
    ceiling : float
        Largest loss that is asked for.

    Returns
    -------
    Scored or None

    Raises
    ------
    OverflowError
        If there are too many vectors of points.
    """
    cells = problem.cells(support)
    intervals = _profile(problem, support, cells, ceiling)
    if intervals is None:
        return None
    points = _vectors(*intervals, problem.most_points)
    needed = problem.required
    for column in needed:
        mine = problem.columns[list(support)] == column
        points = points[(points[:, mine] != 0).any(axis=1)]
    best = None
    for part in np.array_split(points, -(-len(points) // 20_000) or 1):
        if len(part):
            fitted, losses = fit_points(
                problem, part, np.repeat(cells[None], len(part), 0)
            )
            at = int(losses.argmin())
            if losses[at] <= ceiling and (best is None or losses[at] < best.loss):
                best = _scored(support, part[at], fitted[at], losses[at])
    return best


def _profile(problem: Problem, support: Support, cells: np.ndarray, ceiling: float):
    """Interval of the log-odds of each line outside of which the loss is larger."""
    k, chosen = len(support), list(support)
    fitted = Beam(problem).fit(cells[None], [support])
    if fitted.bound[0] > ceiling:
        return None
    box = problem.low[chosen], problem.high[chosen]
    at = [
        np.unique([*np.linspace(*pair, _PIECES + 1), beta])
        for pair, beta in zip(np.transpose(box), fitted.beta[0], strict=False)
    ]
    sizes = [len(one) for one in at]
    low = np.tile([*box[0], -problem.farthest], (sum(sizes), 1))
    high = np.tile([*box[1], problem.farthest], (sum(sizes), 1))
    which = np.repeat(np.arange(k), sizes)
    rows = np.arange(len(which))
    low[rows, which] = high[rows, which] = np.concatenate(at)
    repeated = np.repeat(cells[None], len(which), axis=0)
    bound = fit(cube(k), repeated, low, high).bound
    intervals = []
    for line in range(k):
        beta, grid = fitted.beta[0, line], at[line]
        is_out = bound[which == line] > ceiling
        intervals.append(
            (
                max(grid[is_out & (grid < beta)], default=box[0][line]),
                min(grid[is_out & (grid > beta)], default=box[1][line]),
            )
        )
    return np.array(intervals).T


def _vectors(low: np.ndarray, high: np.ndarray, most: int) -> np.ndarray:
    """Points that some multiplier brings between low and high, line by line."""
    points, scales = np.zeros((1, 0)), np.array([[0.0, MOST_LOG_ODDS]])
    values = np.arange(-most, most + 1.0)
    for below, above in zip(low, high, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.where(values > 0, below / values, above / values)
            last = np.where(values > 0, above / values, below / values)
        can_be_zero = below <= 0.0 <= above
        first[values == 0] = 0.0 if can_be_zero else np.inf
        last[values == 0] = np.inf if can_be_zero else 0.0
        start = np.maximum(scales[:, [0]], first)
        end = np.minimum(scales[:, [1]], last)
        row, value = np.nonzero((start <= end * (1 + 1e-12)) & (end > 0))
        if len(row) > _MOST_VECTORS:
            raise OverflowError("too many vectors of points")
        points = np.hstack([points[row], values[value][:, None]])
        scales = np.column_stack([start[row, value], end[row, value]])
    return points


def relaxation(problem: Problem, state: np.ndarray, n_steps: int = 150) -> Cut:
    """A bound of every score, from the relaxation of a part of the search.

    Lines that are in, and parts of free ones that sum to what is left of `n_lines`:
    minimised by accelerated projected steps. The bound holds wherever these end.

    Parameters
    ----------
    problem : Problem
        Rows and what scores may be.
    state : ndarray of int, shape (n_candidates,)
        `IN`, `OUT` or `FREE`.
    n_steps : int
        Steps.

    Returns
    -------
    Cut
    """
    used = np.flatnonzero(state != OUT)
    design = np.column_stack([problem.lines[:, used], np.ones(len(problem.lines))])
    mass = problem.weights.sum(axis=1)
    free, left = state[used] == FREE, problem.n_lines - np.count_nonzero(state == IN)
    box = problem.low[used], problem.high[used]
    # The curvature is at most a quarter of the largest eigenvalue.
    scaled = design * np.sqrt(mass)[:, None]
    step = 4.0 / np.linalg.norm(scaled, 2) ** 2
    beta, before, t = np.zeros(len(used) + 1), np.zeros(len(used) + 1), 1.0
    for number in range(n_steps + 1):
        slope = design.T @ (mass * expit(design @ beta) - problem.with_outcome)
        if number == n_steps:
            break
        new = beta - step * slope
        new[:-1] = _projected(new[:-1], box, free, left)
        new[-1] = np.clip(new[-1], -problem.farthest, problem.farthest)
        after = (1 + math.sqrt(1 + 4 * t * t)) / 2
        beta = new + (t - 1) / after * (new - before)
        before, t = new, after
    z = design @ beta
    loss = mass @ np.logaddexp(0.0, z) - problem.with_outcome @ z
    constant = loss - slope @ beta - abs(slope[-1]) * problem.farthest
    whole = problem.lines.T @ (mass * expit(z) - problem.with_outcome)
    gains = np.maximum(-whole * problem.low, -whole * problem.high)
    return Cut(float(constant), gains[None])


def _projected(beta, box, free, left):
    """The nearest point of the box whose free part has so many lines at most."""
    inside = np.clip(beta, *box)
    most = left * MOST_LOG_ODDS
    if np.abs(inside[free]).sum() <= most:
        return inside
    low, high = 0.0, float(np.abs(beta[free]).max())
    for _ in range(40):
        middle = (low + high) / 2
        shrunk = np.sign(beta) * np.maximum(np.abs(beta) - middle, 0.0)
        shrunk = np.clip(shrunk, *box)
        if np.abs(shrunk[free]).sum() > most:
            low = middle
        else:
            high = middle
    shrunk = np.sign(beta) * np.maximum(np.abs(beta) - high, 0.0)
    return np.where(free, np.clip(shrunk, *box), inside)


@dataclass(eq=False)
class Proof:
    """Branch and bound over all choices of lines.

    Parameters
    ----------
    problem : Problem
        Rows and what scores may be.
    scores : dict of tuple of int to Scored
        Scores so far; what is better or new is added.
    within : float
        Scores are asked for whose loss is larger by at most this part of the best.
    stopped : callable
        Whether to end.
    """

    problem: Problem
    scores: dict[Support, Scored]
    within: float
    stopped: object = lambda: False
    #: Loss of the best score, at least.
    bound: float = 0.0
    #: Whether every score within the part of the best loss is among the scores.
    complete: bool = False
    #: Choices of lines whose points are not known to be the best.
    inexact: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Loss of the best score so far."""
        return min(one.loss for one in self.scores.values())

    @property
    def ceiling(self) -> float:
        """Largest loss that is asked for."""
        return (1 + self.within) * self.best + PRECISION

    def run(self, n_parts: int, progress=lambda share: None) -> None:
        """Look at so many parts of the search at most, the lowest bound first."""
        problem, number = self.problem, itertools.count()
        root = np.full((1, problem.lines.shape[1]), FREE)
        if root.shape[1] <= problem.n_lines:
            root[:] = IN
        parts = [(-np.inf, next(number), root, None)]
        for done in range(n_parts):
            if not parts or parts[0][0] > self.ceiling or self.stopped():
                break
            progress(done / n_parts)
            bound, _, state, leaf = heapq.heappop(parts)
            for child in self._divide(bound, state, leaf):
                if child[0] <= self.ceiling:
                    heapq.heappush(parts, (child[0], next(number), *child[1:]))
        lowest = min([parts[0][0] if parts else np.inf, *self.inexact])
        self.bound = max(0.0, min(lowest, self.best))
        self.complete = lowest > self.ceiling

    def _divide(self, bound: float, state: np.ndarray, leaf: Support | None):
        """What a part of the search consists of: bound, state, and lines if chosen."""
        problem = self.problem
        if leaf is not None:
            self._give_points(leaf, bound)
            return
        free = np.flatnonzero(state[0] == FREE)
        left = problem.n_lines - np.count_nonzero(state == IN)
        if not len(free) or math.comb(len(free), left) <= _ENUMERATED:
            yield from self._leaves(state, free.tolist(), left)
            return
        cut = relaxation(problem, state[0])
        for child in cut.children(state, problem.n_lines, self.ceiling):
            lower = max(bound, cut.bound(child, problem.n_lines))
            yield lower, child, None

    def _leaves(self, state: np.ndarray, free: list[int], left: int):
        """Every choice of lines of a part, with the bound of its loss."""
        problem = self.problem
        inside = np.flatnonzero(state[0] == IN).tolist()
        left = min(left, len(free))
        chosen = [
            tuple(sorted((*inside, *more)))
            for more in itertools.combinations(free, left)
        ]
        chosen = [one for one in chosen if problem.has_required(one)]
        for first in range(0, len(chosen), 1000):
            part = chosen[first : first + 1000]
            cells = np.stack([problem.cells(one) for one in part])
            bounds = Beam(problem).fit(cells, part).bound
            for one, bound in zip(part, bounds.tolist(), strict=True):
                yield bound, state, one

    def _give_points(self, support: Support, bound: float) -> None:
        """Find the best points of a choice of lines."""
        try:
            scored = exact(self.problem, support, self.ceiling)
        except OverflowError:
            self.inexact.append(bound)
            return
        if scored is not None:
            keep(self.scores, scored)


def keep(scores: dict[Support, Scored], scored: Scored) -> None:
    """Add a score, if none of the same lines is as good.

    Parameters
    ----------
    scores : dict of tuple of int to Scored
        Scores by their lines.
    scored : Scored
        A new one.
    """
    old = scores.get(scored.lines)
    if old is None or scored.loss < old.loss:
        scores[scored.lines] = scored


def search(problem: Problem, stopped=lambda: False) -> dict[Support, Scored]:
    """Scores of the beam with swaps: rounded, and the best ones with exact points.

    Parameters
    ----------
    problem : Problem
        Rows and what scores may be.
    stopped : callable
        Whether to end.

    Returns
    -------
    dict of tuple of int to Scored
        By lines; empty if none has every required column.
    """
    beam = Beam(problem, stopped)
    beam.run()
    order = sorted(beam.losses, key=lambda one: (beam.losses[one], one))[:_ROUNDED]
    scores: dict[Support, Scored] = {}
    for scored in rounded(problem, order) if order else ():
        keep(scores, scored)
    for support in order[:_WIDTH] if scores else ():
        best = min(one.loss for one in scores.values())
        if beam.losses[support] >= best or stopped():
            break
        try:
            scored = exact(problem, support, best)
        except OverflowError:
            continue
        if scored is not None:
            keep(scores, scored)
    return scores
