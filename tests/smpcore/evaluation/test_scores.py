"""Counted answers and errors against scikit-learn and by hand."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from sklearn.metrics import (
    balanced_accuracy_score,
    confusion_matrix,
    mean_absolute_error,
    r2_score,
    recall_score,
    root_mean_squared_error,
)

from smpcore import (
    SMPClassifier,
    SmpcoreError,
    evaluate,
)
from smpcore.evaluation import RegressionScores, class_numbers
from smpcore.evaluation.scores import count_answers


def test_counts_equal_scikit_learns():
    rng = np.random.default_rng(0)
    truth, answers = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    scores = count_answers(truth, answers, np.array(list("abcd")))
    np.testing.assert_array_equal(scores.confusion, confusion_matrix(truth, answers))
    np.testing.assert_allclose(
        scores.recall, recall_score(truth, answers, average=None)
    )
    assert scores.balanced_accuracy == balanced_accuracy_score(truth, answers)
    assert scores.accuracy == (truth == answers).mean()


def test_a_dead_model_is_seen_through():
    truth = np.array([0] * 95 + [1] * 5)
    scores = count_answers(truth, np.zeros(100, dtype=int), np.array(["no", "yes"]))
    assert scores.accuracy == 0.95 == scores.majority
    assert scores.balanced_accuracy == 0.5
    assert list(scores.never_answered) == ["yes"]


def test_labels_become_numbers_and_strangers_minus_one():
    classes = np.array(["a", "c"])
    numbers = class_numbers(np.array(["c", "b", "a", "z"]), classes)
    assert numbers.tolist() == [1, -1, 0, -1]


def test_no_rows_is_said():
    model = SMPClassifier().fit([[0.0], [1.0]], [0, 1]).model_
    with pytest.raises(SmpcoreError, match="X has no rows"):
        evaluate(model, np.empty((0, 1)), np.empty(0))


@pytest.mark.parametrize("rows", [2, 3, 57, 1000])
def test_errors_equal_scikit_learns(rows):
    rng = np.random.default_rng(rows)
    truth, answers = rng.normal(3, 2, rows), rng.normal(3, 1, rows)
    scores = RegressionScores(truth, answers)
    assert scores.rows == rows
    assert scores.mae == pytest.approx(mean_absolute_error(truth, answers), rel=1e-12)
    rmse = root_mean_squared_error(truth, answers)
    assert scores.rmse == pytest.approx(rmse, rel=1e-12)
    assert scores.r2 == pytest.approx(r2_score(truth, answers), rel=1e-9)
    assert scores.errors[scores.worst] == np.abs(truth - answers).max()
    wanted = ttest_1samp(np.abs(truth - answers), 0.0).confidence_interval(0.95)
    low, high = scores.interval
    assert low == pytest.approx(max(0.0, wanted.low), rel=1e-9)
    assert high == pytest.approx(wanted.high, rel=1e-9)
    assert scores.always(1.5) == pytest.approx(
        mean_absolute_error(truth, np.full(rows, 1.5)), rel=1e-12
    )


def test_what_a_single_row_cannot_tell_is_nan():
    scores = RegressionScores(np.array([2.0]), np.array([5.0]))
    assert scores.mae == scores.rmse == 3.0
    assert np.isnan([scores.r2, *scores.interval]).all()
