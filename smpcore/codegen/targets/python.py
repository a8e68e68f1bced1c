"""An integer model as one file of plain Python, for a host or for MicroPython."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from functools import singledispatch
from typing import Any

import numpy as np

from smpcore.codegen.fixed_point import TABLE
from smpcore.codegen.program import (
    FixedPointFeatures,
    FixedPointSimilarities,
    Operation,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.quant_inputs import container_ends
from smpcore.datasets.cells import parse_cell


def emit_plain_python(quant: Any) -> str:
    """Write the model as Python without any library.

    Parameters
    ----------
    quant : QuantModel

    Returns
    -------
    str
        A module whose functions are named as in C, without prefix.
    """
    least, most = container_ends(quant.width)
    constants, texts = {}, []
    for operation in quant.operations:
        more, text = _python(operation)
        constants |= more
        texts.append(text)
    constants = dict(sorted(constants.items(), key=lambda one: _ORDER.index(one[0])))
    rows = "\n\n".join(texts)
    known = {
        "LEAST": least,
        "MOST": most,
        "STEP": quant.step,
        "SHIFT": quant.shift,
        "OWNER": quant.prototype_labels,
        "NOT_SURE": quant.not_sure,
        "TIE": quant.tie,
        "ZERO": [one.zero for one in quant.inputs],
        "PER_UNIT": [one.per_unit for one in quant.inputs],
        "MISSING": [one.missing for one in quant.inputs],
        "LEVELS": [len(one.given.levels) for one in quant.inputs],
        "LABELS": [_label(label) for label in quant.source.labels],
        **constants,
    }
    values = "\n".join(f"{name} = {_literal(value)}" for name, value in known.items())
    names = "\n".join(
        f"IN_{one.given.identifier.upper()} = {place}"
        for place, one in enumerate(quant.inputs)
    )
    answer = _VALUE if quant.is_regression else _CLASS.format(n=quant.n_outputs)
    return f"{_HEAD}\n{names}\n{values}\n\n\n{rows}\n\n{answer}\n\n{_CELL}\n\n{_REST}"


def _label(label: str) -> str:
    """Text without lone surrogates, which no file can hold."""
    return label.encode("utf-8", "replace").decode()


def _literal(value: Any) -> str:
    """Plain numbers and ASCII texts: whatever a user typed is escaped."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list):
        return ascii(value)
    words = [ascii(entry) for entry in value]
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > 76:
            lines.append(line)
            line = ""
        line += f"{word}, "
    return "(\n    " + "\n    ".join([*lines, line.rstrip()]) + "\n)"


#: The order in which constants stand in the file.
_ORDER = (
    *("POWER", "TOP", "DROP", "GAIN", "HALF", "DOWN", "LAST", "TABLE", "BIAS", "START"),
    *("INPUT", "LEVEL", "FACTOR", "ORIGIN", "PLACES", "ANCHOR", "ROW", "WEIGHT"),
)


@singledispatch
def _python(operation: Operation) -> tuple[dict[str, Any], str]:
    """Constants of an operation, and the functions that compute it."""
    raise NotImplementedError(type(operation).__name__)


def _arrays(operation: Operation, *names: str) -> dict[str, Any]:
    return {name.upper(): getattr(operation, name).ravel() for name in names}


@_python.register
def _(operation: WeightedInputs) -> tuple[dict[str, Any], str]:
    names = "bias", "start", "input", "level", "weight"
    return _arrays(operation, *names), _LINEAR


@_python.register
def _(operation: FixedPointFeatures) -> tuple[dict[str, Any], str]:
    names = "input", "level", "factor", "origin", "places"
    return {**_arrays(operation, *names), "TOP": operation.top}, _FEATURES


@_python.register
def _(operation: FixedPointSimilarities) -> tuple[dict[str, Any], str]:
    exp2 = {name.upper(): value for name, value in asdict(operation.exp2).items()}
    del exp2["SCALE"]
    more = {"POWER": operation.power, "TABLE": TABLE}
    return {**_arrays(operation, "anchor"), **exp2, **more}, _SIMILARITIES


@_python.register
def _(operation: WeightedSums) -> tuple[dict[str, Any], str]:
    return _arrays(operation, "bias", "start", "row", "weight"), _SUMS


_HEAD = '''\
# SPDX-License-Identifier: 0BSD. This generated code is yours.
"""The model in plain Python: each score is that of the C code, integer for integer."""

import struct
'''

#: Texts are read as the app reads them, by the same lines.
_CELL = inspect.getsource(parse_cell)

_LINEAR = '''\
def row_scores(x):
    """Score of each row of the model for the integers of all inputs."""
    found = []
    for row in range(len(BIAS)):
        score = BIAS[row]
        for term in range(START[row], START[row + 1]):
            q, level = x[INPUT[term]], LEVEL[term]
            score += WEIGHT[term] * (q if level < 0 else int(q == level))
        found.append(score)
    return found
'''

_FEATURES = '''\
def _feature(x, f):
    """Whole feature of the integers of all inputs."""
    count = x[INPUT[f]] if LEVEL[f] < 0 else int(x[INPUT[f]] == LEVEL[f])
    return min(max((count * FACTOR[f] + ORIGIN[f]) >> PLACES[f], 0), TOP)
'''

_SIMILARITIES = '''\
def _exp2(distance):
    """Similarity 2^-(distance / scale) in steps of 2^-15."""
    coarse = distance >> DROP
    if coarse > LAST:
        return 0
    u = (coarse * GAIN + HALF) >> DOWN
    k, rest, whole = u >> 7 & 31, u & 127, u >> 12
    part = TABLE[k] - (((TABLE[k] - TABLE[k + 1]) * rest + 64) >> 7)
    return (part + ((1 << whole) >> 1)) >> whole
'''

_SUMS = '''\
def row_scores(x):
    """Score of each row of the model for the integers of all inputs."""
    n = len(FACTOR)
    features = [_feature(x, f) for f in range(n)]
    found = list(BIAS)
    for i in range(len(START) - 1):
        apart = [abs(features[f] - ANCHOR[i * n + f]) ** POWER for f in range(n)]
        alike = _exp2(sum(apart))
        for term in range(START[i], START[i + 1]):
            found[ROW[term]] += WEIGHT[term] * alike
    return found
'''

_CLASS = '''\
def scores(x):
    """Score of each class."""
    best = [None] * {n}
    for owner, score in zip(OWNER, row_scores(x)):
        if best[owner] is None or score > best[owner]:
            best[owner] = score
    return best


def predict(x):
    """Index of the class: the lowest whose score is within TIE of the largest."""
    found = scores(x)
    best = max(found)
    return [best - score <= TIE for score in found].index(True)


def margin(x):
    """How far the score of the best class is above the next."""
    best = sorted(scores(x))
    return best[-1] - best[-2]


def sure(x):
    """Whether the margin is outside the "not sure" band, if there is one."""
    return margin(x) > NOT_SURE


def label(index):
    """Name of a class."""
    return LABELS[index]
'''

_VALUE = '''\
def predict(x):
    """The value in steps of STEP above SHIFT."""
    return row_scores(x)[0]


def value(x):
    """The value in the units of the target."""
    return STEP * predict(x) + SHIFT
'''

_REST = '''\
def saturated(x):
    """How many inputs lie at an end of the integers: outside their range."""
    ends = [q in (LEAST, MOST) for q, n in zip(x, LEVELS) if not n]
    return sum(ends)


def _float32(number):
    """The nearest 32-bit float: what C computes with."""
    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else -float("inf")


def _count(number, place):
    if isinstance(number, str):
        number = parse_cell(number)
        number = number if abs(number) <= 1e37 else float("nan")
    number, n_levels = _float32(number), LEVELS[place]
    if n_levels:
        return int(number) if 0 <= number < n_levels else -1
    if number != number:  # NaN: missing
        return MISSING[place]
    scaled = _float32(_float32(number - ZERO[place]) * PER_UNIT[place])
    scaled = _float32(scaled + (-0.5 if scaled < 0 else 0.5))
    if not scaled > LEAST:
        return LEAST
    return MOST if scaled > MOST else int(scaled)


def quantise(values):
    """Integers of numbers in the units of the table; a category is its index."""
    return [_count(values[place], place) for place in range(len(ZERO))]
'''
