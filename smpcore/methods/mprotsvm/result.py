"""A state of the multi-prototype SVM as a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from smpcore.methods.mprotsvm.kernel_gram import gather_gram
from smpcore.methods.mprotsvm.monitor import Certificate
from smpcore.methods.mprotsvm.problem import (
    SVMParameters,
    SVMProblem,
    SVMState,
    best_of_class,
    support_rows,
)
from smpcore.methods.mprotsvm.starts import best_fit
from smpcore.methods.shared.base import Fitted
from smpcore.methods.shared.problem import Problem, SolverOptions
from smpcore.methods.shared.recorded import Recorder, spread_trace
from smpcore.model import History, PrototypeModel, Trace


def recorded_trace(
    problem: Problem,
    recorder: Recorder,
    build: Callable[[Any, History], Fitted],
) -> Trace:
    """Recorded states and what makes models of them."""
    states, places = recorder.states, recorder.places
    if not states:
        return Trace()
    return spread_trace(problem, states, places, build, "best assignments")


def solve_in_memory(
    problem: SVMProblem,
    parameters: SVMParameters,
    options: SolverOptions,
    state: SVMState | None,
) -> tuple[Fitted, Certificate]:
    """Fit from all starts, keep the best, and leave out prototypes without rows."""
    best = best_fit(problem, parameters, options, state)
    options.progress[0] = 1.0
    trace = recorded_trace(
        problem, best.monitor.recorder, partial(fitted_state, problem)
    )
    history = best.monitor.history(best.finished, best.n_sweeps, trace)
    fitted = fitted_state(problem, (best.state, best.scores), history)
    state = replace(best.state, n_asked=fitted.n_asked)
    return replace(fitted, state=state), best.certificate


def fitted_state(
    problem: SVMProblem, solved: tuple[SVMState, np.ndarray], history: History
) -> Fitted:
    """Wrap a state without the prototypes that no row is tied to."""
    (final, scores), rows = solved, problem.row
    if not scores.size:
        scores = _scores(problem, final)
    kept = np.unique(final.assignment)
    prototype_labels = final.prototype_labels[kept]
    model, alive = _model(problem, (final, scores), kept, history)
    best = best_of_class(problem, prototype_labels, alive)
    merged = np.full(len(final.prototype_labels), -1)
    merged[kept] = np.arange(len(kept))
    return Fitted(
        model,
        state=None,
        assignment=np.where(rows >= 0, final.assignment[rows], kept[0]),
        n_asked=len(problem.prototype_labels),
        merged=merged,
        # A prediction compares with these rows: the user has to know which they are.
        anchor_rows=problem.chosen[np.flatnonzero(final.count)]
        if problem.precomputed
        else None,
        wins=np.bincount(best[rows[rows >= 0]], minlength=len(prototype_labels)),
        scores=_pooled(problem, model, alive),
    )


def _pooled(
    problem: SVMProblem, model: PrototypeModel, alive: np.ndarray
) -> np.ndarray | None:
    """Scores of the distinct rows, where the model would have to compare rows."""
    if problem.mapped is not None:
        return model.pool(problem.mapped @ alive.T)
    return None if problem.gram is None else model.pool(alive.T)


def _scores(problem: SVMProblem, state: SVMState) -> np.ndarray:
    """Score of each row on each prototype of a dual, beside a Gram matrix."""
    scores = np.zeros((len(state.prototype_labels), len(problem.y_encoded)))
    first = np.cumsum(state.count) - state.count
    dual = first, state.count, state.index, state.value
    gather_gram(problem.gram, state.assignment, *dual, scores)
    return scores


def _model(
    problem: SVMProblem,
    solved: tuple[SVMState, np.ndarray],
    kept: np.ndarray,
    history: History,
) -> tuple[PrototypeModel, np.ndarray]:
    """Wrap the prototypes that are kept; also them, or their scores beside a Gram."""
    state, scores = solved
    votes = problem.class_votes(state.prototype_labels[kept])
    mix = {"kind_of_prototype": "mix of real cases", "similarity": problem.similarity}
    if problem.gram is None:
        alive, n = scores[:, kept].T, problem.n_features
        if problem.landmarks is not None:
            anchors, mixing = problem.landmarks.mixed(alive.T)
            mixing = np.ascontiguousarray(mixing)
            return problem.model(anchors, votes, history, mixing, **mix), alive
        anchors, bias = np.ascontiguousarray(alive[:, :n]), alive[:, n].copy()
        return problem.model(anchors, votes, history, bias=bias), alive
    heavy, mixing = support_rows(problem, state, kept)
    anchors = problem.anchors(heavy)
    return problem.model(anchors, votes, history, mixing, **mix), scores[kept]
