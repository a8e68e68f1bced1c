"""What a visitor sees first is typical of its kind."""

import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.state.host import resolve
from pages.state.links import read_url
from pages.state.session import FIRST
from pages.work import warmup
from smpcore import load_dataset
from tests.bench.first_screen import SEEDS, accuracies, fusions
from tests.test_live import Browser, kernels  # noqa: F401


def test_seed_0_is_typical_and_prototypes_merge_inside_the_slider():
    choice, notices = read_url(FIRST)
    assert not notices and "seed" not in choice.data_values
    options = choice.data_values
    tables = [load_dataset(choice.data, **options, seed=s) for s in range(SEEDS)]
    found = np.array([accuracies(table) for table in tables])
    mean, spread = found.mean(axis=0), found.std(axis=0)
    assert mean[0] > mean[1] + 1 and found[0, 0] > found[0, 1]
    assert (np.abs(found[0] - mean) < 0.5 * spread).all()
    first, last = fusions(tables[0])
    assert 10 <= first <= last <= 90


def test_moons_picked_again_are_those_of_the_first_page():
    first, _ = read_url(FIRST)
    browser = Browser(data="digits")
    browser.drag(data=first.data, release=True)
    assert browser.context.table.digest == resolve(first).table.digest


@pytest.mark.parametrize("query", [{}, {"mine": "token", "lam": "9"}, {"class": "X"}])
def test_what_was_lost_is_said_while_the_server_starts(query, monkeypatch):
    """And nothing that looks like the app is shown before it is there."""
    server = SimpleNamespace(ready=threading.Event())
    monkeypatch.setitem(sys.modules, "app", server)
    monkeypatch.setattr(warmup, "start_up", st.stop)  # as long as it takes
    page = AppTest.from_file(Path(__file__).parents[1] / "app.py")
    page.query_params.update(query)
    assert "solvers are also compiled" in page.run(timeout=60).markdown[0].value
    assert not page.get("image") and not page.exception
    lost = [warning.value for warning in page.warning]
    assert len(lost) == bool(query) and all("are gone: upload" in one for one in lost)
    server.ready.set()
    assert not page.run().markdown and not page.warning


def test_what_was_chosen_for_a_lost_table_is_not_taken_for_moons():
    choice, notices = read_url({"data": "mine", "mine": "gone", "lam": "0.123"})
    assert choice.data == "moons" and "lam" not in choice.values
    assert "not on the server" in notices[0] and "lam" in notices[1]
