"""Super-sparse methods take sparse rows, with the answers of dense ones."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

from smpcore import SmpcoreError, SuperSparseClassifier, SuperSparseRegressor
from smpcore.methods.shared import sparse_rows

X, Y = load_iris(return_X_y=True)
X = np.where(X > 2.0, X, 0.0)


@pytest.mark.parametrize("estimator", [SuperSparseClassifier, SuperSparseRegressor])
@pytest.mark.parametrize("similarity", ["rbf", "linear"])
@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_rows_answer_as_dense_ones(estimator, similarity, standardize):
    chosen = estimator(3, similarity=similarity, standardize=standardize, max_iter=2000)
    dense = chosen.fit(X, Y)
    expected, objective = dense.predict(X), dense.objective_
    found = chosen.fit(csr_array(X), Y)
    assert found.objective_ == pytest.approx(objective, rel=1e-8)
    np.testing.assert_allclose(found.predict(csr_array(X)), expected, atol=1e-8)
    near = found.transform(X)
    np.testing.assert_allclose(found.transform(csr_array(X)), near, atol=1e-8)


def test_other_similarities_and_rows_too_large_are_refused(monkeypatch):
    with pytest.raises(SmpcoreError, match=r"sparse, and .* takes dense rows only"):
        SuperSparseClassifier(similarity="laplacian").fit(csr_array(X), Y)
    monkeypatch.setattr(sparse_rows, "MOST_COPY_BYTES", 100)
    with pytest.raises(SmpcoreError, match="150 x 4 values would take"):
        SuperSparseClassifier().fit(csr_array(X), Y)
