"""Super-sparse learning from given similarities: prototypes are real cases."""

import itertools

import numpy as np
import pytest

from smpcore import SmpcoreError, SuperSparseClassifier

RNG = np.random.default_rng(3)
POINTS = RNG.normal(size=(30, 2))
LABELS = (POINTS[:, 0] * POINTS[:, 1] > 0).astype(int)
#: Similarities, but no kernel.
S = -(np.abs(POINTS[:, None] - POINTS).sum(axis=2) ** 1.5)


def fitted(m, y=LABELS, S=S, kind=SuperSparseClassifier, **options):
    return kind(m, similarity="precomputed", **options).fit(S, y)


def objective_of(columns, y, lam=1e-4):
    """The objective of a ridge on some columns, by its definition."""
    targets = 2.0 * y - 1
    targets = (targets - targets.mean()) / targets.std()
    A = S[:, columns] - S[:, columns].mean(axis=0)
    n = len(y)
    B = np.linalg.solve(A.T @ A / n + lam * np.eye(len(columns)), A.T @ targets / n)
    return ((A @ B - targets) ** 2).mean() + lam * (B**2).sum()


def test_one_prototype_is_the_best_of_all_rows():
    best = min(range(30), key=lambda j: objective_of([j], LABELS))
    found = fitted(1)
    assert found.anchor_rows_.tolist() == [best]
    assert found.objective_ == pytest.approx(objective_of([best], LABELS), rel=1e-9)


def test_no_exchange_of_one_row_is_better():
    found = fitted(3)
    chosen = found.anchor_rows_.tolist()
    assert found.objective_ == pytest.approx(objective_of(chosen, LABELS), rel=1e-9)
    for j, other in itertools.product(range(3), range(30)):
        rows = chosen[:j] + chosen[j + 1 :] + [other]
        if len(set(rows)) == 3:
            assert objective_of(rows, LABELS) >= found.objective_ - 1e-8
    history = found.history_.objective
    assert (np.diff(history) <= 1e-12).all()


def test_a_prediction_needs_the_similarities_to_the_prototypes_only():
    found = fitted(4)
    assert found.model_.kind_of_prototype == "real case"
    assert np.flatnonzero(found.model_.support).tolist() == sorted(found.anchor_rows_)
    new = RNG.normal(size=(9, 30))
    noise = np.where(found.model_.support, new, RNG.normal(size=(9, 30)))
    np.testing.assert_array_equal(found.predict(new), found.predict(noise))


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        (S[:, :7], {}, "X has 7 columns for 30 rows and should have a column for each"),
        (S, {"target": "teacher"}, "target='teacher' should be 'labels'"),
    ],
)
def test_what_cannot_be_learned_is_refused(X, options, words):
    with pytest.raises(SmpcoreError, match=words):
        fitted(2, S=X, **options)
