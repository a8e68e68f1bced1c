"""Every choice of features of SMaLL's prototypes that is nearly as good as the best.

Branch and bound: a node says of each weight whether it is in, out or free. The
relaxation there bounds every model below it, and its dual point bounds the models of
every other node as well: weights that could only be in, or out, are fixed at once.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from smpcore.methods.smallk.fit import Start, TaskSearch
from smpcore.methods.smallk.problem import Solution
from smpcore.model import PrototypeModel
from smpcore.solvers.branching import FREE, IN, OUT
from smpcore.solvers.iterations import ITERATION_LIMIT

#: Precision of a refit that is listed, and of the bound of a node.
EXACT, ROUGH = 1e-8, 1e-3


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Choices of features whose refit is nearly as good as the best, the best first.

    Parameters
    ----------
    supports : list of tuple of tuple of int
        Features of each prototype of the positive class, as `supports` of the
        estimator takes them. A prototype keeps its training rows throughout: the same
        sets in another order are another model.
    objectives : ndarray of shape (n_alternatives,)
        Objective of each refit, ascending.
    weights : ndarray of shape (n_alternatives, n_prototypes, n_features)
        Refitted weights per standard deviation.
    complete : bool
        Whether there are no others: the bound of every open node exceeds `ceiling`.
    ceiling : float
        Largest objective that is asked for: 1 + `within` times the best.
    proved : float
        All choices whose objective is above the best by less than this part of it are
        listed; `within` if the list is complete, 0 if it is empty.
    build : callable
        Place of an alternative -> its model.
    """

    supports: list[tuple[tuple[int, ...], ...]]
    objectives: np.ndarray
    weights: np.ndarray
    complete: bool
    ceiling: float
    proved: float
    build: Callable[[int], PrototypeModel] = field(repr=False)

    @cached_property
    def models(self) -> list[PrototypeModel]:
        """The refitted model of each choice of features."""
        return [self.build(place) for place in range(len(self.supports))]


class NearBest(NamedTuple):
    """Supports with their refits, ascending, and what is proved of all others."""

    refits: list[tuple[np.ndarray, Solution]]
    complete: bool
    ceiling: float
    proved: float


class Limits(NamedTuple):
    """How far a search for alternatives goes; see `SMaLLClassifier.alternatives`."""

    within: float
    most: int
    seconds: float


def near_best(
    search: TaskSearch, solutions: tuple[Solution, Solution], limits: Limits
) -> NearBest:
    """Every support whose refit is within a part of the best objective.

    ``solutions`` are the relaxation and the best refit known. Progress is how much of
    that part is proved: no open node can hold a support below its bound.
    """
    (relaxed, best), options, began = solutions, search.options, time.thread_time()
    k, first, number = search.parameters.k, search.task.first, itertools.count()
    ceiling = (1.0 + limits.within) * best.objective[-1]
    root = np.full((len(best.W), search.problem.n_features), FREE)
    root[:first] = OUT
    refits, unsure, proved = [], np.inf, 0.0
    # Bound, number (it decides ties), support, start; of a leaf its refit.
    nodes = [(-np.inf, next(number), root, relaxed.W, None)]
    while nodes and nodes[0][0] <= ceiling:
        if refits:
            lowest = refits[0][1].objective[-1]
            proved = max(0.0, min(nodes[0][0], unsure) / lowest - 1.0)
            options.progress[0] = min(1.0, proved / max(limits.within, 1e-300))
        # Of the processor: what is found does not depend on how busy the machine is.
        is_over = options.stopped or time.thread_time() - began > limits.seconds
        if is_over or len(refits) == limits.most:
            break
        bound, _, support, W, leaf = heapq.heappop(nodes)
        if leaf is not None:
            refits.append((support[first:] == IN, leaf))
            continue
        is_leaf = not (support == FREE).any()
        tol = EXACT if is_leaf else ROUGH
        solution = search.refit(support, Start(W, relaxed.curvature, ceiling), tol)
        objective = solution.objective[-1]
        bound = max(bound, objective - solution.gap[-1])
        if bound > ceiling:
            continue
        if is_leaf:
            ceiling = min(ceiling, (1.0 + limits.within) * objective)
            if objective > ceiling and solution.status == ITERATION_LIMIT:
                unsure = min(unsure, bound)
            heapq.heappush(nodes, (objective, next(number), support, W, solution))
            continue
        cut = search.cut(solution.W)
        for child in cut.children(support, k, ceiling):
            lower = max(bound, cut.bound(child, k))
            if lower <= ceiling:
                heapq.heappush(nodes, (lower, next(number), child, solution.W, None))
    complete = min(nodes[0][0] if nodes else np.inf, unsure) > ceiling
    return NearBest(refits, complete, ceiling, limits.within if complete else proved)
