"""C source of a `CompiledModel`: no heap, no library, float32 only.

The tables go through two macros, because a plain ``const`` table of an AVR lies in
its scarce RAM: ``MDL_CONST`` puts it into flash there, ``MDL_READ_...`` fetches it.
"""

from __future__ import annotations

import numpy as np

from smpcore.codegen.c_answer import Answer, predict_function, scores_function
from smpcore.codegen.c_parts import (
    FLOAT_RULES,
    check_size,
    class_type,
    header,
    label_declaration,
    label_function,
    margin_declaration,
    margin_functions,
    preamble,
)
from smpcore.codegen.c_rows import RowCode, row_code
from smpcore.codegen.c_tables import fetch, table, unsigned
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.names import c_float, check_prefix


def emit_floats(compiled: CompiledModel, prefix: str = "mdl") -> dict[str, bytes]:
    """Write the header and the source file of a model.

    Parameters
    ----------
    compiled : CompiledModel
    prefix : str, default "mdl"
        Begins every name in the files.

    Returns
    -------
    dict of str to bytes
        ``<prefix>.h`` and ``<prefix>.c``, ASCII.

    Raises
    ------
    ExportError
        If the prefix is no identifier, or the model exceeds what the format holds.
    """
    check_prefix(prefix)
    check_size(compiled.inputs, compiled.n_outputs)
    files = {
        f"{prefix}.h": _header(compiled, prefix),
        f"{prefix}.c": _source(compiled, prefix),
    }
    return {name: text.encode("ascii") for name, text in files.items()}


def _header(compiled: CompiledModel, prefix: str) -> str:
    m = prefix.upper()
    missing = (
        "NAN: missing, counts as the training median."
        if "missing" in compiled.tables()
        else "None may be missing."
    )
    classes = f"#define {m}_CLASSES {compiled.n_outputs}\n"
    before = f"""\
{"" if compiled.is_regression else classes}
/* Inputs in the units of the table, with the range of the training rows.
 * {missing} */
"""
    return header(
        compiled,
        prefix,
        lambda place, entry: _range_note(entry, m),
        before,
        _prototypes(compiled, prefix),
    )


def _prototypes(compiled: CompiledModel, prefix: str) -> str:
    m, index = prefix.upper(), class_type(compiled)
    x = f"const float x[{m}_N]"
    if compiled.is_regression:
        return f"""\
/* Value of one row of inputs. */
float {prefix}_predict({x});
"""
    return f"""\
/* Class index of one row of inputs: the lowest whose score is at most {m}_TIE below
 * the largest. */
#define {m}_TIE {c_float(np.float32(compiled.tie))}
{index} {prefix}_predict({x});

/* Score of each class; the largest wins. */
void {prefix}_scores({x}, float scores[{m}_CLASSES]);

{margin_declaration(prefix, x, "float", _not_sure(compiled))}
{label_declaration(compiled, prefix)}"""


def _not_sure(compiled: CompiledModel) -> str:
    return c_float(compiled.band) if compiled.band else ""


def _range_note(entry: CompiledInput, m: str) -> str:
    if entry.levels:
        return f" /* {m}_IS_{entry.identifier.upper()}_..., or -1: unknown */"
    return f" /* {entry.low:.6g} to {entry.high:.6g} */"


def _source(compiled: CompiledModel, prefix: str) -> str:
    tables = compiled.tables()
    rows = row_code(compiled, prefix, tables)
    rules = f"\n#include <float.h>\n\n{FLOAT_RULES}"
    parts = [
        preamble(prefix, tables, rows.sizes, rules),
        "".join(table(compiled, prefix, n, t) for n, t in tables.items()),
        rows.functions,
    ]
    if compiled.is_regression:
        return "\n".join([*parts, _value_function(prefix, rows)])
    x = f"const float x[{prefix.upper()}_N]"
    not_sure = _not_sure(compiled)
    answer = Answer(
        prefix,
        class_type(compiled),
        compiled.n_outputs,
        x,
        number="float",
        lowest="-FLT_MAX",
        behind=f"{{other}} + {prefix.upper()}_TIE < {{best}}" if compiled.tie else "",
        row=unsigned(compiled.n_rows),
        owner=fetch(prefix, tables, "owner", "row"),
        declare=rows.declare,
        before=rows.before,
        score=rows.score,
        count=rows.count,
        fallback=compiled.fallback,
    )
    return "\n".join(
        [
            *parts,
            scores_function(answer),
            predict_function(answer),
            margin_functions(prefix, compiled.n_outputs, x, "float", "float", not_sure),
            label_function(compiled.labels, class_type(compiled), prefix),
        ]
    )


def _value_function(prefix: str, rows: RowCode) -> str:
    return f"""\
float {prefix}_predict(const float x[{prefix.upper()}_N])
{{
    const uint8_t row = 0; /* the only one */
{rows.declare}
{rows.before}    return {rows.score};
}}
"""
