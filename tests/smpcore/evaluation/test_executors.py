"""Studies on executors: same results, stopped at once, and nothing left behind."""

import os
import signal
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numba
import numpy as np
import pytest

from smpcore import METHODS, SmpcoreError, load_dataset, prepare, split, sweep
from smpcore.evaluation import (
    TrainingRows,
    baseline_paths,
    fit_compared,
    folds,
    method_path,
    out_of_fold,
    refits,
    sweep_table,
)
from smpcore.evaluation import executors as elsewhere
from smpcore.evaluation.executors import running

KINDS = ("threads", "processes")
SPAWN = get_context("spawn")


pytestmark = pytest.mark.usefixtures("plain_main")


@pytest.fixture(scope="module")
def processes(plain_main):
    with ProcessPoolExecutor(2, SPAWN) as pool:
        yield pool


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def executor(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path, monkeypatch):
    """After each test no flag lies about."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert not [*tmp_path.iterdir()]


def _run(work, shared, tasks, executor, stop=None, **options):
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    with running(work, shared, stop, executor, **options) as run:
        yield from run(tasks)


def _double(shared, task):
    time.sleep(shared.get("seconds", 0.0))
    return 2 * task[0], os.getpid()


def _numbers(n):
    return ((i,) for i in range(n))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("executor", KINDS, indirect=True)
@pytest.mark.parametrize("key", METHODS)
def test_a_sweep_is_the_same_on_every_executor(key, executor):
    dataset = load_dataset("wine")
    rows = split(dataset).train
    drawn = folds(dataset, rows, 3)[:3]
    walks = [method_path(key, dataset, rows, {}, 4)]
    if key == next(iter(METHODS)):
        walks += baseline_paths(dataset.task)

    def swept(executor):
        found = list(sweep(dataset, drawn, walks, mode="preview", executor=executor))
        return sweep_table(found, dataset.task).drop(columns="seconds")

    table = swept(executor)
    assert len(table) == len(drawn) * sum(len(walk.grid) for walk in walks)
    assert table.equals(swept(None))


@pytest.mark.parametrize("executor", KINDS, indirect=True)
def test_other_studies_are_the_same_on_every_executor(executor):
    dataset = load_dataset("wine")
    parts = split(dataset)
    method = METHODS["smp"]
    make = partial(method.estimator, method.defaults(), "classification")
    X = prepare(dataset, parts.train).transform(dataset.frame)
    drawn = folds(dataset, parts.train, 3)[:3]

    def found(executor):
        models = refits(make, TrainingRows(X, dataset.y), n_refits=6, executor=executor)
        scores = out_of_fold(
            METHODS["smp"].estimator({}), dataset, parts, executor=executor
        )
        best = fit_compared("smp", dataset, parts.train, drawn=drawn, executor=executor)
        return [*(model.weights for model in models), scores], best.settings

    (arrays, values), (own_arrays, own_values) = found(executor), found(None)
    assert len(arrays) == 7 and values == own_values
    for theirs, ours in zip(arrays, own_arrays, strict=True):
        np.testing.assert_array_equal(theirs, ours)


@numba.njit(nogil=True)
def _until(stop, count):
    while not stop[0]:
        count[0] += 1


def _compiled_loop(stop, task):
    _until(stop, np.zeros(1, dtype=np.int64))


def _deaf(stop, task):
    time.sleep(2.0)


@pytest.mark.parametrize("executor", KINDS, indirect=True)
@pytest.mark.parametrize("work", [_compiled_loop, _deaf])
def test_who_waits_hears_stop_at_once(work, executor):
    stop = np.zeros(1, dtype=np.int64)
    threading.Timer(0.5, stop.fill, [1]).start()
    started = time.monotonic()
    list(_run(work, stop, _numbers(99), executor, stop))
    assert 0.4 < time.monotonic() - started < 1.5
    # What was at hand ends too, and others are served.
    assert [n for n, _ in _run(_double, {}, [(4,)], executor)] == [8]


def _type_of(stop, task):
    return str(numba.typeof(stop))


def test_kernels_are_not_compiled_anew_for_the_flag_in_a_file(processes):
    stop = np.zeros(1, dtype=np.int64)
    found = list(_run(_type_of, stop, [(0,)], processes, stop))
    assert found == [str(numba.typeof(stop))]


@pytest.mark.parametrize("executor", KINDS, indirect=True)
def test_what_has_come_before_stop_is_kept(executor):
    stop, found = np.zeros(1, dtype=np.int64), []
    shared = {"seconds": 0.2}
    for value, _ in _run(_double, shared, _numbers(99), executor, stop, ordered=True):
        found.append(value)
        if len(found) == 1:
            time.sleep(0.3)  # the next ones are ready
            stop[0] = 1
    assert found[:2] == [0, 2] and len(found) <= 4


class _Unsendable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def _refuse(shared, task):
    raise {"own": SmpcoreError("No."), "other": ValueError("No.")}.get(
        shared, _Unsendable("one", "two")
    )


@pytest.mark.parametrize(
    ("which", "kind"),
    [("own", SmpcoreError), ("other", ValueError), ("unsendable", RuntimeError)],
)
def test_what_a_task_breaks_with_comes_back(processes, which, kind):
    with pytest.raises(kind, match=r"No\.|one and two"):
        list(_run(_refuse, which, _numbers(5), processes))
    assert [n for n, _ in _run(_double, {}, [(4,)], processes)] == [8]


def test_a_process_that_dies_is_told(caplog):
    with ProcessPoolExecutor(1, SPAWN) as pool:
        run = _run(_double, {"seconds": 0.05}, _numbers(999), pool)
        os.kill(next(run)[1], signal.SIGKILL)
        with pytest.raises(SmpcoreError, match="was ended") as told:
            list(run)
        assert "What had come is kept" in str(told.value)
        assert "a process of a study was ended" in caplog.text
        with pytest.raises(SmpcoreError, match="was ended"):
            list(_run(_double, {}, _numbers(1), pool))


def test_without_room_for_its_flag_a_study_runs_in_this_thread(
    processes, monkeypatch, tmp_path, caplog
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    found = [*_run(_double, {}, _numbers(3), processes)]
    assert found == [(2 * i, os.getpid()) for i in range(3)]
    assert "a study runs in no process of its own" in caplog.text


def test_two_studies_share_a_pool():
    with ProcessPoolExecutor(1, SPAWN) as pool:
        first = _run(_double, {"seconds": 0.2}, _numbers(999), pool)
        next(first)
        started = time.monotonic()
        ours = list(_run(_double, {}, _numbers(3), pool))
        assert [value for value, _ in ours] == [0, 2, 4]
        assert time.monotonic() - started < 2.0
        next(first)
        first.close()


def _count(shared, task):
    shared["tasks"] = shared.get("tasks", 0) + 1
    return shared["tasks"]


def _flag():
    return elsewhere._last[0]


def test_a_process_keeps_what_tasks_add_until_another_study_comes():
    with ProcessPoolExecutor(1, SPAWN) as pool:
        first = _run(_count, {}, _numbers(99), pool)
        assert [next(first) for _ in range(3)] == [1, 2, 3]
        before = pool.submit(_flag).result()
        assert list(_run(_count, {"tasks": 10}, [(0,)], pool)) == [11]
        assert pool.submit(_flag).result() != before
        first.close()


def test_a_task_of_a_study_that_is_over_does_nothing(processes):
    nobodys = elsewhere.do_task, Path("of_nobody"), b"", (1,)
    assert processes.submit(*nobodys).result() is None


@pytest.mark.parametrize("executor", KINDS, indirect=True)
def test_few_tasks_are_taken_before_they_are_wanted(executor):
    taken = []
    tasks = (taken.append(i) or (i,) for i in range(100))
    run = _run(_double, {}, tasks, executor)
    next(run)
    assert len(taken) <= 4
    run.close()


def _huge(shared, task):
    return threading.Lock()


def test_an_answer_that_does_not_travel_is_told(processes):
    with pytest.raises(Exception, match="pickle"):
        list(_run(_huge, {}, _numbers(3), processes))
    assert [n for n, _ in _run(_double, {}, [(4,)], processes)] == [8]
