"""Table 1: test accuracy of eleven classifiers, and of three more linear ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from operator import ge
from pathlib import Path

import numpy as np

from smpcore.datasets import Dataset
from smpcore.methods.smp import SMPClassifier
from smpcore.methods.smp.paper_algorithm import algorithm_2, cluster_centres
from smpcore.papers.conclusions import Claim
from smpcore.papers.experiment import Experiment, Reported
from smpcore.papers.protocols import (
    Fit,
    Halves,
    grid_of,
    halves,
    standard,
    with_codes,
)
from smpcore.papers.sources import Source
from smpcore.papers.table_1 import TABLE_1, read_accuracies, tabled_accuracy

#: lambda and mu that are tried.
GRID = grid_of(lam=(0.0, 0.003, 0.03), mu=(0.001, 0.01, 0.05))
SMP, PRINTED = "SMP", "SMP, Algorithm 2 as printed"
ON_TEST = ", chosen on test rows"


class AsPrinted:
    """SMP as in the paper's experiments: 200 steps of Algorithm 2 on the max loss."""

    def __init__(self, lam: float, mu: float) -> None:
        self.estimator = SMPClassifier(lam=lam, mu=mu, loss="max", bias=False)

    def fit(self, X: np.ndarray, y: np.ndarray) -> AsPrinted:
        """Run from the cluster centres; the rows are scaled."""
        self.problem = self.estimator.problem(X, y)
        run = algorithm_2(self.problem, self.estimator, cluster_centres(self.problem))
        self.W = next(islice(run, 200, None))[0]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class of the prototype with the highest score."""
        scores = (X - self.problem.center) / self.problem.scale @ self.W.T
        labels = self.problem.prototype_labels[scores.argmax(axis=1)]
        return self.problem.classes[labels]


_C = (0.01, 0.1, 1.0, 10.0, 100.0)
#: Model of the table -> what makes it, and the values that are tried.
MODELS = {
    "LSVM": standard("linear_svm", C=_C),
    "RF": standard("forest", max_depth=(3, None)),
    "AB": standard("adaboost", n_estimators=(10, 50)),
    "LR": standard("logistic", C=_C),
    "DT": standard("tree", max_depth=(2, 3, 4, 6, None)),
    "kNN": standard("knn", n_neighbors=(1, 3, 5, 9, 15)),
    "RSVM": standard("rbf_svm", "poly_svm", "sigmoid_svm", C=_C),
    "GB": standard("boosting", max_depth=(1, 3)),
    # The usual solver refuses classes of fewer rows than features.
    "QDA": standard("quadratic", solver=("eigen",), shrinkage=(0.01, 0.1, 0.5)),
    "GP": standard("gaussian_process"),
    SMP: Fit(SMPClassifier, GRID, "smp"),
    PRINTED: Fit(AsPrinted, GRID),
    "l1 LR": standard("l1_logistic", C=_C),
    "elastic net LR": standard("elastic_net", C=_C),
}
MODELS |= {
    model + ON_TEST: MODELS[model]._replace(on_test=True)
    for model in (SMP, PRINTED, "LR", "RSVM")
}


def _coded_halves(dataset: Dataset, repetition: int) -> Halves:
    """Random halves with numbers in place of nominal columns."""
    return halves(with_codes(dataset), repetition)


_REPORTED = read_accuracies(Path(__file__).with_name("table_1.csv"))


def _reported_of(data: Mapping[str, Source], *models: str) -> tuple[Reported, ...]:
    """The numbers of some data sets and models; all of the table's without models.

    A number of a model stands beside its other protocols, too.
    """
    return tuple(
        replace(one, model=model)
        for model in models or _PAPER
        for one in _REPORTED
        if one.data in data and one.model == model.split(",")[0]
    )


_MINDCAVE2 = Source(file="MindCave2.arff", two_classes=True)
#: Data sets of the table, in its order.
_DATA = {
    name: TABLE_1.get(name, _MINDCAVE2)
    for name in dict.fromkeys(one.data for one in _REPORTED)
}
#: Those with columns of more than two levels, where the coding matters.
_NOMINAL = {
    name: _DATA[name]
    for name in (
        "rmftsa_ctoarrivals",
        "hutsof99_logis",
        "elusage",
        "analcatdata_michiganacc",
        "analcatdata_cyyoung9302",
    )
}
_PAPER = (SMP, *tuple(MODELS)[:10])
_OTHERS = (PRINTED, *tuple(MODELS)[14:])
_RIVALS_ON_TEST = ("LR" + ON_TEST, "RSVM" + ON_TEST)
_WITH_CODES = ("LSVM", "LR", "RSVM", "GP", SMP, SMP + ON_TEST)
_SAME = (
    "Five random halves, stratified, features standardised, two clusters per class for "
    "SMP; parameters by five folds of the training half. The grids are ours, the "
    "paper's stand in a supplement that is not at hand. SMP is our solver: smooth "
    "loss, with a bias. LR has the ridge. The data sets are those of StatLib, numbers "
    "to predict cut at their mean."
)
_LEVELS = (
    "Nominal columns have a column for each level. On asbestos all models are .07 to "
    ".18 above print, on rmftsa all but QDA .16 to .25: rows or columns are not the "
    "paper's there"
)
_table = partial(Experiment, where="Table 1", measure=tabled_accuracy, repetitions=5)
EXPERIMENTS = (
    _table(
        name="smp-table-1",
        title="Test accuracy on small data sets, two prototypes per class",
        protocol=(
            f"{_SAME} {_LEVELS}, and QDA cannot be fitted to its rarest class in some "
            "divisions. With the months of rmftsa as numbers (smp-table-1-codes) "
            "linear models come to the printed accuracy; the others stay above it."
        ),
        data=_DATA,
        models={name: MODELS[name] for name in _PAPER},
        ranked="accuracy",
        checks={"lead": Claim(SMP, ge, _PAPER[1:], "accuracy")},
        reported=_reported_of(_DATA),
    ),
    _table(
        name="smp-table-1-protocols",
        title="Other protocols, and linear models that the table lacks",
        protocol=(
            f"{_SAME} {_LEVELS}. Where the name says so, parameters are chosen on the "
            "test half. Algorithm 2 as printed is the max loss without a bias, 200 "
            "steps of the printed lengths from the cluster centres. Each is set beside "
            "the paper's numbers of the same model; l1 LR and elastic net LR have none."
        ),
        data=_DATA,
        models={name: MODELS[name] for name in (*_OTHERS, "l1 LR", "elastic net LR")},
        checks={"lead": Claim(SMP + ON_TEST, ge, _RIVALS_ON_TEST, "accuracy")},
        reported=_reported_of(_DATA, *_OTHERS),
    ),
    _table(
        name="smp-table-1-codes",
        title="Nominal columns as numbers",
        protocol=(
            f"{_SAME} Nominal columns are the numbers of their sorted levels; only the "
            "data sets where that matters. Where the name says so, parameters are "
            "chosen on the test half."
        ),
        data=_NOMINAL,
        models={name: MODELS[name] for name in _WITH_CODES},
        divide=_coded_halves,
        checks={"lead": Claim(SMP, ge, _WITH_CODES[:4], "accuracy")},
        reported=_reported_of(_NOMINAL, *_WITH_CODES),
    ),
)
