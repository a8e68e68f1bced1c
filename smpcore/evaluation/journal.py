"""Sweeps that can be interrupted: what is done, and how to go on.

Each fit goes at once into a journal beside the result file, a line of JSON. Lines that
are damaged are told from whole ones; only a last one that was cut off is taken out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from smpcore.datasets import shown
from smpcore.errors import SmpcoreError
from smpcore.evaluation.results import (
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


class Journal:
    """Results on their way: those of an earlier run, and each new one at once.

    It is a context; one process at a time has it.

    Parameters
    ----------
    path : Path
        Of the result file; the journal is beside it.
    subject : Subject

    Attributes
    ----------
    rows : dict
        `KEY` -> row of `sweep`.
    notices : list of str
        What was found to be damaged, and what was kept.

    Raises
    ------
    SmpcoreError
        If the files are of another subject, in use, or damaged beyond use. Nothing is
        changed.
    """

    def __init__(self, path: Path, subject: Subject) -> None:
        self.path, self.subject = path, subject
        self.rows: dict[tuple, dict[str, Any]] = {}
        self.notices: list[str] = []
        self._beside = path.with_name(path.name + ".journal")
        self._file: Any = None
        header = {"version": VERSION, **asdict(subject)}
        self._first = json.dumps(header).encode() + b"\n"
        try:
            if self._beside.exists():
                self._hold("r+b")
            journaled = self._read_journal() if self._file else {}
            self._read_results(bool(journaled))
            if self._file is None:
                self._hold("xb")
            self.rows |= journaled
            self._go_on(journaled)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process have it."""
        if self._file is not None:
            self._file.close()

    def _hold(self, mode: str) -> None:
        """Open the journal, unless another process has it."""
        try:
            self._file = self._beside.open(mode)
            lock(self._file)
        except (FileExistsError, BlockingIOError) as error:
            raise SmpcoreError(
                f"Another run is writing to {shown(self.path.name)}: wait for its end, "
                "or choose another file."
            ) from error

    def _read_journal(self) -> dict[tuple, dict[str, Any]]:
        """The fits of its whole lines; the file stands at their end then."""
        content, called = self._file.read(), shown(self._beside.name)
        sound = content.rfind(b"\n") + 1
        cut = sound < len(content)
        self._file.seek(sound)
        if not sound and self._first.startswith(content):
            if cut:
                self.notices.append(f"{called} is cut off before its first fit.")
            return {}
        first, *lines = content[:sound].splitlines() or [b""]
        try:
            header = json.loads(first)
        except (ValueError, RecursionError) as error:
            raise SmpcoreError(
                f"{called} is no journal of a batch run: move it away or choose "
                "another file. Nothing was changed."
            ) from error
        self._same(read_subject(header, called), called)
        rows = [_row(line, self.subject.task) for line in lines]
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
        self._file.truncate()
        if not self._file.tell():
            self._file.write(self._first)
        for name in self.rows.keys() - journaled.keys():
            self._append(self.rows[name])
        self._file.flush()

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
        self._append(record)
        self._file.flush()

    def _append(self, row: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(row).encode() + b"\n")

    def write(self) -> None:
        """Write the result file of all that is known."""
        if self.rows:
            write_results(self.path, self.subject, self.rows.values())


def lock(file: Any) -> None:
    """Have a file for this process alone, or raise BlockingIOError."""
    with suppress(ImportError):  # Windows has other locks, and no such habit
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _name(row: Mapping[str, Any]) -> tuple:
    return tuple(row[name] for name in KEY)


def _row(line: bytes, task: str) -> dict[str, Any] | None:
    """A line of a journal; None if it is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
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
