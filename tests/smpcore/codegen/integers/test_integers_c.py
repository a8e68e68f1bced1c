"""C of integer models: strict compilers, sanitizers, analysers, and wrong numbers."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpcore.codegen import compile_model, emit_c99, quantise
from smpcore.codegen.constants import has_tables
from smpcore.codegen.discriminating import discriminating_inputs
from smpcore.codegen.program import FixedPointFeatures
from smpcore.codegen.run import whole_features
from smpcore.errors import ExportError
from tests.smpcore.codegen.integers.chips import integer_answers, write_integers
from tests.smpcore.codegen.integers.test_integers_linear import drawn_integers
from tests.smpcore.codegen.kernel_models import random_kernel_model
from tests.smpcore.codegen.random_models import random_linear
from tests.smpcore.codegen.test_c99 import _rows
from tests.smpcore.codegen.test_regression import _one_value
from tests.smpcore.codegen.toolchain import (
    COMPILED,
    SANITIZE,
    STRICT,
    CommandFailed,
    run,
    unnoticed,
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
    return lambda name: made[name]()


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
        ("clang", [*CLEAN, "-O3"]),
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
@COMPILED
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
    for file in ("mdl.c", "mdl_quantise.c"):
        flags = [*STRICT, "-Os", "-ffreestanding", "-fno-pic", "-c", file, "-o", "m.o"]
        run(tool("gcc"), *flags, cwd=tmp_path)
        unknown = run(tool("nm"), "-u", "m.o", cwd=tmp_path)
        assert unknown == b""
        strict = [flag for flag in STRICT if flag != "-std=c99"]
        command = [tool("g++"), "-x", "c++", "-std=c++98", *strict]
        run(*command, "-c", file, "-o", "m.o", cwd=tmp_path)


_COMPARE = """
#include <stdio.h>
#include "mdl.h"
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
        for (k = 0; k < MDL_CLASSES; ++k) {
            scores[k] = 85; /* what is not written shows */
        }
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
    """The model's own telling rows, the least margins of each pair, random rows."""
    drawn = drawn_integers(quant, 20_000)
    telling = list(discriminating_inputs(quant, drawn[:400]))
    left, right = drawn[::2], drawn[1::2]
    for _ in range(16):
        middle = (left + right) // 2
        same = (quant.winners(middle) == quant.winners(left))[:, None]
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    rows = np.vstack([left, right])
    best = np.argsort(-quant.scores(rows), axis=1, kind="stable")[:, :2]
    nearest = np.argsort(quant.margins(rows), kind="stable")
    for pair in np.unique(best, axis=0):
        telling += list(rows[nearest[(best[nearest] == pair).all(axis=1)][:n]])
    return np.vstack([*telling, drawn[:n]])


def _written_out(source):
    """The source with numbers of its expressions wrong, one by WRONG, and how many."""
    body = "#include <stdlib.h>\nstatic int mdl_is(int n)\n"
    body += '{ const char *w = getenv("WRONG"); return w && atoi(w) == n; }\n'
    count, end = 0, 0
    for function in ("void mdl_scores", "mdl_predict"):
        begin = source.index("{", source.index(f"{function}(const"))
        stop = source.index("\n}", begin)
        for number in re.finditer(r"(?<![\w.])(?<!winner = )\d+L?\b", source):
            if begin < number.start() < stop:
                body += f"{source[end : number.start()]}({number[0]} + mdl_is({count}))"
                count, end = count + 1, number.end()
    return body + source[end:], count


def _unseen(folder, files, count):
    """Numbers that are wrong by WRONG and that no vector tells."""
    run("gcc", "-std=c99", "-w", *SANITIZE, "-o", "wrong", *files, cwd=folder)
    run(folder / "wrong")
    for number in range(count):
        try:
            run("env", f"WRONG={number}", folder / "wrong")
            yield number
        except CommandFailed:
            pass


def _changes_nothing(quant, name, place):
    """Whether a factor or an origin one larger gives the same feature of any count."""
    features = quant.find(FixedPointFeatures)
    numbers = [features.factor[place], features.origin[place]]
    counts = np.arange(-128, 128)[:, None]
    rest = features.places[[place]], features.top
    was = whole_features(counts, *(np.array([n]) for n in numbers), *rest)
    numbers[name == "mdl_origin"] += 1
    now = whole_features(counts, *(np.array([n]) for n in numbers), *rest)
    return np.array_equal(was, now)


def _words(numbers):
    return ", ".join("{" + ", ".join(map(str, row)) + "}" for row in numbers.tolist())


#: Name -> model and bits of its sums: wide ones are written out up to 12 terms only.
MUTATED = {
    "sparse": (lambda: compile_model(random_linear(4, 3, 2, 0.7)), 32),
    "dense": (lambda: compile_model(random_linear(5, 3, 1, 1.0)), 32),
    "written out": (lambda: compile_model(random_linear(4, 3, 1, 0.7)), 16),
    "two classes": (lambda: compile_model(random_linear(5, 2, 1, 0.9)), 16),
    "rbf": (lambda: compile_model(_few_anchors()), None),
}


def _few_anchors():
    """One prototype per class, so that each can win."""
    mixing = np.random.default_rng(0).normal(size=(4, 3))
    parts = {"n_features": 3, "n_anchors": 4, "n_classes": 3, "mixing": mixing}
    parts |= {"bias": np.zeros(3), "votes": np.eye(3), "counts": np.ones(3, np.int64)}
    return random_kernel_model("rbf", **parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATED)
def test_every_wrong_number_is_noticed(tool, tmp_path, name):
    make, accumulator = MUTATED[name]
    quant = quantise(make(), 8, accumulator=accumulator)
    assert has_tables(quant) == (accumulator != 16)
    rows = _vectors(quant)
    scores, winners = quant.scores(rows), quant.winners(rows)
    main = _COMPARE % (_words(rows), _words(scores), ", ".join(map(str, winners)))
    write_integers(tmp_path, quant, main)
    files = ["main.c", "mdl.c"]
    if not has_tables(quant):
        path = tmp_path / "mdl.c"
        source, count = _written_out(path.read_text())
        path.write_text(source)
        assert count > 20 and not list(_unseen(tmp_path, files, count))
        return
    every, unseen = unnoticed(tmp_path, files, flags=SANITIZE)
    assert len(every) > 20
    for table, place in unseen:  # a rounding that no input of 8 bits comes near
        assert table in ("mdl_factor", "mdl_origin")
        assert _changes_nothing(quant, table, place)
