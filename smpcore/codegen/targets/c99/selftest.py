"""A self-test in C: the model answers its test vectors, on any machine it runs on."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from smpcore.codegen.model import CompiledModel, QuantModel
from smpcore.codegen.names import c_float
from smpcore.codegen.targets.c99.common import (
    CASTS,
    CASTS_END,
    class_type,
    head,
    number_types,
)
from smpcore.codegen.templates import filled, filled_folder, section
from smpcore.codegen.vectors import TestVectors, conversions

_PARTS = "c99/selftest.in"


def selftest_files(
    model: CompiledModel | QuantModel, vectors: TestVectors, prefix: str
) -> dict[str, str]:
    """Write the vectors and the function that tries them."""
    tried, what = "class", "scores and class"
    if table := model.probability:
        tried, what = table.kind, f"scores, class and {table.kind}"
    if model.is_regression:
        tried, what = "value", "value"
    kind, score = number_types(model)
    words = {
        "name": prefix,
        "M": prefix.upper(),
        "input": kind,
        "score": score,
        "index": class_type(model),
        "n_vectors": str(len(vectors.rows)),
        "compared": what,
        "casts": CASTS,
        "casts_end": CASTS_END,
        "head": head(model, prefix),
        "math": "#include <math.h>\n\n" if score == "float" else "",
        "tables": _tables(model, vectors, prefix),
        "conversion": "",
    }
    words["try"] = section(_PARTS, tried, words)
    words |= {name: section(_PARTS, name, words) for name in ("bytes", "flash")}
    if not model.is_integer:
        return filled_folder("c99/selftest", words)
    tried, size = conversions(model), f"[{words['M']}_CONVERSIONS][{words['M']}_N]"
    rows = _rows(tried.values, tried.kinds)
    numbers = _table(prefix, f"float @_numbers{size}", rows)
    integers = _table(prefix, f"{kind} @_integers{size}", _rows(tried.integers))
    words |= {"numbers": f"{numbers}\n{integers}", "n_conversions": str(len(rows))}
    words["conversion"] = section(_PARTS, "conversion", words)
    conversion = filled("c99/selftest_quantise.c.in", words)
    files = filled_folder("c99/selftest", words)
    return files | {f"{prefix}_selftest_quantise.c": conversion}


def _tables(model: CompiledModel | QuantModel, vectors: TestVectors, p: str) -> str:
    m, (kind, score) = p.upper(), number_types(model)
    rows, size = _rows(vectors.rows, vectors.kinds), f"{m}_VECTORS]"
    tables = [_table(p, f"{kind} @_x[{size}[{m}_N]", rows)]
    scores = _rows(vectors.scores)
    if model.is_regression:
        return "\n".join([*tables, _table(p, f"{score} @_values[{size}[1]", scores)])
    tables.append(_table(p, f"{score} @_scores[{size}[{m}_CLASSES]", scores))
    winners = [f"    {_numbers(vectors.winners)}"]
    tables.append(_table(p, f"{class_type(model)} @_class[{size}", winners))
    if model.probability:
        shares = model.probability.of_scores(vectors.scores)
        by_class = f"[{m}_CLASSES]" if shares.ndim > 1 else ""
        lines = _rows(shares) if by_class else [f"    {_numbers(shares)}"]
        tables.append(_table(p, f"uint16_t @_probability[{size}{by_class}", lines))
    return "\n".join(tables)


def _table(prefix: str, declared: str, lines: list[str]) -> str:
    """A constant array; @ is the begin of its name."""
    head = f"static const {declared.replace('@', f'{prefix}_test')}"
    text = ",\n".join(lines)
    return f"{head} {prefix.upper()}_VECTOR_CONST = {{\n{text}}};\n"


def _rows(values: np.ndarray, kinds: Iterable[str] = ()) -> list[str]:
    """Initialisers of rows, with a comment where they are of kinds."""
    rows = [f"    {{{_numbers(row)}}}" for row in values]
    heads = [f"    /* {kind} */\n" for kind in kinds] or [""] * len(rows)
    return [f"{head}{row}" for head, row in zip(heads, rows, strict=True)]


def _numbers(values: np.ndarray) -> str:
    if values.dtype.kind == "f":
        words, per_line = [_float(value) for value in values], 5
    else:
        words, per_line = [str(value) for value in values.tolist()], 12
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    return ",\n     ".join(lines)


def _float(value: np.floating) -> str:
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return "NAN" if np.isnan(value) else c_float(value)
