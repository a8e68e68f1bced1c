"""Numbers of Trade-off, Compare and Export against independent values."""

from hashlib import blake2b
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from pages.compare.candidates import Maps
from pages.export import counts
from pages.state.host import resolve
from pages.tradeoff import sweeps
from pages.ui import exports
from pages.work import studies
from smpcore import PrototypeModel, SuperSparseRegressor, counterfactual
from smpcore.codegen import Counts
from smpcore.evaluation import SIZES
from smpcore.explain import rule_in_words
from smpcore.explain.flip_search import Block, Search
from smpcore.live import Choice
from smpcore.papers import EXPERIMENTS
from smpcore.readouts import READOUTS
from smpcore.similarity import Similarity
from tests.app import laid_out
from tests.shown import oracle
from tests.shown.oracle import says


def asked(fit, score, weights=None):
    """What the page of trade-offs asks for, as far as its chart and table read it."""
    rows = fit.X[fit.parts["train"]], fit.truth("train")
    data = SimpleNamespace(of=lambda part: rows, weights=lambda part: weights)
    data.dataset, data.split = SimpleNamespace(groups=None, times=None), None
    data.unit_of_score = lambda score: ""  # of classes
    asks = {"task": "classification", "score": score, "larger_is_better": True}
    return SimpleNamespace(data=data, n_folds=5, **asks)


@pytest.mark.parametrize("data", ["clinic", "wine"])
def test_the_baseline_of_trade_offs(data):
    fit, scores = oracle.fit("smp", data), (accuracy_score, balanced_accuracy_score)
    y = fit.truth("train")
    censoring = np.where(y == y[0], 9.0, 1.0)  # as of a question of time to event
    for (name, score), weights in product(
        zip(("accuracy", "balanced_accuracy"), scores, strict=True), (None, censoring)
    ):
        dummy = DummyClassifier().fit(y[:, None], y, weights)
        answers = dummy.predict(y[:, None])
        shown = sweeps.baseline_score(asked(fit, name, weights))
        assert shown == pytest.approx(score(y, answers, sample_weight=weights))


def test_the_table_of_trade_offs():
    """Means and standard errors of folds, the best first, to four digits."""
    fit, draw = oracle.fit("smp", "wine"), np.random.default_rng(0)
    folds, sizes = draw.random((3, 5)), {name: draw.random(3) * 9 for name in SIZES}
    # The second one is exactly as good as the baseline.
    folds[1] += oracle.majority(fit.truth("train")) - folds[1].mean()
    folds[[0, 2]] += np.array([0.7, 0.9])[:, None] - folds[[0, 2]].mean(axis=1)[:, None]
    marks = {"best": [0, 0, 1], "sparsest": [1, 0, 0], "front": [1, 0, 1]}
    points = pd.DataFrame(
        {
            "method": ["smp", "imkpl", "smp"],
            "parameter": ["lam", "", "lam"],
            "value": [0.25, 0.0, 0.1234567],
            "mean": folds.mean(axis=1),
            "error": folds.std(axis=1, ddof=1) / np.sqrt(5),
            "n": [5, 4, 5],
            "rival": ["", "kNN", ""],
            **{name: np.array(held, bool) for name, held in marks.items()},
            **{"undecided": [False, True, False]},
            **sizes,
        }
    )
    request = asked(fit, "accuracy")
    shown = sweeps.as_table(SimpleNamespace(points=points), request)
    order = [2, 0, 1]
    assert [*np.argsort(-folds.mean(axis=1))] == order
    merged = "SMP: sparse multi-prototype: Merge prototypes (λ) = "
    expected = {
        "Model": [
            *(f"{merged}0.123457", f"{merged}0.25", "IMKPL: mixes of real cases")
        ],
        READOUTS["accuracy"].label: folds.mean(axis=1)[order].round(4),
        "Standard error": (folds.std(axis=1, ddof=1)[order] / np.sqrt(5)).round(4),
        **{READOUTS[name].label: sizes[name][order].round(1) for name in SIZES},
        "Folds": [5, 5, 4],
        "Remarks": [
            "best mean, front",
            "sparsest within 1 SE, front",
            "not significantly different from the front, not better than the baseline, "
            "dominated by baseline kNN",
        ],
    }
    assert [*shown] == [*expected]
    for name, values in expected.items():
        assert shown[name].tolist() == list(values), name


def test_who_is_right_where_two_models_differ():
    """Each row is in one group: only A is right, only B, or both or none."""
    context = resolve(Choice(data="wine", method="smp"))
    maps = Maps(context, "validation")
    y = context.data.of("validation")[1]
    losses = np.random.default_rng(0).integers(0, 2, (2, len(y))).astype(float)
    two = [
        SimpleNamespace(
            loss=loss,
            candidate=SimpleNamespace(answers=lambda X: np.full(len(X), y[0])),
        )
        for loss in losses
    ]
    figure = maps.difference(*two)
    groups = [trace for trace in figure.data if trace.type == "scatter"]
    sizes = {trace.name: len(trace.x) for trace in groups}
    a, b = losses
    assert sizes["only A correct"] == (a < b).sum() > 0
    assert sizes["only B correct"] == (b < a).sum() > 0
    assert sizes["both correct or both wrong"] == (a == b).sum() > 0


def test_compare_paints_models_on_the_map_that_is_shown():
    """Answers at inputs of the map, none where no row is near, agreement counted."""
    context = resolve(Choice(data="wine", view={"kind": "map"}))
    laid_out(context.data)
    view = studies.view(context.data, context.view)
    fit = context.fit().finished()
    one = SimpleNamespace(loss=np.zeros(36), candidate=SimpleNamespace())
    one.candidate.answers = fit.model_.predict
    maps = Maps(context, "validation")
    painted = maps.of(one).data[0]
    x, y = np.meshgrid(painted.x, painted.y)
    nodes = np.column_stack([x.ravel(), y.ravel()])
    there = view.lift(nodes)
    expected = np.searchsorted(fit.classes_, fit.model_.predict(there))
    z = np.ravel(painted.z)
    near = np.isfinite(z)
    np.testing.assert_array_equal(z[near], expected[near])
    X, _ = context.data.of("train")
    apart = np.linalg.norm(nodes[:, None] - view.project(X), axis=2)
    assert apart.min(axis=1)[near].max() < apart.min(axis=1)[~near].min()
    rows, _ = context.data.of("validation")
    same = fit.model_.predict(view.lift(view.project(rows))) == fit.model_.predict(rows)
    assert f"shows {same.mean():.0%} as predicted" in maps.agreement(one)
    assert not Maps(resolve(Choice(data="wine")), "validation").agreement(one)


def test_ranges_and_counts_of_a_converter():
    """Ranges are those of the training rows; only lines that were edited count."""
    fit = oracle.fit("smp", "moons")
    made = exports.compiled(resolve(Choice(data=fit.data, method=fit.method)))
    start = counts._start(made)
    training = fit.table.frame.iloc[fit.parts["train"]]
    for line in start.to_dict("records"):
        column = training[line["column"]]
        assert line["in training"] == f"{column.min():.6g} to {column.max():.6g}"
    edited, name = start.copy(), start["column"][1]
    edited.loc[1, "value of one count"] = 0.5
    found, problems = counts._changed(made, start, edited)
    assert found == {name: Counts(0.5, 0.0, 0, 1023)} and not problems


# Changes and rules of models that are made by hand, where the answer is known.


def by_hand(n_features=1, border=0.5):
    """Features between 0 and 1: the second class where their sum is above a border."""
    return PrototypeModel(
        center=np.zeros(n_features),
        scale=np.ones(n_features),
        low=np.zeros(n_features),
        high=np.ones(n_features),
        similarity=Similarity(),
        anchors=np.stack([np.zeros(n_features), np.ones(n_features)]),
        mixing=np.eye(2),
        bias=np.array([0.0, -border]),
        pooling="max",
        votes=np.eye(2),
        intercept=np.zeros(2),
        classes=np.arange(2),
        counts=np.ones(2, dtype=np.int64),
        feature_names=tuple(f"f{i}" for i in range(n_features)),
        sample_shape=(n_features,),
        kind_of_prototype="direction",
    )


@pytest.mark.parametrize("border", [0.3, 0.995])
def test_a_change_may_go_to_the_end_of_the_range(border):
    model = by_hand(border=border)
    found = counterfactual(model, np.zeros(1), bounds=(model.low, model.high))
    assert found.length == pytest.approx(border, abs=1e-5)
    assert found.x == pytest.approx([border], abs=1e-5)


def test_a_search_goes_as_near_as_it_can_and_keeps_whole_numbers():
    """A number of any value stops at its border, a whole one at the next whole one."""

    class Known(Search):
        blocks = (Block(slice(0, 1), "free"), Block(slice(1, 2), "whole"))

        def flips(self, rows):
            return (rows[:, 0] > 0.3) & (rows[:, 1] > 1.5)

    limits = np.zeros(2), np.full(2, 4.0)
    search = Known(by_hand(n_features=2), np.zeros(2), 0, limits, None, np.any)
    found = search._reduced(np.array([1.0, 4.0]))
    assert found == pytest.approx([0.3, 2.0], abs=1e-5)


def test_the_rule_of_a_number_is_its_sum():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X @ [2.0, -1.0] + 3.0
    model = SuperSparseRegressor(similarity="linear").fit(X, y).model_
    (sentence,) = rule_in_words(model)
    slopes = LinearRegression().fit(X, y)
    says(
        sentence,
        "The prediction is # · x0 − # · x1 + #.",
        *(slopes.coef_[0], -slopes.coef_[1], slopes.intercept_),
    )


def test_cells_are_as_printed():
    """A changed cell of what the papers print, or a table less, breaks the digest."""
    cells = [
        f"{of.name}: {one.data}, {one.model}: {one.value!r} {one.spread!r}"
        for of in EXPERIMENTS
        if any(np.isfinite(cell.value) for cell in of.reported)
        for one in of.reported
    ]
    digest = blake2b("\n".join(sorted(cells)).encode(), digest_size=8).hexdigest()
    assert (len(cells), digest) == (846, "ec36928a556c15b6")
