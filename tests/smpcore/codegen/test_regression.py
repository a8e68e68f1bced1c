"""Models whose answer is a number: bit for bit the emulator, near the float64 value."""

import json

import numpy as np
import pytest

from smpcore import codegen, list_datasets, load_dataset
from smpcore.chips import measure, sizes
from smpcore.codegen import (
    CompiledModel,
    agreement,
    code_bytes,
    compile_model,
    error_bound,
)
from smpcore.codegen.similarities import SIMILARITIES
from smpcore.errors import ExportError
from tests.bench.export import kernel_fitted, random_table, super_sparse_regression
from tests.smpcore.codegen.kernel_models import random_kernel_model
from tests.smpcore.codegen.programs import changed, part
from tests.smpcore.codegen.test_bundle import FILES, HOST_C
from tests.smpcore.codegen.test_c99 import _rows
from tests.smpcore.codegen.toolchain import (
    SANITIZE,
    STRICT,
    answers_in_c,
    run,
    unnoticed,
    write_sources,
)
from tests.smpcore.codegen.zips import bundle, readme, unpack

KINDS = ["linear", *SIMILARITIES]
REGRESSION = [info.key for info in list_datasets() if info.task == "regression"]


def _one_value(make, m, seed=0, **changes):
    random = np.random.default_rng(seed)
    parts = {"pooling": "sum", "classes": None, "votes": random.normal(size=(m, 1))}
    return make(**{"intercept": np.array([40.0]), **parts, **changes})


@pytest.fixture(scope="module")
def model_of(random_model):
    """A regression model of random numbers, by kind of similarity."""

    def make(kind, **changes):
        if kind == "linear":
            return _one_value(random_model, 6, **changes)
        return _one_value(
            lambda **parts: random_kernel_model(kind, **parts), 6, **changes
        )

    return make


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c_gives_the_bits_of_the_emulator(kind, model_of, tool, same_bits, compiler):
    compiled = compile_model(model_of(kind))
    rows = _rows(compiled, 2000)
    for flags in (["-O2"], ["-O3"], SANITIZE):
        values, _ = answers_in_c(compiled, rows, tool(compiler), flags)
        number = ~np.isnan(values)
        assert number.sum() > 1000
        np.testing.assert_array_equal(np.isnan(compiled.scores(rows)), ~number)
        same_bits(values[number], compiled.scores(rows)[number])


@pytest.mark.parametrize("kind", KINDS)
def test_values_stay_within_the_bound(kind, model_of):
    for seed in range(5):
        model = model_of(kind, seed=seed)
        X = np.random.default_rng(seed).uniform(model.low, model.high)[None]
        X = X + model.scale * np.random.default_rng(1).normal(size=(500, X.shape[1]))
        compiled = compile_model(model)
        rows = compiled.rows(X)
        assert compiled.scores(rows).shape == (500, 1)
        values = compiled.predict(rows)
        assert (
            np.abs(values - model.predict(X)) <= error_bound(compiled, rows)[:, 0]
        ).all()
        found = agreement(compiled, model, X)
        assert (found.n_broken, found.n_equal, found.n_certified) == (0, 500, 500)
        assert "is proved" in found.in_words
        assert 0 < found.score_error <= found.score_bound < 1e-2


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_model_is_noticed(kind, model_of):
    model = model_of(kind)
    compiled = compile_model(model)
    weight = part(compiled, "weight") * np.float32(1.001)
    wrong = changed(compiled, weight=weight)
    X = np.random.default_rng(1).uniform(model.low, model.high, (200, model.n_features))
    assert agreement(wrong, model, X).n_broken > 100


@pytest.mark.parametrize("kind", KINDS)
def test_an_avr_gives_the_same_bits(kind, model_of, simulated, same_bits):
    compiled = compile_model(model_of(kind))
    rows = codegen.sample(compiled, 40)
    found = measure(compiled, rows, simulated("ATmega328P"))
    same_bits(found.scores, compiled.scores(rows))


@pytest.mark.parametrize("chip", ["ATmega328P", "Cortex-M0"])
def test_it_fits_the_chip(model_of, simulated, chip):
    for kind in KINDS:
        compiled = compile_model(model_of(kind))
        flash, ram = sizes(compiled, simulated(chip), STRICT)
        least, most = code_bytes(compiled, chip)
        assert least <= flash - compiled.table_bytes <= most, kind
        assert ram == 0


@pytest.mark.parametrize("kind", KINDS)
def test_its_files_are_strict(kind, model_of, tool, tmp_path):
    compiled = compile_model(model_of(kind))
    vectors = codegen.test_vectors(compiled, n=40)
    assert unpack(bundle(compiled, vectors), tmp_path) == FILES
    said = run(tool("make"), "CC=" + tool("gcc"), cwd=tmp_path)
    assert b"selftest: 0 of " in said
    for compiler in ("gcc", "clang"):
        command = [tool(compiler), *STRICT, "-o", "host", *HOST_C, "mdl.c"]
        run(*command, cwd=tmp_path)
    write_sources(tmp_path, compiled)
    flags = [flag for flag in STRICT if flag != "-std=c99"]
    run(tool("g++"), "-x", "c++", "-std=c++98", *flags, "-c", "mdl.c", cwd=tmp_path)
    ignored = ["--suppress=missingIncludeSystem", "--suppress=unusedFunction"]
    command = [tool("cppcheck"), "--std=c99", "--enable=all", "--error-exitcode=1"]
    run(*command, "--quiet", *ignored, "mdl.c", cwd=tmp_path)
    source = (tmp_path / "mdl.c").read_text() + (tmp_path / "mdl.h").read_text()
    assert "label" not in source
    assert "class" not in source.lower()


@pytest.mark.parametrize(
    "kind",
    ["linear", "laplacian", pytest.param("ncc", marks=pytest.mark.exhaustive)],
)
def test_the_self_test_catches_what_is_wrong(kind, model_of, tool, tmp_path):
    tool("gcc")
    # A large intercept would hide the last digits of what is added to it.
    compiled = compile_model(model_of(kind, intercept=np.array([0.1])))
    unpack(bundle(compiled, codegen.test_vectors(compiled, n=64)), tmp_path)
    every, unseen = unnoticed(tmp_path, [*HOST_C, "mdl.c"])
    assert len(every) > 10
    # There is no class, and the coefficients of 2^-u are tried elsewhere.
    assert {table for table, _ in unseen} <= {"mdl_owner", "mdl_exp2"}


def learnable(key, kind):
    """Whether an estimator of numbers learns these data with this similarity."""
    if kind == "features":
        return False  # per-feature kernels belong to another family
    dataset = load_dataset(key)
    X = dataset.frame[dataset.feature_columns].to_numpy(float)
    if kind == "ncc":
        return X.shape[1] > 1  # a single feature correlates with everything alike
    return kind != "intersection" or X.min() >= 0


@pytest.mark.parametrize(
    ("key", "kind"),
    [(key, k) for key in REGRESSION for k in SIMILARITIES if learnable(key, k)],
)
def test_compiled_c_is_as_near_as_proved(key, kind, tool, same_bits):
    model, preparation, test, _, compiled = kernel_fitted(
        key, super_sparse_regression, kind
    )
    assert compiled.warnings == ()
    for table in (test, random_table(preparation, 1000)):
        rows = compiled.rows(table)
        values, _ = answers_in_c(compiled, rows, tool("gcc"))
        same_bits(values, compiled.scores(rows))
        found = agreement(compiled, model, table, preparation)
        assert found.n_broken == 0
        assert found.n_certified == found.n_rows
        spread = np.ptp(model.predict(preparation.transform(test)))
        assert found.score_error < 1e-3 * spread


def test_the_page_speaks_of_a_value(model_of):
    compiled = compile_model(model_of("rbf"))
    vectors = codegen.test_vectors(compiled, codegen.sample(compiled, 50), source="x")
    assert vectors.n_real == 11
    assert (np.diff(vectors.scores[:11, 0]) >= 0).all()
    text = readme(compiled, vectors)
    assert "# A regression model of" in text
    assert "A sum of 7 similarities to anchors of 5 features (rbf similarity)" in text
    assert "float value = mdl_predict(x);" in text
    assert "On the test vectors it is proved to be within" in text


def test_json_gives_the_model_back(model_of):
    for kind in KINDS:
        compiled = compile_model(model_of(kind))
        back = CompiledModel.from_json(compiled.to_json())
        assert back.classes is None
        assert back.to_json() == compiled.to_json()


def test_a_second_row_is_refused(random_model):
    content = json.loads(compile_model(random_model()).to_json())
    content |= {"classes": None, "prototype_labels": [0] * 6}
    with pytest.raises(ExportError, match="bias should be one number for regression"):
        CompiledModel.from_json(json.dumps(content))
