"""What scikit-learn's tools read of an estimator means what they take it for."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.pipeline import make_pipeline

from smpcore import METHODS, SmpcoreError
from smpcore.estimators import MultiPrototypeSVC, SuperSparseClassifier

X, Y = make_classification(
    240, 8, n_informative=3, n_redundant=0, shuffle=False, random_state=0
)
INFORMATIVE = {0, 1, 2}
ESTIMATORS = {
    f"{key} {task}": estimator
    for key, method in METHODS.items()
    for task, estimator in method.estimators.items()
}
VARIANTS = {
    **{name: estimator() for name, estimator in ESTIMATORS.items()},
    "rbf": MultiPrototypeSVC(kernel="rbf"),
    "one case": SuperSparseClassifier(1),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
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


@pytest.mark.filterwarnings("ignore::UserWarning")
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


@pytest.mark.filterwarnings("ignore::UserWarning")
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
