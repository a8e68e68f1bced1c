"""Databases of SQLite: one table is read, and nothing in the file is run."""

import sqlite3
from contextlib import closing
from typing import Any

from smpcore.datasets.limits import check_size
from smpcore.datasets.plain_rows import (
    check_columns,
    of_sheet,
    read_rows,
    without_values,
)
from smpcore.datasets.reading import FileTable, ReadingOptions, damage_in_words

MAGIC = b"SQLite format 3\0"
#: What a statement may do: read columns of tables, and no function but the one that
#: counts.
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
#: Characters of a text, at most.
_MOST_LETTERS = 1_000_000
_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY rowid"


def read_sqlite(data: bytes, options: ReadingOptions) -> FileTable:
    """Read the table that is asked for, else the first with columns and rows."""
    with (
        damage_in_words("The database", "save the table as CSV"),
        closing(sqlite3.connect(":memory:")) as database,
    ):
        # A write-ahead log would be a second file; what is in this one is read.
        database.deserialize(data[:18] + b"\1\1" + data[20:])
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA query_only = ON")
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_LETTERS)
        database.set_authorizer(_authorize)
        database.text_factory = lambda text: text.decode(errors="replace")
        tables = [
            name
            for name, sql in database.execute(_TABLES)
            if not name.startswith("sqlite_") and "virtual" not in sql[:20].lower()
        ]
        check_columns(tables, "database")
        title = options.sheet
        if title not in tables:
            filled = (name for name in tables if _is_filled(database, name))
            title = next(filled, tables[0])
        names, rows, left_out = _read(database, title)
    check_columns(names, "database")
    table = read_rows("SQLite", names, rows, written=options.written)
    table = table._replace(notices=[*table.notices, *without_values(left_out)])
    return of_sheet(table, title, [name for name in tables if name != title])


def _authorize(action: int, first: str | None, second: str | None, *_: Any) -> int:
    is_count = action == sqlite3.SQLITE_FUNCTION and second == "count"
    allowed = action in _ALLOWED or is_count
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _is_filled(database: sqlite3.Connection, name: str) -> bool:
    rows = database.execute(f"SELECT * FROM {_quoted(name)} LIMIT 2")
    return len(rows.description) > 1 and len(rows.fetchall()) > 1


def _read(
    database: sqlite3.Connection, name: str
) -> tuple[list[str], list[list[Any]], list[str]]:
    """Names and rows of the columns that hold no pictures, and names of the others."""
    quoted = _quoted(name)
    (n_rows,) = database.execute(f"SELECT count(*) FROM {quoted}").fetchone()
    cursor = database.execute(f"SELECT * FROM {quoted}")
    names = [about[0] for about in cursor.description]
    check_size(n_rows, len(names))
    rows = cursor.fetchall()
    columns = range(len(names))
    places = [c for c in columns if not any(isinstance(row[c], bytes) for row in rows)]
    kept_names = [names[c] for c in places]
    left_out = [name for name in names if name not in kept_names]
    return kept_names, [[row[c] for c in places] for row in rows], left_out
