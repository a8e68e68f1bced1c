"""The few lines of Python that give the model on the screen once more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from smpcore.errors import ExportError


def emit_python(recipe: Mapping[str, Any]) -> str:
    """Write a script of at most 12 lines that fits the same model.

    Parameters
    ----------
    recipe : mapping
        ``dataset``: {"openml": id, "params": options of `Dataset.with_roles`},
        {"key": name of a bundled set, "params": {...}} or
        {"file": name of a table, "params": options of `read_table`}; and
        "two_classes": True where the number to predict is cut at its mean;
        "event_within": time, event and value of the event, and the horizon, for
        `event_within`; "weighted": True where its rows have weights;
        "metadata": groups or times that rows have, if any;
        "forbidden": names for `forbid`; ``split``: options of `split`;
        ``estimator``: name of the class; ``params``: its parameters where they differ
        from the default.

    Returns
    -------
    str

    Raises
    ------
    ExportError
        If a name is no identifier or a value no plain number, text or container.
    """
    source = recipe["dataset"]
    options = _arguments(source.get("params", {}))
    if "file" in source:
        loader, name = "read_table", _value(source["file"])
        call = f"read_table(open({name}, 'rb'), {name}{options and ', ' + options})"
    elif "openml" in source:
        loader, call = "fetch_openml", f"fetch_openml({_value(source['openml'])})"
        call += options and f".with_roles({options})"
    else:
        loader = "load_dataset"
        call = f"load_dataset({_value(source['key'])}{options and ', ' + options})"
    estimator = _identifier(recipe["estimator"])
    imports = [f"from smpcore import {estimator}, {loader}, prepare, split"]
    if source.get("two_classes"):
        call += ".two_classes()"
    further, weights, metadata = [], "", ""
    if source.get("metadata"):
        metadata = ", **dataset.metadata(parts.train)"
    if asks := source.get("event_within"):
        time, event, value, horizon = map(_value, asks)
        call = f"event_within({call}, {time}, {event}, {horizon}, {value})"
        further = ["event_within"]
    if source.get("weighted"):
        weights = ", row_weights(dataset, parts.with_censored, parts.train)"
        further.insert(0, "row_weights")
    if source.get("forbidden"):
        call = f"forbid({call}, {_value(source['forbidden'])})"
        further.append("forbid")
    if further:
        imports.append(f"from smpcore.datasets import {', '.join(further)}")
    division = _arguments(recipe.get("split", {}))
    lines = [
        *imports,
        "",
        f"dataset = {call}",
        f"parts = split(dataset{division and ', ' + division})",
        "preparation = prepare(dataset, parts.train)",
        "X, y = preparation.transform(dataset.frame), dataset.y",
        f"model = {estimator}({_arguments(recipe.get('params', {}))})",
        f"model.fit(X[parts.train], y[parts.train]{weights}{metadata})",
        "answers = model.predict(X[parts.validation])",
    ]
    return "\n".join(lines) + "\n"


def _arguments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{_identifier(k)}={_value(v)}" for k, v in values.items())


def _identifier(name: str) -> str:
    if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
        raise ExportError(f"name={name!r} should be a Python identifier.")
    return name


def _value(value: Any) -> str:
    """A literal; whatever a user typed goes through `repr`."""
    if isinstance(value, np.generic | np.ndarray):
        return _value(value.tolist())
    if isinstance(value, Mapping):
        pairs = (f"{_value(k)}: {_value(v)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    raise ExportError(
        f"value={value!r} cannot be written in a script; pass plain numbers and texts."
    )
