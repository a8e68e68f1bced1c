"""Models as Arduino libraries: as the specification wants them, compiled, asked."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import quantise, sample
from tests.smpcore.codegen.models import every_kind
from tests.smpcore.codegen.toolchain import bundle, run, unpack

STAND_IN = Path(__file__).parent
#: Of the Arduino IDE's platform for AVR, but for warnings, and without -fpermissive.
COMMON = "-Os -Wall -Wextra -Werror -ffunction-sections -fdata-sections".split()
#: Compilers of C and C++, and what they are for.
BOARDS = {
    "host": ("gcc", "g++", ()),
    "clang": ("clang", "clang++", ()),
    "ATmega328P": ("avr-gcc", "avr-g++", ("-mmcu=atmega328p", "-flto")),
}
KINDS = ("linear", "value", "sums", "hostile")


def _model(kind, width):
    """Models whose sketches differ; width 32: floats."""
    if kind == "not sure":
        source = replace(every_kind()["linear", "float32"], band=50.0)
        return quantise(source, width)
    return every_kind()[kind, f"int{width}" if width < 32 else "float32"]


def _unpacked(model, folder, prefix="mdl"):
    packed = bundle(model, codegen.test_vectors(model), prefix, "arduino")
    unpack(packed, folder / prefix)
    return folder / prefix


def _built(tool, board, library, sketch, rows, *more):
    """A sketch and its library as a program, by the flags of the board."""
    c, cpp, flags = BOARDS[board]
    folder = library.parent
    sources = [source for one in (library, *more) for source in one.glob("src/*.c")]
    include = [f"-I{one / 'src'}" for one in (library, *more)]
    common = [*COMMON, *flags, *include]
    run(tool(c), "-std=gnu11", *common, "-c", *sources, cwd=folder)
    as_arduino = ["-x", "c++", "-include", STAND_IN / "Arduino.h", f"-DROWS={rows}"]
    inputs = [*as_arduino, sketch, "-x", "none", *folder.glob("*.o")]
    linked = ["-std=gnu++11", *common, *inputs, "-Wl,--gc-sections", "-o", "sketch"]
    run(tool(cpp), *linked, cwd=folder)
    return folder / "sketch"


def _said(tool, board, program):
    """What a program prints, line by line."""
    if board != "ATmega328P":
        return run(program).decode().splitlines()
    command = f"{tool('simavr')} -m atmega328p {program.name} 2>&1"
    text = run("sh", "-c", command, cwd=program.parent).decode(errors="replace")
    text = re.sub(r"\x1b\[[\d;]*m", "", text)
    # The simulator ends each line it has got with dots, for the newlines themselves.
    return [line.rstrip(".") for line in text.splitlines()]


def _numbers(row):
    return " ".join("nan" if np.isnan(value) else f"{value:.9g}" for value in row)


def _asked(tool, board, model, rows, folder):
    """Lines that the sketch Ask answers to rows."""
    library = _unpacked(model, folder)
    text = "".join(rf"{row}\n" for row in rows)
    sketch = library / "examples/Ask/Ask.ino"
    program = _built(tool, board, library, sketch, f'"{text}"')
    told = _said(tool, board, program)
    return [line for line in told if re.match(r"class|value|A row", line)]


def test_the_ide_colours_words_of_the_header(tmp_path):
    library = _unpacked(_model("linear", 8), tmp_path)
    header = (library / "src/mdl.h").read_text()
    for line in (library / "keywords.txt").read_text().splitlines():
        word, kind = line.split("\t")
        assert kind == ("LITERAL1" if word.isupper() else "KEYWORD2")
        assert re.search(rf"\b{word}\b", header)
    assert "mdl_predict\tKEYWORD2" in (library / "keywords.txt").read_text()


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(
    ("name", "width"),
    [("linear", 16), ("code", 32), *product(KINDS, (32, 8))],
)
def test_the_sketch_answers_as_the_emulator(tool, tmp_path, name, width, board):
    model = _model(name, width)
    rows = sample(model.source, 6)
    if name == "linear":
        rows[1, 0], rows[2, 1] = np.nan, -1
    rows[3, 0] = 1e6
    told = _asked(tool, board, model, map(_numbers, rows), tmp_path)
    given = model.to_inputs(rows.astype(np.float32))
    scores = model.scores(given)
    for line, own, winner in zip(told, scores, model.winners(given), strict=True):
        if model.is_regression:
            value = own[0] * model.step + model.shift if width < 32 else own[0]
            found = float(re.match(r"value ([^;]+)", line)[1])
            assert found == pytest.approx(value, rel=1e-5, abs=1e-5)
        else:
            found = re.match(r"class (\d+) (.*?); scores([^;]*)", line)
            label = model.source.labels[winner]
            assert (int(found[1]), found[2]) == (winner, label)
            near = pytest.approx(own, rel=1e-5, abs=1e-5)
            assert [float(word) for word in found[3].split()] == near
    if width < 32:
        for line, n in zip(told, model.saturated(given), strict=True):
            outside = f"; inputs outside their range: {n}"
            assert line.endswith(outside) == (n > 0)


@pytest.mark.parametrize("board", ["host", "ATmega328P"])
def test_rows_that_are_none_are_told(tool, tmp_path, board):
    rows = ["1 2 3", "1 2 x 4", "1,2,3,4,5", "1, 0, 0, 4\\r", "", "1" * 40 + " 0 0 1"]
    told = _asked(tool, board, _model("linear", 8), rows, tmp_path)
    calm = "A row should have 4 numbers"
    assert [line.rstrip(".") == calm for line in told] == [True] * 3 + [False, True]


def test_the_sketch_says_where_the_model_is_not_sure(tool, tmp_path):
    model = _model("not sure", 16)
    row = _numbers(sample(model.source, 1)[0])
    (line,) = _asked(tool, "host", model, [row], tmp_path)
    assert " (not sure); scores" in line


@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize("board", BOARDS)
def test_the_self_test_runs(tool, tmp_path, width, board):
    library = _unpacked(_model("linear", width), tmp_path)
    sketch = library / "examples/SelfTest/SelfTest.ino"
    text = (library / "src/mdl_test_vectors.h").read_text()
    # The sketch goes on for ever: a row to be read ends it.
    ending = sketch.with_name("Ending.ino")
    ending.write_text(
        sketch.read_text().replace("loop()\n{", "loop()\n{Serial.read();")
    )
    said = _said(tool, board, _built(tool, board, library, ending, '""'))
    assert "selftest: 0 of 32 differ" in said
    model = _model("linear", width)
    assert f"mdl {codegen.model_id(model)} format 2" in said
    assert ("conversion: 0 of 21 differ" in said) == (width == 8)
    place = text.index("{", text.index("{", text.index("mdl_test_scores")) + 1) + 1
    (library / "src/mdl_test_vectors.h").write_text(f"{text[:place]}1 + {text[place:]}")
    said = _said(tool, board, _built(tool, board, library, ending, '""'))
    assert "selftest: 1 of 32 differ" in said


@pytest.mark.parametrize(
    "prefix", ["setup", "loop", "b1", "serial", "byte", "bit", "pi", "f", "int8"]
)
def test_names_of_arduino_may_be_prefixes(tool, tmp_path, prefix):
    library = _unpacked(_model("linear", 8), tmp_path, prefix)
    sketch = library / "examples/Ask/Ask.ino"
    program = _built(tool, "host", library, sketch, '"1 0 0 4\\n"')
    assert _said(tool, "host", program)[0].startswith("class ")


def test_products_are_rounded_on_a_chip_with_floats(tool, tmp_path):
    """Arduino's own flags let gcc contract; the library's files do not."""
    library = _unpacked(_model("sums", 32), tmp_path)
    m4f = "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard -std=gnu11 -Os"
    command = [tool("arm-none-eabi-gcc"), *m4f.split(), "-S", "-o", "-"]
    source = library / "src/mdl.c"
    assert b"vfm" not in run(*command, source)
    lines = source.read_text().splitlines(keepends=True)
    source.write_text("".join(line for line in lines if "fp-contract" not in line))
    assert b"vfm" in run(*command, source)
