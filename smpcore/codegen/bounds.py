"""Reader: how far rounding takes float32 scores from those of the float64 model.

Running error analysis with the standard model of floating point ([1]_ eq. 3.5): each
operation is given values and how far they can be off, and says so of its own. With unit
roundoff u = 2^-24, a sum of n numbers adds ``n u`` of the sum of their sizes, with room
for the second order.

References
----------
.. [1] N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. (2002).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from smpcore.codegen import program
from smpcore.codegen.arithmetic import (
    CUTOFF,
    EXP2_ERROR,
    LEAST,
    MOST,
    ROOT_ERROR,
    UNIT,
    to_float32,
)
from smpcore.codegen.run import (
    DEPENDENT,
    EQUAL,
    FLAT,
    LITTLE,
    added,
    finished,
    input_values,
    run,
    term,
)

#: Rounding of the float64 model, which expands |x - z|^2 and so cancels digits.
OWN = 2.0**-46

# Features of length 1 are at most this far apart, whatever was rounded.
_APART = 2.01


class Bounded(NamedTuple):
    """Values without rounding (of similarities how large they can be), their errors,
    and the size that the float64 model rounds features at.
    """

    values: np.ndarray
    errors: np.ndarray
    reach: np.ndarray = np.empty(0)


def bounded(model: Any, rows: np.ndarray, until: type | None = None) -> Bounded:
    """Values and errors after a model's operations, or before the one of a type."""
    before = Bounded(input_values(model.inputs, rows), _input_rounding(model, rows))
    for operation in model.operations:
        if until is not None and isinstance(operation, until):
            break
        before = _bounds(operation, model, rows, before)
    return before


def _input_rounding(model: Any, rows: np.ndarray) -> np.ndarray:
    """How far ``x - offset`` can be off before any float32 arithmetic."""
    rounding = np.zeros(rows.shape)
    for place, entry in enumerate(model.inputs):
        if entry.kind == "number":
            x = entry.filled(rows[:, place])
            own = 2.0**-48 * (np.abs(x) + abs(entry.offset))
            rounding[:, place] = np.abs(x - to_float32(x)) + own
    return rounding


@singledispatch
def _bounds(
    operation: program.Operation, model: Any, rows: np.ndarray, before: Bounded
):
    """Values and errors behind an operation."""
    raise NotImplementedError(type(operation).__name__)


@_bounds.register
def _(operation: program.WeightedInputs, model: Any, rows: np.ndarray, before: Bounded):
    r"""With n terms in a row, rounding weights, bias, differences, products and sums
    costs at most ``(n + 4) u (|bias| + Σ|w||t|)``, and rounding the inputs themselves
    ``Σ|w||x - float32(x)|``.
    """
    n_terms = np.diff(operation.start)
    size = np.tile(np.abs(operation.bias.astype(np.float64)), (len(rows), 1))
    bound = np.tile(1e-44 * n_terms, (len(rows), 1))
    for row in range(operation.n_rows):
        for place, level, weight in operation.terms(row):
            heavy = float(abs(weight))
            size[:, row] += heavy * np.abs(term(before.values, place, level))
            bound[:, row] += heavy * before.errors[:, place]
    return Bounded(np.zeros(size.shape), bound + (n_terms + 4) * UNIT * size)


@_bounds.register
def _(operation: program.Features, model: Any, rows: np.ndarray, before: Bounded):
    values, errors, reach = [], [], []
    columns = zip(operation.input, operation.level, operation.factor, strict=True)
    for place, level, scale in columns:
        factor, entry = float(scale), model.inputs[place]
        value = factor * term(before.values, place, level)
        values.append(value)
        # Of the factor, the product, and the difference if there is any.
        rounded = (3.01 if entry.offset else 2.01) * UNIT
        errors.append(factor * before.errors[:, place] + rounded * np.abs(value))
        farthest = max(abs(entry.low), abs(entry.high), abs(entry.offset), 1)
        reach.append(factor * farthest)
    found = Bounded(np.array(values), np.array(errors), np.array(reach))
    if operation.normalise:
        found = _normalised(operation, found)
    elif operation.move is not None:
        move = operation.move.astype(np.float64)[:, None]
        moved, errors = found.values + move, found.errors
        errors = errors + 2.01 * UNIT * (np.abs(moved) + np.abs(move) + errors)
        found = Bounded(moved, errors, found.reach)
    return Bounded(found.values.T, found.errors.T, found.reach)


def _normalised(operation: program.Features, found: Bounded) -> Bounded:
    r"""Features of length 1, a row of the arrays each.

    With c the features before they get their length, each at most e_f off and
    :math:`E = \|e\|`: dividing by the length leaves an error of
    ``(e_f + |c_f| E / |c|) / (|c| - E)``, and the rounding of sum, root and product
    that of a few units more.
    """
    values, errors, reach = found
    d, move = operation.n_features, operation.move.astype(np.float64)[:, None]
    values = values + move
    size = np.abs(values)
    own = OWN * (size + reach[:, None])
    errors = errors + (1.01 * UNIT * (size + np.abs(move)) + own)
    if "mean" in operation.normalise:
        # The float64 model rounds its mean as well: OWN is far above that.
        mean = values.mean(axis=0)
        errors += errors.mean(axis=0) + (d + 3) * UNIT * size.mean(axis=0)
        values = values - mean
        errors += 1.01 * UNIT * np.abs(values)
    length, off = np.linalg.norm(values, axis=0), np.linalg.norm(errors, axis=0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exact = values / np.where(length > 0, length, 1.0)
        unit, room = np.abs(exact), length - off
        error = (errors + unit * off) / room
        rounded = (d + 3) * UNIT + ROOT_ERROR
        error += 1.01 * rounded * (unit + error)
        known = (room > 0.5 * length) & (room**2 > 2 * LEAST)
    error = np.where(known & (error < _APART), error, _APART)
    # Beyond the largest root float32 gives no number at all.
    error[:, ~((length + off) ** 2 < 0.5 * MOST)] = 1e60
    return Bounded(exact, error, np.ones(d))


@_bounds.register
def _(operation: program.Similarities, model: Any, rows: np.ndarray, before: Bounded):
    """Similarities and their errors; `values` are how large they can be."""
    step, finish, *_ = operation.kind
    if finish == "ratio":
        return _ratio_bounds(operation, before)
    if step == "exp2":
        return _each_exponential(operation, before)
    total = np.tile(operation.constant.astype(np.float64), (len(rows), 1))
    off = 2 * UNIT * np.abs(total)
    for value, error, reach, anchor in _columns(operation, before):
        total = total + added(step, value, anchor, np.float64(1))
        off += _step_error(step, value, anchor, error, reach)
        # A sum is rounded as it grows, not at the size it will have.
        off += UNIT * (np.abs(total) + off)
    error = _finish_error(finish, total, off, operation.degree)
    with np.errstate(over="ignore", invalid="ignore"):
        most = np.abs(finished(finish, total, operation.degree)) + error
    return Bounded(most, error)


def _columns(operation: program.Similarities, before: Bounded) -> Any:
    """Value, error and reach of each feature, and its entries of the anchors."""
    values, errors = before.values.T[:, :, None], before.errors.T[:, :, None]
    anchor = operation.anchor.T.astype(np.float64)
    return zip(values, errors, before.reach, anchor, strict=True)


def _step_error(
    step: str, value: np.ndarray, anchor: np.ndarray, error: np.ndarray, reach: float
) -> np.ndarray:
    """Error of what one feature adds to a total; `error` is that of the value."""
    size = np.abs(anchor)
    if step == "product":  # |a|e and the rounding of anchor and product
        size = size + 1e-45
        return size * error + 2.01 * UNIT * size * np.abs(value) + OWN * size * reach
    apart = np.abs(value - anchor)
    if step == "absolute":  # the errors of both sides and the difference's rounding
        off = error + UNIT * size
        return off + UNIT * (apart + off) + OWN * (np.abs(value) + size + reach)
    # 2|t - a|e + e^2 and the square's rounding
    off = error + UNIT * size + UNIT * apart
    own = OWN * (value**2 + anchor**2 + reach**2)
    return 2 * apart * off + off**2 + UNIT * (apart + off) ** 2 + own


def _finish_error(
    finish: str, total: np.ndarray, off: np.ndarray, degree: int
) -> np.ndarray:
    """Error of a similarity whose total is at most `off` away."""
    with np.errstate(over="ignore", invalid="ignore"):
        if finish == "exp2":  # 2^-u (2^off (1 + error of exp2) - 1), and the cutoff
            grown = np.expm1(np.log(2) * off + np.log1p(EXP2_ERROR))
            change = np.exp2(-total) * grown
            # Both similarities are at most 1, however far a total is off.
            return np.where(change < 1, change, 1) + 2.0 ** (1 - float(CUTOFF))
        # (|total| + off)^degree with its roundings, less |total|^degree
        size = np.abs(total)
        most = finished("power", size + off, degree) * (1 + 1.01 * degree * UNIT)
        return most - finished("power", size, degree) + 1e-44


def _each_exponential(operation: program.Similarities, before: Bounded) -> Bounded:
    """Bounds of each feature's own similarity, and of their sum."""
    alike = np.zeros((len(before.values), len(operation.anchor)))
    error = np.zeros(alike.shape)
    columns = zip(
        operation.share.astype(float), _columns(operation, before), strict=True
    )
    for share, (value, off, reach, anchor) in columns:
        total = added("square", value, anchor, np.float64(1))
        wrong = _step_error("square", value, anchor, off, reach)
        alike += share * np.exp2(-total)
        error += share * _finish_error("exp2", total, wrong, 1)
    rounded = (before.values.shape[1] + 3) * UNIT + EXP2_ERROR
    error += rounded * (alike + error) + 1e-44
    return Bounded(alike + error, error)


def _ratio_bounds(operation: program.Similarities, before: Bounded) -> Bounded:
    """Bounds of both sums, then of their ratio."""
    shape = len(before.values), len(operation.anchor)
    least, most, size, off = (np.zeros(shape) for _ in range(4))
    for t, error, reach, anchor in _columns(operation, before):
        least += np.minimum(t, anchor)
        most += np.maximum(t, anchor)
        size += np.abs(t) + np.abs(anchor)
        off += error + UNIT * np.abs(anchor) + 2.0**-46 * reach
    off += (before.values.shape[1] + 3) * UNIT * (size + off)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = least / most
        error = off * (1 + np.abs(ratio)) / (most - off)
        error += (2.02 * ROOT_ERROR + 3 * UNIT) * (np.abs(ratio) + error)
    # The float64 model divides by 1e-12 at least.
    known = (most - off > max(1e-12, 2 * LEAST)) & (most + off < 0.5 * MOST)
    error = np.where(known & (error < 1e30), error, 1e30)
    return Bounded(np.where(known, np.abs(ratio), 0.0) + error, error)


@_bounds.register
def _(operation: program.WeightedSums, model: Any, rows: np.ndarray, before: Bounded):
    most, error, _ = before
    mixing = np.abs(operation.mixing().astype(np.float64))
    n_added = np.count_nonzero(mixing, axis=0) + 4
    sums = np.abs(operation.bias.astype(np.float64)) + most @ mixing
    least = 1e-44 * (1 + most.max(axis=1))[:, None]
    return Bounded(
        np.zeros(sums.shape), error @ mixing + n_added * (UNIT * sums + least)
    )


@_bounds.register
def _(operation: program.SparseCode, model: Any, rows: np.ndarray, before: Bounded):
    values = input_values(model.inputs, to_float32(rows))
    first = model.operations[: model.operations.index(operation)]
    alike = run(first, values).astype(np.float64)
    limit, votes = operation.limit, np.abs(operation.votes.astype(np.float64))
    amount, error = code_bounds(operation.gram, alike, before.errors, limit)
    certain = np.isfinite(error).all(axis=1)
    error = np.where(certain[:, None], error, 0.0)
    bound = (error + (limit + 3) * UNIT * (amount + error)) @ votes + 1e-16
    bound += 4 * UNIT * operation.unrepresented  # of an input without a code
    return Bounded(np.zeros(bound.shape), np.where(certain[:, None], bound, np.inf))


class _Solved(NamedTuple):
    """Weights on a support I."""

    support: list[int]
    z: np.ndarray
    wrong: np.ndarray
    shares: np.ndarray
    cause: np.ndarray


def code_bounds(
    gram: np.ndarray, alike: np.ndarray, off: np.ndarray, limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Follow the greedy search, and bound the weights where every choice is certain.

    Both searches make the same choices where each one (which prototype enters, whether
    it depends on the others, that all weights are above 0, when to stop) has a margin
    larger than the rounding before it, and the tolerances of both agree on it.

    On a support I the weights solve G_I z = s_I. With backward error E of the
    factorisation, at most ``(4 k + 60) u sqrt(G_ii G_jj)`` for k entries ([1]_
    theorem 10.4, and the roots' own error), ``|z - z*| <= |G_I^-1| (off + E |z|)``,
    twice that for the second order. Slopes and objective are off by less: both are
    shares of z and s, which keep the sign of what is off.
    """
    gram = gram.astype(np.float64)
    amounts, errors = np.zeros(alike.shape), np.full(alike.shape, np.inf)
    for amount, error, s, e in zip(amounts, errors, alike, off, strict=True):
        if np.isfinite(s).all() and np.isfinite(e).all():
            found = _follow(gram, s, e, limit)
            if found is not None:
                support, z, wrong = found
                error[:] = 0.0
                amount[support], error[support] = z, wrong
    return amounts, errors


def _follow(
    gram: np.ndarray, s: np.ndarray, off: np.ndarray, limit: int
) -> tuple[list[int], np.ndarray, np.ndarray] | None:
    """Support, weights and their errors of one input; None if a choice is open."""
    now = _Solved([], np.zeros(0), np.zeros(0), np.zeros((0, len(s))), np.zeros(0))
    free = np.ones(len(s), dtype=bool)
    value, value_off = 0.0, 0.0
    flat = 1.01 * float(FLAT) * np.abs(s).max(initial=0.0)
    room = off.max(initial=0.0) + 4 * UNIT * np.abs(s).max(initial=0.0)
    near = float(EQUAL) * np.abs(s).max(initial=0.0) + np.array([-room, room])
    while True:
        support, z = now.support, now.z
        most = np.abs(s) + (z + now.wrong) @ np.abs(gram[support])
        rounded = (len(support) + 4) * UNIT * most
        slope_off = off + now.cause @ np.abs(now.shares) + rounded
        slope = np.where(free, -s + z @ gram[support], np.inf)
        if (slope > slope_off).all():
            return support, z, now.wrong
        j = _enters(slope, slope_off, near, flat)
        if j is None:
            return None
        free[j] = False
        depends = _depends(gram, now, j)
        if depends is None:
            return None
        if depends:
            continue
        now = _solve(gram, s, off, [*support, j])
        if now is None:
            return None
        support, most = now.support, now.z + now.wrong
        lower = -0.5 * s[support] @ now.z
        # s'(z - z*) is z'(what is off in G z = s): z keeps the objective flat.
        lower_off = 0.5 * (off[support] + now.cause) @ most
        lower_off += (limit + 3) * UNIT * (np.abs(s[support]) @ most)
        if len(support) == limit:
            return support, now.z, now.wrong
        room = value - lower - value_off - lower_off
        if not room > 1.01 * float(LITTLE) * (abs(lower) + lower_off):
            return None
        value, value_off = lower, lower_off


def _enters(
    slope: np.ndarray, off: np.ndarray, near: np.ndarray, flat: float
) -> int | None:
    """The lowest prototype with a slope equal to the lowest one; None: not certain."""
    free = np.isfinite(slope)
    low, high = np.where(free, slope - off, np.inf), np.where(free, slope + off, np.inf)
    within = (high <= low.min() + near[0]) & (high < -flat)
    if not within.any():
        # Of one alone it is certain where all others are farther above.
        within = np.arange(len(slope)) == slope.argmin()
        within &= high < min(np.delete(low, slope.argmin()).min(initial=np.inf), -flat)
    if not within.any():
        return None
    j = int(within.argmax())
    return j if (low[:j] > high.min() + near[1]).all() else None


def _depends(gram: np.ndarray, now: _Solved, j: int) -> bool | None:
    """Whether prototype j depends on a support; None where that is not certain.

    With w = G_I^-1 G_Ij the pivot is G_jj - w'G_Ij, and errors E of the whole of G
    change it by (-w, 1)'E (-w, 1); twice that for the second order.
    """
    support, w = now.support, now.shares[:, j]
    root = np.sqrt(np.diagonal(gram))
    off = 2 * _backward(len(support) + 1) * (np.abs(w) @ root[support] + root[j]) ** 2
    pivot, least = gram[j, j] - w @ gram[support, j], float(DEPENDENT) * gram[j, j]
    return bool(pivot < least) if abs(pivot - least) > off else None


def _backward(k: int) -> float:
    """Error of k rows of G, relative to sqrt(G_ii G_jj), that stands for rounding."""
    return (4 * k + 60) * UNIT


def _solve(
    gram: np.ndarray, s: np.ndarray, off: np.ndarray, support: list[int]
) -> _Solved | None:
    """Weights on a support and their errors; None where that is not certain."""
    part, backward = gram[np.ix_(support, support)], _backward(len(support))
    root = np.sqrt(np.diagonal(part))
    try:
        inverse = np.linalg.inv(part)
    except np.linalg.LinAlgError:
        return None
    size = np.abs(inverse)
    # The second order is below the first where this holds.
    if not 2 * backward * (root @ size @ root) < 0.5:
        return None
    z = inverse @ s[support]
    wrong = 2 * size @ (off[support] + backward * root * (root @ np.abs(z)))
    cause = off[support] + backward * root * (root @ (np.abs(z) + wrong))
    if not (z > wrong).all():
        return None
    return _Solved(support, z, wrong, inverse @ gram[support], 1.01 * cause)
