"""The smallest change of an input with which the model's answer would change.

Of linear models it is the nearest point beyond linear borders, by the sum of changes:
HiGHS finds it. Of any other model it is found by search. Numbers are rounded to the
digits that their columns have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from smpcore.datasets import Preparation
from smpcore.errors import SmpcoreError
from smpcore.explain.contributions import one_row
from smpcore.explain.flip_search import Search
from smpcore.model import PrototypeModel

#: Borders are crossed by so much, scaled units.
MARGIN = 1e-6
#: The solver's tolerance, which is less than the margin.
_FEASIBLE = 1e-7
_MILP_SECONDS = 2.0
#: No change takes more steps; counts of steps are exact but for this.
_FAR, _ROUNDING = 1e6, 1e-6


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """Half-spaces ``G @ move >= need`` within a box, rows of G of length 1.

    Parameters
    ----------
    G : ndarray of shape (n_borders, n_features)
    need : ndarray of shape (n_borders,)
    low, high : ndarray of shape (n_features,)
        Ends of the move, scaled units; 0 may lie outside of them.
    """

    G: np.ndarray
    need: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def holds(self, move: np.ndarray) -> bool:
        """Whether a move keeps to all borders."""
        return bool((self.G @ move >= self.need - _FEASIBLE).all())


@dataclass(frozen=True, eq=False)
class Grid:
    """Values that a change may end on, in scaled units from where it starts.

    Parameters
    ----------
    steps : ndarray of shape (n_features,)
        Between two such values; 0 where any value will do.
    offsets : ndarray of shape (n_features,)
        From the start to the next such value below it.
    groups : tuple of (first, width)
        Levels of one category: as many are 1 at the end as at the start.
    """

    steps: np.ndarray
    offsets: np.ndarray
    groups: tuple[tuple[int, int], ...]

    @property
    def columns(self) -> np.ndarray:
        """What a changed feature counts: of a category's levels two change."""
        columns = np.ones(len(self.steps))
        for first, width in self.groups:
            columns[first : first + width] = 0.5
        return columns


def nearest(
    borders: HalfSpaces, grid: Grid, relaxed: bool = False, few: float = np.inf
) -> tuple[np.ndarray | None, bool]:
    """Shortest move beyond the borders, to the grid unless that is relaxed.

    At most so many columns change. Also whether it is proved the shortest, or that
    there is none.
    """
    m, n = borders.G.shape
    used = (borders.G != 0).any(axis=0)
    for first, width in grid.groups:
        used[first : first + width] = True
    places = np.flatnonzero((grid.steps > 0) & used)
    many = len(places)
    steps, offsets = sparse.diags_array(grid.steps[places]), grid.offsets[places]
    limits = np.stack([borders.low, borders.high])
    # Unknowns: the way up and the way down, each at least 0; then how many steps, and
    # whether a value is left: one that is not on the grid need not be.
    low, high = np.hstack([limits, -limits[::-1]]).clip(0.0)
    counts = ((limits[:, places] - offsets) / grid.steps[places]).clip(-_FAR, _FAR)
    least, most = np.ceil(counts[0] - _ROUNDING), np.floor(counts[1] + _ROUNDING)
    on_grid, empty = offsets == 0, sparse.csr_array((m, 2 * many))
    least = np.where(on_grid, least, np.minimum(least, 0.0))
    most = np.where(on_grid, most, np.maximum(most, 0.0))
    chosen = sparse.eye_array(n, format="csr")[places]
    same = [chosen, -chosen, -steps, -sparse.diags_array(offsets)]
    stays = [sparse.csr_array((many, 2 * n)), sparse.eye_array(many)]
    rows = [
        LinearConstraint(sparse.hstack([borders.G, -borders.G, empty]), borders.need),
        LinearConstraint(sparse.hstack(same), 0.0, 0.0),
        LinearConstraint(sparse.hstack([*stays, -sparse.diags_array(most)]), ub=0.0),
        LinearConstraint(sparse.hstack([*stays, -sparse.diags_array(least)]), lb=0.0),
    ]
    for first, width in grid.groups:
        levels = (places >= first) & (places < first + width)
        sums = np.r_[np.zeros(2 * n), levels, np.zeros(many)]
        rows.append(LinearConstraint(sums, 0.0, 0.0))
    if few < np.inf:
        counted = np.r_[np.zeros(2 * n + many), grid.columns[places]]
        rows.append(LinearConstraint(counted, ub=few))
        on_grid = np.zeros(many)
    solution = milp(
        np.r_[np.ones(2 * n), np.zeros(2 * many)],
        integrality=np.r_[np.zeros(2 * n), np.full(2 * many, not relaxed)],
        bounds=Bounds(np.r_[low, least, on_grid], np.r_[high, most, np.ones(many)]),
        constraints=rows,
        options={"time_limit": _MILP_SECONDS},
    )
    if solution.x is None or (relaxed and solution.status):
        return None, solution.status == 2
    move = solution.x[:n] - solution.x[n : 2 * n]
    if not relaxed:
        n_steps, leaves = solution.x[2 * n :].round().reshape(2, many)
        move[places] = steps @ n_steps + offsets * leaves
        move = np.clip(move, borders.low, borders.high)
        move = move if borders.holds(move) else None
    return move, solution.status == 0


#: Digits beyond those of its column that a number may need to be past the border.
_MORE_DIGITS = 10
#: Changes up to this size, in standard deviations, are rounding of a solver.
_NOISE = 1e-10


def rounded(
    model: PrototypeModel,
    x: np.ndarray,
    moved: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    preparation: Preparation,
    orders: np.ndarray,
) -> np.ndarray:
    """Changed numbers with the digits of their columns, past the border, in order."""
    before, (low, high) = model.decide(model.scores(x[None]))[0], limits
    numbers = {i.first: i.decimals for i in preparation.inputs if i.kind == "number"}
    units, noise = np.ones(len(x)), _NOISE * model.scale
    for spec in preparation.inputs:
        units[spec.features] = 10.0**spec.decimals
    # What is off by a solver's rounding only would be rounded to a whole digit.
    for exact in (x, np.rint(moved * units) / units):
        moved = np.where(np.abs(moved - exact) > noise, moved, exact)
    places = [f for f in numbers if moved[f] != x[f]]
    up = moved > x

    def flips(row: np.ndarray) -> bool:
        is_other = model.decide(model.scores(row[None]))[0] != before
        return is_other and bool(in_order(row, orders, model.scale))

    for more in range(_MORE_DIGITS):
        outer, inner = moved.copy(), moved.copy()
        for f in places:
            args = numbers[f] + more, low[f], high[f]
            outer[f] = on_grid(moved[f], up[f], *args)
            inner[f] = on_grid(moved[f], not up[f], *args)
        if flips(outer):
            break
    else:
        return moved
    inner = np.where(up, np.maximum(inner, x), np.minimum(inner, x))
    inner = np.where((inner < low) | (inner > high), outer, inner)
    # Where the other numbers go far enough, one stays on this side.
    for f in sorted(places, key=lambda f: -abs(outer[f] - moved[f]) / model.scale[f]):
        nearer = outer.copy()
        nearer[f] = inner[f]
        outer = nearer if flips(nearer) else outer
    return outer


def on_grid(value: float, up: bool, decimals: int, low: float, high: float) -> float:
    """The next number with so many digits, above or below, but within the ends."""
    number = _cut(value, up, decimals)
    if number > high:
        return _cut(high, False, decimals)
    return _cut(low, True, decimals) if number < low else number


def _cut(value: float, up: bool, decimals: int) -> float:
    """The next number with so many digits after the point, above or below."""
    if not abs(value) * 10.0**decimals < 2**53:  # a float has no more digits
        return value
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    exact = Decimal(repr(float(value)))  # 2.3 is 2.3, and not a little less
    return float(exact.quantize(Decimal(1).scaleb(-decimals), rounding))


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A change with which the model's answer would change.

    Parameters
    ----------
    x : ndarray of shape (n_features,), user's units
        The input after the change.
    before, after : int
        Class numbers of the answers.
    length : float
        Sum of the changes (Manhattan distance), scaled units.
    exact : bool
        Whether it is proved to be the smallest change that ends within the bounds, on
        values with the digits of their columns.
    description : str
        How it was found, in words.
    """

    x: np.ndarray
    before: int
    after: int
    length: float
    exact: bool
    description: str


def counterfactual(
    model: PrototypeModel,
    x: np.ndarray,
    *,
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
    frozen: Sequence[int] | None = None,
    preparation: Preparation | None = None,
    X: np.ndarray | None = None,
    few: int = 0,
) -> Counterfactual | None:
    """Find the smallest change of x with which the answer would change.

    The changes of all features, in scaled units, are summed (Manhattan distance): few
    columns change. Exact for linear models: one linear program for each piece of a
    rival's score. Other models are searched, and the shortest of all results is given:
    of single columns, of pairs of those that help most, and of columns of the nearest
    rows of X with other answers. With X and a preparation the numbers that all rows of
    X have in the same order (`kept_orders`) stay so, if x has them so.

    Parameters
    ----------
    model : PrototypeModel
        Classifier whose answer should change.
    x : ndarray of shape (n_features,), user's units
        The input to start from; every value is finite.
    bounds : (low, high) of ndarray of shape (n_features,), optional
        Range of each feature after the change, user's units. Where x lies outside, the
        change brings it back in; a feature that is frozen, or that the model does not
        use, stays.
    frozen : sequence of int, optional
        Features that stay as they are; of a category all of them or none. By default
        those of the columns that cannot be changed (`Preparation.fixed_features`).
    preparation : Preparation, optional
        With it, categories change as a whole, and numbers to values with the digits
        that their column has; with more of them only where these do not give another
        answer.
    X : ndarray of shape (n_samples, n_features), optional
        Training rows, for the search and for what stays in order.
    few : int, default 0
        Of linear models: if the smallest change takes more columns of `preparation`
        than this, the smallest one is given that takes no more, where there is any.
        0: any number.

    Returns
    -------
    Counterfactual or None
        None if no such change was found within the bounds.

    Raises
    ------
    SmpcoreError
        If x has another shape, or the model is a regression.
    """
    if model.classes is None:
        raise SmpcoreError("A regression has no answer that could flip.")
    x = one_row(model, x)[0]
    if frozen is None:
        frozen = () if preparation is None else preparation.fixed_features
    limits = limits_of(model, x, bounds, frozen, preparation)
    orders = np.zeros((0, 2), np.int64)
    if X is not None and preparation is not None:
        orders = kept_orders(X, preparation)
    return smallest_change(model, x, limits, preparation, X, few, orders)


def smallest_change(
    model: PrototypeModel,
    x: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    preparation: Preparation | None,
    X: np.ndarray | None,
    few: int,
    orders: np.ndarray,
) -> Counterfactual | None:
    """Find what `counterfactual` finds, where limits and orders are known already."""
    for row in (x, np.clip(x, *limits)):
        orders = orders_of(row, orders, model.scale)
    if is_solved(model):
        result = _linear(model, x, limits, _grid(model, x, preparation), few, orders)
    else:
        result = _searched(model, x, limits, preparation, X, orders)
    if result is None:
        return None
    moved, exact, description = result
    moved = np.clip(moved, *limits)
    if preparation is not None:
        moved = rounded(model, x, moved, limits, preparation, orders)
        moved = _without_idle(model, x, moved, limits, preparation, orders)
    before, after = (int(model.decide(model.scores(r[None]))[0]) for r in (x, moved))
    if before == after:
        return None
    length = float(np.abs((moved - x) / model.scale).sum())
    return Counterfactual(moved, before, after, length, exact, description)


#: Numbers that are compared with each other, at most; and how rarely chance may have
#: put any two of them in order.
_MOST_ORDERED, _BY_CHANCE = 100, 1e-3


def kept_orders(X: np.ndarray, preparation: Preparation) -> np.ndarray:
    """Find numbers that are never above another one, such as a mean and a maximum.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), user's units
        Training rows.
    preparation : Preparation
        It says which features are numbers.

    Returns
    -------
    ndarray of int, shape (n_pairs, 2)
        Of each pair the first feature is at most the second in every row, where
        independent columns with these values would keep to that in one of 1,000 tables
        at most, all pairs together.
    """
    specs = [spec for spec in preparation.inputs if spec.kind == "number"]
    numbers = np.array([spec.first for spec in specs[:_MOST_ORDERED]], dtype=np.int64)
    columns, pairs = X[:, numbers], []
    ranked, limit = np.sort(columns, axis=0), np.log(_BY_CHANCE)
    limit -= np.log(max(1, len(numbers) * (len(numbers) - 1)))
    for place, lower in enumerate(columns.T):
        for other in np.flatnonzero((lower[:, None] <= columns).all(axis=0)):
            below = np.searchsorted(ranked[:, other], lower).mean() / len(X)
            if other != place and len(X) * np.log1p(-below) < limit:
                pairs.append((numbers[place], numbers[other]))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def in_order(rows: np.ndarray, orders: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Whether each row keeps all pairs in order, but for a solver's rounding."""
    lower, upper = orders[..., 0], orders[..., 1]
    above = (rows[..., upper] - rows[..., lower]) / np.maximum(
        scale[lower], scale[upper]
    )
    return (above >= -MARGIN).all(axis=-1)


def orders_of(x: np.ndarray, orders: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The pairs of `kept_orders` that a row itself keeps in order."""
    return orders[in_order(x, orders[:, None], scale)]


def _without_idle(model, x, moved, limits, preparation, orders) -> np.ndarray:
    """The row without changes that it does not need, such as a rounding's; in order."""
    start = np.clip(x, *limits)
    before = model.decide(model.scores(x[None]))[0]
    sizes = np.abs(moved - start) / model.scale
    for spec in sorted(preparation.inputs, key=lambda one: sizes[one.features].sum()):
        trial = moved.copy()
        trial[spec.features] = start[spec.features]
        is_other = model.decide(model.scores(trial[None]))[0] != before
        if is_other and in_order(trial, orders, model.scale):
            moved = trial
    return moved


def is_solved(model: PrototypeModel) -> bool:
    """Whether changes of a model are solved by linear programs, not searched."""
    return model.is_linear and not model.code_size


def changed_columns(
    model: PrototypeModel, preparation: Preparation, x: np.ndarray, flip: Counterfactual
) -> list[dict[str, Any]]:
    """What a flip changes, a line per table column, the largest change first.

    Parameters
    ----------
    model : PrototypeModel
        Classifier whose answer changes.
    preparation : Preparation
        Preparation that maps its features to table columns.
    x : ndarray of shape (n_features,), user's units
        The input before the change.
    flip : Counterfactual
        Result of `counterfactual` for x.

    Returns
    -------
    list of dict
        ``column``, ``now`` and ``then`` as text that reads back as the very value,
        ``change in standard deviations`` of a number (the length, of a category).
    """
    change_in_units, lines = (flip.x - x) / model.scale, []
    for spec in preparation.inputs:
        part = change_in_units[spec.features]
        if np.abs(part).max(initial=0.0) > 1e-12:
            change = part[0] if spec.kind == "number" else np.abs(part).sum()
            lines.append(
                {
                    "column": spec.name,
                    "now": spec.text(x),
                    "then": spec.text(flip.x),
                    "change in standard deviations": float(change),
                }
            )
    size = "change in standard deviations"
    return sorted(lines, key=lambda line: -abs(line[size]))


def limits_of(model, x, bounds, frozen, preparation) -> tuple[np.ndarray, np.ndarray]:
    """Ends of every feature in the user's units; of an unused one, x is within."""
    low, high = np.full(
        (2, len(x)), [[-np.inf], [np.inf]] if bounds is None else bounds
    )
    idle = ~model.support
    low[idle] = high[idle] = x[idle]
    for spec in () if preparation is None else preparation.inputs:
        if spec.kind == "category":
            low[spec.features], high[spec.features] = 0.0, 1.0
    still = list(frozen)
    low[still] = high[still] = x[still]
    return low, high


def _grid(
    model: PrototypeModel, x: np.ndarray, preparation: Preparation | None
) -> Grid:
    """Levels are 0 or 1, numbers have the digits of their columns or stay."""
    steps, groups = np.zeros(len(x)), []
    for spec in () if preparation is None else preparation.inputs:
        if spec.kind == "number":
            steps[spec.first] = 10.0**-spec.decimals
        elif spec.kind == "category":
            steps[spec.features] = 1.0
            if spec.dropped < 0:
                groups.append((spec.first, spec.width))
    count = x / np.where(steps > 0, steps, 1.0)
    is_on_grid = np.isclose(count, count.round(), rtol=1e-12, atol=1e-9)
    below = np.where(is_on_grid, 0.0, np.floor(count) - count) * steps
    return Grid(steps / model.scale, below / model.scale, tuple(groups))


def pieces(model: PrototypeModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Linear pieces of a linear model's scores, in scaled units."""
    weights, bias = model.weights, model.bias
    if model.pooling == "sum":
        constants = model.votes.T @ bias + model.intercept
        return model.votes.T @ weights, constants, np.arange(model.n_outputs)
    which, prototype_labels = np.nonzero(model.votes)
    return (
        weights[which],
        bias[which] + model.intercept[prototype_labels],
        prototype_labels,
    )


def _linear(model, x, limits, grid, few, orders) -> tuple[np.ndarray, bool, str] | None:
    """One program per piece of a rival; the shortest of their answers."""
    weights, constants, prototype_labels = pieces(model)
    start = (x - model.center) / model.scale
    start_scores = weights @ start + constants
    answer = model.decide(model.scores(x[None]))[0]
    current = prototype_labels == answer
    low, high = ((end - x) / model.scale for end in limits)
    rivals = []
    # A class behind the answer in order has to lead by more than `tie`.
    start_scores = start_scores - model.tie * (prototype_labels > answer)
    for piece in np.flatnonzero(~current):
        borders = _borders(weights, start_scores, piece, current, low, high)
        if borders is None:
            continue
        borders = _with_orders(borders, x, model.scale, orders)
        move, _ = nearest(borders, grid, relaxed=True)
        if move is not None:
            rivals.append((float(np.abs(move).sum()), piece, borders, move))
    rivals.sort(key=lambda rival: rival[:2])
    if not rivals:
        return None
    if not grid.steps.any():
        return x + rivals[0][3] * model.scale, True, "the smallest change there is"
    result = _on_grid(model, x, rivals, grid)
    if few and result and grid.columns @ (result[0] != x) > few:
        return _on_grid(model, x, rivals, grid, few) or result
    return result


def _on_grid(model, x, rivals, grid, few=np.inf) -> tuple[np.ndarray, bool, str] | None:
    """The shortest move to the grid; rivals are sorted by their lower bounds."""
    best, shortest, proved = None, np.inf, True
    for bound, _, borders, _ in rivals:
        if bound >= shortest:
            break
        move, is_proved = nearest(borders, grid, few=few)
        proved &= is_proved
        if move is not None and (length := float(np.abs(move).sum())) < shortest:
            best, shortest = x + move * model.scale, length
    if best is None:
        return None
    limit = f" that takes at most {few} columns" if 0 < few < np.inf else ""
    if proved:
        return best, True, f"the smallest change there is in the columns' digits{limit}"
    gap = 100 * (shortest / max(rivals[0][0], 1e-300) - 1)
    return best, False, f"at most {gap:.0f} % above the smallest change there is{limit}"


def _borders(weights, scores, piece, current, low, high) -> HalfSpaces | None:
    """Where this piece exceeds all pieces of the current answer."""
    rows = weights[piece] - weights[current]
    behind = scores[current] - scores[piece]
    size = np.linalg.norm(rows, axis=1)
    same_plane = size <= 1e-12 * (1 + np.linalg.norm(weights[piece]))
    if (behind[same_plane] >= 0).any():
        return None
    rows, size, behind = rows[~same_plane], size[~same_plane], behind[~same_plane]
    return HalfSpaces(rows / size[:, None], behind / size + MARGIN, low, high)


def _with_orders(borders, x, scale, orders) -> HalfSpaces:
    """The same half-spaces, and those in which each pair of numbers is in order."""
    places, (lower, upper) = np.arange(len(orders)), orders.T
    rows = np.zeros((len(orders), len(x)))
    rows[places, upper], rows[places, lower] = scale[upper], -scale[lower]
    size = np.hypot(scale[upper], scale[lower])
    need = np.minimum(0.0, x[lower] - x[upper]) / size
    return replace(
        borders,
        G=np.vstack([borders.G, rows / size[:, None]]),
        need=np.concatenate([borders.need, need]),
    )


def _searched(
    model, x, limits, preparation, X, orders
) -> tuple[np.ndarray, bool, str] | None:
    """The shortest of all searched changes, numbers with their columns' digits."""
    if X is None or not len(X):
        raise SmpcoreError("X should hold training rows: this model is searched.")
    search = Search(
        model,
        np.clip(x, *limits),
        int(model.decide(model.scores(x[None]))[0]),
        limits,
        preparation,
        partial(in_order, orders=orders, scale=model.scale),
    )
    # The way back into the bounds is gone in any case.
    if search.flips(search.x[None])[0]:
        return search.x, True, "the smallest change there is"
    rows = search.changes(X)
    for make_shorter in (False, True):
        if make_shorter:
            rows = [*rows, *map(search.shortened, rows)]
        if preparation is not None:
            rows = [rounded(model, x, row, limits, preparation, orders) for row in rows]
    if not len(rows):
        return None
    best = int(search.lengths(np.array(rows)).argmin())
    return rows[best], False, "the smallest that was found"
