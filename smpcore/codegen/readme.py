"""The page that explains a zip: how to use it, inputs, classes, origin."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from smpcore.codegen import readme_parts as parts
from smpcore.codegen.agreement import error_bound
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.json_text import SCHEMA
from smpcore.codegen.names import c_float, markdown
from smpcore.codegen.package import Package
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.readme_integers import facts_of_integers
from smpcore.codegen.vectors import TestVectors


def readme(package: Package, use: str, files: Mapping[str, str], in_c: bool) -> str:
    """Write what the zip holds and how to use it."""
    model, name = package.model, package.name
    known = facts(model, package.vectors, name) if in_c else _plain_facts(package)
    return "\n".join(
        [
            _what_it_is(package),
            f"## Use\n\n{use}",
            *known,
            *parts.calibration(model, f"{name}_" if in_c else ""),
            parts.origin(package.source, package.id),
            parts.files(files, name),
        ]
    )


def facts(
    model: CompiledModel | QuantModel, vectors: TestVectors, prefix: str
) -> list[str]:
    """Sections that hold however the model is packed: inputs, answers, how good it
    is.
    """
    if model.is_integer:
        return facts_of_integers(model, prefix)
    return [
        _inputs(model, prefix.upper()),
        _value(model, vectors) if model.is_regression else _classes(model, prefix),
        *filter(None, [parts.measured(model.provenance)]),
    ]


def _what_it_is(package: Package) -> str:
    """Title, sizes, identity, and what to know first."""
    model, source = package.model, package.source
    answers = f"{model.n_outputs} classes"
    if model.is_regression:
        answers = "one value"
    warnings = "".join(f"\n**{warning}**\n" for warning in model.warnings)
    return f"""\
# A {package.what}

Model `{package.name}`, ID `{package.id}`, {package.number}, file format {SCHEMA}.
{source.in_words}, {len(source.inputs)} inputs, {answers}.
Test vectors: {parts.origin_of_vectors(package.vectors)}.
{warnings}"""


def _plain_facts(package: Package) -> list[str]:
    """`facts` without any name of C."""
    model, source = package.model, package.source
    lines = "\n".join(
        f"| {place} | {markdown(entry.name)} | {span} | {missing} |"
        for place, entry in enumerate(source.inputs)
        for span, missing in [_plain_range(entry)]
    )
    inputs = f"""\
## Inputs

In the units of the table the model was fitted on, in this order.

| index | column | range in training | missing counts as |
|---|---|---|---|
{lines}
{parts.constants(source)}{parts.cleaning(source)}"""
    answers = "" if model.is_regression else parts.classes(source)
    return [*filter(None, [inputs, answers, parts.measured(source.provenance)])]


def _plain_range(entry: CompiledInput) -> tuple[str, str]:
    if entry.levels:
        levels = (f"{k}: {markdown(level)}" for k, level in enumerate(entry.levels))
        index = entry.missing_level
        gone = "-1, no level; as an unknown one" if index < 0 else str(index)
        return ", ".join(levels), gone
    span = parts.span(entry)
    gone = "may not be missing" if entry.missing is None else f"{entry.missing:.6g}"
    return span, gone


def _inputs(compiled: CompiledModel, m: str) -> str:
    inputs = "\n".join(_input_row(entry, m) for entry in compiled.inputs)
    tables = "tables" if "factor" in compiled.tables() else "weights"
    return f"""\
## Inputs

In the units of the table the model was fitted on: scaling is already in the {tables}.
{_missing_rule(compiled)}

| name in C | column | range in training | missing counts as |
|---|---|---|---|
{inputs}
{parts.constants(compiled)}{parts.cleaning(compiled)}"""


def _classes(compiled: CompiledModel, prefix: str) -> str:
    not_sure = c_float(compiled.band).rstrip("f") if compiled.band else ""
    return f"""\
{parts.classes(compiled)}
Equal scores go to the lowest index. An infinite input may leave no score at all; the
answer is then class {compiled.fallback}.

{parts.margin(prefix, "in units of the score", not_sure)}"""


def _value(compiled: CompiledModel, vectors: TestVectors) -> str:
    bound = error_bound(compiled, vectors.rows.astype(np.float64)).max()
    return f"""\
## Value

In the units of the target. On the test vectors it is proved to be within {bound:.2g}
of what the model gives in 64-bit floats. An infinite input may leave no number; the
answer is then `NAN`.
"""


def _missing_rule(compiled: CompiledModel) -> str:
    numbers = [entry for entry in compiled.inputs if entry.kind == "number"]
    rules = []
    if any(entry.missing is not None for entry in numbers):
        rules.append("A missing number is `NAN` and counts as the last column says.")
    elif numbers:
        rules.append("No number may be missing.")
    if len(numbers) < len(compiled.inputs):
        rules.append(
            "A missing or unknown category is -1 and adds nothing: of two levels it "
            "counts as the commoner one."
        )
    return "\n".join(rules)


def _input_row(entry: CompiledInput, m: str) -> str:
    span = parts.span(entry)
    gone = "" if entry.missing is None else f"{entry.missing:.6g}"
    if entry.levels:
        span = parts.levels(entry, m)
        gone = parts.missing_level(entry, m)
    name = f"`{m}_IN_{entry.identifier.upper()}`"
    return f"| {name} | {markdown(entry.name)} | {span} | {gone} |"
