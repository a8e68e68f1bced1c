"""Condensed nearest neighbour: few rows that answer as all of them do."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from smpcore.papers.comparison.experiments import CondensedNeighbour

X, Y = make_moons(200, noise=0.2, random_state=0)


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
