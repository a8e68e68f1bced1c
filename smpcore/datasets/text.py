"""The text of a file in UTF-8, and its lines one by one.

A file is decoded in blocks: between two of them other threads have their turn,
which they have not within one call that goes over 50 MB.
"""

import codecs
import re
from collections.abc import Iterator

from smpcore.errors import DatasetError

ENCODINGS = ("utf-8", "utf-16", "utf-32", "cp1252", "latin-1")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LINE = re.compile(rb"([^\r\n]*)(\r\n?|\n)?")
_BLOCK_BYTES = 262_144
#: Where a file says what it is.
HEAD_BYTES = 65_536


def as_utf8(data: bytes, encoding: str | None) -> tuple[bytes, str]:
    """Return the text of a file and the encoding that fits (or was asked for)."""
    marked = next(
        (name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None
    )
    tried = (
        [encoding or marked] if encoding or marked else ["utf-8", "cp1252", "latin-1"]
    )
    for name in tried:
        try:
            text = _recoded(data, name)
        except UnicodeError:
            continue
        if b"\0" in text:
            break
        return text.removeprefix(codecs.BOM_UTF8), name
    else:
        raise DatasetError(f"The file is not {tried[0]} text; choose another encoding.")
    raise DatasetError(
        "The file is not a text table: it has zero bytes; save the table as CSV, in "
        "UTF-8."
    )


def _recoded(data: bytes, encoding: str) -> bytes:
    decoder = codecs.getincrementaldecoder(encoding)()
    blocks = []
    for start in range(0, len(data), _BLOCK_BYTES):
        end = start + _BLOCK_BYTES
        block = decoder.decode(data[start:end], final=end >= len(data))
        if encoding != "utf-8":
            blocks.append(block.encode())
    return b"".join(blocks) if encoding != "utf-8" else data


def lines(text: bytes) -> Iterator[bytes]:
    r"""Lines of a text, one by one, without their ends: ``\n``, ``\r\n`` or ``\r``."""
    for match in _LINE.finditer(text):
        yield match[1]
        if match[2] is None:
            return


def count_line_ends(text: bytes) -> int:
    r"""Number of line ends; of fewer than that where ``\n`` and ``\r`` are mixed."""
    return max(text.count(b"\n"), text.count(b"\r"))


def blocks(text: bytes, sign: bytes) -> Iterator[bytes]:
    """Cut a text into blocks of some size, each but the first beginning with a sign."""
    start = 0
    while start < len(text):
        end = text.find(sign, start + _BLOCK_BYTES)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end


def first_word(data: bytes, comment: bytes) -> bytes:
    """First word of a file in lower case, comment lines skipped."""
    for line in lines(data[:HEAD_BYTES].removeprefix(codecs.BOM_UTF8)):
        words = line.split(None, 1)
        if words and not words[0].startswith(comment):
            return words[0].lower()
    return b""
