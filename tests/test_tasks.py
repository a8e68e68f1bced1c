"""Work that visitors share: once however many start it, until the last one leaves."""

import logging
import os
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from pages.work import cache, fair_line, slots, store, tasks
from pages.work.fair_line import Client, FairLine
from pages.work.store import Store
from pages.work.tasks import Task
from smpcore import SmpcoreError, split


class Held:
    """Work that ends when it is let go, or stopped."""

    def __init__(self):
        self.begun, self.ended = 0, 0
        self.go = threading.Event()

    def __call__(self, stop, progress):
        self.begun += 1
        while not (self.go.is_set() or stop[0]):
            time.sleep(0.002)
        self.ended += 1
        return "stopped" if stop[0] else "done"


def _data(dataset):
    return cache.computed.parts(dataset, split(dataset, 0.0, 0.0))


def ended(task):
    assert task.wait(30.0)
    return task


def until(holds):
    deadline = time.monotonic() + 30.0
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_tasks_that_wait_and_run_are_counted():
    before, line = tasks.counts(), ThreadPoolExecutor(1)
    works = [Held(), Held(), Held()]
    begun = [Task(work, line=line) for work in works]
    until(lambda: works[0].begun)
    now = {state: n - before[state] for state, n in tasks.counts().items()}
    assert now == {"waiting": 2, "running": 1}
    for work, task in zip(works, begun, strict=True):
        work.go.set()
        ended(task)
    assert tasks.counts() == before
    line.shutdown()


def test_all_tasks_stop_at_a_safe_point_before_the_server_ends(monkeypatch):
    # Without those that pages of other tests have begun.
    monkeypatch.setattr(tasks, "_watched", weakref.WeakSet())
    works = [Held(), Held()]
    begun = [Task(work, line=ThreadPoolExecutor(1)) for work in works]
    until(lambda: all(work.begun for work in works))
    tasks.end_all()
    assert [ended(task).result() for task in begun] == ["stopped", "stopped"]


def test_started_by_many_at_once_it_runs_once():
    work, barrier = Held(), threading.Barrier(8)
    task = Task(work)

    def start(owner):
        barrier.wait()
        task.start(owner)

    threads = [threading.Thread(target=start, args=(f"v{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work.go.set()
    assert ended(task).result() == "done"
    assert work.begun == 1
    assert task.owners >= {f"v{i}" for i in range(8)}


def test_a_fit_that_lasts_goes_on_where_the_line_has_a_place_and_else_begins_anew(
    monkeypatch,
):
    monkeypatch.setattr(tasks, "FITS", ThreadPoolExecutor(1))
    first, second, left = Held(), Held(), Held()
    lasts = Task(first, line=tasks.QUICK)
    lasts.requeue()
    waits, nobodys = (Task(work, line=tasks.QUICK) for work in (second, left))
    assert not waits.wait(0.1) and second.begun == 1, "it began at once"
    nobodys.leave("")
    for task in waits, nobodys:
        task.requeue()
    until(lambda: second.ended and left.ended)
    assert second.ended == 1 and not waits.done, "it waits for the first"
    second.go.set()
    assert not waits.wait(0.1) and second.begun == 1
    first.go.set()
    assert ended(lasts).result() == ended(waits).result() == "done"
    assert (first.begun, second.begun, left.begun) == (1, 2, 1)


def test_small_studies_never_wait_for_large_ones_which_take_turns(monkeypatch):
    size = SimpleNamespace(private=True, frame=np.zeros(tasks.LARGE_VALUES + 1))
    monkeypatch.setattr(tasks, "LARGE_STUDIES", FairLine(1, "large"))
    held, order = Held(), []

    def large(who):
        monkeypatch.setattr(fair_line, "client", lambda: Client("here", who))
        work = Held() if order or held.begun else held
        return Task(lambda *of: (order.append(who), work(*of)), study=size)

    first = large("first")
    until(lambda: held.begun)
    more = [large("first"), large("first"), large("second")]
    small = replace_size(size, 3)
    assert ended(Task(lambda *_: "done", study=small)).result() == "done"
    for task in more:
        task.leave()
    last = large("second"), large("first")
    held.go.set()
    until(lambda: len(order) == 2)
    assert order == ["first", "second"], "whoever was not served before"
    for task in (first, *last):
        task.leave()
        ended(task)


def replace_size(dataset, n_values):
    return SimpleNamespace(**{**vars(dataset), "frame": np.zeros(n_values)})


def test_it_ends_with_the_last_owner_who_leaves():
    work = Held()
    task = Task(work)
    task.join("other")
    task.leave()
    assert not task.wait(0.2), "another one waits"
    task.leave("other")
    assert ended(task).result() == "stopped"


def test_what_was_stopped_runs_until_it_has_ended():
    """A page that took it for ended would show a result that is not there yet."""
    go = threading.Event()
    task = Task(lambda stop, progress: go.wait(30.0))
    until(task._future.running)
    task.leave()
    assert task.running
    go.set()
    assert not ended(task).running


def test_who_comes_anew_begins_what_others_have_stopped():
    """Compare showed a newcomer "Stopped." for what another visitor had left."""
    work = Held()
    task = Task(work)
    until(lambda: work.begun)
    task.leave()
    assert ended(task).result() == "stopped"
    task.join()
    assert task.done, "who pressed Stop begins nothing by looking"
    task.join("newcomer")
    work.go.set()
    assert ended(task).result() == "done" and work.begun == 2


def test_who_left_does_not_come_back_by_looking():
    work = Held()
    task = Task(work)
    task.join("other")
    task.leave()
    task.join()
    assert not task.running and not task.done
    task.start()
    assert task.running
    work.go.set()
    assert ended(task).result() == "done" and work.begun == 1


def test_nobody_needs_what_never_began():
    first, never = Held(), Held()
    ahead = [Task(first) for _ in range(tasks._N_THREADS)]
    task = Task(never)
    task.leave()
    first.go.set()
    for one in (*ahead, task):
        ended(one)
    with pytest.raises(SmpcoreError, match="before it began"):
        task.result()
    assert not never.begun


def test_a_closed_tab_leaves(monkeypatch):
    monkeypatch.setattr(tasks, "LOOK_SECONDS", 0.05)
    here = {"tab", "lost for a moment"}
    looks = []

    def is_here(owner):
        looks.append(owner)
        return owner in here and not (
            owner == "lost for a moment" and looks.count(owner) == 2
        )

    monkeypatch.setattr(tasks, "is_here", is_here)
    work, other = Held(), Held()
    monkeypatch.setattr(tasks, "visitor", lambda: "tab")
    task = Task(work)
    monkeypatch.setattr(tasks, "visitor", lambda: "lost for a moment")
    steady = Task(other, line=tasks.DOWNLOADS)
    time.sleep(0.3)
    assert not task.done and not steady.done
    here.discard("tab")
    assert ended(task).result() == "stopped"
    assert not steady.done
    other.go.set()
    ended(steady)


def test_a_tab_that_lost_its_connection_has_its_work_go_on(monkeypatch):
    """Under load it was left for good, as if Stop had been pressed."""
    work = Held()
    monkeypatch.setattr(tasks, "visitor", lambda: "tab")
    monkeypatch.setattr(tasks, "is_here", lambda owner: False)
    task = Task(work)
    until(lambda: work.begun)
    tasks._let_go({(id(task), "tab")})
    assert ended(task).result() == "stopped"
    task.join()
    assert task.running
    work.go.set()
    assert ended(task).result() == "done" and work.begun == 2
    task.join()
    assert work.begun == 2


def test_a_tab_that_is_back_begins_nothing_that_others_have_finished(monkeypatch):
    work = Held()
    monkeypatch.setattr(tasks, "visitor", lambda: "tab")
    monkeypatch.setattr(tasks, "is_here", lambda owner: owner != "tab")
    task = Task(work)
    until(lambda: work.begun)
    task.join("other")
    tasks._let_go({(id(task), "tab")})
    work.go.set()
    assert ended(task).result() == "done"
    task.join()
    assert task.done and work.begun == 1


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priorities")
def test_who_goes_through_a_large_file_steps_back():
    def priority():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def threads_of_it():
        with ThreadPoolExecutor(1) as pool:  # as blocks of rows are worked on
            return pool.submit(priority).result()

    low, usual = (line.submit(priority).result() for line in (tasks.FILES, tasks.FITS))
    assert tasks.FILES.submit(threads_of_it).result() == low > usual


def test_what_goes_wrong_is_said_and_logged(caplog):
    def refuse(stop, progress):
        raise SmpcoreError("k=0 should be 1 or more.")

    def break_down(stop, progress):
        raise ValueError("a secret of the program")

    assert ended(Task(refuse)).problem == "k=0 should be 1 or more."
    with caplog.at_level(logging.ERROR):
        task = ended(Task(break_down))
    assert "see the server log" in task.problem and "secret" not in task.problem
    assert "a secret of the program" in caplog.text
    with pytest.raises(SmpcoreError, match="see the server log"):
        task.result()


# Who computes when: jobs give way to those who drag a slider, but not for ever.


def test_live_turns_go_in_the_order_of_coming(monkeypatch):
    monkeypatch.setattr(slots, "N_LIVE", 1)
    order, threads = [], []

    def visit(number):
        with slots.interactive_slot() as ahead:
            order.append((number, ahead))

    with slots.interactive_slot():
        for number in range(5):
            threads.append(threading.Thread(target=visit, args=(number,)))
            threads[-1].start()
            until(lambda n=number: len(slots._waiting) > n)
        assert not order
    for thread in threads:
        thread.join(10.0)
    assert order == [(number, number + 1) for number in range(5)]
    with slots.interactive_slot() as ahead:
        assert ahead == 0, "the line is empty again"


def test_who_has_a_live_turn_has_it():
    @slots.interactive_slot()
    def part():
        return "drawn"

    with slots.interactive_slot():
        assert part() == "drawn"
    with pytest.raises(ZeroDivisionError), slots.interactive_slot():
        _ = 1 / 0
    assert part() == "drawn", "a turn ends however it ends"


def test_pages_look_less_often_in_a_crowd(monkeypatch):
    monkeypatch.setattr(slots, "_crowded_until", 0.0)
    monkeypatch.setattr(slots, "CROWD_SECONDS", 0.5)
    monkeypatch.setattr(slots, "N_LIVE", 1)
    assert slots.poll_interval(0.5) == 0.5

    def visit():
        with slots.interactive_slot():
            pass

    threads = [threading.Thread(target=visit) for _ in range(2)]
    with slots.interactive_slot():
        threads[0].start()
        until(lambda: len(slots._waiting) == 1)
        assert slots.poll_interval(0.5) == 0.5, "two are no crowd"
        threads[1].start()
        until(lambda: len(slots._waiting) == 2)
        assert slots.poll_interval(0.5) == 2.0
    time.sleep(0.6)
    assert slots.poll_interval(0.5) == 0.5
    for thread in threads:
        thread.join(10.0)


def test_stop_flags_rise_when_they_are_due_and_in_any_order():
    began, own = time.monotonic(), np.zeros(1, dtype=np.int64)
    with slots.stopped_after(60.0) as late, slots.stopped_after(0.05) as early:
        until(lambda: early[0])
        assert time.monotonic() - began > 0.04 and not late[0]
        with slots.stopped_after(0.05, own) as later:
            until(lambda: own[0])
            assert later is own and own[0] == early[0] == 1 and not late[0]
    with slots.stopped_after(60.0, own):
        assert own[0], "it stays up"


def test_fits_that_end_in_time_leave_nothing_behind():
    with slots.stopped_after(0.0) as at_once:
        assert at_once[0]
    with slots.stopped_after(0.01):
        pass
    n_threads = threading.active_count()
    for _ in range(100):
        with slots.stopped_after(0.01) as flag:
            assert threading.active_count() == n_threads
    time.sleep(0.05)
    assert not flag[0] and not slots._due


# The keyed store: owners, room, time, and work that is made or under way.


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
