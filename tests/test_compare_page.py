"""Compare without a browser: who takes part, what is said of each, A against B."""

import json
import re
from base64 import b64decode
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pages.state.host import resolve
from pages.work import studies
from smpcore import BASELINES, METHODS, SMPClassifier, SmpcoreError
from smpcore.datasets import make_dataset
from smpcore.explain import measures_of_prototypes
from smpcore.readouts import READOUTS
from tests.app import brought, kernels, opened, priced, said, session_of, until
from tests.shown.oracle import is_near

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def settled(page):
    """Wait until everybody is fitted: then the bar has gone."""
    return until(page, lambda page: not page.get("progress"), seconds=120)


def told(page):
    return said(page, *page.markdown)


@pytest.mark.parametrize("data", ["moons", "iris", "breast_cancer", "diabetes"])
def test_five_baselines_beside_the_method(data):
    page = settled(opened({"data": data}, "compare.py"))
    assert len(page.get("plotly_chart")) >= 6
    table = page.dataframe[-1].value
    assert len(table) >= 4
    assert set(table["result"]) <= {"better", "worse", "no clear difference"}
    assert "default settings" in told(page)
    is_advised = "Try all 5 methods: a rule that chose one" in told(page)
    assert is_advised == (data != "diabetes")


def overview(page):
    return page.dataframe[-2].value.set_index("model")


def test_scores_and_sizes_of_all_stand_in_one_table():
    page = settled(opened({"data": "iris", "method": "imkpl"}, "compare.py"))
    rows = overview(page)
    assert len(rows) >= 6
    ours = rows.loc[METHODS["imkpl"].title]
    assert f"accuracy {ours['accuracy %']:.1f} %" in told(page).replace("\\", "")
    assert rows["columns used"].max() <= 4 and rows["fit seconds"].min() > 0
    # Prototypes that mix cases are measured on the rows of the scores.
    context = resolve(session_of(page).choice)
    fitted = METHODS["imkpl"].estimator(METHODS["imkpl"].defaults())
    fitted.fit(*context.data.of("train"))
    X, y = context.data.of("validation")
    measured = measures_of_prototypes(
        fitted.model_, X, np.searchsorted(fitted.classes_, y)
    )
    assert len(measured) == 2
    for name, values in measured.items():
        name = READOUTS[name].column
        assert ours[name] == pytest.approx(np.nanmean(values))
        assert rows[name].notna().sum() == 1
    other = settled(opened({"data": "iris"}, "compare.py"))
    assert not {READOUTS[name].column for name in measured} & {*overview(other)}


def test_the_chosen_model_has_the_threshold_that_every_page_applies():
    query = {"data": "breast_cancer"}
    plain = settled(opened(query, "compare.py"))
    moved = settled(opened(query | {"threshold": "0.9"}, "compare.py"))
    assert "Threshold moved to 0.9" in told(moved)
    assert "Threshold moved" not in told(plain)
    shares = [
        Counter(
            re.findall(r"balanced accuracy ([\d.]+) %", told(page).replace("\\", ""))
        )
        for page in (plain, moved)
    ]
    # Of all models one, whose threshold was moved.
    assert (shares[0] - shares[1]).total() == (shares[1] - shares[0]).total() == 1


def test_a_rival_that_has_a_sample_of_the_rows_is_named(monkeypatch):
    few = replace(BASELINES["tree"], most_rows=60)
    monkeypatch.setitem(BASELINES, "tree", few)
    query = {"data": "breast_cancer", "seed": "83"}
    page = settled(opened(query, "compare.py"))
    n_rows = len(resolve(session_of(page).choice).data.split.train)
    words = rf"Fitted on a sample: (6\d) of {n_rows} training rows\."
    (few,) = re.findall(words, told(page))
    names = [name for name in overview(page).index if " rows)" in name]
    assert names == [f"Decision tree ({few} rows)"]


def test_search_is_the_same_budget_for_all():
    some = {"p.compare_baselines_classification": "l1_logistic,tree"}
    page = opened({"data": "iris"} | some, "compare.py")
    (settings,) = page.get("button_group")
    settings.set_value([True]).run()
    settled(page)
    assert "(best of 6, cross-validated)" in told(page)
    assert "(as on Explore)" not in told(page)


def test_a_handful_of_rows_is_answered_in_words():
    dataset = make_dataset(
        pd.DataFrame({"x": range(4), "z": [3.0, 1, 2, 0], "y": list("abab")}),
        "four",
        roles={"y": "target"},
    )
    page = settled(opened(brought(dataset), "compare.py"))
    assert "cannot answer from 4 training rows" in said(page)
    assert said(page).count("k nearest neighbours") == 1
    assert "RBF-SVM" in told(page)
    (settings,) = page.get("button_group")
    settings.set_value([True]).run()
    (problem,) = settled(page).info
    assert 'choose "current settings"' in said(page)
    assert "RBF-SVM, " in problem.value.replace("\\", "")


def test_a_tiny_p_value_is_not_called_nought():
    page = settled(opened({"data": "digits"}, "compare.py"))
    values = page.dataframe[-1].value["p (Holm)"]
    assert "< 0.0001" in set(values)
    assert not set(values) & {"0", "0.0", "0.0000"}


def test_a_pinned_model_stays_while_another_is_chosen():
    page = settled(opened({"data": "iris", "lam": "0.02"}, "compare.py"))
    assert "lam = 0.02 (as on Explore)" in told(page)
    page.button(key="pin").click().run()
    assert "A: " in told(page)
    page.query_params["lam"] = "0.001"
    page.switch_page("pages/compare.py").run()
    settled(page)
    assert page.selectbox(key="compare_a").value.endswith("lam = 0.02")
    assert page.button(key="pin").label == "Pin as A"  # of the one with 0.001
    page.query_params["lam"] = "0.02"
    page.switch_page("pages/compare.py").run()
    # Of the same key: the keyboard stays where it is.
    assert page.button(key="pin").label == "Unpin A"
    page.button(key="pin").click().run()
    assert not page.exception


def test_a_link_brings_who_is_compared_and_no_pinned_model():
    page = opened({"data": "iris", "lam": "0.02"}, "compare.py")
    page.button(key="pin").click().run()
    settled(page)
    b = page.selectbox(key="compare_b").options[2]
    page.selectbox(key="compare_b").select(b).run()
    link = dict(page.query_params)
    assert link["p.compare_b"] == b
    assert not any("pin" in name for name in link)
    other = settled(opened(link | {"lam": "0.001"}, "compare.py"))
    assert session_of(other).pinned is None
    assert not other.selectbox(key="compare_a").value.endswith("lam = 0.02")
    assert other.selectbox(key="compare_b").value == b
    assert other.button(key="pin").label == "Pin as A"
    baselines = other.multiselect(key="compare_baselines_classification")
    baselines.set_value(baselines.value[:1]).run()
    settled(other)
    assert other.selectbox(key="compare_b").value in other.selectbox[1].options


def test_a_linked_threshold_that_a_model_cannot_have_is_left_out():
    query = {"data": "breast_cancer", "method": "imkpl", "threshold": "0.5"}
    page = settled(opened(query, "compare.py"))
    assert not page.exception and "Threshold moved" not in said(page)


@pytest.mark.parametrize("problem", ["", "The rows cannot be laid out."])
def test_the_plane_in_place_of_a_map_is_said(problem, monkeypatch):
    def lay_out(*_):
        if problem:
            raise SmpcoreError(problem)

    monkeypatch.setattr(studies.MapJob, "_lay_out", lay_out)
    query = {"data": "wine", "seed": f"{97 + len(problem)}", "v.kind": "map"}
    page = settled(opened(query, "compare.py"))
    late = "A map is being laid out; this is the plane meanwhile."
    words = f"{problem or late} The first two principal"
    until(page, lambda page: words in told(page))


def test_errors_of_a_number_are_in_its_unit():
    page = settled(opened(brought(priced()), "compare.py"))
    table = overview(page)
    assert "mean absolute error [EUR]" in table
    errors = table["mean absolute error [EUR]"]
    differences = page.dataframe[-1].value.set_index("model")["difference"]
    (other,) = errors.index.difference(differences.index)
    for model, text in differences.items():
        number, unit = text.split()
        size = abs(errors[model] - errors[other])
        assert unit == "EUR" and is_near(number.lstrip("+-"), size)


def test_rows_that_are_selected_stand_out_here_and_are_counted_by_prototype():
    page = opened({"data": "wine", "method": "smp", "v.kind": "pca"}, "compare.py")
    data = resolve(session_of(page).choice).data
    train, validation = data.split.train[::5], data.split.validation[:4]
    rows = np.concatenate([train, validation])
    session_of(page).live.selected = {data.dataset.digest: rows.tolist()}
    page = settled(page.run())
    assert "in a large circle: 4 selected rows" in told(page)
    X = data.X[data.split.train]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    axes = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)[2][:2]
    xy = (data.X[validation] - X.mean(axis=0)) / X.std(axis=0) @ axes.T
    charts = [json.loads(one.proto.spec)["data"] for one in page.get("plotly_chart")]
    circles = [
        np.abs([np.frombuffer(b64decode(trace[axis]["bdata"])) for axis in "xy"]).T
        for traces in charts
        for trace in traces
        if trace.get("marker", {}).get("symbol") == "circle-open"
    ]
    assert len(circles) >= 6  # in each map, light and dark
    for places in circles:
        ordered = [part[np.lexsort(part.T)] for part in (places, np.abs(xy))]
        np.testing.assert_allclose(*ordered, atol=1e-5)
    page = page.switch_page("pages/prototypes.py").run()
    shown = page.dataframe[0].value
    model = SMPClassifier().fit(X, data.y[data.split.train]).model_
    winners = model.activations(data.X[train]).argmax(axis=1)
    expected = np.bincount(winners, minlength=len(shown))
    assert shown["selected rows won"].tolist() == expected.tolist()
