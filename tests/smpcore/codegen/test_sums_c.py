"""Similarity sums in C: bit for bit the emulator, on this computer and on chips."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpcore import codegen
from smpcore.chips import measure, sizes
from smpcore.codegen import code_bytes, compile_model
from smpcore.codegen.similarities import SIMILARITIES
from tests.smpcore.codegen.kernel_models import random_kernel_model
from tests.smpcore.codegen.programs import changed, part
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
from tests.smpcore.codegen.zips import bundle, unpack


def _models(mixed):
    """Models that take every branch of the emitter."""
    _, preparation = mixed
    names = preparation.feature_names
    for kind in SIMILARITIES:
        model = random_kernel_model(kind)
        yield f"{kind} dense", compile_model(model)
        yield (
            f"{kind} sparse",
            compile_model(random_kernel_model(kind, density=0.2, n_anchors=20)),
        )
        far = {"low": model.low + 1e5, "high": model.high + 1e5}
        far = replace(model, center=model.center + 1e5, **far)
        yield f"{kind} offset", compile_model(far)
        yield (
            f"{kind} categories",
            compile_model(
                random_kernel_model(kind, len(names), n_classes=2, feature_names=names),
                preparation,
            ),
        )
        yield (
            f"{kind} one of each",
            compile_model(
                random_kernel_model(kind, n_features=1, n_anchors=1, n_classes=2)
            ),
        )
        yield (
            f"{kind} 300 features",
            compile_model(random_kernel_model(kind, n_features=300, n_anchors=3)),
        )
        yield (
            f"{kind} 300 anchors, 300 classes",
            compile_model(
                random_kernel_model(kind, 2, n_anchors=300, n_classes=300, density=0.02)
            ),
        )
    model = random_kernel_model("poly")
    for degree in (1, 2, 5):
        how = replace(model.similarity, degree=degree)
        yield f"degree {degree}", compile_model(replace(model, similarity=how))
    narrow = random_kernel_model("rbf")
    how = replace(narrow.similarity, gamma=5.0)
    yield "narrow", compile_model(replace(narrow, similarity=how))


IN_ORDER = list(product(("gcc", "clang"), ("-O2", "-O3")))


@pytest.mark.parametrize(("compiler", "level"), IN_ORDER)
def test_c_equals_the_emulator_bit_for_bit(
    mixed, tool, same_bits, in_turns, compiler, level
):
    turn = IN_ORDER.index((compiler, level))
    for name, compiled in in_turns(_models(mixed), turn, len(IN_ORDER)):
        rows = _rows(compiled, 5000 if "dense" in name else 500)
        scores, winners = answers_in_c(compiled, rows, tool(compiler), [level])
        same_bits(scores, compiled.scores(rows))
        np.testing.assert_array_equal(winners, compiled.winners(rows))


@given(
    kind=st.sampled_from(sorted(SIMILARITIES)),
    n_features=st.integers(1, 60),
    n_anchors=st.integers(1, 60),
    n_classes=st.integers(2, 5),
    density=st.floats(0.0, 1.0),
    exponent=st.integers(-6, 6),
    seed=st.integers(0, 2**32 - 1),
)
@COMPILED
def test_any_model_is_clean_under_the_sanitizers(
    tool, same_bits, kind, n_features, n_anchors, n_classes, density, exponent, seed
):
    model = random_kernel_model(kind, n_features, n_anchors, n_classes, density, seed)
    parts = {name: getattr(model, name) for name in ("center", "scale", "low", "high")}
    model = replace(model, **{k: v * 10.0**exponent for k, v in parts.items()})
    compiled = compile_model(model)
    rows = _rows(compiled, 300, seed)
    for compiler in ("gcc", "clang") if seed % 4 == 0 else ("gcc",):
        scores, winners = answers_in_c(compiled, rows, tool(compiler), SANITIZE)
        same_bits(scores, compiled.scores(rows))
        np.testing.assert_array_equal(winners, compiled.winners(rows))


@pytest.mark.parametrize("kind", SIMILARITIES)
def test_clang_finds_nothing_either(tool, same_bits, kind):
    compiled = compile_model(random_kernel_model(kind, density=0.3))
    rows = _rows(compiled, 500)
    scores, _ = answers_in_c(compiled, rows, tool("clang"), SANITIZE)
    same_bits(scores, compiled.scores(rows))


def test_an_avr_gives_the_same_bits(mixed, simulated, same_bits):
    avr = simulated("ATmega328P")
    skipped = ("300", "offset")
    for name, compiled in _models(mixed):
        if any(word in name for word in skipped):
            continue
        rows = _rows(compiled, 60)[:100]
        # Ever farther from the anchors, down to the smallest similarity and beyond.
        away = np.geomspace(1e-4, 60, 60)[:, None]
        rows[:60] = rows[:1] + away * (rows[:60] - rows[:1])
        found = measure(compiled, rows, avr)
        same_bits(found.scores, compiled.scores(rows))


def test_a_wrong_score_on_an_avr_is_noticed(simulated):
    compiled = compile_model(random_kernel_model())
    weight = np.nextafter(part(compiled, "weight"), np.float32(9))
    wrong = changed(compiled, weight=weight)
    rows = _rows(compiled, 60)[:20]
    found = measure(wrong, rows, simulated("ATmega328P"))
    assert (found.scores != compiled.scores(rows)).any()


@pytest.mark.parametrize("chip", ["ATmega328P", "Cortex-M0"])
def test_it_fits_the_chip(mixed, simulated, chip):
    for name, compiled in _models(mixed):
        if "300" in name:
            continue
        flash, ram = sizes(compiled, simulated(chip), STRICT)
        least, most = code_bytes(compiled, chip)
        assert least <= flash - compiled.table_bytes <= most, name
        assert ram == 0


@pytest.mark.parametrize("level", ["-Os", "-O2", "-O3"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_it_calls_no_library(mixed, tool, tmp_path, in_turns, compiler, level):
    turn = 3 * (compiler == "clang") + ("-Os", "-O2", "-O3").index(level)
    for name, compiled in in_turns(_models(mixed), turn, 6):
        write_sources(tmp_path, compiled)
        flags = [*STRICT, level, "-ffreestanding", "-fno-pic", "-c", "mdl.c"]
        run(tool(compiler), *flags, cwd=tmp_path)
        assert run(tool("nm"), "-u", "mdl.o", cwd=tmp_path) == b"", name


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_it_is_valid_cpp(mixed, tool, tmp_path, compiler):
    flags = [flag for flag in STRICT if flag != "-std=c99"]
    for name, compiled in _models(mixed):
        if "dense" in name or "categories" in name or "degree" in name:
            write_sources(tmp_path, compiled)
            for language in ("c++98", "c++17"):
                command = [tool(compiler), "-x", "c++", f"-std={language}", *flags]
                run(*command, "-c", "mdl.c", "-o", "mdl.o", cwd=tmp_path)


def test_cppcheck_finds_nothing(mixed, tool, tmp_path):
    ignored = ["--suppress=missingIncludeSystem", "--suppress=unusedFunction"]
    command = [tool("cppcheck"), "--std=c99", "--enable=all", "--error-exitcode=1"]
    for name, compiled in _models(mixed):
        if "300 classes" in name and "rbf" not in name:  # seconds each, for its size
            continue
        write_sources(tmp_path, compiled)
        run(*command, "--quiet", *ignored, "mdl.c", cwd=tmp_path)


@pytest.mark.parametrize("kind", SIMILARITIES)
def test_the_self_test_of_a_bundle_runs(mixed, tool, tmp_path, kind):
    _, preparation = mixed
    names = preparation.feature_names
    model = random_kernel_model(kind, len(names), n_classes=2, feature_names=names)
    compiled = compile_model(model, preparation)
    vectors = codegen.test_vectors(compiled, n=64)
    packed = bundle(compiled, vectors)
    assert packed == bundle(
        codegen.CompiledModel.from_json(compiled.to_json()), vectors
    )
    unpack(packed, tmp_path)
    said = run(tool("make"), "CC=" + tool("gcc"), cwd=tmp_path)
    assert b"selftest: 0 of 64 differ" in said


@pytest.mark.parametrize(
    ("kind", "dense"),
    [
        pytest.param(kind, dense, marks=pytest.mark.exhaustive if other else ())
        for number, kind in enumerate(SIMILARITIES)
        for dense, other in ((True, number % 2), (False, 1 - number % 2))
    ],
)
def test_the_self_test_catches_what_is_wrong(tool, tmp_path, kind, dense):
    tool("gcc")
    mixing = np.random.default_rng(0).normal(size=(6, 2))
    if not dense:
        mixing[np.arange(6) % 2 == 0, 0] = mixing[np.arange(6) % 2 == 1, 1] = 0.0
    # Far from 0, so that there are offsets; one prototype per class: each is heard.
    # Overlaps are of histograms as they are: their centre is 0.
    center = np.full(3, 0.0 if kind == "intersection" else 1e4)
    model = random_kernel_model(
        kind,
        n_features=3,
        n_anchors=6,
        n_classes=2,
        mixing=mixing,
        bias=np.array([0.1, -0.1]),
        votes=np.eye(2),
        counts=np.ones(2, dtype=np.int64),
        center=center,
        low=center - 2 * (kind != "intersection"),
        high=center + 2,
    )
    compiled = compile_model(model)
    unpack(bundle(compiled, codegen.test_vectors(compiled, n=64)), tmp_path)
    assert part(compiled, "is_dense") is dense
    every, unseen = unnoticed(tmp_path, [*HOST_C, "mdl.c"])
    assert {f"mdl_{name}" for name in compiled.tables()} == {
        table for table, _ in every
    }
    assert unseen == []
