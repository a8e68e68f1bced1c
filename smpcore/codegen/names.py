"""Names, labels and texts of strangers, made safe to stand in generated files.

Nothing a user typed is ever pasted: a name becomes an identifier of ASCII letters,
digits and underscores, a label a C literal with octal escapes, a text in Markdown
is escaped, and a comment may hold identifiers only.
"""

from __future__ import annotations

import hashlib
import json
import keyword
import re
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from smpcore.errors import ExportError


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words that C99 or C++ keep for themselves.
KEYWORDS = _words("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char
    char8_t char16_t char32_t class compl concept const consteval constexpr constinit
    const_cast continue co_await co_return co_yield decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires restrict return short signed
    sizeof static static_assert static_cast struct switch template this thread_local
    throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq
""")

#: With prefix and duplicate number an enumerator stays below the 63 characters that
#: C99 tells apart.
MAX_IDENTIFIER = 40
MAX_PREFIX = 14

#: A header of this name would be taken for one of C, of a system or of Arduino.
HEADERS = _words("""
    arduino assert binary client complex ctype dirent eeprom errno fenv glob inttypes
    ipaddress limits locale malloc math memory new poll print printable regex sched
    search server setjmp signal spi stdalign stdarg stdatomic stdbool stddef stdint
    stdio stdlib stdnoreturn stream string strings tgmath threads time uchar udp unistd
    wchar wctype wire wstring
""")

#: Folder of a target -> names that a model cannot have there, beside `KEYWORDS` and
#: `HEADERS`, which none can have: a file, a module or a build target has them already.
RESERVED = {
    "cmake": _words("all clean depend help install package preinstall test"),
    "python": frozenset({*sys.stdlib_module_names, *keyword.kwlist}),
    # Those of the boards; `boot` and `main` run when a board starts.
    "micropython": _words("""
        bluetooth boot btree cryptolib deflate esp esp32 espnow framebuf machine main
        micropython mip neopixel network ntptime onewire pyb rp2 stm uasyncio uctypes
        umqtt upip urequests utime uos usys vfs webrepl zephyr
    """),
    # `core`, `std` and `alloc` are crates; the others are words of the language.
    "javascript": _words("package"),  # the manifest is package.json
    "rust": _words("""
        abstract alloc as async await become box core crate dyn final fn impl in let
        loop macro match mod move mut override priv pub ref self std super trait type
        unsafe unsized use where yield
    """),
    "zephyr": _words("app kernel zephyr"),
    "verilog": _words("""
        always assign begin buf bufif0 bufif1 casex casez cell cmos config deassign
        defparam design disable edge endcase endconfig endfunction endgenerate endmodule
        endprimitive endspecify endtable endtask event force forever fork function
        generate genvar highz0 highz1 ifnone incdir include initial inout input instance
        integer join large liblist library localparam macromodule medium module nand
        negedge nmos nor notif0 notif1 output parameter pmos posedge primitive pull0
        pull1 pulldown pullup rcmos real realtime reg release repeat rnmos rpmos rtran
        rtranif0 rtranif1 scalared showcancelled small specify specparam strong0 strong1
        supply0 supply1 table task tran tranif0 tranif1 tri tri0 tri1 triand trior
        trireg use vectored wait wand weak0 weak1 wire wor
    """),
}
RESERVED["micropython"] |= RESERVED["python"]
#: Windows cannot have a file of such a name, whatever its ending.
_DEVICES = {f"{port}{n}" for port in ("com", "lpt") for n in range(10)}
_DEVICES |= {"aux", "con", "nul", "prn"}
_EVERYWHERE = KEYWORDS | HEADERS | _DEVICES
#: Folder of a target where no name can begin so.
_ARDUINO = "arduino"

# ISO C compilers need not take longer string literals.
_MAX_LITERAL = 4000
_LINE = 64


def identifier(name: str, taken: set[str]) -> str:
    """Lower-case ASCII identifier for a name, unlike all those already taken."""
    ascii_text = (
        unicodedata.normalize("NFKD", name[:200]).encode("ascii", "ignore").decode()
    )
    word = re.sub(r"[^a-z0-9]+", "_", ascii_text.lower()).strip("_")
    word = word[:MAX_IDENTIFIER].rstrip("_")
    if not word or word[0].isdigit() or word in KEYWORDS:
        word = f"x_{word}".rstrip("_")[:MAX_IDENTIFIER]
    unique, number = word, 1
    while unique in taken:
        number += 1
        unique = f"{word}_{number}"
    taken.add(unique)
    return unique


def is_reserved(name: str, targets: Iterable[str] = RESERVED) -> bool:
    """Whether a model cannot have a name in any of some targets."""
    return name in _EVERYWHERE or any(name in RESERVED.get(t, ()) for t in targets)


def check_prefix(prefix: str, target: str = "") -> str:
    """Refuse a name that cannot begin every name of a C file, and that of the file."""
    if prefix not in _EVERYWHERE and is_reserved(prefix, [target]):
        raise ExportError(
            f"name={shorten(prefix)} is that of something else in the files of this "
            f"target, such as a module or a step of make; {prefix}_1 is free."
        )
    pattern = rf"[a-z](_?[a-z0-9]){{0,{MAX_PREFIX - 1}}}"
    if (
        not isinstance(prefix, str)
        or not re.fullmatch(pattern, prefix)
        or len(prefix) > MAX_PREFIX
        or prefix in _EVERYWHERE
    ):
        raise ExportError(
            f"name={shorten(str(prefix))} should be a lower-case letter followed by "
            f"letters, digits or single underscores, at most {MAX_PREFIX} characters, "
            "no word of C or C++, no header of C or Arduino and no device of Windows; "
            "'mdl' always works."
        )
    if target == _ARDUINO and prefix.startswith(_ARDUINO):
        raise ExportError(
            f"name={prefix!r} should not begin with 'arduino': Arduino keeps such "
            "names for its own libraries."
        )
    return prefix


def shorten(name: str, limit: int = 60) -> str:
    """Quote a name for a message, cut where it would fill the screen."""
    return repr(name if len(name) <= limit else name[: limit - 1] + "…")


def without_surrogates(text: str) -> str:
    """Text without lone surrogates, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def c_bytes(text: str) -> bytes:
    """Bytes that a C string can hold: UTF-8, up to the first NUL."""
    return text.encode("utf-8", "surrogatepass").split(b"\0")[0]


def c_string(text: str) -> str:
    """C initialiser of a character array: all but plain characters is an octal escape,
    so that there is no trigraph, no swallowed digit and no conversion for printf.
    """
    data = c_bytes(text)
    printable = set(range(32, 127)) - set(b'"\\?%')
    marks = [chr(byte) if byte in printable else f"\\{byte:03o}" for byte in data]
    if len(data) > _MAX_LITERAL:
        marks = [f"'{mark}'" if mark != "'" else r"'\047'" for mark in marks] + ["0"]
        lines = (", ".join(marks[i : i + 12]) for i in range(0, len(marks), 12))
        return "{\n    " + ",\n    ".join(lines) + "}"
    lines = ["".join(marks[i : i + _LINE]) for i in range(0, len(marks), _LINE)]
    return "\n    ".join(f'"{line}"' for line in lines or [""])


def c_float(value: float | np.floating) -> str:
    """Literal of a finite float32: nine significant digits lose nothing."""
    digits = f"{float(np.float32(value)):.9g}"
    return digits + ("f" if {".", "e"} & set(digits) else ".0f")


def markdown(text: str) -> str:
    r"""Text on one line with every sign that Markdown or HTML would read escaped."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return re.sub(r"([\\`*_{}\[\]#|<>&~!:@$])", r"\\\1", line)


#: Hexadecimal digits of an ID, and what stands before them in a program.
_DIGITS, ID_MARKER = 8, "smpcore:"


def model_id(model: Any) -> str:
    """First digits of the BLAKE2b of all that decides an answer.

    Inputs with their preparation, the numbers and their format are in it; names of
    the model and of units, where it comes from, and its calibration are not.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model that is to be told from others.

    Returns
    -------
    str
        8 hexadecimal digits.
    """
    source = model.source
    inputs = tuple(replace(entry, unit="", cleaning=()) for entry in source.inputs)
    bare = replace(source, provenance={}, inputs=inputs)
    if model.is_integer:
        bare = replace(model, source=bare)
    bare = replace(bare, probability=None, half_width=None)
    return hashlib.blake2b(bare.to_json().encode()).hexdigest()[:_DIGITS]


def library_version() -> str:
    """Version of the library that writes the files."""
    return sys.modules["smpcore"].__version__


def interface_id(model: Any) -> str:
    """First digits of the BLAKE2b of all that a caller of the code relies on.

    A model of the same name and interface can replace another one without a change of
    its caller: the same inputs in the same order, units and whole numbers, the same
    classes, or a value.

    Parameters
    ----------
    model : CompiledModel or QuantModel

    Returns
    -------
    str
        8 hexadecimal digits.
    """
    inputs = [
        (entry.identifier, entry.unit, *entry.level_identifiers)
        for entry in model.source.inputs
    ]
    own = [one.is_itself for one in model.inputs] if model.is_integer else []
    classes = [] if model.is_regression else model.source.labels
    kinds = model.number, model.accumulator if model.is_integer else 32
    told = json.dumps([inputs, own, list(classes), kinds])
    return hashlib.blake2b(told.encode()).hexdigest()[:_DIGITS]


def default_name(data: str) -> str:
    """Name of a model that was fitted on a data set of this name.

    Parameters
    ----------
    data : str
        Anything; empty if it is not known.

    Returns
    -------
    str
        A sound name, see `names.check_prefix`.

    Examples
    --------
    >>> default_name("Breast cancer (Wisconsin)"), default_name("")
    ('breast_cancer', 'model')
    """
    word = identifier(data or "model", set()).replace(_ARDUINO, " ").strip(" _")
    word = identifier(word or "model", set())
    if len(word) > MAX_PREFIX:
        cut = word[: MAX_PREFIX + 1]
        word = cut.rpartition("_")[0] or cut[:MAX_PREFIX]
    word = word.rstrip("_")
    return f"{word[: MAX_PREFIX - 2]}_1" if is_reserved(word) else word
