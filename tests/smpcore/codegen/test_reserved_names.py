"""A model of any name builds and passes its self-test in a target, or is refused."""

import shutil
import subprocess
import sys

import pytest

from smpcore.codegen import TARGETS, compile_model, quantise
from smpcore.codegen import test_vectors as vectors_of
from smpcore.codegen.names import RESERVED, check_prefix, default_name
from smpcore.errors import ExportError
from tests.smpcore.codegen.zips import bundle, unpack

#: Names that look as if they were somebody else's, of each table and of none.
TRIED = (
    "abc os test all clean printf main app reg tri module install math_1 enum_1 core fn"
)
#: Target -> commands that build a model and run its self-test.
COMMANDS = {
    "c99": ("make",),
    "cmake": (
        "cmake -S . -B build",
        "cmake --build build",
        "cmake --build build --target test",
    ),
    "python": (f"{sys.executable} @_selftest.py",),
    "javascript": ("node @_selftest.mjs",),
    "rust": ("cargo test -- --nocapture",),
    "verilog": ("iverilog -g2005 -o sim @.v @_tb.v", "vvp -n sim"),
}


def _built(model, target, name, folder):
    """What the commands of a target write for a model of this name."""
    packed = bundle(model, vectors_of(model, n=8), name, target)
    unpack(packed, folder)
    told = ""
    for command in COMMANDS[target]:
        words = command.replace("@", name).split()
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        told += done.stdout + done.stderr
        assert done.returncode == 0, (name, told[-800:])
    return told


@pytest.mark.parametrize("target", COMMANDS)
def test_a_name_is_refused_or_passes_its_self_test(
    tool, random_model, target, tmp_path
):
    tool(COMMANDS[target][0].split()[0])
    model = quantise(compile_model(random_model(4, 2, 1, 1.0)), 8)
    refused = []
    for name in TRIED.split():
        try:
            told = _built(model, target, name, tmp_path / name)
        except ExportError as error:
            assert f"{name}_1 is free" in str(error)
            refused.append(name)
        else:
            assert "0 of 8 differ" in told or "100% tests passed" in told
        shutil.rmtree(tmp_path / name, ignore_errors=True)
    assert set(refused) == set(TRIED.split()) & RESERVED.get(target, set())


def test_what_is_refused_would_break(tool, random_model, tmp_path, monkeypatch):
    """One name of each table: without the table it does not build, or fails."""
    model = quantise(compile_model(random_model(4, 2, 1, 1.0)), 8)
    names = {"python": "abc", "cmake": "test", "verilog": "reg", "rust": "core"}
    monkeypatch.setattr("smpcore.codegen.names.RESERVED", {})
    for target, name in names.items():
        tool(COMMANDS[target][0].split()[0])
        with pytest.raises(AssertionError):
            told = _built(model, target, name, tmp_path / name)
            assert "0 of 8 differ" in told or "100% tests passed" in told


@pytest.mark.parametrize("target", TARGETS)
def test_the_name_of_a_table_is_never_refused(target):
    for name in ("test", "ABC", "all", "os", "con", "string", "reg", "main"):
        assert check_prefix(default_name(name), TARGETS[target].folder)
