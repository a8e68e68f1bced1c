"""Section III: Algorithm 1 from random rows, with and without repulsion, and ours."""

from __future__ import annotations

import numpy as np

from smpcore.datasets import Dataset
from smpcore.methods.supersparse import SuperSparseClassifier, SuperSparseRegressor
from smpcore.methods.supersparse.paper_algorithm import run_as_printed
from smpcore.papers.conclusions import Holds
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.protocols import Halves, halves
from smpcore.papers.sources import bundled

#: Iterations that are run, and those that the curves show.
MOST, SHOWN = 400, (0, 5, 10, 20, 30, 50, 100, 200, 400)
#: Epsilon of Algorithm 1 on the mean loss, whose targets have variance 1; prototypes.
EPSILON, N_PROTOTYPES = 1e-5, 5
MEAN, SUM = "Algorithm 1, mean loss", "Algorithm 1, sum of losses"
ALONE = "Algorithm 1, mean loss, no repulsion"
SAME, OURS = "ours, from the same rows", "ours, own start"
ENDS, OBJECTIVE = "ends within 30 iterations, below its start", "objective"
DIVERGED = "ends above its start"


def _same_half(dataset: Dataset, _: int) -> Halves:
    """One division for all starts."""
    return halves(dataset, 0)


def _run(case: Case) -> Outcome:
    rows, trial = case.rows, case.trial
    is_regression = case.dataset.task == "regression"
    kind = SuperSparseRegressor if is_regression else SuperSparseClassifier
    values = {
        "n_prototypes": N_PROTOTYPES,
        "random_state": trial.repetition,
        "tol": EPSILON,
        "max_iter": MOST,
        "start": "auto" if trial.model == OURS else "random",
    }
    estimator = kind(**values)
    problem = estimator.problem(rows.X, rows.y)
    fitted = estimator.solve(problem)
    objective = fitted.history_.objective
    if trial.model in (MEAN, SUM, ALONE):
        steps = run_as_printed(
            kind(**values),
            problem,
            MOST,
            start=fitted.start_,
            loss="sum" if trial.model == SUM else "mean",
            repulsion=trial.model != ALONE,
        )
        objective = np.array([step.objective for step in steps])
    n_iter = len(objective) - 1
    # After the end the state stays; a diverged one has no number that could be drawn.
    places = np.minimum(SHOWN, n_iter)
    curve = {
        at: objective[place]
        for at, place in zip(SHOWN, places, strict=True)
        if objective[place] < 10 * objective[0]
    }
    diverged = not objective[-1] <= objective[0]
    measures = {
        OBJECTIVE: np.nan if diverged else objective[-1],
        "iterations": n_iter,
        DIVERGED: diverged,
        ENDS: n_iter <= 30 and not diverged,
    }
    shared = {"n_prototypes": N_PROTOTYPES, "start": values["start"]}
    return Outcome(
        measures, {"objective along the way": curve}, "supersparse", values=shared
    )


_KEYS = ("moons", "xor", "breast_cancer", "diabetes")
EXPERIMENTS = (
    Experiment(
        name="supersparse-start",
        where="Section III, Algorithm 1",
        title="A random start and repulsion, as printed, beside ours",
        protocol=(
            f"Training half of one division; {N_PROTOTYPES} prototypes, ten random "
            "starts: rows, as printed, the same for every model but the last. "
            "eta = .5 as in the paper's experiments, lambda = 1e-4 on the mean, "
            f"epsilon = {EPSILON:g} on the mean loss, at most {MOST} iterations. The "
            "paper does not say whether its loss is the sum or the mean. That "
            "repulsion makes starts matter less is the spread of the objective."
        ),
        data=bundled(*_KEYS),
        models=dict.fromkeys((SUM, MEAN, ALONE, SAME, OURS)),
        measure=_run,
        divide=_same_half,
        repetitions=10,
        checks={"iterations": Holds(ENDS, (SUM, MEAN))},
        axis="iterations",
    ),
)
