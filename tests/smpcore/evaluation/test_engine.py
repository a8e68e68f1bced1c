"""Sweeps and refits on a real scheduler with workers that are killed and added."""

import os
import shutil
import socket
import sys
import time

import numpy as np
import pytest

from smpcore import METHODS, SmpcoreError, load_dataset, split, sweep
from smpcore.evaluation import baseline_paths, engine, folds, method_path, sweep_table
from tests.clusters import ROOT, Cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.timeout(240),
]
# A function of the package has the module's name.
place = sys.modules["smpcore.evaluation.executors"]


def _ended(cluster):
    place._known.pop(cluster.address, None)
    if client := place._clients.pop(cluster.address, None):
        client.close(timeout=1)
    cluster.close()


def _expire(cluster):
    """Have the next look ask the cluster."""
    place._known[cluster.address] = place._known[cluster.address][0], 0.0


@pytest.fixture
def mortal(monkeypatch):
    """A cluster of one test, which may kill it."""
    found = Cluster(2)
    monkeypatch.setenv(place.VARIABLE, found.address)
    yield found
    _ended(found)


@pytest.fixture(scope="module")
def _steady():
    found = Cluster(2)
    yield found
    _ended(found)


@pytest.fixture
def cluster(_steady, monkeypatch):
    """A cluster that is left as it was: who kills a worker adds one."""
    monkeypatch.setenv(place.VARIABLE, _steady.address)
    return _steady


def _asked(*keys, n_points=6):
    dataset = load_dataset("wine")
    rows = split(dataset).train
    drawn = [fold for fold in folds(dataset, rows) if fold.repeat == 0]
    walks = [method_path(key, dataset, rows, n_points=n_points) for key in keys]
    return dataset, drawn, walks


def _swept(*of, **options):
    """A sweep on the cluster."""
    executor = engine().executor
    assert executor is not None
    return sweep(*of, executor=executor, **options)


def _table(found, dataset):
    return sweep_table(found, dataset.task).drop(columns="seconds")


def test_a_killed_worker_loses_and_doubles_nothing(cluster):
    dataset, drawn, walks = _asked(*METHODS)
    walks += baseline_paths(dataset.task)
    serial = _table(sweep(dataset, drawn, walks), dataset)
    assert "2 workers" in engine().words
    found = []
    for row in _swept(dataset, drawn, walks):
        found.append(row)
        if len(found) == len(serial) // 4:
            cluster.workers.pop(0).kill()
        if len(found) == len(serial) // 2:
            cluster.add()
            cluster.wait(2)
    assert len(found) == len(serial)
    assert _table(found, dataset).equals(serial)
    assert engine().client is not None


def test_stop_ends_it_and_frees_the_workers(cluster):
    dataset, drawn, walks = _asked("smp", "mprotsvm", n_points=20)
    stop, found = np.zeros(1, dtype=np.int64), []
    for row in _swept(dataset, drawn, walks, mode="cold", stop=stop):
        found.append(row)
        if len(found) == 7:
            stop[0] = 1
    assert 7 <= len(found) < 20
    client = engine().client
    for _ in range(100):
        if not any(client.processing().values()):
            return
        time.sleep(0.1)
    raise AssertionError("the workers go on")


def test_a_lost_cluster_is_told_and_what_came_is_kept(mortal):
    dataset, drawn, walks = _asked("smp", n_points=30)
    found = []
    with pytest.raises(SmpcoreError, match="cluster broke down"):
        for row in _swept(dataset, drawn, walks):
            found.append(row)
            if len(found) == 3:
                mortal.scheduler.kill()
    assert len(found) >= 3
    words = engine().words
    assert "does not answer" in words and "this machine" in words
    assert engine().executor is None


def test_a_cluster_without_workers_is_told_in_the_end(monkeypatch):
    cluster = Cluster(1)
    monkeypatch.setenv(place.VARIABLE, cluster.address)
    dataset, drawn, walks = _asked("smp", n_points=10)
    assert engine().client is not None  # a new worker has time to load the package
    monkeypatch.setattr(place, "LOADING", 2.0)
    try:
        with pytest.raises(SmpcoreError, match="cluster") as told:
            for _ in _swept(dataset, drawn, walks):
                cluster.workers[0].kill()
        assert "What had come is kept" in str(told.value)
    finally:
        _ended(cluster)


def _words(address, monkeypatch):
    monkeypatch.setenv(place.VARIABLE, address)
    started = time.monotonic()
    found = engine()
    assert found.client is None
    assert "The work runs on this machine." in found.words
    return found.words, time.monotonic() - started


def test_an_address_that_nobody_answers_is_told_within_five_seconds(monkeypatch):
    import distributed  # noqa: F401 - its import is no part of the wait

    with socket.socket() as mute:  # takes connections and says nothing
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        mute_port = mute.getsockname()[1]
        for address in (
            f"tcp://127.0.0.1:{mute_port}",
            "tcp://127.0.0.1:1",
            "tcp://10.255.255.1:8786",
            "nonsense://here",
            "no address at all",
        ):
            words, seconds = _words(address, monkeypatch)
            assert "does not answer" in words
            assert seconds < 5
            assert _words(address, monkeypatch)[1] < 0.1, "asked again at once"


def test_a_worker_without_the_package_is_told(monkeypatch, tmp_path):
    cluster = Cluster(1)
    try:
        cluster.add(tmp_path)
        cluster.wait(2)
        words = _words(cluster.address, monkeypatch)[0]
        assert words.startswith("A worker of the cluster has no smpcore")
        monkeypatch.setattr(place, "_asked", lambda *_: pytest.fail("asked at once"))
        assert engine().words == words
        monkeypatch.undo()
        cluster.workers[1].kill()
        monkeypatch.setenv(place.VARIABLE, cluster.address)
        for _ in range(20):  # the scheduler hears of it in a moment
            _expire(cluster)
            if "1 worker." in (words := engine().words):
                break
            time.sleep(0.5)
        assert "1 worker." in words, "asked again after a while"
    finally:
        cluster.close()


def test_another_edition_is_told(monkeypatch, tmp_path):
    shutil.copytree(ROOT / "smpcore", tmp_path / "smpcore")
    with (tmp_path / "smpcore" / "errors.py").open("a") as file:
        file.write("# one more line\n")
    cluster = Cluster(1, tmp_path)
    try:
        words = _words(cluster.address, monkeypatch)[0]
        assert "of the cluster has another edition of smpcore" in words
    finally:
        cluster.close()


def test_another_version_is_told(cluster, monkeypatch):
    client = engine().client
    monkeypatch.setattr(place, "_setup", lambda: {"Dask": str(os.getpid())})
    words = place._checked(client).words
    assert f"and this machine {os.getpid()}: install the same version" in words


def test_the_client_of_a_notebook_gives_its_executor(cluster, monkeypatch):
    from distributed import Client

    monkeypatch.delenv(place.VARIABLE)
    dataset, drawn, walks = _asked("smallk", n_points=2)
    with Client(cluster.address, set_as_default=False) as client:
        executor = client.get_executor()
        found = _table(sweep(dataset, drawn, walks, executor=executor), dataset)
    assert found.equals(_table(sweep(dataset, drawn, walks), dataset))
