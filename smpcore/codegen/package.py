"""What a zip is made of: a model and what its files tell, its page, its target."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from smpcore.codegen.agreement import error_bound
from smpcore.codegen.costs import conversion, estimated
from smpcore.codegen.describe import SCHEMA, schema
from smpcore.codegen.inputs import CompiledInput, QuantInput, container_ends
from smpcore.codegen.model import CompiledModel, QuantModel
from smpcore.codegen.names import (
    c_float,
    check_prefix,
    interface_id,
    markdown,
    model_id,
)
from smpcore.codegen.targets.c99.block import emit_block
from smpcore.codegen.targets.c99.source import emit_c99, namespace, selftest_files
from smpcore.codegen.targets.c99.stream import Stream, emit_stream
from smpcore.codegen.templates import chosen, filled, filled_folder
from smpcore.codegen.vectors import TestVectors
from smpcore.errors import ExportError

#: The oldest date a zip can hold: the same model always gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)

Files = dict[str, str | bytes]


@dataclass(frozen=True, eq=False)
class Package:
    """A model with all that its files tell of it.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        In 32-bit floats, or in integers.
    vectors : TestVectors
        Made by `test_vectors` for this model.
    name : str
        Begins every name and every file of the code; a C identifier.
    stream : Stream or None
        How samples come, for C that takes one at a time.
    apart : bool
        Whether the constants are in a block of their own, see `emit_block`.
    """

    model: CompiledModel | QuantModel
    vectors: TestVectors
    name: str
    stream: Stream | None = None
    apart: bool = False

    def __post_init__(self) -> None:
        check_prefix(self.name)

    @cached_property
    def id(self) -> str:
        """See `model_id`."""
        return model_id(self.model)

    @property
    def what(self) -> str:
        """Kind of answer, inputs and numbers, in a phrase without a user's word."""
        n = len(self.model.inputs)
        kind = "regression model" if self.model.is_regression else "classifier"
        numbers = f"{self.model.number.removeprefix('int')}-bit integers"
        if not self.model.is_integer:
            numbers = "32-bit floats"
        return f"{kind} of {n} input{'s' * (n != 1)} in {numbers}"

    @property
    def words(self) -> dict[str, str]:
        """Words of the templates of every target."""
        n_vectors, about = len(self.vectors.rows), f"{self.name} {self.id}"
        return {
            "name": self.name,
            "M": self.name.upper(),
            "id": self.id,
            # Package managers keep what has the version that they have already.
            "package_version": f"1.0.0+{self.id}",
            "format": str(SCHEMA),
            "interface": interface_id(self.model),
            "number": self.model.number,
            "what": self.what,
            "in_words": self.model.source.in_words,
            "n_inputs": str(len(self.model.source.inputs)),
            "first": self.model.source.inputs[0].identifier.upper(),
            "n_vectors": str(n_vectors),
            "passed": f"{about} format {SCHEMA} selftest: 0 of {n_vectors} differ",
        }

    @property
    def holds(self) -> set[str]:
        """Conditions of sections of templates that the model fulfils, see `chosen`."""
        model = self.model
        kind = getattr(model.probability, "kind", "plain_scores")
        return {
            "integers" if model.is_integer else "floats",
            "value" if model.is_regression else "classes",
            "band" if model.not_sure >= 0 else "no_band",
            "interval" if model.half_width is not None else kind,
            "stream" if self.stream else "rows",
            "apart" if self.apart else "built_in",
        }

    def parts(self, path: str) -> dict[str, str]:
        """Words of a template of parts."""
        return chosen(path, self.words, self.holds)

    @property
    def input_names(self) -> list[str]:
        """What inputs are called in C: by a name, with a stream by their place."""
        inputs = self.model.source.inputs
        if self.stream and not self.stream.has_names:
            return [f"x[{place}]" for place in range(len(inputs))]
        return [f"{self.name}_in_{entry.identifier}".upper() for entry in inputs]

    @cached_property
    def sources(self) -> Files:
        """The model as C: what goes into a program."""
        of = self.model, self.name
        files = emit_stream(*of, self.stream) if self.stream else emit_c99(*of)
        if self.apart:
            files = self._block[0]
        sources: Files = {name: text.decode() for name, text in files.items()}
        headers = [f"{self.name}.h", f"{self.name}_stream.h"]
        own = {name: sources[name] for name in headers if name in sources}
        return {**sources, f"{self.name}.hpp": namespace(*of, own)}

    @cached_property
    def _block(self) -> tuple[dict[str, bytes], bytes]:
        """Code without constants, and these."""
        return emit_block(self.model, self.name, self.vectors)

    @cached_property
    def tests(self) -> Files:
        """The self-test as C."""
        of = self.model, self.vectors, self.name
        return selftest_files(*of, self.stream, self.apart)

    @property
    def documents(self) -> Files:
        """The model for programs: JSON, its schema; and the test vectors as a table."""
        model = {"name": self.name, "id": self.id, **json.loads(self.model.to_json())}
        block = {"model.bin": self._block[1]} if self.apart else {}
        return block | {
            f"{self.name}.json": json.dumps(model, allow_nan=False) + "\n",
            f"{self.name}.schema.json": json.dumps(schema(self.model), indent=1) + "\n",
            f"{self.name}_card.json": json.dumps(self._card(), indent=1) + "\n",
            f"{self.name}_test_vectors.csv": self._table(),
        }

    def _card(self) -> dict[str, Any]:
        """What to know of the model before it is used: plain JSON values."""
        model, known = self.model, self.model.source.provenance
        proved = {"test_vectors_bit_for_bit": len(self.vectors.rows)}
        if model.is_integer:
            proved |= {"largest_score": model.largest, "sum_bits": model.accumulator}
        costs, converts = {}, model.is_integer and model.converts
        for chip, counted in _COUNTED.items():
            if cost := estimated(model, chip, converts):
                costs[chip] = {
                    "flash_bytes": cost.flash,
                    "stack_bytes": cost.stack,
                    counted: cost.count,
                    "flash_error": cost.flash_error,
                    "count_error": cost.count_error,
                }
        return {
            "name": self.name,
            "id": self.id,
            "what": self.what,
            "data": known.get("data", {}),
            "link": known.get("link", {}),  # python -m smpcore.codegen goes by it
            "classes": None if model.is_regression else [*model.source.labels],
            "operating_point": known.get("operating_point", {}),
            "as_exported": known.get("as_exported", {}),
            "test_set_opened": known.get("test_set_opened"),
            "estimated_costs_of_a_row": costs,
            "stream": self.stream and self.stream.facts,
            "proved": proved,
        }

    def _table(self) -> str:
        """Test vectors: kind, inputs, then the answer and every score."""
        model, tried = self.model, self.vectors
        inputs = [entry.identifier for entry in model.source.inputs]
        titles, columns = ["kind", *inputs], [tried.kinds, *tried.rows.T]
        if model.is_regression:
            titles.append("value")
        else:
            titles += ["class", *(f"score {k}" for k in range(model.n_outputs))]
            columns.append(tried.winners)
        columns += [*tried.scores.T]
        if table := model.probability:
            shares = table.of_scores(tried.scores).reshape(len(tried.rows), -1)
            numbers = range(len(table.offset))
            titles += [f"probability {k}" for k in numbers] or ["probability"]
            columns += [*shares.T]
        # Names of C and numbers: nothing needs quotes, nothing is a formula.
        lines = [titles, *(map(_cell, row) for row in zip(*columns, strict=True))]
        return "".join(f"{','.join(cells)}\n" for cells in lines)


def _cell(value: str | np.number) -> str:
    """Nine digits of a float32 lose nothing."""
    return f"{float(value):.9g}" if isinstance(value, np.floating) else str(value)


def zipped(files: Mapping[str, str | bytes], folder: str) -> bytes:
    """Files as a zip with one folder, the same bytes whenever and wherever."""
    made = io.BytesIO()
    # Stored, not deflated: compressed bytes would depend on the machine's zlib.
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", date_time=_DATE)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            if isinstance(content, str):
                content = content.encode("utf-8", "backslashreplace")
            archive.writestr(entry, content)
    return made.getvalue()


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
    prefix = f"{package.name}_" if in_c else ""
    words = package.words | {"prefix": prefix, "PREFIX": prefix.upper()}
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
        if name not in ("as_exported", "constant_in_training", "link")
    }
    origin = [map(markdown, fact) for fact in _facts(told)]
    words["origin"] = _rows(origin or [("provenance", "not given")])
    words |= _input_words(package, in_c) | _answer_words(package, in_c)
    words |= _measured(source.provenance)
    numbers = [entry.missing for entry in source.inputs if entry.kind == "number"]
    holds = {"c" if in_c else "plain", *package.holds, *filter(words.get, words)}
    if len(numbers) < len(source.inputs):
        holds.add("categories")
    if numbers:
        holds.add("no_gaps" if numbers.count(None) == len(numbers) else "gaps")
    if model.is_integer:
        holds.add("converts" if model.converts else "as_they_are")
    return filled("shared/README.md.in", chosen("shared/readme.in", words, holds))


def _rows(lines: Iterable[Iterable[str]]) -> str:
    """Rows of a table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _input_words(package: Package, in_c: bool) -> dict[str, str]:
    """Table of the inputs, and what to know of them."""
    model, source, names = package.model, package.model.source, package.input_names
    names = [f"`{n}`" for n in names] if in_c else map(str, range(len(names)))
    inputs = model.inputs if in_c else source.inputs
    lines = (_input_row(one, in_c, package.name.upper()) for one in inputs)
    constants = source.provenance.get("constant_in_training")
    constants = constants.items() if isinstance(constants, Mapping) else ()
    steps = (f"- {markdown(one)}" for e in source.inputs for one in e.cleaning)
    words = {
        "inputs": _rows([n, *line] for n, line in zip(names, lines, strict=True)),
        "steps": "\n".join(steps),
        "constant_columns": ", ".join(
            f"{markdown(n)} ({markdown(_text(v))})" for n, v in constants
        ),
        "scaled": "tables" if "factor" in model.tables() else "weights",
    }
    if not model.is_integer:
        return words
    counted = [one.given.identifier for one in model.inputs if one.comes_as_counts]
    costs = ((chip, conversion(model, chip), what) for chip, what in _COUNTED.items())
    words["least"], words["most"] = map(str, container_ends(model.width))
    return words | {
        "zero_weights": model.zero_weights_in_words(markdown),
        "counted": counted[0].upper() if counted else "",
        "n_counted": str(len(counted)),
        "costs": _rows(
            (chip, f"{cost.flash:,} bytes", f"{cost.count:,} {counted_in}")
            for chip, cost, counted_in in costs
        ),
    }


def _input_row(one: CompiledInput | QuantInput, in_c: bool, m: str) -> list[str]:
    """Cells of an input: its column, what it can be, what a missing value counts as."""
    whole = isinstance(one, QuantInput)
    entry = one.given if whole else one
    column, unit = markdown(entry.name), markdown(entry.unit)
    span, formula = f"{one.low:.6g} to {one.high:.6g}", "index of the level"
    gone = "may not be missing"
    if entry.missing is not None:
        gone = str(one.missing) if whole else f"{entry.missing:.6g}"
    if entry.levels:
        names = [f"`{m}_IS_{word.upper()}`" for word in entry.level_identifiers]
        names = names if in_c else [f"{k}:" for k in range(len(names))]
        levels = zip(names, map(markdown, entry.levels), strict=True)
        span, index = ", ".join(map(" ".join, levels)), entry.missing_level
        gone = names[index].removesuffix(":")
        gone = "no level (-1), as an unknown one" if index < 0 else gone
    elif whole:
        formula = one.formula.replace("*", "×")
    else:
        span += f"{' ' * bool(unit)}{unit}{', whole numbers' * entry.integer}"
    return [column, unit, span, formula, gone] if whole else [column, span, gone]


def _answer_words(package: Package, in_c: bool) -> dict[str, str]:
    """Table of the classes, what is proved of scores, and what is calibrated."""
    model, labels = package.model, map(markdown, package.model.source.labels)
    words = {
        "classes": _rows((str(k), label) for k, label in enumerate(labels)),
        "widest": str(model.not_sure),
        "fallback": str(model.fallback),
        "relative": " less that of class 0" if model.relative else "",
        "step": f"{model.step:.{9 if model.is_regression else 6}g}",
        "shift": f"{model.shift:.9g}",
    }
    if not model.is_integer:
        words["widest"] = c_float(model.band).rstrip("f")
        if model.is_regression:
            rows = package.vectors.rows.astype(np.float64)
            words["bound"] = f"{error_bound(model, rows).max():.2g}"
    elif in_c:
        ends = np.array([[one.given.low, one.given.high] for one in model.inputs]).T
        words["largest"] = f"{model.largest:,}"
        words["accumulator"] = str(model.accumulator)
        words["bound"] = f"{float(model.row_bounds(ends).max()):.3g}"
    if model.half_width is not None:
        words["half_width"] = f"{model.half_width * model.step:.6g}"
        if model.is_integer and in_c:
            words["half_width"] = f"{model.half_width} steps"
    elif table := model.probability:
        words["n_segments"] = str(len(table.begin))
        words["error"] = f"{table.error:.4f}"
    return words


def _measured(provenance: Mapping[str, Any]) -> dict[str, str]:
    """How good the exported numbers are, part by part; nothing if not measured."""
    found = provenance.get("as_exported")
    if not isinstance(found, Mapping) or not found.get("parts"):
        return {}
    parts = found["parts"]
    names = [n for n in _MEASURED if any(n in part for part in parts.values())]
    opened = provenance.get("test_set_opened", 0)
    told = f"was opened {opened} time{'s' * (opened != 1)}" if opened else "is closed"
    if "test" in parts and not opened:
        told = "is open for everybody"
    return {
        "measured_format": markdown(str(found.get("format", ""))),
        "head": " | ".join(["part", *(_MEASURED[name] for name in names)]),
        "rule": "---|" * (len(names) + 1),
        "parts": _rows(
            map(markdown, (part, *(_text(values.get(name, "")) for name in names)))
            for part, values in parts.items()
        ),
        "opened": told,
    }


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(map(str, value))
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _facts(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Entries of nested mappings as (path, text)."""
    for name, entry in value.items():
        here = f"{path}, {name}" if path else str(name)
        if isinstance(entry, Mapping):
            yield from _facts(entry, here)
        else:
            yield here, str(entry)


#: Names of number formats -> bits of an integer; None: floats.
NUMBERS = {"float32": None, "int16": 16, "int8": 8}


@dataclass(frozen=True)
class Target:
    """A language, a chip's toolchain or a runtime, and its files.

    Parameters
    ----------
    title : str
        What a user calls it.
    folder : str
        Where its templates are: ``use.md.in``, how the files are tried and used, step
        by step; and ``files``, the texts that differ in words only.
    files : callable
        Package -> path -> content of the other files.
    words : callable
        Package -> the words of the templates.
    numbers : tuple of str
        Number formats that it can have.
    in_c : bool
        Whether its users see names of C.
    has_probabilities : bool
        Whether its files can give the probability of a class, or an interval.
    selftest : str
        Command of a shell that runs the self-test on GitHub, with ``{}`` for the name
        of the model; empty where a runner there lacks what it takes.
    """

    title: str
    folder: str
    files: Callable[[Package], Files]
    words: Callable[[Package], Mapping[str, str]]
    numbers: tuple[str, ...] = tuple(NUMBERS)
    in_c: bool = True
    has_probabilities: bool = True
    selftest: str = ""

    def zip(self, package: Package) -> bytes:
        """Pack a model as files of this target."""
        if package.model.number not in self.numbers:
            raise ExportError(
                f"number={package.model.number!r} is no format of {self.title}; choose "
                f"{' or '.join(map(repr, self.numbers))}."
            )
        if package.stream and not self.in_c:
            raise ExportError(
                f"{self.title} has no stream, only C has: choose another target, or no "
                "stream."
            )
        if package.apart and (package.stream or self.folder != "c99"):
            raise ExportError(
                "Parameters apart from code are of Generic C99 without a stream only; "
                "choose these, or leave the parameters in the code."
            )
        check_prefix(package.name, self.folder)
        files = self.files(package)  # refuses what this target cannot express
        words = self.words(package)
        files |= filled_folder(f"{self.folder}/files", words)
        files |= filled_folder("shared/files", words)
        if self.selftest:
            command = self.selftest.format(package.name)
            workflow = filled("shared/selftest.yml.in", {**words, "command": command})
            files[".github/workflows/selftest.yml"] = workflow
        use = filled(f"{self.folder}/use.md.in", words)
        files["README.md"] = readme(package, use, (*files, "README.md"), self.in_c)
        return zipped(files, package.name)
