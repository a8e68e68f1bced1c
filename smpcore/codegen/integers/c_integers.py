"""C source of a `QuantModel`: integers only, whatever the machine.

Nothing overflows for any input (see the proof of each form), and every sum is written
so that no intermediate value depends on the size of an ``int``.
"""

from __future__ import annotations

from smpcore.codegen.c_answer import Answer, predict_function, scores_function
from smpcore.codegen.c_parts import (
    check_size,
    class_type,
    header,
    label_declaration,
    label_function,
    margin_declaration,
    margin_functions,
    preamble,
    unit_note,
)
from smpcore.codegen.c_tables import fetch, table, unsigned
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.integers.c_quantise import quantise_source
from smpcore.codegen.integers.c_rows import IntegerCode, behind, integer_code
from smpcore.codegen.integers.inputs import ends
from smpcore.codegen.integers.model import QuantModel
from smpcore.codegen.names import check_prefix


def emit_integers(quant: QuantModel, prefix: str = "mdl") -> dict[str, bytes]:
    """Write header, source and conversion of an integer model.

    Parameters
    ----------
    quant : QuantModel
    prefix : str, default "mdl"

    Returns
    -------
    dict of str to bytes
        ``<prefix>.h``, ``<prefix>.c`` and ``<prefix>_quantise.c``, ASCII.

    Raises
    ------
    ExportError
        If the prefix is no identifier, or the model exceeds what the format holds.
    """
    check_prefix(prefix)
    check_size([one.given for one in quant.inputs], quant.n_outputs)
    files = {
        f"{prefix}.h": _header(quant, prefix),
        f"{prefix}.c": _source(quant, prefix),
        f"{prefix}_quantise.c": quantise_source(quant, prefix),
    }
    return {name: text.encode("ascii") for name, text in files.items()}


def _x(quant: QuantModel, prefix: str) -> str:
    """Parameter that holds the inputs."""
    return f"const int{quant.width}_t x[{prefix.upper()}_N]"


def _header(quant: QuantModel, prefix: str) -> str:
    m = prefix.upper()
    least, most = ends(quant.width)
    classes = f"#define {m}_CLASSES {quant.n_outputs}\n"
    before = f"""\
{"" if quant.is_regression else classes}\
#define {m}_LARGEST {quant.largest} /* no score is larger in size, for any inputs */

/* Inputs as integers, see {prefix}_quantise. {least} and {most}: outside the range. */
"""

    def note(place: int, entry: CompiledInput) -> str:
        if entry.levels:
            return f" /* {m}_IS_{entry.identifier.upper()}_..., or -1: unknown */"
        one = quant.inputs[place]
        span = f"{entry.low:.6g} to {entry.high:.6g} in training"
        told = [f"{one.low:.6g} to {one.high:.6g}"] if one.exact else []
        return f" /* {', '.join([one.formula, *told, span + unit_note(one.unit)])} */"

    return header(
        quant,
        prefix,
        note,
        before,
        _declarations(quant, prefix),
    )


def _declarations(quant: QuantModel, prefix: str) -> str:
    m, index, x = prefix.upper(), class_type(quant), _x(quant, prefix)
    score, count = f"int{quant.accumulator}_t", unsigned(len(quant.inputs))
    conversion = f"""\
/* How many inputs lie at an end of the integers: outside the range, or just there. */
{count} {prefix}_saturated({x});

/* Integers of numbers in the units of the table; a category is its index. */
void {prefix}_quantise(const float values[{m}_N], int{quant.width}_t x[{m}_N]);
"""
    if quant.is_regression:
        return f"""\
/* Value of one row of inputs, in steps of {quant.step:.9g} above {quant.shift:.9g}. */
{score} {prefix}_predict({x});

{conversion}"""
    relative = ", less that of class 0" if quant.relative else ""
    margin = margin_declaration(prefix, x, f"u{score}", _not_sure(quant))
    return f"""\
/* Class index of one row of inputs: the lowest whose score is at most {m}_TIE below
 * the largest. */
#define {m}_TIE {quant.tie}{"L" if quant.accumulator == 32 else ""}
{index} {prefix}_predict({x});

/* Score of each class{relative}, in steps of {quant.step:.9g}. */
void {prefix}_scores({x}, {score} scores[{m}_CLASSES]);

{margin}
{conversion}
{label_declaration(quant, prefix)}"""


def _not_sure(quant: QuantModel) -> str:
    return "" if quant.not_sure < 0 else f"{quant.not_sure}UL"


def _source(quant: QuantModel, prefix: str) -> str:
    code = integer_code(quant, prefix)
    tables = code.tables
    parts = [
        preamble(prefix, tables, code.sizes),
        "".join(table(quant, prefix, n, t) for n, t in tables.items()),
        code.functions,
    ]
    saturated = _saturated_function(quant, prefix)
    if quant.is_regression:
        return "\n".join([*parts, _value_function(quant, prefix, code), saturated])
    score = f"int{quant.accumulator}_t"
    not_sure, x = _not_sure(quant), _x(quant, prefix)
    answer = Answer(
        prefix,
        class_type(quant),
        quant.n_outputs,
        x,
        number=score,
        lowest=f"-{2 ** (quant.accumulator - 1) - 1}",
        behind=behind(quant, prefix),
        row=unsigned(quant.n_rows),
        owner=fetch(prefix, tables, "owner", "row") if tables else "",
        declare=code.declare,
        before=code.before,
        score=code.score,
        count=code.count,
    )
    return "\n".join(
        [
            *parts,
            code.scores or scores_function(answer),
            code.predict or predict_function(answer),
            margin_functions(prefix, quant.n_outputs, x, score, f"u{score}", not_sure),
            saturated,
            label_function(quant.source.labels, class_type(quant), prefix),
        ]
    )


def _value_function(quant: QuantModel, prefix: str, code: IntegerCode) -> str:
    declare = code.declare
    if "row" in code.score:
        declare = f"    const uint8_t row = 0; /* the only one */\n{declare}\n"
    return f"""\
int{quant.accumulator}_t {prefix}_predict({_x(quant, prefix)})
{{
{declare}{code.before}    return {code.score};
}}
"""


def _saturated_function(quant: QuantModel, prefix: str) -> str:
    m, count = prefix.upper(), unsigned(len(quant.inputs))
    least, most = ends(quant.width)
    numbers = [place for place, one in enumerate(quant.inputs) if one.is_number]
    if not numbers:
        return f"""\
{count} {prefix}_saturated({_x(quant, prefix)})
{{
    (void)x; /* categories only */
    return 0;
}}
"""
    lines = ""
    if len(numbers) < len(quant.inputs):
        categories = (
            f"k == {m}_IN_{one.given.identifier.upper()}"
            for one in quant.inputs
            if not one.is_number
        )
        condition = " || ".join(categories)
        lines = f"        if ({condition}) {{\n            continue;\n        }}\n"
    return f"""\
{count} {prefix}_saturated({_x(quant, prefix)})
{{
    {count} n = 0;
    {count} k;

    for (k = 0; k < {m}_N; ++k) {{
{lines}        if (x[k] == {least} || x[k] == {most}) {{
            ++n;
        }}
    }}
    return n;
}}
"""
