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
from smpcore.methods import refusals
from tests.bench.export import (
    PLAIN,
    fitted,
    imkpl,
    kernel_fitted,
    random_table,
    super_sparse,
    svm,
)
from tests.smpcore.codegen.toolchain import answers_in_c

#: Data that every method learns: features, and not similarities or texts.
CLASSIFICATION = [
    info.key
    for info in list_datasets()
    if info.task == "classification" and not refusals(load_dataset(info.key))
]


#: Methods whose models have a code: other tests, as rounding proves less of them.
CODED = {"imkpl"}
PLAIN_METHODS = {key: method for key, method in METHODS.items() if key not in CODED}


@pytest.mark.parametrize("kind", ["features", "rbf", "linear"])
@pytest.mark.parametrize("key", ["iris", "wine", "breast_cancer"])
def test_compiled_c_gives_the_label_of_a_code(key, kind, tool, same_bits):
    model, preparation, _, _, compiled = kernel_fitted(key, imkpl, kind)
    random = random_table(preparation, 300)
    for table, least in ((load_dataset(key).frame, 1.0), (random, 0.99)):
        rows = compiled.rows(table)
        scores, winners = answers_in_c(compiled, rows, tool("gcc"))
        same_bits(scores, compiled.scores(rows))
        np.testing.assert_array_equal(winners, compiled.winners(rows))
        found = agreement(compiled, model, table, preparation)
        assert found.n_broken == 0
        assert found.n_equal >= least * found.n_rows


def _echoes():
    """Two classes of 104 noisy curves with 60 values, as of a sonar."""
    random, times = np.random.default_rng(0), np.arange(60) / 60
    y = np.repeat(["rock", "metal"], 104)
    place = np.where(y == "rock", 0.55, 0.35) + 0.06 * random.normal(size=208)
    peaks = np.exp(-50 * (times - place[:, None]) ** 2)
    noise = random.normal(size=(208, 70)).cumsum(axis=1)
    return np.abs(peaks + 0.15 * (noise[:, 10:] - noise[:, :-10])), y


@pytest.mark.parametrize("kind", ["features", "rbf", "linear"])
def test_compiled_c_gives_the_label_of_a_code_of_echoes(kind, tool, same_bits):
    X, y = _echoes()
    model = imkpl(X[::2], y[::2], kind)
    compiled = codegen.compile_model(model)
    random = np.random.default_rng(0).uniform(model.low, model.high, (100, 60))
    for table in (X, random):
        rows = compiled.rows(table)
        scores, winners = answers_in_c(compiled, rows, tool("gcc"))
        same_bits(scores, compiled.scores(rows))
        np.testing.assert_array_equal(winners, compiled.winners(rows))
        found = agreement(compiled, model, table)
        assert found.n_broken == 0
        assert found.n_equal == found.n_rows


def test_compiled_c_gives_the_label_of_a_code_of_ten_classes(tool, same_bits):
    model, preparation, test, _, compiled = kernel_fitted("digits", imkpl, "linear")
    scores, winners = answers_in_c(compiled, compiled.rows(test), tool("gcc"))
    same_bits(scores, compiled.scores(compiled.rows(test)))
    expected = model.predict(preparation.transform(test))
    np.testing.assert_array_equal(model.classes[winners], expected)
    assert agreement(compiled, model, test[:100], preparation).n_broken == 0


def check_labels(model, X, winners):
    """The model's labels, but where the last digits of its scores break a tie."""
    scores = model.scores(X)
    two = np.sort(scores, axis=1)[:, -2:]
    ties = two[:, 1] - two[:, 0] < 1e-12 * np.abs(scores).max(initial=1)
    assert ties.sum() <= 0.001 * len(X)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.classes[winners][~ties], expected[~ties])


@pytest.mark.parametrize("method", PLAIN_METHODS.values(), ids=PLAIN_METHODS)
@pytest.mark.parametrize("key", CLASSIFICATION)
def test_compiled_c_gives_the_label_of_the_model(key, method, tool, same_bits):
    model, preparation, test, compiled = fitted(key, method)
    n_certified = n_rows = 0
    for table in (test, random_table(preparation, 10_000)):
        rows = compiled.rows(table)
        scores, winners = answers_in_c(compiled, rows, tool("gcc"))
        same_bits(scores, compiled.scores(rows))
        check_labels(model, preparation.transform(table), winners)
        found = agreement(compiled, model, table, preparation)
        assert found.n_broken == 0
        n_certified += found.n_certified
        n_rows += found.n_rows
    assert n_certified >= 0.999 * n_rows


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


INVENTED = [
    (key, kind)
    for key in ("moons", "iris", "breast_cancer", "digits")
    for kind in PLAIN
    if (key, kind) != ("moons", "intersection")  # it has numbers below 0
]


@pytest.mark.parametrize(("key", "kind"), INVENTED)
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
