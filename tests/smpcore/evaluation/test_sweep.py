"""Sweeps are chains: repeatable, stoppable, blind to other rows, and told in words."""

import numpy as np
import pandas as pd
import pytest

from smpcore import (
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
            scores = evaluate(model, X[fold.held_out], dataset.y[fold.held_out])
            for name in SCORES[dataset.task]:
                assert row[name] == getattr(scores, name)
            assert row["n_nonzeros"] == model.n_nonzeros
            assert row["n_prototypes"] == model.n_prototypes
            assert row["n_features"] == model.support.sum()


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
    for width, kind in ((None, "float32"), (16, "int16"), (8, "int8")):
        made = quantise(compiled, width) if width else compiled
        told = estimated(made, "ATmega328P")
        assert row[f"flash_{kind if width else 'bytes'}"].item() == told.flash
        assert row[f"cycles_{kind}"].item() == told.count
    cheap = row[["cycles_int8", "cycles_int16", "cycles_float32"]].to_numpy(float)[0]
    assert (np.diff(cheap) > 0).all()


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


def test_the_walk_is_spread_over_the_parameters_range():
    dataset = load_dataset("breast_cancer")
    rows = split(dataset).train
    assert method_path("smallk", dataset, rows, n_points=30).grid == tuple(range(1, 31))
    few = method_path("smallk", dataset, rows, n_points=8).grid
    assert len(few) == len(set(few)) == 8 and few[0] == 1 and few[-1] == 30
    fused = method_path("smp", dataset, rows, n_points=8).grid
    assert list(fused) == sorted(fused, reverse=True) and fused[-1] == 0.0
