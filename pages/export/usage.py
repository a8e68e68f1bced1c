"""How exported files are used, in three lines for each target."""

from __future__ import annotations

from pages.export.settings import TARGETS
from smpcore.chips import CHIPS
from smpcore.codegen import CompiledModel, QuantModel, conversion

_FLOATS = "Call `{p}_predict(x)` with the inputs in the units of your table."
_WHOLE = (
    "Fill `x` with the inputs, whole numbers as they are, and call `{p}_predict(x)`: "
    "no conversion is needed."
)
_CONVERTED = (
    "Call `{p}_quantise(values, x)`, then `{p}_predict(x)`. On {chip} the conversion "
    "takes about {flash:,} B of flash and {count:,} {counted} more. A chip that reads "
    "whole numbers fills `x` itself, as `model.h` says beside each input, and leaves "
    "`model_quantise.c` out."
)
_LINES = {
    "c99": (
        "Unpack the zip and run `make`: it prints `selftest: 0 of {n} differ`.",
        "Compile {files} with your sources; any C99 or C++ compiler takes them.",
    ),
    "avr": (
        "`make avr` compiles for an ATmega328P and prints the size.",
        "Add {files} to your project; the tables stay in flash.",
    ),
    "arduino": (
        "In the Arduino IDE: *Sketch, Include Library, Add .ZIP Library*; then try "
        "*File, Examples, model_{p}*.",
        "In your sketch write `#include <model_{p}.h>`; the tables stay in flash.",
    ),
    "m0": (
        "`make cortex-m0` compiles with arm-none-eabi-gcc and prints the size.",
        "Add {files} to your project (Zephyr: `target_sources(app PRIVATE model.c)`).",
    ),
    "m4f": (
        "`make cortex-m4f` compiles for the hardware's 32-bit floats and prints the "
        "size; keep `-ffp-contract=off`.",
        "Add {files} to your project (Zephyr: `target_sources(app PRIVATE model.c)`).",
    ),
}


def lines(
    target: str, model: CompiledModel | QuantModel, prefix: str, n_vectors: int
) -> str:
    """Three lines of Markdown.

    Parameters
    ----------
    target : str
        Of `TARGETS`.
    model : CompiledModel or QuantModel
    prefix : str
        A sound one.
    n_vectors : int

    Returns
    -------
    str
    """
    call, files, values = _FLOATS, "`model.c`", {}
    if isinstance(model, QuantModel):
        call = _WHOLE
        if model.converts:
            chip = TARGETS[target].chip
            more, counted = conversion(model, chip), CHIPS[chip].counted
            values = {"chip": f"the {chip}", "flash": more.flash, "count": more.count}
            values["counted"] = counted
            call, files = _CONVERTED, "`model.c` and `model_quantise.c`"
    values |= {"p": prefix, "n": n_vectors, "files": files}
    lines = [line.format(**values) for line in (*_LINES[target], call)]
    return "\n".join(f"{place}. {line}" for place, line in enumerate(lines, start=1))
