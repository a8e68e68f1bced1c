"""A program tells which model it has, and the files of that model are looked up."""

import json

import pytest

from smpcore import codegen
from smpcore.codegen import compile_model, emit_c99, model_id, quantise
from smpcore.codegen.__main__ import main
from tests.smpcore.codegen.models import random_linear
from tests.smpcore.codegen.toolchain import bundle, run

_MAIN = """
#include "mdl.h"
static volatile INPUT x[MDL_N];
static volatile uint8_t answer;
int main(void)
{
    CALL;
    return 0;
}
"""
_LINK = {"data": "iris", "method": "smp"}
#: Compiler, what it makes of an ELF file, and its flags.
_CHIPS = {
    "gcc": ("objcopy", ""),
    "avr-gcc": ("avr-objcopy", "-mmcu=atmega328p"),
    "arm-none-eabi-gcc": (
        "arm-none-eabi-objcopy",
        "-mcpu=cortex-m0 -mthumb --specs=nosys.specs",
    ),
}


def linked(tool, compiler, model, folder, call="answer = mdl_predict((INPUT *)x)"):
    """A program that is linked without what it does not call."""
    for name, content in emit_c99(model).items():
        (folder / name).write_bytes(content)
    given = f"int{model.width}_t" if model.is_integer else "float"
    (folder / "main.c").write_text(_MAIN.replace("CALL", call).replace("INPUT", given))
    words = [tool(compiler), *_CHIPS[compiler][1].split(), "-Os", "-o", "all.elf"]
    words += "-std=gnu99 -ffunction-sections -fdata-sections -Wl,--gc-sections".split()
    run(*words, "main.c", "mdl.c", cwd=folder)
    copy = tool(_CHIPS[compiler][0])
    run(copy, "-Obinary", "-j.text", "-j.rodata", "all.elf", "all.bin", cwd=folder)
    run(copy, "-Oihex", "all.elf", "all.hex", cwd=folder)


@pytest.mark.parametrize("compiler", _CHIPS)
@pytest.mark.parametrize("width", [None, 8])
def test_a_program_leads_to_its_export_and_its_state(
    tool, tmp_path, capsys, compiler, width
):
    compiled = compile_model(random_linear(), provenance={"link": _LINK})
    model = quantise(compiled, width) if width else compiled
    files, build = tmp_path / "files", tmp_path / "build"
    files.mkdir(), build.mkdir()
    for name, other in (("right", model), ("wrong", compile_model(random_linear(9)))):
        packed = bundle(other, codegen.test_vectors(other, n=4), name)
        (files / f"{name}.zip").write_bytes(packed)
    for name, link in (("mine", _LINK), ("another", _LINK | {"method": "smallk"})):
        (files / f"{name}.json").write_text(json.dumps({"link": link}))
    (files / "none.json").write_text("[nothing")
    linked(tool, compiler, model, build)
    number = model_id(model)
    for firmware in ("all.elf", "all.bin", "all.hex", number):
        path = firmware if firmware == number else str(build / firmware)
        assert main(path, str(files)) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"model {number}\n"), firmware
        assert f"export: {files}/right.zip: right/right.json\n" in said
        assert f"state file: {files}/mine.json\n" in said
        assert "link: ?data=iris&method=smp\n" in said
        assert "wrong" not in said and "another" not in said and "none" not in said


def test_a_program_without_a_prediction_has_no_id(tool, tmp_path, capsys):
    linked(tool, "gcc", compile_model(random_linear()), tmp_path, "answer = 0")
    assert main(str(tmp_path / "all.elf"), str(tmp_path)) == 1
    assert "no ID of a model" in capsys.readouterr().out
    assert main("0" * 8, str(tmp_path)) == 0
    assert f"export: none in {tmp_path}" in capsys.readouterr().out
