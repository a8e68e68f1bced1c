"""Wishes of links, files and lessons: each is a choice, and pages show it."""

import json
import re
from types import SimpleNamespace

import pytest
import streamlit
from hypothesis import given, settings
from hypothesis import strategies as st

from pages.state import lesson_files, lesson_run, links, state_file, table_store
from pages.state.host import resolve
from pages.state.session import Session
from pages.state.state_file import Saved
from pages.ui import workspace
from pages.work import cache, visitors
from smpcore import METHODS, SmpcoreError
from smpcore.live import MINE, VIEW_KINDS
from tests.app import WITHOUT_A_CHOICE, brought, kernels, opened, said, session_of
from tests.smpcore.datasets.test_time_to_event import followed
from tests.test_app import PAGES
from tests.test_live import Browser, figure_of

pytestmark = pytest.mark.usefixtures(kernels.__name__)

#: Small tables of each kind; "" is one of time to event.
KINDS = {
    "two classes": {"data": "moons", "d.n_samples": "60"},
    "many classes": {"data": "iris"},
    "regression": {"data": "sine", "d.n_samples": "60"},
    "time to event": {"data": MINE, "within": '["months", "death", "1", 14]'},
    "series": {"data": "series", "d.n_samples": "40", "d.n_times": "20"},
    "text": {"data": "words", "d.n_samples": "40"},
    "matrix": {"data": "similarities", "d.n_samples": "40"},
}
JUNK = ("", "nan", "1e999", "-1", "3", "0.5", "1", "x", "None", "[[", '["a"]', "<b>")
#: Names of a link, with texts that some data, tasks or methods take.
NAMES = {
    **{"threshold": ("0.5", "-2"), "band": ("0.1",), "two": ("1",)},
    "outcome": ("0", "1", "yes"),
    "within": ('["months", "death", "1", 9]', '["a", "b", "c", 1]', "[1]"),
    "without": ('["x1"]', '["age", "x1"]', '["x1", "x2"]'),
    "method": (*METHODS, "none"),
    **{"validation": ("0.3", "0.6"), "test": ("0.1", "0.6"), "seed": ("7", "10000")},
    **{"opened": ("2",), "open": ("1",), "mine": ("x",), "junk": ("1",)},
    **{"v.kind": VIEW_KINDS, "v.first": ("1", "30"), "v.second": ("0", "5")},
    **{"v.at0": ("1.5",), "v.at40": ("1",), "v.": ("1",), "d.": ("1",)},
    **{"d.noise": ("0.2", "9"), "d.seed": ("1",), "d.n_classes": ("3",)},
}
for row in METHODS.values():
    for param in row.params:
        options = tuple(str(option) for option, _ in param.options)
        middle = f"{min(param.high, max(param.low, 2)):g}"
        NAMES[param.name] = (*NAMES.get(param.name, ()), *options, middle)
    NAMES |= {name: ("1",) for name in row.removed}
WISHES = st.lists(st.sampled_from(sorted(NAMES)), max_size=5, unique=True).flatmap(
    lambda names: st.fixed_dictionaries(
        {name: st.sampled_from((*NAMES[name] * 3, *JUNK)) for name in names}
    )
)
#: What no sentence for people has in it.
RAW = re.compile(r"\w+Error\b|Traceback|NoneType|Internal error|array\(|object at")


@pytest.fixture(scope="module")
def follow_up():
    """The parameters of a link to a table of time to event."""
    return brought(followed())


def link(kind: str, wish: dict, follow_up: dict) -> dict:
    """A wish for data of a kind."""
    data = KINDS[kind] | (follow_up if kind == "time to event" else {})
    return {**wish, **data, **{n: wish[n] for n in wish if n in ("within", "d.seed")}}


def same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        read = [json.loads(text.lower()) for text in (one, other)]
        return read[0] == read[1]
    except ValueError:
        return False


@given(st.sampled_from([*KINDS]), WISHES)
@settings(max_examples=300)
def test_a_wish_is_a_choice_and_what_was_left_out_is_said(follow_up, kind, wish):
    wish = link(kind, wish, follow_up)
    choice, left_out = links.read_url(wish)
    written = links.write_url(choice)
    again, notices = links.read_url(written)
    assert (links.write_url(again), notices) == (written, [])
    assert not [words for words in left_out if RAW.search(words)]
    start = resolve(choice).method.defaults(resolve(choice).task)
    start |= {"method": choice.method, "validation": 0.2, "test": 0.2, "seed": 0}
    for name, text in wish.items():
        if name in written and same(written[name], text):
            continue
        if name in start and same(str(start[name]), text):
            continue
        if text == "" or (name in ("threshold", "band") and same(text, "0")):
            continue  # nothing is asked for
        rest = {other: wish[other] for other in wish if other != name}
        assert links.read_url(rest)[1] != left_out, (name, text, left_out)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_any_wish_and_says_what_was_left_out(page, follow_up, monkeypatch):
    monkeypatch.setattr(cache.computed, "quick_seconds", 0.3)

    @given(st.sampled_from([*KINDS]), WISHES)
    @settings(max_examples=2 if page in WITHOUT_A_CHOICE else 6)
    def look(kind, wish):
        wish = link(kind, wish, follow_up)
        _, left_out = links.read_url(wish)
        shown = opened(wish, page)
        words = said(shown)
        if page == "explore.py":
            texts = [notice["text"] for notice in figure_of(shown)["notices"]]
            words += " ".join(texts)
        assert not RAW.search(words)
        if page not in WITHOUT_A_CHOICE:  # whose first run is that of Explore
            assert not [sentence for sentence in left_out if sentence not in words]

    look()


def test_what_was_left_out_stays_until_the_visitor_does_something():
    """The next look at a map that was being laid out took it away after a second."""
    browser = Browser(data="moons")
    session_of(browser.app).notices.append("It was left out.")
    for kind in ("poll", "knots", "poll"):
        browser.send(kind, want=[])
        assert kind == "knots" or browser.texts()[:1] == ["It was left out."]
    browser.drag(release=True, **dict([browser.slider()]))
    assert "It was left out." not in browser.texts()


ONE_CLASS_ONLY = [
    {"data": "diabetes", "threshold": "0.5"},
    {"data": "diabetes", "band": "0.5", "method": "supersparse"},
    {"data": "iris", "threshold": ".5"},
    {"data": "diabetes", "two": "1", "threshold": "nan"},
]


@pytest.mark.parametrize("query", ONE_CLASS_ONLY)
def test_a_threshold_is_of_two_classes(query, monkeypatch):
    choice, left_out = links.read_url(query)
    assert (choice.threshold, choice.band) == (0, 0)
    assert len(left_out) == 1 and re.search("threshold|band", left_out[0])
    state = SimpleNamespace(session=Session(), query_params={})
    monkeypatch.setattr(streamlit, "session_state", {"session": state.session})
    monkeypatch.setattr(visitors, "browser", lambda: "b")
    with pytest.raises(SmpcoreError, match=re.escape(left_out[0])):
        workspace.put(Saved(query), state.session.choice)
    with pytest.raises(SmpcoreError, match=re.escape(left_out[0])):
        lesson_files.read(lesson({"state": query}))


def lesson(step: dict) -> bytes:
    """A lesson file of one step."""
    step = {"title": "One", "text": "See."} | step
    about = {"title": "Mine", "minutes": 5, "aim": "To see.", "steps": [step]}
    return json.dumps(about | {"format": lesson_files.FORMAT}).encode()


def test_a_lesson_s_settings_are_those_of_its_drawing(monkeypatch):
    """They were checked against the moons, and a threshold was lost."""
    visit = Session()
    monkeypatch.setattr(streamlit, "session_state", {"session": visit})
    monkeypatch.setattr(visitors, "browser", lambda: "b")
    for data, state in (("moons", {"threshold": "0.5"}), ("sine", {"loss": "squared"})):
        context = resolve(links.read_url({"data": data, "d.n_samples": "40"})[0])
        drawn = context.dataset.with_points(context.data.X[:40], context.data.y[:40])
        division = context.data.split
        points = state_file.written_points(drawn, division)
        step = {"points": json.loads(state_file.msgspec.json.encode(points))}
        method = {"method": "supersparse"} if data == "sine" else {}
        if data == "sine":
            with pytest.raises(SmpcoreError, match="threshold"):
                lesson_files.read(lesson(step | {"state": {"threshold": "0.5"}}))
            state = method
        lesson_run.start(lesson_files.read(lesson(step | {"state": state})))
        assert visit.choice.data == MINE and not visit.notices
        chosen = resolve(visit.choice)
        assert bool(chosen.operating) == (data == "moons")
        assert chosen.fit().finished().model_ is not None
    lesson_run.leave()


def test_a_table_that_is_gone_leaves_the_rest(monkeypatch):
    monkeypatch.setattr(visitors, "browser", lambda: "b")
    query = brought(followed()) | {"seed": "3", "v.kind": "pca", "method": "smallk"}
    assert links.read_url(query)[1] == []
    table_store.delete(query["mine"])
    choice, left_out = links.read_url(query)
    assert (choice.data, choice.seed, choice.method) == ("moons", 3, "smallk")
    assert "not on the server" in left_out[0] and "v.kind" in left_out[1]
