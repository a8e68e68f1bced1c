"""The evenness of kernel weights that IMKPL chooses, and the start that it keeps."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score

from smpcore import IMKPLClassifier, load_dataset, prepare, split
from smpcore.methods.imkpl.fold_choice import COUNTS, KAPPAS

WINE = load_wine(return_X_y=True)


def balance():
    """Every setting of a scale: weights and distances of 1 to 5 on either side."""
    X = np.array(np.meshgrid(*4 * [np.arange(1.0, 6.0)], indexing="ij")).reshape(4, -1)
    tilt = X[0] * X[1] - X[2] * X[3]
    return X.T, np.array(["B", "L", "R"])[np.sign(tilt).astype(int)]


@pytest.mark.parametrize("key", ["moons", "xor", "circles"])
def test_features_that_tell_only_together_are_kept(key):
    data = load_dataset(key)
    division = split(data)
    X = prepare(data, division.train).transform(data.frame)
    fitted = IMKPLClassifier().fit(X[division.train], data.y[division.train])
    assert (fitted.kernel_weights_ > 0).all()
    held_out = division.validation
    assert fitted.score(X[held_out], data.y[held_out]) >= 0.93


def test_a_balance_needs_all_four_numbers():
    X, y = balance()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(IMKPLClassifier(), X, y, cv=folds).mean() >= 0.75


def _limit(fitted):
    return {"row_code_size": float(fitted.code_size)}


def test_the_choice_and_its_reason_are_said_and_depend_on_the_rows_only():
    X, y = WINE
    chosen = IMKPLClassifier().fit(X, y)
    value, reason = chosen.measures_["kappa"]
    assert value == f"{chosen.kappa_:.3g}" in [f"{kappa:.3g}" for kappa in KAPPAS]
    counted, why = chosen.measures_["prototypes_per_class"]
    assert counted == str(chosen.n_prototypes_) and chosen.n_prototypes_ in COUNTS
    assert why.startswith("chosen on 5 folds of 178 training rows: ")
    assert len(chosen.model_.votes) == 3 * chosen.n_prototypes_
    both = {"kappa": chosen.kappa_, "n_prototypes": chosen.n_prototypes_}
    assert chosen.automatic_ == both | _limit(chosen)
    assert reason.startswith("chosen on 5 folds of 178 training rows: ")
    other = IMKPLClassifier(tau=1.0, n_prototypes=3, code_size=5).fit(X, y)
    assert other.kappa_ == chosen.kappa_ and other.n_prototypes_ == 3
    assert other.automatic_ == {"kappa": chosen.kappa_} | _limit(other)
    given = IMKPLClassifier(kappa=chosen.kappa_).fit(X, y)
    assert given.automatic_ == {"n_prototypes": chosen.n_prototypes_} | _limit(given)
    given = IMKPLClassifier(**both).fit(X, y)
    np.testing.assert_array_equal(given.kernel_weights_, chosen.kernel_weights_)
    assert given.automatic_ == _limit(given) and "kappa" not in given.measures_


def test_rows_too_few_for_folds_and_a_stopped_fit_weigh_nearly_alike():
    rows = np.array([[0.0, 1.0], [0.3, 2.0], [1.0, 2.5], [1.2, 0.0]])
    few = IMKPLClassifier().fit(rows, [0, 1, 1, 1])
    assert few.kappa_ == 100 and few.n_prototypes_ == 10
    assert few.n_asked_ == 4 and "too few training rows" in few.measures_["kappa"][1]
    X, y = WINE[0][1::2], WINE[1][1::2]
    problem = IMKPLClassifier().problem(X, y)
    stopped = IMKPLClassifier().solve(problem, stop=np.ones(1, dtype=np.int64))
    assert stopped.kappa_ == 100
    assert "folds of 89" in IMKPLClassifier().solve(problem).measures_["kappa"][1]


def test_a_warm_start_keeps_the_choices_of_its_start():
    problem = IMKPLClassifier().problem(*WINE)
    with pytest.warns(UserWarning, match="n_prototypes=60"):
        state = IMKPLClassifier(kappa=1.7, n_prototypes=60).fit(*WINE).state_
    fitted = IMKPLClassifier().solve(problem, state)
    assert fitted.kappa_ == 1.7 and fitted.n_prototypes_ == 60
    assert fitted.n_asked_ == 59 + 60 + 48, "the classes have 59, 71 and 48 rows"
    assert fitted.n_iter_ < 5
    for name in ("kappa", "prototypes_per_class"):
        assert fitted.measures_[name][1] == "as in the fit that this one started from"


def test_one_kernel_has_no_evenness():
    fitted = IMKPLClassifier(kernels="rbf").fit(*WINE)
    assert fitted.kappa_ == np.inf and "kappa" not in fitted.measures_
    assert fitted.automatic_ == {"n_prototypes": fitted.n_prototypes_} | _limit(fitted)
    reason = fitted.measures_["prototypes_per_class"][1]
    assert reason.startswith("chosen on 5 folds of 178 training rows: ")


def test_of_path_and_cold_start_the_lower_objective_is_kept():
    X, y = WINE
    problem = IMKPLClassifier().problem(X, y)
    even = IMKPLClassifier(kappa=np.inf).solve(problem)
    names = set()
    for kappa in (0.1, 0.5, 2.0, 5.0, 20.0):
        fitted = IMKPLClassifier(kappa=kappa).solve(problem)
        name, words = fitted.measures_["start"]
        names.add(name)
        assert words.startswith(f"objective {fitted.objective_:.6g}; from the other")
        assert fitted.objective_ <= float(words.split()[-1]) * (1 + 1e-5)
    assert len(names) == 2, "neither start is always the better one"
    assert "start" not in even.measures_
