"""What the live slider takes from a browser: a number within its ends."""

import math

import pytest
import streamlit as st

from pages.ui import elements

HOSTILE = [None, "2", [], {}, {"value": "2"}, {"value": math.nan}, {"value": True}]
HOSTILE += [{"value": math.inf}, {"value": [1]}, {"number": 3}]


@pytest.fixture
def mounted(monkeypatch):
    """What a message calls, and the data that the slider is mounted with."""
    moved, mounts = [], []
    monkeypatch.setattr(elements, "component", lambda _: lambda **o: mounts.append(o))

    def send(message):
        monkeypatch.setattr(st, "session_state", {"s": {"move": message}})
        elements.live_slider("x", (-1.0, 3.0, 0.1), 0.5, "s", moved.append)
        mounts[-1]["on_move_change"]()
        return moved, mounts[-1]["data"]

    return send


@pytest.mark.parametrize(
    ("value", "wanted"), [(2.5, 2.5), (1, 1.0), (1e99, 3.0), (-7.0, -1.0)]
)
def test_a_value_is_kept_within_the_ends(mounted, value, wanted):
    moved, data = mounted({"number": 4, "value": value})
    assert moved == [wanted] and data["answered"] == 4


@pytest.mark.parametrize("message", HOSTILE)
def test_what_is_no_number_is_not_taken(mounted, message):
    moved, data = mounted(message)
    assert moved == []
    assert data["value"] == 0.5 and type(data["answered"]) is int
