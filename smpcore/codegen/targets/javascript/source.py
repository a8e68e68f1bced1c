"""A model as one ECMAScript module without any import, for browsers and Node."""

from __future__ import annotations

from typing import Any

from smpcore.codegen.json_text import SCHEMA
from smpcore.codegen.program import (
    Operation,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.targets.javascript.literals import declared
from smpcore.codegen.targets.javascript.operations import TEXTS
from smpcore.codegen.targets.scripts import constants_of_interval, script


def emit_javascript(model: Any, name: str = "mdl", number: str = "") -> str:
    """Write a model as a JavaScript module."""
    constants, texts, calls = script(model, TEXTS, "inputValues(x)")
    texts.append(_ROW_SCORES.format(call=calls[-1]))
    answer = _VALUE if model.is_regression else _CLASS
    texts.append(answer.replace("@n@", str(model.n_outputs)))
    if model.probability:
        place = _PLACE_OF_INTEGERS if model.is_integer else _PLACE_OF_FLOATS
        texts.append(_PROBABILITY.replace("@place@", place))
    part, text = PARTS[type(model.operations[-1])]
    texts.append(text.replace("@given@", calls[-2]))
    public = {
        "NAME": name,
        "ID": number,
        "FORMAT": SCHEMA,
        "INPUTS": _inputs(model),
        "CLASSES": list(model.labels),
        "PART": part,
        **constants_of_interval(model),
    }
    first = _INTEGERS if model.is_integer else _FLOATS
    texts = [declared(public, "export "), declared(constants), first, *texts]
    return "\n".join([_HEAD, *dict.fromkeys(texts)])


def _inputs(model: Any) -> list[dict[str, Any]]:
    """What a page can show about each input."""
    given = [one.given for one in model.inputs] if model.is_integer else model.inputs
    return [
        {
            "identifier": entry.identifier,
            "name": entry.name,
            "low": float(entry.low),
            "high": float(entry.high),
            "integer": bool(entry.integer),
            "levels": list(entry.levels),
            "unit": entry.unit,
        }
        for entry in given
    ]


_HEAD = "// SPDX-License-Identifier: 0BSD. This generated code is yours.\n"

_FLOATS = """\
const round = Math.fround;

/** Number of a cell; what is none is missing. */
const number = (cell) => (typeof cell === "number" ? round(cell) : NaN);

function inputValues(x) {
  return N_LEVELS.map((nLevels, i) => {
    const value = number(x[i]);
    if (nLevels) return value;
    return round((Number.isNaN(value) ? MISSING[i] : value) - OFFSET[i]);
  });
}
"""

_INTEGERS = """\
/** Integers are exact. */
const round = (value) => value;

const inputValues = (x) => x;

/** Integers of numbers in the units of the table; a category is its index. */
export function quantise(values) {
  return N_LEVELS.map((nLevels, i) => {
    const cell = values[i];
    const value = typeof cell === "number" ? Math.fround(cell) : NaN;
    if (nLevels) return value >= 0 && value < nLevels ? Math.trunc(value) + 0 : -1;
    const scaled = Math.fround(Math.fround(value - ZERO[i]) * PER_UNIT[i]);
    const half = Math.fround(scaled + (scaled < 0 ? -0.5 : 0.5));
    if (Number.isNaN(half)) return MISSING[i];
    return Math.trunc(Math.min(Math.max(half, LEAST), MOST)) + 0; // never -0
  });
}

/** How many inputs lie at an end of the integers: outside their range. */
export function saturated(x) {
  const atEnd = (nLevels, i) => !nLevels && (x[i] === LEAST || x[i] === MOST);
  return N_LEVELS.filter(atEnd).length;
}
"""

_OF_INPUTS = """\
/** What each input adds to the score of each row: a list of inputs for each row. */
export function contributions(x) {
  const values = @given@;
  return Array.from(BIAS, (_, row) => {
    const added = new Array(INPUTS.length).fill(0);
    for (let f = START[row]; f < START[row + 1]; ++f) {
      added[INPUT[f]] = round(added[INPUT[f]] + round(WEIGHT[f] * term(values, f)));
    }
    return added;
  });
}
"""

_OF_ANCHORS = """\
/** What each anchor adds to the score of each row: a list of anchors for each row. */
export function contributions(x) {
  const alike = @given@;
  const added = Array.from(BIAS, () => new Array(alike.length).fill(0));
  alike.forEach((value, i) => {
    for (let k = START[i]; k < START[i + 1]; ++k) {
      added[ROW[k]][i] = round(WEIGHT[k] * value);
    }
  });
  return added;
}
"""

_OF_PROTOTYPES = """\
/** What each prototype adds to each score: a list of prototypes for each of them. */
export function contributions(x) {
  const alike = @given@;
  const { support, amount } = codeOf(alike);
  return Array.from({ length: N_OUTPUTS }, (_, k) => {
    const added = new Array(alike.length).fill(0);
    support.forEach((j, r) => {
      added[j] = round(VOTES[j * N_OUTPUTS + k] * amount[r]);
    });
    return added;
  });
}
"""

#: Last operation -> what a score is a sum over, and the function that gives its terms.
PARTS: dict[type[Operation], tuple[str, str]] = {
    WeightedInputs: ("input", _OF_INPUTS),
    WeightedSums: ("anchor", _OF_ANCHORS),
    SparseCode: ("prototype", _OF_PROTOTYPES),
}

_ROW_SCORES = """\
/** Score of each row of the model. */
export function rowScores(x) {{
  return {call};
}}
"""

_CLASS = """\
/** Score of each class: the largest among its rows. */
export function scores(x) {
  const best = new Array(@n@).fill(LOWEST);
  rowScores(x).forEach((score, row) => {
    if (score > best[OWNER[row]]) best[OWNER[row]] = score;
  });
  return best;
}

/** Index of the class: the lowest whose score is within TIE of the largest. */
export function predict(x) {
  const found = scores(x);
  const best = found.reduce((most, score) => Math.max(most, score));
  if (!(best > LOWEST)) return FALLBACK;
  return found.findIndex((score) => !(round(score + TIE) < best));
}

/** Name of a class. */
export function label(index) {
  return CLASSES[index];
}

/** How far the score of the best class is above the next. */
export function margin(x) {
  const [best, next] = scores(x).sort((a, b) => b - a);
  return round(best - next);
}

/** Whether a class has a score, with a margin outside the "not sure" band if any. */
export function sure(x) {
  return scores(x).some((score) => score > LOWEST) && margin(x) > NOT_SURE;
}
"""

_VALUE = """\
/** The value in steps of STEP above SHIFT. */
export function predict(x) {
  return rowScores(x)[0];
}

/** The value in the units of the target. */
export function value(x) {
  return STEP * predict(x) + SHIFT;
}
"""

_PROBABILITY = """\
/** Probability of class 1 in 1/32768; of class 0 it is the rest. */
export function probability(x) {
  const [low, high] = scores(x);
  const lead = round(high - low);
  const inside = Math.min(Math.max(lead, -LEAD_BELOW), LEAD_ABOVE);
  const from = (Number.isNaN(lead) ? 0 : inside) + LEAD_BELOW;
  const place = @place@;
  const k = SEGMENT_BEGIN.filter((begin) => place >= begin).length - 1;
  const rise = SEGMENT_SLOPE[k] * (place - SEGMENT_BEGIN[k]);
  return SEGMENT_VALUE[k] + (rise >> 15);
}
"""

_PLACE_OF_FLOATS = "Math.trunc(round(round(round(from) * LEAD_PER_UNIT) + 0.5))"

_PLACE_OF_INTEGERS = "Math.floor(from / 2 ** LEAD_DROP)"
