"""Counted answers against scikit-learn and by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, recall_score

from smpcore import SMPClassifier, SmpcoreError, evaluate
from smpcore.evaluation import class_numbers, count_answers


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


@pytest.mark.parametrize("rows", [1, 2, 10, 57, 1000])
def test_the_interval_is_wilsons(rows):
    for hits in {0, 1, rows // 3, rows - 1, rows}:
        answers = np.array([0] * hits + [1] * (rows - hits))
        scores = count_answers(np.zeros(rows, dtype=int), answers, np.array([0, 1]))
        exact = binomtest(hits, rows).proportion_ci(method="wilson")
        np.testing.assert_allclose(scores.interval, exact, rtol=1e-12, atol=1e-15)


def test_labels_become_numbers_and_strangers_minus_one():
    classes = np.array(["a", "c"])
    numbers = class_numbers(np.array(["c", "b", "a", "z"]), classes)
    assert numbers.tolist() == [1, -1, 0, -1]


def test_no_rows_is_said():
    model = SMPClassifier().fit([[0.0], [1.0]], [0, 1]).model_
    with pytest.raises(SmpcoreError, match="X has no rows"):
        evaluate(model, np.empty((0, 1)), np.empty(0))
