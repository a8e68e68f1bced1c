"""Super-sparse's Figure 2 on a trial of its own."""

import numpy as np

from smpcore.papers import EXPERIMENTS, Trial, by_name
from smpcore.papers.supersparse.figure_2 import AGREE, ALMOST, OURS, SVM, _grid


def test_the_grid_reaches_a_tenth_beyond_the_rows():
    places = _grid(np.array([[0.0, 0.0], [10.0, 20.0]]))
    assert places.min(axis=0).tolist() == [-1.0, -2.0]
    assert places.max(axis=0).tolist() == [11.0, 22.0]
    assert len(np.unique(places, axis=0)) == len(places) == 3600


def test_two_cases_stand_for_the_support_vectors_of_25_rows():
    experiment = by_name(EXPERIMENTS, "supersparse-figure-2")
    dataset = experiment.data["xor"].load()
    svm, ours = (experiment.run(Trial("xor", m, 0), dataset) for m in (SVM, OURS))
    assert 2 < svm.measures["prototypes"] <= 25
    assert ours.measures["prototypes"] <= 2 and ours.values["n_prototypes"] == 2
    assert 50 < ours.measures[AGREE] <= 100
    assert ours.measures[ALMOST] == (ours.measures[AGREE] >= 95)
