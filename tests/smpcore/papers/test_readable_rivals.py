"""Readable models of other packages beside ours: all anew from the stored lines."""

import json
import re

import numpy as np
import pytest
from scipy import stats

from smpcore.methods import METHODS
from smpcore.papers import (
    EXPERIMENTS,
    SHIPPED,
    Place,
    beside_methods,
    by_name,
    compared,
    path_of,
    table_of,
)
from tests.bench.rivals import _bits, _nodes, _size_of_trees

COMPARISON = by_name(EXPERIMENTS, "comparison")
LINES = [json.loads(line) for line in path_of("comparison", SHIPPED).open()]
TITLES = [method.title for method in METHODS.values()]
MODELS = [*COMPARISON.models, *COMPARISON.rivals]
#: Tables that the rivals were measured on.
THEIRS = {line["data"] for line in LINES if line["model"] in COMPARISON.rivals}
DATA = [name for name in COMPARISON.data if name in THEIRS]
#: What the page shows of a model's name.
SHORT = [name.partition(":")[0] for name in MODELS]


def values_of(measure):
    """An array of models, tables and folds."""
    shape = len(MODELS), len(DATA), COMPARISON.repetitions
    values = np.full(shape, np.nan)
    for line in (line for line in LINES if line["data"] in DATA):
        place = MODELS.index(line["model"]), DATA.index(line["data"])
        number = line["measures"].get(measure)
        values[(*place, line["repetition"])] = np.nan if number is None else number
    return values


ACCURACY, LOSS, NUMBERS = map(values_of, ("accuracy", "log-loss", "numbers"))
BESIDE = beside_methods(COMPARISON, Place(SHIPPED))


def test_every_rival_is_measured_on_every_fold_of_the_same_tables():
    assert len(DATA) >= 9
    assert np.isfinite(ACCURACY).all() and np.isfinite(NUMBERS).all()
    assert np.isfinite(LOSS[len(COMPARISON.models) :]).all()


def test_rivals_were_scored_on_the_same_rows():
    """All shares of a fold's test rows are shares of one number of rows."""
    for folds in ACCURACY.transpose(1, 2, 0):
        for shares in folds:
            hits = [shares * n for n in range(5, 120)]
            away = [np.abs(one - one.round()).max() for one in hits]
            assert min(away) < 1e-3


def test_ranks_and_the_critical_difference_are_demsars():
    means = ACCURACY.mean(axis=2).round(5)
    ranks = np.array([stats.rankdata(-column) for column in means.T])
    table, n = table_of(COMPARISON, Place(SHIPPED)), len(DATA)
    shown = compared(COMPARISON, table, rivals=True).ranks
    assert shown.n_sets == n
    expected = dict(zip(SHORT, ranks.mean(axis=0), strict=True))
    assert shown.mean.to_dict() == pytest.approx(expected)
    k = len(MODELS)
    # 4.89 is the 5 % point of the range of 17 normal numbers in printed tables.
    assert k == 17
    critical = 4.89 / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))
    assert shown.critical == pytest.approx(critical, rel=2e-3)
    # Friedman's statistic with ties, by its formula.
    spread = (ranks**2).sum() - n * k * (k + 1) ** 2 / 4
    away = ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    statistic = (k - 1) * n**2 * away / spread
    assert shown.p_value == pytest.approx(stats.chi2.sf(statistic, k - 1))
    # The other picture is of the models that are measured on all tables.
    usual = compared(COMPARISON, table).ranks
    assert usual.n_sets == 30 and not {*COMPARISON.rivals} & {*usual.mean.index}


def holm_by_hand(p_values):
    """Corrected p-values, and the level at which each is decided."""
    order, n = np.argsort(p_values), len(p_values)
    corrected, levels, least, stopped = np.empty(n), np.empty(n), 0.0, 0.0
    for step, place in enumerate(order):
        least = max(least, min(1.0, (n - step) * p_values[place]))
        stopped = stopped or (0.05 / (n - step) if least >= 0.05 else 0.0)
        corrected[place], levels[place] = least, stopped or 0.05 / (n - step)
    return corrected, levels


PAIRS = [(rival, title) for rival in COMPARISON.rivals for title in TITLES]


def gains_of(values, sign):
    """Advantage of the rival of each pair, by table and fold."""
    return np.array(
        [sign * (values[MODELS.index(a)] - values[MODELS.index(b)]) for a, b in PAIRS]
    )


@pytest.mark.parametrize(
    ("measure", "values", "sign"), [("accuracy", ACCURACY, 1), ("log-loss", LOSS, -1)]
)
def test_intervals_are_students_and_corrected_for_the_number_of_pairs(
    measure, values, sign
):
    rows = BESIDE.rows
    assert [*zip(rows["rival"], rows["method"], strict=True)] == [
        (rival, title.partition(":")[0]) for rival, title in PAIRS
    ]
    if np.isnan(values[: len(TITLES)]).all():
        pytest.skip("not measured of the methods")
    means = np.nanmean(gains_of(values, sign), axis=2)
    tests = [stats.ttest_1samp(one[np.isfinite(one)], 0) for one in means]
    _, levels = holm_by_hand([one.pvalue for one in tests])
    for place, (one, level) in enumerate(zip(tests, levels, strict=True)):
        limits = one.confidence_interval(1 - level)
        shown = [rows[f"{measure}: {part}"][place] for part in ("low", "high")]
        assert shown == pytest.approx([*limits])
        mean = np.nanmean(means[place])
        assert rows[f"{measure}: advantage"][place] == pytest.approx(mean)


def test_single_tables_are_compared_by_the_corrected_test():
    """Nadeau and Bengio: (1 / 5 + 1 / 4) s^2 for five folds, t with four degrees."""
    gains = gains_of(ACCURACY, 1)
    error = np.sqrt((1 / 5 + 1 / 4) * gains.var(axis=2, ddof=1))
    mean = gains.mean(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = np.where(
            np.abs(mean) > 1e-12, 2 * stats.t.sf(np.abs(mean) / error, 4), 1.0
        )
    for start in range(0, len(PAIRS), len(TITLES)):
        here = slice(start, start + len(TITLES))
        corrected, _ = holm_by_hand(p_values[here].ravel())
        clear = corrected.reshape(p_values[here].shape) < 0.05
        for name, sign in (("better", 1), ("worse", -1)):
            expected = (clear & (sign * mean[here] > 0)).sum(axis=1)
            shown = BESIDE.rows[f"tables: {name}"][here]
            assert shown.tolist() == expected.tolist()


def test_each_sentence_says_what_the_intervals_say():
    sentences = dict(zip(COMPARISON.rivals, BESIDE.sentences[:-1], strict=True))
    sizes = np.exp(np.log(NUMBERS.mean(axis=2).clip(1)).mean(axis=1))
    for rival, text in sentences.items():
        assert text.startswith(f"{rival}: on {len(DATA)} tables ")
        rows = BESIDE.rows[BESIDE.rows["rival"] == rival]
        better = rows["accuracy: low"] > 0
        assert ("it is the better choice where accuracy counts" in text) == better.any()
        ahead = text.partition("more accurate than ")[2].partition(". ")[0]
        ahead = ahead.partition("less accurate")[0]
        for name, low, high in zip(
            rows["method"], rows["accuracy: low"], rows["accuracy: high"], strict=True
        ):
            assert (f"{name} by" in ahead) == (low > 0)
            if low > 0:
                interval = f"(95 % interval {100 * low:.1f} to {100 * high:.1f})"
                assert interval in text
        place = rows["accuracy: advantage"].idxmin()
        mean, low, high = (
            100 * rows.loc[place, f"accuracy: {part}"]
            for part in ("advantage", "low", "high")
        )
        assert f"less that of {rows['method'][place]}, the best of them: " in text
        assert f"{mean:+.1f} points (95 % interval {low:+.1f} to {high:+.1f})" in text
        stored = re.search(r"Numbers stored: ([\d,]+)", text)[1]
        assert int(stored.replace(",", "")) == round(sizes[MODELS.index(rival)])
    last = BESIDE.sentences[-1]
    assert "interpret-core 0.7.8" in last
    left_out = last.partition("Not measured on ")[2].rstrip(".").split(", ")
    assert {*filter(None, left_out)} == {*COMPARISON.data} - THEIRS


class Node:
    """A node as FIGS and STreeD have them."""

    def __init__(self, feature=None, left=None, right=None):
        self.feature, self.left, self.right = feature, left, right


def test_trees_of_others_are_counted_as_ours():
    tree = Node(2, Node(), Node(0, Node(), Node()))
    nodes = _nodes(tree, "left", "right")
    assert nodes == [2, -1, 0, -1, -1]
    # As of a tree of ours: thresholds, a class for each leaf; a byte for a column and
    # for each child.
    size = _size_of_trees([nodes], 3, 0)
    assert (size.numbers, size.n_bytes) == (2 + 3, 2 * (4 + 3) + 3)
    assert size.used.tolist() == [True, False, True]


def test_thresholds_divide_the_rows_that_they_are_learned_from():
    X = np.array([[0.0, 5], [1, 5], [2, 5], [3, 5]])
    names, bits = _bits(X)
    assert {j for j, _ in names} == {0}  # a column of one value has no threshold
    shares = bits(X).mean(axis=0)
    assert (shares > 0).all() and (shares < 1).all()
    names, _ = _bits(np.random.default_rng(0).normal(size=(50, 40)))
    assert len(names) <= 100
