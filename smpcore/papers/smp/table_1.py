"""Table 1: test accuracy of eleven classifiers, and of three more linear ones.

Figure 1 has the same models, as has what Section 4 says of other data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from operator import ge, gt
from pathlib import Path

import numpy as np

from smpcore.datasets import Dataset
from smpcore.methods.smp import SMPClassifier
from smpcore.methods.smp.paper_algorithm import cluster_centres, run_as_printed
from smpcore.model import PrototypeModel
from smpcore.papers.conclusions import Claim, Numbers, where_known
from smpcore.papers.experiment import Case, Experiment, Outcome, Reported
from smpcore.papers.protocols import (
    AsPrinted,
    Fit,
    Halves,
    accuracy,
    grid_of,
    halves,
    standard,
    with_codes,
)
from smpcore.papers.sources import Source, bundled
from smpcore.papers.table_1 import TABLE_1, read_accuracies, tabled_accuracy

#: lambda and mu that are tried.
GRID = grid_of(lam=(0.0, 0.003, 0.03), mu=(0.001, 0.01, 0.05))
SMP, PRINTED = "SMP", "SMP, Algorithm 2 as printed"
ON_TEST = ", chosen on test rows"


def after_200_steps(
    X: np.ndarray, y: np.ndarray, lam: float, mu: float
) -> PrototypeModel:
    """SMP as in the paper: Algorithm 2 on the max loss, from the cluster centres."""
    smp = SMPClassifier(lam=lam, mu=mu, loss="max", bias=False)
    problem = smp.problem(X, y)
    steps = run_as_printed(smp, problem, 200, cluster_centres(problem))
    return steps[-1].model


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
    PRINTED: Fit(partial(AsPrinted, after_200_steps), GRID),
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
_table = partial(Experiment, where="Table 1", measure=tabled_accuracy, repetitions=5)
EXPERIMENTS = (
    _table(
        name="smp-table-1",
        title="Test accuracy on small data sets, two prototypes per class",
        data=_DATA,
        models={name: MODELS[name] for name in _PAPER},
        ranked="accuracy",
        checks={"lead": Claim(SMP, ge, _PAPER[1:], "accuracy")},
        reported=_reported_of(_DATA),
    ),
    _table(
        name="smp-table-1-protocols",
        title="Other protocols, and linear models that the table lacks",
        data=_DATA,
        models={name: MODELS[name] for name in (*_OTHERS, "l1 LR", "elastic net LR")},
        checks={"lead": Claim(SMP + ON_TEST, ge, _RIVALS_ON_TEST, "accuracy")},
        reported=_reported_of(_DATA, *_OTHERS),
    ),
    _table(
        name="smp-table-1-codes",
        title="Nominal columns as numbers",
        data=_NOMINAL,
        models={name: MODELS[name] for name in _WITH_CODES},
        divide=_coded_halves,
        checks={"lead": Claim(SMP, ge, _WITH_CODES[:4], "accuracy")},
        reported=_reported_of(_NOMINAL, *_WITH_CODES),
    ),
)


#: SMP by its number of prototypes per class.
OURS = {f"Ours ({p} prototypes)": Fit(partial(SMPClassifier, p), GRID) for p in (2, 5)}
TWO, FIVE = OURS
OTHERS = tuple(MODELS)[:10]
#: Divisions that a measure is the mean over.
HALVES = 20
TEST, TRAINING = "test accuracy", "training accuracy"


def measures(case: Case) -> Outcome:
    """Accuracy of one model on both halves of one division of the rows."""
    rows = case.rows
    _, fitted = case.declared.chosen(rows, case.trial.repetition)
    test = rows.test_accuracy(fitted)
    return Outcome({TEST: test, TRAINING: accuracy(fitted, rows.X, rows.y)})


def _far(numbers: Numbers, limit: float = 0.05) -> Iterator[float]:
    """Whether RSVM or GB is far above SMP."""
    two, *others = (numbers(one, TEST) for one in (TWO, "RSVM", "GB"))
    yield where_known(max(others) - two >= limit, two, *others)


#: Prototypes per class along the axis of the experiment on overfitting.
PROTOTYPES = (1, 2, 3, 5, 8, 12)


def _at_lam(case: Case) -> Outcome:
    """Accuracies by the number of prototypes, at one lambda."""
    rows, curves = case.rows, {TEST: {}, TRAINING: {}}
    for p in PROTOTYPES:
        fitted = SMPClassifier(p, lam=case.declared, mu=0.001).fit(rows.X, rows.y)
        curves[TEST][p] = rows.test_accuracy(fitted)
        curves[TRAINING][p] = accuracy(fitted, rows.X, rows.y)
    return Outcome({}, curves)


def _largest_gap(outcome: Outcome) -> dict[str, float]:
    """How far training is above test accuracy, at most along the axis."""
    test, training = (outcome.curves[name] for name in (TEST, TRAINING))
    return {"largest gap": max(training[p] - test[p] for p in PROTOTYPES)}


def _overfits(numbers: Numbers, limit: float = 0.02) -> Iterator[float]:
    """Whether the gap grows with prototypes at the small lambda only."""
    gaps = (
        numbers.curve(model, TRAINING) - numbers.curve(model, TEST) for model in _LAMS
    )
    small, large = (one[-1] - one[0] for one in gaps)
    yield float(small > max(limit, large))


_LAMS = {"lambda = 0": 0.0, "lambda = 0.1": 0.1}
_SMALL = {name: TABLE_1[name] for name in ("vineyard", "rabe_265")}

EXPERIMENTS += (
    Experiment(
        name="smp-figure-1",
        where="Figure 1",
        title="Decision boundaries on the vineyard, measured as accuracies",
        data={"vineyard": TABLE_1["vineyard"]},
        models=OURS | {name: MODELS[name] for name in (PRINTED, *OTHERS)},
        measure=measures,
        n_halves=HALVES,
        checks={
            "all": Claim(FIVE, gt, OTHERS, TEST),
            "linear": Claim(FIVE, gt, ("LSVM", "LR"), TEST),
            "two": Claim(FIVE, gt, (TWO,), TEST),
        },
    ),
    Experiment(
        name="smp-nonlinear",
        where="Section 4.1",
        title="Data of a highly non-linear structure, where SMP is suboptimal",
        data=bundled("circles", "spirals", "checkerboard"),
        models={TWO: OURS[TWO], "RSVM": MODELS["RSVM"], "GB": MODELS["GB"]},
        measure=measures,
        n_halves=HALVES,
        checks={"far": _far},
    ),
    Experiment(
        name="smp-overfitting",
        where="Section 4",
        title="More prototypes may overfit small data at low lambda",
        data=_SMALL,
        models=_LAMS,
        measure=_at_lam,
        n_halves=HALVES,
        summary=_largest_gap,
        axis="prototypes per class",
        checks={"gap": _overfits},
    ),
)
