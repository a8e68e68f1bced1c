"""The trade-off page without a browser: sweeps, choices, and data it cannot sweep."""

import dataclasses
import json
import sys
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.state import links
from pages.state.host import resolve
from pages.tradeoff import sweeps
from pages.work import cache, studies
from smpcore import METHODS, split
from smpcore.datasets import make_dataset
from smpcore.evaluation import (
    SCORES,
    SIZES,
    baseline_paths,
    summary,
    sweep_table,
    title_of,
)
from smpcore.live import Choice
from tests.app import (
    brought,
    kernels,
    opened,
    priced,
    said,
    session_of,
    swept,
    until,
    words,
)
from tests.shown.oracle import says

pytestmark = pytest.mark.usefixtures(kernels.__name__)


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A sweep of another test may be under way."""
    monkeypatch.setattr(studies, "swept", cache.memo(64)(studies.SweepJob))


def _open(query: dict[str, str]) -> AppTest:
    return swept(opened(query, "tradeoff.py"))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_points_that_open_it(method):
    app = _open({"method": method, "data": "iris"})
    options = app.selectbox(key="point").options
    assert all(METHODS[method].title in option for option in options)
    assert len(options) >= 2
    app.selectbox(key="point").select_index(1).run()
    app.button(key="use_point").click().run()
    assert options[1] in app.success[0].value
    app.switch_page("pages/explore.py").run()
    assert not app.exception
    row, choice = METHODS[method], session_of(app).choice
    shown = f"{resolve(choice).values[row.sparsity]:.6g}"
    assert options[1] == f"{row.title}: {row.param(row.sparsity).label} = {shown}"


def test_a_point_of_a_refined_sweep_stays_on_explore_and_the_sweep_with_it():
    app = _open({"data": "breast_cancer", "lam": "0.102"})
    first = len(app.selectbox(key="point").options)
    app.button(key="sweep_refine").click().run()
    app = swept(app)
    options = app.selectbox(key="point").options
    assert len(options) > 2 * first
    assert {*options} <= {*app.dataframe[0].value["Model"]}
    assert not app.get("progress") and "fits." in said(app)
    before = session_of(app).choice
    # Of the points, the μ that moves the end of λ farthest below what λ is.
    least = min(options, key=lambda text: float(text.rpartition(" = ")[2]))
    app.selectbox(key="point").select(least).run()
    app.button(key="use_point").click().run()
    used = session_of(app).choice
    data, values = resolve(used).data, resolve(used).values
    assert cache.computed.bounds(data, used.method, values)["lam"][1] < values["lam"]
    link = dict(app.query_params)
    for page in ("explore.py", "export.py", "explore.py"):
        app.switch_page(f"pages/{page}").run()
        assert not app.exception
        assert (
            resolve(session_of(app).choice).key
            == resolve(used).key
            != resolve(before).key
        )
        assert (
            links.write_url(session_of(app).choice).items()
            <= {
                name: value[0] if isinstance(value, list) else value
                for name, value in link.items()
            }.items()
        )
    app = swept(app.switch_page("pages/tradeoff.py").run())
    assert app.selectbox(key="point").options == options
    assert least in app.success[0].value


def test_no_bytes_no_point_and_the_page_says_which():
    app = _open({"data": "breast_cancer"})
    app.selectbox(key="sweep_size").select("flash_bytes").run()
    assert "Not shown, as not measured on this axis" in said(app)
    drawn = app.get("plotly_chart")[0].proto.spec
    assert "l1 logistic regression" not in drawn


def test_more_folds_than_rows_is_a_sentence(monkeypatch):
    app = _open({"data": "moons", "d.n_samples": "20", "validation": "0.6"})
    app.number_input(key="sweep_folds").set_value(10).run()
    app = swept(app)
    assert "ask for fewer folds" in said(app)
    assert "Waiting" not in said(app)
    assert not app.exception


def test_the_baseline_is_that_of_folds_where_they_lack_a_class():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=40), "y": ["n"] * 37 + ["p"] * 3})
    app = _open(brought(make_dataset(frame, "few").with_roles({"y": "target"})))
    # Two of the rare rows train, in two of five folds; the others hold one class.
    assert "Majority-class baseline: 0.8." in said(app)


def test_selected_prototypes_are_swept_when_asked_for():
    app = _open({"data": "iris"})
    app.multiselect[0].set_value([]).run()
    app.button_group(key="sweep_groups").set_value(["selected"]).run()
    app = swept(app)
    models = " ".join(app.dataframe[0].value["Model"])
    assert "SVM-red: n_prototypes = 3" in models and "PS-border" in models
    assert "RBF-SVM" not in models


def _found(
    values: list[float], n_nonzeros: float, baseline: str = "", share: float = 0.5
) -> sweeps.SweepResult:
    """One fold's fits of the first method, all with the same score.

    A baseline, if there is one, has a share of the non-zeros and the same score.
    """
    key, row = next(iter(METHODS.items()))
    models = [(key, row.sparsity, value, n_nonzeros) for value in values]
    models += [(baseline, "C", 1.0, n_nonzeros * share)] * bool(baseline)
    fits = [
        {
            **dict.fromkeys(SIZES, size),
            **dict.fromkeys(SCORES["classification"], 0.9),
            **{"method": method, "parameter": parameter, "value": value},
            **{"repeat": 0, "fold": 0, "n_train": 8, "n_held_out": 2},
            **{"seconds": 0.0, "status": "converged"},
        }
        for method, parameter, value, size in models
    ]
    table = sweep_table(fits, "classification")
    points = summary(table, "balanced_accuracy", 1)
    job = SimpleNamespace(look=lambda score: (table, points))
    return sweeps.gather(_asked(), [(job, None)])


def _asked() -> sweeps.SweepRequest:
    data = resolve(Choice(data="iris")).data
    return sweeps.SweepRequest(data, {}, "balanced_accuracy", "n_nonzeros", 5, ())


def test_a_smaller_baseline_is_named_and_so_is_one_without_a_point():
    path = next(walk for walk in baseline_paths("classification") if walk.parameter)
    title = title_of(path.key)
    found = _found([1.0], 4, path.key)
    told = sweeps.rivals(found, "n_nonzeros")
    words = "At least as good and smaller than the only point on the front"
    assert told == f"{words}: {title}."
    remarks = sweeps.as_table(found, _asked())["Remarks"]
    assert sum(f"dominated by baseline {title}" in remark for remark in remarks) == 1
    assert sweeps.rivals(_found([1.0], 4), "n_nonzeros") == ""
    larger = _found([1.0], 4, path.key, share=2.0)
    none = "No smaller baseline is as good as a point on the front."
    assert sweeps.rivals(larger, "n_nonzeros") == none
    asked = dataclasses.replace(_asked(), groups=("usual",))
    late = sweeps.unfinished(found, asked)
    for walk in baseline_paths("classification"):
        assert (title_of(walk.key) in late) == (walk.key != path.key)


def test_a_point_keeps_its_name_when_more_come_in():
    before, after = _found([1.0, 2.0], 4), _found([0.0, 1.0, 2.0], 4)
    for name, point in before.points.iterrows():
        assert after.points.loc[name].value == point.value


def test_a_method_without_a_point_is_named_and_swept_again(monkeypatch):
    monkeypatch.setattr(studies, "sweep", lambda *_, **__: iter(()))  # no time
    busy = {"data": "xor", "lam": "0.0123"}
    first = _open(busy)
    title = METHODS[first.multiselect[0].value[0]].title
    # The baselines may be known: they depend on the data only.
    assert f"No points yet for {title}" in said(first)
    monkeypatch.undo()
    again = _open(busy)
    assert f"No points yet for {title}" not in said(again)
    assert again.selectbox(key="point").options


def test_under_load_points_go_on_arriving_own_method_and_baselines_first(monkeypatch):
    """The clock ended a sweep after two seconds: on a busy server at 0 of 110 fits."""
    module = sys.modules["smpcore.evaluation.sweep"]
    advance, order = module._advance, []

    def slow(context, task):
        order.append(context.chains[task[0]][0].key)
        time.sleep(0.2)
        return advance(context, task)

    monkeypatch.setattr(module, "_advance", slow)
    monkeypatch.setattr(studies, "COARSE", 3)
    query = {"data": "moons", "seed": "77", "method": "smp", "p.sweep_folds": "2"}
    query["p.sweep_methods_classification"] = "smallk,smp"
    started = time.monotonic()
    page = opened(query, "tradeoff.py")
    seen = until(page, lambda page: page.get("selectbox")[-1].label == "Select a point")
    assert 0 < len(seen.selectbox(key="point").options) < 3
    page = swept(page)
    assert time.monotonic() - started > 2 and "finished" not in words(page)
    n_baselines = 2 * sum(len(path.grid) for path in baseline_paths("classification"))
    keys = [key if key in METHODS else "baseline" for key in order]
    of_smallk = keys.count("smallk")
    assert keys == ["smp"] * 6 + ["baseline"] * n_baselines + ["smallk"] * of_smallk
    assert of_smallk and "No points" not in words(page)
    assert not [button for button in page.button if button.key == "sweep_stop"]


def test_one_failed_fit_is_one():
    table = pd.DataFrame({"accuracy": [None, 0.5], "status": ["failed: why", "fitted"]})
    result = sweeps.SweepResult(table, table)
    assert sweeps.failures(result, "accuracy") == ["1 fit without a score: failed: why"]


def test_the_error_of_a_number_is_in_its_unit():
    dataset = priced()
    app = _open(brought(dataset))
    y = dataset.y[split(dataset).train]
    off = np.abs(y - np.median(y)).mean()
    (text,) = (c.value for c in app.caption if "median baseline:" in c.value)
    says(text.split(". ")[0], "Training-median baseline: # EUR", off)
    assert "Mean absolute error [EUR]" in app.dataframe[0].value
    layout = json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]
    assert layout["yaxis"]["title"]["text"] == "Mean absolute error [EUR]"


def test_a_large_table_is_swept_on_a_named_sample_and_its_points_use_all_rows(
    monkeypatch,
):
    monkeypatch.setattr(studies, "MOST_SWEPT_VALUES", 0)
    draw, drawn = np.random.default_rng(0), []
    folds = studies.evaluation.folds
    monkeypatch.setattr(
        studies.evaluation,
        "folds",
        lambda dataset, rows, n: drawn.append(rows) or folds(dataset, rows, n),
    )
    frame = pd.DataFrame(draw.normal(size=(5000, 2)), columns=["a", "b"])
    frame["class"] = np.where(draw.random(5000) < 0.1, "rare", "usual")
    page = _open(brought(make_dataset(frame, "many")) | {"method": "smallk"})
    assert "Folds of a sample: 2,000 of 3,000 training rows." in said(page)
    assert {len(rows) for rows in drawn} == {2000}
    context = resolve(session_of(page).choice)
    assert set(drawn[0]) < set(context.data.split.train)
    rare = context.data.y == context.data.y[frame["class"] == "rare"][0]
    shares = [rare[rows].mean() for rows in (drawn[0], context.data.split.train)]
    assert abs(np.subtract(*shares)) < 1 / 2000
    page.button(key="use_point").click().run()
    assert "fitted on all training rows" in page.success[0].value
    assert len(resolve(session_of(page).choice).data.split.train) == 3000
