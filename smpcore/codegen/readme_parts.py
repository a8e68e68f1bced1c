"""Sections that the page of every bundle has, whatever the numbers are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import markdown
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.vectors import TestVectors


def origin_of_vectors(vectors: TestVectors) -> str:
    """Whose rows the vectors are."""
    if vectors.n_real:
        return f"{vectors.n_real} real rows of {markdown(vectors.source or 'the data')}"
    return "synthetic"


def classes(compiled: CompiledModel) -> str:
    """Table of the classes."""
    lines = "\n".join(
        f"| {k} | {markdown(label)} |" for k, label in enumerate(compiled.labels)
    )
    return f"""\
## Classes

| index | label |
|---|---|
{lines}
"""


def constants(compiled: CompiledModel) -> str:
    """Which columns are no input because they never vary; empty if there is none."""
    found = compiled.provenance.get("constant_in_training")
    if not isinstance(found, Mapping):
        return ""
    columns = ", ".join(
        f"{markdown(name)} ({markdown(f'{v:.9g}' if isinstance(v, float) else str(v))})"
        for name, v in found.items()
    )
    return f"""
No inputs, as they have one value in all training rows, which the numbers of the model
take in: {columns}.
"""


def cleaning(compiled: CompiledModel) -> str:
    """What was done to the columns before; empty if nothing was."""
    sentences = [one for entry in compiled.inputs for one in entry.cleaning]
    if not sentences:
        return ""
    lines = "\n".join(f"- {markdown(one)}" for one in sentences)
    return f"""
The table was cleaned before the model was fitted. What is missing there is missing here
too: pass it as a missing value.

{lines}
"""


def margin(prefix: str, steps: str, not_sure: str) -> str:
    """What margin and band mean."""
    text = f"""\
`{prefix}_margin(x)` is how far the best class is above the next, {steps}: the nearer to
0, the less it takes to change the answer. It is no probability.
"""
    if not_sure:
        text += f"""
**Not sure.** This model was set to abstain near its threshold: `{prefix}_sure(x)` is 0
where the margin is at most {not_sure} (`{prefix.upper()}_NOT_SURE`). Leave such rows to
a person or to another test; the class of `{prefix}_predict` is a guess there.
"""
    return text


def calibration(model: CompiledModel | QuantModel, prefix: str) -> list[str]:
    """What the probability or the interval means; empty if there is none."""
    if model.half_width is not None:
        width = f"{model.half_width * model.step:.6g}"
        if model.is_integer and prefix:
            width = f"{model.half_width} steps"
        return [
            f"""\
## Interval

90 % of rows like the training rows have a value within `{prefix.upper()}HALF_WIDTH_90`
({width}) of the answer: learned on residuals of the model in 64-bit floats for
rows that it had not seen.
"""
        ]
    if model.probability is None:
        return []
    n = len(model.probability.begin)
    return [
        f"""\
## Probability

`{prefix}probability(x)` is the probability of class 1 in 1/32768, from 1 to 32767; of
class 0 it is the rest. It is a table of {n} segments over the lead, the score of class
1 less that of class 0, and at most {model.probability.error:.4f} off the calibration,
for any lead of these scores; what rounding moves the scores by comes on top. A lead
that is no number counts as 0. It was calibrated on
scores of rows that the model had not seen, and holds for rows with the same shares of
the classes as the training rows. The answer of `{prefix}predict` follows the scores and
the threshold, not the probability.
"""
    ]


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


def measured(provenance: Mapping[str, Any]) -> str:
    """How good the exported numbers are, part by part; empty if it was not measured."""
    found = provenance.get("as_exported")
    if not isinstance(found, Mapping) or not found.get("parts"):
        return ""
    parts = found["parts"]
    names = [n for n in _MEASURED if any(n in part for part in parts.values())]
    head = " | ".join(["part", *(_MEASURED[name] for name in names)])
    lines = "\n".join(
        f"| {markdown(part)} | "
        + " | ".join(markdown(_text(values.get(name, ""))) for name in names)
        + " |"
        for part, values in parts.items()
    )
    opened = provenance.get("test_set_opened", 0)
    told = f"was opened {opened} time{'s' * (opened != 1)}" if opened else "is closed"
    if "test" in parts and not opened:
        told = "is open for everybody"
    return f"""\
## How good it is

Of this very code ({markdown(str(found.get("format", "")))}), not of the model in 64-bit
floats it was made from.

| {head} |
|{"---|" * (len(names) + 1)}
{lines}

The test set {told}. Proved the same: no rounding in this code can change that answer.
"""


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(map(str, value))
    return str(value)


def origin(compiled: CompiledModel, number: str) -> str:
    """Provenance as a table, and the ID of the model."""
    told = {
        "accuracy in 64-bit floats" if name == "accuracy" else name: value
        for name, value in compiled.provenance.items()
        if name not in ("as_exported", "constant_in_training")
    }
    facts = "\n".join(
        f"| {markdown(name)} | {markdown(value)} |" for name, value in _facts(told)
    )
    return f"""\
## Where it comes from

| what | value |
|---|---|
{facts or "| provenance | not given |"}
| ID: BLAKE2b of inputs and numbers | {number} |
"""


def _facts(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Entries of nested mappings as (path, text)."""
    for name, entry in value.items():
        here = f"{path}, {name}" if path else str(name)
        if isinstance(entry, Mapping):
            yield from _facts(entry, here)
        else:
            yield here, str(entry)


#: Ends of a path -> what the file is; the first that fits is told. @: the name.
_FILES = {
    "README.md": "this page",
    "LICENSE": "0BSD: the code is yours",
    "@.h": "what there is to call, and the inputs",
    "@.c": "the model",
    "@_inputs.c": "compares inputs with the training rows; may be left out",
    "@_selftest.h": "what there is to call of the self-test",
    "@_selftest.c": "tries the test vectors: every score, bit for bit",
    "@_selftest_quantise.c": "tries the conversion",
    "@_quantise.c": "converts numbers in the units of the table to integers",
    "@_test_vectors.h": "rows of inputs with their scores, for the self-test",
    "@_test_vectors.csv": "the same rows as a table",
    "@_example.c": "answers one row, then tests itself",
    "@_board.c": "tries the test vectors on a chip, real or simulated",
    "@_example.py": "answers the test vectors, and compares",
    "@_selftest.py": "tries the test vectors",
    "@.schema.json": "JSON schema of the model",
    "library.json": "manifest of PlatformIO",
    "@.json": "the whole model for programs",
    "@.py": "the model in plain Python",
    "@.mjs": "the model in JavaScript",
    "@_selftest.mjs": "tries the test vectors: every score, bit for bit",
    "@.onnx": "the model",
    "Makefile": "compiles for this computer and for chips",
    "CMakeLists.txt": "how CMake builds it",
    "Kconfig": "options of the build",
    "module.yml": "manifest of Zephyr",
    "library.properties": "manifest of Arduino",
    "keywords.txt": "words that the Arduino IDE colours",
    "Ask.ino": "sketch that answers rows from the serial monitor",
    "SelfTest.ino": "sketch that tries the test vectors on the board",
}


def files(described: Mapping[str, str], name: str) -> str:
    """What lies in the zip, as a table."""
    ends = {end.replace("@", name): told for end, told in _FILES.items()}
    lines = "\n".join(
        f"| `{path}` | {what or ends[path.rpartition('/')[2]]} |"
        for path, what in sorted(described.items())
    )
    return f"## Files\n\n| file | what it is |\n|---|---|\n{lines}\n"


def span(entry: CompiledInput) -> str:
    """Range of a number in the training rows, with its unit."""
    unit = f" {markdown(entry.unit)}" if entry.unit else ""
    whole = ", whole numbers" if entry.integer else ""
    return f"{entry.low:.6g} to {entry.high:.6g}{unit}{whole}"


def levels(entry: CompiledInput, m: str) -> str:
    """Names in C of a category's levels, and what they stand for."""
    words = zip(entry.level_identifiers, entry.levels, strict=True)
    return ", ".join(f"`{m}_IS_{word.upper()}` {markdown(v)}" for word, v in words)


def missing_level(entry: CompiledInput, m: str) -> str:
    """What a missing value of a category counts as."""
    if entry.missing_level < 0:
        return "no level (-1)"
    return f"`{m}_IS_{entry.level_identifiers[entry.missing_level].upper()}`"
