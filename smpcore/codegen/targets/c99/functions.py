"""C of what is not an operation: values of inputs, 2^-u, powers, reciprocal roots."""

from __future__ import annotations

from smpcore.codegen.float32 import CUTOFF, EXP2, GUESS, LEAST, MOST, STEPS
from smpcore.codegen.names import c_float
from smpcore.codegen.targets.c99.constant_tables import Source, lines, unsigned


def value_steps(c: Source, place: str, term: str) -> str:
    """Lines that turn an input into the value of a term; none if it is the same."""
    steps = []
    if "missing" in c.tables:
        steps += [
            "if (value != value) { /* NaN: missing */",
            f"    value = {c.fetch('missing', place)};",
            "}",
        ]
    if "shift" in c.tables:
        steps.append(f"value += {c.fetch('shift', place)};")
    if "level" in c.tables:
        steps = [
            f"const {c.type('level')} level = {c.fetch('level', term)};",
            "",
            "if (level != 0) { /* a category: does it have this level? */",
            "    value = value == (float)(level - 1) ? 1.0f : 0.0f;",
            *(["} else {", *(f"    {step}" for step in steps)] if steps else []),
            "}",
        ]
    elif steps:
        steps = ["", *steps]
    return lines(steps, 2)


def _bits(c: Source, to: str, given: str, word: str) -> str:
    """C function that reads the bits of a number as one of another type.

    A union is C's way to do so, and undefined in C++.
    """
    return c.text("bits", {"to": to, "from": given, "word": word})


def inverse_root_function(c: Source) -> str:
    """C function for 1 / sqrt, see `float32.inverse_root`."""
    words = {
        "to_bits": _bits(c, "uint32_t", "float", "to"),
        "from_bits": _bits(c, "float", "uint32_t", "from"),
        "least": c_float(LEAST),
        "most": c_float(MOST),
        "guess": f"{GUESS:#x}",
        "steps": STEPS,
    }
    return c.text("inverse root", words)


def exp2_function(c: Source) -> str:
    """C function for 2^-u, see `float32.exp2_minus`."""
    words = {
        "bits": _bits(c, "float", "uint32_t", "scale_of"),
        "cutoff": c_float(CUTOFF),
        "first": c.fetch("exp2", "0"),
        "n_coefficients": len(EXP2),
        "coefficient": c.fetch("exp2", "k"),
    }
    return c.text("exp2", words)


def power_function(c: Source, degree: int) -> str:
    """C function for a power that is multiplied out."""
    return c.text("power", {"degree": degree, "degree_counter": unsigned(degree)})
