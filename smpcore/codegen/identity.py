"""How an exported model is told from all others: name, ID, number format, version."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from smpcore.codegen.names import HEADERS, MAX_PREFIX, identifier

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
    return f"{word[: MAX_PREFIX - 2]}_1" if word in HEADERS else word.rstrip("_")
