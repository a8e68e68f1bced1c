"""Numbers of Trade-off, Compare and Export against independent values."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from pages.compare.candidates import Maps
from pages.export import counts
from pages.state.choice import Choice
from pages.state.context import resolve
from pages.tradeoff import sweeps
from pages.ui import exports
from pages.work import studies
from smpcore.codegen import Counts
from smpcore.evaluation import SIZES
from smpcore.readouts import READOUTS
from tests.shown import oracle


def asked(fit, score):
    """What the page of trade-offs asks for, as far as its chart and table read it."""
    rows = fit.X[fit.parts["train"]], fit.truth("train")
    data = SimpleNamespace(of=lambda part: rows)
    return SimpleNamespace(
        data=data, task="classification", score=score, larger_is_better=True
    )


@pytest.mark.parametrize("data", ["clinic", "wine"])
def test_the_baseline_of_trade_offs(data):
    y = oracle.fit("smp", data).truth("train")
    answers = DummyClassifier().fit(y[:, None], y).predict(y[:, None])
    for name, score in (
        ("accuracy", accuracy_score),
        ("balanced_accuracy", balanced_accuracy_score),
    ):
        shown = sweeps.baseline_score(asked(oracle.fit("smp", data), name))
        assert shown == pytest.approx(score(y, answers))


def test_the_table_of_trade_offs():
    """Means and standard errors of folds, the best first, to four digits."""
    folds = np.random.default_rng(0).random((3, 5))
    points = pd.DataFrame(
        {
            "method": "smp",
            "parameter": "",
            "mean": folds.mean(axis=1),
            "error": folds.std(axis=1, ddof=1) / np.sqrt(5),
            "n": 5,
            "rival": "",
            **dict.fromkeys(("best", "sparsest", "front", "undecided"), False),
            **dict.fromkeys(SIZES, 2.25),
        }
    )
    request = asked(oracle.fit("smp", "wine"), "accuracy")
    shown = sweeps.as_table(SimpleNamespace(points=points), request)
    best = np.argsort(-folds.mean(axis=1))
    means = shown[READOUTS["accuracy"].label]
    assert means.tolist() == [round(float(v), 4) for v in folds.mean(axis=1)[best]]
    errors = folds.std(axis=1, ddof=1)[best] / np.sqrt(5)
    assert shown["Standard error"].tolist() == [round(float(v), 4) for v in errors]


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
    studies.map_of(context.data).result()
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
