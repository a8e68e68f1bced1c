"""Run models on simulated chips, and count what an answer takes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smpcore.chips.chip import CHIPS, Chip
from smpcore.chips.programs import (
    HERE,
    ChipProgram,
    Sizes,
    numbers,
    run,
    simavr_runner,
    taken_type,
    write,
)
from smpcore.codegen import CompiledModel, QuantModel, Stream
from smpcore.errors import ExportError

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
        options, files = write(folder, model, chip, converted, stream)
        program = ChipProgram(folder, chip, [*options, *flags], files)
        added = program.sizes()
        score = numbers(model)[1]
        given = np.dtype(np.float32) if converted else taken_type(model, stream)
        scores = ("scores", score, (model.n_outputs,))
        record = np.dtype([("count", "u4"), ("stack", "u4"), scores, ("winner", "u2")])
        with np.errstate(over="ignore"):  # beyond float32: infinite
            asked = np.asarray(rows).astype(given)
        told = simulated(program, asked, record)
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
