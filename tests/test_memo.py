"""What is computed once, and what goes with a visitor's table."""

import gc
import io
import threading
import time

import pytest

from pages.state import table_store
from pages.state.choice import MINE, Choice
from pages.state.context import resolve
from pages.work import cache, fits, store, tasks, visitors
from pages.work.cache import Parts
from smpcore import Dataset, read_table

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
    monkeypatch.setattr(table_store._tables, "_owned", {})
    monkeypatch.setattr(visitors, "browser", lambda: "this one")


def test_equal_rows_of_two_visitors_share_nothing():
    one, other = upload(), upload()
    assert one.digest == other.digest
    found = [cache.split_of(data, 0.2, 0.2, 0) for data in (one, one, other)]
    assert found[0] is found[1] is not found[2]
    for data in (one, other):
        cache.forget(data)


def test_after_delete_nothing_is_left_of_a_table(browser):
    before = made_from_tables()
    token = table_store.keep(upload())
    choice = Choice(data=MINE, token=token, forbidden=("x",))
    data = resolve(choice).data
    assert fits.fit(data, choice.method, resolve(choice).values).finished()
    assert fits.fit(resolve(Choice(data=MINE, token=token)).data, "smp", {}).finished()
    assert made_from_tables() >= before + 4
    del data
    table_store.delete(token)
    assert made_from_tables() == before


def test_delete_finds_what_was_made_of_what_there_was_no_room_for(browser):
    before = made_from_tables()
    names = [f"x{i}" for i in range(9)]
    rows = "\n".join(",".join(str(i * k % 7) for k in range(1, 10)) for i in range(80))
    text = ",".join(names) + "\n" + rows
    token = table_store.keep(read_table(text.encode(), "t.csv"))
    for name in names[:8]:  # more than are kept of one table
        table = cache.forbidding(table_store.visit(token)[0], (name,))
        cache.parts(table, cache.split_of(table, 0.2, 0.2, 0))
    del table
    table_store.delete(token)
    assert made_from_tables() == before


def test_delete_ends_what_is_under_way(browser):
    token = table_store.keep(upload())
    data = resolve(Choice(data=MINE, token=token)).data
    begun = threading.Event()

    @cache.memo(4)
    def study(dataset):
        def work(stop, progress):
            begun.set()
            while not stop[0]:
                time.sleep(0.002)

        return tasks.Task(work, study=dataset)

    task = study(data.dataset)
    assert begun.wait(10.0)
    table_store.delete(token)
    assert task.wait(10.0)


def test_an_idle_server_forgets_in_time(browser, monkeypatch):
    before = made_from_tables()
    monkeypatch.setattr(store, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(table_store._tables, "seconds", 0.2)
    store._watch.cache_clear()
    token = table_store.keep(upload())
    assert resolve(Choice(data=MINE, token=token)).data
    deadline = time.monotonic() + 20
    while table_store._tables._owned and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.1)
    assert not table_store._tables._owned
    assert made_from_tables() == before


def test_what_a_new_version_of_a_table_replaces_is_forgotten(browser):
    before = made_from_tables()
    token = table_store.keep(upload())
    assert resolve(Choice(data=MINE, token=token)).data
    assert table_store.keep(upload(), token=token) == token
    assert made_from_tables() == before + 1
    table_store.delete(token)
