"""Runs that can be interrupted: what is done, and how to go on.

Each result goes at once into a file, a line of JSON. Lines that are damaged are told
from whole ones; only a last one that was cut off is taken out. A sweep has such a file
beside its result file, its journal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from os import SEEK_END
from pathlib import Path
from typing import Any

from smpcore.datasets import shown
from smpcore.errors import SmpcoreError
from smpcore.evaluation.result_files import (
    TEXTS,
    VERSION,
    DamagedError,
    Subject,
    columns_of,
    read_results,
    read_subject,
    write_results,
)
from smpcore.evaluation.sweep import KEY


class JsonLines(AbstractContextManager):
    """A file with a line of JSON for each record; one process at a time has it."""

    def __init__(self, path: Path, refusal: str, is_new: bool = False) -> None:
        self._file: Any = None
        try:
            self._file = path.open("xb+" if is_new else "ab+")
            _lock(self._file)
        except (FileExistsError, BlockingIOError) as error:
            self.close()
            raise SmpcoreError(refusal) from error
        self._file.seek(0)
        content = self._file.read()
        #: Of each whole line there was, None of a damaged one.
        self.records = read_json_lines(content)
        #: A last line that was cut off; the next record takes its place.
        self.rest = content.rpartition(b"\n")[2]

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process have it."""
        if self._file is not None:
            self._file.close()

    def clear(self) -> None:
        """Begin anew."""
        self.records, self.rest = [], b""
        self._file.truncate(0)

    def add(self, *records: Mapping[str, Any]) -> None:
        """Write records, to the disk at once."""
        end = self._file.seek(-len(self.rest), SEEK_END)
        self._file.truncate(end)
        self.rest = b""
        self._file.writelines(map(_line, records))
        self._file.flush()


def read_json_lines(content: bytes) -> list[Any]:
    """Read the record of each whole line, None of a damaged one."""
    return [_record(line) for line in content.split(b"\n")[:-1]]


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, default=lambda number: number.item()).encode() + b"\n"


def _record(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


class Journal(AbstractContextManager):
    """Results on their way: those of an earlier run, and each new one at once.

    It is a context; one process at a time has it.
    """

    def __init__(self, path: Path, subject: Subject) -> None:
        self.path, self.subject = path, subject
        self.rows: dict[tuple, dict[str, Any]] = {}
        self.notices: list[str] = []
        self._beside = path.with_name(path.name + ".journal")
        self._header = {"version": VERSION, **asdict(subject)}
        self._lines = self._opened() if self._beside.exists() else None
        try:
            journaled = {} if self._lines is None else self._read_journal()
            self._read_results(bool(journaled))
            if self._lines is None:
                self._lines = self._opened(is_new=True)
            self.rows |= journaled
            self._go_on(journaled)
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process have it."""
        if self._lines is not None:
            self._lines.close()

    def _opened(self, is_new: bool = False) -> JsonLines:
        called = shown(self.path.name)
        refusal = f"Another run is writing to {called}: wait for its end, or choose "
        return JsonLines(self._beside, refusal + "another file.", is_new)

    def _read_journal(self) -> dict[tuple, dict[str, Any]]:
        """The fits of its whole lines."""
        called, cut = shown(self._beside.name), bool(self._lines.rest)
        header, *records = self._lines.records or [None]
        if not self._lines.records and _line(self._header).startswith(self._lines.rest):
            if cut:
                self.notices.append(f"{called} is cut off before its first fit.")
            return {}
        if header is None:
            raise SmpcoreError(
                f"{called} is no journal of a batch run: move it away or choose "
                "another file. Nothing was changed."
            )
        self._same(read_subject(header, called), called)
        rows = [_row(record, self.subject.task) for record in records]
        lost = rows.count(None) + cut
        if lost:
            self.notices.append(
                f"{called} is cut off or damaged: {len(rows) + cut - lost} fits are "
                f"kept, {lost} damaged line{'s' * (lost > 1)} left out."
            )
        return {_name(row): row for row in rows if row is not None}

    def _read_results(self, journal: bool) -> None:
        if not self.path.exists():
            return
        called = shown(self.path.name)
        try:
            subject, frame = read_results(self.path.read_bytes(), self.path.name)
        except DamagedError as error:
            if not journal:
                raise SmpcoreError(
                    f"{called} is cut off, or no result file, and has no journal "
                    "beside it. Move it away or choose another file; nothing was "
                    f"changed. ({error})"
                ) from error
            self.notices.append(
                f"{called} is cut off or damaged; it is made anew from its journal."
            )
            return
        except SmpcoreError as error:
            raise SmpcoreError(
                f"{error} Move it away or choose another file; nothing was changed."
            ) from error
        self._same(subject, called)
        for row in frame.to_dict("records"):
            row["value"] = None if row["value"] != row["value"] else row["value"]
            self.rows[_name(row)] = row

    def _go_on(self, journaled: Mapping[tuple, Any]) -> None:
        """Leave a line that was cut off; hold all that is known."""
        header = [] if self._lines.records else [self._header]
        more = [self.rows[name] for name in self.rows.keys() - journaled.keys()]
        self._lines.add(*header, *more)

    def _same(self, other: Subject, called: str) -> None:
        if difference := self.subject.differs(other):
            raise SmpcoreError(
                f"{called} holds results of {difference} ({shown(other.name)}): choose "
                "another file, or move this one away. Nothing was changed."
            )

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep one more fit, on the disk too."""
        record = {n: v.item() if hasattr(v, "item") else v for n, v in row.items()}
        self.rows[_name(record)] = record
        self._lines.add(record)

    def write(self) -> None:
        """Write the result file of all that is known."""
        if self.rows:
            write_results(self.path, self.subject, self.rows.values())


def _lock(file: Any) -> None:
    """Have a file for this process alone, or raise BlockingIOError."""
    with suppress(ImportError):  # Windows has other locks, and no such habit
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _name(row: Mapping[str, Any]) -> tuple:
    return tuple(row[name] for name in KEY)


def _row(record: Any, task: str) -> dict[str, Any] | None:
    """A row of `sweep`; None if it is none."""
    names = columns_of(task)
    if not isinstance(record, dict) or not set(names) <= set(record):
        return None
    texts = all(isinstance(record[name], str) for name in TEXTS)
    numbers = all(
        type(record[name]) in (int, float) or (name == "value" and record[name] is None)
        for name in names
        if name not in TEXTS
    )
    return {name: record[name] for name in names} if texts and numbers else None
