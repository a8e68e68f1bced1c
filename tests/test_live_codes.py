"""The codes that come with a picture are those of the model that it shows."""

import numpy as np
import pytest

from tests.app import session_of
from tests.test_live import Browser, kernels

fixtures = (kernels,)


@pytest.mark.parametrize("data", ["moons", "iris"])
def test_a_row_is_reconstructed_from_the_training_rows_of_its_code(data):
    browser = Browser(method="imkpl", data=data)
    picture, points = browser.last["picture"], browser.scene["points"]
    codes, context = picture["codes"], browser.context
    fitted = context.fit().finished()
    model, scene = fitted.model_, session_of(browser.app).live.scene
    weights = model.activations(scene.X)
    mixed = weights @ model.mixing.T
    for i in range(len(points["x"])):
        used = codes["prototype"][i] < 255
        shown = np.zeros(model.n_prototypes)
        shown[codes["prototype"][i][used]] = codes["weight"][i][used]
        np.testing.assert_allclose(shown, weights[i], rtol=1e-6)
        cases = np.zeros(len(model.anchors))
        for j, weight in zip(np.flatnonzero(shown), shown[shown > 0], strict=True):
            held = codes["case"][j] >= 0
            cases[codes["case"][j][held]] += weight * codes["share"][j][held]
        np.testing.assert_allclose(cases, mixed[i], rtol=1e-5, atol=1e-7)
    rows = context.data.split.train[fitted.anchor_rows_]
    np.testing.assert_array_equal(codes["row"], context.data.dataset.row_numbers(rows))
    names = np.array(browser.scene["classes"])[codes["label"]]
    np.testing.assert_array_equal(names, context.data.y[rows].astype(str))
    places = scene.view.project(model.prototypes)
    np.testing.assert_allclose(picture["prototypes"]["marks"], places, rtol=1e-5)


def test_codes_are_not_sent_while_a_control_is_dragged():
    browser = Browser(method="imkpl", data="moons")
    assert "codes" not in browser.drag(lam=0.4)["picture"]
    assert "codes" in browser.drag(lam=0.4, release=True)["picture"]


def test_a_model_without_a_code_sends_none():
    assert "codes" not in Browser(data="moons").last["picture"]


def test_recorded_states_have_their_codes():
    browser = Browser(method="imkpl", data="moons")
    first, last = (browser.send("steps", want=[i])["steps"] for i in (0, 1))
    assert first[0]["codes"]["weight"].any() and last[0]["codes"]["weight"].any()
