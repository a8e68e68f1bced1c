"""What a visitor brings never leaves the server, whatever cluster its operator has."""

import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from pages.prototypes import stability
from pages.work import studies
from pages.work.cache import computed, forget
from pages.work.studies import training_scores
from pages.work.tasks import Task
from smpcore import METHODS, load_dataset, split

engine = sys.modules["smpcore.evaluation.executors"]


def _sweep(data):
    job = studies.SweepJob(data, "smallk", (), 2, False)
    job.result()
    assert job.n_done


def _compare(data):
    job = studies.CandidateJob(data, studies.Entry("smallk"), True)
    job.result()
    assert job.candidate


def _refit(data, monkeypatch):
    monkeypatch.setattr(stability, "N_REFITS", 2)
    method = METHODS["smallk"]
    X, y = data.of("train")
    model = method.estimator(method.defaults()).fit(X, y).model_
    chosen = {"method": method, "values": method.defaults()}
    context = SimpleNamespace(data=data, model=model, **chosen)
    job = stability._job(context)
    of_columns, of_levels, deviations = job.result()
    assert of_columns.n_refits == of_levels.n_refits == 2 and not deviations.size


def _calibrate(data):
    found = training_scores(data, "smallk", METHODS["smallk"].defaults())
    task = Task(found.compute, study=data.dataset)
    assert task.result() is found.scores and found.calibration is not None
    assert training_scores(data, "smallk", METHODS["smallk"].defaults()) is found
    forget(data.dataset)
    again = training_scores(data, "smallk", METHODS["smallk"].defaults())
    assert (again is found) != data.dataset.private


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("private", [True, False])
def test_only_what_everybody_has_goes_to_the_cluster(monkeypatch, private):
    asked = []

    def ask(*_):
        asked.append(1)
        return engine.Engine(None, "None here.")

    monkeypatch.setenv(engine.VARIABLE, "tcp://127.0.0.1:9")
    monkeypatch.setattr(engine, "_asked", ask)
    dataset = replace(load_dataset("iris"), private=private)
    data = computed.parts(dataset, split(dataset))
    refit = partial(_refit, monkeypatch=monkeypatch)
    for job in (_sweep, _compare, refit, _calibrate):
        asked.clear()
        engine._known.clear()
        job(data)
        assert bool(asked) != private
