"""Files of sweeps: what was found, of which data, and how to go on.

A result file is Parquet: a row per fit, and in its metadata what it is of. It is
written beside its place and moved there, so it is whole or not there. Each fit goes at
once into a journal beside it, a line of JSON; a line that was cut off is told from a
whole one.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from smpcore.baselines import BASELINES
from smpcore.datasets import shown
from smpcore.errors import SmpcoreError
from smpcore.evaluation.sizes import SIZES
from smpcore.evaluation.sweep import COLUMNS, KEY, SCORES, sweep_table
from smpcore.methods import METHODS

#: Changes when the columns or their meaning do.
VERSION = 1
#: Rows of a file that is opened.
MOST_ROWS = 1_000_000
_PLACE = b"smpcore.results"
_TEXTS = ("method", "parameter", "status")


@dataclass(frozen=True)
class Subject:
    """What results are of: fits of other subjects cannot be put beside them.

    Parameters
    ----------
    name : str
        Of the data set, to tell it to people.
    digest : str
        Of the data set.
    split : str
        Key of its division: results are of the training rows.
    task : str
    n_folds : int
    edition : str
        Of this package when the fits were made.
    """

    name: str
    digest: str
    split: str
    task: str
    n_folds: int
    edition: str

    def differs(self, other: Subject) -> str:
        """What `other` has otherwise, in words; empty if nothing."""
        words = {
            "digest": "another data set, or the same one read otherwise",
            "split": "other training rows (other shares or another seed)",
            "task": "another task",
            "n_folds": "another number of folds",
            "edition": "another edition of this program",
        }
        for field, told in words.items():
            if getattr(self, field) != getattr(other, field):
                return told
        return ""


def write_results(
    path: Path, subject: Subject, rows: Iterable[Mapping[str, Any]]
) -> None:
    """Write a result file, whole or not at all.

    Parameters
    ----------
    path : Path
    subject : Subject
    rows : iterable of dict
        As `sweep` gives them.
    """
    frame = sweep_table(list(rows), subject.task)
    frame["value"] = frame["value"].astype(float)
    frame["status"] = frame["status"].astype(str)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    told = json.dumps({"version": VERSION, **asdict(subject)})
    table = table.replace_schema_metadata({_PLACE: told.encode()})
    beside = path.with_name(path.name + ".new")
    pq.write_table(table, beside)
    os.replace(beside, path)


def read_results(content: bytes, name: str) -> tuple[Subject, pd.DataFrame]:
    """Read a result file.

    Parameters
    ----------
    content : bytes
    name : str
        The file's, for what is said; never opened.

    Returns
    -------
    (Subject, DataFrame)
        A row per fit, as `sweep_table` arranges them.

    Raises
    ------
    SmpcoreError
        If it is cut off, something else, or of another version.
    """
    called = shown(name)
    try:
        file = pq.ParquetFile(io.BytesIO(content))
        told = json.loads((file.schema_arrow.metadata or {})[_PLACE])
        n_rows = file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise SmpcoreError(
            f"{called} is no Parquet file, or is cut off. Where the batch run wrote "
            "it, start the same command again: it repairs the file from its journal."
        ) from error
    except (KeyError, ValueError) as error:
        raise SmpcoreError(
            f"{called} is a table, but no result file of python -m smpcore.evaluation."
        ) from error
    subject = _subject(told, called)
    if n_rows > MOST_ROWS:
        raise SmpcoreError(f"{called} has {n_rows:,} rows; at most {MOST_ROWS:,}.")
    try:
        frame = file.read().to_pandas()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SmpcoreError(
            f"{called} is damaged: start the batch run again."
        ) from error
    wanted = [*COLUMNS, *SCORES[subject.task], *SIZES, "seconds", "status"]
    _check_columns(frame, wanted, called)
    return subject, frame[wanted]


def _subject(told: Any, called: str) -> Subject:
    version = told.get("version") if isinstance(told, dict) else None
    if version != VERSION:
        raise SmpcoreError(
            f"{called} has version {shown(version)} of this format, but this program "
            f"reads {VERSION}: run the batch command of this program again."
        )
    fields = get_type_hints(Subject)
    known = all(type(told.get(name)) is kind for name, kind in fields.items())
    if not known or told["task"] not in SCORES:
        raise SmpcoreError(f"{called} does not say what it is of: it was changed.")
    return Subject(**{name: told[name] for name in fields})


def _check_columns(frame: pd.DataFrame, wanted: list[str], called: str) -> None:
    numbers = [name for name in wanted if name not in _TEXTS]
    missing = [name for name in wanted if name not in frame]
    if missing:
        raise SmpcoreError(f"{called} has no column {missing[0]}: it was changed.")
    for name in numbers:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            raise SmpcoreError(f"Column {name} of {called} holds no numbers.")
    for key in frame["method"].unique():
        if key not in METHODS and key not in BASELINES:
            raise SmpcoreError(f"{called} has a method that is unknown: {shown(key)}.")
    for key, parameter in frame[["method", "parameter"]].drop_duplicates().to_numpy():
        known = [p.name for p in METHODS[key].params] if key in METHODS else None
        if known is not None and parameter not in known:
            told = f"{called}: {key} has no parameter {shown(parameter)}."
            raise SmpcoreError(told)


class Journal:
    """Results on their way: those of an earlier run, and each new one at once.

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
        If the files are of another subject, or damaged beyond use. Nothing is changed.
    """

    def __init__(self, path: Path, subject: Subject) -> None:
        self.path, self.subject = path, subject
        self.rows: dict[tuple, dict[str, Any]] = {}
        self.notices: list[str] = []
        self._beside = path.with_name(path.name + ".journal")
        sound = self._read_journal()
        self._read_results(bool(sound))
        with self._beside.open("ab") as file:
            file.truncate(sound)
        if not sound:
            self._append({"version": VERSION, **asdict(subject)})
            for row in self.rows.values():
                self._append(row)

    def _read_journal(self) -> int:
        """Take the whole lines; how many bytes they are."""
        if not self._beside.exists():
            return 0
        lines = self._beside.read_bytes().splitlines(keepends=True)
        sound, called = 0, shown(self._beside.name)
        for number, line in enumerate(lines):
            try:
                told = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                told = None
            if not isinstance(told, dict):
                if not number and len(lines) > 1:
                    raise SmpcoreError(f"{called} is no journal of a batch run.")
                lost = len(lines) - number
                self.notices.append(
                    f"{called} is cut off: its first {max(0, number - 1)} fits are "
                    f"kept, {lost} damaged line{'s' * (lost > 1)} left out."
                )
                break
            if number:
                self._take(told)
            else:
                self._same(_subject(told, called), called)
            sound += len(line)
        return sound

    def _read_results(self, journal: bool) -> None:
        if not self.path.exists():
            return
        called = shown(self.path.name)
        try:
            subject, frame = read_results(self.path.read_bytes(), self.path.name)
        except SmpcoreError as error:
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
        self._same(subject, called)
        for row in frame.to_dict("records"):
            self._take(row)

    def _same(self, other: Subject, called: str) -> None:
        if told := self.subject.differs(other):
            raise SmpcoreError(
                f"{called} holds results of {told} ({shown(other.name)}): choose "
                "another file, or move this one away. Nothing was changed."
            )

    def _take(self, row: dict[str, Any]) -> None:
        value = row["value"]
        row["value"] = None if value is None or value != value else value
        self.rows[tuple(row[name] for name in KEY)] = row

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep one more fit, on the disk too."""
        plain = {n: v.item() if hasattr(v, "item") else v for n, v in row.items()}
        self._take(plain)
        self._append(plain)

    def _append(self, told: Mapping[str, Any]) -> None:
        with self._beside.open("ab") as file:
            file.write(json.dumps(told).encode() + b"\n")

    def write(self) -> None:
        """Write the result file of all that is known."""
        if self.rows:
            write_results(self.path, self.subject, self.rows.values())
