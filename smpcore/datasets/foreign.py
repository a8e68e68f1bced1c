"""What a file is that is no table, in words, and what to do with it."""

import re

from smpcore.datasets.archives import is_document
from smpcore.datasets.workbooks import OLE, is_excel

_AS_TABLE = "save the table as CSV, Excel or Parquet"
_R = "an R object; in R, write.csv(table, 'table.csv') makes a table of it"
_PICKLE = "a pickle of Python, which could run anything; " + _AS_TABLE
_HDF5 = "an HDF5 file; " + _AS_TABLE + ", or of MATLAB with save(file, '-v7')"
_PICTURE = "a picture, not a table; bring the numbers that it shows"
_MEDIA = "sound or film, not a table; bring features of it, a row for each recording"
_PROGRAM = "a program, not a table; bring the table itself"
_ARCHIVE = "; unpack it, and bring the table"

#: How a file begins -> what it is, and what to do.
_BEGINNINGS = {
    b"7z\xbc\xaf": "a 7z archive" + _ARCHIVE,
    b"Rar!": "a RAR archive" + _ARCHIVE,
    b"%PDF": "a PDF document, not a table; copy its table into a sheet, and save that",
    b"%!PS": "a page for a printer, not a table; " + _AS_TABLE,
    b"{\\rtf": "a text document, not a table; copy its table into a sheet",
    b"\x89PNG": _PICTURE,
    b"\xff\xd8\xff": _PICTURE,
    b"GIF8": _PICTURE,
    b"II*\0": _PICTURE,
    b"MM\0*": _PICTURE,
    b"RIFF": _MEDIA,
    b"ID3": _MEDIA,
    b"OggS": _MEDIA,
    b"fLaC": _MEDIA,
    b"\x7fELF": _PROGRAM,
    b"MZ\x90": _PROGRAM,
    b"\x89HDF": _HDF5,
    b"CDF\1": "a NetCDF file; " + _AS_TABLE,
    b"CDF\2": "a NetCDF file; " + _AS_TABLE,
    b"RDX2\n": _R,
    b"RDX3\n": _R,
    b"RDA3\n": _R,
    b"X\n\0\0\0": _R,
    b"\x80\2": _PICKLE,
    b"\x80\3": _PICKLE,
    b"\x80\4": _PICKLE,
    b"\x80\5": _PICKLE,
    b"\x93NUMPY": "an array of NumPy without names; save it with numpy.savetxt as CSV",
    b"Obj\1": "an Avro file; " + _AS_TABLE,
    b"ORC": "an ORC file; " + _AS_TABLE,
    b"SIMPLE  =": "a FITS file; " + _AS_TABLE,
    b"bplist": "a property list; " + _AS_TABLE,
}
_PARTS = {
    b"word/document": "a Word document, not a table; copy its table into a sheet",
    b"ppt/presentation": "slides, not a table; copy their table into a sheet",
    b"opendocument.text": "a text document, not a table; copy its table into a sheet",
    b"Index/Document.iwa": "a sheet of Numbers; export it as .xlsx or CSV",
}
_SQL = re.compile(
    rb"\s*(--[^\n]*\n\s*|/\*.*?\*/;?\s*)*"
    rb"(CREATE\s+(TABLE|DATABASE)|INSERT\s+INTO|BEGIN\s+TRANSACTION|PRAGMA|SET)\b"
    rb"[^;]*[;(]",
    re.IGNORECASE | re.DOTALL,
)

_PAGE = re.compile(rb"<(!doctype html|html|head|body|table|div|meta|style)\b")
_LATEX = re.compile(rb"(\s|%[^\n]*\n)*\\(begin|documentclass|usepackage)\b")
#: A list of records, or a key with an indented line below.
_YAML = re.compile(
    rb"(#[^\n]*\n)*(---\s*\n)?"
    rb"(- \w[^\n:]*:[^\n]*\r?\n +\w[^\n:]*:|[\w-]+:\r?\n  ?( \w[^\n:]*:|-))"
)
_SOURCE = re.compile(
    rb"(\s|(#|//|--)[^\n]*\n)*(#!|#include\b|import [\w.]+( as \w+)?;?\r?\n|<\?php"
    rb"|from [\w.]+ import |def \w+\(|library\(|using namespace |package [\w.]+;)"
)


def foreign_kind(data: bytes, ending: str) -> str:
    """What a file is that is no table, and what to do; empty: it may be one."""
    head = data[:4_096]
    for beginning, words in _BEGINNINGS.items():
        # A text may begin with a word that is one of these, such as ID3.
        is_word = beginning.decode("latin-1").isalnum()
        if data.startswith(beginning) and (b"\0" in head or not is_word):
            return words
    if is_excel(data):
        return ""
    if is_document(data):
        for part, words in _PARTS.items():
            if part in data:
                return words
    if data.startswith(OLE):
        if "EncryptedPackage".encode("utf-16-le") in data:
            return "a document locked by a password; save it without one"
        return "a document of an old Office program, not a table; " + _AS_TABLE
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if _PAGE.match(start):
        return (
            "a web page, perhaps an error message, not a table; open its address in "
            "a browser and save the table itself"
        )
    if start.startswith((b"<?xml", b"<svg")):
        return "an XML file, not a table; " + _AS_TABLE
    if _SOURCE.match(head):
        return _PROGRAM
    if _SQL.match(head):
        return (
            "a list of SQL commands, which are not run; load it into a database, and "
            "bring that (SQLite) or the table as CSV"
        )
    if _LATEX.match(head):
        return "a text of LaTeX, not a table; bring what it was made from"
    if _YAML.match(head):
        return "a YAML file, not a table; " + _AS_TABLE
    if data[257:262] == b"ustar":
        return "a tar archive" + _ARCHIVE
    if data[4:8] == b"ftyp":
        return _MEDIA
    if ending == ".names":
        return (
            "a description of columns, and their values are in another file; bring "
            "that (.data), or both in one .zip"
        )
    return ""
