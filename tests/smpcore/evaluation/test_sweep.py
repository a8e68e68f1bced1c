"""Sweeps are chains: repeatable, stoppable, blind to other rows, and told in words."""

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from smpcore import (
    BASELINES,
    METHODS,
    Dataset,
    compile_model,
    evaluate,
    load_dataset,
    prepare,
    quantise,
    split,
    sweep,
)
from smpcore.codegen import estimated
from smpcore.evaluation import (
    SCORES,
    ParameterPath,
    baseline_paths,
    folds,
    method_path,
    sweep_table,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
# A function of the package has the module's name.
sweeping = sys.modules["smpcore.evaluation.sweep"]


def _swept(dataset, drawn, walks, **options):
    found = list(sweep(dataset, drawn, walks, **options))
    return sweep_table(found, dataset.task)


def _wine():
    dataset = load_dataset("wine")
    rows = split(dataset).train
    return dataset, rows, [fold for fold in folds(dataset, rows) if fold.repeat == 0]


def test_a_parameter_that_means_nothing_is_not_walked():
    dataset, rows, _ = _wine()
    for values, n_points in (
        ({"kernel_weights": "ridge"}, 4),
        ({"kernel_weights": "lp"}, 1),
        ({"kernel_weights": "even"}, 1),
        ({"kernels": "rbf"}, 1),
    ):
        path = method_path("imkpl", dataset, rows, values, n_points=4)
        assert len(path.grid) == n_points


@pytest.mark.parametrize("key", METHODS)
def test_a_sweep_is_the_serial_chain_exactly(key):
    dataset, rows, drawn = _wine()
    if "classification" not in METHODS[key].estimators:
        dataset = load_dataset("diabetes")
        rows = split(dataset).train
        drawn = folds(dataset, rows)
    walk = method_path(key, dataset, rows, n_points=4)
    table = _swept(dataset, drawn[:2], [walk], mode="preview")
    method = METHODS[key]
    for fold in drawn[:2]:
        preparation = prepare(dataset, fold.train)
        X = preparation.transform(dataset.frame)
        state = problem = None
        for knot in walk.grid:
            values = {**walk.values, method.sparsity: knot}
            estimator = method.estimator(values, dataset.task, preview=True)
            if problem is None or method.sparsity in estimator.problem_params:
                problem = estimator.problem(X[fold.train], dataset.y[fold.train])
            state = estimator.solve(problem, state=state).state_
            model = estimator.model_
            here = (table["fold"] == fold.number) & (table["value"] == knot)
            (row,) = table[here].to_dict("records")
            if dataset.task == "classification":
                scores = evaluate(model, X[fold.held_out], dataset.y[fold.held_out])
                assert row["accuracy"] == scores.accuracy
                assert row["balanced_accuracy"] == scores.balanced_accuracy
            assert row["n_nonzeros"] == model.n_nonzeros
            assert row["n_prototypes"] == model.n_prototypes
            assert row["n_features"] == model.support.sum()


def test_threads_change_nothing_and_all_is_there():
    dataset, rows, drawn = _wine()
    walks = [method_path(key, dataset, rows, n_points=5) for key in list(METHODS)[:2]]
    walks += baseline_paths(dataset.task)[:1]
    serial = _swept(dataset, drawn, walks).drop(columns="seconds")
    with ThreadPoolExecutor(3) as pool:
        threads = _swept(dataset, drawn, walks, executor=pool).drop(columns="seconds")
    pd.testing.assert_frame_equal(serial, threads)
    assert len(serial) == len(drawn) * sum(len(walk.grid) for walk in walks)
    assert serial[list(SCORES["classification"])].notna().all(axis=None)


def test_flash_is_what_the_compiled_model_needs_and_baselines_have_none():
    dataset, rows, drawn = _wine()
    key = next(iter(METHODS))
    walk = method_path(key, dataset, rows, n_points=2)
    table = _swept(dataset, drawn[:1], [walk, *baseline_paths(dataset.task)])
    assert table.loc[table["method"] != key, "flash_bytes"].isna().all()
    preparation = prepare(dataset, drawn[0].train)
    X = preparation.transform(dataset.frame.iloc[drawn[0].train])
    estimator = METHODS[key].estimator({**walk.values, walk.parameter: walk.grid[0]})
    compiled = compile_model(
        estimator.fit(X, dataset.y[drawn[0].train]).model_, preparation
    )
    row = table[(table["method"] == key) & (table["value"] == walk.grid[0])]
    costs = zip(
        ("flash_bytes", "flash_int16", "flash_int8"), (None, 16, 8), strict=True
    )
    for name, width in costs:
        made = quantise(compiled, width) if width else compiled
        told = estimated(made, "ATmega328P")
        assert row[name].item() == told.flash
        cycles = f"cycles_int{width}" if width else "cycles_float32"
        assert row[cycles].item() == told.count
    cheap = row[["cycles_int8", "cycles_int16", "cycles_float32"]].to_numpy(float)[0]
    assert (np.diff(cheap) > 0).all()


def test_a_form_without_integers_has_no_costs_of_them():
    dataset, rows, drawn = _wine()
    walk = method_path("imkpl", dataset, rows, n_points=1)
    table = _swept(dataset, drawn[:1], [walk])
    assert table["flash_bytes"].notna().all()
    assert table[["flash_int8", "flash_int16", "cycles_int8"]].isna().all(axis=None)


def test_stop_keeps_what_is_finished():
    dataset, rows, drawn = _wine()
    walk = method_path("smp", dataset, rows, n_points=8)
    stop, found = np.zeros(1, dtype=np.int64), []
    for row in sweep(dataset, drawn, [walk], stop=stop):
        found.append(row)
        if len(found) == 7:
            stop[0] = 1
    assert 7 <= len(found) < 12
    whole = _swept(dataset, drawn, [walk]).drop(columns="seconds")
    kept = sweep_table(found, dataset.task).drop(columns="seconds")
    assert len(kept.merge(whole)) == len(kept)


def test_a_whole_group_is_held_out_and_medians_are_the_folds_own():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": ["a", "b"] * 30})
    frame["who"] = np.arange(60) % 9
    frame.loc[frame["who"] == 0, "x"] = np.nan  # another row must not fill these in
    roles = {"x": "feature", "y": "target", "who": "group"}
    dataset = Dataset(frame=frame, roles=roles, task="classification", name="grouped")
    rows = np.arange(54)
    drawn = folds(dataset, rows, 3)
    for fold in drawn:
        assert not set(frame["who"][fold.train]) & set(frame["who"][fold.held_out])
    walk = method_path("smp", dataset, rows, n_points=2)
    first = _swept(dataset, drawn, [walk]).drop(columns="seconds")
    changed = frame.copy()
    changed.loc[54:, "x"] = 1e6  # rows that no fold knows
    other = Dataset(frame=changed, roles=roles, task="classification", name="grouped")
    pd.testing.assert_frame_equal(
        first, _swept(other, drawn, [walk]).drop(columns="seconds")
    )


def test_a_fold_with_one_class_says_so_and_the_others_go_on():
    frame = pd.DataFrame({"x": np.arange(12.0), "y": ["a"] * 11 + ["b"]})
    roles = {"x": "feature", "y": "target"}
    dataset = Dataset(frame=frame, roles=roles, task="classification", name="rare")
    drawn = [fold for fold in folds(dataset, np.arange(12), 4) if fold.repeat == 0]
    walk = ParameterPath("smp", METHODS["smp"].defaults(), "mu", (0.01,))
    table = _swept(dataset, drawn, [walk])
    failed = table[table["accuracy"].isna()]
    assert len(failed) == 1 and len(table) == 4
    assert failed["status"].item().startswith("failed: y holds one class only")


def test_regression_baselines_are_scored_by_error():
    dataset = load_dataset("diabetes")
    rows = split(dataset).train
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        walks = [walk for walk in baseline_paths("regression") if walk.key != "forest"]
        table = _swept(dataset, folds(dataset, rows)[:2], walks)
    assert (table["mae"] > 0).all() and (table["r2"] < 1).all()
    assert table["n_nonzeros"].notna().any()


def test_the_walk_is_spread_over_the_parameters_range():
    dataset = load_dataset("breast_cancer")
    rows = split(dataset).train
    assert method_path("smallk", dataset, rows, n_points=30).grid == tuple(range(1, 31))
    few = method_path("smallk", dataset, rows, n_points=8).grid
    assert len(few) == len(set(few)) == 8 and few[0] == 1 and few[-1] == 30
    fused = method_path("smp", dataset, rows, n_points=8).grid
    assert list(fused) == sorted(fused, reverse=True) and fused[-1] == 0.0


@pytest.mark.parametrize(
    ("key", "task"),
    [(key, task) for key, row in BASELINES.items() for task in row.tasks],
)
def test_every_baseline_learns(key, task):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [1, 100, 0.01]
    y = X[:, 0] > 0 if task == "classification" else 50 * X[:, 0]
    row = BASELINES[key]
    estimator = row.estimator(task=task).fit(X, y)
    assert estimator.score(X, y) > (0.7 if task == "classification" else 0.5)
    for name, values in row.grid.items():
        row.estimator({name: values[0]}, task).fit(X, y)


def test_no_value_is_walked_twice():
    dataset, rows, _ = _wine()
    walk = method_path("smp", dataset, rows, n_points=1000)
    assert 500 < len(walk.grid) == len(set(walk.grid)) < 1000
    (one,) = baseline_paths(dataset.task)[1:2]
    assert len(one.grid) == len(set(one.grid))


def _context(key, mode):
    dataset, rows, drawn = _wine()
    walk = method_path(key, dataset, rows, n_points=3)
    stop = np.zeros(1, dtype=np.int64)
    return sweeping.SweepContext(dataset, [(walk, f) for f in drawn], mode, stop)


@pytest.mark.parametrize("key", METHODS)
def test_only_warm_chains_hand_their_state_on(key):
    assert sweeping._advance(_context(key, mode="warm"), (0, 0, None))[1] is not None
    assert sweeping._advance(_context(key, mode="cold"), (0, 0, None))[1] is None


@pytest.mark.parametrize("key", METHODS)
def test_what_is_kept_for_the_next_task_is_bounded(key, monkeypatch):
    rows = sum(X.nbytes for X in _context(key, mode="warm").prepared(0).rows)
    monkeypatch.setattr(sweeping, "_MOST_BYTES", 2.5 * rows)
    context = _context(key, mode="warm")
    for chain in range(len(context.chains)):
        sweeping._advance(context, (chain, 0, None))
    kept = [cache.n_bytes for cache in context._caches.values()]
    assert 0 < sum(kept) <= 2.5 * rows
    assert sum(kept) == context._bytes


@pytest.mark.parametrize("key", ["l1_logistic", "linear_svm"])
def test_a_baseline_beside_others_is_what_it_is_alone(key):
    # liblinear's generator belongs to the process: 9 of 60 fits differed.
    dataset = load_dataset("breast_cancer")
    rows = split(dataset).train
    X = prepare(dataset, rows).transform(dataset.frame)[rows]

    def weights(_):
        fitted = BASELINES[key].estimator({}, dataset.task).fit(X, dataset.y[rows])
        last = getattr(fitted[-1], "estimators_", [fitted[-1]])
        return np.vstack([part.coef_ for part in last])

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(weights, range(80)))
    alone = weights(0)
    assert all(np.array_equal(alone, one) for one in together)
