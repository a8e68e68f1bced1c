"""The page that explains a zip: how to use it, inputs, classes, origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from smpcore.codegen.agreement import error_bound
from smpcore.codegen.costs import conversion
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import c_float, markdown
from smpcore.codegen.package import Package
from smpcore.codegen.quant_inputs import QuantInput, container_ends
from smpcore.codegen.templates import filled, section

#: Chip -> what its time is counted in.
_COUNTED = {
    "ATmega328P": "cycles",
    "Cortex-M0": "instructions",
    "Cortex-M4F": "instructions",
}

#: Entry of a part -> title in the table.
_MEASURED = {
    "rows": "rows",
    "hits": "right",
    "accuracy_weighted": "weighted share of right ones",
    "mean_absolute_error": "mean error",
    "interval_95": "95 % interval",
    "interval_note": "the interval",
    "weights_note": "the weights",
    "same_as_float64": "as the float64 model",
    "proved_the_same": "proved the same",
    "saturated_rows": "rows with a saturated input",
    "most_frequent_class": "always the most frequent class",
}


def readme(package: Package, use: str, paths: Iterable[str], in_c: bool) -> str:
    """Write what the zip holds and how to use it."""
    model, source, vectors = package.model, package.model.source, package.vectors
    words = package.words
    words["vectors"] = "synthetic"
    if vectors.n_real:
        whose = markdown(vectors.source or "the data")
        words["vectors"] = f"{vectors.n_real} real rows of {whose}"
    answers = "one value" if model.is_regression else f"{model.n_outputs} classes"
    words |= {"use": use.removesuffix("\n"), "answers": answers}
    words["warnings"] = "".join(f"\n\n**{warning}**" for warning in model.warnings)
    described = filled("shared/descriptions.in", words).splitlines()
    ends = dict(line.split(": ", 1) for line in described)
    files = {path: ends[path.rpartition("/")[2]] for path in paths}
    words["files"] = _rows((f"`{path}`", files[path]) for path in sorted(files))
    told = {
        "accuracy in 64-bit floats" if name == "accuracy" else name: value
        for name, value in source.provenance.items()
        if name not in ("as_exported", "constant_in_training")
    }
    origin = [map(markdown, fact) for fact in _facts(told)]
    words["origin"] = _rows(origin or [("provenance", "not given")])
    kind = ("integers" if package.model.is_integer else "floats") if in_c else "plain"
    words["facts"] = "\n\n".join(filter(None, _sections(package, words, kind)))
    return filled("shared/README.md.in", words)


def _part(name: str, words: Mapping[str, str], wanted: Any = True) -> str:
    """A section without its last line end; empty if it is not wanted."""
    return section("shared/readme.in", name, words).removesuffix("\n") if wanted else ""


def _more(name: str, words: Mapping[str, str], wanted: Any) -> str:
    """A further paragraph, if it is wanted."""
    return f"\n\n{_part(name, words)}" if wanted else ""


def _rows(lines: Iterable[Iterable[str]]) -> str:
    """Rows of a table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _sections(package: Package, words: dict[str, str], kind: str) -> Iterator[str]:
    """Inputs, answers, how good it is, and what is proved or calibrated."""
    model, source = package.model, package.model.source
    prefix = "" if kind == "plain" else f"{package.name}_"
    words |= {"prefix": prefix, "PREFIX": prefix.upper()}
    yield _inputs(package, words, kind)
    if not model.is_regression:
        yield _classes(package, words, kind)
    elif kind == "floats":
        bound = error_bound(model, package.vectors.rows.astype(np.float64)).max()
        yield _part("value, floats", words | {"bound": f"{bound:.2g}"})
    elif kind == "integers":
        steps = {"step": f"{model.step:.9g}", "shift": f"{model.shift:.9g}"}
        yield _part("value, integers", words | steps)
    yield _measured(source.provenance)
    if kind == "integers":
        ends = np.array([[one.given.low, one.given.high] for one in model.inputs]).T
        proved = {
            "largest": f"{model.largest:,}",
            "accumulator": str(model.accumulator),
            "bound": f"{float(model.row_bounds(ends).max()):.3g}",
        }
        yield _part("proof", words | proved)
    if model.half_width is not None:
        width = f"{model.half_width * model.step:.6g}"
        if model.is_integer and prefix:
            width = f"{model.half_width} steps"
        yield _part("interval", words | {"half_width": width})
    elif table := model.probability:
        sizes = {"n_segments": str(len(table.begin)), "error": f"{table.error:.4f}"}
        yield _part(table.kind, words | sizes)


def _inputs(package: Package, words: dict[str, str], kind: str) -> str:
    """Table of the inputs, and what to know of them."""
    model, source, m = package.model, package.model.source, package.name.upper()
    names = [f"`{name}`" for name in package.input_names]
    if kind == "plain":
        names = [str(place) for place in range(len(names))]
    if kind == "plain":
        lines = map(_plain_row, source.inputs)
    elif kind == "floats":
        scaled = "tables" if "factor" in model.tables() else "weights"
        words |= {"scaled": scaled, "missing": _missing_rule(package, words)}
        lines = (_float_row(entry, m) for entry in source.inputs)
    else:
        words["least"], words["most"] = map(str, container_ends(model.width))
        words["zero_weights"] = model.zero_weights_in_words(markdown)
        words["too_small"] = _more("too small", words, words["zero_weights"])
        words["conversion"] = _conversion(package, words)
        lines = (_integer_row(one, m) for one in model.inputs)
    rows = ([name, *line] for name, line in zip(names, lines, strict=True))
    constant = source.provenance.get("constant_in_training")
    is_told = isinstance(constant, Mapping)
    words["constant_columns"] = ", ".join(
        f"{markdown(name)} ({markdown(f'{v:.9g}' if isinstance(v, float) else str(v))})"
        for name, v in (constant.items() if is_told else ())
    )
    steps = [f"- {markdown(one)}" for e in source.inputs for one in e.cleaning]
    words |= {"inputs": _rows(rows), "steps": "\n".join(steps)}
    words["constants"] = _more("constants", words, is_told)
    words["cleaning"] = _more("cleaning", words, steps)
    return _part(f"inputs, {kind}", words)


def _missing_rule(package: Package, words: Mapping[str, str]) -> str:
    inputs = package.model.source.inputs
    numbers = [entry for entry in inputs if entry.kind == "number"]
    has_missing = any(entry.missing is not None for entry in numbers)
    rules = [
        _part("missing numbers", words, has_missing),
        _part("no missing numbers", words, numbers and not has_missing),
        _part("missing categories", words, len(numbers) < len(inputs)),
    ]
    return "\n".join(filter(None, rules))


def _conversion(package: Package, words: Mapping[str, str]) -> str:
    """What the conversion costs on a chip, and how it is avoided."""
    if not package.model.converts:
        return _part("no conversion", words)
    model, more = package.model, {}
    counted = [one for one in model.inputs if one.comes_as_counts]
    if counted:
        more = {"counted": counted[0].given.identifier.upper()}
        more["n_counted"] = str(len(counted))
    whole_numbers = _more("counted", {**words, **more}, counted)
    more = {chip: conversion(model, chip) for chip in _COUNTED}
    costs = _rows(
        (chip, f"{cost.flash:,} bytes", f"{cost.count:,} {_COUNTED[chip]}")
        for chip, cost in more.items()
    )
    own = {"costs": costs, "whole_numbers": whole_numbers}
    return _part("conversion", {**words, **own})


def _plain_row(entry: CompiledInput) -> list[str]:
    if entry.levels:
        levels = (f"{k}: {markdown(level)}" for k, level in enumerate(entry.levels))
        index = entry.missing_level
        gone = "-1, no level; as an unknown one" if index < 0 else str(index)
        return [markdown(entry.name), ", ".join(levels), gone]
    gone = "may not be missing" if entry.missing is None else f"{entry.missing:.6g}"
    return [markdown(entry.name), _span(entry), gone]


def _float_row(entry: CompiledInput, m: str) -> list[str]:
    span, gone = _span(entry), ""
    if entry.missing is not None:
        gone = f"{entry.missing:.6g}"
    if entry.levels:
        span, gone = _levels(entry, m)
    return [markdown(entry.name), span, gone]


def _integer_row(one: QuantInput, m: str) -> list[str]:
    entry, formula = one.given, one.formula.replace("*", "×")
    span, gone = f"{one.low:.6g} to {one.high:.6g}", str(one.missing)
    if entry.missing is None:
        gone = "none may be missing"
    if entry.levels:
        (span, gone), formula = _levels(entry, m), "index of the level"
    return [markdown(entry.name), markdown(entry.unit), span, formula, gone]


def _span(entry: CompiledInput) -> str:
    """Range of a number in the training rows, with its unit."""
    unit = f" {markdown(entry.unit)}" if entry.unit else ""
    whole = ", whole numbers" if entry.integer else ""
    return f"{entry.low:.6g} to {entry.high:.6g}{unit}{whole}"


def _levels(entry: CompiledInput, m: str) -> tuple[str, str]:
    """Names in C of a category's levels, and which of them a missing value is."""
    names = [f"`{m}_IS_{word.upper()}`" for word in entry.level_identifiers]
    levels = zip(names, map(markdown, entry.levels), strict=True)
    gone = "no level (-1)" if entry.missing_level < 0 else names[entry.missing_level]
    return ", ".join(map(" ".join, levels)), gone


def _classes(package: Package, words: dict[str, str], kind: str) -> str:
    """Table of the classes, and what margin and band mean."""
    model, labels = package.model, map(markdown, package.model.source.labels)
    words["classes"] = _rows((str(k), label) for k, label in enumerate(labels))
    if kind == "floats":
        band = c_float(model.band).rstrip("f") if model.band else ""
        words |= {"band": band, "fallback": str(model.fallback)}
    elif kind == "integers":
        words["band"] = str(model.not_sure) if model.not_sure >= 0 else ""
        words["relative"] = " less that of class 0" if model.relative else ""
        words["step"] = f"{model.step:.6g}"
    words["not_sure"] = _more("not sure", words, words.get("band"))
    return _part(f"classes, {kind}", words)


def _measured(provenance: Mapping[str, Any]) -> str:
    """How good the exported numbers are, part by part; empty if it was not measured."""
    found = provenance.get("as_exported")
    if not isinstance(found, Mapping) or not found.get("parts"):
        return ""
    parts = found["parts"]
    names = [n for n in _MEASURED if any(n in part for part in parts.values())]
    opened = provenance.get("test_set_opened", 0)
    told = f"was opened {opened} time{'s' * (opened != 1)}" if opened else "is closed"
    if "test" in parts and not opened:
        told = "is open for everybody"
    words = {
        "measured_format": markdown(str(found.get("format", ""))),
        "head": " | ".join(["part", *(_MEASURED[name] for name in names)]),
        "rule": "---|" * (len(names) + 1),
        "parts": _rows(
            map(markdown, (part, *(_text(values.get(name, "")) for name in names)))
            for part, values in parts.items()
        ),
        "opened": told,
    }
    return _part("measured", words)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(map(str, value))
    return str(value)


def _facts(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Entries of nested mappings as (path, text)."""
    for name, entry in value.items():
        here = f"{path}, {name}" if path else str(name)
        if isinstance(entry, Mapping):
            yield from _facts(entry, here)
        else:
            yield here, str(entry)
