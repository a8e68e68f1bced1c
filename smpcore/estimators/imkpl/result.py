"""An alternation that has ended, as a model with a history."""

from __future__ import annotations

import numpy as np

from smpcore.estimators.imkpl.alternation import Alternation
from smpcore.estimators.imkpl.base_kernels import model_kernel
from smpcore.estimators.imkpl.problem import IMKPLProblem
from smpcore.estimators.imkpl.starts import Run
from smpcore.model import History, PrototypeModel


def case_centres(problem: IMKPLProblem, steps: np.ndarray, kernels: str) -> np.ndarray:
    """Mean of the cases of each recorded prototype, with a bias of 0.

    Parameters
    ----------
    problem : IMKPLProblem
    steps : ndarray of shape (n_recorded, n_prototypes, n_samples)
    kernels : str
        With "precomputed", rows have no place to take a mean of.

    Returns
    -------
    ndarray of shape (n_recorded, n_prototypes, n_features + 1)
    """
    if not len(steps) or kernels == "precomputed":
        return np.empty((0, 0, 0))
    centres = steps @ problem.X[problem.order] / steps.sum(axis=2, keepdims=True)
    return np.pad(centres, ((0, 0), (0, 0), (0, 1)))


def run_history(
    problem: IMKPLProblem,
    alternation: Alternation,
    run: Run,
    kernels: str,
    seconds: float,
) -> History:
    """A run as a history; without iterations, the objective of its start.

    Parameters
    ----------
    problem : IMKPLProblem
    alternation : Alternation
    run : Run
    kernels : str
        As in `IMKPLClassifier`.
    seconds : float

    Returns
    -------
    History
    """
    status, objective, steps = run
    n_iter = len(objective)
    return History(
        iteration=np.arange(min(1, n_iter), n_iter + 1, dtype=np.float64),
        objective=objective if n_iter else np.array([alternation.objective()]),
        gap=np.full(max(n_iter, 1), np.nan),
        steps=case_centres(problem, steps, kernels),
        status=status,
        n_iter=n_iter,
        seconds=seconds,
    )


def wrapped_model(
    problem: IMKPLProblem,
    alternation: Alternation,
    kernels: str,
    history: History,
    sample_shape: tuple[int, ...],
) -> PrototypeModel:
    """The model whose anchors are the rows with weight in a prototype.

    Parameters
    ----------
    problem : IMKPLProblem
    alternation : Alternation
    kernels : str
        As in `IMKPLClassifier`.
    history : History
    sample_shape : tuple of int

    Returns
    -------
    PrototypeModel
    """
    U, used = alternation.U, np.flatnonzero(alternation.U.any(axis=0))
    similarity, anchors = model_kernel(
        kernels, problem.kernels, alternation.beta, problem.X, problem.order[used]
    )
    return problem.model(
        anchors,
        problem.votes(U),
        history,
        np.ascontiguousarray(U[:, used].T),
        similarity=similarity,
        pooling="sum",
        sample_shape=sample_shape,
        kind_of_prototype="mix of real cases",
        fallback=int(np.bincount(problem.y_encoded).argmax()),
        code_size=int(alternation.parameters.code_size),
        gram=alternation.gram,
    )
