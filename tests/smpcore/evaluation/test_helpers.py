"""Processes beside this one: same results, heard at once, gone with their parent."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from smpcore import (
    METHODS,
    SmpcoreError,
    folds,
    load_dataset,
    prepare,
    refits,
    split,
    start_helpers,
    sweep,
    sweep_table,
    walk_baselines,
    walk_method,
)
from smpcore.evaluation import helpers
from smpcore.evaluation.tasks import running

ROOT = Path(__file__).parents[3]


def _free(number, seconds=60.0):
    """Wait until so many are free and idle."""
    started = time.monotonic()
    while sum(h.alive and not h.n_asked for h in helpers._free) < number:
        assert time.monotonic() - started < seconds
        time.sleep(0.05)
    return helpers._free


@pytest.fixture(scope="module")
def helped():
    """Two helpers; what stands in for lost ones too."""
    start_helpers(2)
    start_helpers(2)  # what is there is not started again
    assert len(helpers._started) == len(_free(2)) == 2
    yield
    for helper in helpers._started:
        helper.end()
    helpers._free.clear()
    helpers._started.clear()


@pytest.fixture
def alone(monkeypatch):
    """Do something with no helper free."""

    def run(work):
        with monkeypatch.context() as patch:
            patch.setattr(helpers, "_free", [])
            return work()

    return run


def _asked(key="smallk"):
    dataset = load_dataset("wine")
    rows = split(dataset).train
    return dataset, folds(dataset, rows, 3)[:3], walk_method(key, dataset, rows, {}, 4)


def _double(shared, task):
    time.sleep(shared.get("seconds", 0.0))
    return 2 * task[0], os.getpid()


def _refuse(shared, task):
    raise shared[task[0]]


def _wait_for_stop(stop, task):
    while not stop[0]:
        time.sleep(0.01)
    return "stopped"


class _Unsendable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def _unsendable(shared, task):
    raise _Unsendable("one", "two")


def _run(work, shared, tasks, stop=None):
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    with running(work, shared, 1, stop) as run:
        yield from run(tasks)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("key", METHODS)
def test_a_sweep_is_that_of_threads(helped, alone, key):
    dataset, drawn, walk = _asked(key)

    def swept():
        rows = list(sweep(dataset, drawn, [walk], n_jobs=1, quick=True))
        return sweep_table(rows, dataset.task).drop(columns="seconds")

    _free(2)
    there = swept()
    assert len(there) == len(walk.knots) * len(drawn)
    assert there.equals(alone(swept))


def test_baselines_and_refits_are_those_of_threads(helped, alone):
    dataset, drawn, _ = _asked()
    method = METHODS["smp"]
    make = partial(method.estimator, method.defaults(), "classification")
    rows = split(dataset).train
    X = prepare(dataset, rows).transform(dataset.frame)

    def found():
        rows = list(sweep(dataset, drawn, walk_baselines(dataset.task), n_jobs=1))
        table = sweep_table(rows, dataset.task).drop(columns="seconds")
        return table, [
            model.weights for model in refits(make, X, dataset.y, n_refits=6)
        ]

    _free(2)
    (table, weights), (own_table, own_weights) = found(), alone(found)
    assert table.equals(own_table)
    assert len(weights) == len(own_weights) == 6
    assert all(map(np.array_equal, weights, own_weights))


def test_tasks_come_back_in_order_from_other_processes(helped):
    _free(2)
    found = list(_run(_double, {}, ((i,) for i in range(20))))
    assert [value for value, _ in found] == list(range(0, 40, 2))
    assert os.getpid() not in {pid for _, pid in found}


def test_half_of_those_who_are_free_are_lent(helped):
    _free(2)
    with helpers.lent() as first, helpers.lent() as second, helpers.lent() as third:
        assert [len(first), len(second), len(third)] == [1, 1, 0]
        # Who finds none free works in threads here.
        assert [pid for _, pid in _run(_double, {}, [(1,)])] == [os.getpid()]
    assert len(_free(2)) == 2


def test_only_threads_rest(helped, alone):
    rests = []
    stop = np.zeros(1, dtype=np.int64)

    def work():
        with running(_double, {}, 1, stop, rest=lambda: rests.append(1)) as run:
            return list(run([(1,), (2,)]))

    _free(2)
    work()
    assert not rests
    alone(work)
    assert len(rests) == 2


def test_stop_is_heard_by_the_task_at_hand(helped):
    before = list(_free(2))
    stop = np.zeros(1, dtype=np.int64)
    with running(_wait_for_stop, stop, 1, stop) as run:
        (helper,) = set(before) - set(helpers._free)
        threading.Timer(0.5, stop.fill, [1]).start()
        assert list(run([(1,), (2,)])) == []
    started = time.monotonic()
    while helper.n_asked:  # its tasks have ended, and what they shared is gone
        assert time.monotonic() - started < 10.0
        time.sleep(0.01)
    assert [value for value, _ in _run(_double, {}, [(4,)])] == [8]


@pytest.mark.parametrize(
    ("work", "shared", "kind"),
    [
        (_refuse, [SmpcoreError("No.")], SmpcoreError),
        (_refuse, [ValueError("No.")], ValueError),
        (_unsendable, None, RuntimeError),
    ],
)
def test_what_a_task_breaks_with_comes_back(helped, work, shared, kind):
    _free(2)
    with pytest.raises(kind, match=r"No\.|one and two"):
        list(_run(work, shared, [(0,)]))
    assert [value for value, _ in _run(_double, {}, [(4,)])] == [8]


def test_a_helper_that_dies_is_told_and_replaced(helped):
    _free(2)
    before = {helper._process.pid for helper in helpers._free}
    found = _run(_double, {"seconds": 0.05}, ((i,) for i in range(1000)))
    _, pid = next(found)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SmpcoreError, match="was ended") as told:
        list(found)
    assert "What had come is kept" in str(told.value)
    with helpers.lent():
        pass  # who comes next has a new one started
    after = {helper._process.pid for helper in _free(2)}
    assert pid in before and pid not in after and len(after) == 2


def test_one_that_died_while_it_was_free_is_not_lent(helped):
    _free(2)
    lost = helpers._free[-1]
    os.kill(lost._process.pid, signal.SIGKILL)
    while lost.alive:
        time.sleep(0.01)
    with helpers.lent() as ours:
        assert ours and lost not in ours
    assert lost not in _free(2)


def test_a_helper_keeps_nothing_of_a_study_that_is_over(helped):
    _free(2)
    list(_run(_double, {"rows": "of a visitor"}, [(1,)]))
    for helper in _free(2):
        with pytest.raises(TypeError, match="not callable"):  # no work, no rows
            helper.ask("do", (1,)).result(10.0)


_PARENT = """
import signal, time
from smpcore import start_helpers
from smpcore.evaluation import helpers
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs ignore it
start_helpers(1)
while not helpers._free:
    time.sleep(0.05)
print(helpers._free[0]._process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
@pytest.mark.parametrize(
    "how",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGTERM, marks=pytest.mark.exhaustive),
        pytest.param(signal.SIGINT, marks=pytest.mark.exhaustive),
    ],
)
def test_a_helper_goes_with_its_parent(how):
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    pid = int(parent.stdout.readline())
    assert Path(f"/proc/{pid}").exists()
    parent.send_signal(how)
    parent.wait(20)
    started = time.monotonic()
    while Path(f"/proc/{pid}").exists():
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        if state == "Z":  # ended; whoever adopted it has not looked yet
            break
        assert time.monotonic() - started < 20.0
        time.sleep(0.05)


def test_ctrl_c_is_the_parents_affair(helped):
    helper = _free(2)[0]
    os.kill(helper._process.pid, signal.SIGINT)
    assert helper.ask("share", b"").result(10.0) is None
    assert helper.alive


def _deaf(shared, task):
    time.sleep(1.5)
    return "deaf"


def test_who_is_still_at_it_is_not_lent(helped, monkeypatch):
    before = len(_free(2))
    stop = np.zeros(1, dtype=np.int64)
    threading.Timer(0.3, stop.fill, [1]).start()
    started = time.monotonic()
    assert list(_run(_deaf, {}, [(1,), (2,)], stop)) == []
    assert time.monotonic() - started < 1.2, "nobody waits for what hears no Stop"
    monkeypatch.setattr(helpers, "_PATIENCE", 0.0)
    (busy,) = [helper for helper in helpers._free if helper.n_asked]
    with helpers.lent() as first, helpers.lent() as second:
        assert len(first) == 1 and busy not in first and not second
    while busy.n_asked:
        time.sleep(0.05)
    assert len(helpers._free) == before


def test_one_study_after_the_other_is_helped(helped, monkeypatch):
    _free(2)
    monkeypatch.setattr(helpers, "_PATIENCE", 60.0)
    for i in range(20):  # what the one has left is cleared while the next one comes
        ((value, pid),) = _run(_double, {}, [(i,)])
        assert value == 2 * i and pid != os.getpid()


def test_what_has_come_before_stop_is_kept(helped):
    _free(2)
    stop, found = np.zeros(1, dtype=np.int64), []
    for value, _ in _run(_double, {}, ((i,) for i in range(100)), stop):
        found.append(value)
        if len(found) == 1:
            time.sleep(0.3)  # the next one is ready
            stop[0] = 1
    assert found == [0, 2]


def _huge(shared, task):
    sys.stdout.write("what a library prints")
    return lambda: "does not travel"


def test_an_answer_that_does_not_travel_is_told(helped):
    _free(2)
    with pytest.raises((AttributeError, pickle.PicklingError, RuntimeError)):
        list(_run(_huge, {}, [(0,)]))
    assert [value for value, _ in _run(_double, {}, [(4,)])] == [8]


def test_nonsense_from_a_helper_ends_it(helped, monkeypatch):
    helper = _free(2)[0]

    def broken(_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(helpers.pickle, "load", broken)
        # The listener is in the real `load` already; it meets this one after that.
        helper.ask("share", b"").result(10.0)
        with pytest.raises(SmpcoreError, match="was ended"):
            helper.ask("share", b"").result(10.0)
        assert not helper.alive
    with helpers.lent():
        pass
    assert helper not in _free(2)


def test_without_room_for_processes_threads_do_it(monkeypatch):
    def full(*_, **__):
        raise OSError("no room")

    monkeypatch.setattr(helpers.subprocess, "Popen", full)
    monkeypatch.setattr(helpers, "_free", [])
    monkeypatch.setattr(helpers, "_started", [])
    start_helpers(2)
    assert not helpers._started
    assert [pid for _, pid in _run(_double, {}, [(1,)])] == [os.getpid()]
