"""A state of the alternation as a model with a history."""

from __future__ import annotations

import numpy as np

from smpcore.estimators.base import Fitted
from smpcore.estimators.imkpl.alternation import Alternation
from smpcore.estimators.imkpl.base_kernels import model_kernel
from smpcore.estimators.imkpl.problem import IMKPLProblem
from smpcore.estimators.imkpl.starts import Run
from smpcore.model import History, Trace


def plain_codes(problem: IMKPLProblem, alternation: Alternation) -> np.ndarray:
    """Codes of the training rows as of new inputs.

    Parameters
    ----------
    problem : IMKPLProblem
    alternation : Alternation

    Returns
    -------
    ndarray of shape (n_samples, n_prototypes)
        In the order in which the rows came.
    """
    codes = np.empty((len(problem.order), len(alternation.U)))
    codes[problem.order] = alternation.plain_codes()
    return codes


def run_history(
    alternation: Alternation, run: Run, steps: Trace, seconds: float
) -> History:
    """A run as a history; without iterations, the objective of its start.

    Parameters
    ----------
    alternation : Alternation
    run : Run
    steps : Trace
        Of its recorded states.
    seconds : float

    Returns
    -------
    History
    """
    status, objective, _ = run
    n_iter = len(objective)
    return History(
        iteration=np.arange(min(1, n_iter), n_iter + 1, dtype=np.float64),
        objective=objective if n_iter else np.array([alternation.objective()]),
        gap=np.full(max(n_iter, 1), np.nan),
        steps=steps,
        status=status,
        n_iter=n_iter,
        seconds=seconds,
    )


def fitted_state(
    problem: IMKPLProblem,
    kernels: str,
    sample_shape: tuple[int, ...],
    alternation: Alternation,
    history: History,
    codes: np.ndarray | None = None,
) -> Fitted:
    """The model whose anchors are the rows with weight in a prototype.

    Parameters
    ----------
    problem : IMKPLProblem
    kernels : str
        As in `IMKPLClassifier`.
    sample_shape : tuple of int
    alternation : Alternation
    history : History
    codes : ndarray of shape (n_samples, n_prototypes), optional
        As `plain_codes` gives them; None: they are computed.

    Returns
    -------
    Fitted
        Without a start for the next fit.
    """
    U, used = alternation.U, np.flatnonzero(alternation.U.any(axis=0))
    if codes is None:
        codes = plain_codes(problem, alternation)
    similarity, anchors = model_kernel(
        kernels, problem.kernels, alternation.beta, problem.X, problem.order[used]
    )
    model = problem.model(
        anchors,
        problem.votes(U),
        history,
        np.ascontiguousarray(U[:, used].T),
        similarity=similarity,
        pooling="sum",
        sample_shape=sample_shape,
        kind_of_prototype="mix of real cases",
        fallback=int(np.bincount(problem.y_encoded).argmax()),
        code_size=alternation.parameters.most_in_code,
        gram=alternation.gram,
    )
    return Fitted(
        model,
        state=None,
        assignment=codes.argmax(axis=1),
        n_asked=len(U),
        anchor_rows=problem.order[used],
        scores=codes @ model.votes,
    )
