import re
import string
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpcore import codegen
from smpcore.chips import CHIPS, sizes
from smpcore.codegen import code_bytes, compile_model, emit_c99, quantise
from smpcore.codegen.names import c_bytes, c_string, identifier
from smpcore.errors import ExportError
from tests.smpcore.codegen.kernel_models import random_kernel_model
from tests.smpcore.codegen.programs import changed, part
from tests.smpcore.codegen.toolchain import (
    COMPILED,
    SANITIZE,
    STRICT,
    CommandFailed,
    answers_in_c,
    run,
    write_sources,
)

#: Code with the chip's float routines, as the export page says it.
OF_CHIP = {
    f"{CHIPS[name].tools}-gcc": list(CHIPS[name].flags)
    for name in ("ATmega328P", "Cortex-M0")
}


def _models(random_model):
    """Models that take every branch of the emitter."""
    far = random_model(n_features=4, density=1.0)
    far = replace(far, low=far.low + 1e5, high=far.high + 1e5, center=far.center + 1e5)
    sizes = {"center": np.zeros(40), "scale": np.geomspace(1e-6, 1e6, 40)}
    ends = {"low": -2 * sizes["scale"], "high": 2 * sizes["scale"]}
    tiny = np.geomspace(1e-7, 1e7, 240).reshape(6, 40)
    yield "plain", random_model()
    yield "one feature", random_model(n_features=1, n_classes=2, per_class=1)
    yield "offset", far
    yield "weights 1e-7 to 1e7", random_model(40, anchors=tiny, **sizes, **ends)
    yield "300 features", random_model(300, 2, 3, density=0.5)
    yield "256 classes", random_model(3, 256, 1)
    yield "300 classes", random_model(3, 300, 1)
    yield (
        "sum",
        random_model(pooling="sum", votes=np.random.default_rng(0).normal(size=(6, 3))),
    )


def _rows(compiled, n, seed=0):
    """Rows inside and far outside the range, with missing and infinite values."""
    rows = codegen.sample(compiled, n, seed)
    random = np.random.default_rng(seed)
    spread = np.array([entry.high - entry.low for entry in compiled.inputs])
    rows[::2] += 10 * spread * random.normal(size=rows[::2].shape)
    rows[::5][random.random(rows[::5].shape) < 0.3] = np.nan
    rows[-4:] = [[3.4e38], [-3.4e38], [np.inf], [0.0]]
    return np.vstack([rows, codegen.test_vectors(compiled, n=64).rows])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c_equals_the_emulator_bit_for_bit(random_model, tool, same_bits, compiler):
    for name, model in _models(random_model):
        compiled = compile_model(model)
        rows = _rows(compiled, 10_000 if name == "plain" else 2_000)
        scores, winners = answers_in_c(compiled, rows, tool(compiler))
        same_bits(scores, compiled.scores(rows))
        np.testing.assert_array_equal(winners, compiled.winners(rows))


#: What an engineer's project may compile with; each rounds products and sums
#: together unless the source forbids it.
FUSED = {
    "gcc": "-std=gnu99 -O3 -march=haswell -ffp-contract=fast",
    "clang": "-std=gnu99 -O3 -march=haswell",
}


@pytest.mark.parametrize("compiler", FUSED)
def test_products_and_sums_are_rounded_one_by_one(
    random_model, tool, same_bits, compiler
):
    if "fma" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no fused multiply-add")
    models = random_model(), *(random_kernel_model(k) for k in ("rbf", "poly"))
    for model in models:
        compiled = compile_model(model)
        rows = _rows(compiled, 500)
        flags = FUSED[compiler].split()
        scores, winners = answers_in_c(compiled, rows, tool(compiler), flags)
        same_bits(scores, compiled.scores(rows))
        np.testing.assert_array_equal(winners, compiled.winners(rows))


@pytest.mark.parametrize("width", [None, 16])
def test_a_compiler_that_computes_floats_as_doubles_is_stopped(
    random_model, tool, tmp_path, width
):
    compiled = compile_model(random_model())
    files = emit_c99(quantise(compiled, width) if width else compiled)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    name = "mdl_quantise.c" if width else "mdl.c"
    with pytest.raises(CommandFailed, match="FLT_EVAL_METHOD is 0"):
        run(tool("gcc"), "-std=gnu99", "-mfpmath=387", "-c", name, cwd=tmp_path)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_categories_and_missing_values_equal_the_emulator(
    mixed_model, tool, same_bits, compiler
):
    compiled = mixed_model
    rows = _rows(compiled, 10_000)
    random = np.random.default_rng(1)
    rows[:, 1:3] = random.integers(-2, 5, (len(rows), 2)) + random.choice(
        [0.0, 0.0, 0.5], (len(rows), 2)
    )
    scores, winners = answers_in_c(compiled, rows, tool(compiler))
    same_bits(scores, compiled.scores(rows))
    np.testing.assert_array_equal(winners, compiled.winners(rows))


@given(
    n_features=st.integers(1, 300),
    n_classes=st.integers(2, 6),
    per_class=st.integers(1, 4),
    exponent=st.integers(-6, 6),
    density=st.floats(0.01, 1.0),
    seed=st.integers(0, 2**32 - 1),
)
@COMPILED
def test_any_model_is_clean_under_the_sanitizers(
    random_model,
    tool,
    same_bits,
    n_features,
    n_classes,
    per_class,
    exponent,
    density,
    seed,
):
    model = random_model(n_features, n_classes, per_class, density, seed)
    parts = {name: getattr(model, name) for name in ("center", "scale", "low", "high")}
    model = replace(model, **{k: v * 10.0**exponent for k, v in parts.items()})
    compiled = compile_model(model)
    rows = _rows(compiled, 500, seed)
    scores, winners = answers_in_c(compiled, rows, tool("gcc"), SANITIZE)
    same_bits(scores, compiled.scores(rows))
    np.testing.assert_array_equal(winners, compiled.winners(rows))


def test_clang_finds_nothing_either(mixed_model, tool, same_bits):
    rows = _rows(mixed_model, 500)
    scores, _ = answers_in_c(mixed_model, rows, tool("clang"), SANITIZE)
    same_bits(scores, mixed_model.scores(rows))


@pytest.mark.parametrize("chip", ["ATmega328P", "Cortex-M0"])
def test_it_fits_the_chip(mixed_model, random_model, simulated, chip):
    digits = compile_model(random_model(64, 10, 2, 0.6))
    for compiled in (mixed_model, digits):
        flash, ram = sizes(compiled, simulated(chip), STRICT)
        least, most = code_bytes(compiled, chip)
        assert least <= flash - compiled.table_bytes <= most
        assert ram == 0


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_it_is_valid_cpp(mixed_model, tool, tmp_path, compiler):
    write_sources(tmp_path, mixed_model)
    flags = [flag for flag in STRICT if flag != "-std=c99"]
    for language in ("c++98", "c++17"):
        command = [tool(compiler), "-x", "c++", f"-std={language}", *flags]
        run(*command, "-c", "mdl.c", "-o", "mdl.o", cwd=tmp_path)


def test_cppcheck_finds_nothing(mixed_model, tool, tmp_path):
    write_sources(tmp_path, mixed_model)
    ignored = ["--suppress=missingIncludeSystem", "--suppress=unusedFunction"]
    command = [tool("cppcheck"), "--std=c99", "--enable=all", "--error-exitcode=1"]
    run(*command, "--quiet", *ignored, "mdl.c", cwd=tmp_path)


def test_fast_math_is_refused_by_the_file_itself(mixed_model, tool, tmp_path):
    write_sources(tmp_path, mixed_model)
    with pytest.raises(CommandFailed, match="compile without -ffast-math"):
        run(tool("gcc"), *STRICT, "-ffast-math", "-c", "mdl.c", cwd=tmp_path)


def _hostile(n=300):
    """Names that people, and people with bad intentions, give to things."""
    known = [
        "quote \" and ' end",
        "*/ int evil; /*",
        "// \\",
        "??/ ??= ??'",
        "a\0b",
        "\u202eright to left\u2066",
        '\n#include "evil.h"\n',
        "\r\n",
        "😀 👩‍👩‍👧",
        "int",
        "class",
        "main",
        "NULL",
        "%s%n",
        "${PATH} `ls`",
        "<script>alert(1)</script>",
        "a" * 10_000,
        "é" * 10_000,
        "\\" * 300,
        "",
        " ",
        "0",
        "\ud800",
        "N",
        "classes",
    ]
    random = np.random.default_rng(0)
    letters = string.printable + "\\\"'?%*/\0\x7f\x80\u202e\U0001f600ÄÖ"
    rest = n - len(known)
    return known + [
        "".join(random.choice(list(letters), random.integers(1, 40)))
        for _ in range(rest)
    ]


@pytest.fixture(scope="module", params=["floats", "integers"])
def hostile(random_model, request):
    """300 hostile names: of columns, of classes and of levels."""
    names = _hostile()
    model = random_model(300, 300, 1, 0.05, feature_names=tuple(names))
    compiled = compile_model(model)
    inputs = list(compiled.inputs)
    taken = set()
    inputs[0] = replace(
        inputs[0],
        kind="category",
        levels=tuple(names),
        level_identifiers=tuple(identifier(n, taken) for n in names),
        high=float(len(names) - 1),
    )
    level = np.where(part(compiled, "input") == 0, 7, -1)
    compiled = changed(
        compiled, inputs=tuple(inputs), level=level, classes=tuple(names)
    )
    return compiled if request.param == "floats" else quantise(compiled, 16)


def source_files(model):
    """The C files of a model."""
    return [name for name in emit_c99(model) if name.endswith(".c")]


LABELS_MAIN = """
#include <stdio.h>
#include <string.h>
#include "mdl.h"
int main(void)
{
    unsigned k;
    for (k = 0; k <= MDL_CLASSES; ++k) {
        const char *label = mdl_label((uint16_t)k);
        fwrite(label, strlen(label) + 1, 1, stdout);
    }
    return 0;
}
"""


@pytest.mark.parametrize(
    "compiler", ["gcc", "clang", "g++", "avr-gcc", "arm-none-eabi-gcc"]
)
def test_hostile_names_compile(hostile, tool, tmp_path, compiler):
    write_sources(tmp_path, hostile, LABELS_MAIN)
    flags = [f for f in STRICT if compiler != "g++" or f != "-std=c99"]
    flags += OF_CHIP.get(compiler, [])
    language = ["-x", "c++"] if compiler == "g++" else []
    for name in source_files(hostile):
        command = [tool(compiler), *language, *flags, "-c", name, "-o", "m.o"]
        run(*command, cwd=tmp_path)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_hostile_labels_come_back(hostile, tool, tmp_path, compiler):
    write_sources(tmp_path, hostile, LABELS_MAIN)
    files = ["main.c", *source_files(hostile)]
    run(tool(compiler), *STRICT, "-o", "run", *files, cwd=tmp_path)
    told = run(tmp_path / "run").split(b"\0")
    classes = getattr(hostile, "source", hostile).classes
    assert len(classes) == 300
    assert told == [c_bytes(name) for name in classes] + [b"", b""]


def test_no_name_stands_in_the_files(hostile):
    for content in emit_c99(hostile).values():
        text = content.decode("ascii")
        code = re.sub(r"static const char \w+\[\] \w+ = [^;]*;", "", text)
        assert "evil" not in code.replace("include_evil_h", "").replace("int_evil", "")
        assert "script>" not in code
        for comment in re.findall(r"/\*.*?\*/", code, re.S):
            assert re.fullmatch(r"[\w\s.,;:+*/?'()\[\]#=-]*", comment), comment


@given(st.text())
def test_any_label_is_one_literal(text):
    literal = c_string(text)
    data = re.sub(
        r"\\([0-7]{3})",
        lambda m: chr(int(m[1], 8)),
        literal[1:-1].replace('"\n    "', ""),
    )
    assert data.encode("latin-1") == c_bytes(text)


def test_sources_are_deterministic_and_ascii(mixed_model):
    files = emit_c99(mixed_model)
    assert files == emit_c99(mixed_model, prefix="mdl")
    for content in files.values():
        content.decode("ascii")


def test_bad_names_are_refused(mixed_model):
    with pytest.raises(ExportError, match="name='int' should be"):
        emit_c99(mixed_model, prefix="int")


def test_sizes_beyond_the_format_are_refused(random_model):
    compiled = compile_model(random_model())
    n = 70_000
    rows = {
        "bias": np.zeros(n),
        "prototype_labels": np.arange(n),
        "start": np.zeros(n + 1),
    }
    terms = {name: [] for name in ("input", "level", "weight")}
    many = changed(compiled, classes=tuple(range(n)), **rows, **terms)
    with pytest.raises(
        ExportError, match="70000 classes, but generated C holds at most"
    ):
        emit_c99(many)
    wide = replace(compiled, inputs=compiled.inputs * 10_000)
    with pytest.raises(
        ExportError, match="60000 inputs, but generated C holds at most"
    ):
        emit_c99(wide)
