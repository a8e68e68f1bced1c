"""Who computes when: jobs give way to those who drag a slider, but not for ever."""

import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pages.shared import jobs, sweep_jobs
from pages.shared.sweep_jobs import SweepJob
from smpcore import load_dataset


def test_a_job_gives_way_until_the_live_turn_ends(monkeypatch):
    monkeypatch.setattr(jobs, "GIVE_WAY_SECONDS", (60.0, 60.0))
    given = threading.Event()

    def piece():
        jobs.give_way()
        given.set()

    with jobs.live_turn():
        thread = threading.Thread(target=piece)
        thread.start()
        assert not given.wait(0.2)
    assert given.wait(10.0)
    thread.join()


def test_a_job_goes_on_though_live_turns_never_end(monkeypatch):
    monkeypatch.setattr(jobs, "GIVE_WAY_SECONDS", (0.1, 0.1))
    with jobs.live_turn():
        started = time.perf_counter()
        jobs.give_way()
        assert 0.05 < time.perf_counter() - started < 30.0


def test_a_job_rests_longer_than_it_worked_while_somebody_drags(monkeypatch):
    monkeypatch.setattr(jobs, "GIVE_WAY_SECONDS", (0.01, 30.0))
    jobs.give_way()
    time.sleep(0.6)
    started = time.perf_counter()
    with jobs.live_turn():
        jobs.give_way()
    assert 1.0 < time.perf_counter() - started < 20.0
    time.sleep(0.6)
    started = time.perf_counter()
    jobs.give_way()
    assert time.perf_counter() - started < 0.3, "nobody drags"


def test_a_sweep_stands_still_during_a_live_turn(monkeypatch):
    monkeypatch.setattr(jobs, "GIVE_WAY_SECONDS", (60.0, 60.0))
    monkeypatch.setattr(sweep_jobs, "COARSE_SECONDS", 60.0)
    dataset = load_dataset("iris")
    rows = np.arange(dataset.n_samples)
    with jobs.live_turn():
        job = SweepJob(dataset, rows, "smp", (), 3, False)
        while not job.n_found:
            time.sleep(0.01)
        time.sleep(0.3)
        assert job.running and job.n_found == 1
    while job.running:
        time.sleep(0.01)
    assert job.n_found > 1


@pytest.mark.parametrize("private", [True, False])
def test_a_study_says_where_it_runs_unless_its_rows_stay_here(monkeypatch, private):
    monkeypatch.setattr(jobs, "engine", lambda: SimpleNamespace(words="On a cluster."))
    dataset = replace(load_dataset("iris"), private=private)
    job = jobs.Job(lambda *_: None, study=dataset)
    assert job.wait(10.0)
    assert job.where == ("" if private else "On a cluster.")
    job = jobs.Job(lambda *_: None)
    assert job.wait(10.0) and not job.where
