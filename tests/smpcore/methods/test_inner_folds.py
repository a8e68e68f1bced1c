"""What is chosen on folds within a fit parts no group and looks into no future."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn import config_context, linear_model
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.utils.validation import has_fit_parameter

from smpcore import (
    METHODS,
    Dataset,
    IMKPLClassifier,
    SMPClassifier,
    SmpcoreError,
    SuperSparseRegressor,
    evaluation,
    split,
)
from smpcore.evaluation.stability import TrainingRows
from smpcore.methods.imkpl import estimator as imkpl
from smpcore.methods.shared.base import PrototypeEstimator
from smpcore.methods.shared.distinct import joined_rows
from smpcore.methods.shared.inner_folds import inner_folds, of_distinct_rows
from smpcore.methods.supersparse import teachers


def patients(seed=0, n=40, each=10):
    """Near-identical rows of patients whose labels are drawn by lot."""
    draw = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n), each)
    X = draw.normal(size=(n, 5))[groups] + 0.01 * draw.normal(size=(n * each, 5))
    return X, draw.integers(0, 2, n)[groups], groups


def share(estimator):
    """The accuracy that is shown beside kappa."""
    _, why = estimator.measures_["kappa"]
    return float(why.split(": ")[1].split(" %")[0]), why


def test_folds_of_imkpl_part_no_patient():
    X, y, groups = patients()
    torn, why = share(IMKPLClassifier().fit(X, y))
    assert torn > 85 and "group" not in why
    whole, why = share(IMKPLClassifier().fit(X, y, groups=groups))
    assert whole < 70 and "which part no group" in why
    # Texts do as well, and the choice is remembered by the groups as well.
    again, _ = share(IMKPLClassifier().fit(X, y, groups=[f"p{g}" for g in groups]))
    assert again == whole
    assert share(IMKPLClassifier().fit(X, y))[0] == torn


def test_folds_of_imkpl_are_later_than_what_they_learn_from():
    X, y, groups = patients(1)
    _, why = share(IMKPLClassifier().fit(X, y, times=groups))
    assert "each later than the rows" in why
    late, _ = share(IMKPLClassifier().fit(X, y, groups=groups, times=np.arange(len(y))))
    assert late < 75


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"groups": np.zeros(400)}, "groups"),
        ({"times": np.arange(400) // 200}, "times"),
    ],
)
def test_no_figure_where_no_folds_can_be(metadata, words):
    X, y, _ = patients()
    fitted = IMKPLClassifier().fit(X, y, **metadata)
    _, why = fitted.measures_["kappa"]
    assert f"too few training {words} for folds" in why and "%" not in why


def test_without_groups_and_times_a_fit_is_what_it_was():
    X, y, groups = patients()
    fitted = IMKPLClassifier(kappa=1.0, n_prototypes=2).fit(X, y)
    other = IMKPLClassifier(kappa=1.0, n_prototypes=2).fit(X, y, groups=groups)
    assert np.array_equal(fitted.model_.mixing, other.model_.mixing)


@pytest.mark.parametrize(
    ("target", "chosen"), [("ridge", "RidgeCV"), ("lasso", "LassoCV")]
)
def test_a_teachers_penalty_is_chosen_between_groups(target, chosen, monkeypatch):
    """Numbers by lot, one for each patient, come back in all folds but these."""
    folds, made = [], getattr(linear_model, chosen)
    monkeypatch.setattr(
        linear_model,
        chosen,
        lambda cv, **options: folds.append(cv) or made(cv=cv, **options),
    )
    X, _, groups = patients()
    y = np.random.default_rng(5).normal(size=40)[groups]
    estimator = SuperSparseRegressor(5, target=target, max_iter=2000)
    torn = estimator.fit(X, y).automatic_["teacher_alpha"]
    assert folds.pop() == (None if target == "ridge" else 3)
    whole = estimator.fit(X, y, groups=groups).automatic_["teacher_alpha"]
    by_distance = cdist(X, X) < 0.5  # of one patient
    rows = joined_rows(X, np.unique(y, return_inverse=True)[1], None)[0]
    for train, held_out in folds.pop():
        assert not by_distance[np.ix_(rows[train], rows[held_out])].any()
    if target == "ridge":  # today's folds leave out one row at a time
        assert whole > 10 * torn
    estimator.fit(X, y, times=groups)
    for train, held_out in folds.pop():
        assert groups[rows[train]].max() < groups[rows[held_out]].min()
    with pytest.warns(match="too few groups or times"):
        few = estimator.fit(X, y, groups=np.zeros(400))
    assert few.automatic_["teacher_alpha"] == teachers.WITHOUT_FOLDS[target]


def test_folds_keep_to_groups_and_times():
    draw = np.random.default_rng(0)
    for _ in range(30):
        n = int(draw.integers(6, 80))
        y, groups = draw.integers(0, 3, n), draw.integers(0, 9, n)
        for codes in (y, None):
            folds = inner_folds(5, codes, groups, None)
            held = np.concatenate([b for _, b in folds]) if folds else []
            assert len(held) == len(set(held))
            for train, out in folds:
                assert not set(groups[train]) & set(groups[out])
            for of in (None, groups // 3):
                times = draw.integers(0, 20, n) + 20 * (groups // 3)
                for train, out in inner_folds(4, codes, of, times):
                    assert times[train].max() < times[out].min()


def test_a_row_of_two_groups_joins_them():
    place = np.array([0, 1, 1, 2, -1])
    groups, times = of_distinct_rows(place, np.array([0, 0, 1, 2, 2]), None)
    assert groups[0] == groups[1] != groups[2] and times is None
    times = of_distinct_rows(place, None, np.array([0, 1, 5, 3, 9]))[1]
    assert times[0] < times[1] == times[2]


def test_groups_of_another_length_are_refused():
    X, y, groups = patients()
    with pytest.raises(SmpcoreError, match="groups has shape"):
        IMKPLClassifier().fit(X, y, groups=groups[:-1])
    with pytest.raises(SmpcoreError, match="times holds values that cannot"):
        IMKPLClassifier().fit(X, y, times=np.array([*groups[:-1], None]))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_method_takes_them(method):
    for estimator in method.estimators.values():
        assert has_fit_parameter(estimator(), "groups")
        assert has_fit_parameter(estimator(), "times")


def test_scikit_learn_routes_them():
    X, y, groups = patients(n=12)
    imkpl._remembered.clear()
    with config_context(enable_metadata_routing=True):
        one = IMKPLClassifier(lam=0.1).set_fit_request(groups=True)
        search = GridSearchCV(one, {"lam": [0.1]}, cv=GroupKFold(3))
        search.fit(X, y, groups=groups)
    assert "which part no group" in search.best_estimator_.measures_["kappa"][1]


def test_a_table_hands_them_out():
    frame = pd.DataFrame({"a": [1.0, 2, 3], "who": ["x", "x", "z"], "y": [0, 1, 0]})
    roles = {"a": "feature", "who": "group", "y": "target"}
    dataset = Dataset("three", frame, roles, "classification")
    assert dataset.metadata(np.array([2, 0]))["groups"].tolist() == [1, 0]
    plain = dataset.with_roles({"who": "ignore"})
    assert plain.metadata(np.arange(3)) == {}


def test_whoever_fits_a_table_hands_them_over(monkeypatch):
    """Sweeps, folds of a calibration, comparisons and refits."""
    X, y, groups = patients(n=12)
    frame = pd.DataFrame(X).rename(columns="x{}".format)
    frame = frame.assign(who=groups, y=np.where(y > 0, "b", "a"))
    roles = dict.fromkeys(frame, "feature") | {"who": "group", "y": "target"}
    dataset = Dataset("twelve", frame, roles, "classification")
    parts, seen, problem = split(dataset), [], PrototypeEstimator.problem

    def watched(self, X, y, sample_weight=None, groups=None, times=None):
        if len(y) != 24:  # machine code is loaded by tiny fits
            seen.append(groups is not None and len(groups) == len(y))
        return problem(self, X, y, sample_weight, groups, times)

    monkeypatch.setattr(PrototypeEstimator, "problem", watched)
    path = evaluation.method_path("smp", dataset, parts.train, n_points=2)
    drawn = evaluation.folds(dataset, parts.train, 2)
    assert len(list(evaluation.sweep(dataset, drawn, [path]))) > 3
    evaluation.out_of_fold(SMPClassifier(), dataset, parts, n_folds=2)
    evaluation.fit_compared("smp", dataset, parts.train)
    known = dataset.metadata(parts.train)
    rows = TrainingRows(X[parts.train], y[parts.train], known["groups"], metadata=known)
    assert len(list(evaluation.refits(SMPClassifier, rows, n_refits=1))) == 1
    assert len(seen) > 5 and all(seen)
