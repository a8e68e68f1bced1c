"""A fit does not depend on how many cores the machine has, nor on who asks for it."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import OpenBLASController, threadpool_info, threadpool_limits

from smpcore import METHODS, load_dataset, prepare, split, sweep
from smpcore.evaluation import folds, method_path
from smpcore.threads import one_core

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(autouse=True)
def nobody_else():
    """Of all threads only one may set BLAS's limit; a test before may have had it."""
    OpenBLASController.clear_controlling_thread(force=True)


def _limits():
    """The limit of each kind of library; some are built for one thread (SCS's BLAS)."""
    found = {"blas": set(), "openmp": set()}
    for info in threadpool_info():
        if info.get("threading_layer") != "disabled":
            found[info["user_api"]].add(info["num_threads"])
    assert all(len(limits) == 1 for limits in found.values()), found
    return {kind: limits.pop() for kind, limits in found.items()}


def _elsewhere(work):
    """What it gives in a thread that nobody has limited."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_threads_that_leave_in_the_order_in_which_they_came_restore_too():
    with threadpool_limits(3, user_api="blas"):
        OpenBLASController.clear_controlling_thread(force=True)
        before = _limits()["blas"]

        def entered():
            with one_core:
                entering.set()
                leaving.wait()
            done.set()
            over.wait()

        def following():
            entering.wait()
            with one_core:
                leaving.set()
                done.wait()

        entering, leaving, done, over = (threading.Event() for _ in range(4))
        threads = [threading.Thread(target=entered), threading.Thread(target=following)]
        for thread in threads:
            thread.start()
        threads[1].join()
        after = _limits()["blas"]
        over.set()
        threads[0].join()
    assert before == after == 3


def test_it_limits_while_it_lasts_and_restores():
    with threadpool_limits(3):
        before = _limits()
        assert before["blas"] == before["openmp"] == 3
        with one_core:
            with one_core:
                assert set(_limits().values()) == {1}
            assert set(_limits().values()) == {1}
        assert _limits() == before


def test_a_sweep_keeps_the_linear_algebra_of_its_fits_to_one_thread(monkeypatch):
    dataset = load_dataset("wine")
    rows = split(dataset).train
    drawn = folds(dataset, rows)[:2]
    walk = method_path("smp", dataset, rows, n_points=2)
    seen = []
    evaluation = sys.modules["smpcore.evaluation.sweep"]
    measure = evaluation.measure

    def look(*of, **options):
        seen.append(set(_limits().values()))
        return measure(*of, **options)

    monkeypatch.setattr(evaluation, "measure", look)
    with threadpool_limits(3), ThreadPoolExecutor(2) as executor:
        for where in (None, executor):
            for _ in sweep(dataset, drawn, [walk], executor=where):
                if where is None:  # between two fits the caller has its threads
                    assert _limits() == {"blas": 3, "openmp": 3}
        assert _limits() == {"blas": 3, "openmp": 3}
    assert seen == 2 * len(drawn) * len(walk.grid) * [{1}]


@pytest.mark.parametrize("key", METHODS)
def test_a_fit_is_the_same_in_every_thread(key):
    dataset = load_dataset("digits")
    rows = split(dataset).train[:400]
    X = prepare(dataset, rows).transform(dataset.frame.iloc[rows])
    y = dataset.y[rows]
    if "classification" not in METHODS[key].estimators:
        pytest.skip("no classifier")
    values = METHODS[key].defaults("classification")

    def fitted():
        return METHODS[key].estimator(values).fit(X, y).model_.anchors

    with threadpool_limits(1, user_api="blas"):
        with threadpool_limits(3, user_api="openmp"):
            many = fitted()
        other = _elsewhere(fitted)
        with threadpool_limits(1, user_api="openmp"):
            one = fitted()
    np.testing.assert_array_equal(many, other)
    np.testing.assert_array_equal(many, one)
