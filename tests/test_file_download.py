"""The button that makes a file: the file, or a sentence beside the button."""

import json
import re
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from pages.state.session import OutgoingFile, Session
from pages.ui import elements
from smpcore import SmpcoreError


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
