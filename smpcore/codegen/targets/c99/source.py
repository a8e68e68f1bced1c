"""C99 (and C++) source of a model, in floats or in integers: no heap, no library.

The tables go through two macros, because a plain ``const`` table of an AVR lies in its
scarce RAM: ``MDL_CONST`` puts it into flash there, ``MDL_READ_...`` fetches it. In
integers nothing overflows for any input, and every sum is written so that no
intermediate value depends on the size of an ``int``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from smpcore.codegen.constants import has_tables
from smpcore.codegen.names import c_string, check_prefix
from smpcore.codegen.program import (
    Operation,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.quant_inputs import container_ends
from smpcore.codegen.targets.c99.answer import RowCode, answer_functions
from smpcore.codegen.targets.c99.constant_tables import Source, unsigned
from smpcore.codegen.targets.c99.frame import (
    CASTS_END,
    FLOAT_RULES,
    FLOAT_RULES_END,
    head,
    preamble,
)
from smpcore.codegen.targets.c99.header import check_size, header
from smpcore.codegen.targets.c99.inputs import inputs_source
from smpcore.codegen.targets.c99.linear import linear_code
from smpcore.codegen.targets.c99.probability import (
    probability_function,
    probability_tables,
)
from smpcore.codegen.targets.c99.quantise import quantise_source
from smpcore.codegen.targets.c99.similarities import similarity_code
from smpcore.codegen.targets.c99.sparse_code import sparse_code

#: Constants of a longer source have a file of their own, which a reader can skip.
_MOST_LINES = 580

#: Operation -> how a public function comes to its scores, given the code before it;
#: other operations are part of the code of the one behind them.
CODE: dict[type[Operation], Callable[[Any, RowCode | None, Source], RowCode]] = {
    WeightedInputs: lambda one, before, c: linear_code(one, c),
    WeightedSums: lambda one, before, c: similarity_code(one, c),
    SparseCode: sparse_code,
}


def emit_c99(model: Any, prefix: str = "mdl", named: bool = True) -> dict[str, bytes]:
    """Write the header and the source files of a model.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        In 32-bit floats, or in integers.
    prefix : str, default "mdl"
        Name of the model: begins every name in the files, and theirs.
    named : bool, default True
        Whether each input has a name in the header; of series channels have.

    Returns
    -------
    dict of str to bytes
        ``<prefix>.h``, ``<prefix>.c`` and ``<prefix>_inputs.c``, ASCII; of integers
        ``<prefix>_quantise.c`` as well, which turns numbers in the user's units into
        the integers of the model; of large models ``<prefix>_tables.h``.

    Raises
    ------
    ExportError
        If the prefix is no identifier, or the model exceeds what the format holds.
    """
    check_prefix(prefix)
    check_size(model)
    tables = model.tables() if has_tables(model) else {}
    c = Source(model, prefix, tables | probability_tables(model))
    files, source, arrays = {}, _source(c), c.arrays()
    if source.count("\n") > _MOST_LINES:
        files[f"{prefix}_tables.h"] = arrays
        source = source.replace(arrays, f'#include "{prefix}_tables.h"\n')
    files |= {
        f"{prefix}.c": source,
        f"{prefix}.h": header(c, named),
        f"{prefix}_inputs.c": inputs_source(model, prefix),
    }
    if model.is_integer:
        files[f"{prefix}_quantise.c"] = quantise_source(c, model.inputs, model.width)
    return finished(files, model, prefix)


def finished(files: Mapping[str, str], model: Any, prefix: str) -> dict[str, bytes]:
    """Put the first and last lines of every file around it."""
    first = head(model, prefix)
    ends = {name: CASTS_END for name in files if name.endswith(".c")}
    for name, text in files.items():
        if FLOAT_RULES in text:
            ends[name] += FLOAT_RULES_END
    whole = ((name, first + text + ends.get(name, "")) for name, text in files.items())
    return {name: text.encode("ascii") for name, text in whole}


def _source(c: Source) -> str:
    code = None
    for operation in c.model.operations:
        if type(operation) in CODE:
            code = CODE[type(operation)](operation, code, c)
    rules = "" if c.model.is_integer else f"\n#include <float.h>\n{FLOAT_RULES}"
    parts = [preamble(c, code.sizes, rules), c.arrays(), code.functions]
    parts += answer_functions(c, code)
    if c.model.probability is not None:
        parts.append(probability_function(c))
    if c.model.is_integer:
        parts.append(_saturated_function(c))
    if not c.model.is_regression:
        parts.append(_label_function(c))
    return "\n".join(parts)


def _saturated_function(c: Source) -> str:
    """The function that counts the inputs at an end of the container."""
    least, most = container_ends(c.model.width)
    words = {"counter": unsigned(len(c.model.inputs)), "least": least, "most": most}
    categories = [
        f"k == {c.m}_IN_{one.given.identifier.upper()}"
        for one in c.model.inputs
        if not one.is_number
    ]
    if len(categories) == len(c.model.inputs):
        return c.text("saturated categories", words)
    words["skip"] = ""
    if categories:
        condition = {"categories": " || ".join(categories)}
        words["skip"] = c.text("skip categories", condition)
    return c.text("saturated", words)


def _label_function(c: Source) -> str:
    """The function that names a class, with its texts as users wrote them."""
    labels = [{"k": k, "text": c_string(one)} for k, one in enumerate(c.model.labels)]
    words = {
        "texts": "".join(c.text("label text", one) for one in labels),
        "cases": "".join(c.text("label case", one) for one in labels),
    }
    return c.text("labels", words)
