"""Table 1: test accuracy without sparsity, k = n, and Figure 1 on its smallest data."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import ge, gt
from pathlib import Path

import numpy as np

from smpcore.methods.smallk import SMaLLClassifier
from smpcore.methods.smallk.paper_algorithm import run_as_printed
from smpcore.model import PrototypeModel
from smpcore.papers.conclusions import Claim
from smpcore.papers.experiment import Case, Experiment, Outcome, Reported
from smpcore.papers.protocols import (
    AsPrinted,
    Fit,
    Halves,
    Values,
    grid_of,
    scikit_learns,
    standard,
)
from smpcore.papers.sources import of_openml
from smpcore.papers.table_1 import TABLE_1, read_accuracies, tabled_accuracy

SMALL, PRINTED = "SMaLL", "SMaLL, Mirror-Prox as printed"
ON_TEST = ", chosen on test rows"
EITHER = "SMaLL, either class positive"
#: The paper's ridge, fixed in all of its experiments, and no bias.
FIXED: Values = {"lam": 0.1, "bias": False}
#: Iterations of Mirror-Prox; the paper gives no number.
N_STEPS = 200


def mirror_prox(X: np.ndarray, y: np.ndarray, beta: float) -> PrototypeModel:
    """Mirror-Prox with the paper's fixed steps, k = n, then (10)."""
    small = SMaLLClassifier(**FIXED, k=X.shape[1])
    problem = small.problem(X, y)
    return run_as_printed(small, problem, N_STEPS, steps=(0.01, beta))[-1].model


def _whole(rows: Halves, **values: bool) -> list[Values]:
    """The paper's problem without sparsity."""
    return [FIXED | {"k": rows.X.shape[1]} | values]


def _either(rows: Halves) -> list[Values]:
    """The same with each of the classes as the positive one."""
    classes = np.unique(rows.y).tolist()
    return [values | {"positive_class": c} for c in classes for values in _whole(rows)]


_C = (0.1, 1.0, 10.0, 100.0)
_SIZES = (10, 20, 50)
_MORE_C = (0.01, *_C)
#: Model of the table -> what makes it, and the values that the paper tried.
MODELS = {
    "LSVM": standard("linear_svm", C=_C),
    "RF": standard("forest", n_estimators=_SIZES, max_features=("sqrt", "log2")),
    "AB": standard("adaboost", n_estimators=_SIZES),
    "LR": standard("logistic", C=_C),
    "DT": standard("tree", criterion=("gini", "entropy")),
    "kNN": standard("knn", n_neighbors=(1, 3, 5, 7)),
    "RSVM": Fit(
        scikit_learns,
        [
            *grid_of(key=("rbf_svm",), C=_MORE_C),
            *grid_of(key=("poly_svm",), C=_MORE_C, degree=(2, 3)),
            *grid_of(key=("sigmoid_svm",), C=_MORE_C),
        ],
    ),
    "GB": standard("boosting", n_estimators=_SIZES),
    "GP": standard("gaussian_process"),
    SMALL: Fit(SMaLLClassifier, _whole, "smallk"),
    PRINTED: Fit(partial(AsPrinted, mirror_prox), grid_of(beta=(0.01, 0.001))),
    "SMaLL, with a bias": Fit(SMaLLClassifier, partial(_whole, bias=True), "smallk"),
    EITHER: Fit(SMaLLClassifier, _either, "smallk"),
}
MODELS[PRINTED + ON_TEST] = MODELS[PRINTED]._replace(on_test=True)


def _share(case: Case) -> Outcome:
    """The table's accuracy, in the figure's words."""
    return Outcome({"test accuracy": tabled_accuracy(case).measures["accuracy"]})


_TABLE = tuple(MODELS)[:10]
_FIGURE_MODELS = (SMALL, "SMaLL, with a bias", *_TABLE[:9])
_REPORTED = read_accuracies(Path(__file__).with_name("table_1.csv"))
_DATA = {
    name: TABLE_1.get(name, of_openml(621, name))
    for name in dict.fromkeys(one.data for one in _REPORTED)
}
_OTHERS = (PRINTED, PRINTED + ON_TEST, "SMaLL, with a bias", EITHER)
#: Divisions that a measure of Figure 1 is the mean over.
HALVES = 20
EXPERIMENTS = (
    Experiment(
        name="small-table-1",
        where="Table 1",
        title="Test accuracy on small data sets, k = n",
        data=_DATA,
        models={name: MODELS[name] for name in _TABLE},
        measure=tabled_accuracy,
        ranked="accuracy",
        checks={"lead": Claim(SMALL, ge, _TABLE[:9], "accuracy")},
        repetitions=60,
        reported=_REPORTED,
    ),
    Experiment(
        name="small-table-1-protocols",
        where="Table 1",
        title="The printed algorithm, a bias, and the choice of the positive class",
        data=_DATA,
        models={name: MODELS[name] for name in _OTHERS},
        measure=tabled_accuracy,
        repetitions=5,
        reported=tuple(
            replace(one, model=model)
            for model in _OTHERS
            for one in _REPORTED
            if one.model == SMALL
        ),
    ),
    Experiment(
        name="small-figure-1",
        where="Figure 1",
        title="Decision boundaries on chscase_funds, measured as accuracies",
        data={"chscase_funds": TABLE_1["chscase_funds"]},
        models={name: MODELS[name] for name in _FIGURE_MODELS},
        measure=_share,
        n_halves=HALVES,
        checks={"lead": Claim(SMALL, gt, _TABLE[:9], "test accuracy")},
        reported=(Reported("chscase_funds", SMALL, "test accuracy", 0.73),),
    ),
)
