"""C99 (and C++) source of a model, in floats or in integers: no heap, no library.

The tables go through two macros, because a plain ``const`` table of an AVR lies in its
scarce RAM: ``MDL_CONST`` puts it into flash there, ``MDL_READ_...`` fetches it. In
integers nothing overflows for any input, and every sum is written so that no
intermediate value depends on the size of an ``int``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from smpcore.codegen.constants import Tables, has_tables
from smpcore.codegen.describe import SCHEMA
from smpcore.codegen.inputs import CompiledInput, QuantInput, container_ends
from smpcore.codegen.names import (
    ID_MARKER,
    c_float,
    c_string,
    check_prefix,
    interface_id,
    library_version,
    model_id,
)
from smpcore.codegen.targets.c99.common import (
    CASTS,
    CASTS_END,
    FLOAT_RULES,
    FLOAT_RULES_END,
    Source,
    answer_functions,
    difference,
    head,
    margin_words,
    preamble,
    unsigned,
)
from smpcore.codegen.targets.c99.operations import row_code
from smpcore.codegen.templates import filled, filled_folder, section
from smpcore.codegen.vectors import TestVectors, conversions, count_conversion
from smpcore.errors import ExportError

#: Most inputs, and most levels of a category: an AVR's enum has 16 bits.
MAX_INPUTS = 2**15 - 1
MAX_CLASSES = 2**16


def check_size(model: Any) -> None:
    """Refuse a model that the format cannot hold."""
    entries = model.source.inputs
    sizes = {
        "inputs": (len(entries), MAX_INPUTS),
        "levels of a category": (max(len(e.levels) for e in entries), MAX_INPUTS),
        "classes": (model.n_outputs, MAX_CLASSES),
    }
    for what, (size, most) in sizes.items():
        if size > most:
            raise ExportError(
                f"The model has {size} {what}, but generated C holds at most {most}; "
                "fit a smaller model."
            )


def header(c: Source, named: bool) -> str:
    """The header file: guard, names of inputs and levels, and what is declared."""
    model, source = c.model, c.model.source
    inputs, entries = (model.inputs, source.inputs) if named else ((), ())
    missing = "None may be missing."
    if any(entry.missing is not None for entry in source.inputs):
        missing = "NAN: missing, counts as a typical training value."
    words = {
        "id": model_id(model),
        "marker": ID_MARKER,
        "format": SCHEMA,
        "version": library_version(),
        "interface": f"0x{interface_id(model)}UL",
        "n_inputs": len(model.inputs),
        "n_classes": model.n_outputs,
        "inputs": input_names(c, [(one, note(c, one)) for one in inputs]),
        "levels": "".join(_levels(c, entry) for entry in entries if entry.levels),
        "missing": missing,
        "tie": c_float(np.float32(model.tie)),
        "same_steps": "",
        "rounds": f"{c.prefix}_quantise" if model.is_integer else "the model",
        **margin_words(c),
    }
    if model.is_integer:
        words |= {
            "largest": model.largest,
            "ranges": input_ranges(c, inputs),
            "counts": input_counts(c, inputs, model.width),
            "ends": " and ".join(map(str, container_ends(model.width))),
            "tie": f"{model.tie}{'L' if model.accumulator == 32 else ''}",
            "less": ", less that of class 0" if model.relative else "",
            "in_steps": f"{model.step:.9g}",
            "above": f"{model.shift:.9g}",
            "step": c_float(model.step),
            "offset": _constant(model.shift),
            "same_steps": ", in the same steps",
            "is_whole_value": model.is_regression,
        }
    if (width := model.half_width) is not None:
        words["half_width"] = f"{width}L" if model.is_integer else c_float(width)
    return c.text("frame", words, "header")


def _levels(c: Source, entry: CompiledInput) -> str:
    """Names of a category's levels."""
    words = ((f"{c.m}_IS_{word.upper()}", "") for word in entry.level_identifiers)
    column = entry.identifier.upper()
    return c.text("levels", {"column": column, "enum": _enum(words)}, "header")


def input_names(c: Source, inputs: Sequence[tuple[Any, str]]) -> str:
    """Names of the places of inputs, with the comment behind each."""
    bare = ((one.given if isinstance(one, QuantInput) else one, n) for one, n in inputs)
    names = ((f"{c.m}_IN_{one.identifier.upper()}", text) for one, text in bare)
    return _enum(names) if inputs else ""


def _enum(entries: Iterable[tuple[str, str]]) -> str:
    """Names of the numbers from 0, with the comment behind each."""
    entries = list(entries)
    lines = [
        f"    {name} = {value}{',' if value < len(entries) - 1 else ''}{note}"
        for value, (name, note) in enumerate(entries)
    ]
    return "\n".join(["enum {", *lines, "};"])


def input_ranges(c: Source, inputs: Sequence[QuantInput]) -> str:
    """Constants of each number: how it becomes an integer, and its range."""
    numbers = (
        {
            "column": one.given.identifier.upper(),
            **{
                name: _constant(getattr(one, name))
                for name in ("zero", "per_unit", "low", "high")
            },
        }
        for one in inputs
        if one.is_number
    )
    return "".join(c.text("range", words, "header") for words in numbers)


def input_counts(c: Source, inputs: Sequence[QuantInput], width: int) -> str:
    """How whole numbers become integers without floats."""
    text = ""
    for one in inputs:
        if found := count_conversion(one, width):
            words = found._asdict() | {"column": one.given.identifier.upper()}
            words["error"] = f"{np.ceil(1e4 * found.error) / 1e4:.5g}"
            unlike = f", {found.differ} unlike {c.prefix}_quantise"
            words["differ"] = unlike if found.differ else ""
            text += c.text("count", words, "header")
    ends = dict(zip(("least", "most"), container_ends(width), strict=True))
    ends |= {"casts": CASTS, "casts_end": CASTS_END}
    return c.text("counts", ends, "header") + text if text else ""


def _constant(value: float) -> str:
    """A float that can stand in any expression."""
    text = c_float(value)
    return f"({text})" if text.startswith("-") else text


def note(c: Source, one: CompiledInput | QuantInput) -> str:
    """Comment behind the name of an input."""
    entry = one.given if isinstance(one, QuantInput) else one
    if entry.levels:
        return f" /* {c.m}_IS_{entry.identifier.upper()}_..., or -1: unknown */"
    # A user's unit may stand in a comment: letters and signs of units only.
    unit = f" {re.sub('[^A-Za-z0-9 .%^/-]', '', entry.unit).strip()}".rstrip()
    trained = f"{entry.low:.6g} to {entry.high:.6g}"
    if entry is one:
        return f" /* {trained}{unit} */"
    exact = [f"{one.low:.6g} to {one.high:.6g}"] if one.exact else []
    return f" /* {', '.join([one.formula, *exact, f'{trained} in training{unit}'])} */"


def inputs_source(model: Any, prefix: str) -> str:
    """A file of its own, so that a program that does not ask links no ranges."""
    tables = dict(zip(("low", "high"), training_ranges(model), strict=True))
    c = Source(model, prefix, tables)
    low, high = (c.fetch(name, "k") for name in tables)
    outside = f"x[k] < {low} || x[k] > {high}"
    if all(entry.missing is None for entry in model.source.inputs):  # nor a NaN
        outside = f"!(x[k] >= {low} && x[k] <= {high})"
    words = {"outside": outside, "arrays": c.arrays()}
    words["preamble"] = preamble(c, {}, "" if model.is_integer else FLOAT_RULES)
    return c.text("inputs", words, "files")


def training_ranges(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value of each input in training, as generated code takes it."""
    entries = model.source.inputs
    ends = np.array([[entry.low, entry.high] for entry in entries]).T
    with np.errstate(over="ignore"):
        low, high = model.to_inputs(ends).astype(model.types[0])
    return low, high


def quantise_source(c: Source, inputs: Sequence[QuantInput], width: int) -> str:
    """A file of its own, so that a chip that gets integers links no floats."""
    least, most = container_ends(width)
    number = f"int{width}"
    tables = {
        "zero": np.array([one.zero for one in inputs], np.float32),
        "per_unit": np.array([one.per_unit for one in inputs], np.float32),
        "missing": np.array([one.missing for one in inputs], number),
        "levels": np.array([len(one.given.levels) for one in inputs], number),
    }
    if not tables["levels"].any():
        del tables["levels"]
    c = Source(c.model, c.prefix, tables)
    words = {"number": f"{number}_t", "counter": unsigned(len(inputs))}
    words |= {"least": least, "most": most, "arrays": c.arrays()}
    words["preamble"] = preamble(c, {}, FLOAT_RULES)
    is_model = inputs is c.model.inputs  # not the samples of its stream
    words["has_value"] = c.model.is_regression and is_model
    words["check"] = is_model and c.text("check", {}, "files").rstrip()
    return c.text("quantise", words, "files")


#: Types of the tables; an offset of floats stays one.
_TYPES = {"begin": "uint16", "value": "uint16", "slope": "uint32", "offset": "int32"}


def probability_tables(model: Any) -> Tables:
    """The constants of the function; none where the model gives no probability."""
    tables = {name: getattr(model.probability, name, ()) for name in _TYPES}
    return {
        f"probability_{name}": values.astype(_TYPES[name])
        if values.dtype.kind == "i"
        else values
        for name, values in tables.items()
        if len(values)
    }


def probability_functions(c: Source) -> list[str]:
    """The entry of the table for a lead, and the function that is declared."""
    table, score = c.model.probability, c.score
    ends = {"below": table.below, "above": table.above}
    words = {n: f"{v}U" if c.model.is_integer else c_float(v) for n, v in ends.items()}
    words |= {"last": len(table.begin) - 1, "drop": table.drop}
    words |= {"per_unit": c_float(table.per_unit), "lead": score}
    if c.model.is_integer and len(table.offset):
        most = c.model.largest + int(np.abs(table.offset).max())
        words["lead"] = "int32_t" if most < 2**31 else "int64_t"
        words["gap"] = difference(words["lead"], "best", "lead")
    elif c.model.is_integer:
        words["ahead"] = difference(score, "scores[1]", "scores[0]")
        words["behind"] = difference(score, "scores[0]", "scores[1]")
    return [c.text("share", words), c.text(table.kind, words)]


#: Constants of a longer source have a file of their own, which a reader can skip.
_MOST_LINES = 580


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
    files, source, arrays = {}, model_source(c), c.arrays()
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


def namespace(model: Any, prefix: str, headers: Mapping[str, str]) -> str:
    """A header of C++ with all functions of others in a namespace."""
    text = "".join(headers.values())
    declared = re.findall(rf"^[a-z]\w* (?:char )?\*?{prefix}_(\w+)\(", text, re.M)
    words = {
        "head": head(model, prefix),
        "name": prefix,
        "M": prefix.upper(),
        "includes": "".join(f'#include "{name}"\n' for name in headers),
        "functions": "".join(
            f"constexpr auto &{one} = ::{prefix}_{one};\n" for one in declared
        ),
        "stream": f"{prefix}_stream.h" in headers,
    }
    return section("c99/files.in", "namespace", words)


def finished(files: Mapping[str, str], model: Any, prefix: str) -> dict[str, bytes]:
    """Put the first and last lines of every file around it."""
    first = head(model, prefix)
    ends = {name: CASTS_END for name in files if name.endswith(".c")}
    for name, text in files.items():
        if FLOAT_RULES in text:
            ends[name] += FLOAT_RULES_END
    whole = ((name, first + text + ends.get(name, "")) for name, text in files.items())
    return {name: text.encode("ascii") for name, text in whole}


def model_source(c: Source) -> str:
    """The file of the model itself."""
    code = row_code(c)
    rules = "" if c.model.is_integer else f"\n#include <float.h>\n{FLOAT_RULES}"
    named = c.text("id", {"marker": ID_MARKER, "id": model_id(c.model)}, "files")
    parts = [preamble(c, code.sizes, rules), named, c.arrays(), code.functions]
    parts += answer_functions(c, code)
    if c.model.probability is not None:
        parts += probability_functions(c)
    if c.model.is_integer:
        parts.append(_saturated_function(c))
    else:
        parts.append(c.text("check", {}, "files"))
    if not c.model.is_regression:
        parts.append(_label_function(c))
    return "\n".join(parts)


def _saturated_function(c: Source) -> str:
    """The function that counts the inputs at an end of the container."""
    least, most = container_ends(c.model.width)
    categories = [
        f"k == {c.m}_IN_{one.given.identifier.upper()}"
        for one in c.model.inputs
        if not one.is_number
    ]
    words = {"least": least, "most": most, "categories": " || ".join(categories)}
    words["numbers"] = len(categories) < len(c.model.inputs)
    return c.text("saturated", words)


def _label_function(c: Source) -> str:
    """The function that names a class, with its texts as users wrote them."""
    labels = [{"k": k, "text": c_string(one)} for k, one in enumerate(c.model.labels)]
    words = {
        "texts": "".join(c.text("label text", one) for one in labels),
        "cases": "".join(c.text("label case", one) for one in labels),
    }
    return c.text("labels", words)


#: Windows of a stream that are tried: enough for every ring to begin anew.
_WINDOWS = 8


def selftest_files(
    model: Any,
    vectors: TestVectors,
    prefix: str,
    stream: Any = None,
    apart: bool = False,
) -> dict[str, str]:
    """A self-test: the model answers its test vectors, on any machine it runs on.

    Its stream is given samples by a formula, and has to answer each window when due.
    """
    what = "value" if model.is_regression else "scores and class"
    if table := model.probability:
        what = f"scores, class and {table.kind}"
    c = Source(model, prefix, {})
    words = {
        "n_vectors": len(vectors.rows),
        "compared": what,
        "casts": CASTS,
        "casts_end": CASTS_END,
        "head": head(model, prefix),
        "math": "" if model.is_integer else "#include <math.h>\n\n",
        "tables": "\n".join(_vector_tables(c, vectors)),
        "conversion": "",
        "stream": "",
        "apart": apart,
        "n_windows": _WINDOWS,
    }
    words["calibrated"] = model.probability is not None
    words = c.words | words | {"try": c.text("try", words, "selftest")}
    words |= {name: c.text(name, words, "selftest") for name in ("bytes", "flash")}
    files = {}
    if stream:
        words["stream"] = c.text("stream", words, "selftest")
        more = words | _stream_words(c, words, stream)
        name = f"{prefix}_selftest_stream.c"
        files[name] = filled("c99/selftest_stream.c.in", more)
    if model.is_integer:
        tried, size = conversions(model), f"[{c.m}_CONVERSIONS][{c.m}_N]"
        numbers = _table(c, f"float @_numbers{size}", _rows(tried.values, tried.kinds))
        integers = _table(c, f"{c.number} @_integers{size}", _rows(tried.integers))
        words["numbers"] = f"{numbers}\n{integers}"
        words["n_conversions"] = len(tried.kinds)
        words["conversion"] = c.text("conversion", words, "selftest")
        name = f"{prefix}_selftest_quantise.c"
        files[name] = filled("c99/selftest_quantise.c.in", words)
    return files | filled_folder("c99/selftest", words)


def _stream_words(c: Source, words: dict[str, Any], stream: Any) -> dict[str, Any]:
    """Middle and reach of each channel, and the answers to the windows."""
    model, width, inputs = c.model, stream.width(c.model), stream.samples(c.model)
    ends = np.array([(one.low, one.high) for one in inputs])
    if width:
        ends = stream.quantise(model, ends.T).T
        middle, reach = ends.sum(axis=1) // 2, (ends[:, 1] - ends[:, 0]) // 2
    else:
        middle = ends.mean(axis=1).astype(np.float32)
        reach = (np.ptp(ends, axis=1) / 2**16).astype(np.float32)
    n = stream.n_times + (_WINDOWS - 1) * stream.hop
    rows = stream.window_inputs(model, _samples(n, stream.hop, middle, reach))
    scores = model.scores(rows).astype(np.int64 if model.is_integer else np.float32)
    kind = f"int{width}_t" if width else "float"
    tables = [
        _table(c, f"{kind} @_{name}[{c.m}_STREAM_N]", [f"    {_numbers(values)}"])
        for name, values in (("middle", middle), ("reach", reach))
    ]
    size = "1" if model.is_regression else f"{c.m}_CLASSES"
    tables.append(_table(c, f"{c.score} @_due[{_WINDOWS}][{size}]", _rows(scores)))
    words = words | {
        "sample": kind,
        "width": width,
        "rules": "" if width else f"\n#include <float.h>\n{FLOAT_RULES}",
        "rules_end": "" if width else FLOAT_RULES_END,
    }
    if not model.is_regression:
        answers = {"due_class": model.winners(rows)}
        if stream.debounces:
            answers["debounced"] = stream.debounced(answers["due_class"])
        for name, values in answers.items():
            lines = [f"    {_numbers(values)}"]
            tables.append(_table(c, f"{c.index} @_{name}[{_WINDOWS}]", lines))
    words |= {
        "debounces": stream.debounces,
        "const": "" if stream.debounces else "const ",
    }
    words["try_window"] = c.text("try window", words, "selftest")
    return words | {"tables": "\n".join(tables)}


def _samples(n: int, hop: int, middle: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Samples as the generated code computes them: noise, loud and soft by turns."""
    noise, samples = 1, np.empty((n, len(middle)), middle.dtype)
    for k in range(n):
        shift = k // hop % 8 * 2
        for c in range(len(middle)):
            noise = noise * 75 % 65537
            step = ((noise - 1) >> shift) - (2**15 >> shift)
            if middle.dtype.kind == "f":
                samples[k, c] = middle[c] + np.float32(step) * reach[c]
            else:
                samples[k, c] = middle[c] + int(step * reach[c] / 2**15)
    return samples


def _vector_tables(c: Source, vectors: TestVectors) -> Iterator[str]:
    """Inputs of the vectors, and what the emulator answers."""
    size, model = f"{c.m}_VECTORS]", c.model
    yield _table(
        c, f"{c.number} @_x[{size}[{c.m}_N]", _rows(vectors.rows, vectors.kinds)
    )
    scores, by_class = _rows(vectors.scores), f"[{c.m}_CLASSES]"
    if model.is_regression:
        yield _table(c, f"{c.score} @_values[{size}[1]", scores)
        return
    yield _table(c, f"{c.score} @_scores[{size}{by_class}", scores)
    winners = [f"    {_numbers(vectors.winners)}"]
    yield _table(c, f"{c.index} @_class[{size}", winners)
    if model.probability:
        shares = model.probability.of_scores(vectors.scores)
        by_class = by_class if shares.ndim > 1 else ""
        lines = _rows(shares) if by_class else [f"    {_numbers(shares)}"]
        yield _table(c, f"uint16_t @_probability[{size}{by_class}", lines)


def _table(c: Source, declared: str, lines: list[str]) -> str:
    """A constant array; @ is the begin of its name."""
    head = f"static const {declared.replace('@', f'{c.prefix}_test')}"
    text = ",\n".join(lines)
    return f"{head} {c.m}_VECTOR_CONST = {{\n{text}}};\n"


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
