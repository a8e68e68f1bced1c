"""What a model takes on a chip, estimated without a compiler: a table of constants.

A form of code does the same steps for each of its parts (rows, terms, anchors, ...), so
that bytes and cycles are sums over the parts. What one part takes was measured on
simulated chips and lies in ``costs.json``; a bench fits it again, and prints estimates
beside measurements.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.constants import features_differ, has_tables, is_dense
from smpcore.codegen.program import (
    Features,
    FixedPointFeatures,
    FixedPointSimilarities,
    Similarities,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.similarities import LINEAR_CODE_BYTES

#: What of `Costs` -> part -> bytes or cycles of one.
_Constants = Mapping[str, Mapping[str, float]]

TABLE = Path(__file__).with_name("costs.json")


class Costs(NamedTuple):
    """What one answer takes, as estimated.

    Parameters
    ----------
    flash, stack : int
        Bytes; of the stack with the return address, as far as a call puts it there (on
        an AVR): no less than any model took that the table was made of.
    count : int
        Cycles of an AVR, instructions of a Cortex-M.
    """

    flash: int
    stack: int
    count: int


def estimated(
    model: CompiledModel | QuantModel, chip: str, converted: bool = False
) -> Costs | None:
    """Estimate what a model takes on a chip.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model whose flash, RAM and cycles are estimated.
    chip : str
        "ATmega328P", "Cortex-M0" or "Cortex-M4F".
    converted : bool, default False
        Whether a model of integers is given floats: with their conversion.

    Returns
    -------
    Costs or None
        None for a form that was not measured: codes, whose work depends on the input.
    """
    each = _table().get(form_of(model) or "", {}).get(chip)
    if each is None:
        return None
    found = (
        (model.table_bytes if has_tables(model) else 0, code_parts(model)),
        (0, stack_parts(model)),
        (0, parts(model)),
    )
    told = _sums(each, found)
    if not converted or not model.is_integer:
        return told
    more = conversion(model, chip)
    stack = max(told.stack, more.stack)  # one call after the other
    return Costs(told.flash + more.flash, stack, told.count + more.count)


def conversion(quant: QuantModel, chip: str) -> Costs | None:
    """Estimate what it takes to turn floats into the integers of a model.

    Parameters
    ----------
    quant : QuantModel
        Integer model whose inputs are converted.
    chip : str
        "ATmega328P", "Cortex-M0" or "Cortex-M4F".

    Returns
    -------
    Costs or None
        None for an unknown chip.
    """
    each = _table()[conversion_form(quant)].get(chip)
    if each is None:
        return None
    code = conversion_code(quant)
    found = (
        (conversion_bytes(quant), code),
        (0, {"call": 1}),
        (0, conversion_parts(quant)),
    )
    return _sums(each, found)


def _sums(each: _Constants, found: Iterable[tuple[int, Mapping[str, int]]]) -> Costs:
    """What is known, and the parts; of flash, stack and count, in this order."""
    totals = (
        start + sum(each[what].get(name, 0.0) * n for name, n in counts.items())
        for what, (start, counts) in zip(Costs._fields, found, strict=True)
    )
    return Costs(*(math.ceil(total) for total in totals))


def conversion_form(quant: QuantModel) -> str:
    """Name of the constants of a conversion."""
    return f"conversion, {quant.width} bits"


def conversion_parts(quant: QuantModel) -> dict[str, int]:
    """How often each part of a conversion's work is done."""
    numbers, n = sum(one.is_number for one in quant.inputs), len(quant.inputs)
    far = n if n > np.iinfo(np.uint8).max else 0
    counted = {"call": 1, "number": numbers, "category": n - numbers}
    return counted | {"far input": far}


def conversion_code(quant: QuantModel) -> dict[str, int]:
    """Which parts of a conversion there is code of: once, however many inputs."""
    counted = conversion_parts(quant)
    return {name: int(n > 0) for name, n in counted.items() if name != "number"}


def conversion_bytes(quant: QuantModel) -> int:
    """Bytes of the tables of a conversion."""
    integers = 1 if all(one.is_number for one in quant.inputs) else 2
    return len(quant.inputs) * (2 * 4 + integers * quant.width // 8)


def form_of(model: CompiledModel | QuantModel) -> str | None:
    """Which code a model becomes; the name of its constants."""
    if model.find(SparseCode):
        return None
    rows = model.find(WeightedInputs)
    kind = "linear" if rows else model.source.find(Similarities).similarity
    if not model.is_integer:
        return f"{kind}, floats"
    if rows is None:
        return f"{kind}, {model.width} bits"
    layout = "dense" if is_dense(rows, model) else "sparse"
    layout = layout if has_tables(model) else "written out"
    return f"linear, {model.width} bits, sums of {model.accumulator}, {layout}"


def parts(model: CompiledModel | QuantModel) -> dict[str, int]:
    """How often each part of an answer's work is done."""
    counted = {"call": 1, "row": model.n_rows, "tied class": _tied_classes(model)}
    rows = model.find(WeightedInputs)
    if rows:
        return counted | _linear_parts(model, rows)
    return counted | _similarity_parts(model, model.find(WeightedSums))


def _linear_parts(
    model: CompiledModel | QuantModel, rows: WeightedInputs
) -> dict[str, int]:
    tables, n = model.tables(), rows.n_terms
    levels = int((rows.level >= 0).sum())
    if not has_tables(model):
        return {"input": len(model.inputs), "term": n - levels, "level": levels}
    counted = {"term": n, "tested": n if levels else 0, "level": levels}
    for name in ("missing", "shift"):
        counted[name] = n - levels if name in tables else 0
    counted["far term"] = n if n > np.iinfo(np.uint8).max else 0
    return counted


def _similarity_parts(
    model: CompiledModel | QuantModel, sums: WeightedSums
) -> dict[str, int]:
    tables, whole, terms = model.tables(), model.is_integer, sums.n_terms
    features = model.find(FixedPointFeatures if whole else Features)
    n, entries = features.n_features, features.n_features * sums.n_anchors
    power = 0 if whole else sums.n_anchors * (model.find(Similarities).degree - 1)
    return {
        "anchor": sums.n_anchors,
        "entry": entries,
        "feature": n if whole or features_differ(model) else 0,
        "term": terms if sums.is_dense else 0,
        "chosen term": 0 if sums.is_dense else terms,
        "multiplication": power,
        "missing": n if "missing" in tables else 0,
        "shift": n if "shift" in tables else 0,
        **(_shifts(model, features, sums.n_anchors) if whole else {}),
        "tested": n if "level" in tables or (not whole and "input" in tables) else 0,
        "far entry": entries if entries > 255 else 0,
    }


def _shifts(
    model: QuantModel, features: FixedPointFeatures, n_anchors: int
) -> dict[str, int]:
    """Bits that are shifted: an AVR does one after the other."""
    exp2 = model.find(FixedPointSimilarities).exp2
    return {
        "bit of a feature": int(features.places.sum()),
        "bit of a distance": n_anchors * exp2.drop,
        "bit of an exponent": n_anchors * exp2.down,
    }


def _tied_classes(model: CompiledModel | QuantModel) -> int:
    """Classes whose scores are kept in an array until the best is known."""
    return model.n_outputs if model.tie and model.n_outputs > 2 else 0


def code_parts(model: CompiledModel | QuantModel) -> dict[str, int]:
    """Which parts there is code of; each of them, where terms are written out."""
    counted = parts(model)
    if not has_tables(model):
        return counted
    return {name: int(n > 0) for name, n in counted.items() if name != "row"}


def stack_parts(model: CompiledModel | QuantModel) -> dict[str, int]:
    """Calls, and bytes of arrays; terms, where a compiler keeps several at a time."""
    score = model.accumulator // 8 if model.is_integer else 4
    array = score * _tied_classes(model)
    if not has_tables(model):
        return {"call": 1, "array": array, "term": model.n_terms}
    if not model.is_integer:
        array += model.stack_bytes
    elif features := model.find(FixedPointFeatures):
        array += 4 * model.n_rows + model.width // 8 * features.n_features
    return {"call": 1, "array": array}


#: What the search for a sparse code adds to what a similarity takes.
_CODE_BYTES_OF_SEARCH = {"ATmega328P": (1700, 3900), "Cortex-M0": (600, 2400)}


def code_bytes(model: CompiledModel, chip: str) -> tuple[int, int]:
    """Least and most flash that code adds to the tables, as measured.

    Parameters
    ----------
    model : CompiledModel
        Model in 32-bit floats whose C code is compiled.
    chip : {"ATmega328P", "Cortex-M0"}
        Chip that it is compiled for.

    Returns
    -------
    least, most : int
    """
    alike, has_code = model.find(Similarities), bool(model.find(SparseCode))
    least, most = (alike.kind.code_bytes if alike else LINEAR_CODE_BYTES)[chip]
    # One value alone needs up to 30 % less, as nothing competes.
    least = (7 if model.is_regression and not has_code else 10) * least // 10
    more = _CODE_BYTES_OF_SEARCH[chip] if has_code else (0, 0)
    return least + more[0], most + more[1]


@functools.cache
def _table() -> dict[str, dict[str, _Constants]]:
    """Form -> chip -> its constants."""
    return json.loads(TABLE.read_text("ascii"))
