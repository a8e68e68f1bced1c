"""The page that explains a bundle: inputs, classes, origin, how to compile."""

from __future__ import annotations

import numpy as np

from smpcore.codegen import readme_parts as parts
from smpcore.codegen.agreement import error_bound
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.discriminating import untested_parameters
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import c_float, markdown
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.readme_integers import facts_of_integers, readme_of_integers
from smpcore.codegen.vectors import TestVectors


def readme(
    model: CompiledModel | QuantModel, vectors: TestVectors, prefix: str = "mdl"
) -> str:
    """Write what the bundle holds and how to use it.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model that the bundle holds as C code.
    vectors : TestVectors
        Test vectors of this model, from `test_vectors`.
    prefix : str, default "mdl"
        Begin of every name in the C code; a C identifier.

    Returns
    -------
    str
        Markdown; every name a user wrote is escaped.
    """
    if model.is_integer:
        return readme_of_integers(model, vectors, prefix)
    what = "value" if model.is_regression else "score"
    untested = untested_parameters(model, vectors.rows)
    notes = untested and f"\n{untested}\n"
    notes += f"""
Keep `-ffp-contract=off` and leave out `-ffast-math`, or {what}s differ in their last
bits.
"""
    return "\n".join(
        [
            _what_it_is(model, vectors, prefix),
            *facts(model, vectors, prefix),
            parts.how_to_compile(prefix, vectors, what, "model.c", "selftest.c", notes),
            parts.origin(model, model.to_json()),
            parts.files("`model.h`, `model.c`", "`selftest.c`"),
        ]
    )


def facts(
    model: CompiledModel | QuantModel, vectors: TestVectors, prefix: str
) -> list[str]:
    """Sections that hold however the model is packed: inputs, answers, how good it is.

    Parameters
    ----------
    model : CompiledModel or QuantModel
    vectors : TestVectors
    prefix : str

    Returns
    -------
    list of str
    """
    if model.is_integer:
        return facts_of_integers(model, prefix)
    return [
        _inputs(model, prefix.upper()),
        _value(model, vectors) if model.is_regression else _classes(model, prefix),
        *filter(None, [parts.measured(model.provenance)]),
    ]


def _what_it_is(compiled: CompiledModel, vectors: TestVectors, prefix: str) -> str:
    m, first = prefix.upper(), compiled.inputs[0].identifier.upper()
    real = parts.origin_of_vectors(vectors)
    size = f"{compiled.in_words}, {len(compiled.inputs)} inputs"
    title, answers = "A classifier in C", f", {compiled.n_outputs} classes."
    use = f"puts({prefix}_label({prefix}_predict(x)));"
    if compiled.is_regression:
        title, answers = "A regression model in C", ", one value."
        use = f"float value = {prefix}_predict(x);"
    warnings = "".join(f"\n**{warning}**\n" for warning in compiled.warnings)
    return f"""\
# {title}

{size}{answers}
C99 or C++, 32-bit floats, no heap, no library. Test vectors: {real}.
{_stack(compiled)}{warnings}
```c
#include "model.h"

float x[{m}_N] = {{0}};
x[{m}_IN_{first}] = ...;
{use}
```
"""


def _stack(compiled: CompiledModel) -> str:
    needed = compiled.stack_bytes
    return f"Its arrays take {needed:,} bytes of stack.\n" if needed else ""


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
{parts.constants(compiled)}"""


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
        rules.append("A missing number is `NAN` and counts as the training median.")
    elif numbers:
        rules.append("No number may be missing.")
    if len(numbers) < len(compiled.inputs):
        rules.append(
            "A missing or unknown category is -1 and adds nothing: of two levels it "
            "counts as the commoner one."
        )
    return "\n".join(rules)


def _input_row(entry: CompiledInput, m: str) -> str:
    span = f"{entry.low:.6g} to {entry.high:.6g}"
    span += ", whole numbers" if entry.integer else ""
    gone = "" if entry.missing is None else f"{entry.missing:.6g}"
    if entry.levels:
        span = parts.levels(entry, m)
        gone = "no level (-1)"
    name = f"`{m}_IN_{entry.identifier.upper()}`"
    return f"| {name} | {markdown(entry.name)} | {span} | {gone} |"
