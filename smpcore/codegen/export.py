"""One call from a fitted model to a zip that a stranger can use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from smpcore.codegen import bundles
from smpcore.codegen.arduino import arduino
from smpcore.codegen.counts import Counts, in_counts, table_in_counts
from smpcore.codegen.identity import default_name
from smpcore.codegen.lower import compile_model
from smpcore.codegen.package import Package
from smpcore.codegen.quant_inputs import SensorRange, with_units
from smpcore.codegen.quantise import quantise
from smpcore.codegen.readme import use_in_c
from smpcore.codegen.target import NUMBERS, Target
from smpcore.codegen.targets.c99.frame import FLAGS
from smpcore.codegen.targets.javascript.bundle import javascript, use_of_javascript
from smpcore.codegen.targets.onnx import onnx, use_of_onnx
from smpcore.codegen.targets.python.bundle import (
    python,
    use_of_micropython,
    use_of_python,
)
from smpcore.codegen.targets.verilog import VERILOG_FILES, use_of_verilog, verilog
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
    provenance: Mapping[str, Any] | None = None,
) -> bytes:
    """Pack a fitted model as source code, or for a runtime, with its self-test.

    Parameters
    ----------
    model : PrototypeModel
        The ``model_`` of a fitted estimator.
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
    >>> zipfile.ZipFile(io.BytesIO(packed)).namelist()[0]
    'step/LICENSE'
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
    units = with_units(compiled.inputs, ranges)
    found = (
        quantise(compiled, width, ranges) if width else replace(compiled, inputs=units)
    )
    source = told.get("data", {}).get("name", "")
    if not isinstance(vectors, TestVectors):
        rows = real_rows
        if rows is not None:
            rows = compiled.rows(table_in_counts(rows, counts))
        vectors = test_vectors(found, rows, vectors, source=source)
    name = default_name(source) if name is None else name
    return TARGETS[target].zip(Package(found, vectors, name))


def _sources(package: Package) -> str:
    """Files that go into a program, in words."""
    names = [f"`{n}`" for n in package.sources if not n.endswith("_inputs.c")]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _use_plain_c(package: Package) -> str:
    name = package.name
    return f"""\
1. Unpack the zip. In the folder `{name}`, run `make`: it compiles for this computer,
   answers one row and prints `{package.passed}`.
   `make avr`, `make cortex-m0` and `make cortex-m4f` compile for chips and print sizes.
   `make simavr` and `make qemu` run the self-test on a simulated ATmega328P and
   Cortex-M: of Debian they need gcc-avr, avr-libc, simavr; and gcc-arm-none-eabi,
   qemu-system-arm.
2. Add {_sources(package)} to your project;
   any C99 or C++ compiler takes them, for instance with
   `avr-gcc -mmcu=atmega328p {FLAGS} -Os -c {name}.c`.
3. Call the model:

{use_in_c(package, f'"{name}.h"')}"""


#: On an AVR a label lies in flash, where `puts` does not look for it.
_PRINT_LABEL = "Serial.println((const __FlashStringHelper *){label});"


def _use_arduino(package: Package) -> str:
    name, n = package.name, len(package.vectors.rows)
    return f"""\
1. In the Arduino IDE choose *Sketch, Include Library, Add .ZIP Library* and this zip.
2. *File, Examples, {name}, SelfTest* tries {n} test vectors on your board: open the
   serial monitor at 9600 baud, it says `selftest: 0 of {n} differ`. *Ask* reads rows
   from the serial monitor and prints class and scores.
3. In a sketch of your own:

{use_in_c(package, f"<{name}.h>", _PRINT_LABEL)}
Before you pass the library on, put your name and address into `library.properties`.
"""


def _use_platformio(package: Package) -> str:
    name = package.name
    return f"""\
1. Unpack the zip into the folder `lib` of your project, so that there is a
   `lib/{name}/library.json`. PlatformIO finds it by itself.
2. Include it and call the model:

{use_in_c(package, f"<{name}.h>")}"""


def _use_zephyr(package: Package) -> str:
    name = package.name
    option = f"CONFIG_{name.upper()}_MODEL"
    return f"""\
1. Unpack the zip beside your application and name its folder to the build:
   `west build -b BOARD app -- -DEXTRA_ZEPHYR_MODULES=$PWD/{name}`.
2. Add `{option}=y` to `prj.conf`; and `{option}_SELFTEST=y` for the self-test.
3. Include it and call the model:

{use_in_c(package, f"<{name}.h>")}"""


def _use_cmake(package: Package) -> str:
    name = package.name
    return f"""\
1. Unpack the zip and try it in the folder `{name}`:
   `cmake -B build && cmake --build build && ctest --test-dir build`. The program
   `build/{name}_example` prints `{package.passed}`.
2. In the `CMakeLists.txt` of your project write `add_subdirectory({name})` and
   `target_link_libraries(your_program PRIVATE {name}::{name})`.
3. Include it and call the model:

{use_in_c(package, f"<{name}.h>")}"""


_WHOLE = ("int16", "int8")

#: Name of a target -> what it is and how its files are made.
TARGETS = {
    "c99": Target("Generic C99", bundles.plain_c, _use_plain_c),
    "arduino": Target("Arduino library", arduino, _use_arduino),
    "platformio": Target("PlatformIO library", bundles.platformio, _use_platformio),
    "zephyr": Target("Zephyr module", bundles.zephyr, _use_zephyr),
    "cmake": Target("CMake library", bundles.cmake, _use_cmake),
    "python": Target("Python", python, use_of_python, in_c=False),
    "micropython": Target("MicroPython", python, use_of_micropython, in_c=False),
    "javascript": Target("JavaScript", javascript, use_of_javascript, in_c=False),
    "onnx": Target("ONNX", onnx, use_of_onnx, ("float32",), in_c=False),
    "verilog": Target("Verilog", verilog, use_of_verilog, _WHOLE, False, VERILOG_FILES),
}
