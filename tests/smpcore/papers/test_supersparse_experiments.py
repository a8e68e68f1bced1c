"""Super-sparse's other experiments: their parts by hand, and a trial of each."""

import numpy as np
from sklearn.svm import SVC, SVR

from smpcore.papers.protocols import Halves
from smpcore.papers.supersparse import regression as costs
from smpcore.papers.supersparse.figures import (
    FAR,
    equal_error_rate,
    false_rejections,
)


def test_rates_by_hand():
    impostors = np.arange(1000.0)
    genuine = np.array([-1.0, 500.0, 994.5, 999.5])
    rates = dict(zip(FAR, false_rejections(genuine, impostors), strict=True))
    # One impostor of a thousand may pass: the threshold is the second highest, 998.
    assert rates[0.1] == 75.0
    assert rates[0.5] == 50.0  # five may: 994
    assert rates[50.0] == 25.0
    assert false_rejections(np.ones(3), np.ones(3)).tolist() == [100.0] * len(FAR)
    assert equal_error_rate(np.array([3.0, 4.0]), np.array([1.0, 2.0])) == 0.0
    assert equal_error_rate(np.array([1.0, 4.0]), np.array([0.0, 2.0])) == 50.0
    assert equal_error_rate(np.arange(10.0) + 8, np.arange(10.0)) == 10.0


def test_the_sums_of_the_cost_analysis_are_the_models_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.sin(X[:, 0]) + X[:, 1]
    rows = Halves(X, y, X, y)
    model = costs._as_model(rows, costs._sum(rows, costs.SVM, 10.0, 60))
    svr = SVR(gamma=1 / 3, C=10.0).fit(X, y)
    np.testing.assert_allclose(model.scores(X)[:, 0], svr.predict(X), atol=1e-6)
    assert model.n_prototypes == len(svr.support_)
    labels = np.where(y > 0, "yes", "no")
    rows = Halves(X, labels, X, labels)
    model = costs._as_model(rows, costs._sum(rows, costs.SVM, 1.0, 60))
    svc = SVC(gamma=1 / 3).fit(X, labels)
    assert (model.predict(X) == svc.predict(X)).all()
    assert model.n_prototypes == len(svc.support_)
