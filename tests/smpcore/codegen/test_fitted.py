"""From a fitted method and raw rows to the labels of compiled C."""

import numpy as np
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
from smpcore.codegen import agreement, emit_python
from smpcore.codegen.kernels import KERNELS
from smpcore.errors import ExportError
from tests.bench.export import (
    fitted,
    kernel_fitted,
    random_table,
    super_sparse,
    svm,
)
from tests.smpcore.codegen.toolchain import answers_in_c

CLASSIFICATION = [d.key for d in list_datasets() if d.task == "classification"]


#: Methods whose models have a code, which no target can express yet.
CODED = {"imkpl"}
EXPORTED = {key: method for key, method in METHODS.items() if key not in CODED}


@pytest.mark.parametrize("key", sorted(CODED))
def test_a_code_is_refused_in_words(key):
    with pytest.raises(ExportError, match="similarity='features' cannot be exported"):
        fitted("iris", METHODS[key])


@pytest.mark.parametrize("method", EXPORTED.values(), ids=EXPORTED)
@pytest.mark.parametrize("key", CLASSIFICATION)
def test_compiled_c_gives_the_label_of_the_model(key, method, tool, same_bits):
    model, preparation, test, compiled = fitted(key, method)
    for table in (test, random_table(preparation, 10_000)):
        rows = compiled.rows(table)
        scores, winners = answers_in_c(compiled, rows, tool("gcc"))
        same_bits(scores, compiled.scores(rows))
        expected = model.predict(preparation.transform(table))
        np.testing.assert_array_equal(model.classes[winners], expected)
        found = agreement(compiled, model, table, preparation)
        assert found.n_broken == 0
        assert found.n_certified >= 0.999 * found.n_rows


@pytest.mark.parametrize("kind", ["rbf", "poly"])
@pytest.mark.parametrize("key", CLASSIFICATION)
def test_compiled_c_gives_the_label_of_a_kernel_svm(key, kind, tool, same_bits):
    model, preparation, test, _, compiled = kernel_fitted(key, svm, kind)
    for table in (test, random_table(preparation, 1000)):
        rows = compiled.rows(table)
        scores, winners = answers_in_c(compiled, rows, tool("gcc"))
        same_bits(scores, compiled.scores(rows))
        expected = model.predict(preparation.transform(table))
        np.testing.assert_array_equal(model.classes[winners], expected)
        found = agreement(compiled, model, table, preparation)
        assert found.n_broken == 0
        assert found.n_certified >= 0.99 * found.n_rows


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("key", ["moons", "iris", "breast_cancer", "digits"])
def test_compiled_c_gives_the_label_of_invented_cases(key, kind, tool, same_bits):
    model, preparation, test, _, compiled = kernel_fitted(key, super_sparse, kind)
    assert compiled.warnings == ()
    for table in (test, random_table(preparation, 1000)):
        rows = compiled.rows(table)
        scores, winners = answers_in_c(compiled, rows, tool("gcc"))
        same_bits(scores, compiled.scores(rows))
        expected = model.predict(preparation.transform(table))
        np.testing.assert_array_equal(model.classes[winners], expected)
        found = agreement(compiled, model, table, preparation)
        assert found.n_broken == 0
        assert found.n_certified >= 0.99 * found.n_rows


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
