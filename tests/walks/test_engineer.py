"""An engineer takes the model of an own table to every target, and runs what came."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from smpcore.codegen import NUMBERS, TARGETS
from tests.walks.tables import clinic

#: A command in a README; a block of code is none.
COMMAND = re.compile(r"(?<!`)`((?:make|cmake|cargo|python|node|iverilog)\b[^`]*)`")
#: What a self-test ends with.
PASSED = re.compile(r"\b0 of \d+ differ|100% tests passed")
#: What these take is a board or an IDE: their sources are compiled.
COMPILERS = {
    "arduino": "avr-gcc -mmcu=atmega328p -std=gnu99",
    "platformio": "arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -std=c99",
    "zephyr": "gcc -std=c99",
}
FORMATS = {title: list(TARGETS[title].numbers) for title in TARGETS}


def run(words: str, folder) -> str:
    """Run a line of a README in its folder."""
    tool = words.split()[0]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    words = re.sub(r"^python\b", sys.executable, words)
    done = subprocess.run(
        words, cwd=folder, shell=True, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def test_each_target_and_format_that_is_downloaded_runs(visit, tmp_path):
    clinic(visit)
    visit.go("Export")
    for turn, target in enumerate(TARGETS):
        offered = TARGETS[target].numbers
        number = offered[turn % len(offered)]
        visit.choose("Target", TARGETS[target].title).click("radio", number)
        visit.rest()
        data = visit.take("Download the zip")
        folder = tmp_path / target
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(folder)
        (model,) = folder.iterdir()
        readme = (model / "README.md").read_text("utf-8")
        assert number in readme or TARGETS[target].title in readme
        if target in COMPILERS:
            command = f"{COMPILERS[target]} -Wall -Wextra -Werror -Isrc -c src/*.c"
            run(command, model)
        else:
            command = COMMAND.search(readme[readme.index("## Use") :])
            words = command.group(1) if command else "python klinik_selftest.py"
            assert PASSED.search(run(words, model)), words
        if target == "c99":
            run("make avr cortex-m0", model)
    assert {n for t in TARGETS.values() for n in t.numbers} == set(NUMBERS)


def test_what_a_target_cannot_have_is_said(visit):
    clinic(visit)
    visit.go("Export").choose("Target", TARGETS["onnx"].title).click("radio", "int16")
    visit.reads(re.compile("float32"))
    visit.choose("Target", TARGETS["verilog"].title).click("radio", "float32")
    visit.reads(re.compile("int16|int8"))


def test_costs_are_measured_and_the_model_gets_a_name(visit, tmp_path):
    clinic(visit)
    visit.go("Export").fill("Model name", "messung").click("radio", "int16")
    with zipfile.ZipFile(io.BytesIO(visit.take("Download the zip"))) as archive:
        assert "messung/messung.c" in archive.namelist()
        archive.extractall(tmp_path)
    out = run("make", tmp_path / "messung")
    assert re.search(r"messung \w+ format 2 selftest: 0 of \d+ differ", out)
    visit.click("button", "Measure").reads("Measured")
    visit.click("button", "Calibrate probabilities")
    visit.reads("Include probabilities")
    with zipfile.ZipFile(io.BytesIO(visit.take("Download the zip"))) as archive:
        assert b"probab" in archive.read("messung/messung.h")
    for title in ("Boards, clock", "Compared with", "Inputs as counts", "Ranges and"):
        visit.unfold(title)
    visit.unfold("The same model in Python")
