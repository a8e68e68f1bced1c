"""What a model takes on every chip: estimated from a table, or measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smpcore.chips.chip import CHIPS, Chip
from smpcore.chips.measuring import available, measure
from smpcore.chips.programs import numbers
from smpcore.codegen import CompiledModel, QuantModel, estimated, test_vectors
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


def needs_conversion(model: CompiledModel | QuantModel) -> bool:
    """Whether a program has to turn floats into integers before it calls the model.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model in one number format.

    Returns
    -------
    bool
    """
    return isinstance(model, QuantModel) and model.converts


def estimate_costs(model: CompiledModel | QuantModel) -> dict[str, ChipCosts]:
    """Look up what a model takes on every chip.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model in one number format.

    Returns
    -------
    dict of str to ChipCosts
        Chip by chip; none for a form that has no constants in the table.
    """
    linked = needs_conversion(model)
    return {
        chip.name: ChipCosts(*(_estimated(model, chip, c) for c in (False, linked)))
        for chip in CHIPS.values()
        if estimated(model, chip.name)
    }


def _estimated(
    model: CompiledModel | QuantModel, chip: Chip, converted: bool
) -> PredictionCost:
    costs = estimated(model, chip.name, converted)
    return PredictionCost(
        costs.flash,
        *_row_bytes(model, converted),
        costs.stack,
        0,
        costs.count,
        chip.counted,
        costs.flash_error,
        costs.count_error,
    )


def _row_bytes(model: CompiledModel | QuantModel, converted: bool) -> tuple[int, int]:
    """Bytes of a row as the caller has it, and of the integers that become of it."""
    size = len(model.inputs) * numbers(model)[0].itemsize
    return (4 * len(model.inputs), size) if converted else (size, 0)


def measure_costs(
    model: CompiledModel | QuantModel, stop: np.ndarray, progress: np.ndarray
) -> tuple[dict[str, ChipCosts], list[str]]:
    """Compile a model, let every simulated chip predict rows, and count.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model in one number format.
    stop : ndarray of int64, shape (1,)
        Anything but 0 ends it before the next chip.
    progress : ndarray of float64, shape (1,)
        Share of the chips that are done.

    Returns
    -------
    dict of str to ChipCosts
        Chips that were measured.
    list of str
        Why a chip is missing.
    """
    costs, problems, chips = {}, [], available()
    for chip in chips:
        if stop[0]:
            break
        try:
            alone = linked = _measured(model, chip, False)
            if needs_conversion(model):
                linked = _measured(model, chip, True)
            costs[chip.name] = ChipCosts(alone, linked)
        except ExportError as error:
            problems.append(str(error))
        progress[0] += 1 / len(chips)
    return costs, problems


def _measured(
    model: CompiledModel | QuantModel, chip: Chip, converted: bool
) -> PredictionCost:
    rows = test_vectors(model.source if converted else model, n=_N_ROWS).rows
    result = measure(model, rows, chip, converted=converted)
    inputs, buffers = _row_bytes(model, converted)
    # The program around the model keeps the integers in a variable.
    static = max(0, result.ram - buffers)
    ram = inputs, buffers, result.stack, static
    return PredictionCost(result.flash, *ram, int(result.counts.max()), chip.counted)
