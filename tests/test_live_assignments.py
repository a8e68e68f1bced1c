"""The layer of assignments: which prototype has which row, and which decides where."""

import numpy as np
import pytest

from pages.explore.canvas import message_problem
from pages.state.context import resolve
from smpcore import METHODS
from smpcore.explain import deciding_prototypes
from smpcore.figures import window_points
from tests.app import session_of
from tests.test_live import Browser, kernels

fixtures = (kernels,)
CLASSIFIERS = [k for k, m in METHODS.items() if "classification" in m.estimators]


def layer_of(browser):
    return browser.send("set", values={}, dragging=False, assignments=True)["picture"]


def test_nothing_is_sent_while_the_layer_is_off():
    browser = Browser()
    assert "assignments" not in browser.last["picture"]
    assert "assignments" not in browser.drag(mu=0.05)["picture"]


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_the_layer_is_that_of_the_fit(method):
    browser = Browser(data="moons", method=method)
    layer = layer_of(browser)["assignments"]
    context = resolve(browser.choice)
    estimator, points = context.fit().estimator, browser.scene["points"]
    model, data = estimator.model_, context.data
    training = np.flatnonzero(points["part"] == 0)
    order = np.argsort(data.split.train)
    places = order[np.searchsorted(data.split.train[order], points["row"][training])]
    tied = estimator.merged_[estimator.assignment_[places]]
    assert len(tied)
    np.testing.assert_array_equal(
        layer["rows"][training], np.where(tied < 0, 255, tied)
    )
    others = np.flatnonzero(points["part"] != 0)
    decide = deciding_prototypes(
        model, model.activations(data.X[points["row"][others]])
    )
    np.testing.assert_array_equal(layer["rows"][others], decide)


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_the_deciding_prototype_belongs_to_the_winning_class(method):
    browser = Browser(data="circles", method=method)
    picture = layer_of(browser)
    layer = picture["assignments"]
    model = resolve(browser.choice).fit().estimator.model_
    view = session_of(browser.app).live.scene.view
    points = window_points(view, picture["grid"][0])
    expected = deciding_prototypes(model, model.activations(points))
    np.testing.assert_array_equal(layer["winner"], expected)
    votes = model.votes[layer["winner"], picture["winner"].ravel()]
    assert (votes != 0).mean() > 0.99
    assert layer["lead"].max() == 255


def test_the_lead_falls_to_zero_where_two_prototypes_of_a_class_meet():
    browser = Browser(data="circles", method="smp")
    picture = layer_of(browser)
    shape = picture["grid"]
    winner, lead = (
        np.reshape(picture["assignments"][n], shape) for n in ("winner", "lead")
    )
    same = np.reshape(picture["winner"], shape)
    border = (winner[:, 1:] != winner[:, :-1]) & (same[:, 1:] == same[:, :-1])
    assert border.any()
    beside = np.minimum(lead[:, 1:], lead[:, :-1])[border]
    assert np.median(beside) < np.median(lead) / 2


def test_knots_and_states_have_the_layer_when_it_is_asked_for():
    browser = Browser()
    knots = browser.send("knots", want=[0, 50], assignments=True)["knots"]
    assert all(knot["assignments"] for knot in knots)
    answer = browser.send("steps", want=[0], assignments=True)
    assert answer["steps"][0]["assignments"]
    plain = browser.send("steps", want=[0])
    assert "assignments" not in plain["steps"][0]


def test_a_regression_has_no_such_layer():
    browser = Browser(data="sine", method="supersparse")
    assert layer_of(browser)["assignments"] is None


def test_the_switch_is_true_or_false():
    message = {"kind": "set", "seq": 1, "values": {}, "assignments": "yes"}
    assert message_problem(message)
    assert not message_problem(message | {"assignments": True})
