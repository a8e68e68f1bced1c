"""Work that visitors share: once however many start it, until the last one leaves."""

import logging
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pages.work import cache, tasks
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
    return cache.parts(dataset, split(dataset, 0.0, 0.0))


def ended(task):
    assert task.wait(30.0)
    return task


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
    until = time.monotonic() + 30.0
    while not (second.ended and left.ended) and time.monotonic() < until:
        time.sleep(0.002)
    assert second.ended == 1 and not waits.done, "it waits for the first"
    second.go.set()
    assert not waits.wait(0.1) and second.begun == 1
    first.go.set()
    assert ended(lasts).result() == ended(waits).result() == "done"
    assert (first.begun, second.begun, left.begun) == (1, 2, 1)


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
    while not task._future.running():
        time.sleep(0.002)
    task.leave()
    assert task.running
    go.set()
    assert not ended(task).running


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


def test_what_everybody_left_begins_anew_for_who_starts_it():
    work = Held()
    task = Task(work)
    task.leave()
    task.start("other")
    work.go.set()
    assert ended(task).result() == "done"
