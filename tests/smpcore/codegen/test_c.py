"""Generated C gives every bit of the emulator, and strict tools find nothing in it."""

import re
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import compile_model, emit_c99, quantise
from smpcore.codegen.constants import has_tables
from smpcore.codegen.describe import SCHEMA
from smpcore.codegen.names import interface_id
from smpcore.codegen.templates import filled
from smpcore.codegen.vectors import conversions
from smpcore.errors import ExportError
from tests.smpcore.codegen.c_programs import (
    any_integers,
    assert_same_in_c,
    case,
    odd_case,
    union_files,
)
from tests.smpcore.codegen.models import (
    coded_model,
    conversion_models,
    every_kind,
    groups,
    new_similarity,
    one_value,
    random_kernel_model,
    random_linear,
)
from tests.smpcore.codegen.toolchain import (
    SANITIZE,
    STRICT,
    CommandFailed,
    bundle,
    run,
    unpack,
    write,
)

GROUPS = list(groups())
#: A float that no integer holds is undefined, too.
CLEAN = [*SANITIZE, "-fsanitize=float-cast-overflow"]
WAYS = {
    "gcc": ("gcc", ["-O3"]),
    "clang": ("clang", ["-O3"]),
    "gcc, sanitized": ("gcc", CLEAN),
    "clang, sanitized": ("clang", [*CLEAN, "-fsanitize=integer", "-O3"]),
}


@pytest.fixture(scope="module", params=[*GROUPS, "conversions"])
def cases(request):
    """About ten models with the rows that they are asked."""
    if request.param == "conversions":
        models = [make(n) for make in conversion_models().values() for n in (8, 16)]
        near = [(one, conversions(one).values) for one in models]
        return [case(one, one.quantise(values), values) for one, values in near]
    models = groups()[request.param].items()
    return [odd_case(model, 400 if "300" in name else 2000) for name, model in models]


@pytest.mark.parametrize("way", WAYS)
def test_c_gives_every_bit_of_the_emulator(cases, tool, way):
    compiler, flags = WAYS[way]
    assert_same_in_c(cases, tool(compiler), flags)


def _sums(*kinds):
    """Cases of linear rows and of similarities."""
    models = [random_linear(), *map(random_kernel_model, kinds)]
    return [odd_case(compile_model(model), 500) for model in models]


def test_a_step_and_an_end_may_be_new_together(tool, monkeypatch):
    new_similarity(monkeypatch, "cosine")
    assert_same_in_c(_sums("cosine"), tool("gcc"))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_products_and_sums_are_rounded_one_by_one(tool, compiler):
    """Also by an engineer's project that lets its compiler contract them."""
    if "fma" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no fused multiply-add")
    fused = ["-std=gnu99", "-O3", "-march=haswell"]
    fused += ["-ffp-contract=fast" if compiler == "gcc" else "-ffp-contract=on"]
    assert_same_in_c(_sums("rbf", "poly"), tool(compiler), fused)


@pytest.mark.parametrize("width", [None, 8])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_self_test_refuses_products_that_are_fused(tool, tmp_path, compiler, width):
    """No macro tells of clang's option, and not every test vector need differ by it."""
    if "fma" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no fused multiply-add")
    model = compile_model(random_linear())
    model = quantise(model, width) if width else model
    unpack(bundle(model, codegen.test_vectors(model)), tmp_path)
    sources = [p for p in tmp_path.glob("*.c") if "board" not in p.name]
    fast = "-std=c99 -O3 -march=haswell -ffp-contract=fast -o fast".split()
    run(tool(compiler), *fast, *sources, cwd=tmp_path)
    if compiler == "gcc":  # its files switch that off
        assert b"selftest: 0 of 32 differ" in run(tmp_path / "fast")
        return
    tried = "conversion: 21 of 21" if width else "selftest: 32 of 32"
    with pytest.raises(CommandFailed, match=f"{tried} differ"):
        run(tmp_path / "fast")


def _drawn(random):
    """A model of any kind and size, scaled anyhow; of integers sometimes."""
    kind = random.choice(["linear", "linear", "rbf", "laplacian", "poly", "features"])
    d, classes, many = (int(random.integers(*r)) for r in ((1, 200), (2, 6), (1, 5)))
    density, seed = random.choice([0.02, 0.3, 1.0]), int(random.integers(2**32))
    if kind == "linear":
        model = random_linear(d, classes, many, density, seed)
    else:
        model = random_kernel_model(kind, 1 + d // 4, 3 * many, classes, density, seed)
    scale = 10.0 ** random.integers(-6, 7)
    parts = {n: scale * getattr(model, n) for n in ("center", "scale", "low", "high")}
    compiled = compile_model(replace(model, **parts))
    width, accumulator = int(random.choice([8, 16])), random.choice([None, 16, 32])
    if kind not in ("linear", "rbf", "laplacian") or random.random() < 0.4:
        return compiled
    try:
        return quantise(compiled, width, accumulator=accumulator)
    except ExportError as error:  # narrow sums need not suffice, nor few bits
        assert accumulator == 16 or "choose 16 bits" in str(error), error
        return quantise(compiled, 16)


@pytest.mark.parametrize("seed", range(4))
def test_any_model_is_clean_under_the_sanitizers(tool, seed):
    random = np.random.default_rng(seed)
    models = [_drawn(random) for _ in range(12)]
    for quant in (one for one in models if one.is_integer):
        reached = np.abs(quant.row_scores(any_integers(quant, 400))).max()
        assert reached <= quant.largest <= 2 ** (quant.accumulator - 1) - 1
    models.append(compile_model(coded_model("rbf", 4 + seed, 1 + seed, seed)))
    models.append(compile_model(coded_model("ncc", seed=seed)))
    assert_same_in_c([odd_case(one, 300, seed) for one in models], tool("gcc"), CLEAN)


@pytest.fixture(scope="module")
def union(tmp_path_factory):
    """A folder with the C files of all models of `groups`, but for the largest.

    Where rows are written out one by one, cppcheck knows that the last store is one.
    """
    named = [pair for group in groups().values() for pair in group.items()]
    without = "300", "256", "one row", "int8, "
    models = [one for name, one in named if not any(word in name for word in without)]
    folder = write(tmp_path_factory.mktemp("union"), union_files(models))
    return folder, sorted(path.name for path in folder.glob("*.c"))


def test_analysers_find_nothing(union, tool, in_turns):
    folder, files = union
    ignored = ["--suppress=missingIncludeSystem", "--suppress=unusedFunction"]
    check = [tool("cppcheck"), "--std=c99", "--enable=all", "--error-exitcode=1"]
    run(*check, "--quiet", *ignored, *files, cwd=folder)
    analyse = [tool("clang"), "--analyze", "-Xclang", "-analyzer-werror", "-std=c99"]
    run(*analyse, *in_turns(files, 0, 4), cwd=folder)


def test_the_table_of_departures_from_misra_is_whole(tool, tmp_path):
    """Each rule that cppcheck's addon finds anything for is told, and no other."""
    for place, model in enumerate(every_kind().values()):
        write(tmp_path, emit_c99(model, f"m{place}"))
    check = [tool("cppcheck"), "--std=c99", "--addon=misra", "--quiet"]
    files = sorted(path.name for path in tmp_path.glob("*.c"))
    done = subprocess.run([*check, *files], cwd=tmp_path, capture_output=True)
    found = {*re.findall(rb"misra-c2012-([\d.]+)\]", done.stderr)}
    table = filled("c99/files/MISRA.md.in", {}).encode()
    assert found == {*re.findall(rb"^\| ([\d.]+) \| [RA] \|", table, re.MULTILINE)}


WARNINGS = "-Wall -Wextra -pedantic -Wfloat-equal -Wsign-conversion -Werror"
LANGUAGES = [
    *(("gcc", "-std=c99"), ("clang", "-std=c99"), ("g++", "-x c++ -std=c++98")),
    ("g++", "-x c++ -std=c++17 -Wold-style-cast"),
    ("clang++", "-x c++ -std=c++17 -Wold-style-cast"),
]


@pytest.mark.parametrize(("compiler", "flags"), LANGUAGES)
def test_no_compiler_warns_in_c_or_in_cpp(union, tool, compiler, flags):
    folder, files = union
    strict = [flag for flag in STRICT if flag != "-std=c99"]
    command = [tool(compiler), *strict, *WARNINGS.split(), *flags.split()]
    run(*command, "-fsyntax-only", *files, cwd=folder)


@pytest.mark.parametrize("turn", range(4))
def test_it_calls_no_library(union, tool, tmp_path, in_turns, turn):
    folder, files = union
    compiler, level = ("gcc", "clang")[turn % 2], ("-Os", "-O3")[turn // 2]
    flags = [level, "-std=c99", "-ffp-contract=off", "-ffreestanding", "-fno-pic", "-c"]
    own = [folder / file for file in in_turns(files, turn, 4)]
    run(tool(compiler), *flags, *own, cwd=tmp_path)
    unknown = run(tool("nm"), "-u", *tmp_path.glob("*.o")).decode()
    assert [line for line in unknown.splitlines() if " U " in line] == []


@pytest.mark.parametrize("width", [None, 16])
def test_a_compiler_that_changes_bits_is_stopped_by_the_file(tool, tmp_path, width):
    compiled = compile_model(random_linear())
    write(tmp_path, emit_c99(quantise(compiled, width) if width else compiled))
    name = "mdl_quantise.c" if width else "mdl.c"
    for flags, words in {
        "-mfpmath=387": "FLT_EVAL_METHOD is 0",
        "-ffast-math": "compile without -ffast-math",
        "-ffast-math -fno-finite-math-only": "compile without -ffast-math",
    }.items():
        with pytest.raises(CommandFailed, match=words):
            run(tool("gcc"), "-std=gnu99", *flags.split(), "-c", name, cwd=tmp_path)


def test_what_clang_does_not_tell_of_fast_math_is_taken_back(tool):
    fast = ["-std=gnu99", "-O3", "-ffast-math", "-fno-finite-math-only"]
    assert_same_in_c(_sums("rbf", "poly", "cosine"), tool("clang"), fast)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_what_follows_in_a_unit_is_compiled_as_it_was(tool, tmp_path, compiler):
    """Two models and their caller in one file, whose warnings are on again."""
    for name, model in (("one", random_linear()), ("two", random_kernel_model())):
        write(tmp_path, emit_c99(compile_model(model), name))
    begin = '#include "one.c"\n#include "two.c"\n'
    (tmp_path / "all.c").write_text(begin + "int f(float a);\n")
    command = [tool(compiler), "-std=c99", "-Wfloat-equal", "-Werror", "-c", "all.c"]
    run(*command, cwd=tmp_path)
    (tmp_path / "all.c").write_text(begin + "int f(float a) { return a == a * a; }\n")
    with pytest.raises(CommandFailed, match="float-equal"):
        run(*command, cwd=tmp_path)


CALLER = """
#include <stdio.h>
#include "mdl.h"
MDL_REQUIRE({format}, {interface});
int main(void)
{{
    int8_t x[MDL_N] = {{0}};
    const float value = MDL_ZERO_A + 9.5f / MDL_PER_UNIT_A;
    x[MDL_IN_A] = (int8_t)((value - MDL_ZERO_A) * MDL_PER_UNIT_A);
    printf("%.9g %d\\n", (double)mdl_value(mdl_predict(x)), MDL_MIN_A < MDL_MAX_A);
    return 0;
}}
"""


@pytest.mark.parametrize("standard", ["-std=c99", "-std=c11", "-x c++ -std=c++17"])
def test_a_retrained_model_takes_its_place_or_does_not_compile(
    tool, tmp_path, standard
):
    """The caller has no number of the model; another input or class stops it."""

    def compiled(seed, names):
        make = partial(random_linear, seed=seed, density=1.0, feature_names=(*names,))
        return quantise(compile_model(one_value(make, 6, seed)), 8)

    first = compiled(1, "abcdef")
    interface = f"0x{interface_id(first)}UL"
    source = CALLER.format(format=SCHEMA, interface=interface)
    flags = f"-Wall -Wextra -pedantic -Werror -ffp-contract=off {standard}".split()
    build = [tool("gcc"), *flags, "caller.c", "mdl.c", "mdl_quantise.c", "-o", "caller"]
    for model in (first, compiled(2, "abcdef")):
        write(tmp_path, emit_c99(model) | {"caller.c": source.encode()})
        run(*build, cwd=tmp_path)
        told, ranges_are_right = run(tmp_path / "caller").split()
        x = np.zeros((1, len(model.inputs)), dtype=np.int64)
        x[0, 0] = 9
        value = model.scores(x)[0, 0] * model.step + model.shift
        assert float(told) == pytest.approx(value, rel=1e-6)
        assert ranges_are_right == b"1"
    write(tmp_path, emit_c99(compiled(1, "abcdeg")))
    with pytest.raises(CommandFailed, match=r"interface_differs|are others"):
        run(*build, cwd=tmp_path)


def test_names_of_classes_can_be_left_out(tool, tmp_path):
    write(tmp_path, emit_c99(compile_model(random_linear())))
    command = [tool("gcc"), "-std=c99", "-c", "mdl.c", "-DMDL_NO_LABELS", "-o", "m.o"]
    run(*command, cwd=tmp_path)
    assert b"mdl_label" not in (tmp_path / "m.o").read_bytes()


def test_a_value_has_no_class(tool):
    for make in (random_linear, random_kernel_model):
        files = emit_c99(compile_model(one_value(make, 6)))
        assert b"class" not in (files["mdl.c"] + files["mdl.h"]).lower()


def test_the_models_take_every_branch_and_large_ones_can_be_read():
    """Their constants have a file of their own; classes have two lines each."""
    models = [one for of_group in groups().values() for one in of_group.values()]
    whole = [one for one in models if one.is_integer]
    assert {has_tables(one) for one in whole} == {True, False}
    sums = {(one.width, one.accumulator) for one in whole}
    assert sums == {(8, 16), (8, 32), (16, 32)}
    files = [one for one in map(emit_c99, models) if one["mdl.h"].count(b"\n") < 400]
    short = [one["mdl.c"] for one in files if b"_label_99" not in one["mdl.c"]]
    assert max(text.count(b"\n") for text in short) < 600
    assert {"mdl_tables.h" in one for one in files} == {True, False}
