"""What a message of a drag goes through, from the browser to the picture sent back."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pages.state import table_store
from smpcore import METHODS
from smpcore.live import MINE, figure
from tests.app import session_of
from tests.test_live import Browser, kernels

fixtures = (kernels,)
ROOT = Path(__file__).parents[1]
MOST_FILES = 10
#: Python calls in pages/ and smpcore/ that a message may take. Where they are more than
#: 300 the fit itself is the rest: roundings and starts that are tried one by one, and
#: sweeps in Python, which end at other places on other processors.
MOST_CALLS = {
    ("moons", "smp", "lam"): 250,
    ("moons", "smp", "mu"): 250,
    ("breast_cancer", "smp", "lam"): 250,
    ("digits", "smp", "mu"): 250,
    ("moons", "smallk", "lam"): 300,
    ("moons", "smallk", "k"): 300,
    ("breast_cancer", "smallk", "k"): 400,
    ("moons", "supersparse", "n_prototypes"): 420,
    ("moons", "supersparse", "lam"): 420,
    ("breast_cancer", "supersparse", "lam"): 420,
    ("diabetes", "supersparse", "lam"): 420,
    ("sine", "supersparse", "lam"): 420,
    ("moons", "mprotsvm", "C"): 3200,
    ("moons", "imkpl", "kappa"): 850,
}


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """However slow the machine is: the held fit is the canonical one."""
    monkeypatch.setattr(figure, "CANONICAL_SECONDS", 30.0)


def _script():
    """What the page does with a message; its calls are counted."""
    import sys

    import streamlit as st

    from pages.ui import live

    sys.setprofile(st.session_state["profile"])
    try:
        st.session_state["payload"] = live.answer(st.session_state["message"])
    finally:
        sys.setprofile(None)


class Counted(Browser):
    """A visitor's figure that counts the calls of its last message."""

    script = staticmethod(_script)

    def post(self, message):
        self.calls = Counter()
        self.app.session_state["profile"] = self._count
        return super().post(message)

    def _count(self, frame, event, _):
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(ROOT):
            name = file.relative_to(ROOT).as_posix()
            if name.startswith(("pages/", "smpcore/")):
                self.calls[name, frame.f_code.co_qualname] += 1


def _values(browser, name):
    """Three places of a slider."""
    control = next(c for c in browser.last["controls"] if c["name"] == name)
    low, high = max(control["low"], 1e-4 * control["high"]), control["high"]
    places = np.geomspace(low, high, 7)[2:5].tolist()
    return [round(v) for v in places] if control["scale"] == "int" else places


@pytest.mark.parametrize(("data", "method", "name"), MOST_CALLS)
def test_a_message_of_a_drag_goes_through_few_files_and_calls(data, method, name):
    # A table whose map another test has laid out would open with it.
    browser = Counted(data=data, method=method, view={"kind": "pca"})
    for value in _values(browser, name):
        picture = browser.drag(**{name: value})["picture"]
    assert picture["ms"] and not picture["coarse"]
    files = {file for file, _ in browser.calls if file.startswith("pages/")}
    assert len(files) <= MOST_FILES, sorted(files)
    calls = browser.calls.total()
    assert calls <= MOST_CALLS[data, method, name], browser.calls.most_common(20)


def _without_clock(header):
    readouts = [r for r in header["picture"]["readouts"] if r["name"] != "Solver"]
    return header | {
        "seq": 0,
        "picture": header["picture"] | {"ms": 0, "readouts": readouts},
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("view", [{}, {"kind": "axes"}], ids=str)
def test_what_stands_still_in_a_drag_is_what_would_be_found_anew(method, view):
    browser = Browser(data="iris", method=method, view=view)
    name, value = browser.slider()
    browser.drag(**{name: 1.1 * value})
    goes_on = browser.drag(**{name: value})
    assert session_of(browser.app).live.drag
    session_of(browser.app).live.drag = None
    anew = browser.drag(**{name: value})
    np.testing.assert_equal(_without_clock(goes_on), _without_clock(anew))


def test_another_choice_in_the_middle_of_a_drag_ends_it():
    browser = Browser(data="moons")
    browser.drag(mu=0.02)
    session_of(browser.app).choice = replace(browser.choice, data="iris")
    header = browser.drag(mu=0.03)
    assert header["kind"] == "full" and len(header["scene"]["classes"]) == 3
    assert browser.choice.data == "iris" and browser.choice.values == {"mu": 0.03}
    assert browser.drag(**{"v.kind": "axes"})["kind"] == "full"
    assert browser.drag(eta=0.5)["kind"] == "picture"


def test_a_table_that_is_deleted_in_the_middle_of_a_drag_is_not_shown():
    browser = Browser(data="moons")
    browser.send("edit", op="add", x=0.5, y=0.5, label=0)
    browser.drag(mu=0.02)
    browser.drag(mu=0.03)
    assert browser.choice.data == MINE
    table_store.delete(browser.choice.token)
    header = browser.drag(mu=0.04)
    assert browser.choice.data != MINE
    assert "not on the server" in header["notices"][0]["text"]


def test_nothing_is_held_when_a_drag_has_ended():
    browser = Browser(data="moons")
    browser.drag(mu=0.02)
    assert browser.drag(mu=0.02, release=True)["undo"] == "Switch features off (μ)"
    assert session_of(browser.app).live.drag is None
    assert browser.send("edit", op="undo")["undo"] == ""
    assert browser.choice.values == {}
