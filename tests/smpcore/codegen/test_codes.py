"""Models with a code: the emulator beside float64, and C beside the emulator."""

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import agreement, compile_model
from smpcore.codegen.bounds import code_bounds
from smpcore.codegen.program import SparseCode
from smpcore.codegen.run import DEPENDENT, sparse_codes
from smpcore.solvers import nqp
from tests.smpcore.codegen.models import changed, coded_model
from tests.smpcore.codegen.toolchain import readme


def codes_of(compiled, rows):
    """Code of each row, and the amounts of all prototypes in it."""
    code = compiled.find(SparseCode)
    alike = compiled.row_scores(rows, until=SparseCode)
    return amounts(code.gram, alike, code.limit)


def amounts(gram, alike, limit):
    """Codes, and the amounts of all prototypes in them."""
    codes = sparse_codes(gram, alike, limit)
    dense = np.zeros(alike.shape)
    for r in range(codes.size.max()):
        own = np.flatnonzero(codes.size > r)
        dense[own, codes.support[own, r]] = codes.amount[own, r]
    return codes, dense


# Each kind, and how many of 1000 rows rounding is proved to change no choice of. Eight
# prototypes of four features depend on each other for "cosine": less is proved there.
PROVED = {"rbf": 900, "features": 900, "intersection": 800, "cosine": 700}


@pytest.mark.parametrize("kind", PROVED)
def test_labels_are_those_of_the_model(kind):
    model = coded_model(kind, n_prototypes=8, code_size=4)
    X = np.random.default_rng(1).uniform(model.low, model.high, (1000, 4))
    found = agreement(compile_model(model), model, X)
    assert found.n_broken == 0 and found.n_equal == 1000
    assert found.n_certified >= PROVED[kind]
    assert found.n_unbounded <= 1000 - found.n_certified
    assert found.n_unbounded > 0 or kind != "cosine"
    assert np.isfinite(found.score_bound)


def test_the_readme_counts_the_pairs_that_no_vector_tries():
    compiled = compile_model(coded_model(n_prototypes=12, code_size=2))
    vectors = codegen.test_vectors(compiled, n=4)
    active = codes_of(compiled, vectors.rows)[1] > 0
    together = active.T.astype(int) @ active > 0
    apart = np.count_nonzero(~together[np.tril_indices(12)])
    words = f"Of the 78 products of prototypes {apart} stand for pairs"
    assert words in readme(compiled, vectors)
    small = compile_model(coded_model(n_prototypes=2, n_anchors=2))
    assert "products of prototypes" not in readme(small, codegen.test_vectors(small))


def test_a_broken_code_is_noticed():
    model = coded_model()
    compiled = compile_model(model)
    code = compiled.find(SparseCode)
    gram = code.gram + np.diag(np.arange(6, dtype=np.float32))
    X = np.random.default_rng(1).uniform(model.low, model.high, (500, 4))
    for wrong in ({"gram": gram}, {"votes": code.votes[:, ::-1]}):
        assert agreement(changed(compiled, **wrong), model, X).n_broken > 0


def test_what_nothing_represents_gets_the_fallback():
    model = coded_model()
    compiled = compile_model(model)
    far = np.full((1, 4), 1e6)
    assert codes_of(compiled, compiled.rows(far))[0].size.tolist() == [0]
    assert compiled.predict(compiled.rows(far)) == model.predict(far) == ["class 1"]
    assert compiled.predict(np.full((1, 4), np.nan)) == ["class 1"]


def test_a_prototype_that_depends_on_the_others_is_left_out():
    gram = np.array([[1, 0, 0.8], [0, 1, 0.6], [0.8, 0.6, 1]], dtype=np.float32)
    codes = sparse_codes(gram, np.array([[0.9, 0.7, 0.2]], dtype=np.float32), 3)
    assert codes.size[0] == 2
    assert set(codes.support[0, :2]) == {0, 1}
    twins = np.ones((2, 2), dtype=np.float32)
    codes = sparse_codes(twins, np.array([[0.5, 0.75]], dtype=np.float32), 2)
    assert (codes.size[0], codes.support[0, 0]) == (1, 1)


def test_both_precisions_leave_out_the_same_prototypes():
    assert DEPENDENT == nqp.DEPENDENT
    random = np.random.default_rng(0)
    anchors = random.normal(size=(30, 8, 3))  # any four of eight depend on each other
    anchors /= np.linalg.norm(anchors, axis=2, keepdims=True)
    proved = 0
    for rows in anchors:
        gram = (rows @ rows.T).astype(np.float32)
        alike = (random.normal(size=(20, 3)) @ rows.T).astype(np.float32)
        exact, values = np.zeros(alike.shape), np.empty(20)
        wide = np.ascontiguousarray(-alike, dtype=np.float64)
        nqp.nqp_rows(gram.astype(np.float64), wide, 6, exact, values)
        _, error = code_bounds(gram, alike.astype(np.float64), 1e-9 + 0 * exact, 6)
        found = amounts(gram, alike, 6)[1]
        certain = np.isfinite(error).all(axis=1)
        assert (np.abs(found - exact) <= error)[certain].all()
        np.testing.assert_array_equal(found[certain] > 0, exact[certain] > 0)
        proved += int(certain.sum())
    assert proved > 100


def test_a_code_is_the_best_of_its_support():
    model = coded_model(n_prototypes=10, code_size=5)
    compiled = compile_model(model)
    X = np.random.default_rng(2).uniform(model.low, model.high, (200, 4))
    codes, dense = codes_of(compiled, compiled.rows(X))
    np.testing.assert_allclose(dense, model.activations(X), atol=2e-3)
    assert (codes.size <= 5).all() and codes.size.max() > 1
