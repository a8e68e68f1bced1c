"""How rows find their prototypes: annealing first, then the best one, repeatedly."""

from __future__ import annotations

import numpy as np

from smpcore.methods.mprotsvm.descent import Descent
from smpcore.methods.mprotsvm.monitor import Certificate, Monitor
from smpcore.methods.mprotsvm.problem import SVMState

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
    descent: Descent, temperature: float, cooling: float, monitor: Monitor
) -> None:
    """Tie rows to prototypes by chance, less and less so."""
    while temperature > COLD and not descent.stop[0]:
        monitor.add(descent.certify(), descent.n_sweeps, descent.recorded)
        descent.tie(drawn_assignment(descent, temperature))
        descent.full_sweep()
        temperature *= cooling


def alternate(
    descent: Descent, max_sweeps: int, monitor: Monitor
) -> tuple[SVMState, Certificate, np.ndarray, bool]:
    """Solve for the assignments, tie every row to its best prototype, and again.

    Rows move as soon as that pays: when the objective with best assignments falls
    below the lowest so far. The end is a certified solution from which no move pays.
    """
    kept, lowest = None, np.inf
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
        certified = kept is not None and kept[1].gap <= descent.tol * kept[1].objective
        if kept is None or improved or (is_done and not certified):
            kept = descent.save(), now, descent.scores.copy()
        if is_done or over:
            return *kept, is_done
        lowest = min(lowest, now.free)
        far = SPARED * now.gap / descent.limits.sum()
        if descent.single and (descent.psi > far).any():
            descent.polish(POLISH_ONE, far)
            continue
        if improved:
            descent.tie(assign)
        descent.full_sweep()
        descent.polish(POLISH, 0.2 * descent.tol)
