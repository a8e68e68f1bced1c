"""Figures 2 to 4: few features, against sparse linear models, ProtoNN and Bonsai."""

from __future__ import annotations

from dataclasses import replace
from operator import gt

from smpcore.methods.smallk import SMaLLClassifier
from smpcore.papers.conclusions import Claim, Holds
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.protocols import Fit, accuracy, grid_of, standardised_halves
from smpcore.papers.small.bonsai import Bonsai
from smpcore.papers.small.protonn import ProtoNN
from smpcore.papers.small.table_1 import FIXED, SMALL
from smpcore.papers.small.table_1 import MODELS as STANDARD
from smpcore.papers.smp.sparsity import BASELINES, few_features
from smpcore.papers.sources import bundled, generated, of_openml

#: Features that a model may use: p k of the paper.
N_FEATURES = 6
#: Divisions that a measure is the mean over.
HALVES = 5
SWAPPED = "SMaLL, with a bias"
#: The paper's values, which Explore can show, and others.
_OURS = {
    SMALL: Fit(SMaLLClassifier, [FIXED], "smallk"),
    SWAPPED: Fit(SMaLLClassifier, [FIXED | {"bias": True}], "smallk"),
}
TUNED = Fit(SMaLLClassifier, grid_of(lam=(0.003, 0.01, 0.03, 0.1, 0.3)))
#: Baselines of little devices -> what makes them, and the values that are tried.
DEVICES = {
    "ProtoNN": Fit(
        ProtoNN, grid_of(n_dimensions=(5, 10, 15, 20), n_features=(N_FEATURES,))
    ),
    "Bonsai": Fit(Bonsai, grid_of(depth=(2, 3, 4), n_features=(N_FEATURES,))),
}
_STANDARD = {name: STANDARD[name] for name in tuple(STANDARD)[:9]}


def measures(case: Case) -> Outcome:
    """Test accuracy and features of one model on one division of the rows."""
    rows, seed, made = case.rows, case.trial.repetition, case.declared
    if case.trial.model in BASELINES:
        return few_features(*made, N_FEATURES, rows, seed)
    values, fitted = made.chosen(rows, seed)
    n_features = rows.X.shape[1]
    if made.make is SMaLLClassifier:
        n_features = fitted.model_.n_nonzeros
    elif case.trial.model in DEVICES:
        n_features = len(fitted.features)
    share = accuracy(fitted, rows.X_test, rows.y_test)
    values = values if made.method else {}
    numbers = {"accuracy": share, "features": n_features}
    return Outcome(numbers, method=made.method, values=values)


_CANCER_ACCURACY = "test accuracy above .94"
_PERIMETER = "worst perimeter in both prototypes"


def _cancer(case: Case) -> Outcome:
    values, fitted = case.declared.chosen(case.rows)
    place = list(case.dataset.feature_columns).index("worst perimeter")
    used = fitted.model_.anchors[:, place] != 0
    share = accuracy(fitted, case.rows.X_test, case.rows.y_test)
    numbers = {"accuracy": share, _PERIMETER: used.sum() == 2}
    return Outcome(numbers, method="smallk", values=values)


def _accurate(outcome: Outcome) -> dict[str, float]:
    return {_CANCER_ACCURACY: outcome.measures["accuracy"] > 0.94}


_USUAL = "Friedman, 1000 x 50"
_FIGURE_3 = {
    **{
        f"Friedman, {m} x {n}": generated("friedman", n_samples=m, n_features=n)
        for m, n in ((250, 50), (500, 50), (1000, 50), (1000, 100))
    },
    **{
        name: of_openml(number, name)
        for name, number in (
            ("fri_c0_1000_50", 590),
            ("fri_c0_500_50", 650),
            ("fri_c0_250_50", 603),
            ("fri_c4_1000_100", 588),
        )
    },
}
# Explore shows the one of the usual size.
_FIGURE_3[_USUAL] = replace(_FIGURE_3[_USUAL], bundled="friedman")
_FIGURE_4 = {
    name: _FIGURE_3[name] for name in ("Friedman, 1000 x 50", "fri_c0_1000_50")
}
_RIVALS = tuple(
    name for name in _STANDARD | BASELINES | DEVICES if name not in ("GB", "AB")
)
_SAME = (
    f"Means over {HALVES} random halves; k = 3, p = 2, lambda = .1 and no bias in "
    "SMaLL, solved to the optimum of its relaxation, rounded and improved by swaps. "
    f"Linear models: the l1 penalty with as nearly as possible {N_FEATURES} features, "
    "elastic net with a ridge of the same weight, then a fit on those features with "
    "the same loss and a ridge by five folds. ProtoNN and Bonsai: the published "
    "equations in plain NumPy with gradients of all rows, at most 6 features in their "
    "projections; dimensions and depth by five folds."
)
EXPERIMENTS = (
    Experiment(
        name="small-figure-2",
        where="Figure 2",
        title="Six weights on breast cancer",
        protocol=(
            "Means over 20 random halves, k = 3, p = 2, lambda = .1; the figure shows "
            "one division. The classes' kernel density estimates are on Prototypes."
        ),
        data={"breast cancer": bundled("breast_cancer")["breast_cancer"]},
        models=_OURS,
        measure=_cancer,
        n_halves=20,
        summary=_accurate,
        checks={
            "accuracy": Holds(_CANCER_ACCURACY, (SMALL,)),
            "perimeter": Holds(_PERIMETER, (SMALL,)),
        },
    ),
    Experiment(
        name="small-figure-3",
        where="Figure 3",
        title="Accuracy with six features on high-dimensional data",
        protocol=(
            f"{_SAME} The bars' numbers are in a picture, not in the text. Sets are "
            "generated by the function that the Fri series has (c0: no collinearity)."
        ),
        data=_FIGURE_3,
        models=_OURS | {"SMaLL, lambda by folds": TUNED} | BASELINES | DEVICES,
        measure=measures,
        divide=standardised_halves,
        n_halves=HALVES,
        checks={
            "devices": Claim(SMALL, gt, (*DEVICES,), "accuracy"),
            "linear": Claim(SMALL, gt, (*BASELINES,), "accuracy"),
        },
    ),
    Experiment(
        name="small-figure-4",
        where="Figure 4",
        title="Six features against models that use all",
        protocol=(f"{_SAME} Standard models and grids are those of small-table-1."),
        data=_FIGURE_4,
        models=_OURS | _STANDARD | BASELINES | DEVICES,
        measure=measures,
        divide=standardised_halves,
        n_halves=HALVES,
        checks={"others": Claim(SMALL, gt, _RIVALS, "accuracy")},
    ),
)
