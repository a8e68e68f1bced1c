"""The processes that compute studies: chosen, replaced, and gone with their parent."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pages.work import cache, study_pool
from pages.work.studies import CandidateJob, Entry, SweepJob
from smpcore import load_dataset, split
from smpcore.datasets import make_dataset

ROOT = Path(__file__).parents[1]
IRIS = load_dataset("iris")


def _until(holds, seconds=60.0):
    started = time.monotonic()
    while not (found := holds()):
        assert time.monotonic() - started < seconds
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module", autouse=True)
def _one_process(plain_main):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_pool, "N_WORKERS", 1)
        with study_pool.executor_for(IRIS) as executor:
            assert executor is None  # before they branch off quickly
        study_pool.start()
        yield
        patch.setattr(study_pool, "_ready", False)


@pytest.fixture
def pool():
    with study_pool.executor_for(IRIS) as executor:
        yield executor


def test_a_cluster_comes_first_and_what_is_private_stays_here(monkeypatch):
    cluster = SimpleNamespace(executor=Executor())
    monkeypatch.setattr(study_pool, "engine", lambda: cluster)
    with study_pool.executor_for(IRIS) as executor:
        assert executor is cluster.executor
    with study_pool.executor_for(replace(IRIS, private=True)) as executor:
        assert isinstance(executor, ProcessPoolExecutor)


def test_a_study_has_processes_of_its_own_that_end_with_it():
    with study_pool.executor_for(IRIS) as first, study_pool.executor_for(IRIS) as other:
        pids = [pool.submit(os.getpid).result() for pool in (first, other)]
        assert len({*pids, os.getpid()}) == 3
        assert all(map(_is_running, pids))
    _until(lambda: not any(map(_is_running, pids)))


@pytest.mark.skipif(not study_pool._branching, reason="POSIX")
def test_it_branches_off_from_one_that_is_warm():
    parents = set()
    for _ in range(3):
        with study_pool.executor_for(IRIS) as executor:
            worked = executor.submit(time.process_time).result()
            parents.add(executor.submit(os.getppid).result())
        assert worked < 0.5, "its own seconds; to load everything takes some"
    assert len(parents) == 1 and os.getpid() not in parents


def test_ctrl_c_is_the_parents_affair(pool):
    pid = pool.submit(os.getpid).result()
    os.kill(pid, signal.SIGINT)
    assert pool.submit(os.getpid).result() == pid


@pytest.mark.skipif(not hasattr(os, "nice"), reason="POSIX")
def test_it_works_at_a_low_priority(pool):
    assert pool.submit(os.nice, 0).result() >= study_pool.NICENESS


def test_a_killed_process_ends_its_own_study_alone(pool):
    job = SweepJob(cache.computed.parts(IRIS, split(IRIS)), "smp", (), 5, True)
    _until(lambda: job.n_done)
    (theirs,) = {process.pid for process in active_children()} - {
        pool.submit(os.getpid).result()
    }
    os.kill(theirs, signal.SIGKILL)
    _until(lambda: job.done)
    assert "was ended" in job.problem and "What had come is kept" in job.problem
    assert pool.submit(abs, -1).result() == 1
    again = SweepJob(cache.computed.parts(IRIS, split(IRIS)), "smallk", (), 5, False)
    _until(lambda: again.done)
    assert not again.problem and again.n_done


def test_a_fit_that_hears_no_stop_ends_with_its_last_owner(pool):
    """An RBF-SVM on noise takes ten seconds and more, and looks at no flag."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.normal(size=(20_000, 25))).add_prefix("x")
    frame["y"] = draw.integers(0, 2, 20_000)
    data = make_dataset(frame, "noise", roles={"y": "target"})
    before = {process.pid for process in active_children()}
    job = CandidateJob(cache.computed.parts(data, split(data)), Entry("rbf_svm"), False)
    theirs = _until(lambda: {p.pid for p in active_children()} - before)
    assert not job.wait(2.0)
    job.leave()
    assert job.wait(5.0) and "stopped" in job.problem
    _until(lambda: not any(map(_is_running, theirs)), 5.0)


_PARENT = """
import itertools, signal, sys, time
import numpy as np
from pages.work import cache, study_pool
from smpcore import load_dataset
from smpcore.evaluation.executors import running
from tests.test_study_pool import slow

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs ignore it
study_pool.N_WORKERS = 1
study_pool.start()
stop = np.zeros(1, dtype=np.int64)
with study_pool.executor_for(load_dataset("iris")) as pool:
    with running(slow, "rows of a visitor", stop, pool) as run:
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
@pytest.mark.parametrize(
    "how",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGTERM, marks=pytest.mark.exhaustive),  # none handles it
        signal.SIGINT,
    ],
)
def test_it_goes_with_its_parent(how):
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    pid = int(parent.stdout.readline())
    assert _is_running(pid)
    parent.send_signal(how)
    parent.wait(20)
    _until(lambda: not _is_running(pid), 20.0)
