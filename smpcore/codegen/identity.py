"""How an exported model is told from all others: name, ID, number format, version."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace
from typing import Any

from smpcore.codegen.names import MAX_PREFIX, identifier, is_reserved

#: Hexadecimal digits of an ID.
_DIGITS = 8


def model_id(model: Any) -> str:
    """First digits of the BLAKE2b of all that decides an answer.

    Inputs with their preparation, the numbers and their format are in it; names of
    the model and of units, where it comes from, and its calibration are not.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model that is to be told from others.

    Returns
    -------
    str
        8 hexadecimal digits.
    """
    source = model.source
    inputs = tuple(replace(entry, unit="", cleaning=()) for entry in source.inputs)
    bare = replace(source, provenance={}, inputs=inputs)
    if model.is_integer:
        bare = replace(model, source=bare)
    bare = replace(bare, probability=None, half_width=None)
    return hashlib.blake2b(bare.to_json().encode()).hexdigest()[:_DIGITS]


def library_version() -> str:
    """Version of the library that writes the files."""
    return sys.modules["smpcore"].__version__


def interface_id(model: Any) -> str:
    """First digits of the BLAKE2b of all that a caller of the code relies on.

    A model of the same name and interface can replace another one without a change of
    its caller: the same inputs in the same order, units and whole numbers, the same
    classes, or a value.

    Parameters
    ----------
    model : CompiledModel or QuantModel

    Returns
    -------
    str
        8 hexadecimal digits.
    """
    inputs = [
        (entry.identifier, entry.unit, *entry.level_identifiers)
        for entry in model.source.inputs
    ]
    own = [one.is_itself for one in model.inputs] if model.is_integer else []
    classes = [] if model.is_regression else model.source.labels
    kinds = model.number, model.accumulator if model.is_integer else 32
    told = json.dumps([inputs, own, list(classes), kinds])
    return hashlib.blake2b(told.encode()).hexdigest()[:_DIGITS]


def default_name(data: str) -> str:
    """Name of a model that was fitted on a data set of this name.

    Parameters
    ----------
    data : str
        Anything; empty if it is not known.

    Returns
    -------
    str
        A sound name, see `names.check_prefix`.

    Examples
    --------
    >>> default_name("Breast cancer (Wisconsin)"), default_name("")
    ('breast_cancer', 'model')
    """
    word = identifier(data or "model", set()).replace("__", "_")
    if len(word) > MAX_PREFIX:
        cut = word[: MAX_PREFIX + 1]
        word = cut.rpartition("_")[0] or cut[:MAX_PREFIX]
    word = word.rstrip("_")
    return f"{word[: MAX_PREFIX - 2]}_1" if is_reserved(word) else word
