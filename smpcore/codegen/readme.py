"""The page that explains a bundle: inputs, classes, origin, how to compile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from smpcore.codegen.agreement import error_bound
from smpcore.codegen.c_parts import FLAGS
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import markdown
from smpcore.codegen.vectors import TestVectors


def readme(compiled: CompiledModel, vectors: TestVectors, prefix: str = "mdl") -> str:
    """Write what the bundle holds and how to use it.

    Parameters
    ----------
    compiled : CompiledModel
    vectors : TestVectors
    prefix : str, default "mdl"

    Returns
    -------
    str
        Markdown; every name a user wrote is escaped.
    """
    n_vectors = len(vectors.rows)
    what = "value" if compiled.is_regression else "score"
    untold = compiled.untold(vectors.rows)
    return "\n".join(
        [
            _what_it_is(compiled, vectors, prefix),
            _inputs(compiled, prefix.upper()),
            _value(compiled, vectors) if compiled.is_regression else _classes(compiled),
            _HOW_TO_COMPILE.format(
                flags=FLAGS,
                n_vectors=n_vectors,
                what=what,
                untold=untold and f"\n{untold}\n",
            ),
            _origin(compiled),
            _FILES,
        ]
    )


_HOW_TO_COMPILE = """\
## Compile

`make host` compiles for this computer and compares every {what} of {n_vectors} test
vectors bit for bit; `make avr` and `make cortex-m0` compile for an ATmega328P and a
Cortex-M0 and print the size. By hand:

```
cc {flags} -O2 -o example_host example_host.c model.c
avr-gcc -mmcu=atmega328p {flags} -Os -c model.c
arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb {flags} -Os -c model.c
```
{untold}
Keep `-ffp-contract=off` and leave out `-ffast-math`, or {what}s differ in their last
bits. On an AVR the tables and labels stay in flash; a label is then read with
`pgm_read_byte` or the functions ending in `_P`.
"""

_FILES = """\
## Files

`model.h`, `model.c`: the model. `model.json`: the same, for programs.
`example_host.c`, `test_vectors.h`, `Makefile`: the self-test.
Licence of the code: 0BSD, it is yours.
"""


def _what_it_is(compiled: CompiledModel, vectors: TestVectors, prefix: str) -> str:
    m, first = prefix.upper(), compiled.inputs[0].identifier.upper()
    real = "synthetic"
    if vectors.n_real:
        real = f"{vectors.n_real} real rows of {markdown(vectors.source or 'the data')}"
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
"""


def _classes(compiled: CompiledModel) -> str:
    classes = "\n".join(
        f"| {k} | {markdown(label)} |" for k, label in enumerate(compiled.labels)
    )
    return f"""\
## Classes

| index | label |
|---|---|
{classes}

Equal scores go to the lowest index. An infinite input may leave no score at all; the
answer is then class {compiled.fallback}.
"""


def _value(compiled: CompiledModel, vectors: TestVectors) -> str:
    bound = error_bound(compiled, vectors.rows.astype(np.float64)).max()
    return f"""\
## Value

In the units of the target. On the test vectors it is proved to be within {bound:.2g}
of what the model gives in 64-bit floats. An infinite input may leave no number; the
answer is then `NAN`.
"""


def _origin(compiled: CompiledModel) -> str:
    facts = "\n".join(
        f"| {markdown(name)} | {markdown(value)} |"
        for name, value in _facts(compiled.provenance)
    )
    return f"""\
## Where it comes from

| what | value |
|---|---|
{facts or "| provenance | not given |"}
"""


def _missing_rule(compiled: CompiledModel) -> str:
    numbers = [entry for entry in compiled.inputs if entry.kind == "number"]
    rules = []
    if any(entry.missing is not None for entry in numbers):
        rules.append("A missing number is `NAN` and counts as the training median.")
    elif numbers:
        rules.append("No number may be missing.")
    if len(numbers) < len(compiled.inputs):
        rules.append("A missing or unknown category is -1 and adds nothing.")
    return "\n".join(rules)


def _input_row(entry: CompiledInput, m: str) -> str:
    span = f"{entry.low:.6g} to {entry.high:.6g}"
    span += ", whole numbers" if entry.integer else ""
    gone = "" if entry.missing is None else f"{entry.missing:.6g}"
    if entry.levels:
        words = zip(entry.level_identifiers, entry.levels, strict=True)
        span = ", ".join(f"`{m}_IS_{w.upper()}` {markdown(v)}" for w, v in words)
        gone = "no level (-1)"
    name = f"`{m}_IN_{entry.identifier.upper()}`"
    return f"| {name} | {markdown(entry.name)} | {span} | {gone} |"


def _facts(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Entries of nested mappings as (path, text)."""
    for name, entry in value.items():
        here = f"{path}, {name}" if path else str(name)
        if isinstance(entry, Mapping):
            yield from _facts(entry, here)
        else:
            yield here, str(entry)
