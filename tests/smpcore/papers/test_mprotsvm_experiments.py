"""The multi-prototype SVM's experiments, and the two LVQ that no library has."""

import numpy as np

from smpcore.datasets import load_dataset
from smpcore.papers.mprotsvm import tables
from smpcore.papers.mprotsvm.tables import lvq21_step, olvq1_step

SAME = np.array([True, False])


def test_a_step_of_olvq1_by_hand():
    Z, lengths = np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([0.2, 0.2])
    olvq1_step(Z, lengths, 0.3, np.array([1.0, 1.0]), SAME)
    np.testing.assert_allclose(Z, [[0.2, 0.2], [4.0, 0.0]])
    np.testing.assert_allclose(lengths, [0.2 / 1.2, 0.2])
    # The other one is nearer and of another class: it goes away, with longer steps.
    olvq1_step(Z, lengths, 0.3, np.array([3.0, 0.0]), SAME)
    np.testing.assert_allclose(Z, [[0.2, 0.2], [4.2, 0.0]])
    np.testing.assert_allclose(lengths, [0.2 / 1.2, 0.25])
    olvq1_step(Z, lengths, 0.3, np.array([4.2, 0.0]), SAME)
    np.testing.assert_allclose(lengths, [0.2 / 1.2, 0.3])  # 1/3, but no longer than .3


def test_a_step_of_lvq21_by_hand():
    Z = np.array([[0.0], [4.0]])
    lvq21_step(Z, 0.1, np.array([1.0]), SAME)  # 1 to 3, below .7 / 1.3: no step
    np.testing.assert_array_equal(Z, [[0.0], [4.0]])
    lvq21_step(Z, 0.1, np.array([1.8]), SAME)
    np.testing.assert_allclose(Z, [[0.18], [4.22]])
    lvq21_step(Z, 0.1, np.array([2.0]), np.array([True, True]))
    np.testing.assert_allclose(Z, [[0.18], [4.22]])
    Z = np.array([[0.0], [4.0], [100.0]])
    lvq21_step(Z, 0.1, np.array([2.2]), np.array([True, False, True]))
    np.testing.assert_allclose(Z, [[0.22], [4.18], [100.0]])


def test_rows_are_divided_as_the_paper_says():
    dataset = load_dataset("digits")
    drawn = tables.divided(dataset, tables.Division(1000, 300, largest=True), 0)
    assert len(drawn.X) == 1000 and len(drawn.X_test) == 300
    assert drawn.X.max() == 1.0
    other = tables.divided(dataset, tables.Division(1000, 300, largest=True), 1)
    assert (drawn.y != other.y).any()
    first = tables.divided(dataset, tables.Division(1000, 797, drawn=False), 0)
    np.testing.assert_array_equal(first.y, dataset.y[:1000])
    np.testing.assert_array_equal(first.y_test, dataset.y[1000:])
    spread = first.X.std(axis=0)
    assert np.isclose(spread, 1.0).sum() > 40 and np.isin(spread.round(9), [0, 1]).all()
