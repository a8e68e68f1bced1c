"""What languages share: constants of a model, and the functions of its operations.

A language has a text for each function. Those of C are fused, and its tables differ:
see `c99.operations`; what else is here is for languages that are run from their source.
The value of a constant is a plain one, a list, or an array: of float32 or of integers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from smpcore.codegen import arithmetic, run
from smpcore.codegen.arithmetic import TABLE
from smpcore.codegen.inputs import container_ends
from smpcore.codegen.program import (
    LOWEST,
    Features,
    FixedPointFeatures,
    FixedPointSimilarities,
    Operation,
    Similarities,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.templates import section

Constants = dict[str, Any]

#: Of `arithmetic.exp2_minus` and `arithmetic.inverse_root`.
EXP2 = {"CUTOFF": arithmetic.CUTOFF, "EXP2": arithmetic.EXP2}
INVERSE_ROOT = {
    "LEAST_SQUARE": arithmetic.LEAST,
    "MOST_SQUARE": arithmetic.MOST,
    "GUESS": arithmetic.GUESS,
    "NEWTON_STEPS": arithmetic.STEPS,
}


def _arrays(operation: Any, *names: str) -> Constants:
    found = {name.upper(): getattr(operation, name) for name in names}
    # An empty list is one line, whatever its type.
    return {n: v if np.size(v) else [] for n, v in found.items()}


#: Operation -> its constants.
CONSTANTS: dict[type[Operation], Callable[[Any], Constants]] = {
    WeightedInputs: lambda one: _arrays(
        one, "bias", "start", "input", "level", "weight"
    ),
    Features: lambda one: (
        _arrays(one, "input", "level", "factor", *["move"] * one.is_moved)
        | ({"ONE_OF_ALL": one.share} if "mean" in one.normalise else {})
    ),
    Similarities: lambda one: (
        _arrays(one, "constant", "anchor", *["share"] * (one.kind.step == "exp2"))
        | ({"DEGREE": one.degree} if one.kind.finish == "power" else {})
    ),
    WeightedSums: lambda one: _arrays(one, "bias", "start", "row", "weight"),
    SparseCode: lambda one: {
        **_arrays(run, "FLAT", "EQUAL", "DEPENDENT", "LITTLE", "GONE"),
        "CODE_SIZE": one.limit,
        "MOST_STEPS": run.most_steps(one.limit),
        "N_OUTPUTS": one.votes.shape[1],
        "WITHOUT_CODE": one.fallback,
        "UNREPRESENTED": np.float32(one.unrepresented),
        **_arrays(one, "gram", "votes"),
    },
    FixedPointFeatures: lambda one: _arrays(
        one, "input", "level", "factor", "origin", "places", "top"
    ),
    FixedPointSimilarities: lambda one: {
        **_arrays(one.exp2, "drop", "gain", "half", "down", "last"),
        "N_ANCHORS": len(one.anchor),
        "TABLE": TABLE,
        "ANCHOR": one.anchor,
    },
}


class Language(NamedTuple):
    """A template with a section for each operation, literals, and names of words."""

    program: str
    declared: Callable[[Constants], str]
    joined: Callable[[list[str]], str]

    def text(self, name: str, **words: Any) -> str:
        """Fill a section of the program."""
        constants = {
            "constants_of_exp2": self.declared(EXP2),
            "constants_of_root": self.declared(INVERSE_ROOT),
        }
        return section(self.program, name, constants | words)


#: Fills a section, as `Language.text`.
Text = Callable[..., str]


def _of_features(operation: Features, text: Text) -> list[str]:
    needed = ["bits", "inverse root", "added"] if operation.normalise else []
    parts = {
        "moved": operation.is_moved,
        "centred": "mean" in operation.normalise,
        "unit": operation.normalise,
    }
    return [*map(text, ["term", *needed]), text("features", **parts)]


def _of_similarities(operation: Similarities, text: Text) -> list[str]:
    step, finish, *_ = operation.kind
    needed = ["bits", "inverse root"] if finish == "ratio" else []
    if operation.kind.is_exponential:
        needed += ["bits", "exp2"]
    parts = {"step": text(f"step {step}"), "finish": text(f"finish {finish}")}
    return [*map(text, needed), text("similarities", **parts)]


def _of_fixed_point(operation: FixedPointSimilarities, text: Text) -> list[str]:
    size = text(f"power {operation.power}").rstrip()
    return [text("fixed point similarities", size=size)]


def _named(*names: str) -> Callable[[Operation, Text], list[str]]:
    return lambda operation, text: [text(name) for name in names]


#: Operation -> the functions that compute it.
FUNCTIONS: dict[type[Operation], Callable[[Any, Text], list[str]]] = {
    WeightedInputs: _named("term", "weighted inputs"),
    Features: _of_features,
    Similarities: _of_similarities,
    WeightedSums: _named("weighted sums"),
    SparseCode: _named("bits", "inverse root", "sparse code"),
    FixedPointFeatures: _named("term", "fixed point features"),
    FixedPointSimilarities: _of_fixed_point,
}


def functions_of(model: Any, text: Text) -> list[str]:
    """The functions of a program in a language, each once."""
    found = (FUNCTIONS[type(one)](one, text) for one in model.operations)
    return [*dict.fromkeys(filter(None, itertools.chain(*found)))]


def script(
    model: Any, language: Language, call: str
) -> tuple[Constants, list[str], str]:
    """Put a model together: constants, functions, and the call before the last."""
    constants = constants_of_inputs(model) | constants_of_answer(model)
    constants |= _constants_of_probability(model)
    functions = functions_of(model, language.text)
    for operation in model.operations:
        constants |= CONSTANTS[type(operation)](operation)
        words = re.findall("[A-Z][a-z]*", type(operation).__name__)
        before, name = call, language.joined([word.lower() for word in words])
        call = f"{name}({before})"
    functions.append(language.text("row scores", call=call))
    answer = "value" if model.is_regression else "classes"
    functions.append(language.text(answer, n_outputs=model.n_outputs))
    if model.probability:
        whole = model.is_integer
        functions.append(language.text("share", integers=whole, floats=not whole))
        functions.append(language.text(model.probability.kind))
    return constants, functions, before


def constants_of_inputs(model: Any) -> Constants:
    """How the values of a table become those of the program."""
    if model.is_integer:
        least, most = container_ends(model.width)
        return {
            "LEAST": least,
            "MOST": most,
            "ZERO": np.float32([one.zero for one in model.inputs]),
            "PER_UNIT": np.float32([one.per_unit for one in model.inputs]),
            "MISSING": np.array([one.missing for one in model.inputs]),
            "N_LEVELS": np.array([len(one.given.levels) for one in model.inputs]),
        }
    missing = [np.nan if e.missing is None else e.missing for e in model.inputs]
    return {
        "OFFSET": np.float32([entry.offset for entry in model.inputs]),
        "MISSING": np.float32(missing),
        "N_LEVELS": np.array([len(entry.levels) for entry in model.inputs]),
    }


def constants_of_answer(model: Any) -> Constants:
    """How scores become an answer."""
    whole = model.is_integer
    if model.is_regression:
        return {"STEP": float(model.step), "SHIFT": float(model.shift)}
    return {
        "OWNER": model.prototype_labels,
        # Of integers there always is a score.
        "LOWEST": int(np.iinfo(np.int32).min) if whole else LOWEST,
        "FALLBACK": 0 if whole else model.fallback,
        "TIE": model.tie if whole else np.float32(model.tie),
        "NOT_SURE": model.not_sure,
    }


def constants_of_interval(model: Any) -> Constants:
    """How far from the value 90 % of the rows lie at most, if that is known."""
    if model.half_width is None:
        return {}
    return {"HALF_WIDTH_90": float(model.half_width * model.step)}


def _constants_of_probability(model: Any) -> Constants:
    """How a lead becomes a probability, if that is known."""
    if (table := model.probability) is None:
        return {}
    names = ["below", "above", "drop" if model.is_integer else "per_unit"]
    kind = int if model.is_integer else np.float32
    segments = _arrays(table, "begin", "value", "slope").items()
    return {
        **{f"LEAD_{name.upper()}": kind(getattr(table, name)) for name in names},
        **{f"SEGMENT_{name}": values for name, values in segments},
        **({"LEAD_OFFSET": table.offset} if len(table.offset) else {}),
    }
