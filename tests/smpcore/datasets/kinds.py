"""One small table as a file of each kind, written by other programs than ours."""

import base64
import bz2
import gzip
import io
import lzma
import sqlite3
import tempfile
import zipfile
import zlib
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import scipy.io
import xlwt

TABLE = pd.DataFrame(
    {
        "a": [0.5, 1.5, 2.5, -1.0, 0.25, 3.0, 4.5, 7.0],
        "b": [1.0, np.nan, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
        "y": [*"pqpqpqpq"],
    }
)
#: TABLE as ReadStat writes it for SAS, which pyreadstat does not offer.
_SAS = (
    b"c-muNK!8K98WT2)2%g_NiGzXjxM7ckynvvw5`(cZBa<N`M2QFk12ZFvxG|%$F@uN*g90-n%$#7yU"
    b"<Ef%A6FO05XWHG5CvR-fdByMhpCI>XOuE1zwZd6F%%0xFe93<rJjL_fuXOdPi9_e1(LY2o}q!Bfv"
    b"%yUnSq|6p`IbSaTOM3@n$9nKFD4n$GmzNMpr*$*PVaJ?qnDRqhJ(_f>AIEM!_f;1*2dTjDk@x3I-"
    b"9F3GKI{gWYUU29q!YH;}r)1L0~gqpCXq6_-HMpTPy8BbZRdRiNT7Fac<X{R1b2HbE0#0u}c`6VHK"
    b")TcC;SK*b%<-1CM5yZ9Oc;%LT0!2^4!tL+O=#xZ_C#4rA+FGLY%ff~=@fU5q(e(2zZ1FHH9Q1eC5"
    b")N?@1kw8-~1QnM-Q!fJ*S3pxg3P!;w7zLwX6bv2k@ArQ&7_#~y+W)J-YG)|T41|mfu!a>AkcDc;A"
    b"E-VHH1ohs6c$DX4m7?1tknS~P#a)Sqy8fr11iwAjRus~!I(q&3)N$Q5E4P3%K^{zgt!JI0wt4xxD"
    b"ws-e^C9v0;Sn$lva4yQNs@ACpNV992=S+8PVK_&i{|5julNED_UGLqWKe@4^2`8)6_2_)&2ZWSsE"
    b"Q`;2RJ?@(?Qc4g}y9Hk8kcCNF59gwk)}z+pbRxiaYD0;ux-XzAqt2#XI|^+!nsjPTMFmCuF7=RxB"
    b"OqwzUt=2H%MnF5+tN7%yyX3G$1GYinAj2I>M3e-9RPgfQI0FLNi"
)


def written(write, frame=TABLE, **options):
    """What a function writes of a frame to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        write(frame, str(path), **options)
        return path.read_bytes()


def old_workbook(sheets):
    """A workbook of Excel 97: rows by the titles of sheets."""
    book, file = xlwt.Workbook(), io.BytesIO()
    for title, rows in sheets.items():
        sheet = book.add_sheet(title)
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if cell == cell and cell is not None:
                    sheet.write(i, j, cell)
    book.save(file)
    return file.getvalue()


def open_document(sheets):
    """A sheet of OpenDocument: rows by the titles of sheets."""
    parts = []
    for title, rows in sheets.items():
        parts.append(f'<table:table table:name="{escape(title)}">')
        for row in rows:
            parts += ["<table:table-row>", *map(_cell, row), "</table:table-row>"]
        parts.append("</table:table>")
    names = ("office", "table", "text")
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in names
    )
    body = "".join(parts)
    content = (
        f'<?xml version="1.0"?><office:document-content {spaces}><office:body>'
        f"<office:spreadsheet>{body}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    entry = f'<m:file-entry m:full-path="/" m:media-type="{kind}"/>'
    about = f'<m:manifest xmlns:m="{manifest}">{entry}</m:manifest>'
    return archive(
        {"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": about}
    )


def _cell(value):
    if value is None or value != value:
        return "<table:table-cell/>"
    if isinstance(value, str):
        text = f"<text:p>{escape(value)}</text:p>"
        return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'
    about = f'office:value-type="float" office:value="{value}"'
    return f"<table:table-cell {about}><text:p>{value}</text:p></table:table-cell>"


def archive(files, packing=zipfile.ZIP_STORED):
    """A zip archive of files by their names."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return file.getvalue()


def database(**frames):
    """A database of SQLite: tables by their names."""
    with sqlite3.connect(":memory:") as connection:
        for name, frame in frames.items():
            frame.to_sql(name, connection, index=False)
        return bytes(connection.serialize())


def matlab(**arrays):
    """A file of MATLAB, of version 5."""
    file = io.BytesIO()
    scipy.io.savemat(file, arrays, do_compression=True)
    return file.getvalue()


def arrow(frame=TABLE, **options):
    """A file of Arrow."""
    file = io.BytesIO()
    frame.to_feather(file, **options)
    return file.getvalue()


def rows_of(frame=TABLE):
    """Names and rows of a frame."""
    return [[*frame], *frame.itertuples(index=False, name=None)]


def _zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


_TEXT = TABLE.to_csv(index=False).encode()
#: Ending -> content.
FILES = {
    "xls": old_workbook({"Data": rows_of()}),
    "ods": open_document({"Data": rows_of()}),
    "sav": written(pyreadstat.write_sav),
    "zsav": written(pyreadstat.write_sav, compress=True),
    "por": written(pyreadstat.write_por),
    "dta": written(pyreadstat.write_dta),
    "xpt": written(pyreadstat.write_xport),
    "sas7bdat": zlib.decompress(base64.b85decode(_SAS)),
    "json": TABLE.to_json(orient="records").encode(),
    "jsonl": TABLE.to_json(orient="records", lines=True).encode(),
    "feather": arrow(),
    "sqlite": database(t=TABLE),
    "mat": matlab(X=TABLE[["a", "b"]].to_numpy(), y=np.array(TABLE["y"], object)),
    "csv.gz": gzip.compress(_TEXT),
    "csv.bz2": bz2.compress(_TEXT),
    "csv.xz": lzma.compress(_TEXT),
    "csv.zst": _zstd(_TEXT),
    "zip": archive({"t.csv": _TEXT}),
}
