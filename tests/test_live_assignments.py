"""The layer of assignments: which prototype has which row, and which decides where."""

import numpy as np
import pytest

from smpcore import METHODS
from smpcore.explain import deciding_prototypes
from tests.app import session_of
from tests.test_live import Browser, kernels

fixtures = (kernels,)
CLASSIFIERS = [k for k, m in METHODS.items() if "classification" in m.estimators]


def layer_of(browser):
    return browser.send("set", values={}, dragging=False, assignments=True)["picture"]


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_the_layer_is_that_of_the_fit(method):
    browser = Browser(data="circles", method=method)
    picture = layer_of(browser)
    layer, context = picture["assignments"], browser.context
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
    for rows, X in (
        (layer["rows"][others], data.X[points["row"][others]]),
        (
            layer["winner"],
            session_of(browser.app).live.scene.view.nodes(picture["grid"][0]),
        ),
    ):
        expected = deciding_prototypes(model, model.activations(X))
        np.testing.assert_array_equal(rows, expected)
    votes = model.votes[layer["winner"], picture["winner"].ravel()]
    assert (votes != 0).mean() > 0.99, "it belongs to the class that wins"
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


def test_pictures_have_the_layer_when_it_is_asked_for():
    browser = Browser()
    assert "assignments" not in browser.drag(mu=0.05)["picture"]
    for tied in (True, False):
        knots = browser.send("knots", want=[0, 50], assignments=tied)["knots"]
        steps = browser.send("steps", want=[0], assignments=tied)["steps"]
        assert [bool(p.get("assignments")) for p in (*knots, *steps)] == [tied] * 3
    regression = Browser(data="sine", method="supersparse")
    assert layer_of(regression)["assignments"] is None
