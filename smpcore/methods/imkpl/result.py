"""A state of the alternation as a model with a history."""

from __future__ import annotations

import numpy as np

from smpcore.methods.imkpl.alternation import Alternation
from smpcore.methods.imkpl.problem import IMKPLProblem
from smpcore.methods.imkpl.starts import Run
from smpcore.methods.shared.base import Fitted
from smpcore.model import History, Trace


def run_history(
    alternation: Alternation, run: Run, steps: Trace, seconds: float
) -> History:
    """A run as a history; without iterations, the objective of its start."""
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
    """The model whose anchors are the rows with weight in a prototype."""
    U, used = alternation.U, np.flatnonzero(alternation.U.any(axis=0))
    if codes is None:
        codes = alternation.plain_codes()
    similarity, anchors = problem.model_kernel(kernels, alternation.beta, used)
    model = problem.model(
        anchors,
        problem.votes(U),
        history,
        np.ascontiguousarray(U[:, used].T),
        similarity=similarity,
        pooling="sum",
        sample_shape=sample_shape,
        kind_of_prototype="mix of real cases",
        fallback=problem.most_frequent,
        code_size=alternation.parameters.most_in_code,
        gram=alternation.gram,
    )
    assignment = codes.argmax(axis=1)[problem.place]
    if len(problem.left_out):
        of_left = model.activations(problem.left_out).argmax(axis=1)
        assignment[problem.place < 0] = of_left
    return Fitted(
        model,
        state=None,
        assignment=assignment,
        n_asked=len(U),
        anchor_rows=problem.order[used],
        scores=codes @ model.votes,
    )
