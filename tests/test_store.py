"""The keyed store: owners, room, time, and work that is made or under way."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from pages.work import store
from pages.work.store import Store
from pages.work.tasks import Task


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    clock = SimpleNamespace(now=0.0)
    fake = SimpleNamespace(monotonic=lambda: clock.now, sleep=time.sleep)
    monkeypatch.setattr(store, "time", fake)
    return clock


def test_a_value_is_found_by_its_owner_only():
    here = Store()
    here.put("key", 1, "a")
    assert here.get("key", "a") == 1
    assert here.get("key", "b") is None and here.get("key") is None
    here.pop("key", "b")
    here.pop("other", "a")
    assert here.forget("b") == [] and here.get("key", "a") == 1
    here.put("key", 2)
    assert here.forget("a") == [1] and here.values() == [2]


def test_what_was_used_last_stays_where_there_is_no_room():
    dropped = []
    here = Store(3, dropped=dropped.append)
    for number in range(3):
        here.put(number, str(number))
    assert here.get(0) == "0"
    here.put(3, "3")
    assert dropped == ["1"]
    here.put(3, "three")
    assert dropped == ["1", "3"] and sorted(here.values()) == ["0", "2", "three"]


def test_room_is_made_by_who_has_too_much_and_then_by_who_has_most():
    here = Store(10, most_owned=6, size=len)
    here.put(1, "aaa", "a")
    here.put(2, "bb", "b")
    here.put(3, "bb", "b")
    here.put(4, "bbb", "b")
    assert here.get(2, "b") is None, "b has more than it may"
    here.put(5, "ccc", "c")
    assert here.get(3, "b") is None and here.get(4, "b") and here.get(1, "a")


def test_a_value_goes_in_time_after_its_last_use(clock):
    dropped = []
    here = Store(seconds=10.0, dropped=dropped.append)
    here.put("one", 1)
    here.put("two", 2, "b")
    clock.now = 8.0
    assert here.get("one") == 1 and here.seconds_left("two", "b") == 2.0
    clock.now = 11.0
    assert here.seconds_left("two", "b") == 0.0 and here.seconds_left("two") == 0.0
    assert here.get("two", "b") is None and dropped == [2]
    clock.now = 19.0
    assert here.get_or_make("one", lambda: 3) == 3
    assert dropped == [2, 1] and here.sweep() == 0
    clock.now = 30.0
    assert here.sweep() == 1 and not here._owned


def test_nothing_is_kept_of_what_fails_and_none_is_a_value():
    here, made = Store(), []

    def fails():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        here.get_or_make("key", fails)
    for _ in range(2):
        assert here.get_or_make("key", lambda: made.append(1)) is None
    assert made == [1]


def test_many_at_once_make_it_once():
    here, made, barrier = Store(), [], threading.Barrier(6)

    def make():
        time.sleep(0.1)
        return made.append(1) or object()

    def ask(_):
        barrier.wait()
        return here.get_or_make("key", make)

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(ask, range(6)))) == len(made) == 1


def test_what_is_made_while_its_owner_is_forgotten_is_not_kept():
    here = Store(seconds=60.0)

    def make():
        here.forget("a")
        here.sweep()
        return 1

    assert here.get_or_make("key", make, "a") == 1
    assert here.values() == [] and not here._owned


def test_work_under_way_stays_so_that_others_join_it():
    here, go_on = Store(2), threading.Event()
    tasks = [Task(lambda *_: go_on.wait(20.0)) for _ in range(3)]
    for number, task in enumerate(tasks):
        here.put(number, task)
    assert len(here.values()) == 3
    go_on.set()
    assert all(task.wait(20.0) for task in tasks)
    here.put(3, "done")
    assert here.values() == [tasks[2], "done"]


def test_memory_of_what_is_deleted_goes_back_to_the_system(monkeypatch):
    given = []
    monkeypatch.setattr(store, "give_back", lambda: given.append(1))
    here = Store(seconds=60.0)
    store.look()
    del given[:]
    here.put("key", "a table", "a visitor")
    store.look()
    assert not given
    here.pop("key", "a visitor")
    store.look()
    store.look()
    assert given == [1]
