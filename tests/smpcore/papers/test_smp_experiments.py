"""SMP's experiments: what they are made of, and a trial of each kind."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

from smpcore import load_dataset
from smpcore.datasets import make_dataset
from smpcore.papers import EXPERIMENTS, by_name
from smpcore.papers.experiment import Trial
from smpcore.papers.protocols import (
    standardised_halves,
    with_codes,
)
from smpcore.papers.smp import convergence, sparsity

CANCER = load_dataset("breast_cancer")


def few(dataset, n_rows):
    """The first rows of a data set."""
    return replace(dataset, frame=dataset.frame.iloc[:n_rows], origin=None)


@pytest.mark.parametrize("loss", ["hinge", "smooth", "huber"])
def test_penalties_of_the_baselines_are_those_of_one_vector(loss):
    """SMP's two antisymmetric prototypes stand for w: l1 |w| + l2 |w|^2 / 2."""
    rows = standardised_halves(CANCER, 0)
    l1, l2 = 0.03, 0.06
    linear = sparsity.Linear(loss, l1, l2).fit(rows.X, rows.y)
    if loss == "huber":
        w = linear.estimator.coef_
    else:
        anchors = linear.estimator.model_.anchors
        w = anchors[1] - anchors[0]
    classes = np.unique(rows.y)
    v, b = cp.Variable(rows.X.shape[1]), cp.Variable()
    z = cp.multiply(np.where(rows.y == classes[1], 1.0, -1.0), rows.X @ v + b)
    each = {
        "hinge": cp.pos(1 - z),
        "smooth": cp.logistic(-z),
        "huber": cp.huber(cp.pos(1 - z), 2),
    }[loss]
    objective = cp.sum(each) / len(rows.X) + l1 * cp.norm1(v)
    ridge = cp.sum_squares(v) + (cp.square(b) if loss != "huber" else 0.0)
    cp.Problem(cp.Minimize(objective + l2 / 2 * ridge)).solve(solver=cp.CLARABEL)
    # SMP's fits end within a thousandth of the optimum
    np.testing.assert_allclose(w, v.value, atol=0.03)
    assert 0 < len(linear.features) < rows.X.shape[1]


def test_nominal_columns_become_the_numbers_of_their_levels():
    frame = pd.DataFrame(
        {"month": ["May", "April", None, "June"], "x": [1.0, 2, 3, 4], "c": [*"aabb"]}
    )
    coded = with_codes(make_dataset(frame, "toy"))
    np.testing.assert_array_equal(coded.frame["month"], [2, 0, np.nan, 1])
    assert coded.kinds["month"] == "number" and coded.kinds["c"] == "category"


def test_the_rate_is_that_of_chambolle_and_pock(monkeypatch):
    monkeypatch.setattr(convergence, "STEPS", (10, 50, 200))
    trial = Trial("iris", "Algorithm 2, longer safe steps", 0)
    run, iris = by_name(EXPERIMENTS, "smp-convergence").run, load_dataset("iris")
    outcome = run(trial, iris)
    assert outcome.measures[convergence._RATE] == 1.0
    curve = dict(outcome.curves["objective above the optimum"])
    assert curve[10] > curve[50] > curve[200] > -1e-9
    # a bound a thousand times as small would not hold: it is no empty claim
    real = convergence.rate_constant
    monkeypatch.setattr(convergence, "rate_constant", lambda *a: real(*a) / 1000)
    assert run(trial, iris).measures[convergence._RATE] == 0.0
    ours = run(replace_model(trial, convergence.OURS), iris)
    assert ours.measures["objective after 200 steps, above the optimum"] < 1e-5


def replace_model(trial, model):
    return trial._replace(model=model)
