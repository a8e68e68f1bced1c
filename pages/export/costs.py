"""What a model takes on a chip: estimated from a table, or measured on a simulator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smpcore.chips import CHIPS, Chip, available, measure
from smpcore.codegen import CompiledModel, QuantModel, estimated, test_vectors
from smpcore.errors import ExportError

#: Rows that a simulated chip answers.
_N_ASKED = 16


@dataclass(frozen=True)
class Cost:
    """What one answer takes on a chip.

    Parameters
    ----------
    flash, ram, stack : int
        Bytes; static RAM.
    count : int
        Cycles or instructions; measured: the most of all rows tried.
    counted : str
        Which of the two.
    how : str
        "estimated" or "measured".
    """

    flash: int
    ram: int
    stack: int
    count: int
    counted: str
    how: str


@dataclass(frozen=True)
class Costs:
    """What an answer takes on a chip, without and with what its inputs need.

    Parameters
    ----------
    alone : Cost
        The prediction: all there is where the inputs are whole numbers already.
    linked : Cost
        What a program links: of a model of integers with the conversion from floats,
        unless all its inputs are whole numbers as they are.
    """

    alone: Cost
    linked: Cost


def converts(model: CompiledModel | QuantModel) -> bool:
    """Whether a program has to turn floats into integers before it asks the model."""
    return isinstance(model, QuantModel) and model.converts


def estimates(model: CompiledModel | QuantModel) -> dict[str, Costs]:
    """Costs from the table, chip by chip; none for a form that has no constants."""
    return {
        chip.name: Costs(
            _estimated(model, chip, False), _estimated(model, chip, converts(model))
        )
        for chip in CHIPS.values()
        if estimated(model, chip.name)
    }


def _estimated(model: CompiledModel | QuantModel, chip: Chip, converted: bool) -> Cost:
    told = estimated(model, chip.name, converted)
    # The integers that the conversion makes lie in memory until they are asked for.
    ram = len(model.inputs) * model.width // 8 if converted else 0
    return Cost(told.flash, ram, told.stack, told.count, chip.counted, "estimated")


def can_measure() -> bool:
    """Whether the compilers and simulators of any chip are installed here."""
    return bool(available())


def measured(
    model: CompiledModel | QuantModel, stop: np.ndarray, progress: np.ndarray
) -> tuple[dict[str, Costs], list[str]]:
    """Compile the model, let every simulated chip answer rows, and count.

    Parameters
    ----------
    model : CompiledModel or QuantModel
    stop, progress : ndarray of shape (1,)
        See `tasks.Task`.

    Returns
    -------
    dict of str to Costs
    list of str
        Why a chip is missing.
    """
    found, problems, chips = {}, [], available()
    for chip in chips:
        if stop[0]:
            break
        try:
            alone = _measured(model, chip, False)
            linked = _measured(model, chip, True) if converts(model) else alone
            found[chip.name] = Costs(alone, linked)
        except ExportError as error:
            problems.append(str(error))
        progress[0] += 1 / len(chips)
    return found, problems


def _measured(model: CompiledModel | QuantModel, chip: Chip, converted: bool) -> Cost:
    rows = test_vectors(model.source if converted else model, n=_N_ASKED).rows
    told = measure(model, rows, chip, converted=converted)
    count = int(told.counts.max())
    return Cost(told.flash, told.ram, told.stack, count, chip.counted, "measured")
