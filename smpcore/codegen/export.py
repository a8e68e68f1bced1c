"""One call from a fitted model to a zip that a stranger can use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import methodcaller
from typing import Any

from smpcore.codegen.inputs import (
    Counts,
    SensorRange,
    in_counts,
    table_in_counts,
    with_units,
)
from smpcore.codegen.lower import compile_model
from smpcore.codegen.names import default_name
from smpcore.codegen.package import NUMBERS, Package, Target
from smpcore.codegen.probability import calibrated
from smpcore.codegen.quantise import quantise
from smpcore.codegen.targets.arduino.sketches import arduino, words_of_sketches
from smpcore.codegen.targets.c99.packaging import library, plain_c, words_of_c
from smpcore.codegen.targets.c99.stream import Stream
from smpcore.codegen.targets.javascript.source import javascript, words_of_javascript
from smpcore.codegen.targets.onnx.source import onnx, words_of_onnx
from smpcore.codegen.targets.python.source import PYTHON_PARTS, python
from smpcore.codegen.targets.rust.source import rust
from smpcore.codegen.targets.verilog.source import verilog, words_of_verilog
from smpcore.codegen.vectors import TestVectors, test_vectors
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel


def export(
    model: PrototypeModel,
    preparation: Any = None,
    target: str = "c99",
    number: str = "float32",
    name: str | None = None,
    *,
    vectors: int | TestVectors = 32,
    real_rows: Any = None,
    ranges: Mapping[str, SensorRange] | None = None,
    counts: Mapping[str, Counts] | None = None,
    stream: Stream | None = None,
    apart: bool = False,
    provenance: Mapping[str, Any] | None = None,
) -> bytes:
    """Pack a fitted model as source code, or for a runtime, with its self-test.

    Parameters
    ----------
    model : PrototypeModel
        The ``model_`` of a fitted estimator. Where it has a calibration, the code
        gives probabilities of the classes, or the 90 % interval of a number; but
        Verilog has none, nor have more than two classes whose calibration is not a
        softmax alone, nor numbers whose intervals are not all as wide.
    preparation : Preparation, optional
        What turned the user's table into the model's features. Without it the features
        themselves are the inputs, and none may be missing.
    target : str, default "c99"
        One of `TARGETS`: what the files are for.
    number : {"float32", "int16", "int8"}, default "float32"
        Number format of the model.
    name : str, optional
        Begins every name and file of the code, so that two models fit into one
        program. Default: made from the name of the data set.
    vectors : int or TestVectors, default 32
        Number of test vectors, 1 to 64; or those of `test_vectors` for this very model,
        where they were made before.
    real_rows : DataFrame, optional
        Raw rows that may be given away: up to a third of the test vectors are taken
        from them. Default: all test vectors are synthetic.
    ranges : mapping of str to SensorRange, optional
        Name of a column -> what it can measure, for integers; its unit for all.
    counts : mapping of str to Counts, optional
        Name of a column -> which raw counts of a converter it comes as. Their scale
        and offset become part of the model, whose input are the counts.
    stream : Stream, optional
        Of series: C takes a sample at a time then, and answers when a window is full.
        All times of a channel have one range.
    apart : bool, default False
        Whether the parameters are a file of their own, ``model.bin``, which C99 of
        linear prototypes in 32-bit floats checks and reads in place: another model of
        the same form needs no new program then.
    provenance : mapping, optional
        Where the model comes from, told in README and JSON: plain JSON values.

    Returns
    -------
    bytes
        A zip with one folder: sources, self-test, test vectors, JSON and README; the
        same bytes for the same arguments.

    Raises
    ------
    ExportError
        What cannot be exported, and what can.

    Examples
    --------
    >>> import io, zipfile
    >>> from smpcore import SMaLLClassifier, export
    >>> model = SMaLLClassifier(k=1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> packed = export(model.model_, name="step")
    >>> "step/step.c" in zipfile.ZipFile(io.BytesIO(packed)).namelist()
    True
    """
    for what, value, known in (
        ("target", target, TARGETS),
        ("number", number, NUMBERS),
    ):
        if value not in known:
            raise ExportError(
                f"{what}={value!r} should be one of {', '.join(map(repr, known))}."
            )
    data = getattr(preparation, "dataset", "")
    told = {"data": {"name": data}} if data else {}
    told |= provenance or {}
    counts, own = counts or {}, {}
    if counts:
        model, preparation, own = in_counts(model, preparation, counts)
        told["counts"] = {column: one.in_words for column, one in counts.items()}
    compiled = compile_model(model, preparation, told)
    used = {entry.name for entry in compiled.inputs}
    ranges = {name: one for name, one in own.items() if name in used} | (ranges or {})
    width = NUMBERS[number]
    if stream is not None:
        ranges = stream.ranges(compiled, ranges)
    units = with_units(compiled.inputs, ranges)
    found = (
        quantise(compiled, width, ranges) if width else replace(compiled, inputs=units)
    )
    if model.calibration is not None and TARGETS[target].has_probabilities:
        found = calibrated(found, model.calibration)
    source = told.get("data", {}).get("name", "")
    if not isinstance(vectors, TestVectors):
        rows = real_rows
        if rows is not None:
            rows = compiled.rows(table_in_counts(rows, counts))
        vectors = test_vectors(found, rows, vectors, source=source)
    name = default_name(source) if name is None else name
    return TARGETS[target].zip(Package(found, vectors, name, stream, apart))


_words_of_python = methodcaller("parts", PYTHON_PARTS)

_CTEST = "cmake -B build && cmake --build build && cmake --build build -t test"

_TARGETS = (
    Target("Generic C99", "c99", plain_c, words_of_c, selftest=_CTEST),
    Target("Arduino library", "arduino", arduino, words_of_sketches),
    Target("PlatformIO library", "platformio", library, words_of_c),
    Target("Zephyr module", "zephyr", library, words_of_c),
    Target("CMake library", "cmake", library, words_of_c, selftest=_CTEST),
    Target(
        "Python",
        "python",
        python,
        _words_of_python,
        in_c=False,
        selftest="python3 {}_selftest.py",
    ),
    Target("MicroPython", "micropython", python, _words_of_python, in_c=False),
    Target(
        "JavaScript",
        "javascript",
        javascript,
        words_of_javascript,
        in_c=False,
        selftest="node {}_selftest.mjs",
    ),
    Target(
        "Rust",
        "rust",
        rust,
        methodcaller("parts", "rust/parts.in"),
        in_c=False,
        selftest="cargo test -- --nocapture",
    ),
    Target("ONNX", "onnx", onnx, words_of_onnx, ("float32", "int8"), in_c=False),
    Target(
        "Verilog",
        "verilog",
        verilog,
        words_of_verilog,
        ("int16", "int8"),
        in_c=False,
        has_probabilities=False,
    ),
)
#: Name of a target, and of its folder -> what it is and how its files are made.
TARGETS = {target.folder: target for target in _TARGETS}
