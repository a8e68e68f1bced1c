"""What pages are told stays: on other pages and back, and in a link."""

import io
import json
import math
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from pages.explore import edits
from pages.state.host import resolve
from pages.state.session import OutgoingFile, Session
from pages.ui import elements, qr, workspace
from pages.work import studies
from smpcore import SmpcoreError, load_dataset
from smpcore.datasets import make_dataset, with_series
from smpcore.live import MINE, Choice
from tests.app import kernels, opened, said, sent_while_moving, session_of, sound

pytestmark = pytest.mark.usefixtures(kernels.__name__)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(studies, "COARSE", 2)


def _told_trade_off(page):
    page.selectbox(key="sweep_score_classification").select("accuracy").run()
    page.selectbox(key="sweep_size").select("flash_bytes").run()
    page.number_input(key="sweep_folds").set_value(3).run()
    page.button_group(key="sweep_groups").set_value(["selected"]).run()
    page.multiselect[0].set_value(["smallk", "imkpl"]).run()
    return sound(page)


def _says_trade_off(page):
    return (
        page.selectbox(key="sweep_score_classification").value,
        page.selectbox(key="sweep_size").value,
        page.number_input(key="sweep_folds").value,
        page.button_group(key="sweep_groups").value,
        page.multiselect[0].value,
    )


def _told_prototypes(page):
    page.segmented_control(key="prototypes_section").set_value(
        "Why this prediction"
    ).run()
    page.selectbox(key="why_part").select("validation").run()
    page.number_input[0].set_value(page.number_input[0].max - 1).run()
    return sound(page)


def _says_prototypes(page):
    return page.selectbox(key="why_part").value, page.number_input[0].value


PAGES = {
    "tradeoff.py": (_told_trade_off, _says_trade_off),
    "prototypes.py": (_told_prototypes, _says_prototypes),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_the_same_from_its_link_and_when_it_comes_back(name):
    tell, says = PAGES[name]
    page = opened({"data": "breast_cancer", "method": "smallk"}, name)
    before = says(opened({"data": "breast_cancer"}, name)) if "proto" not in name else 0
    wanted = says(tell(page))
    assert wanted != before
    link = dict(page.query_params)
    page.switch_page("pages/apply.py").run()
    sound(page.switch_page(f"pages/{name}").run())
    assert says(page) == wanted
    again = opened(link, name)
    assert says(again) == wanted
    assert not again.warning
    choices = [session_of(app).choice for app in (page, again)]
    assert resolve(choices[0]).key == resolve(choices[1]).key


@pytest.mark.parametrize("text", ["", "nonsense", "<b>x</b>", "-1", "1e9", "smp,zzz"])
def test_a_link_cannot_say_what_a_control_cannot(text):
    keys = (
        "sweep_score_classification",
        "sweep_size",
        "sweep_folds",
        *["sweep_groups"] * bool(text),  # none is a choice, too
    )
    start = _says_trade_off(opened({"data": "iris"}, "tradeoff.py"))
    page = opened({"data": "iris"} | {f"p.{key}": text for key in keys}, "tradeoff.py")
    assert _says_trade_off(page) == start
    assert not [name for name in page.query_params if name.startswith("p.")]
    assert "ignored" not in said(page)


def test_another_model_on_explore_is_the_one_that_is_swept():
    page = opened({"data": "iris"}, "tradeoff.py")
    first = page.multiselect[0].value
    other = "smallk"
    assert first != [other]
    there = opened({"data": "iris", "method": other})
    session_of(page).choice = session_of(there).choice
    page.switch_page("pages/apply.py").run()
    page.switch_page("pages/tradeoff.py").run()
    assert page.multiselect[0].value == [other]


# The button that makes a file: the file, or a sentence beside the button.


def _page(make):
    def script(make):
        from pages.ui.elements import download

        download("Save it", make, "a.csv", key="it")

    page = AppTest.from_function(script, args=(make,), default_timeout=30).run()
    assert not page.get("bidi_component") and not page.exception
    page.button[0].click().run()
    assert not page.exception
    return page


def _refused():
    raise SmpcoreError("the sheet is too wide; choose CSV.")


@pytest.mark.parametrize(
    "make, words",
    [
        (_refused, r"No file: the sheet is too wide; choose CSV\."),
        (lambda: 1 / 0, r"No file: internal error \(ID [0-9a-f]{6}\)"),
        (lambda: b"a" * 11, "No file: it has 0 MB, and 0 MB can be sent"),
    ],
)
def test_what_cannot_be_made_is_said_beside_the_button(make, words, monkeypatch):
    monkeypatch.setattr(elements, "MOST_BYTES", 10)
    page = _page(make)
    (problem,) = page.error
    said = problem.value.replace("\\", "")
    assert re.match(words, said) and "Traceback" not in said
    assert not page.get("bidi_component")


def test_the_file_stays_until_the_browser_has_it():
    page = _page(lambda: "a\ud800,b\n")
    for _ in range(2):  # a run that is broken off draws it for nobody
        (sent,) = page.get("bidi_component")
        header, _, content = sent.proto.bytes.partition(b"\n")
        assert (json.loads(header)["name"], content) == ("a.csv", b"a?,b\n")
        assert not page.run().error
    with_number = page.session_state["session"].file
    page.session_state["session"].file = replace(with_number, key="another")
    assert not page.run().get("bidi_component")


def test_only_the_file_that_was_sent_is_said_to_be_taken(monkeypatch):
    visit = Session(file=OutgoingFile("it", "2", b"new"))
    monkeypatch.setattr(elements.session, "get", lambda: visit)
    state = {"it_file": {"saved": "1"}}
    monkeypatch.setattr(elements.st, "session_state", state)
    elements._taken("it")
    assert visit.file.content == b"new"
    state["it_file"]["saved"] = "2"
    elements._taken("it")
    assert visit.file == OutgoingFile()


# QR codes of links: what they hold, and when there is none.


def test_a_code_is_dark_on_white_with_its_quiet_zone():
    picture = np.asarray(Image.open(io.BytesIO(qr.image("http://x/?data=moons"))))
    assert set(np.unique(picture > 0)) == {False, True}
    edge = qr._SCALE * qr._BORDER
    assert (picture[:edge] > 0).all() and (picture[:, -edge:] > 0).all()
    assert not picture[edge : edge + qr._SCALE, edge : edge + qr._SCALE].any()


def test_a_link_that_is_too_long_is_a_sentence():
    with pytest.raises(SmpcoreError, match="too long for a QR code"):
        qr.image("x" * 3000)


def test_the_button_shows_the_link_of_the_model_on_the_screen():
    page = opened({"data": "circles", "lam": "0.02"})
    page.button(key="qr").click().run()
    pictures = sound(page).get("image")
    assert "data=circles&lam=0.02" in str(pictures[0].proto)


def test_a_table_of_ones_own_has_no_code(monkeypatch):
    monkeypatch.setattr(qr, "MINE", "moons")
    page = opened({"data": "moons"})
    page.button(key="qr").click().run()
    assert not sound(page).get("image")
    assert "opens nowhere else" in said(page)


def test_a_link_to_this_machine_says_so(monkeypatch):
    shown = []
    monkeypatch.setattr(qr.st, "info", shown.append)
    for host in ("localhost:8501", "127.0.0.1", "[::1]:8501", "192.168.1.7", "lab.edu"):
        qr.warn_of_local(f"http://{host}/?class=ABCDEF")
    assert len(shown) == 3 and all("--server.address" in text for text in shown)


# A series drawn on Explore: what a browser may send, and where the series goes.

QUERY = {"data": "series"}
HOSTILE = [None, "x", [1.0], ["a"] * 40, [True] * 40, {"0": 1}, [[1.0]] * 40]


def drawing():
    page = opened(QUERY)
    return sound(page.toggle(key="draw_series").set_value(True).run())


@pytest.fixture
def pad(monkeypatch):
    """What a message makes of a channel of zeros."""

    def send(values):
        drawn, message = np.zeros((9, 40)), {"number": 2, "value": values}
        context = resolve(Choice(data="series"))
        mount = partial(edits._channel, context, drawn, 1, "pad")
        return drawn, sent_while_moving(monkeypatch, mount, "pad", message)

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
    shown = session_of(page).results[edits.SERIES][1]
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
    with pytest.raises(
        SmpcoreError, match="A drawn series has no group, time or weight"
    ):
        with_series(grouped, x, 1, 100)


def test_nothing_in_the_style_looks_like_a_tag():
    """Streamlit would take all of it away, as it may have come from anybody."""
    text = (elements.ASSETS / "style.css").read_text("utf-8")
    assert not re.search(r"<[/\w!]", text)
