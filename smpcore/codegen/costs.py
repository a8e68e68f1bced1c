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
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from smpcore.codegen import program
from smpcore.codegen.constants import features_differ, has_tables, is_dense
from smpcore.codegen.model import CompiledModel, QuantModel

#: What of `Costs` -> part -> bytes or cycles of one.
_Constants = Mapping[str, Mapping[str, float]]

#: Up to so many steps of a loop are written out by compilers that optimise for size.
_WRITTEN_OUT = 2

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
    flash_error, count_error : float
        As shares: 19 of 20 models that the constants were not fitted to are no further
        off.
    """

    flash: int
    stack: int
    count: int
    flash_error: float = 0.0
    count_error: float = 0.0


class Structure(NamedTuple):
    """A piece of generated code: its form, and how often each of its parts is there.

    ``code`` are the parts that take flash, beside the tables; ``stack`` those that
    take stack; ``work`` says how often each part runs for one answer.
    """

    form: str
    table_bytes: int
    code: dict[str, int]
    stack: dict[str, int]
    work: dict[str, int]


def structures(
    model: CompiledModel | QuantModel, converted: bool = False
) -> list[Structure]:
    """The pieces of code that one answer runs through."""
    size, work = 0, _work(model)
    code = work  # each term, where terms are written out
    if has_tables(model):
        size = model.table_bytes
        code = {name: int(n > 0) for name, n in work.items() if name != "row"}
    found = [Structure(_form(model), size, code, _stack(model), work)]
    if search := model.find(program.SparseCode):
        # A search without a detour; so many prototypes do not depend on each other.
        limit = min(search.limit, int(np.linalg.matrix_rank(search.gram)))
        stack = {"call": 1, "array": model.stack_bytes}
        work = {"call": 1, "step": limit, "slope": limit * search.n_prototypes}
        found.append(Structure("search for a code", 0, {"call": 1}, stack, work))
    if converted and model.is_integer:
        found.append(conversion_structure(model))
    return found


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
        None for an unknown chip, and for a form that was not measured.
    """
    return _sum(structures(model, converted), chip)


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
    return _sum([conversion_structure(quant)], chip)


def estimate(piece: Structure, each: _Constants) -> Costs:
    """What a piece of code takes, by the constants of its form on a chip."""
    counted = {"flash": piece.code, "stack": piece.stack, "count": piece.work}
    whole = {}
    for what, parts in counted.items():
        sizes = (each[what].get(name, 0.0) * n for name, n in parts.items())
        start = piece.table_bytes if what == "flash" else 0
        whole[what] = math.ceil(start + sum(sizes))
    errors = {f"{what}_error": size for what, size in each["error"].items()}
    return Costs(**whole, **errors)


def _sum(pieces: list[Structure], chip: str) -> Costs | None:
    """Pieces that run one after the other: their stacks share the same bytes."""
    constants = [_table().get(piece.form, {}).get(chip) for piece in pieces]
    if None in constants:
        return None
    costs = list(map(estimate, pieces, constants))
    flash, stack, count, *_ = zip(*costs, strict=True)
    whole = Costs(sum(flash), max(stack), sum(count))
    first, *others = costs
    # The errors of what follows the first piece are shares of the whole already.
    errors = {
        f"{what}_error": getattr(first, f"{what}_error")
        * getattr(first, what)
        / getattr(whole, what)
        + sum(getattr(one, f"{what}_error") for one in others)
        for what in ("flash", "count")
    }
    return whole._replace(**errors)


def conversion_structure(quant: QuantModel) -> Structure:
    """The code that turns floats into integers."""
    numbers, n = sum(one.is_number for one in quant.inputs), len(quant.inputs)
    far = n if n > np.iinfo(np.uint8).max else 0
    work = {"call": 1, "number": numbers, "category": n - numbers, "far input": far}
    # There is code of a part once, however many inputs.
    code = {name: int(n > 0) for name, n in work.items() if name != "number"}
    integers = 1 if numbers == n else 2
    size = n * (2 * 4 + integers * quant.width // 8)
    return Structure(f"conversion, {quant.width} bits", size, code, {"call": 1}, work)


def _form(model: CompiledModel | QuantModel) -> str:
    """Which code the scores of a model become; the name of its constants."""
    rows = model.find(program.WeightedInputs)
    kind = "linear" if rows else model.source.find(program.Similarities).similarity
    if not model.is_integer:
        return f"{kind}, floats"
    if rows is None:
        return f"{kind}, {model.width} bits"
    layout = "dense" if is_dense(rows, model) else "sparse"
    layout = layout if has_tables(model) else "written out"
    return f"linear, {model.width} bits, sums of {model.accumulator}, {layout}"


def _work(model: CompiledModel | QuantModel) -> dict[str, int]:
    """How often each part of an answer's work is done."""
    counted = {"call": 1, "row": model.n_rows, "tied class": _tied_classes(model)}
    if rows := model.find(program.WeightedInputs):
        return counted | _linear_parts(model, rows)
    return counted | _similarity_parts(model, model.find(program.WeightedSums))


def _linear_parts(
    model: CompiledModel | QuantModel, rows: program.WeightedInputs
) -> dict[str, int]:
    tables, n = model.tables(), rows.n_terms
    levels = int((rows.level >= 0).sum())
    if not has_tables(model):
        return {"input": len(model.inputs), "term": n - levels, "level": levels}
    if is_dense(rows, model):  # zeros are multiplied too, and 8 bits in pairs
        in_pairs = model.width == 8 and model.accumulator == 32
        odd = model.n_rows * (len(model.inputs) % 2) * in_pairs
        n = tables["weight"].size
        # A compiler writes out the steps of the shortest loops.
        loop = len(model.inputs) // (2 if in_pairs else 1)
        long_rows = model.n_rows if loop > _WRITTEN_OUT else 0
        counted = {"term": n - odd, "odd term": odd, "row of a loop": long_rows}
    else:
        counted = {"term": n, "tested": n if levels else 0, "level": levels}
        for name in ("missing", "shift"):
            counted[name] = n - levels if name in tables else 0
        counted["far term"] = n if n > np.iinfo(np.uint8).max else 0
    # Terms whose weights take two bytes, or in a function that two others call.
    counted["wide term"] = n * (tables["weight"].itemsize == 2)
    counted["shared term"] = n if _tied_classes(model) else 0
    return counted


def _similarity_parts(
    model: CompiledModel | QuantModel, sums: program.WeightedSums
) -> dict[str, int]:
    tables, whole, terms = model.tables(), model.is_integer, sums.n_terms
    features = model.find(program.FixedPointFeatures if whole else program.Features)
    n, entries = features.n_features, features.n_features * sums.n_anchors
    shifts = {}
    if whole:  # an AVR shifts one bit after the other
        exp2 = model.find(program.FixedPointSimilarities).exp2
        shifts["bit of a feature"] = int(features.places.sum())
        shifts["bit of a distance"] = sums.n_anchors * exp2.drop
        shifts["bit of an exponent"] = sums.n_anchors * exp2.down
    power = (
        0 if whole else sums.n_anchors * (model.find(program.Similarities).degree - 1)
    )
    return {
        "anchor": sums.n_anchors,
        "entry": entries,
        "feature": n if whole or features_differ(model) else 0,
        "term": terms if sums.is_dense else 0,
        "chosen term": 0 if sums.is_dense else terms,
        "multiplication": power,
        "missing": n if "missing" in tables else 0,
        "shift": n if "shift" in tables else 0,
        **shifts,
        "tested": n if "level" in tables or (not whole and "input" in tables) else 0,
        "far entry": entries if entries > 255 else 0,
    }


def _tied_classes(model: CompiledModel | QuantModel) -> int:
    """Classes whose scores are kept in an array until the best is known."""
    return model.n_outputs if model.tie and model.n_outputs > 2 else 0


def _stack(model: CompiledModel | QuantModel) -> dict[str, int]:
    """Calls, and bytes of arrays; terms, where a compiler keeps several at a time."""
    score = model.accumulator // 8 if model.is_integer else 4
    array = score * _tied_classes(model)
    if not has_tables(model):
        return {"call": 1, "array": array, "term": model.n_terms}
    if not model.is_integer:
        array += model.stack_bytes
    elif features := model.find(program.FixedPointFeatures):
        array += 4 * model.n_rows + model.width // 8 * features.n_features
    return {"call": 1, "array": array}


@functools.cache
def _table() -> dict[str, dict[str, _Constants]]:
    """Form -> chip -> its constants."""
    return json.loads(TABLE.read_text("ascii"))
