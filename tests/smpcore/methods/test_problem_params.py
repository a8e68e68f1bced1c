"""A problem depends on the data and on the parameters that its estimator names."""

import joblib
import pytest

from smpcore import (
    IMKPLClassifier,
    MultiPrototypeSVC,
    SuperSparseClassifier,
    SuperSparseRegressor,
)
from tests.smpcore.methods.tables import DIABETES, IRIS

ANY = {"tol": 0.1, "max_iter": 3, "record": 2, "warm_start": True}
SUPERSPARSE = ANY | {"n_prototypes": 3, "lam": 1.0, "gamma": 2.0, "degree": 2}
SUPERSPARSE |= {"coef0": 0.5, "box": (-1, 1), "start": "greedy", "random_state": 7}
SUPERSPARSE |= {"removal": "coefficient", "teacher_C": 2.0}
#: Estimator -> other values of all parameters that it does not name.
OTHERS = {
    MultiPrototypeSVC: ANY
    | {"C": 2.0, "temperature": 0.0, "cooling": 0.5, "n_init": 2},
    IMKPLClassifier: ANY
    | {"lam": 1.0, "mu": 1.0, "tau": 3.0, "kappa": 1.0, "solver": "paper"}
    | {"row_code_size": 2, "kernel_weights": "lp"},
    SuperSparseClassifier: SUPERSPARSE | {"target": "teacher"},
    SuperSparseRegressor: SUPERSPARSE
    | {"target": "ridge", "teacher_alpha": 1.0}
    | {"loss": "epsilon-insensitive", "epsilon": 0.5},
}


@pytest.mark.parametrize("estimator", OTHERS)
def test_a_problem_depends_on_the_parameters_it_names(estimator):
    others = OTHERS[estimator]
    assert {*estimator.problem_params} | {*others} == {*estimator().get_params()}
    data = DIABETES if estimator is SuperSparseRegressor else IRIS
    first, second = estimator().problem(*data), estimator(**others).problem(*data)
    assert joblib.hash(first) == joblib.hash(second)
