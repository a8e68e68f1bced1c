"""What a model takes on a chip: estimated from a table, or measured on a simulator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smpcore import (
    CHIPS,
    CompiledModel,
    ExportError,
    QuantModel,
    available,
    estimated,
    measure,
    test_vectors,
)

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


def estimates(model: CompiledModel | QuantModel) -> dict[str, Cost]:
    """Costs from the table, chip by chip; none for a form that has no constants."""
    found = {}
    for name, chip in CHIPS.items():
        if told := estimated(model, name):
            found[name] = Cost(
                told.flash, 0, told.stack, told.count, chip.counted, "estimated"
            )
    return found


def can_measure() -> bool:
    """Whether the compilers and simulators of any chip are installed here."""
    return bool(available())


def measured(
    model: CompiledModel | QuantModel, stop: np.ndarray, progress: np.ndarray
) -> tuple[dict[str, Cost], list[str]]:
    """Compile the model, let every simulated chip answer rows, and count.

    Parameters
    ----------
    model : CompiledModel or QuantModel
    stop, progress : ndarray of shape (1,)
        See `jobs.Job`.

    Returns
    -------
    dict of str to Cost
    list of str
        Why a chip is missing.
    """
    found, problems, chips = {}, [], available()
    rows = test_vectors(model, n=_N_ASKED).rows
    for chip in chips:
        if stop[0]:
            break
        try:
            told = measure(model, rows, chip)
            count = int(told.counts.max())
            found[chip.name] = Cost(
                told.flash, told.ram, told.stack, count, chip.counted, "measured"
            )
        except ExportError as error:
            problems.append(str(error))
        progress[0] += 1 / len(chips)
    return found, problems
