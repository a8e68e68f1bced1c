"""Reach into the operations of a program, and change them."""

import json
from dataclasses import replace

from smpcore.codegen.program import FixedPointFeatures, FixedPointSimilarities
from smpcore.codegen.run import apply, distances
from smpcore.codegen.vectors import extreme_rows


def part(model, name):
    """An entry of whichever operation has it."""
    return next(getattr(one, name) for one in model.operations if hasattr(one, name))


def changed(model, **entries):
    """The same model with other entries, in its operations or around them."""
    inside = {n for n in entries if any(hasattr(one, n) for one in model.operations)}
    operations = tuple(
        replace(one, **{n: entries[n] for n in inside if hasattr(one, n)})
        for one in model.operations
    )
    around = {name: entries[name] for name in entries.keys() - inside}
    return replace(model, operations=operations, **around)


def spoiled(content, **entries):
    """The JSON text of a model with other entries, in its operations or around them."""
    inside = {n for n in entries if any(n in one for one in content["operations"])}
    operations = [
        {**one, **{n: entries[n] for n in inside if n in one}}
        for one in content["operations"]
    ]
    around = {name: entries[name] for name in entries.keys() - inside}
    return json.dumps({**content, "operations": operations, **around})


def whole_distances(quant, integers):
    """Distances of integer rows to each anchor."""
    features = apply(quant.find(FixedPointFeatures), integers)
    return distances(quant.find(FixedPointSimilarities), features)


def whole_similarities(quant, integers):
    """Similarities in Q.15 of integer rows to each anchor."""
    exp2 = quant.find(FixedPointSimilarities).exp2
    return exp2.similarity(whole_distances(quant, integers))


def farthest_rows(quant):
    """Integer rows with the largest distance to each anchor."""
    return extreme_rows(quant, farthest=True)
