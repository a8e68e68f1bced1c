"""Thresholds and bands against scikit-learn and by counting."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from smpcore import METHODS, PrototypeModel, SmpcoreError, compile_model
from smpcore.evaluation import (
    at_threshold,
    band_for_error,
    margins,
    operating_points,
    reject_curve,
    roc_area,
    threshold_for_cost,
)
from tests.shown import oracle


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


def test_what_is_refused():
    with pytest.raises(SmpcoreError, match="hold one class only"):
        operating_points(np.arange(3.0), np.ones(3))
    with pytest.raises(SmpcoreError, match="should not be negative"):
        threshold_for_cost(None, -1, 1)
    with pytest.raises(SmpcoreError, match="one of them above 0"):
        threshold_for_cost(None, 0, 0)
    wrong_first = reject_curve(np.array([-1.0, 9.0]), np.zeros(2, dtype=bool))
    with pytest.raises(SmpcoreError, match="Allow more errors"):
        band_for_error(wrong_first, 0.0)


@pytest.mark.parametrize("key", METHODS)
def test_a_threshold_is_part_of_the_model_and_of_its_c(key):
    of = oracle.fit(key, "breast_cancer")
    model, places = of.model, of.parts["validation"]
    rows, truth = of.X[places], of.table.y_encoded[places] == 1
    margin = margins(model, rows)
    points = operating_points(margin, truth)
    threshold = float(points["threshold"].iloc[len(points) // 3])
    if model.code_size:
        with pytest.raises(SmpcoreError, match="has no intercept"):
            at_threshold(model, threshold)
        return
    moved = at_threshold(model, threshold, band=0.25)
    yes = moved.classes[1]
    np.testing.assert_array_equal(moved.predict(rows) == yes, margin > threshold)
    unsure = np.abs(margin - threshold) <= 0.25
    np.testing.assert_array_equal(moved.sure(rows), ~unsure)
    again = PrototypeModel.from_json(moved.to_json())
    assert again.band == 0.25
    np.testing.assert_array_equal(again.predict(rows), moved.predict(rows))
    compiled = compile_model(moved, of.preparation)
    frame = of.table.frame.iloc[places]
    agree = compiled.predict_frame(frame) == moved.predict(rows)
    far = np.abs(margin - threshold) > 1e-4 * np.abs(margin).max()
    assert agree[far].all() and far.sum() > len(far) / 2


def test_an_area_of_one_has_an_interval_of_few_rows(rows):
    margin, truth = rows  # of which some are equal
    assert roc_area(margin, truth)[0] == pytest.approx(roc_auc_score(truth, margin))
    margin, truth = np.arange(40.0), np.arange(40) >= 30
    area, low, high = roc_area(margin, truth)
    assert (area, high) == (1.0, 1.0) and low == pytest.approx(0.722, abs=0.001)
    assert roc_area(-margin, truth)[:2] == (0.0, 0.0)
    assert np.isnan(roc_area(margin, np.zeros(40, bool))).all()
