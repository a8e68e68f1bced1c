"""C of integer models: strict compilers, sanitizers, analysers, and wrong numbers."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smpcore.codegen import compile_model, emit_c99, quantise
from smpcore.codegen.costs import has_tables
from smpcore.errors import ExportError
from tests.smpcore.codegen.integers.chips import integer_answers, write_integers
from tests.smpcore.codegen.integers.test_integers_linear import drawn_integers
from tests.smpcore.codegen.kernel_models import random_kernel_model
from tests.smpcore.codegen.random_models import random_linear
from tests.smpcore.codegen.test_bundle import _mutants
from tests.smpcore.codegen.test_c99 import _rows
from tests.smpcore.codegen.test_regression import _one_value
from tests.smpcore.codegen.toolchain import (
    SANITIZE,
    STRICT,
    CommandFailed,
    run,
    write_sources,
)

#: A float that no integer holds is undefined, too.
CLEAN = [*SANITIZE, "-fsanitize=float-cast-overflow"]


def _sums(kind, **changes):
    return compile_model(random_kernel_model(kind, **changes))


def _value(make, m=6, **changes):
    return compile_model(_one_value(make, m, **changes))


@pytest.fixture(scope="module")
def model_of(mixed_model):
    """A compiled model of random numbers: each takes other branches of the emitter."""
    made = {
        "mixed": lambda: mixed_model,
        "written out": lambda: compile_model(random_linear(5, 2, 2, 0.8)),
        "dense": lambda: compile_model(random_linear(30, 3, 1, 1.0)),
        "digits": lambda: compile_model(random_linear(64, 10, 2, 0.6)),
        "300 classes": lambda: compile_model(random_linear(3, 300, 1)),
        "value": lambda: _value(random_linear),
        "value of many": lambda: _value(random_linear, 6, n_features=40, density=1.0),
        "rbf": lambda: _sums("rbf"),
        "sparse rbf": lambda: _sums("rbf", density=0.4),
        "laplacian": lambda: _sums("laplacian"),
        "value of rbf": lambda: _value(random_kernel_model, 6),
    }
    names = list(made)

    def make(name):
        return made[name]()

    make.names = names
    return make


NAMES = [
    *("mixed", "written out", "dense", "digits", "300 classes", "value"),
    *("value of many", "rbf", "sparse rbf", "laplacian", "value of rbf"),
]


def assert_same(quant, integers, values, *how):
    """C gives every answer of the emulator."""
    found = integer_answers(quant, integers, values, *how)
    np.testing.assert_array_equal(found.scores, quant.scores(integers))
    np.testing.assert_array_equal(found.quantised, quant.quantise(values))
    np.testing.assert_array_equal(found.saturated, quant.saturated(integers))
    if not quant.is_regression:
        np.testing.assert_array_equal(found.winners, quant.winners(integers))
        np.testing.assert_array_equal(found.margins, quant.margins(integers))


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("name", NAMES)
def test_c_equals_the_emulator(model_of, tool, name, width):
    quant = quantise(model_of(name), width)
    n = 300 if name == "300 classes" else 3_000
    integers, values = drawn_integers(quant, n), _rows(quant.source, n)[:n]
    for compiler, flags in (
        ("gcc", ["-O3"]),
        ("gcc", CLEAN),
        ("clang", ["-O2"]),
        ("clang", ["-O3", *CLEAN]),
    ):
        assert_same(quant, integers, values, tool(compiler), flags)


@given(
    kind=st.sampled_from(["linear", "linear", "rbf", "laplacian"]),
    n_features=st.integers(1, 300),
    n_classes=st.integers(2, 6),
    many=st.integers(1, 4),
    exponent=st.integers(-6, 6),
    density=st.floats(0.01, 1.0),
    width=st.sampled_from([8, 16]),
    accumulator=st.sampled_from([None, 16, 32]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_model_overflows(
    tool, kind, n_features, n_classes, many, exponent, density, width, accumulator, seed
):
    if kind == "linear":
        model = random_linear(n_features, n_classes, many, density, seed)
    else:
        sizes = n_features, 3 * many, n_classes, density
        model = random_kernel_model(kind, *sizes, seed)
    parts = {name: getattr(model, name) for name in ("center", "scale", "low", "high")}
    model = replace(model, **{k: v * 10.0**exponent for k, v in parts.items()})
    compiled = compile_model(model)
    try:
        quant = quantise(compiled, width, accumulator=accumulator)
    except ExportError as error:
        # A user who asks for narrow sums may be told that they do not suffice.
        assert accumulator == 16, error
        quant = quantise(compiled, width)
    integers, values = drawn_integers(quant, 400, seed), _rows(compiled, 400)[:400]
    integers[3:3] = quant.saturating_row
    reached = np.abs(quant.row_scores(integers)).max()
    assert reached <= quant.largest <= 2 ** (quant.accumulator - 1) - 1
    assert_same(quant, integers, values, tool("gcc"), CLEAN)


@pytest.mark.parametrize("width", [8, 16, 32])
@pytest.mark.parametrize("name", NAMES)
def test_analysers_find_nothing(model_of, tool, tmp_path, name, width):
    model = model_of(name)
    if width < 32:
        model = quantise(model, width)
    write_sources(tmp_path, model)
    files = [file for file in emit_c99(model) if file.endswith(".c")]
    ignored = ["--suppress=missingIncludeSystem", "--suppress=unusedFunction"]
    command = [tool("cppcheck"), "--std=c99", "--enable=all", "--error-exitcode=1"]
    run(*command, "--quiet", *ignored, *files, cwd=tmp_path)
    analyse = [tool("clang"), "--analyze", "-Xclang", "-analyzer-werror", "-std=c99"]
    run(*analyse, *files, cwd=tmp_path)


def test_an_analyser_that_finds_something_fails(tool, tmp_path):
    (tmp_path / "bad.c").write_text("int f(void) { int x; return x + 1; }\n")
    with pytest.raises(CommandFailed):
        run(tool("cppcheck"), "--error-exitcode=1", "bad.c", cwd=tmp_path)
    analyse = [tool("clang"), "--analyze", "-Xclang", "-analyzer-werror"]
    with pytest.raises(CommandFailed):
        run(*analyse, "bad.c", cwd=tmp_path)


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("name", NAMES)
def test_it_calls_no_library_and_is_valid_cpp(model_of, tool, tmp_path, name, width):
    quant = quantise(model_of(name), width)
    write_integers(tmp_path, quant)
    for file in ("model.c", "model_quantise.c"):
        flags = [*STRICT, "-Os", "-ffreestanding", "-fno-pic", "-c", file, "-o", "m.o"]
        run(tool("gcc"), *flags, cwd=tmp_path)
        unknown = run(tool("nm"), "-u", "m.o", cwd=tmp_path)
        assert unknown == b""
        strict = [flag for flag in STRICT if flag != "-std=c99"]
        command = [tool("g++"), "-x", "c++", "-std=c++98", *strict]
        run(*command, "-c", file, "-o", "m.o", cwd=tmp_path)


_COMPARE = """
#include <stdio.h>
#include "model.h"
#ifndef MDL_CLASSES
#define MDL_CLASSES 1
#define mdl_scores(x, scores) ((void)(*(scores) = mdl_predict(x)))
#define ANSWER(x) 0
#else
#define ANSWER(x) mdl_predict(x)
#endif
static const INPUT rows[][MDL_N] = {%s};
static const SCORE wanted[][MDL_CLASSES] = {%s};
static const unsigned winners[] = {%s};
int main(void)
{
    unsigned i, k;
    for (i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        SCORE scores[MDL_CLASSES];
        mdl_scores(rows[i], scores);
        for (k = 0; k < MDL_CLASSES; ++k) {
            if (scores[k] != wanted[i][k]) {
                return 1;
            }
        }
        if (ANSWER(rows[i]) != winners[i]) {
            return 1;
        }
    }
    return 0;
}
"""


def _vectors(quant, n=48):
    """The model's own telling rows, neighbours with different answers, random rows."""
    drawn = drawn_integers(quant, 400)
    telling = np.array(list(quant.telling_rows(drawn)))
    left, right = drawn[:200], drawn[200:]
    right = np.where([one.is_number for one in quant.inputs], right, left)
    if quant.is_regression:
        return np.vstack([telling[:64], drawn[:n]])
    differ = quant.winners(left) != quant.winners(right)
    left, right = left[differ][:n], right[differ][:n]
    for _ in range(18):
        middle = (left + right) // 2
        same = (quant.winners(middle) == quant.winners(left))[:, None]
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    return np.vstack([telling[:64], left, right, drawn[:n]])


def _written_out(source):
    """The source with one number of an expression changed; those of scores first."""
    for function in ("void mdl_scores", "mdl_predict"):
        begin = source.index(f"{function}(const")
        body = source[begin : source.index("\n}", begin)]
        skipped = body.index("{")
        for number in re.finditer(r"(?<![\w.])\d+(?=L?\b)", body):
            if (
                number.start() > skipped
                and "winner = 0" not in body[number.start() - 9 : number.end()]
            ):
                at, end = (begin + i for i in number.span())
                changed = str(int(number[0]) + 1)
                yield function.split()[-1], source[:at] + changed + source[end:]


def _killed(folder, tool, mutants):
    """Names of those mutants that the vectors tell, and of those that they do not."""
    killed, survivors = [], []
    command = [tool("gcc"), "-std=c99", "-fsanitize=address,undefined"]
    command += ["-fno-sanitize-recover=all", "-w"]
    run(*command, "-c", "-o", "main.o", "main.c", cwd=folder)
    for name, mutant in mutants:
        (folder / "model.c").write_text(mutant)
        try:
            run(*command, "-o", "run", "main.o", "model.c", cwd=folder)
            run(folder / "run")
        except CommandFailed:
            killed.append(name)
        else:
            survivors.append(name)
    return killed, survivors


def _words(numbers):
    return ", ".join("{" + ", ".join(map(str, row)) + "}" for row in numbers.tolist())


MUTATED = {
    "sparse": lambda: compile_model(random_linear(4, 3, 2, 0.7)),
    "dense": lambda: compile_model(random_linear(5, 3, 1, 1.0)),
    "written out": lambda: compile_model(random_linear(4, 3, 1, 0.7)),
    "two classes": lambda: compile_model(random_linear(5, 2, 1, 0.9)),
    "rbf": lambda: _sums("rbf", n_features=3, n_anchors=4, n_classes=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATED)
def test_every_wrong_number_is_noticed(tool, tmp_path, name):
    # Wide sums are written out up to 12 terms only, narrow ones up to 48.
    quant = quantise(MUTATED[name](), 8, accumulator=None if name == "rbf" else 32)
    if name in ("written out", "two classes"):
        quant = quantise(MUTATED[name](), 8, accumulator=16)
    assert has_tables(quant) == (name not in ("written out", "two classes"))
    rows = _vectors(quant)
    scores, winners = quant.scores(rows), quant.winners(rows)
    main = _COMPARE % (_words(rows), _words(scores), ", ".join(map(str, winners)))
    write_integers(tmp_path, quant, main)
    source = (tmp_path / "model.c").read_text()
    assert _killed(tmp_path, tool, [("itself", source)]) == ([], ["itself"])
    mutants = _mutants(source) if has_tables(quant) else _written_out(source)
    killed, survivors = _killed(tmp_path, tool, mutants)
    assert len(killed) > 15
    assert survivors == []
