"""Reader: sentences about a program, and how much there is of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smpcore.codegen.constants import features_differ
from smpcore.codegen.names import shorten
from smpcore.codegen.program import (
    Features,
    FixedPointFeatures,
    FixedPointSimilarities,
    Operation,
    Similarities,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.rounding import rows_over_counts

#: Operation -> its formula, given what an input's value is called.
FORMULAS: dict[type[Operation], Callable[[Any, str], str]] = {
    WeightedInputs: lambda one, v: (
        f"score of a row = ((bias + w1*{v}1) + w2*{v}2) + ..."
    ),
    Features: lambda one, v: f"t = factor * {v}{'' if one.move is None else ' + move'}",
    Similarities: lambda one, v: one.kind.words,
    WeightedSums: lambda one, v: "score of a row = bias + sum of weight * s",
    SparseCode: lambda one, v: (
        "code z >= 0 of at most size entries that minimises z' gram z / 2 - (scores)' z"
        " greedily; score of an output = sum of votes * z"
    ),
    FixedPointFeatures: lambda one, v: (
        f"t = clip(({v} * factor + origin) >> places, 0, top)"
    ),
    FixedPointSimilarities: lambda one, v: (
        f"d = sum of {'(t - anchor)^2' if one.power == 2 else '|t - anchor|'}; "
        "coarse = d >> drop; u = (coarse * gain + half) >> down; "
        "s = 2^-(u / 4096) in Q.15 by table, 0 where coarse > last"
    ),
}


def parts(model: Any) -> str:
    """What a model is made of, for a README; of integers also what rounds to 0."""
    if model.is_integer:
        whole = (parts(model.source), zero_weights_in_words(model))
        return ". ".join(filter(None, whole))
    code, sums = model.find(SparseCode), model.find(WeightedSums)
    if sums is None:
        rows = model.find(WeightedInputs)
        n_rows, n_terms = rows.n_rows, rows.n_terms
        one = f"A sum of {n_terms} weighted inputs"
        several = f"{n_rows} sparse prototypes with {n_terms} weights in all"
    else:
        d, kind = model.find(Features).n_features, model.find(Similarities).similarity
        of = f"{sums.n_anchors} anchors of {d} features ({kind} similarity)"
        alike = f"{sums.n_anchors} similarities to {of.split(' ', 1)[1]}"
        one, several = f"A sum of {alike}", f"{sums.n_rows} prototypes mixed from {of}"
        if not model.n_training_rows and (np.diff(model.prototype_labels) > 0).all():
            # The anchors are the prototypes, and all of them count for each class.
            several = f"{sums.n_rows} sums, one for each class, of {alike}"
    if code is None:
        return one if model.is_regression else several
    return f"Codes of at most {code.limit} of {several}"


def warnings(model: Any) -> tuple[str, ...]:
    """What whoever gets the files should know first, in whole sentences."""
    if not model.n_training_rows:
        return ()
    return (
        f"This model contains {model.n_training_rows} training rows (support vectors): "
        "whoever has these files can read them. Pass them on only if you may pass on "
        "those rows.",
    )


def n_anchors(model: Any) -> int:
    """Points that inputs are compared with."""
    sums = model.find(WeightedSums)
    return sums.n_anchors if sums else 0


def stack_bytes(model: Any) -> int:
    """RAM that the arrays of one prediction take, of a model in floats."""
    sums, code = model.find(WeightedSums), model.find(SparseCode)
    arrays = 0
    if sums:
        n_features = model.find(Features).n_features if features_differ(model) else 0
        arrays = 4 * (sums.n_rows + n_features)
    if code is None:
        return arrays
    m, limit = code.n_prototypes, code.limit
    index = np.min_scalar_type(m).itemsize
    # Sums count those of all prototypes themselves.
    slopes = 4 * m if arrays else 8 * m
    factor = 4 * (limit * (limit + 1) // 2)
    return arrays + slopes + m + (8 + index) * limit + factor


def zero_weights(quant: Any) -> dict[str, tuple[int, int]]:
    """Column -> how many of its weights round to 0, and how many it has."""
    n, whole = len(quant.inputs), quant.find(FixedPointFeatures)
    if whole:
        before = quant.source.find(Features).input
        left = before[whole.feature]
    else:
        of = quant.source.inputs, quant.inputs, quant.is_regression
        before = rows_over_counts(quant.source.operations[0], *of).place
        left = quant.find(WeightedInputs).input
    counts = np.bincount(before, minlength=n), np.bincount(left, minlength=n)
    return {
        one.given.name: (int(total - kept), int(total))
        for one, total, kept in zip(quant.inputs, *counts, strict=True)
        if kept < total
    }


def zero_weights_in_words(quant: Any, escape: Callable[[str], str] = str) -> str:
    """Which weights round to 0, in a sentence; empty if none does."""
    columns = [
        f"{zero} of {total} of {escape(shorten(name))}"
        for name, (zero, total) in quant.zero_weights.items()
    ]
    if not columns:
        return ""
    what = "Features" if quant.find(FixedPointFeatures) else "Weights"
    return (
        f"{what} too small for {quant.width} bits, which count as 0: "
        f"{', '.join(columns)}."
    )


def arithmetic(model: Any) -> str:
    """The formula, for a reader of the JSON text."""
    number = "q" if model.is_integer else "v"
    steps = [
        FORMULAS[type(operation)](operation, number) for operation in model.operations
    ]
    if model.is_integer:
        first = (
            "integers; q = round((x - zero) * per_unit), half away from 0, clamped to "
            "the container, of a category 1 or 0 for a level"
        )
        last = (
            "real score = step * score + shift; answer: lowest class within "
            "round(tie / step) of the largest score"
        )
    else:
        first = "float32; v = x - offset of a number, 1 or 0 for a category's level"
        last = "answer: lowest class within tie of the largest score"
    steps += ["score of a class = largest score of its rows"]
    return "; ".join([first, *steps, last, *_of_calibration(model)])


def _of_calibration(model: Any) -> list[str]:
    """The formula of a probability or an interval, where there is one."""
    if model.half_width is not None:
        return ["90 % interval: value - half_width to value + half_width"]
    if model.probability is None:
        return []
    place = "trunc((lead + below) * per_unit + 1/2)"
    if model.is_integer:
        place = "(lead + below) >> drop"
    lead, last = "score of class 1 - score of class 0", "probability of class 1"
    more = []
    if len(model.probability.offset):
        lead, last = (
            "(score + offset of a class) - the largest of these",
            "e of a class",
        )
        more = ["probability = (32768 e + sum / 2) // sum of all e, from 1 to 32767"]
    return [
        f"lead = {lead}, clipped to -below and above",
        f"place = {place}, in the last segment k that begins at or below it",
        f"{last} in 1/32768 = value_k + (slope_k * (place - begin_k) >> 15)",
        *more,
    ]
