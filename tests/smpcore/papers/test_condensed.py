"""Condensed nearest neighbour: few rows that answer as all of them do."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.neighbors import KNeighborsClassifier

from smpcore.papers.comparison.condensed import CondensedNeighbour

X, Y = make_moons(200, noise=0.2, random_state=0)


def test_the_selected_rows_get_every_row_right():
    fitted = CondensedNeighbour(editing=0).fit(X, Y)
    assert (fitted.predict(X) == Y).all()
    assert len(fitted.selected_) < 0.5 * len(X)


def test_answers_are_those_of_one_neighbour_among_the_selected_rows():
    fitted = CondensedNeighbour().fit(X, Y)
    reference = KNeighborsClassifier(1).fit(X[fitted.selected_], Y[fitted.selected_])
    points = np.random.default_rng(0).normal(size=(300, 2))
    assert (fitted.predict(points) == reference.predict(points)).all()


@pytest.mark.parametrize("editing", [1, 3, 9])
def test_editing_drops_the_rows_that_their_neighbours_get_wrong(editing):
    """Wilson's rule by the definition; what is left is then answered without error."""
    kept = []
    for row in range(len(X)):
        others = np.delete(np.arange(len(X)), row)
        nearest = others[np.linalg.norm(X[others] - X[row], axis=1).argsort()[:editing]]
        kept.append((Y[nearest] == Y[row]).mean() >= 0.5)
    fitted = CondensedNeighbour(editing).fit(X, Y)
    assert set(fitted.selected_) <= set(np.flatnonzero(kept))
    assert (fitted.predict(X[kept]) == Y[kept]).all()


def test_equal_rows_of_two_classes_end_and_every_class_stays():
    same = np.zeros((6, 2))
    labels = np.array(["a", "b", "a", "b", "c", "a"])
    assert {*CondensedNeighbour(1).fit(same, labels).y_} == {"a", "b", "c"}


def test_labels_may_be_words_and_fits_repeat():
    flowers, codes = load_iris(return_X_y=True)
    names = np.array(["x", "y", "z"])[codes]
    one, other = (CondensedNeighbour(3).fit(flowers, names) for _ in range(2))
    assert one.selected_.tolist() == other.selected_.tolist()
    assert one.score(flowers, names) > 0.9
