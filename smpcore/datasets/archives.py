"""Packed files: the one table within is unpacked, as far as it may be large."""

import bz2
import gzip
import lzma
import re
import zipfile
from collections.abc import Collection
from io import BytesIO
from pathlib import PurePath
from typing import IO, NamedTuple

from smpcore.datasets.display_names import listed, shown
from smpcore.datasets.limits import MAX_BYTES
from smpcore.datasets.reading import damage_in_words
from smpcore.datasets.workbooks import is_excel, is_open_document
from smpcore.errors import DatasetError

ZIP = b"PK\x03\x04", b"PK\x05\x06"
#: What files of OpenDocument and of Office hold, which are archives, too.
_DOCUMENT = re.compile(
    rb"(word|ppt|xl|Index)/|mimetype|\[Content_Types\]\.xml|_rels/|docProps/"
)
#: Memory that unpacking may take beside the content.
_XZ_BYTES = 300_000_000
_BLOCK_BYTES = 1_000_000
_NAME_OF_TYPE = re.compile(
    r"\|?\s*([^:|.][^:|]*?)\s*:\s*(continuous|discrete|ignore|label|[^:]*,[^:]*)\.?\s*"
)


class Unpacked(NamedTuple):
    """The file of a table within an archive.

    Parameters
    ----------
    data : bytes
    filename : str
        Its name there, which no path is made of.
    others : tuple of str
        Names of the other tables.
    names : tuple of str
        Of columns, as a ``.names`` file beside it has them.
    """

    data: bytes
    filename: str
    others: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def _zstd(file: IO[bytes]) -> IO[bytes]:
    from pyarrow import CompressedInputStream

    return CompressedInputStream(file, "zstd")


def _xz(file: IO[bytes]) -> IO[bytes]:
    # Without a limit an archive of a few bytes may ask for gigabytes.
    lzma.LZMADecompressor(memlimit=_XZ_BYTES).decompress(file.read(65_536), 1)
    file.seek(0)
    return lzma.LZMAFile(file)


#: Ending -> how such a file begins, and what unpacks it.
_STREAMS = {
    ".gz": (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    ".bz2": (tuple(b"BZh%d1AY&SY" % level for level in range(1, 10)), bz2.BZ2File),
    ".xz": (b"\xfd7zXZ", _xz),
    ".zst": (b"\x28\xb5\x2f\xfd", _zstd),
}
ENDINGS = (*_STREAMS, ".zip")


def is_archive(data: bytes) -> bool:
    """Whether a file is packed in a manner that is read."""
    streams = any(data.startswith(magic) for magic, _ in _STREAMS.values())
    return streams or (data.startswith(ZIP) and not is_document(data))


def is_document(data: bytes) -> bool:
    """Whether an archive is the file of a program, such as a workbook."""
    if not data.startswith(ZIP):
        return False
    if is_excel(data) or is_open_document(data):
        return True
    name_length = int.from_bytes(data[26:28], "little")
    return _DOCUMENT.match(data[30 : 30 + name_length]) is not None


def unpack(
    data: bytes, filename: str, wanted: str, endings: Collection[str]
) -> Unpacked:
    """Return the file of a table within an archive.

    Parameters
    ----------
    data : bytes
    filename : str
        Of the archive.
    wanted : str
        Name of the table that is asked for; else, or if there is none of that name,
        it is the largest.
    endings : collection of str
        Of the names of tables.

    Returns
    -------
    Unpacked
    """
    with damage_in_words(f"The archive {shown(filename)}", "fetch or pack it again"):
        if data.startswith(ZIP):
            inner = _of_zip(data, filename, wanted, endings)
        else:
            row = next(row for row in _STREAMS.values() if data.startswith(row[0]))
            with row[1](BytesIO(data)) as file:
                inner = Unpacked(_bounded(file), PurePath(filename).stem)
    if is_archive(inner.data):
        raise DatasetError(
            f"The archive {shown(filename)} holds another archive; unpack it, and "
            "bring the table."
        )
    return inner


def _bounded(file: IO[bytes]) -> bytes:
    data = bytearray()
    while block := file.read(_BLOCK_BYTES):
        data += block
        if len(data) > MAX_BYTES:
            raise DatasetError(
                f"The archive expands to more than {MAX_BYTES / 1e6:.0f} MB, the most "
                "that is read; take fewer rows or columns, or save it as Parquet."
            )
    return bytes(data)


def _of_zip(
    data: bytes, filename: str, wanted: str, endings: Collection[str]
) -> Unpacked:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        entries = {
            name: entry
            for name, entry in entries.items()
            if not entry.is_dir() and not re.search(r"(^|/)(\.|__MACOSX/)", name)
        }
        tables = [name for name in entries if _ending(name) in endings]
        if not tables:
            raise DatasetError(
                f"The archive {shown(filename)} holds no table "
                f"({listed(entries) or 'it is empty'}); pack a CSV file, or another "
                "kind that is read."
            )
        name = max(tables, key=lambda name: (name == wanted, entries[name].file_size))
        if entries[name].flag_bits & 1:
            raise DatasetError(
                f"The archive {shown(filename)} is locked by a password; pack it "
                "without one."
            )
        others = tuple(other for other in tables if other != name)
        about = PurePath(name).with_suffix(".names").name
        beside = (other for other in entries if PurePath(other).name == about)
        text = b""
        if other := next(beside, ""):
            with archive.open(entries[other]) as file:
                text = _bounded(file)
        with archive.open(entries[name]) as file:
            return Unpacked(_bounded(file), name, others, _names(text))


def _ending(name: str) -> str:
    return PurePath(name).suffix.lower()


def _names(text: bytes) -> tuple[str, ...]:
    """Names of columns in a file of C4.5: a line "name: type." for each."""
    matches = map(_NAME_OF_TYPE.fullmatch, text.decode("utf-8", "replace").splitlines())
    return tuple(match[1] for match in matches if match)
