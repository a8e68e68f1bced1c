"""Runs that can be interrupted: what is done, and how to go on.

Each result goes at once into a file, a line of JSON. Lines that are damaged are told
from whole ones; only a last one that was cut off is taken out. A sweep has such a file,
its journal, beside its result file: Parquet, a row per fit, and in its metadata what it
is of. That is written beside its place and moved there, so it is whole or not there.
"""

from __future__ import annotations

import io
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from os import SEEK_END
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa

from smpcore.baselines import BASELINES
from smpcore.datasets import shown
from smpcore.errors import SmpcoreError
from smpcore.evaluation.folds import REPEATS
from smpcore.evaluation.sweep import KEY, SCORES, columns_of, sweep_table
from smpcore.methods import METHODS

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: Changes when the columns or their meaning do.
VERSION = 1
#: Rows of a file that is opened, and bytes of it once it is unpacked.
MOST_ROWS, MOST_BYTES = 1_000_000, 400_000_000
_PLACE = b"smpcore.results"
#: Columns of texts.
TEXTS = ("method", "parameter", "status")
_COUNTS = ("repeat", "fold", "n_train", "n_held_out")


class DamagedError(SmpcoreError):
    """What should be a result file is cut off or damaged, so that it may be mended."""


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
        "classification" or "regression".
    n_folds : int
        Number of folds that each setting was fitted on.
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
            "edition": "another edition of this program or of its libraries",
        }
        for field, value in words.items():
            if getattr(self, field) != getattr(other, field):
                return value
        return ""


def write_results(
    path: Path, subject: Subject, rows: Iterable[Mapping[str, Any]]
) -> None:
    """Write a result file, whole or not at all."""
    import pyarrow.parquet as pq

    frame = sweep_table(list(rows), subject.task)
    frame["value"] = frame["value"].astype(float)
    frame["status"] = frame["status"].astype(str)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = json.dumps({"version": VERSION, **asdict(subject)})
    table = table.replace_schema_metadata({_PLACE: metadata.encode()})
    beside = path.with_name(path.name + ".new")
    pq.write_table(table, beside)
    os.replace(beside, path)


def read_results(content: bytes, name: str) -> tuple[Subject, pd.DataFrame]:
    """Read a result file.

    Parameters
    ----------
    content : bytes
        The whole file, as it was written by a study.
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
    import pyarrow.parquet as pq

    from smpcore.datasets.parquet import text_bytes

    called = shown(name)
    try:
        file = pq.ParquetFile(io.BytesIO(content))
        metadata = json.loads((file.schema_arrow.metadata or {})[_PLACE])
    except (pa.ArrowException, OSError) as error:
        raise DamagedError(
            f"{called} is no Parquet file, or is cut off. Where the batch run wrote "
            "it, start the same command again: it repairs the file from its journal."
        ) from error
    except (KeyError, ValueError, RecursionError) as error:
        raise SmpcoreError(
            f"{called} is a table, but no result file of python -m smpcore.evaluation."
        ) from error
    subject = read_subject(metadata, called)
    wanted = columns_of(subject.task)
    _check_schema(file, wanted, called)
    try:
        # Repeated texts stay coded, so that few bytes cannot become many.
        file = pq.ParquetFile(io.BytesIO(content), read_dictionary=list(TEXTS))
        table = file.read(columns=wanted, use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedError(
            f"{called} is damaged: start the batch run again."
        ) from error
    if text_bytes(table) > MOST_BYTES:
        raise SmpcoreError(
            f"{called} has texts of more than {MOST_BYTES / 1e6:.0f} MB."
        )
    frame = table.to_pandas()[wanted].astype(dict.fromkeys(TEXTS, object))
    for problem, is_wrong in _problems(frame, subject):
        if is_wrong.any():
            raise SmpcoreError(f"{called}: {problem}.")
    if frame.duplicated([*KEY]).any():
        raise SmpcoreError(f"{called} has the same fit twice: it was changed.")
    return subject, frame


def read_subject(metadata: Any, called: str) -> Subject:
    """What a file says that it is of, where that can be."""
    version = metadata.get("version") if isinstance(metadata, dict) else None
    if version != VERSION:
        raise SmpcoreError(
            f"{called} has version {shown(version)} of this format, but this program "
            f"reads {VERSION}: use the program that wrote it, or begin another file."
        )
    fields = get_type_hints(Subject)
    known = all(type(metadata.get(name)) is kind for name, kind in fields.items())
    if not known or metadata["task"] not in SCORES:
        raise SmpcoreError(f"{called} does not say what it is of: it was changed.")
    return Subject(**{name: metadata[name] for name in fields})


def _check_schema(file: pq.ParquetFile, wanted: list[str], called: str) -> None:
    """Look at what the file says of itself before any of it is unpacked."""
    n_rows, schema = file.metadata.num_rows, file.schema_arrow
    if n_rows > MOST_ROWS:
        raise SmpcoreError(f"{called} has {n_rows:,} rows; at most {MOST_ROWS:,}.")
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    if (size := sum(group.total_byte_size for group in groups)) > MOST_BYTES:
        raise SmpcoreError(
            f"{called} expands to {size / 1e6:,.0f} MB; at most "
            f"{MOST_BYTES / 1e6:.0f} MB are read."
        )
    for name in wanted:
        if schema.names.count(name) != 1:
            number = "no" if name not in schema.names else "more than one"
            raise SmpcoreError(f"{called} has {number} column {name}: it was changed.")
        kind, types = schema.field(name).type, pa.types
        if name in TEXTS:
            fits, held = types.is_string(kind) or types.is_large_string(kind), "texts"
        else:
            fits, held = types.is_integer(kind) or types.is_floating(kind), "numbers"
        if not fits:
            raise SmpcoreError(f"Column {name} of {called} holds no {held}.")


def _problems(
    frame: pd.DataFrame, subject: Subject
) -> Iterator[tuple[str, np.ndarray]]:
    """What can be wrong with fits, in words, and which of them it is of."""
    methods, parameters = (frame[name].astype(object) for name in TEXTS[:2])
    for key, parameter in {*zip(methods, parameters, strict=True)}:
        is_fit = ((methods == key) & (parameters == parameter)).to_numpy()
        if key not in METHODS and key not in BASELINES:
            yield f"a method that is unknown: {shown(key)}", is_fit
        elif key in METHODS and parameter not in {p.name for p in METHODS[key].params}:
            yield f"{key} has no parameter {shown(parameter)}", is_fit
    most = {"repeat": REPEATS - 1, "fold": subject.n_folds - 1}
    for name in _COUNTS:
        last, numbers = most.get(name, 1e9), frame[name]
        is_count = numbers.between(0, last) & (numbers % 1 == 0)
        words = f"the {name} of a fit should count, from 0 to {last:,.0f}"
        yield words, ~is_count.to_numpy()


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
        rows = self._sound(records)
        lost = len(records) - len(rows) + cut
        if lost:
            self.notices.append(
                f"{called} is cut off or damaged: {len(rows)} fits are "
                f"kept, {lost} damaged line{'' if lost == 1 else 's'} left out."
            )
        return {_name(row): row for row in rows}

    def _sound(self, records: list[Any]) -> list[dict[str, Any]]:
        """Those that are fits, as `read_results` takes them."""
        rows = [row for one in records if (row := _row(one, self.subject.task))]
        frame = pd.DataFrame(rows, columns=columns_of(self.subject.task))
        wrong = [is_wrong for _, is_wrong in _problems(frame, self.subject)]
        return list(itertools.compress(rows, ~np.any(wrong, axis=0)))

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
