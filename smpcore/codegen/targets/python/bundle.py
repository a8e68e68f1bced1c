"""The files of a Python model, and how they are used."""

from __future__ import annotations

from smpcore.codegen.json_text import SCHEMA
from smpcore.codegen.package import Files, Package
from smpcore.codegen.target import Target
from smpcore.codegen.targets.python.source import emit_plain_python


def _python(package: Package) -> Files:
    """A module without any import but of the standard library, and its self-test."""
    name = package.name
    told = f'NAME = "{name}"\nID = "{package.id}"\nFORMAT = {SCHEMA}\n'
    answers = "[module.predict(x)]"
    if not package.model.is_regression:
        answers = "[module.predict(x)] + module.scores(x)"
    if package.model.probability:
        answers += " + [module.probability(x)]"
    number, same = ("int", _SAME) if package.is_whole else ("number", _SAME_BITS)
    words = {"same": same, "number": number, "answers": answers, "name": name}
    tested = _SELFTEST
    for word, text in words.items():
        tested = tested.replace(f"@{word}@", text)
    return {
        **package.documents,
        f"{name}.py": f"{emit_plain_python(package.model)}\n\n{told}",
        f"{name}_selftest.py": tested,
    }


def _use_of_python(package: Package) -> str:
    """How a Python module is tried and used."""
    name = package.name
    return f"""\
1. Unpack the zip. In the folder `{name}`, run `python {name}_selftest.py`: it prints
   `{package.passed}`.
{_call(package)}"""


def _use_of_micropython(package: Package) -> str:
    """How a module of MicroPython is tried and used."""
    name = package.name
    return f"""\
1. Unpack the zip, connect the board, `pip install mpremote`, and in the folder `{name}`
   run `mpremote fs cp {name}.py {name}_selftest.py {name}_test_vectors.csv :` and
   `mpremote exec "import {name}_selftest"`: it prints
   `{package.passed}`.
{_call(package)}{"" if package.is_whole else _PORTS}"""


def _call(package: Package) -> str:
    """How the module is called."""
    name, n = package.name, len(package.source.inputs)
    entry = package.source.inputs[0].identifier.upper()
    answer = f"{name}.label({name}.predict(x))"
    if package.model.is_regression:
        answer = f"{name}.value(x)"
    given = f"x = [0.0] * {n}  # in the units of the table\nx[{name}.IN_{entry}] = ..."
    told = _IN_FLOATS
    if package.is_whole:
        given = given.replace("x = ", "values = ").replace("x[", "values[")
        given += f"\nx = {name}.quantise(values)"
        told = _IN_INTEGERS
    return f"""\
2. Copy `{name}.py` into your project and call the model:

```python
import {name}

{given}
print({answer})
```

{told}"""


_IN_INTEGERS = """\
Integers only but for `quantise`: every score is that of the C code. `saturated(x)`
tells how many inputs are outside their range.
"""

_IN_FLOATS = """\
Each result is rounded to 32-bit floats, so every score has the bits of the C code.
Numbers are taken as they are, a missing one is `float("nan")`, a category the index of
its level, -1 for none; a text is read as a number.
"""

_PORTS = """
That holds where floats of MicroPython have 64 bits, and where they have 32 bits and are
rounded as IEEE 754 says: most boards. Those that keep 30 bits (ESP8266) get other
last digits; the self-test tells. Take integers there: they are the same on every board.
"""

_SELFTEST = '''\
# SPDX-License-Identifier: 0BSD. This generated code is yours.
"""Tries the test vectors: every answer has to be equal."""

@same@
wrong = count = 0
with open("@name@_test_vectors.csv") as table:
    n = len(module.N_LEVELS)
    table.readline()
    for line in table:
        cells = [@number@(cell) for cell in line.strip().split(",")[1:]]
        x, answers = cells[:n], cells[n:]
        count += 1
        wrong += not same(@answers@, answers)
print(module.NAME, module.ID, "format", module.FORMAT, end=" ")
print("selftest:", wrong, "of", count, "differ")
if wrong:
    raise SystemExit(1)
'''

_SAME = """\
import @name@ as module


def same(found, wanted):
    return found == wanted
"""

_SAME_BITS = '''\
import struct

import @name@ as module


def number(text):
    """The nearest 32-bit float, by integers: exact where floats have 32 bits, too."""
    if text.strip("-") in ("inf", "nan"):
        return float(text)
    digits, _, power = text.strip("-").partition("e")
    whole, _, rest = digits.partition(".")
    power = int(power or 0) - len(rest)
    up, down, shift = int(whole + rest), 1, 149
    if power < 0:
        down = 10**-power
    else:
        up *= 10**power
    while up >= down << 24:
        down, shift = 2 * down, shift + 1
    while up < down << 23 and shift:
        up, shift = 2 * up, shift - 1
    bits = (2 * up + down) // (2 * down) + (shift << 23)
    bits |= text.startswith("-") << 31
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def same(found, wanted):
    """Whether all bits are equal; what is no number is alike."""
    bits = [
        [struct.pack("<f", one) if one == one else None for one in values]
        for values in (found, wanted)
    ]
    return bits[0] == bits[1]
'''

PYTHON = Target("Python", _python, _use_of_python, in_c=False)
MICROPYTHON = Target("MicroPython", _python, _use_of_micropython, in_c=False)
