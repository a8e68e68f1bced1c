"""An integer model as one file of plain Python, for a host or for MicroPython."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from smpcore.codegen.integers.fade import TABLE
from smpcore.codegen.integers.inputs import ends
from smpcore.codegen.integers.linear import QuantLinear
from smpcore.codegen.integers.model import QuantModel
from smpcore.codegen.integers.sums import QuantSums
from smpcore.datasets.cells import parse_cell


def has_python(quant: QuantModel) -> bool:
    """Whether there is plain Python for the form of a model."""
    return type(quant) in _ROWS


def emit_plain_python(quant: QuantModel) -> str:
    """Write the model as Python without any library.

    Parameters
    ----------
    quant : QuantModel
        Of a form with `has_python`.

    Returns
    -------
    str
        A module whose functions are named as in C, without prefix.
    """
    constants, rows = _ROWS[type(quant)](quant)
    least, most = ends(quant.width)
    known = {
        "LEAST": least,
        "MOST": most,
        "STEP": quant.step,
        "SHIFT": quant.shift,
        "OWNER": quant.owner,
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


def _linear(quant: QuantLinear) -> tuple[dict[str, Any], str]:
    constants = {
        "BIAS": quant.bias,
        "START": quant.start,
        "INPUT": quant.term_input,
        "LEVEL": quant.term_level,
        "WEIGHT": quant.weight,
    }
    return constants, _LINEAR


def _sums(quant: QuantSums) -> tuple[dict[str, Any], str]:
    source, kept = quant.source, quant.feature
    fade = {name.upper(): value for name, value in asdict(quant.fade).items()}
    del fade["SCALE"]
    constants = {
        "POWER": quant.power,
        "TOP": quant.top,
        **fade,
        "TABLE": TABLE,
        "BIAS": quant.bias,
        "INPUT": source.feature_input[kept],
        "LEVEL": source.feature_level[kept],
        "FACTOR": quant.factor,
        "ORIGIN": quant.origin,
        "PLACES": quant.places,
        "ANCHOR": quant.anchor.ravel(),
        "START": quant.start,
        "ROW": quant.term_row,
        "WEIGHT": quant.weight,
    }
    return constants, _SUMS


_ROWS: dict[type, Callable[[Any], tuple[dict[str, Any], str]]] = {
    QuantLinear: _linear,
    QuantSums: _sums,
}

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

_SUMS = '''\
def _fade(distance):
    """Similarity 2^-(distance / scale) in steps of 2^-15."""
    coarse = distance >> DROP
    if coarse > LAST:
        return 0
    u = (coarse * GAIN + HALF) >> DOWN
    k, rest, whole = u >> 7 & 31, u & 127, u >> 12
    part = TABLE[k] - (((TABLE[k] - TABLE[k + 1]) * rest + 64) >> 7)
    return (part + ((1 << whole) >> 1)) >> whole


def _feature(x, f):
    """Whole feature of the integers of all inputs."""
    count = x[INPUT[f]] if LEVEL[f] < 0 else int(x[INPUT[f]] == LEVEL[f])
    return min(max((count * FACTOR[f] + ORIGIN[f]) >> PLACES[f], 0), TOP)


def row_scores(x):
    """Score of each row of the model for the integers of all inputs."""
    n = len(FACTOR)
    features = [_feature(x, f) for f in range(n)]
    found = list(BIAS)
    for i in range(len(START) - 1):
        apart = [abs(features[f] - ANCHOR[i * n + f]) ** POWER for f in range(n)]
        alike = _fade(sum(apart))
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
