"""The whole app without a browser, for the tests of single pages."""

import functools
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import streamlit
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from pages.export import boards
from pages.state import table_store
from pages.state.host import resolve
from pages.state.session import Session
from pages.ui import elements, files
from pages.work import cache, studies, study_pool, visitors, warmup
from smpcore import Dataset
from smpcore.datasets import make_dataset
from smpcore.live import MINE, Context, Parts

# What a test puts in place of something is not there in another process.
study_pool.N_WORKERS = 0
# A file is read in the run that brings it, on a busy machine, too.
files.QUICK_SECONDS = 60.0
# A page measures no costs: the fits of later tests would wait behind compilers.
boards.available = list
# Each visit would search all installed packages for components: most of its time.
manifest_scanner.scan_component_manifests = functools.cache(
    manifest_scanner.scan_component_manifests
)
#: Pages that AppTest would run without app.py if they were the first ones of a visit.
WITHOUT_A_CHOICE = ("guide.py", "lessons.py", "papers.py")
APP = str(Path(__file__).parents[1] / "app.py")


@functools.cache
def _first_visit() -> None:
    """What begins to compile, once in a process."""
    AppTest.from_file(APP, default_timeout=120).run()


def _as_on_the_server(begin: Callable[..., None]) -> Callable[..., None]:
    """Pages run by app.py from the first: see `visitors.set_navigation`."""

    @functools.wraps(begin)
    def begun(*args: object, **options: object) -> None:
        begin(*args, **options)
        visitors.set_navigation()

    return begun


@pytest.fixture(scope="module")
def kernels():
    """Compiled, and patient: on a busy machine a fit would otherwise become a job."""
    with pytest.MonkeyPatch.context() as patch:
        begin = _as_on_the_server(PagesManager.__init__)
        patch.setattr(PagesManager, "__init__", begin)
        patch.setattr(warmup, "BACKGROUND_SECONDS", 0.0)
        patch.setattr(cache.computed, "quick_seconds", 30.0)
        _first_visit()
        while warmup.uncompiled:
            time.sleep(0.1)
        yield


def opened(
    query: dict[str, str], page: str = "explore.py", section: str = ""
) -> AppTest:
    """A page at a URL, perhaps at one of its sections, without an exception."""
    if section:
        query = query | {f"p.{page.removesuffix('.py')}_section": section}
    app = AppTest.from_file(APP, default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    if page in WITHOUT_A_CHOICE:
        app.run()
    if page != "explore.py":
        app.switch_page(f"pages/{page}")
    return sound(app.run())


def laid_out(data: Parts) -> studies.MapJob:
    """The map of a table; who began it, and was waited for, may have left it since."""
    job = studies.map_of(data)
    job.want()
    job.result()
    return job


def brought(dataset: Dataset) -> dict[str, str]:
    """A link to a table that a visitor has brought."""
    token = table_store.keep(replace(dataset, private=True))
    return {"data": MINE, "mine": token}


def priced() -> Dataset:
    """A number with a unit to predict, whose errors grow with it."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"size": draw.uniform(1, 10, 150)})
    frame["price [EUR]"] = frame["size"] * draw.uniform(8_000, 12_000, 150)
    dataset = make_dataset(frame, "prices")
    return dataset.with_roles({"price [EUR]": "target"}, task="regression")


def kept_table(token: str):
    """How a table is kept for who has no cookie; None if it is not."""
    return table_store._tables._owned.get("", {}).get(token)


_TYPES = re.compile(rb"\bnp\.(float|u?int|bool|str)\w*\(")


def sound(page: AppTest) -> AppTest:
    """The page: without an exception, its charts say what their axes are.

    No number is written as its type: ``np.float64(0.4)`` is no colour and no text.
    """
    assert not page.exception, [error.value for error in page.exception]
    for element in page.main:
        if proto := getattr(element, "proto", None):
            assert not _TYPES.search(proto.SerializeToString()), element
    for chart in page.get("plotly_chart"):
        layout = json.loads(chart.proto.spec)["layout"]
        assert [*untitled({"xaxis": {}, "yaxis": {}} | layout)] == []
    return page


def untitled(layout: dict) -> Iterator[str]:
    """Axes that are drawn without a title; panels share those at the edge."""
    for key, axis in layout.items():
        if key.startswith(("xaxis", "yaxis")) and axis.get("visible", True):
            other = "yaxis" if key[0] == "x" else "xaxis"
            across = layout.get(other + axis.get("anchor", "x")[1:], {})
            is_at_the_edge = across.get("domain", [0])[0] == 0
            # Small charts of one kind are given "" in as many words.
            if is_at_the_edge and axis.get("title", {}).get("text") is None:
                yield key


def said(page: AppTest, *more) -> str:
    """What the page tells its visitor, and the text of ``more`` elements."""
    elements = (*page.error, *page.warning, *page.info, *page.caption, *more)
    return " ".join(element.value for element in elements).replace("\\", "")


def words(page: AppTest) -> str:
    """All that is said, with texts and code."""
    return said(page, *page.markdown, *page.code)


def at(section: str, query: dict[str, str]) -> AppTest:
    """A section of Prototypes, without an error."""
    page = opened(query, "prototypes.py", section)
    assert not page.error, [error.value for error in page.error]
    return page


def forbidden(page: AppTest):
    """The list of features that must not be used."""
    return next(one for one in page.multiselect if "must not be used" in one.label)


def metrics(page: AppTest) -> dict[str, str]:
    """Numbers that stand alone, by name."""
    return {metric.label: metric.value for metric in page.metric}


def bring(page: AppTest, data: str | bytes, name: str = "t.csv", place: int = 0):
    """The page once it has taken a file."""
    data = data.encode() if isinstance(data, str) else data
    return sound(page.file_uploader[place].set_value((name, data, "text/csv")).run())


def sent_while_moving(monkeypatch, mount: Callable, key: str, message) -> dict:
    """Mount a component that sends values while it moves; its data, after a message."""
    mounts = []
    monkeypatch.setattr(elements, "component", lambda _: lambda **o: mounts.append(o))
    monkeypatch.setattr(streamlit, "session_state", {key: {"move": message}})
    mount()
    mounts[-1]["on_move_change"]()
    return mounts[-1]["data"]


def until(
    page: AppTest, done: Callable[[AppTest], object], seconds: float = 60
) -> AppTest:
    """Run the page again, as its own clock would, until something has happened."""
    start = time.monotonic()
    while not done(sound(page)):
        assert time.monotonic() - start < seconds, said(page)
        time.sleep(0.2)
        page.run()
    return page


def swept(page: AppTest) -> AppTest:
    """The page of trade-offs once no sweep is running."""
    return until(page, lambda page: all(b.key != "sweep_stop" for b in page.button))


def session_of(page: AppTest) -> Session:
    """What the visit of a page remembers, begun here if no run has begun it."""
    if "session" not in page.session_state:
        page.session_state["session"] = Session()
    return page.session_state["session"]


def context_of(page: AppTest) -> Context:
    """What follows from what the visit of a page has chosen."""
    return resolve(session_of(page).choice)


def has_button(page: AppTest, key: str) -> bool:
    """Whether a button is on the page."""
    return any(button.key == key for button in page.button)


def calibrated(page: AppTest) -> AppTest:
    """A page that offers it, once its model is calibrated.

    There is no button where another test has calibrated the same model.
    """
    if has_button(page, "calibrate"):
        page.button(key="calibrate").click().run()
    training = context_of(page).training_scores
    return until(page, lambda _: training.scores is not None).run()
