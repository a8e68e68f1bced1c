"""Compile models, with a program around them, in a temporary folder."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smpcore.chips.chip import Chip
from smpcore.codegen import CompiledModel, QuantModel, Stream, emit_c99, emit_stream
from smpcore.codegen.targets.c99.common import class_type
from smpcore.errors import ExportError

HERE = Path(__file__).parent

#: Seconds that a command may take.
PATIENCE = 120

# Each operation is rounded on its own, as the emulator does it; what is not called is
# left out.
_FLAGS = "-std=gnu99 -Os -ffunction-sections -fdata-sections".split()


class Sizes(NamedTuple):
    """Bytes of a program.

    Parameters
    ----------
    flash : int
        Bytes of code, constants and start values.
    ram : int
        Bytes of variables, without the stack.
    """

    flash: int
    ram: int


def run(*command: Any, cwd: Path | None = None, given: bytes | None = None) -> bytes:
    """Run a command, without a shell, and return what it wrote."""
    words = [str(word) for word in command]
    pipes = {"stdin": None if given is None else subprocess.PIPE}
    pipes |= dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    try:
        process = subprocess.Popen(words, cwd=cwd, start_new_session=True, **pipes)
    except OSError as error:
        raise ExportError(f"{Path(words[0]).name} cannot be run: {error}.") from error
    try:
        output, errors = process.communicate(given, PATIENCE)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)  # a compiler is a child of its driver
        process.communicate()
        raise ExportError(
            f"{Path(words[0]).name} did not end within {PATIENCE} seconds; measure "
            "fewer rows or a smaller model."
        ) from error
    if process.returncode:
        said = (errors + output).decode(errors="replace").strip()
        raise ExportError(f"{Path(words[0]).name} failed: {said[:2000]}")
    return output


def numbers(model: CompiledModel | QuantModel) -> tuple[np.dtype, np.dtype]:
    """Types of an input and of a score."""
    if isinstance(model, QuantModel):
        return np.dtype(f"int{model.width}"), np.dtype(f"int{model.accumulator}")
    return np.dtype(np.float32), np.dtype(np.float32)


def write(
    folder: Path,
    model: CompiledModel | QuantModel,
    chip: Chip,
    converted: bool = False,
    stream: Stream | None = None,
) -> tuple[list[str], list[str]]:
    """Put the files of a model, or of its stream, into a folder.

    Returns flags of the compiler, and the files that it compiles.
    """
    largest = max(table.nbytes for table in model.tables().values())
    if chip.table is not None and largest > chip.table:
        raise ExportError(
            f"The model has a table of {largest:,} bytes, but on an {chip.name} one "
            f"can have {chip.table:,}. It can be exported, for a larger chip."
        )
    files = emit_stream(model, "mdl", stream) if stream else emit_c99(model)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    given, score = (_c_type(kind) for kind in numbers(model))
    taken = _c_type(taken_type(model, stream))
    answer = score if model.is_regression else class_type(model)
    types = {"INPUT": taken, "TAKEN": taken, "SCORE": score, "ANSWER": answer}
    if converted:
        types |= {"INPUT": "float", "INTEGER": taken}
    if stream:
        types |= {"STREAM": "1", "WINDOW": given}
    flags = [f"-D{name}={kind}" for name, kind in types.items()]
    return flags, [name for name in files if name.endswith(".c")]


def taken_type(model: CompiledModel | QuantModel, stream: Stream | None) -> np.dtype:
    """Type of an input, or of a value of a sample."""
    width = stream and stream.width(model)
    return np.dtype(f"int{width}") if width else numbers(model)[0]


def _c_type(kind: np.dtype) -> str:
    return "float" if kind.kind == "f" else f"{kind}_t"


class ChipProgram(NamedTuple):
    """A model in a folder, and how a program around it is compiled for a chip."""

    folder: Path
    chip: Chip
    options: Sequence[str]
    sources: Sequence[str]

    def build(self, around: str, name: str, *more: str) -> Sizes:
        """Compile a program of this package around the model."""
        chip, folder = self.chip, self.folder
        command = [f"{chip.tools}-gcc", *more, *self.options, *_FLAGS, *chip.flags]
        files = [HERE / around, *self.sources, "-Wl,--gc-sections", "-o", name]
        run(*command, f"-I{folder}", *files, *chip.libraries, cwd=folder)
        table = run(f"{chip.tools}-size", name, cwd=folder).decode()
        text, data, bss = map(int, table.splitlines()[1].split()[:3])
        return Sizes(text + data, data + bss)

    def sizes(self) -> Sizes:
        """Bytes that the model adds to a program that asks it for an answer."""
        # Memories of its own, or the gap between flash and RAM counts as RAM.
        is_avr = self.chip.tools == "avr"
        begin = [] if is_avr else [f"-T{HERE / 'cortex.ld'}", "-Wl,-e,main"]
        without = self.build("size.c", "size.elf", *begin)
        whole = self.build("size.c", "size.elf", *begin, "-DWITH_MODEL")
        return Sizes(whole.flash - without.flash, whole.ram - without.ram)


def sizes(
    model: CompiledModel | QuantModel, chip: Chip, flags: Sequence[str] = ()
) -> Sizes:
    """Bytes that a model adds to a program that asks it for an answer.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model whose C code is compiled.
    chip : Chip
        Chip to compile for, one of those `available`.
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
    with tempfile.TemporaryDirectory() as name:
        options, files = write(Path(name), model, chip)
        return ChipProgram(Path(name), chip, [*options, *flags], files).sizes()


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
