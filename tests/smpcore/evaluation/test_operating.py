"""Thresholds and bands against scikit-learn and by counting."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from smpcore import (
    METHODS,
    PrototypeModel,
    SmpcoreError,
    compile_model,
    load_dataset,
    prepare,
    split,
)
from smpcore.evaluation import (
    at_threshold,
    band_for_error,
    margins,
    operating_points,
    reject_curve,
    roc_area,
    threshold_for_cost,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    truth = rng.random(120) < 0.3
    margin = np.round(rng.normal(size=120) + 1.2 * truth, 1)  # with ties
    return margin, truth


@pytest.mark.parametrize("miss, alarm", [(1, 1), (10, 1), (1, 7), (0, 1)])
def test_no_threshold_costs_less(rows, miss, alarm):
    margin, truth = rows

    def cost(threshold):
        yes = margin > threshold
        return miss * (truth & ~yes).sum() + alarm * (~truth & yes).sum()

    points = operating_points(margin, truth)
    chosen = threshold_for_cost(points, miss, alarm)
    everywhere = np.concatenate([margin - 0.01, margin + 0.01])
    assert cost(chosen) == min(map(cost, everywhere))


def test_a_band_leaves_the_sure_rows(rows):
    margin, truth = rows
    curve = reject_curve(margin, truth, 0.35)
    band = band_for_error(curve, 0.1)
    narrower = curve[curve["band"] < band]
    assert (narrower["error"] > 0.1).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: operating_points(np.arange(3.0), np.ones(3)), "hold one class only"),
        (lambda: threshold_for_cost(None, -1, 1), "should not be negative"),
        (lambda: threshold_for_cost(None, 0, 0), "one of them above 0"),
        (
            lambda: band_for_error(
                reject_curve(np.array([-1.0, 9.0]), np.array([False, False])), 0.0
            ),
            "Allow more errors",
        ),
    ],
)
def test_what_is_refused(wrong, words):
    with pytest.raises(SmpcoreError, match=words):
        wrong()


@pytest.mark.parametrize("outcome", [0, 1])
@pytest.mark.parametrize("key", METHODS)
def test_a_threshold_is_part_of_the_model_and_of_its_c(key, outcome):
    dataset = load_dataset("breast_cancer")
    parts = split(dataset)
    preparation = prepare(dataset, parts.train)
    X = preparation.transform(dataset.frame)
    if "classification" not in METHODS[key].estimators:
        return
    estimator = METHODS[key].estimator(METHODS[key].defaults(), preview=True)
    model = estimator.fit(X[parts.train], dataset.y[parts.train]).model_
    model = replace(model, outcome=outcome)
    rows = X[parts.validation]
    truth = dataset.y_encoded[parts.validation] == outcome
    margin = margins(model, rows)
    points = operating_points(margin, truth)
    threshold = float(points["threshold"].iloc[len(points) // 3])
    if model.code_size:
        with pytest.raises(SmpcoreError, match="has no intercept"):
            at_threshold(model, threshold)
        return
    moved = at_threshold(model, threshold, band=0.25)
    yes = moved.classes[outcome]
    np.testing.assert_array_equal(moved.predict(rows) == yes, margin > threshold)
    unsure = np.abs(margin - threshold) <= 0.25
    np.testing.assert_array_equal(moved.sure(rows), ~unsure)
    again = PrototypeModel.from_json(moved.to_json())
    assert (again.band, again.outcome) == (0.25, outcome)
    np.testing.assert_array_equal(again.predict(rows), moved.predict(rows))
    compiled = compile_model(moved, preparation)
    frame = dataset.frame.iloc[parts.validation]
    agree = compiled.predict_frame(frame) == moved.predict(rows)
    far = np.abs(margin - threshold) > 1e-4 * np.abs(margin).max()
    assert agree[far].all() and far.sum() > len(far) / 2


@pytest.mark.parametrize("lead", [0.8, 2.3])
@pytest.mark.parametrize("size", [1, 4])
def test_the_interval_of_the_area_covers_it(lead, size):
    """15 positive and 45 negative units of rows that are alike, 1,000 times."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(60) < 15, size)
    clusters = np.repeat(np.arange(60), size)
    real = norm.cdf(lead / np.sqrt(2))
    inside = 0
    for _ in range(1000):
        own = np.sqrt(0.7) * np.repeat(rng.normal(size=60), size)
        margin = own + np.sqrt(0.3) * rng.normal(size=60 * size) + lead * truth
        _, low, high, _ = roc_area(margin, truth, clusters)
        inside += low <= real <= high
    assert 930 <= inside <= 985


def test_an_area_of_one_has_an_interval_of_few_rows(rows):
    margin, truth = rows  # of which some are equal
    assert roc_area(margin, truth)[0] == pytest.approx(roc_auc_score(truth, margin))
    margin, truth = np.arange(40.0), np.arange(40) >= 30
    assert roc_area(*rows).method.startswith("DeLong's")
    area, low, high, method = roc_area(margin, truth)
    assert method == "Wilson's for the rows of the rarer class"
    assert (area, high) == (1.0, 1.0) and low == pytest.approx(0.722, abs=0.001)
    assert roc_area(-margin, truth)[:2] == (0.0, 0.0)
    assert np.isnan(roc_area(margin, np.zeros(40, bool))[:3]).all()
