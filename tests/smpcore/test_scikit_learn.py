"""What scikit-learn asks of an estimator: all of it of the defaults.

Of other settings only what may take another branch there; the rest by
`tests/run --all`.
"""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import estimator_checks_generator

from smpcore import (
    IMKPLClassifier,
    MultiPrototypeSVC,
    SMaLLClassifier,
    SMPClassifier,
    SMPClassifierCV,
    SuperSparseClassifier,
    SuperSparseRegressor,
    SuperSparseRegressorCV,
)

#: All tuners share their code: one of each task.
TUNERS = SMPClassifierCV, SuperSparseRegressorCV
FREE = {"loss": "epsilon-insensitive"}
#: Each family's default, then settings of it.
ESTIMATORS = [
    SMPClassifier(),
    SMPClassifier(loss="max", bias=False),
    SMPClassifier(loss="hinge", class_prototypes="balanced", class_lam="balanced"),
    SMPClassifier(reassign=True, class_weight="balanced"),
    SMPClassifier(solver="primal-dual"),
    SMPClassifier(start="each", standardize=False),
    SMaLLClassifier(),
    SMaLLClassifier(k=1, bias=False, n_draws=0),
    SMaLLClassifier(multiclass="ovr", class_weight="balanced", standardize=False),
    SMaLLClassifier(k=2, solver="mirror-prox", max_iter=50),
    SMaLLClassifier(loss="max"),
    MultiPrototypeSVC(),
    MultiPrototypeSVC(kernel="rbf", class_weight="balanced"),
    MultiPrototypeSVC(kernel="poly", degree=2),
    MultiPrototypeSVC(start="kmeans", temperature=0.0, standardize=False),
    MultiPrototypeSVC(kernel="precomputed", standardize=False),
    MultiPrototypeSVC(kernel="rbf", landmarks=8),
    IMKPLClassifier(),
    IMKPLClassifier(kappa=10.0, n_prototypes=10),
    IMKPLClassifier(kernels="rbf", n_prototypes=2),
    IMKPLClassifier(kernels="linear", standardize=False),
    IMKPLClassifier(kappa=np.inf, solver="paper", code_size=3),
    SuperSparseClassifier(),
    SuperSparseClassifier(target="teacher", class_weight="balanced"),
    SuperSparseClassifier(target=LogisticRegression()),
    SuperSparseClassifier(3, similarity="linear", start="greedy", standardize=False),
    SuperSparseClassifier(similarity="poly"),
    SuperSparseRegressor(),
    SuperSparseRegressor(target="ridge", start="greedy"),
    SuperSparseRegressor(target="svr"),
    SuperSparseRegressor(4, similarity="laplacian", start="kmeans", box=(-2.0, 2.0)),
    SuperSparseRegressor(4, **FREE, start="random", removal="coefficient"),
    *(tuner(n_points=2, cv=2, param_grid={}) for tuner in TUNERS),
]
#: Checks of how it fits and answers; others look at what all settings share.
BRANCHING = (
    *("sample_weight", "class_weight", "classifiers_train", "regressors_train"),
    *("classifiers_classes", "fit2d_1", "idempotent", "subset_invariance", "sparse"),
    *("decision_proba", "nan_inf", "pickle", "one_label"),
)
WEIGHTS = "check_sample_weight_equivalence_on_{}_data"


BOTH = [WEIGHTS.format(kind) for kind in ("dense", "sparse")]
TAG = "check_positive_only_tag_during_fit", "check_estimators_nan_inf"
CLASS_WEIGHT = ["check_class_weight_classifiers"]
#: Family, settings, checks that they cannot pass, and why.
CANNOT = [
    (SMPClassifier, {"start": "each"}, BOTH, "every row has a prototype of its own, so "
     "that repeated rows are more prototypes and a weight is not"),
    (SMPClassifier, {"loss": "hinge"}, BOTH, "some 4000 steps double rounding until "
     "fits agree to tol only"),
    (SMPClassifier, {"loss": "max"}, BOTH[1:], "sparse columns are not centred, so "
     "that it takes 700 steps; they double rounding until fits agree to tol only"),
    (SMaLLClassifier, {"bias": False}, CLASS_WEIGHT, "without a bias borders pass "
     "through the mean of the rows, so that no weight makes all of them negative"),
    (MultiPrototypeSVC, {"kernel": "precomputed"},
     [*TAG, "check_decision_proba_consistency"],
     "the check gives features, or values less a mean: no similarities"),
    (IMKPLClassifier, {"n_prototypes": 10}, CLASS_WEIGHT, "ten prototypes of each "
     "class describe all rows: none turns to another class"),
]  # fmt: skip


def reasons(estimator):
    """Check -> why these settings cannot pass it."""
    params, found = estimator.get_params(), {}
    for family, settings, checks, why in CANNOT:
        if isinstance(estimator, family) and params == params | settings:
            found |= dict.fromkeys(checks, why)
    return found


def cells():
    """Every check of every estimator, named; what only `--all` runs is marked."""
    families = set()
    for estimator in ESTIMATORS:
        is_default = type(estimator) not in families
        families.add(type(estimator))
        for cell in estimator_checks_generator(
            estimator, expected_failed_checks=reasons(estimator), mark="xfail"
        ):
            marks = list(getattr(cell, "marks", ()))
            one, check = getattr(cell, "values", cell)
            name = getattr(check, "func", check).__name__
            if not is_default and not any(word in name for word in BRANCHING):
                marks.append(pytest.mark.exhaustive)
            yield pytest.param(one, check, marks=marks, id=f"{estimator!r}-{name}")


@pytest.mark.parametrize(("estimator", "check"), cells())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:n_prototypes=:UserWarning")
@pytest.mark.filterwarnings("ignore:None of the:UserWarning")
@pytest.mark.filterwarnings("ignore:k=:UserWarning")
def test_scikit_learns_contract(estimator, check):
    check(estimator)
