"""Compile models, with a program around them, in a temporary folder."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smpcore.chips.chip import Chip
from smpcore.codegen import CompiledModel, QuantModel, emit_c99
from smpcore.codegen.c_parts import class_type
from smpcore.errors import ExportError

HERE = Path(__file__).parent

#: Seconds that a command may take.
PATIENCE = 120

# Each operation is rounded on its own, as the emulator does it; what is not called is
# left out.
_FLAGS = "-std=c99 -Os -ffp-contract=off -ffunction-sections -fdata-sections".split()


class Sizes(NamedTuple):
    """Bytes of a program: of flash, and of RAM without the stack."""

    flash: int
    ram: int


def run(*command: Any, cwd: Path | None = None, given: bytes | None = None) -> bytes:
    """Run a command, without a shell, and return what it wrote.

    Parameters
    ----------
    *command : object
        The command and its arguments; nothing that a user wrote.
    cwd : Path, optional
    given : bytes, optional
        What it reads.

    Returns
    -------
    bytes

    Raises
    ------
    ExportError
        If it fails or takes too long: what it said.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, cwd=cwd, input=given, capture_output=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise ExportError(
            f"{Path(words[0]).name} did not end within {PATIENCE} seconds; measure "
            "fewer rows or a smaller model."
        ) from error
    except OSError as error:
        raise ExportError(f"{Path(words[0]).name} cannot be run: {error}.") from error
    if done.returncode:
        said = (done.stderr + done.stdout).decode(errors="replace").strip()
        raise ExportError(f"{Path(words[0]).name} failed: {said[:2000]}")
    return done.stdout


def numbers(model: CompiledModel | QuantModel) -> tuple[np.dtype, np.dtype]:
    """Types of an input and of a score."""
    if isinstance(model, QuantModel):
        return np.dtype(f"int{model.width}"), np.dtype(f"int{model.accumulator}")
    return np.dtype(np.float32), np.dtype(np.float32)


def write(folder: Path, model: CompiledModel | QuantModel) -> list[str]:
    """Put the files of a model into a folder.

    Parameters
    ----------
    folder : Path
    model : CompiledModel or QuantModel

    Returns
    -------
    list of str
        Definitions of its types for the programs beside this file, as flags.
    """
    for name, content in emit_c99(model).items():
        (folder / name).write_bytes(content)
    given, score = (_c_type(kind) for kind in numbers(model))
    answer = score if model.is_regression else class_type(model)
    types = {"INPUT": given, "SCORE": score, "ANSWER": answer}
    return [f"-D{name}={kind}" for name, kind in types.items()]


def _c_type(kind: np.dtype) -> str:
    return "float" if kind.kind == "f" else f"{kind}_t"


def build(
    folder: Path, chip: Chip, program: str, flags: Sequence[str], name: str
) -> Sizes:
    """Compile a program of this folder with the model that lies in another one.

    Parameters
    ----------
    folder : Path
        Holds the model's files.
    chip : Chip
    program : str
        Name of the C file beside this one.
    flags : sequence of str
    name : str
        Of the file to make.

    Returns
    -------
    Sizes
        Of the whole program.
    """
    command = [f"{chip.tools}-gcc", *flags, *_FLAGS, *chip.flags, f"-I{folder}"]
    files = [HERE / program, "model.c", "-Wl,--gc-sections", "-o", name]
    run(*command, *files, *chip.libraries, cwd=folder)
    table = run(f"{chip.tools}-size", name, cwd=folder).decode()
    text, data, bss = map(int, table.splitlines()[1].split()[:3])
    return Sizes(text + data, data + bss)


def sizes(
    model: CompiledModel | QuantModel, chip: Chip, flags: Sequence[str] = ()
) -> Sizes:
    """Bytes that a model adds to a program that asks it for an answer.

    Parameters
    ----------
    model : CompiledModel or QuantModel
    chip : Chip
    flags : sequence of str, optional
        More flags for the compiler; warnings, for instance.

    Returns
    -------
    Sizes
        Without the inputs, and without the texts of the labels. Routines of the
        compiler for numbers that the chip does not know are included.

    Raises
    ------
    ExportError
        If the compiler is missing or fails.
    """
    # A size is told of a program that is larger than the chip, too.
    avr = chip.tools == "avr"
    entry = ["-Wl,--defsym=__TEXT_REGION_LENGTH__=8M" if avr else "-Wl,-e,main"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = [*write(folder, model), *entry, *flags]
        without = build(folder, chip, "size.c", options, "without.elf")
        whole = build(folder, chip, "size.c", ["-DWITH_MODEL", *options], "with.elf")
    return Sizes(whole.flash - without.flash, whole.ram - without.ram)


@functools.cache
def simavr_runner() -> tempfile.TemporaryDirectory | None:
    """Folder with the program ``simavr``; None where libsimavr is not installed."""
    if shutil.which("gcc") is None:
        return None
    folder = tempfile.TemporaryDirectory(prefix="simavr")
    try:
        files = [HERE / "simavr.c", "-o", "simavr", "-lsimavr", "-lelf"]
        run("gcc", "-O2", *files, cwd=Path(folder.name))
    except ExportError:
        folder.cleanup()
        return None
    return folder
