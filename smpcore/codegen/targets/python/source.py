"""A model as one file of plain Python, for a host or for MicroPython."""

from __future__ import annotations

import inspect
from typing import Any

from smpcore.codegen.targets.python.literals import declared
from smpcore.codegen.targets.python.operations import TEXTS, rounded
from smpcore.codegen.targets.scripts import constants_of_interval, script
from smpcore.datasets.cells import parse_cell


def emit_plain_python(model: Any) -> str:
    """Write the model as Python without any library."""
    inputs = [one.given for one in model.inputs] if model.is_integer else model.inputs
    constants = {f"IN_{e.identifier.upper()}": k for k, e in enumerate(inputs)}
    first, call = (_QUANTISE, "x") if model.is_integer else (_INPUT_VALUES, _GIVEN)
    more, texts, calls = script(model, TEXTS, call)
    constants |= constants_of_interval(model)
    constants |= more | {"LABELS": [_label(label) for label in model.labels]}
    texts = [first, *texts, _ROW_SCORES.format(call=calls[-1])]
    answer = _CLASS.replace("@n@", str(model.n_outputs))
    texts.append(_VALUE if model.is_regression else answer)
    if model.probability:
        place = _PLACE_OF_INTEGERS if model.is_integer else _PLACE_OF_FLOATS
        texts.append(_PROBABILITY.replace("@place@", place))
    texts = [rounded(text, model.is_integer) for text in dict.fromkeys(texts)]
    head = f"{_HEAD}\n\n{declared(constants)}"
    return "\n\n".join([head, _CELL, *texts])


def _label(label: str) -> str:
    """Text without lone surrogates, which no file can hold."""
    return label.encode("utf-8", "replace").decode()


_HEAD = '''\
# SPDX-License-Identifier: 0BSD. This generated code is yours.
"""The model in plain Python: each score is that of the C code, bit for bit."""

import struct


def _float32(number):
    """The nearest 32-bit float: what C computes with."""
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else -float("inf")


def _floats(words):
    """32-bit floats of their bits as hexadecimal numbers."""
    bits = [int(word, 16) for word in words.split()]
    return [struct.unpack("<f", struct.pack("<I", one))[0] for one in bits]
'''

#: Texts are read as the app reads them, by the same lines.
_CELL = f'''\
{inspect.getsource(parse_cell)}

def _number(cell):
    """Number of a cell, which may be a text; NaN: missing."""
    if isinstance(cell, str):
        cell = parse_cell(cell)
        cell = cell if abs(cell) <= 1e37 else float("nan")
    return _float32(cell)
'''

_INPUT_VALUES = '''\
def _input_values(x):
    """Values of the inputs: a missing number replaced, less its offset."""
    values = [_number(x[place]) for place in range(len(N_LEVELS))]
    for place, n_levels in enumerate(N_LEVELS):
        value = values[place]
        if not n_levels:
            value = MISSING[place] if value != value else value
            values[place] = _float32(value - OFFSET[place])
    return values
'''

#: What operations are given.
_GIVEN = "_input_values(x)"

_QUANTISE = '''\
def _count(cell, place):
    number, n_levels = _number(cell), N_LEVELS[place]
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


def saturated(x):
    """How many inputs lie at an end of the integers: outside their range."""
    ends = [q in (LEAST, MOST) for q, n in zip(x, N_LEVELS) if not n]
    return sum(ends)
'''

_ROW_SCORES = '''\
def row_scores(x):
    """Score of each row of the model."""
    return {call}
'''

_CLASS = '''\
def scores(x):
    """Score of each class: the largest among its rows."""
    best = [LOWEST] * @n@
    for owner, score in zip(OWNER, row_scores(x)):
        if score > best[owner]:
            best[owner] = score
    return best


def predict(x):
    """Index of the class: the lowest whose score is within TIE of the largest."""
    found = scores(x)
    best = max(found)
    if not best > LOWEST:
        return FALLBACK
    return [{{score + TIE}} >= best for score in found].index(True)


def margin(x):
    """How far the score of the best class is above the next."""
    best = sorted(scores(x))
    return {{best[-1] - best[-2]}}


def sure(x):
    """Whether a class has a score, with a margin outside the "not sure" band if any."""
    return max(scores(x)) > LOWEST and margin(x) > NOT_SURE


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

_PROBABILITY = '''\
def probability(x):
    """Probability of class 1 in 1/32768; of class 0 it is the rest."""
    low, high = scores(x)
    lead = {{high - low}}
    lead = min(max(lead, -LEAD_BELOW), LEAD_ABOVE) if lead == lead else 0
    place = @place@
    k = sum([place >= begin for begin in SEGMENT_BEGIN]) - 1
    return SEGMENT_VALUE[k] + (SEGMENT_SLOPE[k] * (place - SEGMENT_BEGIN[k]) >> 15)
'''

_PLACE_OF_FLOATS = "int({{{{{{lead + LEAD_BELOW}} * LEAD_PER_UNIT}} + 0.5}})"

_PLACE_OF_INTEGERS = "(lead + LEAD_BELOW) >> LEAD_DROP"
