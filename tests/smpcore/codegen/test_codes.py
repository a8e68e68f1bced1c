"""Models with a code: the emulator beside float64, and C beside the emulator."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpcore import codegen
from smpcore.chips import measure, sizes
from smpcore.codegen import CompiledModel, agreement, code_bytes, compile_model
from smpcore.codegen.discriminating import active_prototypes
from smpcore.codegen.program import SparseCode
from smpcore.codegen.similarities import SIMILARITIES
from smpcore.codegen.sparse_code import DEPENDENT, sparse_codes
from smpcore.codegen.sparse_code_bounds import code_bounds
from smpcore.errors import ExportError
from smpcore.similarity import Similarity
from smpcore.solvers import nqp
from tests.smpcore.codegen.kernel_models import coded_model
from tests.smpcore.codegen.programs import changed
from tests.smpcore.codegen.test_bundle import HOST_C
from tests.smpcore.codegen.test_c99 import _rows
from tests.smpcore.codegen.toolchain import (
    COMPILED,
    SANITIZE,
    STRICT,
    answers_in_c,
    run,
    unnoticed,
    write_sources,
)
from tests.smpcore.codegen.zips import bundle, readme, unpack


def _linear_model():
    """A code of linear prototypes, as given kernels lead to."""
    model = replace(coded_model("cosine"), similarity=Similarity("linear"))
    return replace(model, gram=model.weights @ model.weights.T)


def codes_of(compiled, rows):
    """Code of each row."""
    code = compiled.find(SparseCode)
    alike = compiled.row_scores(rows, until=SparseCode)
    return sparse_codes(code.gram, alike, code.limit)


def _models():
    for kind in SIMILARITIES:
        yield kind, compile_model(coded_model(kind))
    yield "linear", compile_model(_linear_model())
    yield "one", compile_model(coded_model(n_prototypes=2, code_size=1, n_anchors=2))
    wide = coded_model(n_prototypes=40, code_size=12, n_anchors=30, n_features=20)
    yield "wide", compile_model(wide)
    many = coded_model(n_prototypes=300, code_size=2, n_anchors=60)
    yield "300 prototypes", compile_model(many)


@pytest.mark.parametrize(("compiler", "level"), [("gcc", "-O2"), ("clang", "-O3")])
def test_c_equals_the_emulator_bit_for_bit(tool, same_bits, in_turns, compiler, level):
    for name, compiled in in_turns(_models(), compiler == "clang", 2):
        # Vectors for so many prototypes take long, and try no other code.
        rows = (codegen.sample if "300" in name else _rows)(compiled, 300, 0)
        scores, winners = answers_in_c(compiled, rows, tool(compiler), [level])
        same_bits(scores, compiled.scores(rows))
        np.testing.assert_array_equal(winners, compiled.winners(rows))


@given(
    kind=st.sampled_from(sorted(SIMILARITIES)),
    n_prototypes=st.integers(2, 30),
    code_size=st.integers(1, 12),
    n_anchors=st.integers(2, 30),
    seed=st.integers(0, 2**32 - 1),
)
@COMPILED
def test_any_model_is_clean_under_the_sanitizers(
    tool, same_bits, kind, n_prototypes, code_size, n_anchors, seed
):
    model = coded_model(kind, n_prototypes, code_size, seed, n_anchors=n_anchors)
    compiled = compile_model(model)
    rows = _rows(compiled, 200, seed)
    scores, winners = answers_in_c(compiled, rows, tool("gcc"), SANITIZE)
    same_bits(scores, compiled.scores(rows))
    np.testing.assert_array_equal(winners, compiled.winners(rows))
    X = np.random.default_rng(seed).uniform(model.low, model.high, (100, 4))
    assert agreement(compiled, model, X).n_broken == 0


def test_an_avr_gives_the_same_bits(simulated, same_bits):
    avr = simulated("ATmega328P")
    for name, compiled in _models():
        if "300" not in name and "wide" not in name:
            rows = _rows(compiled, 60)[:100]
            found = measure(compiled, rows, avr)
            same_bits(found.scores, compiled.scores(rows))


@pytest.mark.parametrize("chip", ["ATmega328P", "Cortex-M0"])
def test_it_fits_the_chip(simulated, chip):
    for name, compiled in _models():
        if "300" in name:
            continue
        flash, ram = sizes(compiled, simulated(chip), STRICT)
        least, most = code_bytes(compiled, chip)
        assert least <= flash - compiled.table_bytes <= most, name
        assert ram == 0


def test_it_is_plain_c_without_a_library(tool, tmp_path, in_turns):
    ways = in_turns(product(("gcc", "clang"), ("-Os", "-O3")), 0, 3)
    ignored = ["--suppress=missingIncludeSystem", "--suppress=unusedFunction"]
    check = [tool("cppcheck"), "--std=c99", "--enable=all", "--error-exitcode=1"]
    for name, compiled in _models():
        if "300" in name:  # the same code, with more numbers
            continue
        write_sources(tmp_path, compiled)
        if name != "wide":
            run(*check, "--quiet", *ignored, "mdl.c", cwd=tmp_path)
        for compiler, level in ways:
            flags = [*STRICT, level, "-ffreestanding", "-fno-pic", "-c", "mdl.c"]
            run(tool(compiler), *flags, cwd=tmp_path)
            assert run(tool("nm"), "-u", "mdl.o", cwd=tmp_path) == b"", name
        flags = [flag for flag in STRICT if flag != "-std=c99"]
        command = [tool("g++"), "-x", "c++", "-std=c++98", *flags]
        run(*command, "-c", "mdl.c", "-o", "mdl.o", cwd=tmp_path)


# Each kind, and how many of 1000 rows rounding is proved to change no choice of. Eight
# prototypes of four features depend on each other for "cosine": less is proved there.
PROVED = {"rbf": 900, "features": 900, "intersection": 800, "cosine": 700}


@pytest.mark.parametrize("kind", PROVED)
def test_labels_are_those_of_the_model(kind):
    model = coded_model(kind, n_prototypes=8, code_size=4)
    compiled = compile_model(model)
    X = np.random.default_rng(1).uniform(model.low, model.high, (1000, 4))
    found = agreement(compiled, model, X)
    assert found.n_broken == 0
    assert found.n_certified >= PROVED[kind]
    assert found.n_equal == 1000


def test_rows_without_a_bound_are_counted():
    model = coded_model("cosine", n_prototypes=8, code_size=4)
    X = np.random.default_rng(1).uniform(model.low, model.high, (300, 4))
    found = agreement(compile_model(model), model, X)
    assert 0 < found.n_unbounded <= 300 - found.n_certified
    assert np.isfinite(found.score_bound)


def test_the_readme_counts_the_pairs_that_no_vector_tries():
    compiled = compile_model(coded_model(n_prototypes=12, code_size=2))
    vectors = codegen.test_vectors(compiled, n=4)
    codes = codes_of(compiled, vectors.rows)
    tried = {
        tuple(sorted((a, b)))
        for row, size in zip(codes.support, codes.size, strict=True)
        for a in row[:size]
        for b in row[:size]
    }
    words = f"Of the 78 products of prototypes {78 - len(tried)} stand for pairs"
    assert words in readme(compiled, vectors)
    small = compile_model(coded_model(n_prototypes=2, n_anchors=2))
    assert "products of prototypes" not in readme(small, codegen.test_vectors(small))


@pytest.mark.parametrize("name", ["gram", "votes"])
def test_a_broken_code_is_noticed(name):
    model = coded_model()
    compiled = compile_model(model)
    code = compiled.find(SparseCode)
    entries = {"gram": 1.5 * code.gram, "votes": code.votes[:, ::-1]}
    if name == "gram":
        entries["gram"] = code.gram + np.diag(np.arange(6, dtype=np.float32))
    wrong = changed(compiled, **{name: entries[name]})
    X = np.random.default_rng(1).uniform(model.low, model.high, (500, 4))
    assert agreement(wrong, model, X).n_broken > 0


def test_what_nothing_represents_gets_the_fallback():
    model = coded_model()
    compiled = compile_model(model)
    far = np.full((1, 4), 1e6)
    assert codes_of(compiled, compiled.rows(far)).size.tolist() == [0]
    assert compiled.predict(compiled.rows(far)) == model.predict(far) == ["class 1"]
    assert compiled.predict(np.full((1, 4), np.nan)) == ["class 1"]


def test_a_prototype_that_depends_on_the_others_is_left_out():
    gram = np.array([[1, 0, 0.8], [0, 1, 0.6], [0.8, 0.6, 1]], dtype=np.float32)
    codes = sparse_codes(gram, np.array([[0.9, 0.7, 0.2]], dtype=np.float32), 3)
    assert codes.size[0] == 2
    assert set(codes.support[0, :2]) == {0, 1}
    twins = np.ones((2, 2), dtype=np.float32)
    codes = sparse_codes(twins, np.array([[0.5, 0.75]], dtype=np.float32), 2)
    assert (codes.size[0], codes.support[0, 0]) == (1, 1)


def test_both_precisions_leave_out_the_same_prototypes():
    assert DEPENDENT == nqp.DEPENDENT
    random = np.random.default_rng(0)
    anchors = random.normal(size=(30, 8, 3))  # any four of eight depend on each other
    anchors /= np.linalg.norm(anchors, axis=2, keepdims=True)
    proved = 0
    for rows in anchors:
        gram = (rows @ rows.T).astype(np.float32)
        alike = (random.normal(size=(20, 3)) @ rows.T).astype(np.float32)
        exact, values = np.zeros(alike.shape), np.empty(20)
        wide = np.ascontiguousarray(-alike, dtype=np.float64)
        nqp.nqp_rows(gram.astype(np.float64), wide, 6, exact, values)
        _, error = code_bounds(gram, alike.astype(np.float64), 1e-9 + 0 * exact, 6)
        codes = sparse_codes(gram, alike, 6)
        found = np.zeros(alike.shape)
        for r in range(6):
            own = np.flatnonzero(codes.size > r)
            found[own, codes.support[own, r]] = codes.amount[own, r]
        certain = np.isfinite(error).all(axis=1)
        assert (np.abs(found - exact) <= error)[certain].all()
        np.testing.assert_array_equal(found[certain] > 0, exact[certain] > 0)
        proved += int(certain.sum())
    assert proved > 100


def test_a_code_is_the_best_of_its_support():
    model = coded_model(n_prototypes=10, code_size=5)
    compiled = compile_model(model)
    X = np.random.default_rng(2).uniform(model.low, model.high, (200, 4))
    rows = compiled.rows(X)
    codes = codes_of(compiled, rows)
    dense = np.zeros((200, 10))
    for r in range(5):
        own = codes.size > r
        dense[own, codes.support[own, r]] = codes.amount[own, r]
    np.testing.assert_allclose(dense, model.activations(X), atol=2e-3)
    assert (codes.size <= 5).all() and codes.size.max() > 1


def test_json_gives_the_model_back_bit_for_bit(same_bits):
    for _, compiled in _models():
        back = CompiledModel.from_json(compiled.to_json())
        assert back.to_json() == compiled.to_json()
        rows = codegen.sample(compiled, 50)
        same_bits(back.scores(rows), compiled.scores(rows))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gram": np.eye(5, dtype=np.float32)}, "gram should be symmetric"),
        ({"gram": np.triu(np.ones((6, 6)))}, "gram should be symmetric"),
        ({"votes": np.ones((5, 2))}, "votes should have a number"),
        ({"votes": np.ones((6, 3))}, "should give 2 scores"),
        ({"size": 0}, "size should be a whole number"),
        ({"fallback": 2}, "fallback should be an output"),
    ],
)
def test_spoiled_parts_are_refused_in_words(change, words):
    with pytest.raises(ExportError, match=words):
        changed(compile_model(coded_model()), **change)


@pytest.mark.parametrize(
    "kind", ["features", pytest.param("cosine", marks=pytest.mark.exhaustive)]
)
def test_the_self_test_catches_what_is_wrong(tool, tmp_path, kind):
    tool("gcc")
    compiled = compile_model(coded_model(kind, 5, n_features=3, n_anchors=6))
    vectors = codegen.test_vectors(compiled, n=64)
    active = active_prototypes(compiled, vectors.rows)
    together = active.T @ active > 0
    unpack(bundle(compiled, vectors), tmp_path)
    every, unseen = unnoticed(tmp_path, [*HOST_C, "mdl.c"])
    assert {f"mdl_{name}" for name in compiled.tables()} == {
        table for table, _ in every
    }
    # A pair that no vector has in one code may change without showing.
    apart = np.flatnonzero(~together[np.tril_indices(5)])
    assert len(apart) <= 3
    assert set(unseen) <= {("mdl_gram", place) for place in apart}
