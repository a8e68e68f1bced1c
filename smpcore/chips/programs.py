"""Chips, and models on them: compiled in a temporary folder, simulated and counted."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smpcore.codegen import (
    CompiledModel,
    QuantModel,
    Stream,
    emit_block,
    emit_c99,
    emit_stream,
    test_vectors,
)
from smpcore.codegen.targets.c99.common import c_type, class_type
from smpcore.codegen.targets.c99.stream import taken_type
from smpcore.errors import ExportError

HERE = Path(__file__).parent

#: Seconds that a command may take.
PATIENCE = 120

# Each operation is rounded on its own, as the emulator does it; what is not called is
# left out.
_FLAGS = "-std=gnu99 -Os -ffunction-sections -fdata-sections".split()

# What the stack of the program itself takes: its return address, and a little more.
_SPARE = 16

# What cortex.c tells where the stack went beyond what it had painted.
_ALL_OF_IT = 2**32 - 1

#: Class index of a sample without an answer.
NOT_DUE = 2**16 - 1

_QEMU = (
    "-kernel chip.elf -display none -monitor none -serial none -icount shift=0 "
    "-semihosting-config enable=on,target=native"
).split()


@dataclass(frozen=True)
class Chip:
    """A chip, how to compile for it, and what plays it.

    Parameters
    ----------
    name : str
        Name of the chip, the key in `CHIPS`.
    tools : str
        Begin of its compiler's names.
    flags, libraries : tuple of str
        Of the compiler. A Cortex-M is linked without a C library, so that none can be
        needed.
    machine : str
        What plays it: the name of the chip for simavr, of a board for QEMU.
    counted : str
        "cycles", which are exact, or "instructions": QEMU knows of no cycles, and one
        instruction takes at least one.
    flash, ram : int, optional
        Bytes that it has. A Cortex-M is a core, which makers give memories of all
        sizes.
    table : int, optional
        Most bytes of one table.
    """

    name: str
    tools: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    machine: str
    counted: str
    flash: int | None = None
    ram: int | None = None
    table: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """Commands that have to be there."""
        compilers = f"{self.tools}-gcc", f"{self.tools}-size"
        return (*compilers, "gcc" if self.tools == "avr" else "qemu-system-arm")


def _cortex(name: str, flags: str, machine: str) -> Chip:
    flags = f"{flags} -mthumb -nostdlib"
    return Chip(
        name,
        "arm-none-eabi",
        tuple(flags.split()),
        ("-lgcc",),
        machine,
        "instructions",
    )


# The linker is to tell the size of what is too large, too.
_ANY_SIZE = (
    "-Wl,--defsym=__TEXT_REGION_LENGTH__=8M",
    "-Wl,--defsym=__DATA_REGION_LENGTH__=0xf000",
)

_CHIPS = (
    Chip(
        "ATmega328P",
        "avr",
        ("-mmcu=atmega328p", *_ANY_SIZE),
        (),
        "atmega328p",
        "cycles",
        32 * 1024,
        2 * 1024,
        2**15 - 1,
    ),
    _cortex("Cortex-M0", "-mcpu=cortex-m0", "mps2-an385"),
    _cortex(
        "Cortex-M4F",
        "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard",
        "mps2-an386",
    ),
)

#: Name -> chip.
CHIPS = {chip.name: chip for chip in _CHIPS}


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


def write(
    folder: Path,
    model: CompiledModel | QuantModel,
    chip: Chip,
    converted: bool = False,
    stream: Stream | None = None,
    apart: bool = False,
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
    if apart:
        files, _ = emit_block(model, "mdl", test_vectors(model))
    for name, content in files.items():
        (folder / name).write_bytes(content)
    given, score = map(c_type, model.types)
    taken = c_type(taken_type(model, stream))
    answer = score if model.is_regression else class_type(model)
    types = {"INPUT": taken, "TAKEN": taken, "SCORE": score, "ANSWER": answer}
    if converted:
        types |= {"INPUT": "float", "INTEGER": taken}
    if stream:
        types |= {"STREAM": "1", "WINDOW": given}
    if apart:
        types["BLOCK"] = "1"
    flags = [f"-D{name}={kind}" for name, kind in types.items()]
    return flags, [name for name in files if name.endswith(".c")]


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


@dataclass(frozen=True, eq=False)
class Measured:
    """What a model takes on a chip, and what it answers there.

    Parameters
    ----------
    chip : Chip
        The chip that was simulated.
    flash, ram : int
        Bytes that the model adds to a program, see `sizes`.
    stack : int
        Most bytes of stack that one answer took. Exact on an AVR; elsewhere as far as
        it was written to.
    counts : ndarray of shape (n,), int64
        Cycles or instructions (``chip.counted``) of one answer to each row, from the
        call to the return. Instructions: exact up to 10,000, above in steps of 40.
    scores : ndarray of shape (n, n_outputs)
        As the emulator's ``scores``; its type is that of the C.
    winners : ndarray of shape (n,), int64
        Class indices; zeros for regression.
    """

    chip: Chip
    flash: int
    ram: int
    stack: int
    counts: np.ndarray
    scores: np.ndarray
    winners: np.ndarray


def available() -> list[Chip]:
    """Chips that models can be measured on here: their tools are installed.

    Returns
    -------
    list of Chip
    """
    return [
        chip
        for chip in CHIPS.values()
        if all(map(shutil.which, chip.needs))
        and (chip.tools != "avr" or simavr_runner() is not None)
    ]


def measure(
    model: CompiledModel | QuantModel,
    rows: np.ndarray,
    chip: Chip,
    flags: Sequence[str] = (),
    converted: bool = False,
    stream: Stream | None = None,
    apart: bool = False,
) -> Measured:
    """Let a simulated chip answer rows.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model whose C code is compiled and run.
    rows : ndarray of shape (n, n_inputs)
        What ``model.scores`` takes: raw rows of floats, or rows of integers.
        ``converted``: raw rows of floats, as ``model.quantise`` takes them.
    chip : Chip
        One of those `available`.
    flags : sequence of str, optional
        More flags for the compiler.
    converted : bool, default False
        Whether a model of integers is given floats, and what their conversion takes
        counts too.
    stream : Stream, optional
        Rows are the samples of a series then, one after the other: the count of one is
        that of its ``push`` and of the answer, if one is due. Winner `NOT_DUE`: none.
    apart : bool, default False
        Whether the parameters are in a block that the program loads before.

    Returns
    -------
    Measured

    Raises
    ------
    ExportError
        If the chip cannot hold the model, or the tools are missing or fail.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options, files = write(folder, model, chip, converted, stream, apart)
        program = ChipProgram(folder, chip, [*options, *flags], files)
        added = program.sizes()
        given = np.dtype(np.float32) if converted else taken_type(model, stream)
        scores = ("scores", model.types[1], (model.n_outputs,))
        record = np.dtype([("count", "u4"), ("stack", "u4"), scores, ("winner", "u2")])
        with np.errstate(over="ignore"):  # beyond float32: infinite
            asked = np.asarray(rows).astype(given)
        told = simulated(program, asked, record)
    if stream is not None:
        _check_due(chip, told["winner"] != NOT_DUE, stream)
    stack = told["stack"].max(initial=0)
    return Measured(
        chip=chip,
        flash=added.flash,
        ram=added.ram,
        stack=int(stack),
        counts=told["count"].astype(np.int64),
        scores=told["scores"],
        winners=told["winner"].astype(np.int64),
    )


def simulated(program: ChipProgram, rows: np.ndarray, record: np.dtype) -> np.ndarray:
    """Let a simulated chip answer rows."""
    chip = program.chip
    play = _on_avr if chip.tools == "avr" else _in_qemu
    told = play(program, rows, record)
    if len(told) != len(rows):
        raise ExportError(
            f"{chip.name} answered {len(told)} of {len(rows)} rows; the simulation "
            "ended too early."
        )
    return told


def _on_avr(program: ChipProgram, rows: np.ndarray, record: np.dtype) -> np.ndarray:
    chip, runner = program.chip, simavr_runner()
    if runner is None:
        raise ExportError(f"{chip.name} needs gcc and libsimavr; install them.")
    whole = program.build("avr.c", "chip.elf")
    _check(chip, whole, 0)
    row_bytes = rows.itemsize * rows.shape[1]
    answer_bytes = record.itemsize - record.fields["scores"][1]
    words = ["chip.elf", chip.machine, row_bytes, answer_bytes]
    command = f"{runner.name}/simavr", *words
    told = np.frombuffer(
        run(*command, cwd=program.folder, given=rows.tobytes()), record
    )
    _check(chip, whole, int(told["stack"].max(initial=0)) + _SPARE)
    return told


def _in_qemu(program: ChipProgram, rows: np.ndarray, record: np.dtype) -> np.ndarray:
    chip, folder = program.chip, program.folder
    program.build("cortex.c", "chip.elf", f"-T{HERE / 'cortex.ld'}")
    (folder / "rows").write_bytes(rows.tobytes())
    run("qemu-system-arm", "-M", chip.machine, *_QEMU, cwd=folder)
    told = np.frombuffer((folder / "told").read_bytes(), record)
    if (told["stack"] == _ALL_OF_IT).any():
        raise ExportError(f"The model takes more stack than is watched on {chip.name}.")
    return told


def _check_due(chip: Chip, answered: np.ndarray, stream: Stream) -> None:
    """Refuse answers out of time: on an AVR the stack may overwrite a stream."""
    due = stream.begins(len(answered)).ravel() + stream.n_times - 1
    if not np.array_equal(np.flatnonzero(answered), due):
        raise ExportError(
            f"A program with this model takes more stack than an {chip.name} has RAM "
            "for. It can be exported, for a larger chip."
        )


def _check(chip: Chip, whole: Sizes, stack: int) -> None:
    """Refuse a program that the chip cannot hold."""
    needs = {
        "flash": (whole.flash, chip.flash),
        "RAM": (whole.ram + stack, chip.ram),
    }
    for memory, (needed, there) in needs.items():
        if needed > there:
            raise ExportError(
                f"A program with this model takes {needed:,} bytes of {memory}, but an "
                f"{chip.name} has {there:,}. It can be exported, for a larger chip."
            )
