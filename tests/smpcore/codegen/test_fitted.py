"""From a fitted method and raw rows to the labels of compiled C."""

from contextlib import suppress

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
from smpcore.codegen import agreement, emit_python, quantise
from smpcore.errors import ExportError
from smpcore.methods import refusals
from tests.bench.export import (
    PLAIN,
    fitted,
    imkpl,
    kernel_fitted,
    random_table,
    super_sparse,
    super_sparse_regression,
    svm,
)
from tests.smpcore.codegen.c_programs import assert_same_in_c, case, near_rows

#: Data that every method learns: features, and not similarities or texts.
CLASSIFICATION = [
    info.key
    for info in list_datasets()
    if info.task == "classification" and not refusals(load_dataset(info.key))
]
REGRESSION = [info.key for info in list_datasets() if info.task == "regression"]


def assert_faithful(fits, tool, n=1000, proved=0.99):
    """C gives the label of each model, in floats; and what is proved of them holds.

    In integers C gives what the emulator gives.
    """
    cases, of_floats = [], {}
    for model, preparation, test, compiled in fits:
        table = pd.concat([test, random_table(preparation, n)])
        rows = compiled.rows(table)
        of_floats[len(cases)] = model, preparation.transform(table)
        cases.append(case(compiled, rows))
        found = agreement(compiled, model, table, preparation)
        assert found.n_broken == 0 and found.n_certified >= proved * found.n_rows
        for width in (8, 16):
            with suppress(ExportError):  # a code, or inputs too coarse for 8 bits
                quant = quantise(compiled, width)
                cases.append(case(quant, near_rows(quant, rows, 1000), rows[:1000]))
    answers = assert_same_in_c(cases, tool("gcc"), ["-O1"])
    for place, (model, X) in of_floats.items():
        if model.classes is not None:
            check_labels(model, X, answers[place]["predict"])


def check_labels(model, X, winners):
    """The model's labels, but where the last digits of its scores break a tie."""
    scores = model.scores(X)
    two = np.sort(scores, axis=1)[:, -2:]
    ties = two[:, 1] - two[:, 0] < 1e-12 * np.abs(scores).max(initial=1)
    assert ties.sum() <= 0.001 * len(X)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.classes[winners][~ties], expected[~ties])


@pytest.mark.parametrize("method", [key for key in METHODS if key != "imkpl"])
def test_compiled_c_gives_the_label_of_the_model(method, tool):
    fits = [fitted(key, METHODS[method]) for key in CLASSIFICATION]
    assert_faithful(fits, tool, 5_000, 0.999)


def _of_kernels(keys, fit, *options):
    """Models of several sets, without the labels of their test rows."""
    for key in keys:
        model, preparation, test, _, compiled = kernel_fitted(key, fit, *options)
        yield model, preparation, test, compiled


@pytest.mark.parametrize("kind", ["rbf", "poly"])
def test_compiled_c_gives_the_label_of_a_kernel_svm(kind, tool):
    assert_faithful(_of_kernels(CLASSIFICATION, svm, kind), tool)


@pytest.mark.parametrize("kind", PLAIN)
def test_compiled_c_gives_the_label_of_invented_cases(kind, tool):
    keys = ["iris", "breast_cancer", "digits"]
    keys += ["moons"] * (kind != "intersection")  # it has numbers below 0
    fits = list(_of_kernels(keys, super_sparse, kind))
    assert all(compiled.warnings == () for *_, compiled in fits)
    assert_faithful(fits, tool)


@pytest.mark.parametrize("kind", ["features", "rbf", "linear"])
def test_compiled_c_gives_the_label_of_a_code(kind, tool):
    keys = ["iris", "wine", "breast_cancer"] + ["digits"] * (kind == "linear")
    # Rounding proves less of a code: which prototypes are in it may change.
    assert_faithful(_of_kernels(keys, imkpl, kind), tool, 300, proved=0)


def learnable(key, kind):
    """Whether an estimator of numbers learns these data with this similarity."""
    dataset = load_dataset(key)
    X = dataset.frame[dataset.feature_columns].to_numpy(float)
    if kind == "ncc":
        return X.shape[1] > 1  # a single feature correlates with everything alike
    return kind != "intersection" or X.min() >= 0


@pytest.mark.parametrize("kind", PLAIN)
def test_compiled_c_is_as_near_as_proved(kind, tool):
    keys = [key for key in REGRESSION if learnable(key, kind)]
    fits = list(_of_kernels(keys, super_sparse_regression, kind))
    assert_faithful(fits, tool, proved=1)
    for model, preparation, test, compiled in fits:
        found = agreement(compiled, model, test, preparation)
        spread = np.ptp(model.predict(preparation.transform(test)))
        assert found.score_error < 1e-3 * spread


def test_vectors_hold_real_rows_of_each_class():
    _, _, test, compiled = fitted("digits", METHODS["smp"])
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


def test_the_script_gives_the_same_model(tmp_path, monkeypatch):
    data = {"key": "moons", "params": {"noise": 0.3, "seed": 5}}
    division = {"validation": 0.1, "test": 0.3, "seed": 7}
    recipe = {"dataset": data, "split": division, "params": PARAMS}
    script = emit_python({**recipe, "estimator": "SMPClassifier"})
    model = _run(script, tmp_path, monkeypatch)

    dataset = load_dataset("moons", noise=0.3, seed=5)
    rows = split(dataset, **division).train
    X = prepare(dataset, rows).transform(dataset.frame)
    own = SMPClassifier(**PARAMS).fit(X[rows], dataset.y[rows]).model_
    np.testing.assert_array_equal(model.anchors, own.anchors)
    np.testing.assert_array_equal(model.bias, own.bias)


def test_the_script_reads_a_file_as_it_was_read(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    lines = ["id;größe;it's;klasse"]
    for number in range(80):
        size, kind = random.normal(), random.choice(["a", "b"])
        label = "x" if size + (kind == "a") > 0.5 else "y"
        lines.append(f"{number};{size:.3f};{kind};{label}".replace(".", ","))
    content = "\n".join(lines).encode("latin-1")
    name = "it's mine.csv"
    (tmp_path / name).write_bytes(content)
    options = {"roles": {"klasse": "target", "id": "ignore"}, "encoding": "latin-1"}
    data = {"file": name, "params": options}
    script = emit_python({"dataset": data, "estimator": "SMPClassifier"})
    model = _run(script, tmp_path, monkeypatch)
    dataset = read_table(content, name, **options)
    rows = split(dataset).train
    X = prepare(dataset, rows).transform(dataset.frame)
    own = SMPClassifier().fit(X[rows], dataset.y[rows]).model_
    np.testing.assert_array_equal(model.anchors, own.anchors)
