"""What scikit-learn's tools read of an estimator means what they take it for."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.datasets import make_classification
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from smpcore import METHODS, SmpcoreError
from smpcore.methods import MultiPrototypeSVC, SuperSparseClassifier

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

X, Y = make_classification(
    240, 8, n_informative=3, n_redundant=0, shuffle=False, random_state=0
)
INFORMATIVE = {0, 1, 2}
ESTIMATORS = {
    f"{key} {task}": estimator
    for key, method in METHODS.items()
    for task, estimator in method.estimators.items()
}
CLASSIFIERS = {name: e for name, e in ESTIMATORS.items() if "classif" in name}
VARIANTS = {
    **{name: estimator() for name, estimator in ESTIMATORS.items()},
    "rbf": MultiPrototypeSVC(kernel="rbf"),
    "one case": SuperSparseClassifier(1),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_tools_that_choose_features_find_those_that_matter(name):
    estimator = VARIANTS[name]
    chosen = RFE(estimator, n_features_to_select=3, step=5).fit(X, Y)
    found = set(np.flatnonzero(chosen.support_))
    # One case and one kernel a class see less than the whole.
    assert len(found & INFORMATIVE) >= 2, found
    fitted = make_pipeline(
        SelectFromModel(estimator, max_features=3, threshold=-np.inf), estimator
    ).fit(X, Y)
    assert fitted[-1].n_features_in_ == 3
    importances = fitted[0].estimator_.feature_importances_
    assert importances.shape == (8,)
    assert (importances >= 0).all()
    assert not hasattr(fitted[-1], "coef_")


BAD = {"nan": (np.nan, "NaN \\(missing\\)"), "inf": (np.inf, "an infinite value")}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_is_no_number_is_refused_with_one_sentence(name, kind):
    value, words = BAD[kind]
    words += " in row 3, column 1; leave such rows out, or let prepare\\(\\) fill them"
    bad = X.copy()
    bad[3, 1] = value
    with pytest.raises(SmpcoreError, match=words):
        ESTIMATORS[name]().fit(bad, Y)
    fitted = ESTIMATORS[name]().fit(X, Y)
    with pytest.raises(SmpcoreError, match=words):
        fitted.predict(bad)
    with pytest.raises(SmpcoreError, match=words):
        fitted.model_.predict(bad)


@pytest.mark.parametrize(
    "estimator",
    [
        MultiPrototypeSVC(kernel="rbf", standardize=False),
        MultiPrototypeSVC(kernel="rbf", standardize=False, start="kmeans"),
        SuperSparseClassifier(standardize=False),
        SuperSparseClassifier(standardize=False, similarity="laplacian"),
        METHODS["imkpl"].estimators["classification"](standardize=False),
    ],
    ids=lambda e: f"{type(e).__name__} {e.get_params().get('similarity', '')}",
)
def test_an_offset_costs_distances_no_digits(estimator):
    # Steps that 1e8 + x can hold: then the answers are the same to the last row.
    rows = np.round(X * 2.0**20) / 2.0**20
    near = estimator.fit(rows, Y).predict(rows)
    far = estimator.fit(rows + 1e8, Y).predict(rows + 1e8)
    assert np.mean(near == far) > 0.99


@pytest.mark.parametrize("name", ESTIMATORS)
def test_activations_are_features_of_a_pipeline(name):
    frame = pd.DataFrame(X, columns=[f"column {n}" for n in range(8)])
    fitted = ESTIMATORS[name]().set_output(transform="pandas").fit(frame, Y)
    activations = fitted.transform(frame)
    n_prototypes = fitted.model_.n_prototypes
    prefix = type(fitted).__name__.lower()
    assert [*activations] == [f"{prefix}{j}" for j in range(n_prototypes)]
    np.testing.assert_allclose(activations, fitted.model_.activations(X))
    assert [*fitted.feature_names_in_] == [*frame]
    pipeline = make_pipeline(ESTIMATORS[name](), LogisticRegression()).fit(X, Y)
    assert pipeline.score(X, Y) > 0.65


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities_are_a_softmax_of_the_scores(name):
    for labels in (Y, Y + (X[:, 0] > 1)):
        fitted = CLASSIFIERS[name]().fit(X, labels)
        chances = fitted.predict_proba(X)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
        scores = fitted.decision_function(X)
        if scores.ndim == 1:
            np.testing.assert_array_equal(chances[:, 1] > 0.5, scores > 0)
            scores = np.column_stack([np.zeros(len(X)), scores])
        np.testing.assert_allclose(chances, softmax(scores, axis=1))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_warm_start_goes_on_from_the_last_fit(name):
    warm = ESTIMATORS[name](warm_start=True).fit(X, Y)
    state, objective = warm.state_, warm.objective_
    problem = warm.problem(X, Y)
    again = ESTIMATORS[name]().solve(problem, state)
    warm.fit(X, Y)
    assert warm.objective_ == again.objective_
    assert warm.objective_ <= objective * (1 + 2 * warm.tol)
    warm.fit(X[:, :5], Y)  # a state of other rows does no harm
    assert warm.n_features_in_ == 5
