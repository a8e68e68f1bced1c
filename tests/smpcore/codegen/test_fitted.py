"""From a fitted method and raw rows to the answers of its program."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from smpcore import (
    METHODS,
    SMPClassifier,
    codegen,
    list_datasets,
    load_dataset,
    prepare,
    read_table,
    split,
)
from smpcore.codegen import agreement, emit_python, error_bound, quantise
from smpcore.errors import ExportError
from smpcore.methods import refusals
from tests.bench import export

#: Data that every method learns: features, and not similarities or texts.
CLASSIFICATION = [
    info.key
    for info in list_datasets()
    if info.task == "classification" and not refusals(load_dataset(info.key))
]
REGRESSION = [info.key for info in list_datasets() if info.task == "regression"]


#: Small sets, which everything learns.
FEW = ["iris", "wine", "breast_cancer"]


def learnable(key, kind):
    """Whether an estimator of numbers learns these data with this similarity."""
    dataset = load_dataset(key)
    X = dataset.frame[dataset.feature_columns].to_numpy(float)
    if kind == "ncc":
        return X.shape[1] > 1  # a single feature correlates with everything alike
    return kind != "intersection" or X.min() >= 0


def _fits(family, kind):
    """Models of several sets, with what they were made from."""
    fit, keys = {
        "svm": (export.svm, CLASSIFICATION),
        "invented cases": (export.super_sparse, [*FEW, "digits", "moons"]),
        "values": (export.super_sparse_regression, REGRESSION),
        # Rounding proves less of a code: which prototypes are in it may change.
        "code": (export.imkpl, FEW + ["digits"] * (kind == "linear")),
        "method": (export.at_defaults, CLASSIFICATION),
    }[family]
    for key in keys:
        if family in ("svm", "method") or learnable(key, kind):
            yield export.kernel_fitted(key, fit, METHODS.get(kind, kind))


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        *(("method", key) for key in METHODS if key != "imkpl"),
        *(("svm", kind) for kind in ("rbf", "poly")),
        *product(("invented cases", "values"), export.PLAIN),
        *(("code", kind) for kind in ("features", "rbf", "linear")),
    ],
)
def test_what_is_proved_of_a_fitted_model_holds(family, kind):
    """On test rows and random rows, in floats and integers; C gives these bits."""
    for model, preparation, test, compiled in _fits(family, kind):
        table = pd.concat([test, export.random_table(preparation, 300)])
        features = preparation.transform(table)
        fixed = model.low == model.high  # no input of the program
        known = (features[:, fixed] == model.low[fixed]).all(axis=1)
        for width in (None, 8, 16):
            try:
                program = quantise(compiled, width) if width else compiled
            except ExportError:  # a code, or inputs too coarse for 8 bits
                continue
            found = agreement(program, model, table, preparation)
            assert found.n_broken == 0 and found.n_equal >= found.n_certified
            rows, exact = program.rows(table), model.scores(features)
            exact = exact - exact[:, :1] * program.relative
            off = np.abs(program.real_scores(rows) - exact)
            assert (off <= error_bound(program, rows))[known].all()
            if width is None and family != "code":
                assert found.n_certified >= 0.99 * known.sum()
                assert compiled.warnings == () or family != "invented cases"
        if family == "values":
            found = agreement(compiled, model, test, preparation)
            assert found.score_error < 1e-3 * np.ptp(model.scores(features))


def test_vectors_hold_real_rows_of_each_class():
    _, _, test, compiled = export.fitted("digits", METHODS["smp"])
    found = codegen.test_vectors(compiled, compiled.rows(test), source="digits")
    real = np.array(found.kinds) == "real"
    assert set(found.winners[real]) == set(range(10))


PARAMS = {"n_prototypes": 3, "lam": 0.01, "class_weight": "balanced"}


def _run(script, folder, monkeypatch):
    monkeypatch.chdir(folder)
    names = {}
    exec(compile(script, "recipe", "exec"), names)
    assert len(script.splitlines()) <= 12
    return names["model"].model_


def fitted_rows(dataset, division=None, **params):
    """The model of the training rows of a division."""
    rows = split(dataset, **division or {}).train
    X = prepare(dataset, rows).transform(dataset.frame)
    return SMPClassifier(**params).fit(X[rows], dataset.y[rows]).model_


def test_the_script_gives_the_same_model(tmp_path, monkeypatch):
    data = {"key": "moons", "params": {"noise": 0.3, "seed": 5}}
    division = {"validation": 0.1, "test": 0.3, "seed": 7}
    recipe = {"dataset": data, "split": division, "params": PARAMS}
    script = emit_python({**recipe, "estimator": "SMPClassifier"})
    model = _run(script, tmp_path, monkeypatch)
    own = fitted_rows(load_dataset("moons", noise=0.3, seed=5), division, **PARAMS)
    np.testing.assert_array_equal(model.anchors, own.anchors)
    np.testing.assert_array_equal(model.bias, own.bias)


def test_the_script_reads_a_file_as_it_was_read(tmp_path, monkeypatch):
    """Whatever it is called: a name is never code."""
    random = np.random.default_rng(0)
    lines = ["id;größe;it's;klasse"]
    for number in range(80):
        size, kind = random.normal(), random.choice(["a", "b"])
        label = "x" if size + (kind == "a") > 0.5 else "y"
        lines.append(f"{number};{size:.3f};{kind};{label}".replace(".", ","))
    content = "\n".join(lines).encode("latin-1")
    roles = {"klasse": "target", "id": "ignore", "it's": "feature"}
    options = {"roles": roles, "encoding": "latin-1", "delimiter": ";"}
    own = fitted_rows(read_table(content, "mine.csv", **options))
    for name in ("it's mine.csv", "a' + __import__('os').getcwd() + '.csv"):
        (tmp_path / name).write_bytes(content)
        data = {"file": name, "params": options}
        script = emit_python({"dataset": data, "estimator": "SMPClassifier"})
        model = _run(script, tmp_path, monkeypatch)
        np.testing.assert_array_equal(model.anchors, own.anchors)
