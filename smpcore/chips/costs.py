"""What a model takes on every chip: estimated from a table, or measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smpcore.chips.chip import CHIPS, Chip
from smpcore.chips.measuring import available, measure
from smpcore.codegen import CompiledModel, QuantModel, estimated, test_vectors
from smpcore.errors import ExportError

#: Rows that a simulated chip predicts.
_N_ROWS = 16


@dataclass(frozen=True)
class PredictionCost:
    """What one prediction takes on a chip.

    Parameters
    ----------
    flash, ram, stack : int
        Bytes; static RAM.
    count : int
        Cycles or instructions; measured: the most of all rows tried.
    counted : str
        Which of the two.
    origin : str
        "estimated" or "measured".
    """

    flash: int
    ram: int
    stack: int
    count: int
    counted: str
    origin: str


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
    # The integers that the conversion makes lie in memory until they are read.
    ram = len(model.inputs) * model.width // 8 if converted else 0
    counts = costs.flash, ram, costs.stack, costs.count
    return PredictionCost(*counts, chip.counted, "estimated")


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
    counts = result.flash, result.ram, result.stack, int(result.counts.max())
    return PredictionCost(*counts, chip.counted, "measured")
