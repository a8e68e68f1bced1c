"""Sites and periods that a model has not seen, against loops that are written out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, mean_absolute_error, roc_auc_score
from statsmodels.api import GLM, add_constant
from statsmodels.genmod.families import Binomial
from statsmodels.stats.proportion import proportion_confint

from smpcore import METHODS, SmpcoreError, prepare, split
from smpcore.datasets import make_dataset
from smpcore.evaluation import (
    calibrate,
    clusters,
    folds,
    internal_external,
    site_columns,
)
from smpcore.report import sites_section

N = 240
_NUMBERS = "Mean absolute error"


def _table(task="classification", **roles):
    """Rows of three sites, one of which is harder; a tiny site, and a day."""
    draw = np.random.default_rng(4)
    frame = pd.DataFrame(draw.normal(size=(N, 3)), columns=["a", "b", "c"])
    if roles.get("c") == "weight":
        frame["c"] = np.exp(frame["c"])
    frame["site"] = draw.choice(["north", "south", "west"], N, p=[0.5, 0.3, 0.2])
    frame.loc[:3, "site"] = "tiny"
    frame.loc[4:8, "site"] = None
    frame["patient"] = [f"p{i}" for i in draw.integers(0, 250, N)]
    frame["day"] = pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d")
    told = frame["a"] - frame["b"] + draw.normal(size=N)
    told += np.where(frame["site"] == "west", 2 * draw.normal(size=N), 0)
    frame["y"] = told if task == "regression" else np.where(told > 0, "yes", "no")
    roles = {"y": "target", "site": "ignore"} | roles
    others = {n: "ignore" for n in ("patient", "day") if n not in roles}
    return make_dataset(frame, "made").with_roles(roles | others, task=task)


def _estimator(dataset):
    row = METHODS["supersparse" if dataset.task == "regression" else "smp"]
    return row.estimator_for(dataset, row.defaults(dataset.task))


def _by_hand(estimator, dataset, train, held_out):
    """The fitted copy of an estimator, and the rows that it has not seen."""
    X = prepare(dataset, train).transform(dataset.frame)
    other = clone(estimator)
    weights = None if dataset.weights is None else dataset.weights[train]
    other.fit(X[train], dataset.y[train], weights, **dataset.metadata(train))
    return other, X[held_out]


def _open(parts):
    return np.sort(np.concatenate([parts.train, parts.validation]))


@pytest.mark.parametrize("roles", [{}, {"patient": "group"}])
def test_each_site_is_scored_by_a_model_of_the_others(roles):
    dataset = _table(**roles)
    parts, estimator = split(dataset), _estimator(dataset)
    found = internal_external(estimator, dataset, parts, "site")
    assert list(found.lines["group"]) == ["north", "south", "west"], "tiny only trains"
    rows, sites = _open(parts), dataset.frame["site"].to_numpy()
    assert found.unused == pd.isna(sites[rows]).sum()
    patients = dataset.frame["patient"].to_numpy()
    for line in found.lines.to_dict("records"):
        held_out = rows[sites[rows] == line["group"]]
        train = rows[(sites[rows] != line["group"]) & ~pd.isna(sites[rows])]
        if roles:
            train = train[~np.isin(patients[train], patients[held_out])]
        model, X = _by_hand(estimator, dataset, train, held_out)
        truth = dataset.y[held_out]
        assert (line["fitted on"], line["rows"]) == (len(train), len(held_out))
        assert line["events"] == (truth == "yes").sum() and not line["note"]
        share = accuracy_score(truth, model.predict(X))
        assert line["Accuracy"] == pytest.approx(share)
        area = roc_auc_score(truth == "yes", model.decision_function(X))
        assert line["AUC"] == pytest.approx(area)
        assert line["AUC low"] < area < line["AUC high"]
        ends = proportion_confint(
            round(share * len(truth)), len(truth), method="wilson"
        )
        if not roles:
            shown = line["Accuracy low"], line["Accuracy high"]
            assert shown == pytest.approx(ends)


@pytest.mark.parametrize("roles", [{}, {"patient": "group"}, {"c": "weight"}])
def test_probabilities_at_a_site_are_calibrated_without_it(roles):
    """Each model's calibration is learned on folds of the rows it was fitted on."""
    dataset = _table(**roles)
    parts, estimator = split(dataset), _estimator(dataset)
    lines = internal_external(estimator, dataset, parts, "site").lines
    rows, sites = _open(parts), dataset.frame["site"].to_numpy()
    patients, classes = dataset.frame["patient"].to_numpy(), dataset.classes
    for line in lines.to_dict("records"):
        held_out = rows[sites[rows] == line["group"]]
        train = rows[(sites[rows] != line["group"]) & ~pd.isna(sites[rows])]
        if "patient" in roles:
            train = train[~np.isin(patients[train], patients[held_out])]
        scores = np.empty((len(train), 2))
        for inner in folds(dataset, train, 5)[:5]:
            model, X = _by_hand(estimator, dataset, inner.train, inner.held_out)
            scores[np.searchsorted(train, inner.held_out)] = model.model_.scores(X)
        mass = np.ones(N) if dataset.weights is None else dataset.weights
        learned = calibrate(
            scores, dataset.y[train], classes, clusters(dataset, train), mass[train]
        )
        model, X = _by_hand(estimator, dataset, train, held_out)
        share = learned.probabilities(model.model_.scores(X))[:, 1]
        truth, lead = (dataset.y[held_out] == "yes") * 1.0, np.log(share / (1 - share))
        given = {"family": Binomial(), "var_weights": mass[held_out]}
        both = GLM(truth, add_constant(lead), **given).fit()
        large = GLM(truth, np.ones(len(truth)), offset=lead, **given).fit()
        shown = line["Calibration intercept"], line["Calibration slope"]
        assert shown == pytest.approx((large.params[0], both.params[1]), abs=1e-6)
        assert line["Calibration slope low"] < shown[1] < line["Calibration slope high"]


def test_of_a_regression_it_is_the_error_and_the_mean_weighs_sites_equally():
    dataset = _table("regression")
    parts, estimator = split(dataset), _estimator(dataset)
    found = internal_external(estimator, dataset, parts, "site")
    rows, sites = _open(parts), dataset.frame["site"].to_numpy()
    errors = []
    for site in found.lines["group"]:
        held_out = rows[sites[rows] == site]
        train = rows[(sites[rows] != site) & ~pd.isna(sites[rows])]
        model, X = _by_hand(estimator, dataset, train, held_out)
        errors.append(mean_absolute_error(dataset.y[held_out], model.predict(X)))
    np.testing.assert_allclose(found.lines[_NUMBERS], errors)
    (line,) = found.summary().to_dict("records")
    expected = {"measure": _NUMBERS, "parts": 3, "mean": np.mean(errors)}
    expected |= {"lowest": min(errors), "highest": max(errors)}
    assert line == pytest.approx(expected)


def test_a_period_is_predicted_from_all_earlier_rows():
    dataset = _table(day="time")
    parts, estimator = split(dataset), _estimator(dataset)
    found = internal_external(estimator, dataset, parts, "day")
    assert found.in_time and len(found.lines) == 3
    rows = _open(parts)
    rows = rows[np.argsort(dataset.times[rows], kind="stable")]
    seen = found.lines["fitted on"].iloc[0]
    for line in found.lines.to_dict("records"):
        assert line["fitted on"] == seen
        train, held_out = np.sort(rows[:seen]), rows[seen : seen + line["rows"]]
        model, X = _by_hand(estimator, dataset, train, held_out)
        share = accuracy_score(dataset.y[held_out], model.predict(X))
        assert line["Accuracy"] == pytest.approx(share)
        seen += line["rows"]
    assert seen == len(rows), "the last period ends with the last open row"


def test_test_rows_change_nothing():
    """Their answers and values may be anything."""
    dataset = _table()
    parts, estimator = split(dataset), _estimator(dataset)
    frame = dataset.frame.copy()
    frame.loc[parts.test, ["a", "b", "c"]] = 1e6
    frame.loc[parts.test, "y"] = "no"
    other = make_dataset(frame, "made").with_roles(dict(dataset.roles))
    lines = [
        internal_external(estimator, of, parts, "site").lines for of in (dataset, other)
    ]
    pd.testing.assert_frame_equal(*lines)


def test_a_site_of_one_class_has_no_area():
    dataset = _table()
    frame = dataset.frame.copy()
    frame.loc[frame["site"] == "west", "y"] = "no"
    of = make_dataset(frame, "made").with_roles(dict(dataset.roles))
    found = internal_external(_estimator(of), of, split(of), "site")
    line = found.lines.set_index("group").loc["west"]
    assert np.isnan(line["AUC"]) and line["note"] == "one class"
    assert list(found.summary()["parts"]) == [3, 2, 2, 2]


def test_where_the_others_have_one_class_nothing_is_fitted():
    dataset = _table()
    frame = dataset.frame.copy()
    frame["site"] = np.where(frame["site"] == "north", "north", "south")
    frame.loc[frame["site"] == "south", "y"] = "no"
    of = make_dataset(frame, "made").with_roles(dict(dataset.roles))
    found = internal_external(_estimator(of), of, split(of), "site")
    north, south = found.lines.to_dict("records")
    assert north["note"].startswith("not fitted") and np.isnan(north["Accuracy"])
    assert south["note"] == "one class" and np.isfinite(south["Accuracy"])
    assert "–" in str(sites_section(found).blocks)


def test_rows_of_a_site_that_is_the_group_are_not_one_cluster():
    dataset = _table(site="group")
    parts = split(dataset)
    found = internal_external(_estimator(dataset), dataset, parts, "site")
    for line in found.lines.to_dict("records"):
        n = line["rows"]
        ends = proportion_confint(round(line["Accuracy"] * n), n, method="wilson")
        assert (line["Accuracy low"], line["Accuracy high"]) == pytest.approx(ends)


def test_columns_that_make_sites():
    dataset = _table(day="time")
    assert site_columns(dataset, split(dataset)) == ["site", "day"]


@pytest.mark.parametrize("column", ["patient", "a", "y", "nowhere"])
def test_other_columns_are_refused_in_a_sentence(column):
    dataset = _table()
    with pytest.raises(SmpcoreError, match=f"column={column!r}|column={column}"):
        internal_external(_estimator(dataset), dataset, split(dataset), column)


def test_it_stops():
    dataset = _table()
    stop = np.ones(1, dtype=np.int64)
    with pytest.raises(SmpcoreError, match="stopped"):
        internal_external(
            _estimator(dataset), dataset, split(dataset), "site", stop=stop
        )
