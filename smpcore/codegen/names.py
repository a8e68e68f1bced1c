"""Names, labels and texts of strangers, made safe to stand in generated files.

Nothing a user typed is ever pasted: a name becomes an identifier of ASCII letters,
digits and underscores, a label a C literal with octal escapes, a text in Markdown
is escaped, and a comment may hold identifiers only.
"""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from smpcore.errors import ExportError

#: Words that C99 or C++ keep for themselves.
KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char
    char8_t char16_t char32_t class compl concept const consteval constexpr constinit
    const_cast continue co_await co_return co_yield decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires restrict return short signed
    sizeof static static_assert static_cast struct switch template this thread_local
    throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq
    """.split()
)

#: With prefix and duplicate number an enumerator stays below the 63 characters that
#: C99 tells apart.
MAX_IDENTIFIER = 40
MAX_PREFIX = 14

#: A header of this name would be taken for one of C, of a system or of Arduino.
HEADERS = frozenset(
    """
    arduino assert binary client complex ctype dirent eeprom errno fenv glob inttypes
    ipaddress limits locale malloc math memory new poll print printable regex sched
    search server setjmp signal spi stdalign stdarg stdatomic stdbool stddef stdint
    stdio stdlib stdnoreturn stream string strings tgmath threads time uchar udp unistd
    wchar wctype wire wstring
    """.split()
)

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


def check_prefix(prefix: str) -> str:
    """Refuse a name that cannot begin every name of a C file, and that of the file."""
    pattern = rf"[a-z](_?[a-z0-9]){{0,{MAX_PREFIX - 1}}}"
    if (
        not isinstance(prefix, str)
        or not re.fullmatch(pattern, prefix)
        or len(prefix) > MAX_PREFIX
        or prefix in KEYWORDS | HEADERS
    ):
        raise ExportError(
            f"name={shorten(str(prefix))} should be a lower-case letter followed by "
            f"letters, digits or single underscores, at most {MAX_PREFIX} characters, "
            "no word of C or C++ and no header of C or Arduino; 'mdl' always works."
        )
    return prefix


def shorten(name: str, limit: int = 60) -> str:
    """Quote a name for a message, cut where it would fill the screen."""
    return repr(name if len(name) <= limit else name[: limit - 1] + "…")


def c_bytes(text: str) -> bytes:
    """Bytes that a C string can hold: UTF-8, up to the first NUL."""
    return text.encode("utf-8", "surrogatepass").split(b"\0")[0]


def c_string(text: str) -> str:
    """C initialiser of a character array: all but plain characters is an octal escape,
    so that there is no trigraph, no swallowed digit and no conversion for printf.
    """
    data = c_bytes(text)
    marks = [_c_character(byte) for byte in data]
    if len(data) > _MAX_LITERAL:
        marks = [f"'{mark}'" if mark != "'" else r"'\047'" for mark in marks] + ["0"]
        lines = (", ".join(marks[i : i + 12]) for i in range(0, len(marks), 12))
        return "{\n    " + ",\n    ".join(lines) + "}"
    lines = ["".join(marks[i : i + _LINE]) for i in range(0, len(marks), _LINE)]
    return "\n    ".join(f'"{line}"' for line in lines or [""])


def _c_character(byte: int) -> str:
    is_plain = 32 <= byte < 127 and byte not in b'"\\?%'
    return chr(byte) if is_plain else f"\\{byte:03o}"


def c_float(value: float | np.floating) -> str:
    """Literal of a finite float32: nine significant digits lose nothing."""
    digits = f"{float(np.float32(value)):.9g}"
    return digits + ("f" if {".", "e"} & set(digits) else ".0f")


def markdown(text: str) -> str:
    r"""Text on one line with every sign that Markdown or HTML would read escaped."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return re.sub(r"([\\`*_{}\[\]#|<>&~!:@$])", r"\\\1", line)
