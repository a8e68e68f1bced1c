"""SMaLL's experiments, and the two baselines that no library has."""

from dataclasses import replace

import numpy as np
import pytest

from smpcore.datasets import load_dataset
from smpcore.methods import METHODS
from smpcore.papers.experiment import Trial
from smpcore.papers.protocols import accuracy, halves, standardised
from smpcore.papers.small import budget, convergence, recovery, sparsity, table_1
from smpcore.papers.small.bonsai import Bonsai, forward, loss_and_gradients
from smpcore.papers.small.protonn import ProtoNN, squared_error
from smpcore.papers.small.thresholded import keep_columns, keep_largest, n_bytes

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 4))
CODES = RANDOM.integers(3, size=40)


def drawn(**shapes):
    return {name: RANDOM.normal(size=shape) for name, shape in shapes.items()}


BASELINES = {
    "ProtoNN": (
        drawn(W=(2, 4), B=(5, 2), Z=(5, 3)),
        lambda arrays: squared_error(arrays, X, np.eye(3)[CODES], 0.7),
    ),
    "Bonsai": (
        drawn(Z=(2, 4), W=(7, 3, 2), V=(7, 3, 2), theta=(3, 2)),
        lambda arrays: loss_and_gradients(arrays, X, CODES, 1.5, 0.1),
    ),
    "Bonsai, two classes": (
        drawn(Z=(2, 4), W=(3, 1, 2), V=(3, 1, 2), theta=(1, 2)),
        lambda arrays: loss_and_gradients(arrays, X, CODES % 2, 1.5, 0.0),
    ),
}


@pytest.mark.parametrize("name", BASELINES)
def test_gradients_are_slopes(name):
    arrays, function = BASELINES[name]
    gradients = function(arrays)[1]
    for which, slope in gradients.items():
        step = RANDOM.normal(size=slope.shape)
        ahead, behind = (
            function({**arrays, which: arrays[which] + h * step})[0]
            for h in (1e-6, -1e-6)
        )
        seen = (ahead - behind) / 2e-6
        assert (slope * step).sum() == pytest.approx(seen, rel=1e-5, abs=1e-8)


def test_a_row_takes_one_path_of_the_tree():
    arrays = BASELINES["Bonsai"][0]
    at = forward(arrays, X, np.inf)
    assert set(np.unique(at["reach"])) == {0.0, 1.0}
    assert (at["reach"].sum(axis=1) == 3).all()
    row = X[0] @ arrays["Z"].T
    node, score = 0, np.zeros(3)
    for _ in range(3):
        W, V = arrays["W"][node], arrays["V"][node]
        score += (W @ row) * np.tanh(V @ row)
        if node < 3:
            node = 2 * node + (2 if arrays["theta"][node] @ row > 0 else 1)
    np.testing.assert_allclose(at["scores"][0], score)


@pytest.mark.parametrize("make", [ProtoNN, Bonsai])
def test_curved_borders_are_learned_and_limits_kept(make):
    rows = standardised(halves(load_dataset("circles"), 0))
    fitted = (make(n_prototypes=6) if make is ProtoNN else make()).fit(rows.X, rows.y)
    assert accuracy(fitted, rows.X_test, rows.y_test) > 0.85
    rows = standardised(halves(load_dataset("wine"), 0))
    few = make(n_features=3).fit(rows.X, rows.y)
    assert len(few.features) <= 3
    small, name = make(share=0.3).fit(rows.X, rows.y), "W" if make is ProtoNN else "Z"
    array = small.arrays_[name]
    assert 0 < np.count_nonzero(array) <= 0.3 * array.size
    assert small.n_bytes < make().fit(rows.X, rows.y).n_bytes


def test_limits_and_bytes_by_hand():
    array = np.array([[3.0, 0.0, -1.0], [0.5, 2.0, 0.0]])
    assert keep_largest(array, 2).tolist() == [
        [True, False, False],
        [False, True, False],
    ]
    assert keep_columns(array, 1).tolist() == [[True, False, False]] * 2
    # Four of six weights with places take 24 bytes, as all six do; one of six takes 6.
    assert n_bytes({"a": array, "b": np.eye(1, 6)}) == 24 + 6


def test_only_algorithm_2_is_not_what_is_proved():
    experiment = convergence.EXPERIMENTS[0]
    dataset = load_dataset("breast_cancer")
    holds = {
        one.measure: experiment.run(Trial("", one.model, 0), dataset).measures[
            one.measure
        ]
        for one in experiment.reported
    }
    assert [name for name, value in holds.items() if not value] == [
        "Proposition 4 holds: Algorithm 2 is a projection"
    ]


def test_fixed_steps_come_to_the_optimum_of_our_solver():
    name = "derived gradients, steps .01 and .01, lambda = 0.1"
    outcome = convergence.EXPERIMENTS[1].run(
        Trial("", name, 0), load_dataset("friedman", n_samples=100, n_features=8)
    )
    above = [*outcome.curves["above the optimum"].values()]
    assert above[0] > 10 * above[-1] >= 0.0
    assert above[-1] < 2e-3


def test_a_table_entry_is_the_model_that_explore_opens():
    dataset = load_dataset("breast_cancer")
    rows = halves(dataset, 0)
    table = replace(table_1.EXPERIMENTS[0], models=table_1.MODELS)
    for model in (table_1.SMALL, "SMaLL, with a bias", table_1.EITHER):
        outcome = table.run(Trial("", model, 0), dataset)
        method = METHODS["smallk"]
        values = {**method.defaults(), **outcome.values}
        opened = method.estimator(values).fit(rows.X, rows.y)
        share = accuracy(opened, rows.X_test, rows.y_test)
        assert share == pytest.approx(outcome.measures["accuracy"])
    printed = table.run(Trial("", table_1.PRINTED, 0), dataset)
    assert 0.5 < printed.measures["accuracy"] < 1.0
    assert not printed.method


def test_models_with_few_features_have_few():
    dataset = load_dataset("friedman", n_samples=120, n_features=12)
    figure_4 = replace(sparsity.EXPERIMENTS[2], n_halves=1)
    for model in (table_1.SMALL, "L1L", "ProtoNN"):
        measured = figure_4.run(Trial("", model, 0), dataset).measures
        assert 1 <= measured["features"] <= 7
        assert 0.4 < measured["accuracy"] <= 1.0
    assert figure_4.run(Trial("", "LR", 0), dataset).measures["features"] == 12


def test_planted_features_are_found_with_enough_rows():
    _, y, W = recovery.planted(2000, 0)
    assert (W != 0).sum() == 6
    assert 0.2 < y.mean() < 0.45
    for model in (recovery.AS_PRINTED, recovery.REFIT, recovery.OURS):
        found, right = recovery._planted_fit(model, 1600, 0)
        assert found == 1.0
        assert right > 0.8


def test_a_setting_with_more_bytes_than_the_budget_is_not_taken():
    dataset = load_dataset("wine")
    outcome = budget.EXPERIMENTS[0].run(Trial("", "SMP", 0), dataset)
    budgets = [*outcome.curves["test accuracy"]]
    assert set(budgets) <= set(budget.BUDGETS)
    rows = standardised(halves(dataset, 0))
    fits = [
        budget.SMPClassifier(**v).fit(rows.X, rows.y) for v in budget.MODELS["SMP"].grid
    ]
    smallest = min(budget.weight_bytes(fit) for fit in fits)
    assert min(budgets) == min(b for b in budget.BUDGETS if b >= smallest)
    model = fits[0].model_
    weights = min(4 * model.anchors.size, 6 * np.count_nonzero(model.anchors))
    assert budget.weight_bytes(fits[0]) == weights + 4 * model.n_prototypes
