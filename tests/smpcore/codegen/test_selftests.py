"""The files of every target try their own test vectors, and notice a wrong one."""

import re
import sys

import pytest

from smpcore import codegen
from smpcore.codegen import NUMBERS, TARGETS, Package, model_id
from tests.smpcore.codegen.models import HOSTILE, every_kind
from tests.smpcore.codegen.scripts import in_micropython
from tests.smpcore.codegen.toolchain import CommandFailed, bundle, contents, run, unpack

EVERY = ["linear", "value", "sums", "hostile", "code", "calibrated"]
RUSTC = "rustc --edition 2021 --test src/lib.rs -o selftest"
#: How a test is run -> its target, what it needs, the command, and which models try it.
WAYS = {
    "make": ("c99", ["gcc"], "make CC=gcc", EVERY),
    "simavr": ("c99", ["avr-gcc", "simavr"], "make simavr", EVERY[2:]),
    "qemu": ("c99", ["arm-none-eabi-gcc", "qemu-system-arm"], "make qemu", EVERY[2:]),
    "python": ("python", [], f"{sys.executable} xyz_selftest.py", EVERY),
    "javascript": ("javascript", ["node"], "node xyz_selftest.mjs", EVERY),
    "micropython": ("micropython", ["node"], "", EVERY),
    "cargo": ("rust", ["cargo"], "cargo test -- --nocapture", EVERY),
    "rustc": ("rust", ["rustc"], f"{RUSTC} && ./selftest --nocapture", EVERY[3:4]),
    "onnx": ("onnx", [], f"{sys.executable} xyz_example.py", [*EVERY[:4], EVERY[5]]),
    "verilog": ("verilog", ["iverilog"], "", EVERY[:2]),
}


def _said(way, folder, tool):
    """What the self-test of a folder prints, whether or not it passes."""
    command = WAYS[way][2]
    if way == "verilog":
        readme = (folder / "README.md").read_text()
        command = re.search(r"`(iverilog [^`]*)`", readme)[1]
    try:
        if way == "micropython":
            return "\n".join(in_micropython(tool)(folder, "xyz_selftest.py"))
        return run("sh", "-c", f"{command} 2>&1", cwd=folder).decode()
    except CommandFailed as error:
        return str(error)


def _spoil(folder):
    """Change the last answer that is expected of the first test vector."""
    if (header := folder / "xyz_test_vectors.h").exists():
        before, last = header.read_text().rsplit(" = {", 1)
        last = re.sub(r"(?=[-.\d])", "1 + ", last, count=1)
        header.write_text(f"{before} = {{{last}")
        return
    table = folder / "xyz_test_vectors.csv"
    head, first, *lines = table.read_text().splitlines()
    *cells, last = first.split(",")
    last = str(float(last) + 1) if re.search("[.e]", last) else str(int(last) + 1)
    table.write_text("\n".join([head, ",".join([*cells, last]), *lines]) + "\n")


@pytest.mark.parametrize(
    ("way", "kind"), [(way, kind) for way in WAYS for kind in WAYS[way][3]]
)
def test_a_zip_tests_itself(tool, tmp_path, way, kind):
    target, needs, *_ = WAYS[way]
    for name in needs:
        tool(name)
    if target == "onnx":
        pytest.importorskip("onnxruntime")
    for number in TARGETS[target].numbers:
        if (kind, number) not in every_kind():
            continue
        model = every_kind()[kind, number]
        if target == "onnx" and model.is_integer and len(model.operations) > 1:
            continue  # it is refused
        folder, vectors = tmp_path / number, codegen.test_vectors(model, n=16)
        unpack(bundle(model, vectors, "xyz", target), folder)
        said, n = _said(way, folder, tool), len(vectors.rows)
        passed = rf"xyz {model_id(model)} (format 2 )?selftest: 0 of {n} differ"
        assert re.search(passed, said) and "warning" not in said, said
        if "make" in WAYS[way][2] and model.is_integer:
            assert way != "make" or "conversion: 0 of 21 differ" in said
        spoilt = ("linear", "calibrated", "code")[: 1 if way == "onnx" else 3]
        if way != "verilog" and kind in spoilt:  # ONNX compares scores
            _spoil(folder)
            assert f"selftest: 1 of {n} differ" in _said(way, folder, tool)


def test_the_conversion_may_be_left_out(tool, tmp_path):
    model = every_kind()["linear", "int8"]
    unpack(bundle(model, codegen.test_vectors(model)), tmp_path)
    (tmp_path / "main.c").write_text(
        '#include "mdl_selftest.h"\nint main(void) { return mdl_selftest(); }\n'
    )
    run(tool("gcc"), "main.c", "mdl_selftest.c", "mdl.c", "-o", "alone", cwd=tmp_path)
    run(tmp_path / "alone")
    assert b"quantise" not in run(tool("nm"), "alone", cwd=tmp_path)


def test_hostile_names_stay_data():
    for number in NUMBERS:
        model = every_kind()["hostile", number]
        vectors = codegen.test_vectors(model)
        module = {}
        exec(contents(bundle(model, vectors, target="python"))["mdl.py"], module)
        assert [module["label"](k) for k in range(3)] == HOSTILE[:3]
        for target in ("c99", "arduino", "javascript", "rust"):
            text = contents(bundle(model, vectors, target=target))["README.md"].decode()
            for sign in ("<img", "#error", '"""\n', "‮"):
                assert sign not in text.replace("\\#", "").replace("\\<", "")


@pytest.mark.parametrize("target", [key for key in TARGETS if TARGETS[key].in_c])
def test_a_readme_shows_a_program_that_compiles(tool, tmp_path, target):
    """What stands in its code block, with a number where there are dots."""
    for place, model in enumerate(every_kind().values()):
        folder = tmp_path / str(place)
        package = Package(model, codegen.test_vectors(model, n=8), "mdl")
        unpack(TARGETS[target].zip(package), folder)
        readme = (folder / "README.md").read_text()
        (block,) = re.findall(r"```c\n(.*?)```", readme, re.S)
        include, _, body = block.partition("\n")
        printed = "Serial.println((const __FlashStringHelper *)"
        body = body.replace("...", "1").replace(printed, "puts((const char *)")
        used = " + ".join(re.findall(r"^float (value)\b", body, re.M))
        main = f"#include <stdio.h>\n{include}\nint main(void)\n{{\n{body}"
        main += f"    return {used or 0} > 1e30f;\n}}\n"
        (folder / "main.c").write_text(main)
        parts = "test|example|board"
        own = [p for p in folder.rglob("mdl*.c") if not re.search(parts, p.name)]
        flags = ["-std=c99", "-Wall", "-Werror", f"-I{folder}", f"-I{folder}/src"]
        run(tool("gcc"), *flags, "-o", "main", "main.c", *own, cwd=folder)
        run(folder / "main")


def test_the_lines_of_a_javascript_readme_run_as_they_are(tool, tmp_path):
    for (kind, number), model in every_kind().items():
        folder = tmp_path / kind / number
        unpack(bundle(model, codegen.test_vectors(model), target="javascript"), folder)
        text = (folder / "README.md").read_text()
        (block,) = re.findall(r"```js\n(.*?)```", text, re.S)
        (folder / "own.mjs").write_text(block)
        assert run(tool("node"), "own.mjs", cwd=folder).strip()
        part = {"code": "prototype", "sums": "anchor"}.get(kind, "input")
        assert f"`contributions(x)` tells how much each {part} adds" in text


@pytest.mark.parametrize("width", [None, 8, 16])
def test_vectors_of_a_wide_model_fit_into_tables_of_an_avr(
    random_model, tool, tmp_path, width
):
    """One table of an AVR holds 32,767 bytes: 32 rows of 700 floats are 89,600."""
    model = codegen.compile_model(random_model(700, 2, 1, 1.0))
    model = codegen.quantise(model, width) if width else model
    vectors = codegen.test_vectors(model, n=32)
    assert 1 < len(vectors.rows) < 32
    files = unpack(bundle(model, vectors), tmp_path)
    tests = [name for name in files if re.match(r"mdl_selftest.*\.c", name)]
    command = [tool("avr-gcc"), "-mmcu=atmega328p", "-std=c99", "-Os", "-Werror", "-c"]
    run(*command, *tests, cwd=tmp_path)
