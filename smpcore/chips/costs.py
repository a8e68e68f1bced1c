"""What a model takes on every chip: estimated from a table, or measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smpcore.chips.programs import (
    CHIPS,
    NOT_DUE,
    Chip,
    available,
    measure,
)
from smpcore.codegen import (
    CompiledModel,
    QuantModel,
    Stream,
    estimated,
    test_vectors,
)
from smpcore.codegen.targets.c99.stream import (
    needs_conversion,
    state_bytes,
    taken_type,
)
from smpcore.errors import ExportError

#: Rows that a simulated chip predicts.
_N_ROWS = 16


@dataclass(frozen=True)
class PredictionCost:
    """What one prediction takes on a chip.

    Parameters
    ----------
    flash : int
        Bytes of code and constants.
    inputs, buffers, stack, static : int
        Bytes of RAM: the row that the caller fills, the integers that a conversion
        makes of it, the deepest stack, and variables of the code's own.
    count : int
        Cycles or instructions; measured: the most of all rows tried.
    counted : str
        Which of the two.
    flash_error, count_error : float
        How far off an estimate can be, as a share; 0.0 where it was measured.
    sample : int
        Of a stream, counted likewise: a sample without an answer, at most.
    lacks_stream : bool
        Whether flash and count are those of a row at once: the code of the stream was
        not measured.
    """

    flash: int
    inputs: int
    buffers: int
    stack: int
    static: int
    count: int
    counted: str
    flash_error: float = 0.0
    count_error: float = 0.0
    sample: int = 0
    lacks_stream: bool = False

    @property
    def ram(self) -> int:
        """All bytes of RAM that one prediction needs."""
        return self.inputs + self.buffers + self.stack + self.static

    @property
    def origin(self) -> str:
        """Whether it is "estimated" or "measured"."""
        return "estimated" if self.count_error or self.flash_error else "measured"

    def in_words(self, what: str, unit: str) -> str:
        """Flash or count with its unit; an estimate rounded, with its error."""
        value, error = getattr(self, what), getattr(self, f"{what}_error")
        if not error:
            return f"{value:,} {unit}".rstrip()
        digits = max(0, len(str(value)) - (3 if error < 0.05 else 2))
        rounded = f"{round(value, -digits):,} {unit}".rstrip()
        return f"{rounded} ± {100 * error:.0f} %"


@dataclass(frozen=True)
class ChipCosts:
    """What a prediction takes on a chip, without and with what its inputs need.

    Parameters
    ----------
    alone : PredictionCost
        The prediction: all there is where the inputs are whole numbers already.
    linked : PredictionCost
        What a program links: of a model of integers with the conversion from floats,
        unless all its inputs are whole numbers as they are.
    """

    alone: PredictionCost
    linked: PredictionCost


def estimate_costs(
    model: CompiledModel | QuantModel, stream: Stream | None = None
) -> dict[str, ChipCosts]:
    """Look up what a model takes on every chip.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model in one number format.
    stream : Stream, optional
        The model takes samples then: RAM is that of its stream.

    Returns
    -------
    dict of str to ChipCosts
        Chip by chip; none for a form that has no constants in the table.
    """
    linked = needs_conversion(model, stream)
    return {
        chip.name: ChipCosts(
            *(_estimated(model, chip, c, stream) for c in (False, linked))
        )
        for chip in CHIPS.values()
        if estimated(model, chip.name)
    }


def _estimated(
    model: CompiledModel | QuantModel,
    chip: Chip,
    converted: bool,
    stream: Stream | None,
) -> PredictionCost:
    costs = estimated(model, chip.name, converted)
    n, state, stack = len(model.inputs), 0, costs.stack
    if stream:
        n, stack = len(stream.channels), stack + stream.stack_bytes(model)
        state = state_bytes(model, stream, aligned=chip.tools != "avr")
    return PredictionCost(
        costs.flash,
        *_row_bytes(n, taken_type(model, stream), converted),
        stack,
        state,
        costs.count,
        chip.counted,
        costs.flash_error,
        costs.count_error,
        lacks_stream=stream is not None,
    )


def _row_bytes(n: int, kind: np.dtype, converted: bool) -> tuple[int, int]:
    """Bytes of n values as the caller has them, and of the integers made of them."""
    size = n * kind.itemsize
    return (4 * n, size) if converted else (size, 0)


def measure_costs(
    model: CompiledModel | QuantModel,
    stop: np.ndarray,
    progress: np.ndarray,
    stream: Stream | None = None,
) -> tuple[dict[str, ChipCosts], list[tuple[str, str]]]:
    """Compile a model, let every simulated chip predict rows, and count.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model in one number format.
    stop : ndarray of int64, shape (1,)
        Anything but 0 ends it before the next chip.
    progress : ndarray of float64, shape (1,)
        Share of the chips that are done.
    stream : Stream, optional
        The model takes samples then, one at a time: the count is that of one with an
        answer.

    Returns
    -------
    dict of str to ChipCosts
        Chips that were measured.
    list of (str, str)
        Chips that are missing, and why.
    """
    costs, problems, chips = {}, [], available()
    for chip in chips:
        if stop[0]:
            break
        try:
            alone = linked = _measured(model, chip, False, stream)
            if needs_conversion(model, stream):
                linked = _measured(model, chip, True, stream)
            costs[chip.name] = ChipCosts(alone, linked)
        except ExportError as error:
            problems.append((chip.name, str(error)))
        progress[0] += 1 / len(chips)
    return costs, problems


def _measured(
    model: CompiledModel | QuantModel,
    chip: Chip,
    converted: bool,
    stream: Stream | None,
) -> PredictionCost:
    if stream:
        rows = _samples(model, stream, converted)
    else:
        rows = test_vectors(model.source if converted else model, n=_N_ROWS).rows
    result = measure(model, rows, chip, converted=converted, stream=stream)
    inputs, buffers = _row_bytes(rows.shape[1], taken_type(model, stream), converted)
    # The program around the model keeps the integers in a variable.
    static = max(0, result.ram - buffers)
    is_due = result.winners != NOT_DUE
    return PredictionCost(
        result.flash,
        *(inputs, buffers, result.stack, static),
        int(result.counts[is_due].max()),
        chip.counted,
        sample=int(result.counts[~is_due].max(initial=0)),
    )


def _samples(
    model: CompiledModel | QuantModel, stream: Stream, converted: bool
) -> np.ndarray:
    """Samples inside the ranges, up to the second answer."""
    inputs = stream.samples(model)
    low, high = np.array([(one.low, one.high) for one in inputs]).T
    size = stream.n_times + stream.hop, len(inputs)
    samples = np.random.default_rng(0).uniform(low, high, size)
    if converted or not stream.width(model):
        return samples
    return stream.quantise(model, samples)
