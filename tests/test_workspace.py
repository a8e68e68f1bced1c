"""The state file: the same model comes back, and nothing wrong is taken for one."""

import json
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import streamlit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pages.state import lesson_files, lesson_run, links, state_file, table_store
from pages.state.host import resolve, validated
from pages.state.session import Session
from pages.state.state_file import Saved
from pages.ui import workspace
from pages.work import visitors
from pages.work.store import KEEP_SECONDS, Store
from pages.work.studies import Entry
from smpcore import METHODS, SmpcoreError, load_dataset, split
from smpcore.datasets import make_dataset, read_table
from smpcore.live import BUNDLED, MINE, Choice
from tests.app import has_button, opened, session_of

DATA = ("moons", "iris", "digits", "sine", "diabetes")
NASTY = '<img src=x onerror=alert(1)>"&$x$**b**'


@pytest.fixture
def session(monkeypatch):
    """A visit without a browser's page."""
    state = Session()
    monkeypatch.setattr(streamlit, "session_state", {"session": state})
    monkeypatch.setattr(visitors, "browser", lambda: "b")
    monkeypatch.setattr(workspace, "_files", Store(seconds=KEEP_SECONDS))
    return state


def value_of(param):
    """Any value of a control, with all the digits that a slider sends."""
    if param.scale == "choice":
        return st.sampled_from([value for value, _ in param.options])
    if param.scale == "flag":
        return st.booleans()
    ends = param.low, min(param.high, param.low + 1e3)
    return st.integers(*map(int, ends)) if param.scale == "int" else st.floats(*ends)


@st.composite
def choices(draw):
    """What a visitor may have set, of everything that there is to set."""
    data = draw(st.sampled_from(DATA))
    start = resolve(Choice(data=data))
    method = draw(st.sampled_from([*start.methods]))
    controls = replace(start, choice=replace(start.choice, method=method)).params
    values, made = (
        {
            param.name: param.clean(draw(value_of(param)))
            for param in params
            if param.scale not in ("class", "lists") and draw(st.booleans())
        }
        for params in (controls, () if data == "iris" else BUNDLED[data].params)
    )
    names = start.dataset.feature_columns[1:] if data == "iris" else ()
    without = [name for name in names if draw(st.booleans())]
    return Choice(
        data=data,
        data_values=made,
        method=method,
        values=values,
        forbidden=tuple(without),
        validation=draw(st.floats(0.1, 0.3)),
        test=draw(st.floats(0.1, 0.3)),
        seed=draw(st.integers(0, 99)),
    )


def keep_and_open(choice, session, **more):
    content = state_file.write(workspace.gather(choice, with_points=True))
    session.choice, session.notes, session.pinned = Choice(), {}, None
    assert workspace.put(state_file.read(content), session.choice) == ""
    return session.choice


@given(choices())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_link_and_the_same_model_come_back(session, before):
    query = links.write_url(before)
    linked, notices = links.read_url(query)
    assert not notices
    for after in (linked, keep_and_open(before, session)):
        assert links.write_url(after) == query
        assert resolve(after).values == resolve(before).values
        assert resolve(after).key == resolve(before).key
        assert resolve(after).data.split.key == resolve(before).data.split.key


def test_names_pin_counts_and_operating_point_come_back(session):
    choice = Choice(data="breast_cancer", threshold=0.1, band=1 / 3, open_test=True)
    choice = replace(
        choice, set_for=resolve(choice).key, opened={resolve(choice).dataset.digest: 4}
    )
    key = ("d" * 32, "ab", next(iter(METHODS)), (("lam", 1 / 3), ("start", None)))
    session.notes = {key: {2: {"name": NASTY[:40], "note": NASTY, "without": [NASTY]}}}
    notes = session.notes
    session.pinned = Entry(next(iter(METHODS)), (("lam", 0.25),))
    after = keep_and_open(choice, session)
    assert after == choice
    assert resolve(after).operating
    assert session.notes == notes
    assert session.pinned == Entry(next(iter(METHODS)), (("lam", 0.25),))


def test_what_an_author_states_comes_back_but_not_by_a_link(session):
    """By the name of the table: other roles and steps are the same study."""
    nasty = f"{NASTY}\n=cmd()|`x`\r\n\u2028ä"
    session.stated = {"moons": {"ethics": nasty, "dates": " "}, "other": {"use": ""}}
    choice = Choice(data="moons")
    query = links.write_url(choice)
    assert not [text for text in query.values() if "cmd" in text]
    content = state_file.write(workspace.gather(choice, with_points=True))
    session.stated = {"moons": {"ethics": "before"}, "iris": {"use": "stays"}}
    workspace.put(state_file.read(content), session.choice)
    assert session.stated == {"moons": {"ethics": nasty}, "iris": {"use": "stays"}}
    workspace.keep(session.choice)
    assert b"cmd" in workspace._files.get("b").state


def test_a_table_of_another_name_takes_over_what_was_stated(session):
    frame = pd.DataFrame({"a": np.arange(40) + 0.125, "b": np.arange(40) % 7})
    frame["kind"] = np.where(frame["a"] > 20, "yes", "no")
    before, after = (
        read_table(one.to_csv(index=False).encode(), name)
        for one, name in ((frame, "1.csv"), (frame.iloc[1:], "2.csv"))
    )
    tokens = [table_store.keep(one) for one in (before, after)]
    session.stated = {before.name: {"setting": "two wards"}}
    saved = workspace.gather(Choice(data=MINE, token=tokens[0]), False)
    table_store.delete(tokens[0])
    session.choice = Choice(data=MINE, token=tokens[1])
    session.stated = {}
    assert workspace.put(saved, session.choice)
    workspace.await_table(session.choice)
    assert session.stated == {after.name: {"setting": "two wards"}}


def test_a_file_of_before_there_was_a_form_opens(session):
    old = {n: value for n, value in GOOD.items() if n != "stated"}
    assert "stated" in GOOD
    saved = state_file.read(json.dumps(old).encode())
    assert saved.stated == {}
    assert workspace.put(saved, session.choice) == ""


def test_a_count_of_opened_test_parts_never_falls(session):
    session.choice = Choice(opened={"a": 2})
    workspace.put(Saved({"data": "moons"}, opened={"a": 1, "b": 5}), session.choice)
    assert session.choice.opened == {"a": 2, "b": 5}


@pytest.mark.parametrize("data", ["moons", "sine"])
def test_drawn_points_come_back_only_if_they_were_asked_for(data, session):
    dataset = load_dataset(data)
    names = dataset.feature_columns
    X = dataset.frame[names].to_numpy()[:40] / 3
    drawn = dataset.with_points(X, dataset.y[:40])
    token = table_store.keep(drawn, split(drawn))
    choice = validated(Choice(data=MINE, token=token))[0]
    without = state_file.read(
        state_file.write(workspace.gather(choice, with_points=False))
    )
    assert without.points is None
    after = keep_and_open(choice, session)
    assert after.token != token
    back, division = table_store.visit(after.token)
    assert back.digest == drawn.digest
    assert division.key == split(drawn).key
    assert after.method == choice.method
    table_store.delete(token)
    assert "Upload that table" in workspace.put(without, Choice())
    assert session.choice == after, "nothing is applied before the table is there"


def test_rows_of_an_upload_are_never_in_the_file(session, tmp_path):
    frame = pd.DataFrame({"a": np.arange(40) + 0.125, "b": np.arange(40) % 7})
    frame["kind"] = np.where(frame["a"] > 20, "secret", "other")
    mine = make_dataset(frame, name="mine.csv", private=True)
    token = table_store.keep(mine)
    content = state_file.write(workspace.gather(Choice(data=MINE, token=token), True))
    assert b"secret" not in content and b"20.125" not in content
    assert token.encode() not in content
    found = state_file.read(content)
    assert (found.table.name, found.table.digest) == ("mine.csv", mine.digest)
    assert found.table.columns.roles == dict(mine.roles)
    table_store.delete(token)
    assert workspace.put(found, Choice())
    again = table_store.keep(mine)
    session.choice = Choice(data=MINE, token=again)
    assert workspace.put(session.awaited, session.choice) == ""
    assert session.choice.token == again


GOOD = json.loads(state_file.write(Saved({"data": "moons"})))
MODEL = {"data": "d", "split": "s", "method": next(iter(METHODS)), "values": {}}


def points(**changes):
    good = {"name": "n", "task": "classification", "open_test": True, "target": "t"}
    good |= {"columns": ["a", "b"], "X": [[0, i] for i in range(6)], "seed": 0}
    good |= {"y": [0, 1] * 3, "shares": [0.2, 0.2], "train": [0, 1, 2, 3]}
    return good | {"validation": [4], "test": [5]} | changes


WRONG = {
    "another version": ({"version": 2}, "has version 2, this app reads version 1"),
    "true for 1": ({"version": True}, "“version”: Expected int"),
    "another format": ({"format": "x"}, "not one that this app wrote"),
    "one entry more": ({"extra": 1}, "unknown field extra; remove it"),
    "a token": ({"link": {"data": MINE, "mine": "x"}}, "not known: mine"),
    "half a character": ({"link": {"lam": "\ud800"}}, "damaged, cut off"),
    "a negative count": ({"opened": {"a": -1}}, "“opened”: Expected int >= 0"),
    "notes without a model": ({"notes": [{}]}, "“notes: 1”: Object missing"),
    "a note too long": (
        {"notes": [MODEL | {"prototypes": {"0": {"name": "n" * 41, "note": ""}}}]},
        "prototypes: name”: Expected str of length",
    ),
    "a statement too long": (
        {"stated": {"t": {"ethics": "x" * 2001}}},
        "Expected str of length",
    ),
    "a statement about something else": ({"stated": {"t": {"x": "y"}}}, "stated"),
    "a pin with a strange setting": (
        {"pinned": {"key": MODEL["method"], "values": {"__class__": 1}}},
        "is not here or",
    ),
    "a pin out of range": (
        {"pinned": {"key": MODEL["method"], "values": {"lam": 1e200}}},
        "out of its range",
    ),
    "points too far": ({"points": points(X=[[0, 1e300]] * 6)}, "“points: X: 1: 2”"),
    "points of one class": ({"points": points(y=[0] * 6)}, "class"),
    "points in two parts": ({"points": points(test=[0])}, "one part only"),
    "points out of place": ({"points": points(test=[6])}, "no others"),
    "points of two types": ({"points": points(y=[0, "a"] * 3)}, "one type"),
    "points in one column": ({"points": points(columns=["a", "a"])}, "columns"),
    "too few coordinates": ({"points": points(X=[[0]] * 6)}, "for each point"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_clear_sentence(name):
    changes, words = WRONG[name]
    with pytest.raises(SmpcoreError) as caught:
        state_file.read(json.dumps(GOOD | changes).encode())
    said = str(caught.value)
    assert words in said
    assert len(said) < 300
    said.encode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps(GOOD)[:-40], "damaged, cut off"),
        ("", "damaged, cut off"),
        ("\x80", "damaged, cut off"),
        ("[" * 200_000, "is not valid"),
        ('{"a":' * 100_000, "should be JSON"),
        (json.dumps(GOOD).replace(": 1", ": NaN"), "JSON"),
        (json.dumps(GOOD).replace('"version": 1', f'"version": {"9" * 9999}'), "valid"),
        ("x" * 1_000_001, "at most 1 MB"),
        ("[]", "is not valid at “its top level”"),
    ],
)
def test_a_file_that_is_no_state_is_refused(text, words):
    with pytest.raises(SmpcoreError, match=words):
        state_file.read(text.encode("latin-1"))


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ({"data": "../x"}, "names an unknown data set"),
        ({"lam": "1e99"}, "lam cannot be 1e99"),
        ({"lam": "nan"}, "lam should be a number"),
        ({"nonsense": "1"}, "ignored: nonsense"),
        ({"method": "os"}, "names an unknown method"),
        ({"data": MINE}, "should name its table"),
    ],
)
def test_a_link_edited_by_hand_changes_nothing(link, words, session):
    file = GOOD | {"link": link, "opened": {"a": 1}}
    with pytest.raises(SmpcoreError, match=words):
        workspace.put(state_file.read(json.dumps(file).encode()), session.choice)
    assert session == Session()


#: Settings that there were: method, name.
REMOVED = [(key, name) for key, row in METHODS.items() for name in row.removed]


@pytest.mark.parametrize(("method", "name"), REMOVED)
def test_what_sets_a_control_that_there_was_opens_with_a_sentence(
    method, name, session
):
    words = [METHODS[method].removed[name]]
    link = {"data": "circles", "method": method, name: "old"}
    choice, notices = links.read_url(link)
    assert notices == words and not choice.values
    pinned = {"key": method, "values": {name: "old"}}
    file = GOOD | {"link": link, "pinned": pinned}
    assert workspace.put(state_file.read(json.dumps(file).encode()), Choice()) == ""
    assert session.notices == words and session.choice.method == method
    assert session.pinned == Entry(method, ())
    session.notices.clear()
    step = {"title": "One", "text": "See.", "state": link, "free": [name]}
    about = {"title": "Mine", "minutes": 5, "aim": "To see.", "steps": [step]}
    text = json.dumps(about | {"format": lesson_files.FORMAT})
    lesson_run.start(lesson_files.read(text.encode()))
    assert session.notices == words and session.choice.method == method


def test_notes_survive_a_reload_of_the_same_browser_only(session, monkeypatch):
    key = ("d", "s", next(iter(METHODS)), ())
    session.notes = {key: {0: {"name": "n", "note": ""}}}
    workspace.keep(replace(session.choice, opened={"a": 3}))

    def after_a_reload():
        streamlit.session_state.clear()
        monkeypatch.setattr(links, "read_url", lambda _: (Choice(), []))
        return workspace.current()

    assert after_a_reload().opened == {"a": 3}
    assert streamlit.session_state["session"].notes[key][0]["name"] == "n"
    monkeypatch.setattr(visitors, "browser", lambda: "another")
    assert after_a_reload().opened == {}
    assert not streamlit.session_state["session"].notes
    monkeypatch.setattr(visitors, "browser", lambda: "b")
    monkeypatch.setattr(workspace._files, "seconds", 0.01)
    streamlit.session_state["session"] = Session(Choice(opened={"a": 3}))
    workspace.keep(Choice(opened={"a": 3}))
    time.sleep(0.02)
    assert after_a_reload().opened == {}


def test_an_address_that_the_browser_had_left_is_followed_without_a_word_of_back():
    app = opened({"data": "wine", "seed": "7"})
    session_of(app).choice = replace(session_of(app).choice, seed=8)
    app.run()
    assert app.query_params["seed"] in ("8", ["8"])
    app.query_params["seed"] = "7"  # sent before the browser had what was written
    session_of(app).has_address = False
    app.run()
    assert session_of(app).choice.seed == 8
    app.run()
    app.query_params["seed"] = "7"
    app.run()
    assert session_of(app).choice.seed == 7


def test_a_dialog_stays_when_the_page_behind_it_runs_anew():
    """As at the end of a fit; a file that was asked for in it did not come."""
    app = opened({"data": "moons"}, "performance.py")
    app.button(key="workspace").click().run()
    for _ in range(2):
        assert has_button(app, "workspace_save")
        app.run()
    app.switch_page("pages/data.py").run()
    assert not has_button(app, "workspace_save")
