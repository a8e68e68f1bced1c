"""A printed algorithm that is asked to stop gives the states until then."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from smpcore import METHODS
from smpcore.papers import PRINTED

X, Y = make_moons(60, noise=0.1, random_state=0)


@pytest.mark.parametrize("method", PRINTED)
def test_a_raised_flag_ends_the_algorithm_after_its_first_state(method):
    entry = METHODS[method]
    estimator = entry.estimator(entry.defaults("classification"), "classification")
    problem = estimator.problem(X, Y)
    run = PRINTED[method]
    whole = run(estimator, problem, n_steps=2)
    stopped = run(estimator, problem, n_steps=2, stop=np.ones(1, dtype=np.int64))
    assert 1 <= len(stopped) < len(whole)
    assert stopped[0].objective == whole[0].objective
