"""The dialogue of the live figure, without a browser: messages in, payloads out."""

import json
import math
import re
import struct
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from streamlit.testing.v1 import AppTest

from pages.state import links, table_store
from pages.state.host import resolve
from pages.ui import elements
from pages.work import cache, studies, visitors
from smpcore import METHODS
from smpcore.explain import doubts
from smpcore.live import MINE, Choice, lines
from tests.app import opened, sent_while_moving, session_of

SCHEMA = Draft202012Validator(
    json.loads(Path("assets/canvas/payload.schema.json").read_text("utf-8"))
)


def unpacked(payload: bytes) -> dict:
    """The header with its arrays as numpy arrays."""
    (length,) = struct.unpack_from("<I", payload)
    blob = payload[(4 + length + 7) // 8 * 8 :]

    def arrays(entry):
        if "$" not in entry:
            return entry
        kind, offset, *shape = entry["$"]
        dtype = {"u1": np.uint8, "i4": np.int32, "f4": np.float32}[kind]
        size = int(np.prod(shape))
        return np.frombuffer(blob, dtype, size, offset).reshape(shape)

    return json.loads(payload[4 : 4 + length], object_hook=arrays)


def decode(payload: bytes) -> dict:
    """The same, as the schema describes it."""
    (length,) = struct.unpack_from("<I", payload)
    header = json.loads(payload[4 : 4 + length])
    assert SCHEMA.is_valid(header), best_match(SCHEMA.iter_errors(header))
    return unpacked(payload)


def figure_of(page: AppTest) -> dict:
    """What the figure of a page is sent."""
    return decode(page.get("bidi_component")[0].proto.bytes)


@pytest.fixture(scope="module", autouse=True)
def kernels():
    """Compiled, and patient: on a busy machine a fit would otherwise become a job."""
    for method in METHODS.values():
        method.warm_up()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache.computed, "quick_seconds", 30.0)
        yield


def _script():
    """What the page does with a message, in a session of its own."""
    import streamlit as st

    from pages.ui import live

    st.session_state["payload"] = live.answer(st.session_state["message"])


class Browser:
    """A visitor's figure: numbers its messages, remembers the scene."""

    script = staticmethod(_script)

    def __init__(self, **choice):
        self.app = AppTest.from_function(self.script, default_timeout=60)
        session_of(self.app).choice = Choice(**choice)
        self.seq = 0
        self.last = self.post(None)
        self.scene = self.last["scene"]

    @property
    def choice(self):
        return session_of(self.app).choice

    @property
    def context(self):
        return resolve(self.choice)

    @property
    def fitted(self):
        """The canonical fit of what is chosen."""
        return self.context.fit().finished()

    def control(self, name):
        return next(c for c in self.last["controls"] if c["name"] == name)

    def slider(self):
        """A control of the method that is committed, and a value for it."""
        control = next(
            c
            for c in self.last["controls"]
            if c["group"] == "method" and c["scale"] == "log" and c["shown"]
        )
        return control["name"], float(np.sqrt(control["low"] * control["high"]))

    def texts(self):
        return [notice["text"] for notice in self.last["notices"]]

    def post(self, message):
        self.app.session_state["message"] = message
        self.app.run()
        assert not self.app.exception, self.app.exception[0].value
        return decode(self.app.session_state["payload"])

    def send(self, kind, **more):
        self.seq += 1
        message = {"seq": self.seq, "kind": kind, "have": self.scene["id"], **more}
        self.last = self.post(message)
        self.scene = self.last.get("scene", self.scene)
        return self.last

    def drag(self, release=False, **values):
        return self.send("set", values=values, dragging=not release)


@pytest.fixture
def browser():
    return Browser()


@pytest.mark.parametrize("kind", ["knots", "steps"])
def test_who_asks_for_pictures_of_a_scene_before_gets_the_new_one(browser, kind):
    full = browser.send(kind, want=[0], have="another")
    assert full["kind"] == "full" and full["picture"]["canonical"]
    header = browser.send(kind, want=[0])
    assert header["kind"] == kind
    chains = {knot["chain"] for knot in header.get("knots", [])}
    assert chains <= {full["picture"]["chain"]}


def test_opening_the_test_set_is_counted():
    browser = Browser(data="wine")
    names = {r["name"] for r in browser.last["picture"]["readouts"]}
    assert "Test accuracy" not in names
    opened = browser.drag(open_test=True, release=True)
    assert "Test accuracy" in {r["name"] for r in opened["picture"]["readouts"]}
    browser.drag(open_test=False, release=True)
    browser.drag(open_test=True, release=True)
    assert browser.context.times_opened == 2
    browser.drag(data="iris", release=True)
    back = browser.drag(data="wine", release=True)
    assert "Test accuracy" not in {r["name"] for r in back["picture"]["readouts"]}
    assert browser.context.times_opened == 2, "switching data forgets nothing"
    choice, _ = links.read_url(links.write_url(browser.choice))
    assert resolve(choice).times_opened == 2, "nor does a reload"


def test_a_private_table_is_shown_to_its_browser_only(monkeypatch):
    browser = Browser()
    monkeypatch.setattr(visitors, "browser", lambda: "one")
    browser.send("edit", op="add", x=0.0, y=0.0, label=0)
    token = browser.choice.token
    query = links.write_url(browser.choice)
    assert query["mine"] == token
    choice, notices = links.read_url(query)
    assert choice.data == MINE and not notices
    monkeypatch.setattr(visitors, "browser", lambda: "another")
    choice, notices = links.read_url(query)
    assert choice.data != MINE
    assert "only in the browser that brought them" in notices[0]
    table_store.delete(token)
    monkeypatch.setattr(visitors, "browser", lambda: "one")
    assert table_store.visit(token)[0].private
    table_store.delete(token)
    with pytest.raises(ValueError, match="not on the server"):
        table_store.visit(token)


def test_a_method_without_machine_code_yet_is_fitted_in_a_job(monkeypatch):
    monkeypatch.setattr(cache.computed, "uncompiled", {"smp"})
    browser = Browser(data="xor", data_values={"seed": 77})
    assert browser.last["job"]["text"].startswith("Compiling and fitting")
    assert "picture" not in browser.drag(mu=0.02), "and nothing is previewed"
    monkeypatch.setattr(cache.computed, "uncompiled", set())
    assert browser.drag(mu=0.02, release=True)["picture"]["canonical"]


def test_a_stopped_fit_is_never_taken_for_the_canonical_one(monkeypatch):
    monkeypatch.setattr(cache.computed, "quick_values", 10)
    monkeypatch.setattr(cache.computed, "quick_seconds", 0.3)
    slow = {"start": "each", "lam": 1e-6, "mu": 0.0}
    many = {"seed": 99, "n_samples": 1000}
    browser = Browser(data="xor", data_values=many, values=slow)
    for _ in range(20):
        if "picture" in browser.send("stop"):
            break
    assert not browser.last["picture"]["canonical"]
    assert browser.drag(release=True)["job"], "asked for again, it is fitted again"
    browser.send("stop")


def test_a_bug_is_a_sentence_for_the_visitor_and_a_traceback_in_the_log(
    browser, monkeypatch, caplog
):
    monkeypatch.setattr(lines, "readouts", lambda *_: 1 / 0)
    header = browser.drag(mu=0.02)
    assert header["kind"] == "notice"
    told = header["notices"][0]["text"]
    number = re.search(r"ID (\w+)", told)[1]
    assert number in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert "ZeroDivisionError" not in told
    monkeypatch.undo()
    assert browser.drag(mu=0.02)["picture"], "and the page goes on"


def test_fewer_rows_of_a_class_than_prototypes_is_said_on_the_page():
    few = {"n_samples": 20, "n_classes": 5}
    header = Browser(data="blobs", data_values=few, values={"n_prototypes": 6}).last
    told = " ".join(notice["text"] for notice in header["notices"])
    assert "n_prototypes=6" in told
    assert header["picture"]["canonical"]


def test_reset_resets_all_and_can_be_undone():
    browser = Browser(data="iris", values={"mu": 0.07}, view={"kind": "axes"})
    browser.drag(lam=0.01, release=True)
    answer = browser.send("reset")
    assert browser.choice.values == {} and browser.choice.view == {}
    assert answer["picture"]["canonical"] and answer["undo"] == "the reset"
    browser.send("edit", op="undo")
    assert browser.choice.values == {"mu": 0.07, "lam": 0.01}


def test_doubts_of_rows_and_places_are_in_the_words_of_all_pages():
    choice = Choice(data="breast_cancer", seed=915)  # nobody else calibrates it
    threshold = {"threshold": 1.5, "set_for": resolve(choice).key}
    browser = Browser(data="breast_cancer", seed=915, **threshold)
    assert browser.last["picture"]["doubts"] is None  # it is not calibrated
    browser.context.training_scores.compute(np.zeros(1, np.int64), np.zeros(1))
    picture, points = browser.drag(release=True)["picture"], browser.scene["points"]
    context, shown = browser.context, picture["doubts"]
    x, y = (browser.scene["view"][axis] for axis in "xy")
    view = studies.view(context.data, context.view)
    assert (*x, *y) == (*view.x, *view.y)
    inputs = {"rows": context.data.X[points["row"]]}
    inputs["nodes"] = view.nodes(picture["grid"][0])
    for kind, X in inputs.items():
        words = [shown["words"][number] for number in shown[kind]]
        assert words == doubts(context.model(), X) and len({*words}) > 2
    assert browser.drag(mu=0.02)["picture"]["doubts"] is None


# What the live slider takes from a browser: a number within its ends.

HOSTILE = [None, "2", [], {}, {"value": "2"}, {"value": math.nan}, {"value": True}]
HOSTILE += [{"value": math.inf}, {"value": [1]}, {"number": 3}]


@pytest.fixture
def mounted(monkeypatch):
    """What a message calls, and the data that the slider is mounted with."""
    moved, slider = [], ("x", (-1.0, 3.0, 0.1), 0.5, "s")

    def send(message):
        mount = partial(elements.live_slider, *slider, moved.append)
        return moved, sent_while_moving(monkeypatch, mount, "s", message)

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


# Present mode: the figure asks for it, the link keeps it.


def test_the_link_keeps_present_mode_until_it_is_left():
    browser = Browser()
    assert browser.scene["present"] is False
    browser.send("set", values={}, dragging=False, present=True)
    assert session_of(browser.app).live.present
    assert browser.app.query_params["present"] == "1"
    browser.send("set", values={}, dragging=False)
    assert "present" not in browser.app.query_params


def test_a_link_opens_in_present_mode_without_a_warning():
    shown = figure_of(opened({"present": "1"}))
    assert shown["scene"]["present"] and shown["notices"] == []


def test_rows_selected_in_a_table_of_a_page_light_up_until_the_table_changes(browser):
    rows = browser.context.data.split.train[:3]
    digest = browser.context.data.dataset.digest
    session_of(browser.app).live.selected = {digest: rows.tolist()}
    shown = browser.post(None)["selection"]["rows"]
    assert sorted(shown) == sorted(rows)
    other = browser.send("set", values={"data": "breast_cancer"}, dragging=False)
    assert other["kind"] == "full" and "selection" not in other
