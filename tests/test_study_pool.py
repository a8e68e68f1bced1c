"""The processes that compute studies: chosen, replaced, and gone with their parent."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pages.work import study_pool
from pages.work.sweep_jobs import SweepJob
from smpcore import load_dataset, split

ROOT = Path(__file__).parents[1]
IRIS = load_dataset("iris")


def _until(holds, seconds=60.0):
    started = time.monotonic()
    while not (found := holds()):
        assert time.monotonic() - started < seconds
        time.sleep(0.05)
    return found


def _warm():
    return _until(lambda: study_pool.executor_for(IRIS))


@pytest.fixture(scope="module", autouse=True)
def _one_process():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_pool, "N_WORKERS", 1)
        assert study_pool.executor_for(IRIS) is None  # before there is any
        study_pool.start()
        study_pool.start()  # what is there is not started again
        yield
        study_pool.end()


def _cluster(monkeypatch):
    cluster = SimpleNamespace(executor=Executor())
    monkeypatch.setattr(study_pool, "engine", lambda: cluster)
    return cluster.executor


def test_a_cluster_comes_first_and_what_is_private_stays_here(monkeypatch):
    pool = _warm()
    assert study_pool.executor_for(IRIS) is pool
    private = replace(IRIS, private=True)
    cluster = _cluster(monkeypatch)
    assert study_pool.executor_for(IRIS) is cluster
    assert study_pool.executor_for(private) is pool


def test_who_finds_it_busy_does_it_alone(monkeypatch):
    pool = _warm()
    pool.submit(time.sleep, 2.0)
    monkeypatch.setattr(study_pool, "PATIENCE", 0.1)
    assert study_pool.executor_for(IRIS) is None
    monkeypatch.setattr(study_pool, "PATIENCE", 30.0)
    assert study_pool.executor_for(IRIS) is pool


def test_ctrl_c_is_the_parents_affair():
    pool = _warm()
    pid = pool.submit(os.getpid).result()
    os.kill(pid, signal.SIGINT)
    assert pool.submit(os.getpid).result() == pid


@pytest.mark.skipif(not hasattr(os, "nice"), reason="POSIX")
def test_it_works_at_a_low_priority():
    assert _warm().submit(os.nice, 0).result() >= study_pool.NICENESS


def test_a_killed_process_is_told_and_replaced():
    before = _warm()
    job = SweepJob(IRIS, split(IRIS).train, "smp", (), 5, True)
    _until(lambda: job.n_found)
    os.kill(next(iter(before._processes)), signal.SIGKILL)
    _until(lambda: job.done)
    assert "was ended" in job.problem and "What had come is kept" in job.problem
    assert study_pool.executor_for(IRIS) is None  # and a new one begins
    assert _warm() is not before
    again = SweepJob(IRIS, split(IRIS).train, "smallk", (), 5, False)
    _until(lambda: again.done)
    assert not again.problem and again.n_found


_PARENT = """
import itertools, signal, sys, time
import numpy as np
from pages.work import study_pool
from smpcore import load_dataset
from smpcore.evaluation.tasks import running
from tests.test_study_pool import slow

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs ignore it
study_pool.N_WORKERS = 1
study_pool.start()
while (pool := study_pool.executor_for(load_dataset("iris"))) is None:
    pass
with running(slow, "rows of a visitor", np.zeros(1, dtype=np.int64), pool) as run:
    for pid in run((i,) for i in itertools.count()):
        print(pid, flush=True)
"""


def slow(shared, task):
    """A task that lasts."""
    time.sleep(0.2)
    return os.getpid()


def _is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"  # ended; whoever adopted it has not looked yet


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_goes_with_its_parent_and_leaves_no_memory(how):
    segments = {*Path("/dev/shm").iterdir()}
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    pid = int(parent.stdout.readline())
    assert _is_running(pid) and {*Path("/dev/shm").iterdir()} > segments
    parent.send_signal(how)
    parent.wait(20)
    _until(lambda: not _is_running(pid), 20.0)
    _until(lambda: {*Path("/dev/shm").iterdir()} <= segments, 20.0)
