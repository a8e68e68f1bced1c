"""Sections of a README about a model of integers."""

from __future__ import annotations

import numpy as np

from smpcore.codegen import readme_parts as parts
from smpcore.codegen.costs import conversion
from smpcore.codegen.names import markdown
from smpcore.codegen.quant_inputs import QuantInput, container_ends
from smpcore.codegen.quantised import QuantModel

#: Chip -> what its time is counted in.
_COUNTED = {
    "ATmega328P": "cycles",
    "Cortex-M0": "instructions",
    "Cortex-M4F": "instructions",
}


def facts_of_integers(quant: QuantModel, prefix: str) -> list[str]:
    """Sections that hold however the model is packed."""
    return [
        _inputs(quant, prefix),
        _value(quant) if quant.is_regression else _classes(quant, prefix),
        *filter(None, [parts.measured(quant.source.provenance)]),
        _proof(quant, prefix),
    ]


def _inputs(quant: QuantModel, prefix: str) -> str:
    m, (least, most) = prefix.upper(), container_ends(quant.width)
    lines = "\n".join(_input_row(one, m) for one in quant.inputs)
    too_small = quant.zero_weights_in_words(markdown)
    too_small = too_small and f"\n**{too_small}**\n"
    return f"""\
## Inputs

`{prefix}_quantise` turns numbers in the units of the table into the integers of
`x`; whoever has the integers already fills `x` without it. Half a count is rounded away
from 0. {least} and {most} mean: outside the range; `{prefix}_saturated(x)` counts such
inputs. A missing number is `NAN` for `{prefix}_quantise`; a missing or unknown
category is -1.

{_conversion(quant, prefix)}
| name in C | column | unit | range | integer in `x` | missing counts as |
|---|---|---|---|---|---|
{lines}
{too_small}{parts.constants(quant.source)}{parts.cleaning(quant.source)}"""


def _conversion(quant: QuantModel, prefix: str) -> str:
    """What the conversion costs on a chip, and how it is avoided."""
    if not quant.converts:
        return f"""\
All inputs are whole numbers that `x` takes as they are: no chip needs
`{prefix}_quantise`, and a linker that drops what is not called leaves it out.
"""
    more = {chip: conversion(quant, chip) for chip in _COUNTED}
    lines = "\n".join(
        f"| {chip} | {cost.flash:,} bytes | {cost.count:,} {_COUNTED[chip]} |"
        for chip, cost in more.items()
    )
    return f"""\
**What the conversion takes.** It computes in 32-bit floats, in software on a chip that
has none in hardware, and can be larger and slower than the model itself. Estimated,
beyond what `{prefix}_predict` takes:

| chip | flash | time of a row |
|---|---|---|
{lines}

Whole-number inputs avoid it: who reads counts of a converter puts the integers of the
table below into `x`, and the linker leaves `{prefix}_quantise` out.
"""


def _input_row(one: QuantInput, m: str) -> str:
    entry = one.given
    span, gone = f"{one.low:.6g} to {one.high:.6g}", str(one.missing)
    if entry.missing is None:
        gone = "none may be missing"
    formula = one.formula
    if entry.levels:
        span, formula, gone = (
            parts.levels(entry, m),
            "index of the level",
            parts.missing_level(entry, m),
        )
    name = f"`{m}_IN_{entry.identifier.upper()}`"
    unit = markdown(entry.unit)
    cells = [name, markdown(entry.name), unit, span, formula.replace("*", "×"), gone]
    return f"| {' | '.join(cells)} |"


def _classes(quant: QuantModel, prefix: str) -> str:
    not_sure = str(quant.not_sure) if quant.not_sure >= 0 else ""
    relative = " less that of class 0" if quant.relative else ""
    return f"""\
{parts.classes(quant.source)}
Equal scores go to the lowest index. A score{relative} is a whole number of steps of
{quant.step:.6g} of the model in floats.

{parts.margin(prefix, "in the same steps", not_sure)}"""


def _value(quant: QuantModel) -> str:
    return f"""\
## Value

`predict` gives a whole number; the value in the units of the target is that times
{quant.step:.9g}, plus {quant.shift:.9g}.
"""


def _proof(quant: QuantModel, prefix: str) -> str:
    middle = np.array([[one.given.low, one.given.high] for one in quant.inputs]).T
    bound = float(quant.row_bounds(middle).max())
    return f"""\
## What is proved

No score and no sum on the way to one is larger than {quant.largest:,} in size
(`{prefix.upper()}_LARGEST`), whatever the bits of the inputs: {quant.accumulator} bits
cannot overflow. At the ends of the training ranges a score is within {bound:.3g} of
that of the model in 64-bit floats; outside the ranges of the inputs nothing is proved
of the answer.
"""
