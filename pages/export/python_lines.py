"""The lines of Python that fit the model on the screen once more."""

from __future__ import annotations

import inspect
from dataclasses import astuple
from typing import Any

from pages.work import openml_sets
from smpcore import SmpcoreError
from smpcore.codegen import emit_python
from smpcore.datasets import steps_to_json
from smpcore.live import BUNDLED, Context


def _table_source(context: Context) -> dict[str, Any]:
    """How a table that is not bundled is read, or fetched, the same way again."""
    dataset = context.table
    reading = dataset.reading
    if reading is None or context.drawn is not None or dataset.test_rows is not None:
        raise SmpcoreError(
            "Drawn points, matrices and a test file have no short Python version; the "
            "JSON file of an export contains the whole model."
        )
    columns = {"roles": dict(dataset.roles), "kinds": dict(dataset.kinds)}
    columns["task"] = dataset.task
    if dataset.cleaning:
        columns["cleaning"] = steps_to_json(dataset.cleaning)
    if (number := openml_sets.number_behind(dataset)) is not None:
        return {"openml": number, "params": columns}
    name = reading.filename or dataset.name
    return {"file": name, "params": reading.options() | columns}


def python_of_choice(context: Context) -> str:
    """Python that fits the same model with the library."""
    choice, method = context.choice, context.method
    estimator = method.estimators[context.task]
    signature = inspect.signature(estimator).parameters
    defaults = {name: param.default for name, param in signature.items()}
    if (number := openml_sets.number_of(choice.data)) is not None:
        source = {"openml": number}
    elif choice.data not in BUNDLED:
        source = _table_source(context)
    else:
        info = BUNDLED[choice.data]
        start = {param.name: param.start for param in info.params}
        changed = {n: v for n, v in choice.data_values.items() if v != start[n]}
        source = {"key": choice.data, "params": changed}
    if choice.follow_up is not None:
        source["event_within"] = astuple(choice.follow_up)
    elif context.task != context.table.task:
        source["two_classes"] = True
    source["weighted"] = context.data.weights("train") is not None
    source["metadata"] = [*context.data.metadata("train")]
    if choice.forbidden:
        source["forbidden"] = choice.forbidden
    return emit_python(
        {
            "dataset": source,
            "split": {
                "validation": choice.validation,
                "test": choice.test,
                "seed": choice.seed,
            },
            "estimator": estimator.__name__,
            "params": {n: v for n, v in context.values.items() if v != defaults[n]},
        }
    )
