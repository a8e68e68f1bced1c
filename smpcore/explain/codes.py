"""How the code of an input is steps: the greedy reconstruction, entry by entry."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.explain.contributions import one_row
from smpcore.model import PrototypeModel
from smpcore.solvers.nqp import grow, start_slope


@dataclass(frozen=True, eq=False)
class CodeState:
    """A code on its way: after one prototype has entered.

    Parameters
    ----------
    entered : int
        Prototype that entered; -1 for the empty code at the start.
    left : tuple of int
        Prototypes that left because their weights turned negative.
    weights : ndarray of shape (n_prototypes,)
        The code, at least 0.
    error : float
        ``|phi(x) - Phi U gamma|^2 / |phi(x)|^2``: share of the input's squared length
        in feature space that is not reconstructed.
    scores : ndarray of shape (n_outputs,)
        Score of each output with this code.
    winner : int
        Output with the largest score.
    """

    entered: int
    left: tuple[int, ...]
    weights: np.ndarray
    error: float
    scores: np.ndarray
    winner: int


def code_states(model: PrototypeModel, x: np.ndarray) -> tuple[CodeState, ...]:
    """Follow the search for the code of an input: which prototypes enter and leave.

    The steps are those of the solver itself (`smpcore.solvers.nqp`): the prototype
    along which the reconstruction error falls most steeply enters, then all weights are
    solved for again.

    Parameters
    ----------
    model : PrototypeModel
        Model with a code (`code_size` above 0).
    x : ndarray of shape (n_features,), user's units
        The input that is reconstructed; every value is finite.

    Returns
    -------
    tuple of CodeState
        The empty code first; the weights of the last are `model.activations`.

    Raises
    ------
    SmpcoreError
        If the model has no code.
    """
    if not model.code_size:
        raise SmpcoreError("Only a model with a code (code_size above 0) has steps.")
    rows = one_row(model, x)
    similarity = replace(model, code_size=0, gram=None).activations(rows)[0]
    gram = np.array(model.gram, order="C")  # compiled code wants it writable
    codes = _growing_codes(gram, -similarity, int(model.code_size))
    # Every kernel is 1 for an input with itself, and theirs are summed by weight.
    length = sum(model.similarity.weights) or 1.0
    states = []
    for entered, left, code in codes:
        error = 1.0 + float(code @ gram @ code - 2.0 * similarity @ code) / length
        scores = model.pool(code[None])
        winner = int(model.decide(scores)[0])
        states.append(
            CodeState(entered, left, code, max(error, 0.0), scores[0], winner)
        )
    return tuple(states)


def _growing_codes(
    Q: np.ndarray, c: np.ndarray, limit: int
) -> list[tuple[int, tuple[int, ...], np.ndarray]]:
    """What enters, what leaves and the code, at each step of `nqp_rows` for one c."""
    n = len(Q)
    limit = min(limit, n)
    support, blocked = np.empty(limit, np.int64), np.empty(n, np.int64)
    x, z, slope = np.empty(limit), np.empty(limit), np.empty(n)
    factor = np.empty((limit, limit))
    place, diagonal = np.arange(n), Q.diagonal().copy()
    flat = start_slope(c, slope)
    size, value, n_blocked, more = 0, 0.0, 0, True
    steps: list[tuple[int, tuple[int, ...], np.ndarray]] = [(-1, (), np.zeros(n))]
    while more and len(steps) <= 4 * limit + 20:
        before = steps[-1][2]
        size, value, n_blocked, more = grow(
            Q, place, diagonal, c, flat, support, x, size, value, slope, factor,
            blocked, n_blocked, z,
        )  # fmt: skip
        code = np.zeros(n)
        code[support[:size]] = x[:size]
        if np.array_equal(code, before):
            break
        entered = int(((code > 0) & (before == 0)).argmax())
        left = np.flatnonzero((before > 0) & (code == 0))
        steps.append((entered, tuple(left.tolist()), code))
    return steps
