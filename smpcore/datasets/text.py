"""The text of a file in UTF-8, and its lines one by one.

A file is decoded in blocks: between two of them other threads have their turn,
which they have not within one call that goes over 50 MB.
"""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress

from smpcore.errors import DatasetError

ENCODINGS = (
    *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"),
    *("cp1252", "latin-1", "cp1250", "cp1251", "shift_jis", "gb18030"),
)
#: Among these is the encoding of a file that is not Unicode.
_REGIONAL = ["cp1252", "cp1250", "cp1251", "shift_jis", "gb18030"]
#: Letters and signs of Western Europe that stand for rare ones in other encodings.
_WESTERN = frozenset("äöüÄÖÜßàâçèéêëîïñôùûáíóúåæøÀÇÈÉÊÑÅÆØ’‘“”«»–—…€£§°µ©®")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_NO_TEXT = re.compile("[\\0-\\x08\ufffd]")
_LINE = re.compile(rb"([^\r\n]*)(\r\n?|\n)?")
_BLOCK_BYTES = 262_144
#: Where a file says what it is.
HEAD_BYTES = 65_536


def as_utf8(data: bytes, encoding: str | None) -> tuple[bytes, str]:
    """Return the text of a file and the encoding that fits (or was asked for)."""
    name = encoding or _unicode_of(data)
    try:
        text = _recoded(data, name or "utf-8")
        name = name or "utf-8"
    except UnicodeError as error:
        if name in (None, "utf-8") and _is_mostly_utf8(part := _first_bad(data)):
            name, text = "utf-8", data.decode("utf-8", "replace").encode()
        elif name is None:
            name = _regional_of(data, part)
            text = _recoded(data, name)
        else:
            raise DatasetError(
                f"The file is not {name} text; choose another encoding."
            ) from error
    if b"\0" in text:
        raise DatasetError(
            "The file is not a text table: it has zero bytes; save the table as CSV, "
            "in UTF-8."
        )
    if not text.isascii():
        text = text.replace(codecs.BOM_UTF8, b"")  # within: files put together
    return text, name


def _unicode_of(data: bytes) -> str | None:
    """The encoding that a mark, or zeros between the signs of a table, tell."""
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return name
    head = data[: HEAD_BYTES // 4 * 4]
    if b"\0" not in head:
        return None
    texts = {name: head.decode(name, "replace") for name in _WIDE}
    # Of one that fits, the signs of a table are ASCII and no zero is left.
    n = {
        name: len(text.encode("ascii", "ignore")) * (not _NO_TEXT.search(text))
        for name, text in texts.items()
    }
    best = max(n, key=n.__getitem__)
    return best if n[best] else None


def _first_bad(data: bytes) -> bytes:
    """The text around the first byte that is no UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data[max(0, error.start - HEAD_BYTES) : error.start + HEAD_BYTES]
    return b""


def _is_mostly_utf8(part: bytes) -> bool:
    text = part.decode("utf-8", "replace")
    n_bad = text.count("\ufffd")
    return len(text) - len(text.encode("ascii", "ignore")) >= 2 * n_bad


def _regional_of(data: bytes, part: bytes) -> str:
    """The encoding of a text that is not in Unicode, by a part of it."""
    from charset_normalizer import from_bytes

    likely, western = "cp1252", part.decode("cp1252", "replace")
    signs = "".join(re.findall(r"[^\0-\x7f]+", western))
    # Of a few words the detector takes "señor" for Polish; no Polish text is without
    # letters that are none here, and no Cyrillic one without long runs of them.
    if not {*signs} <= _WESTERN or re.search(r"[^\0-\x7f]{3}", western):
        match = from_bytes(part, cp_isolation=_REGIONAL).best()
        likely = match.encoding if match else likely
        # What two encodings read alike has the more common name.
        if western == part.decode(likely, "replace"):
            likely = "cp1252"
    for name in (likely, "cp1252"):
        with suppress(UnicodeError):
            _recoded(data, name)
            return name
    return "latin-1"


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


def first_word(data: bytes, comment: bytes | tuple[bytes, ...]) -> bytes:
    """First word of a file in lower case, comment lines skipped."""
    for line in lines(data[:HEAD_BYTES].removeprefix(codecs.BOM_UTF8)):
        words = line.split(None, 1)
        if words and not words[0].startswith(comment):
            return words[0].lower()
    return b""
