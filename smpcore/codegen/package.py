"""What the files of every target are made from, and the zip that they come in."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.identity import interface_id, model_id
from smpcore.codegen.json_text import SCHEMA, schema
from smpcore.codegen.names import check_prefix
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.targets.c99.selftest import selftest_files
from smpcore.codegen.targets.c99.source import emit_c99
from smpcore.codegen.targets.c99.stream import Stream, emit_stream
from smpcore.codegen.templates import section, sections
from smpcore.codegen.vectors import TestVectors

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
    """

    model: CompiledModel | QuantModel
    vectors: TestVectors
    name: str
    stream: Stream | None = None

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

    def parts(self, path: str) -> dict[str, str]:
        """Words of templates, and those sections whose condition the model fulfils.

        A section is named "word, condition"; those of one word follow each other.
        """
        model, words = self.model, self.words
        has_band = model.not_sure >= 0 if model.is_integer else bool(model.band)
        holds = {
            "any",
            "integers" if model.is_integer else "floats",
            "value" if model.is_regression else "classes",
            "band" if has_band else "",
            getattr(model.probability, "kind", ""),
        }
        found: dict[str, str] = {}
        for name in sections(path):
            word, condition = name.split(", ")
            text = section(path, name, words) if condition in holds else ""
            found[word] = found.get(word, "") + text.removesuffix("\n")
        return words | found

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
        return {name: text.decode() for name, text in files.items()}

    @cached_property
    def tests(self) -> Files:
        """The self-test as C."""
        return selftest_files(self.model, self.vectors, self.name)

    @property
    def documents(self) -> Files:
        """The model for programs: JSON, its schema; and the test vectors as a table."""
        model = {"name": self.name, "id": self.id, **json.loads(self.model.to_json())}
        return {
            f"{self.name}.json": json.dumps(model, allow_nan=False) + "\n",
            f"{self.name}.schema.json": json.dumps(schema(self.model), indent=1) + "\n",
            f"{self.name}_test_vectors.csv": self._table(),
        }

    def _table(self) -> str:
        """Test vectors: kind, inputs, then the answer and every score."""
        inputs = [entry.identifier for entry in self.model.source.inputs]
        answers = ["value"]
        if not self.model.is_regression:
            answers = ["class", *(f"score {k}" for k in range(self.model.n_outputs))]
        if table := self.model.probability:
            numbers = range(len(table.offset))
            answers += [f"probability {k}" for k in numbers] or ["probability"]
        # Names of C and numbers: nothing needs quotes, nothing is a formula.
        lines = [["kind", *inputs, *answers]]
        shares = [[] for _ in self.vectors.rows]
        if table := self.model.probability:
            shares = table.of_scores(self.vectors.scores)
            shares = shares.reshape(len(self.vectors.rows), -1).tolist()
        tried = self.vectors
        columns = tried.kinds, tried.rows, tried.winners, tried.scores, shares
        for kind, row, winner, scores, more in zip(*columns, strict=True):
            answer = [] if self.model.is_regression else [winner]
            cells = *map(_cell, row), *answer, *map(_cell, scores), *more
            lines.append([kind, *cells])
        return "".join(f"{','.join(map(str, cells))}\n" for cells in lines)


def _cell(value: np.number) -> str:
    """Nine digits of a float32 lose nothing."""
    return f"{float(value):.9g}" if value.dtype.kind == "f" else str(value)


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
