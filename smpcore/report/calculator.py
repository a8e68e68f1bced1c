"""The part of a report on which a reader tries the model: its JavaScript, and a form.

The script is the module that the JavaScript target writes, then constants, then
`lead.js` and `calculator.js`, which compute nothing of a score by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from smpcore.codegen import CompiledModel, compile_model, model_id
from smpcore.codegen.inputs import LARGEST
from smpcore.codegen.lower import stored_anchors
from smpcore.codegen.program import WeightedInputs
from smpcore.codegen.targets.javascript.source import PARTS, declared, emit_javascript
from smpcore.datasets import Preparation
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel

#: Fields that a reader can fill in.
_MOST_FIELDS = 200
#: How an answer is split, as `explain.contributions` does it by default.
_RULES = {
    "input": "Weight times value, less that of the training mean.",
    "anchor": "Similarity times weight.",
    "prototype": "Activation times weight.",
}
_SCRIPTS = ("lead.js", "calculator.js")
_INTRODUCTION = (
    "Change a value: the model in this file answers at once, also without a network. "
    "It computes in 32-bit floats, as its exported code does."
)


@dataclass(frozen=True, eq=False)
class Calculator:
    """What a reader of a report can begin with to try the model.

    Parameters
    ----------
    preparation : Preparation, optional
        What turned the user's table into the model's features. Without it the features
        themselves are the inputs, and none may be missing.
    rows : DataFrame, optional
        Raw rows to begin with, their names as index: the first one is shown first. They
        become part of the file. Default: the middle of the training ranges.
    prototypes : sequence of str, optional
        Names of the prototypes, where an answer is a sum over them.
    target : str, default "Prediction"
        Name of the number that a regression predicts.
    """

    preparation: Preparation | None = None
    rows: pd.DataFrame | None = None
    prototypes: Sequence[str] = ()
    target: str = "Prediction"


def typical_row(frame: pd.DataFrame, preparation: Preparation) -> pd.DataFrame:
    """The median of each number and the most frequent level of each category."""
    values = {}
    for column in preparation.inputs:
        values[column.name] = [column.fill]
        if column.kind == "category":
            values[column.name] = frame[column.name].mode(dropna=True).head(1).to_list()
            values[column.name] = values[column.name] or [None]
    return pd.DataFrame(values, index=["Median of the training rows"])


def calculator_html(
    model: PrototypeModel, calculator: Calculator | str
) -> tuple[str, str]:
    """Write the section, and the one script of the page."""
    title = "<h2>Try the model</h2>"
    if isinstance(calculator, str):
        return f"{title}<p>{escape(calculator)}</p>", ""
    try:
        compiled = compile_model(model, calculator.preparation)
        values = constants(model, compiled, calculator)
        module = emit_javascript(compiled, number=model_id(compiled))
    except ExportError as problem:
        words = f"The model cannot be tried in this file. {problem}"
        return f"{title}<p>{escape(words)}</p>", ""
    texts = [Path(__file__).with_name(name).read_text("ascii") for name in _SCRIPTS]
    # In a block, where no name can be that of a constant of the module.
    script = "\n".join([module, "{", declared(values), *texts, "}"])
    return (
        f"{title}<p>{_INTRODUCTION}</p>"
        "<noscript><p>This needs JavaScript.</p></noscript>"
        '<div id="calculator" hidden></div>'
    ), script


def constants(
    model: PrototypeModel, compiled: CompiledModel, calculator: Calculator
) -> dict[str, Any]:
    """What the form is given besides the module."""
    if len(compiled.inputs) > _MOST_FIELDS:
        raise ExportError(
            f"It has {len(compiled.inputs):,} inputs, at most {_MOST_FIELDS} can be "
            "filled in."
        )
    part = PARTS[type(compiled.operations[-1])]
    return {
        "ROWS": _rows(compiled, calculator),
        "CAN_MISS": [e.missing is not None or bool(e.levels) for e in compiled.inputs],
        "MISSING_LEVEL": [entry.missing_level for entry in compiled.inputs],
        "LARGEST": LARGEST,
        "REFERENCE": _at_center(model, compiled, calculator.preparation),
        "NAMES": _names(model, compiled, calculator, part),
        "RULE": _RULES[part],
        "TARGET": calculator.target,
    }


def _rows(compiled: CompiledModel, calculator: Calculator) -> list[dict[str, Any]]:
    """Rows to begin with, by the inputs."""
    names = ["Middle of the training ranges"]
    values = np.array([[_middle(entry) for entry in compiled.inputs]])
    if calculator.rows is not None:
        names, values = calculator.rows.index, compiled.rows(calculator.rows)
    values = np.where(np.isnan(values), None, values)
    pairs = zip(names, values.tolist(), strict=True)
    return [{"name": str(name), "values": row} for name, row in pairs]


def _middle(entry: Any) -> float:
    """Middle of the range, the first level of a category."""
    if entry.levels:
        return 0.0
    middle = (entry.low + entry.high) / 2
    return round(middle) if entry.integer else float(f"{middle:.4g}")


def _at_center(
    model: PrototypeModel, compiled: CompiledModel, preparation: Preparation | None
) -> list[list[float]]:
    """What each input adds to each row at the model's centre, in float64.

    Contributions count from there: of a row of mean values none speaks for a class.
    Empty of a model that is no weighted sum of inputs.
    """
    rows = compiled.operations[-1]
    if not isinstance(rows, WeightedInputs):
        return []
    added = np.zeros((rows.n_rows, len(compiled.inputs)))
    for row in range(rows.n_rows):
        for place, level, weight in rows.terms(row):
            entry = compiled.inputs[place]
            feature = entry.index
            if preparation is not None:
                column = preparation.inputs[entry.index]
                level_place = column.feature_levels.index(level) if level >= 0 else 0
                feature = column.first + level_place
            middle = model.center[feature] - (entry.offset if level < 0 else 0.0)
            added[row, place] += float(weight) * middle
    return added.tolist()


def _names(
    model: PrototypeModel, compiled: CompiledModel, calculator: Calculator, part: str
) -> list[str]:
    """Names of what a score is the sum of."""
    if part == "input":
        return [entry.name for entry in compiled.inputs]
    of_prototypes = list(calculator.prototypes) or [
        f"Prototype {j + 1}" for j in range(model.n_prototypes)
    ]
    if part == "prototype":
        return of_prototypes
    anchors = stored_anchors(model, calculator.preparation)
    is_prototype = (model.mixing != 0).sum(axis=0) == 1
    if model.mixing.shape[0] != model.n_prototypes or not is_prototype.all():
        return [f"Case {i + 1}" for i in anchors]
    return [of_prototypes[int(model.mixing[i].argmax())] for i in anchors]
