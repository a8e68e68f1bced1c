"""What is computed once, and what goes with a visitor's table."""

import gc
import io
import threading
import time
from dataclasses import replace

import pytest

from pages.state import table_store
from pages.state.host import resolve
from pages.work import cache, store, tasks, visitors
from smpcore import Dataset, read_table
from smpcore.live import MINE, Choice, Parts

ROWS = "\n".join(f"{i % 7},{(i * 3) % 5},{'ab'[i % 7 > 3]}" for i in range(80))


def upload():
    return read_table(io.BytesIO(f"x,y,label\n{ROWS}".encode()), "t.csv")


def made_from_tables():
    """What is alive of visitors' tables."""
    gc.collect()
    found = gc.get_objects()
    tables = [o for o in found if type(o) is Dataset and o.private]
    return len(tables) + sum(type(o) is Parts and o.dataset.private for o in found)


@pytest.fixture
def browser(monkeypatch):
    """A visitor of whose tables nothing is left in the end."""
    monkeypatch.setattr(table_store._tables, "_owned", {})
    monkeypatch.setattr(visitors, "browser", lambda: "this one")
    before = made_from_tables()
    yield
    assert made_from_tables() == before


@pytest.fixture
def choice(browser):
    """A table of this visitor, from which parts were made."""
    choice = Choice(data=MINE, token=table_store.keep(upload()))
    assert resolve(choice).data
    return choice


def test_equal_rows_of_two_visitors_share_nothing():
    one, other = upload(), upload()
    assert one.digest == other.digest
    found = [cache.computed.split_of(data, 0.2, 0.2, 0) for data in (one, one, other)]
    assert found[0] is found[1] is not found[2]
    for data in (one, other):
        cache.forget(data)


def test_after_delete_nothing_is_left_of_a_table(choice):
    before = made_from_tables()
    assert resolve(replace(choice, forbidden=("x",))).fit().finished()
    assert resolve(choice).fit().finished()
    assert made_from_tables() >= before + 2
    table_store.delete(choice.token)


def test_delete_finds_what_was_made_of_what_there_was_no_room_for(browser):
    names = [f"x{i}" for i in range(9)]
    rows = "\n".join(",".join(str(i * k % 7) for k in range(1, 10)) for i in range(80))
    text = ",".join(names) + "\n" + rows
    token = table_store.keep(read_table(text.encode(), "t.csv"))
    for name in names[:8]:  # more than are kept of one table
        table = cache.computed.forbidding(table_store.visit(token)[0], (name,))
        cache.computed.parts(table, cache.computed.split_of(table, 0.2, 0.2, 0))
    del table
    table_store.delete(token)


def test_delete_ends_what_is_under_way(choice):
    begun = threading.Event()

    @cache.memo(4)
    def study(dataset):
        def work(stop, progress):
            begun.set()
            while not stop[0]:
                time.sleep(0.002)

        return tasks.Task(work, study=dataset)

    task = study(resolve(choice).data.dataset)
    assert begun.wait(10.0)
    table_store.delete(choice.token)
    assert task.wait(10.0)


def test_an_idle_server_forgets_in_time(choice, monkeypatch):
    monkeypatch.setattr(store, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(table_store._tables, "seconds", 0.2)
    store._watch.cache_clear()
    table_store.keep(upload())
    deadline = time.monotonic() + 20
    while table_store._tables._owned and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.1)
    assert not table_store._tables._owned


def test_what_a_new_version_of_a_table_replaces_is_forgotten(choice):
    before = made_from_tables()
    assert table_store.keep(upload(), token=choice.token) == choice.token
    assert made_from_tables() < before, "the table alone, and no parts of it"
    table_store.delete(choice.token)
