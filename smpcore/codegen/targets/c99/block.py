"""Parameters apart from code: a checked block of bytes that the code reads in place.

The code is that of constants, its tables are pointers into the block. A block fits a
program whose code and other constants are the same to the byte: a digest of them, the
layout, is in both. So a retrained model with as many prototypes of the same inputs
comes as a file, and answers bit by bit as if its constants were in the code.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from typing import Any

import numpy as np

from smpcore.codegen.names import model_id
from smpcore.codegen.program import WeightedInputs
from smpcore.codegen.targets.c99.common import Source
from smpcore.codegen.targets.c99.source import (
    check_size,
    finished,
    header,
    inputs_source,
    model_source,
)
from smpcore.codegen.vectors import TestVectors
from smpcore.errors import ExportError

_MAGIC, _HEADER_BYTES = b"SPM1", 20
#: Tables with an entry for each term: how many there are is in the block.
_OF_TERMS = ("weight", "input", "level")
#: Rows with their scores that a block brings for its own test.
N_VECTORS = 8


class BlockSource(Source):
    """As `Source`, of a model whose tables are in a block."""

    def __init__(self, model: Any, prefix: str, vectors: TestVectors) -> None:
        tables = model.tables()
        chosen = np.linspace(0, len(vectors.rows) - 1, N_VECTORS).astype(int)
        tables |= {"tried": vectors.rows[chosen].astype(np.float32)}
        tables |= {"wanted": vectors.scores[chosen].astype(np.float32)}
        super().__init__(model, prefix, tables)
        by_size = sorted(tables, key=lambda name: -tables[name].itemsize)
        self.fixed = [name for name in by_size if name not in _OF_TERMS]
        self.of_terms = [name for name in by_size if name in _OF_TERMS]

    def arrays(self) -> str:
        """The pointers to the tables."""
        declared = "".join(
            self.text("pointer", {"type": self.type(name), "table": name}, "block")
            for name in self.tables
        )
        return self.text("tables", {"declared": declared}, "block")

    @property
    def first_term(self) -> int:
        """Where the tables of the terms begin."""
        fixed = sum(self.tables[name].nbytes for name in self.fixed)
        return _HEADER_BYTES + -(-fixed // 4) * 4

    def load(self) -> str:
        """The functions that check a block and point into it."""
        places, place = {}, _HEADER_BYTES
        for name in self.fixed:
            places[name] = f"{place}U"
            place += self.tables[name].nbytes
        place = 0
        for name in self.of_terms:
            places[name] = f"{self.first_term}U + {place}U * terms"
            place += self.tables[name].itemsize
        words = {
            "points": "".join(
                self.text(
                    "point",
                    {"table": name, "type": self.type(name), "place": place},
                    "block",
                )
                for name, place in places.items()
            ),
            "n_vectors": N_VECTORS,
            "n_scores": self.tables["wanted"].shape[1],
            "term_bytes": f"{place}U",
            "first_term": f"{self.first_term}U",
        }
        return self.text("load", words, "block")

    def block(self, layout: str) -> bytes:
        """The bytes of the model."""
        parts = [self.tables[name] for name in self.fixed]
        body = _padded(b"".join(_little(one) for one in parts))
        terms = [self.tables[name] for name in self.of_terms]
        body += _padded(b"".join(_little(one) for one in terms))
        numbers = int(layout, 16), int(model_id(self.model), 16)
        sizes = _HEADER_BYTES + len(body) + 4, terms[0].size
        head = _MAGIC + np.array([*numbers, *sizes], "<u4").tobytes()
        return head + body + zlib.crc32(head + body).to_bytes(4, "little")


def _little(values: np.ndarray) -> bytes:
    return values.astype(values.dtype.newbyteorder("<")).tobytes()


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)


def has_block(model: Any) -> bool:
    """Whether the parameters of a model can be in a block of their own.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Has a block if it has linear prototypes in 32-bit floats.

    Returns
    -------
    bool
    """
    return not model.is_integer and isinstance(model.operations[-1], WeightedInputs)


def check_block(model: Any) -> None:
    """Refuse a model whose parameters cannot be in a block of their own."""
    if not has_block(model):
        raise ExportError(
            "Parameters apart from code are of linear prototypes in 32-bit floats "
            "only; choose number='float32' and a linear similarity, or leave them in "
            "the code."
        )
    if model.probability is not None:
        raise ExportError(
            "Parameters apart from code have no probabilities; export the model "
            "without its calibration, or leave the parameters in the code."
        )


def emit_block(
    model: Any, prefix: str, vectors: TestVectors
) -> tuple[dict[str, bytes], bytes]:
    """Write the C files of a model without its parameters, and these.

    Parameters
    ----------
    model : CompiledModel
        With linear prototypes, in 32-bit floats.
    prefix : str
        See `emit_c99`.
    vectors : TestVectors
        Of the model; some of them are in the block, which is tried by them.

    Returns
    -------
    dict of str to bytes
        The files of `emit_c99`, ``<prefix>_block.h`` and ``<prefix>_block.c``.
    bytes
        The block, for a file.

    Raises
    ------
    ExportError
        If the model has another form.
    """
    check_size(model)
    check_block(model)
    c = BlockSource(model, prefix, vectors)
    include = f'#include "{prefix}.h"\n'
    source = model_source(c) + "\n" + c.load()
    source = source.replace(include, f'#include "{prefix}_block.h"\n', 1)
    declared = header(c, named=True)
    rest = re.findall(r"^#define (?!\w+_(?:ID|VERSION) ).*", declared, re.M)
    fixed = source.replace(model_id(model), "") + "\n".join(rest)
    layout = hashlib.blake2b(fixed.encode(), digest_size=4).hexdigest()
    block = c.block(layout)
    words = {"layout": layout, "least": c.first_term + 4, "n_bytes": len(block)}
    rows = (block[at : at + 16] for at in range(0, len(block), 16))
    lines = (f"    {', '.join(map(str, row))}" for row in rows)
    files = {
        f"{prefix}.c": source,
        f"{prefix}.h": declared,
        f"{prefix}_inputs.c": inputs_source(model, prefix),
        f"{prefix}_block.h": c.text("header", words, "block"),
        f"{prefix}_block.c": c.text("built in", {"bytes": ",\n".join(lines)}, "block"),
    }
    return finished(files, model, prefix), block
