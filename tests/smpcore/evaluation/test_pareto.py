"""Fronts by brute force, and the corrected test by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from smpcore.evaluation import (
    SIZES,
    corrected_t_test,
    pareto_front,
    smaller_and_as_good,
    summary,
)
from smpcore.evaluation.comparison import corrected_error

DIFFERENCES = np.array([0.02, 0.01, 0.03, 0.0, 0.04])


def test_nadeau_and_bengio_by_hand():
    # mean 0.02, variance 0.00025; (1/5 + 20/80) * 0.00025 = 0.0001125
    error = corrected_error(DIFFERENCES, 80, 20)
    assert error == pytest.approx(np.sqrt(0.0001125), rel=1e-12)
    expected = 2 * stats.t.sf(0.02 / np.sqrt(0.0001125), df=4)
    assert corrected_t_test(DIFFERENCES, 80, 20) == pytest.approx(expected, rel=1e-12)
    plain = stats.ttest_1samp(DIFFERENCES, 0).pvalue
    assert corrected_t_test(DIFFERENCES, 1e12, 1e-6) == pytest.approx(plain, rel=1e-9)
    assert corrected_t_test(DIFFERENCES, 80, 20) > plain


def _table(scores: np.ndarray, sizes: np.ndarray) -> pd.DataFrame:
    """Fits of (points x folds) scores."""
    lines = []
    for value, (own, size) in enumerate(zip(scores, sizes, strict=True)):
        for fold, score in enumerate(own):
            lines.append(
                {"method": "m", "parameter": "p", "value": float(value), "repeat": 0}
                | {"fold": fold, "n_train": 80, "n_held_out": 20, "accuracy": score}
                | {"n_nonzeros": size, "n_features": size, "n_prototypes": 1.0}
                | dict.fromkeys(SIZES[3:], np.nan)
                | {"seconds": 0.1, "status": "converged"}
            )
    return pd.DataFrame(lines)


def _marked(scores, sizes, larger_is_better=True):
    table = _table(np.asarray(scores, dtype=float), np.asarray(sizes, dtype=float))
    points = summary(table, "accuracy", len(scores[0]))
    how = "n_nonzeros", "accuracy", larger_is_better
    return pareto_front(points, table, *how)


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 4), min_size=3, max_size=3), st.integers(1, 5)
        ),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
)
def test_the_front_by_brute_force(points, larger):
    scores = np.array([own for own, _ in points]) / 4
    sizes = np.array([size for _, size in points], dtype=float)
    found = _marked(scores, sizes, larger)
    mean = found["mean"].to_numpy() * (1 if larger else -1)
    for i in range(len(points)):
        beaten = any(
            sizes[j] <= sizes[i]
            and mean[j] >= mean[i]
            and (sizes[j] < sizes[i] or mean[j] > mean[i])
            for j in range(len(points))
        )
        assert found["front"][i] == (not beaten)
        told = any(
            found["front"][j]
            and sizes[j] <= sizes[i]
            and mean[j] > mean[i]
            and corrected_t_test(scores[j] - scores[i], 80, 20) < 0.05
            for j in range(len(points))
        )
        assert found["undecided"][i] == (beaten and not told)
    assert found["best"].sum() == found["sparsest"].sum() == 1
    top = found[found["best"]].iloc[0]
    assert mean[found["best"].to_numpy()][0] == mean.max()
    near = mean >= mean.max() - top["error"]
    assert sizes[found["sparsest"].to_numpy()][0] == sizes[near].min()


def test_points_of_unknown_cost_or_missing_folds_are_left_out():
    table = _table(np.full((2, 5), 0.9), np.array([1.0, 2.0]))
    assert len(summary(table[:-1], "accuracy", 5)) == 1
    points = summary(table, "accuracy", 5)
    found = pareto_front(points, table, "flash_bytes", "accuracy")
    assert not found[["front", "undecided", "best", "sparsest"]].any(axis=None)


def test_the_best_of_other_points_that_are_smaller_and_as_good():
    points = pd.DataFrame({"mean": [0.83, 0.9, 0.7], "n_nonzeros": [20, 30, 5]})
    others = pd.DataFrame(
        {"mean": [0.84, 0.87, 0.9, 0.99], "n_nonzeros": [9, 15, 30, np.nan]}
    )
    found = smaller_and_as_good(points, others, "n_nonzeros")
    np.testing.assert_array_equal(found, [1, -1, -1])
    errors = [frame.assign(mean=-frame["mean"]) for frame in (points, others)]
    np.testing.assert_array_equal(
        smaller_and_as_good(*errors, "n_nonzeros", False), found
    )
    nothing = smaller_and_as_good(points, others[:0], "n_nonzeros")
    np.testing.assert_array_equal(nothing, -1)


def test_equal_scores_tell_nothing_and_a_constant_lead_tells_all():
    assert corrected_t_test(np.zeros(5), 80, 20) == 1.0
    assert corrected_t_test(np.array([0.1]), 80, 20) == 1.0
    assert corrected_t_test(np.full(5, 0.1), 80, 20) < 1e-9
