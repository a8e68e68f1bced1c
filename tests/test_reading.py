"""Files are read in a process of their own: its bounds, and what comes back."""

from __future__ import annotations

import io
import os
import signal
import threading
import time

import pytest

from pages.work import reading
from smpcore import SmpcoreError, read_table
from smpcore.errors import DatasetError

TABLE = b"a,b,class\n1,2.5,x\n3,4.5,y\n"


@pytest.fixture
def own_process(monkeypatch):
    """A process of the test's own, which may come to harm."""
    monkeypatch.setattr(reading, "_process", None)
    yield
    if reading._process is not None:
        reading._process.kill()


def process_of(file) -> int:
    return os.getpid()


def hold(file, seconds: float) -> None:
    time.sleep(seconds)


def take(file, n_bytes: int) -> int:
    return len(bytearray(n_bytes))


def fail(file) -> None:
    raise KeyError("nobody expects this")


def test_a_file_is_read_elsewhere_and_alike():
    there = reading.read(read_table, io.BytesIO(TABLE), "t.csv")
    assert there.digest == read_table(TABLE, "t.csv").digest
    assert reading.read(process_of, io.BytesIO(TABLE)) != os.getpid()


def test_what_is_wrong_with_a_file_is_said_and_the_process_stays():
    before = reading.read(process_of, io.BytesIO(TABLE))
    with pytest.raises(DatasetError, match="header but no rows"):
        reading.read(read_table, io.BytesIO(b"a,b"), "t.csv")
    with pytest.raises(RuntimeError, match="nobody expects this"):
        reading.read(fail, io.BytesIO(TABLE))
    assert reading.read(process_of, io.BytesIO(TABLE)) == before


def test_a_path_is_opened_there(tmp_path):
    path = tmp_path / "t.csv"
    with pytest.raises(FileNotFoundError):
        reading.read(read_table, path, path.name)
    path.write_bytes(TABLE)
    assert reading.read(read_table, path, path.name).n_samples == 2


def test_too_much_memory_is_refused_and_the_next_file_is_read(own_process):
    with pytest.raises(SmpcoreError, match="more memory than one may have"):
        reading.read(take, io.BytesIO(TABLE), reading.MEMORY_BYTES)
    assert reading.read(read_table, io.BytesIO(TABLE), "t.csv").n_samples == 2


def test_too_much_time_is_refused(own_process, monkeypatch):
    reading.read(process_of, io.BytesIO(TABLE))  # it has started
    monkeypatch.setattr(reading, "PATIENCE", 0.2)
    with pytest.raises(SmpcoreError, match="longer than 0 seconds"):
        reading.read(hold, io.BytesIO(TABLE), 60.0)


def test_a_killed_process_is_said_and_the_next_file_is_read(own_process):
    pid = reading.read(process_of, io.BytesIO(TABLE))
    threading.Timer(0.3, os.kill, [pid, signal.SIGKILL]).start()
    with pytest.raises(SmpcoreError, match="more memory"):
        reading.read(hold, io.BytesIO(TABLE), 60.0)
    assert reading.read(process_of, io.BytesIO(TABLE)) != pid


def test_the_process_goes_with_its_parent(own_process):
    reading.read(process_of, io.BytesIO(TABLE))
    reading._process.stdin.close()  # as it is where the parent has ended
    assert reading._process.wait(timeout=20) == 0
