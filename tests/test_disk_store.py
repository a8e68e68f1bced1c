"""Work that outlives its server: encrypted, its visitor's only, whole or not there."""

import io
import multiprocessing
import random
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import streamlit

from pages.state import table_store
from pages.state.lesson_files import Lesson
from pages.state.session import Session
from pages.state.undo import Step
from pages.ui import workspace
from pages.work import classes, disk_store, visitors
from pages.work.disk_store import DiskStore
from pages.work.store import Store
from smpcore import SmpcoreError, read_table, split
from smpcore.live import Choice
from tests import PATIENCE
from tests.test_lessons import SHIPPED

KEY, ANOTHERS = "k" * 43, "a" * 43


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A store of this process, for a visitor with a key."""
    monkeypatch.setenv("SPE_STORE", str(tmp_path))
    begin_anew = disk_store.opened.cache_clear
    begin_anew()
    monkeypatch.setattr(visitors, "key", lambda: KEY)
    monkeypatch.setattr(table_store._tables, "_owned", {})
    yield tmp_path
    begin_anew()


def bytes_in(folder) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def another_server(folder, monkeypatch) -> None:
    """Go on as one that has only the folder."""
    disk_store.opened().flush()
    disk_store.opened.cache_clear()
    monkeypatch.setattr(table_store._tables, "_owned", {})


def table(n_rows: int = 30):
    rows = "".join(f"{i},Zanzibar {i % 3},{'xy'[i % 2]}\n" for i in range(n_rows))
    return read_table(io.BytesIO(f"age,place,label\n{rows}".encode()), "secret.csv")


def series():
    names = [f"t{i}" for i in range(4)]
    rows = "".join(f"{'pq'[i % 2]},{i},{i + 1},{i % 3},2\n" for i in range(12))
    file = io.BytesIO(f"label,{','.join(names)}\n{rows}".encode())
    return read_table(file, "s.csv", series="rows")


TABLES = {
    "categories": table,
    "cleaned": lambda: table().with_roles(
        kinds={"age": "number"}, cleaning=[{"column": "age", "low": 3.0}]
    ),
    "no target in some rows": lambda: read_table(
        io.BytesIO(b"a,b,y\n" + b"1,2.5,p\n2,,q\n3,1.5,\n" * 9), "t.csv"
    ),
    "series": series,
    "drawn": lambda: replace(table(), private=True, open_test=True),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_stored_table_is_the_same_and_takes_no_more_memory(name, folder, monkeypatch):
    before = TABLES[name]()
    division = split(before) if name == "drawn" else None
    token = table_store.keep(before, division)
    another_server(folder, monkeypatch)
    after, parts = table_store.visit(token)
    assert after is not before and after.digest == before.digest
    assert after.whole.equals(before.whole) and after.n_bytes <= before.n_bytes * 1.1
    for one in ("reading", "cleaning", "notices", "outcome", "numbers", "test_rows"):
        np.testing.assert_equal(getattr(after, one), getattr(before, one))
    assert (parts is None) == (division is None)
    assert parts is None or parts.key == division.key


def test_nothing_can_be_read_without_the_key(folder, monkeypatch):
    token = table_store.keep(table())
    another_server(folder, monkeypatch)
    stored = bytes_in(folder)
    assert len(stored) > 1000
    for word in ("Zanzibar", "age", "secret.csv", "PAR1", token, KEY):
        assert word.encode() not in stored
    monkeypatch.setattr(visitors, "key", lambda: ANOTHERS)
    assert table_store.find(token) is None
    monkeypatch.setattr(visitors, "key", lambda: "")
    assert table_store.find(token) is None
    monkeypatch.setattr(visitors, "key", lambda: KEY)
    assert table_store.find(token).dataset.digest == table().digest


def test_an_item_in_the_place_of_another_is_not_taken(folder):
    store = disk_store.opened()
    for name in ("one", "two"):
        store.put(KEY, name, name.encode)
    store.flush()
    assert store.get(KEY, "one") == b"one"
    assert store.get(KEY, "one") == b"one"
    (one,), (two,) = store._database.execute("SELECT sealed FROM content").fetchall()
    words = "UPDATE content SET sealed = CASE sealed WHEN ? THEN ? ELSE ? END"
    store._database.execute(words, (one, two, one))
    assert store.get(KEY, "one") is None is store.get(KEY, "two")


def test_delete_takes_rows_and_salts_out_of_the_files_at_once(folder):
    store = disk_store.opened()
    kept, gone = table_store.keep(table()), table_store.keep(table(40))
    store.flush()
    salts = dict(store._database.execute("SELECT id, salt FROM item"))
    sealed = dict(
        store._database.execute("SELECT id, substr(sealed, 9, 32) FROM content")
    )
    table_store.delete(gone)
    item = disk_store._item(KEY, gone)
    assert salts[item] not in bytes_in(folder) and sealed[item] not in bytes_in(folder)
    assert disk_store._item(KEY, kept) in bytes_in(folder)
    table_store.keep(table(50), token=kept)  # on its way when all is deleted
    disk_store.delete()
    store.flush()
    assert store._database.execute("SELECT count(*) FROM content").fetchone() == (0,)
    assert not any(
        one in bytes_in(folder) for one in [*salts.values(), *sealed.values()]
    )


def test_what_nobody_uses_expires_and_the_oldest_makes_room(folder, monkeypatch):
    store, clock = disk_store.opened(), [1000.0]
    monkeypatch.setattr(disk_store.time, "time", lambda: clock[-1])
    monkeypatch.setattr(disk_store, "MOST_OWNED", 350)
    monkeypatch.setattr(disk_store, "MOST", 500)

    def put(key, name, size=100):
        clock.append(clock[-1] + 1)
        store.put(key, name, lambda: bytes(size))
        store.flush()

    def here():
        every = [(key, name) for key in (KEY, ANOTHERS) for name in "abcd"]
        ids = {row[0] for row in store._database.execute("SELECT id FROM item")}
        return [name for key, name in every if disk_store._item(key, name) in ids]

    for name in "abc":
        put(KEY, name, 80)
    assert here() == ["a", "b", "c"]
    store.has(KEY, "a")
    put(KEY, "d")
    assert here() == ["a", "c", "d"], "b was used least"
    put(ANOTHERS, "a", 300)
    assert here() == ["a"], "of all there was too much"
    put(KEY, "b", 400)
    assert here() == ["a"], "larger than what one visitor may have"
    clock.append(clock[-1] + disk_store.KEEP_SECONDS + 1)
    store.flush()
    assert here() == []


def write_on(folder, is_ready) -> None:
    """Write two items that belong together, again and again, until it is killed."""
    store, number = DiskStore(folder), 0
    is_ready.set()
    while True:
        number += 1
        content = number.to_bytes(8, "big") * 20_000
        store.put(KEY, "table", partial(bytes, content))
        store.put(KEY, "visit", partial(bytes, content[:8]))
        store.flush()
        if number % 40 == 0:
            store.delete(KEY)


def test_a_server_that_is_killed_leaves_nothing_half_written(tmp_path, request):
    whole, draw = request.config.getoption("--all"), random.Random(1)
    processes = multiprocessing.get_context("fork")  # others would load Streamlit
    numbers = []
    for _ in range(200 if whole else 10):
        is_ready = processes.Event()
        server = processes.Process(target=write_on, args=(tmp_path, is_ready))
        server.start()
        assert is_ready.wait(PATIENCE)
        time.sleep(draw.uniform(0, 0.15))
        server.kill()
        server.join()
        store = DiskStore(tmp_path)
        assert store._database.execute("PRAGMA quick_check").fetchone() == ("ok",)
        content, number = store.get(KEY, "table"), store.get(KEY, "visit")
        assert content == (number and number * 20_000)
        numbers.append(number)
        assert b"k" * 43 not in bytes_in(tmp_path)
        store.close()
    assert len({*numbers}) > 3


def test_two_servers_share_what_a_visitor_has(folder, monkeypatch):
    first = disk_store.opened()
    token = table_store.keep(table())
    another_server(folder, monkeypatch)
    second, here = disk_store.opened(), dict(table_store._tables._owned)
    assert table_store.visit(token).dataset.digest == table().digest
    table_store.keep(table(50), token=token)
    second.flush()
    monkeypatch.setattr(table_store._tables, "_owned", here)  # back on the first one
    monkeypatch.setattr(disk_store, "opened", lambda: first)
    table_store._tables.put(token, table_store.Table(table(), None), visitors.owner())
    table_store.look_again([token])
    assert table_store.visit(token).dataset.digest == table(50).digest
    second.delete(KEY)
    table_store.look_again([token])
    assert table_store.find(token) is None


def test_undo_and_a_class_come_back_to_who_had_them(folder, monkeypatch):
    def visit():
        state = Session()
        monkeypatch.setattr(streamlit, "session_state", {"session": state})
        monkeypatch.setattr(workspace, "_files", Store())
        monkeypatch.setattr(classes, "_classes", Store())
        return state

    monkeypatch.setattr(visitors, "browser", lambda: "b")
    before = visit()
    before.classroom = classes.start(SHIPPED["02-fusion.json"], "b")
    points = table(), split(table())
    values = {"forbidden": (("a", "b"), ("c",)), "lam": 0.5}
    before.live.undo = [Step("mu", Choice(values=values), points, moved=True)]
    workspace.keep(before.choice)
    another_server(folder, monkeypatch)
    after = visit()
    workspace._come_back(workspace._last_visit(), after.choice)
    (step,) = after.live.undo
    assert (step.what, step.choice, step.moved) == ("mu", Choice(values=values), True)
    assert step.points[0].digest == points[0].digest
    assert step.points[1].key == points[1].key
    assert after.classroom is not before.classroom
    assert after.classroom.link_code == before.classroom.link_code
    workspace.forget()
    assert workspace._last_visit() is None
    other = visit()
    workspace.keep(replace(other.choice, data="iris"))
    workspace._come_back(workspace._last_visit(), other.choice)
    assert not other.live.undo and other.classroom is None


def as_new_server(folder, monkeypatch, name):
    """A store and memory of its own for the classes of the folder."""
    store = DiskStore(folder)
    memory = Store(dropped=classes.Classroom.forget)

    def serve(tab):
        monkeypatch.setattr(disk_store, "opened", lambda: store)
        monkeypatch.setattr(classes, "_classes", memory)
        monkeypatch.setattr(classes, "_SERVER", name)
        monkeypatch.setattr(classes, "visitor", lambda: tab)
        monkeypatch.setattr(classes, "is_here", lambda one: one.startswith(name))

    return serve


def test_a_class_outlives_its_server_and_is_shared(folder, monkeypatch):
    """Votes, steps and the lesson of each server are those of the other."""
    first, second = (as_new_server(folder, monkeypatch, name) for name in "AB")
    first("A0")
    here = classes.start(SHIPPED["02-fusion.json"], "teacher")
    one = here.join("browser 1")
    disk_store.opened().flush()
    second("B0")
    there = classes.find(here.code.lower(), Lesson)
    two = there.join("browser 2")
    assert there is not here and there.lesson == here.lesson
    there.move(1, classes.FIRST_VOTE)
    assert there.take(two, there.lesson, 1, 5.0)
    first("A1")
    before = here.changes
    assert (here.at, here.stage(1), here.counts().n_here) == (1, classes.FIRST_VOTE, 2)
    assert here.take(one, here.lesson, 1, 7.0)
    here.close_in(30)
    assert here.changes > before
    second("B1")
    assert there.counts().answers == {1: [7.0, 5.0]}
    assert two.answers == {1: 5.0} and len(there.votes) == 2
    assert 0 < there.seconds_left <= 30
    stored = bytes_in(folder)
    for word in (here.code, here.link_code, "Fusion", one.name, "browser 1"):
        assert word.encode() not in stored
    third = as_new_server(folder, monkeypatch, "C")  # all were killed
    third("C0")
    again = classes.find(here.link_code, Lesson)
    later = time.time() + 60
    monkeypatch.setattr(classes.time, "time", lambda: later)
    assert again.counts().n_here == 0
    assert again.join("browser 1").answers == {1: 7.0}
    assert again.counts().n_here == 1
    classes.end(again)
    first("A2")
    assert here.changes and here.has_ended
    with pytest.raises(SmpcoreError, match="no class with this code"):
        classes.find(here.link_code, Lesson)
