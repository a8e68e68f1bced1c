"""A series drawn on Explore: what a browser may send, and where the series goes."""

import math

import numpy as np
import pytest
import streamlit as st

from pages.explore import edits
from pages.state.choice import MINE, Choice
from pages.state.context import resolve
from pages.ui import elements, workspace
from smpcore import SmpcoreError, load_dataset
from smpcore.datasets import make_dataset, with_series
from tests.app import kernels, opened, session_of, sound

pytestmark = pytest.mark.usefixtures(kernels.__name__)
QUERY = {"data": "series"}
HOSTILE = [None, "x", [1.0], ["a"] * 40, [True] * 40, {"0": 1}, [[1.0]] * 40]


def drawing():
    page = opened(QUERY)
    return sound(page.toggle(key="draw_series").set_value(True).run())


@pytest.fixture
def pad(monkeypatch):
    """What a message makes of a channel of zeros."""
    mounts = []
    monkeypatch.setattr(elements, "component", lambda _: lambda **o: mounts.append(o))

    def send(values):
        drawn = np.zeros((9, 40))
        state = {"pad": {"move": {"number": 2, "value": values}}}
        monkeypatch.setattr(st, "session_state", state)
        edits._channel(resolve(Choice(data="series")), drawn, 1, "pad")
        mounts[-1]["on_move_change"]()
        return drawn, mounts[-1]["data"]

    return send


def test_a_drawn_channel_is_taken_within_the_pad(pad):
    drawn, data = pad([0.5] * 38 + [1e99, -1e99])
    assert drawn[1, 0] == 0.5 and drawn[1, -2] == data["high"]
    assert drawn[1, -1] == data["low"] and not drawn[[0, *range(2, 9)]].any()
    assert data["answered"] == 2


@pytest.mark.parametrize("values", [*HOSTILE, [math.nan] * 40, [math.inf] * 39])
def test_what_is_no_series_is_not_taken(pad, values):
    drawn, _ = pad(values)
    assert not drawn.any()


def test_there_is_a_pad_for_series_only():
    assert not opened({"data": "iris"}).toggle
    assert "draw_series" in [t.key for t in opened(QUERY).toggle]


def test_the_prediction_is_that_of_the_model():
    page = drawing()
    context = resolve(session_of(page).choice)
    row = np.sort(context.data.split.train)[0]
    answer = context.model().predict(context.data.X[row][None])[0]
    assert any(f"Prediction: **{answer}**" in text.value for text in page.markdown)


def test_a_series_joins_the_training_rows_and_undo_takes_it_back():
    page = drawing()
    before = resolve(session_of(page).choice)
    shown = session_of(page).results["drawn_series"][1]
    shown[0] = 0.25
    (box,) = [one for one in page.selectbox if one.label == "Class"]
    sound(box.select(3).run())
    sound(page.button(key="add_series").click().run())
    assert not page.error, page.error[0].value
    choice = session_of(page).choice
    after = resolve(choice).data
    assert choice.data == MINE and after.dataset.private
    assert after.dataset.n_samples == before.dataset.n_samples + 1
    np.testing.assert_array_equal(after.X[-1][:40], 0.25)
    assert after.y[-1] == 3 and after.split.train[-1] == len(after.y) - 1
    np.testing.assert_array_equal(after.X[:-1], before.data.X)
    assert after.dataset.channels == before.dataset.channels
    assert not workspace.is_drawn(choice)  # no room in a state file, which works
    assert workspace.gather(choice, True).points is None
    sound(page.toggle(key="draw_series").set_value(True).run())
    sound(page.button(key="add_series").click().run())
    twice = session_of(page).choice
    assert resolve(twice).data.dataset.n_samples == before.dataset.n_samples + 2
    assert twice.token == choice.token
    assert session_of(page).live.undo[-1].what == "the added series"


def test_rows_with_a_group_take_no_drawn_series():
    dataset = load_dataset("series", n_samples=20, n_times=10)
    x = np.zeros(90)
    assert with_series(dataset, x, 1, 21).n_samples == 21
    with pytest.raises(SmpcoreError, match="At most 20 rows can be drawn on"):
        with_series(dataset, x, 1, 20)
    frame = dataset.frame.assign(patient=1)
    grouped = make_dataset(frame, "t", roles={"patient": "group", "class": "target"})
    with pytest.raises(SmpcoreError, match="A drawn series has no group and no time"):
        with_series(grouped, x, 1, 100)
