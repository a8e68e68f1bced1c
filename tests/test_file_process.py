"""Files are read in processes of their own: bounds, turns, and what comes back."""

from __future__ import annotations

import io
import os
import signal
import threading
import time

import numpy as np
import pytest

from pages.work import file_process
from pages.work.fair_line import Client, FairLine
from pages.work.tasks import Task
from smpcore import SmpcoreError, read_table
from smpcore.datasets import read_frame
from smpcore.errors import DatasetError

TABLE = b"a,b,class\n1,2.5,x\n3,4.5,y\n"


@pytest.fixture(scope="module")
def _line():
    return FairLine(1, "test reader"), file_process.ReaderPool(1)


@pytest.fixture
def line(_line, monkeypatch):
    """One process of the tests' own, which may come to harm."""
    line, readers = _line
    monkeypatch.setattr(file_process, "LINE", line)
    monkeypatch.setattr(file_process, "READERS", readers)
    return line


def of(name: str) -> Client:
    """A visitor with an address of its own."""
    return Client(f"address of {name}", name)


def process_of(file) -> int:
    return os.getpid()


def hold(file, seconds: float) -> None:
    time.sleep(seconds)


def compute(file, seconds: float) -> None:
    while time.process_time() < seconds:
        pass


def take(file, n_bytes: int) -> int:
    return len(bytearray(n_bytes))


def fail(file) -> None:
    raise KeyError("nobody expects this")


def table() -> io.BytesIO:
    return io.BytesIO(TABLE)


def test_a_file_is_read_elsewhere_and_alike():
    there = file_process.read(read_table, table(), "t.csv")
    assert there.digest == read_table(TABLE, "t.csv").digest
    assert file_process.read(process_of, table()) != os.getpid()


def test_what_is_wrong_with_a_file_is_said_and_the_process_stays(line):
    before = file_process.read(process_of, table())
    with pytest.raises(DatasetError, match="one column, or no rows"):
        file_process.read(read_table, io.BytesIO(b"a,b"), "t.csv")
    with pytest.raises(RuntimeError, match="nobody expects this"):
        file_process.read(fail, table())
    assert file_process.read(process_of, table()) == before


def test_a_table_too_wide_for_pages_is_refused_before_it_comes_back(line, monkeypatch):
    wide = ",".join(["0.5"] * 30_000) + "\n"
    with pytest.raises(SmpcoreError, match=r"has 30,001 columns, a page shows 30,000"):
        file_process.read(read_frame, io.BytesIO((f"1,{wide}" * 2).encode()), "t.csv")


def test_a_path_is_opened_there(tmp_path):
    path = tmp_path / "t.csv"
    with pytest.raises(FileNotFoundError):
        file_process.read(read_table, path, path.name)
    path.write_bytes(TABLE)
    assert file_process.read(read_table, path, path.name).n_samples == 2


def test_too_much_memory_is_refused_and_the_next_file_is_read(line):
    with pytest.raises(SmpcoreError, match="more memory than one may have"):
        file_process.read(take, table(), 10 * 10**9)
    assert file_process.read(read_table, table(), "t.csv").n_samples == 2


def test_too_much_time_is_refused(line, monkeypatch):
    monkeypatch.setattr(file_process, "PATIENCE", 0.2)
    with pytest.raises(
        file_process.NotReadError, match="longer than 0 seconds of a pr"
    ):
        file_process.read(compute, table(), 60.0)


def test_a_file_is_not_refused_for_what_the_server_does_meanwhile(line, monkeypatch):
    file_process.read(process_of, table())  # it has started
    monkeypatch.setattr(file_process, "PATIENCE", 0.3)
    assert file_process.read(hold, table(), 1.0) is None
    monkeypatch.setattr(file_process, "SLOWEST", 2.0)
    with pytest.raises(
        file_process.NotReadError, match="longer than 0 seconds of a pr"
    ):
        file_process.read(hold, table(), 60.0)


def test_while_others_wait_a_file_has_less_time(line, monkeypatch):
    monkeypatch.setattr(file_process, "CROWDED_PATIENCE", 0.2)
    work = file_process.reading_of(compute, table(), 60.0)
    held = line.submit(work, np.zeros(1, np.int64), np.zeros(1), owner=of("a"))
    time.sleep(0.5)
    assert not held.done(), "nobody waits"
    next_of_a = line.submit(len, "of the same visitor", owner=of("a"))
    time.sleep(0.3)
    assert not held.done(), "nobody else waits"
    assert line.submit(len, "", owner=of("b")).result(10) == 0
    with pytest.raises(SmpcoreError, match="and others wait for theirs; take"):
        held.result(0)
    next_of_a.result(10)


def test_a_killed_process_is_said_and_the_next_file_is_read(line):
    pid = file_process.read(process_of, table())
    threading.Timer(0.3, os.kill, [pid, signal.SIGKILL]).start()
    with pytest.raises(SmpcoreError, match="more memory"):
        file_process.read(hold, table(), 60.0)
    assert file_process.read(process_of, table()) != pid


def test_reading_that_nobody_wants_is_ended_and_the_next_file_is_read(line):
    task = Task(file_process.reading_of(hold, table(), 60.0), line=line)
    while not task.progress[0]:
        time.sleep(0.01)
    task.leave()
    assert task.wait(10) and "was cancelled" in task.problem
    assert file_process.read(read_table, table(), "t.csv").n_samples == 2


def test_the_process_goes_with_its_parent():
    process = file_process.READERS._start()
    process.stdin.close()  # as it is where the parent has ended
    assert process.wait(timeout=60) == 0


def test_who_had_least_in_the_last_minute_is_next(monkeypatch):
    line, order, go = FairLine(1, "fake"), [], threading.Event()
    first = line.submit(go.wait, 10, owner=of("a"))
    rest = [line.submit(order.append, owner, owner=of(owner)) for owner in "aaabcb"]
    time.sleep(0.05)
    go.set()
    for future in (first, *rest):
        future.result(10)
    assert "".join(order) == "bcbaaa"


def test_what_was_had_longer_ago_than_a_minute_counts_no_more(monkeypatch):
    line = FairLine(1, "fake")
    now = time.monotonic()
    line._served += [(of("a"), now - 90.0, now - 70.0), (of("b"), now - 65, now - 59)]
    taken = line._taken()
    assert taken(of("a")) == (0.0, 0.0) and len(line._served) == 1
    assert taken(of("b")) == pytest.approx((1.0, 1.0), abs=0.1)


def test_six_cookies_of_one_address_leave_a_newcomer_a_thread():
    """However many tabs hold the others with files that take long."""
    line, go = FairLine(3, "fake"), threading.Event()
    held = [line.submit(go.wait, 10, owner=Client("x", name)) for name in "abcdef"]
    newcomer = Client("y", "new")
    assert line.submit(len, "1", owner=newcomer).result(5) == 1
    assert sum(future.running() for future in held) == 2
    third = line.submit(go.wait, 10, owner=Client("z", "other"))
    waiting = line.submit(len, "12", owner=newcomer)
    while not third.running():
        time.sleep(0.001)
    assert line.is_in_the_way(Client("x", "a"))
    go.set()
    assert waiting.result(5) == 2


def test_no_visitor_holds_both_threads():
    line, go = FairLine(2, "fake"), threading.Event()
    held = [line.submit(go.wait, 10, owner=of("a")) for _ in range(3)]
    assert line.submit(len, "b", owner=of("b")).result(10) == 1
    assert sum(future.running() for future in held) == 1
    go.set()
    assert all(future.result(10) for future in held)


def test_one_of_two_is_asked_to_end_and_nobody_for_who_has_left():
    line, go = FairLine(2, "fake"), threading.Event()
    for owner in "ab":
        line.submit(go.wait, 10, owner=of(owner))
        while of(owner) not in line._running:
            time.sleep(0.001)
    in_the_way = [line.is_in_the_way(of(owner)) for owner in "ab"]
    assert in_the_way == [False, False]
    waiting = line.submit(len, "c", owner=of("c"))
    assert [line.is_in_the_way(of(owner)) for owner in "ab"] == [True, False]
    waiting.cancel()
    assert [line.is_in_the_way(of(owner)) for owner in "ab"] == [False, False]
    go.set()


def test_a_thread_of_no_line_does_nobodys_work():
    line = FairLine(1, "fake")
    assert line.owner is None and not line.is_in_the_way(line.owner)
    assert line.submit(lambda: line.owner, owner=of("me")).result() == of("me")
