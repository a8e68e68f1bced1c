"""Files that a visitor brings: how they are read, and what is wrong with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

import msgspec
import streamlit as st

from pages.data import editor
from pages.state import session, state_file, table_store
from pages.state.session import Slot
from pages.ui import files
from pages.ui.elements import problems_shown, table
from pages.ui.files import read_file, stop_reading
from pages.ui.text import escape_markdown, message, short_label
from pages.work import disk_store
from pages.work.tasks import Task
from smpcore import Dataset, SmpcoreError, read_table
from smpcore.datasets import (
    COMMENTS,
    DECIMALS,
    DELIMITERS,
    ENCODINGS,
    MISSING_WORDS,
    QUOTES,
    SIGNS,
    TABLE_FORMATS,
    THOUSANDS,
    Reading,
    guess_series,
    is_images,
    long_roles,
    plural,
    read_frame,
    read_matrices,
)
from smpcore.live import BUNDLED

#: Of the table and its test part: what is wrong with the file; and reading it.
_READ, _READ_TEST = Slot[str]("read"), Slot[str]("read_test")
_READING, _READING_TEST = Slot[Task]("reading read"), Slot[Task]("reading read_test")
_READING_NAMES, _NAMES = Slot[Task]("reading names"), Slot[list[str]]("long_names")
#: Name of the file whose settings are here; which file was read last, with what was
#: said of its columns.
_FILE_NAME, _ADOPTED = Slot[bool]("read_name"), Slot[str]("read_file")
_DETECT = "as detected"
#: How a text table is read: name of each part -> what it may be.
_PARTS: dict[str, Iterable[Any]] = {
    "delimiter": DELIMITERS,
    "quote": QUOTES,
    "escape": ("", "\\"),
    "decimal": DECIMALS,
    "thousands": THOUSANDS,
    "comment": COMMENTS,
    "encoding": ENCODINGS,
    "skip": range(101),
    "header": range(6),
    "footer": range(101),
    "sheet": (),
}
#: Ending of a file of matrices, and what is done with their negative eigenvalues.
_MATRICES = ".npz"
_INDEFINITE = {
    "refuse": "refuse the file",
    "shift": "raise the diagonal",
    "clip": "clip: set them to 0",
    "flip": "flip: make them positive",
    "square": "square all eigenvalues",
    "keep": "keep: similarities only",
}
#: Sheets of a workbook that have a button.
_MOST_SHEETS = 12
_AGAIN = "Upload the file again to change this."
#: Columns whose marks of missing values are listed.
_MOST_MARKS = 50
#: Columns that are shown beside the lines of the file.
_MOST_CUT = 30
_TITLES = {
    "decimal": "Decimal sign",
    "thousands": "Sign between thousands",
    "comment": "Comments begin with",
    "skip": "Lines skipped",
    "header": "Rows of names",
    "footer": "Rows left out at the end",
}


def uploads() -> None:
    """Two file pickers: the table, and a second one as its test part."""
    number = session.get().editions["uploads"]
    left, right = st.columns(2)
    file = left.file_uploader(
        "Your table: CSV, Excel, SPSS, Stata, SAS, JSON, Parquet, ...; series: also "
        ".ts; matrices: .npz; images: .npz, or a .zip with a folder for each class",
        key=f"upload_{number}",
        help=f"{_storage()}, only your browser can see it, and Delete removes it at "
        f"once. Read are {', '.join(TABLE_FORMATS)}, also packed as .zip, .gz, .bz2, "
        ".xz or .zst. A table above 50 MB may fit as Parquet; matrices as float32, one "
        "triangle of each (np.tril), saved by numpy.savez_compressed.",
    )
    test = right.file_uploader(
        "Separate test file (optional)",
        key=f"upload_test_{number}",
        help="The same columns. These rows become the test part and stay closed.",
    )
    if file is not None:
        _forget_settings(file.name)
    if file is not None and _ends(file) == _MATRICES and not _holds_images(file):
        ours = _of_matrices(number)
        read = partial(_read, file, read_matrices, ours)
        _once(_READ, _READING, file, ours, lambda _: read())
        return
    series = _series(file, number)
    if series is not None:
        _once(_READ, _READING, file, series, partial(_table, file))
    _once(_READ_TEST, _READING_TEST, test, {}, partial(_with_test, test))


def _storage() -> str:
    """Where a table is and for how long, as its visitor should know before."""
    where = "in the memory of this server"
    if disk_store.is_used():
        where = "on this server, encrypted with a key that only your browser has,"
    return f"It stays {where} for {table_store.stay()} after your last visit"


def _forget_settings(name: str) -> None:
    """A file of another name is read as detected, whatever was chosen before."""
    if not _FILE_NAME.get(name):
        st.session_state.update({f"reading_{part}": _DETECT for part in _PARTS})
        session.get().read_as = {}
    _FILE_NAME.put(name, True)


def _of_matrices(number: int) -> dict[str, Any]:
    """What the visitor says about a file of matrices: settings for `read_matrices`."""
    left, right = st.columns(2, vertical_alignment="bottom")
    indefinite = left.selectbox(
        "Negative eigenvalues",
        list(_INDEFINITE),
        format_func=_INDEFINITE.get,
        key=f"indefinite_{number}",
        help="A kernel has none. Raising the diagonal by the smallest makes one of the "
        "matrix and leaves similarities of different rows as they are; clip, flip and "
        "square change eigenvalues, and those of new rows alike. Kept as it is, only "
        "methods that need similarities can learn from it.",
    )
    normalise = right.toggle(
        "Normalise to 1 on the diagonal",
        key=f"normalise_{number}",
        help="Each entry is divided by √(k(x, x) k(z, z)).",
    )
    return {"indefinite": indefinite, "normalise": normalise}


def _table(file: Any, settings: Mapping[str, Any]) -> Dataset | None:
    """The table of a file; None while it is being read."""
    dataset = _read(file, read_table, settings)
    return None if dataset is None else _like_before(dataset, file.file_id)


def _read(
    file: Any, reader: Callable[..., Dataset], settings: Mapping[str, Any]
) -> Dataset | None:
    key = file.file_id, tuple(settings.items())
    return read_file(_READING, key, reader, file, file.name, **settings)


def _ends(file: Any) -> str:
    return PurePath(file.name).suffix.lower()


def _series(file: Any, number: int) -> dict[str, Any] | None:
    """What the visitor says about series: settings for `read_table`.

    None while the file is being read for the names of its columns.
    """
    long = st.toggle(
        "Time series in long format",
        key=f"long_{number}",
        help="A row for each sample and time, a column for each channel, and a label "
        "that is the same in all rows of a sample. A .ts file holds series anyway.",
    )
    if file is None or not (long or _holds_series(file)):
        return {}
    columns = st.columns(4)
    settings: dict[str, Any] = {}
    if long and not _holds_series(file):
        try:
            names = _column_names(file)
        except SmpcoreError:
            return {}  # reading it as a table says what is wrong
        if names is None:
            return None
        settings["series"] = _long_columns(columns[:3], names, number)
    n_times = columns[3].number_input(
        "Length of all series",
        1,
        10_000,
        None,
        placeholder="their median",
        key=f"long_times_{number}",
        help="Series of other lengths are resampled to this one, linearly.",
    )
    return settings | ({} if n_times is None else {"n_times": n_times})


def read_as_series(dataset: Dataset) -> None:
    """Offer that an open table holds series, where its columns look like that."""
    source = dataset.reading
    if source is None or not _is_file_here() or dataset.feature_steps:
        return
    offered = source.series if dataset.channels else guess_series(dataset.whole)
    if not offered or offered == "rows":
        return
    words = "yes: a row per series, with a column for each channel and time"
    if offered != "wide":
        sample, time, label = map(short_label, offered)
        words = f"yes: a row per sample ({sample}) and time ({time}); label {label}"
    options, key = {"no": False, words: offered}, f"as_series_{dataset.digest}"
    read_as = session.get().read_as
    st.selectbox(
        "Rows as series",
        [*options],
        int(bool(dataset.channels)),
        key=key,
        help="Prototypes are then drawn against time, a channel is forbidden as a "
        "whole, and similarities may align series.",
        on_change=lambda: read_as.update(series=options[st.session_state[key]]),
    )


def _column_names(file: Any) -> list[str] | None:
    """The columns of a file; None while it is being read."""
    key = file.file_id, tuple(_chosen().items())
    names = _NAMES.get(key)
    if names is None:
        read = read_file(_READING_NAMES, key, read_frame, file, file.name, **_chosen())
        if read is None:
            return None
        names = list(read[0])
        _NAMES.put(key, names)
    return names


def _long_columns(places: list[Any], names: list[str], number: int) -> tuple[str, ...]:
    """The columns of sample, time and label that the visitor chooses."""
    whats = ("sample", "time", "label")
    return tuple(
        column.selectbox(
            f"Column of the {what}",
            names,
            names.index(guess),
            short_label,
            key=f"long_{what}_{number}",
        )
        for column, what, guess in zip(places, whats, _guess(names), strict=True)
    )


def _holds_images(file: Any) -> bool:
    file.seek(0)
    return is_images(file.read())


def _holds_series(file: Any) -> bool:
    rows = TABLE_FORMATS.values()
    return any(_ends(file) in row.endings for row in rows if row.holds_series)


def _guess(names: list[str]) -> tuple[str, str, str]:
    """Columns of the sample, the time and the label: by name, else by place."""
    try:
        return long_roles(names)
    except SmpcoreError:
        return names[0], names[min(1, len(names) - 1)], names[-1]


def _chosen() -> dict[str, Any]:
    """Settings of a text table that the visitor, or a state file, has chosen."""
    awaited = session.get().awaited
    noted = awaited.table.reading if awaited is not None else None
    chosen = {n: st.session_state.get(f"reading_{n}", _DETECT) for n in _PARTS}
    chosen |= session.get().read_as
    chosen = {n: value for n, value in chosen.items() if value != _DETECT}
    of_record = msgspec.structs.asdict(noted) if noted else {}
    return {n: value for n, value in of_record.items() if value is not None} | chosen


def _with_test(file: Any, settings: Mapping[str, Any]) -> Dataset | None:
    dataset = editor.shown()[0]
    options = {**settings, **files.like(dataset)}
    key = file.file_id, tuple(options.items())
    read = read_file(_READING_TEST, key, read_frame, file, file.name, **options)
    return None if read is None else dataset.with_test(read[0], read[2])


def _once(
    slot: Slot[str],
    reading: Slot[Task],
    file: Any,
    series: Mapping[str, Any],
    read: Callable[[Mapping[str, Any]], Dataset | None],
) -> None:
    """Read a file when it or its settings are new, and say what is wrong with it."""
    if file is None:
        stop_reading(reading)
        slot.pop()
        return
    settings = {**_chosen(), **series}
    key = (file.file_id, tuple(settings.items()))
    problem = slot.get(key)
    if problem is None:
        try:
            dataset = read(settings)
            if dataset is None:
                return
            editor.keep(dataset, brought=slot is _READ)
            problem = ""
        except SmpcoreError as error:
            problem = str(error)
        slot.put(key, problem)
        if slot is _READ:  # the test rows belong under the table as read now
            _READ_TEST.pop()
    if problem:
        message(st.error, problem)


def _like_before(dataset: Dataset, file_id: str) -> Dataset:
    """Give a new file with the columns of the table before its roles and steps.

    Not where the same file is read otherwise: then its columns are another matter.
    """
    visit, choice = session.get(), session.current()
    is_same_file = _ADOPTED.get(file_id) is not None
    _ADOPTED.put(file_id, "")
    token = visit.draft or table_store.upload_of(choice)
    if is_same_file or not token or visit.awaited is not None:
        return dataset
    try:
        record = state_file.record_of(table_store.visit(token)[0])
        if not record.has_columns_of(dataset):
            return dataset
        adopted, differences = state_file.apply_record(dataset, record)
    except SmpcoreError:  # the table is gone, or its roles do not fit these rows
        return dataset
    words = "Roles, kinds and cleaning steps of your table before are applied"
    words += f"; this one differs: {'; '.join(differences)}." if differences else "."
    _ADOPTED.put(file_id, words)
    return adopted


def same_columns() -> None:
    """Say that the open file was given roles and steps, and what differs."""
    words = _ADOPTED.last()
    if words and _is_file_here():
        message(st.info, words)


def _is_file_here() -> bool:
    """Whether the file of the table is still in its picker."""
    return _READ.last() is not None


def reading_settings(dataset: Dataset) -> None:
    """How a text file was read, beside its first lines; each part can be changed."""
    source = dataset.reading
    if source is None or not source.words():
        return
    file_is_here = _is_file_here()
    words = escape_markdown(f"Read with {source.words()}: change")
    with st.expander(words, key="how_it_is_read"):  # it stays open when words change
        left, right = st.columns(2)
        left.code("\n".join(source.head), None, line_numbers=True)
        with right:
            head = dataset.whole.iloc[: len(source.head), :_MOST_CUT]
            table(head.astype("str").fillna(""))
        put = st.session_state.__setitem__
        for sign in source.close:
            words = f"Also possible: {SIGNS.get(sign, sign)} between cells"
            _offer(words, put, "reading_delimiter", sign)
        if source.totals:
            words = f"Leave out {plural(source.totals, 'row')} at the end"
            _offer(words, put, "reading_footer", source.footer + source.totals)
        offered = {"skip": source.next_table, "footer": source.footer + source.totals}
        columns = [place for _ in range(3) for place in st.columns(4)]
        parts = {n: v for n, v in _PARTS.items() if v and hasattr(source, n)}
        if source.format != "CSV":
            parts = {n: v for n, v in parts.items() if n in source.options()}
        for column, (name, values) in zip(columns, parts.items(), strict=False):
            used = getattr(source, name)
            if name in offered:
                values = sorted({*values, used, offered[name]})
            column.selectbox(
                f"{_TITLES.get(name, name.capitalize())}: {SIGNS.get(used, used)}",
                [_DETECT, *values],
                format_func=lambda value: SIGNS.get(value, str(value)),
                key=f"reading_{name}",
                disabled=not file_is_here,
                help=None if file_is_here else _AGAIN,
            )
        if source.format == "CSV":
            _widths(source, file_is_here)
            _missing_marks(source, file_is_here)


def _widths(source: Reading, file_is_here: bool) -> None:
    """Cut lines by places; empty: by the sign between cells."""
    now = ", ".join(map(str, source.widths))
    key = f"widths_{now}"
    st.text_input(
        "Fixed widths of columns, the last one apart (such as 10, 6, 8)",
        now,
        key=key,
        on_change=_choose_widths,
        args=(key,),
        disabled=not file_is_here,
        help=None if file_is_here else _AGAIN,
    )


def _choose_widths(key: str) -> None:
    numbers = re.findall(r"\d{1,4}", st.session_state[key])
    session.get().read_as["widths"] = tuple(max(1, int(number)) for number in numbers)


def _missing_marks(source: Reading, file_is_here: bool) -> None:
    """Marks of missing values, with their counts; others can be chosen."""
    counts: Counter[str] = Counter()
    for mark, _, n in source.missing_counts:
        counts[mark] += n
    marks = [*dict.fromkeys([*counts, *source.missing])]
    key = f"missing_marks_{'|'.join([*marks, '', *source.not_missing])}"
    st.multiselect(
        "Read as missing",
        [*dict.fromkeys([*marks, *source.not_missing])],
        marks,
        lambda mark: f"{short_label(mark) or 'empty'} ({counts[mark]:,})",
        key=key,
        accept_new_options=True,
        on_change=_choose_marks,
        args=(key, marks),
        disabled=not file_is_here,
        help=None if file_is_here else _AGAIN,
    )
    if source.missing_counts:
        rows = [
            {"mark": mark or "(empty)", "column": name, "cells": f"{n:,}"}
            for mark, name, n in source.missing_counts[:_MOST_MARKS]
        ]
        table(rows)


def _choose_marks(key: str, before: list[str]) -> None:
    """Have the file read with these marks."""
    read_as, marks = session.get().read_as, st.session_state[key]
    usual = {*MISSING_WORDS} & {*before, *read_as.get("not_missing", ())}
    read_as["missing"] = tuple(mark for mark in marks if mark not in MISSING_WORDS)
    read_as["not_missing"] = tuple(sorted(usual - {*marks}))


def read_otherwise(dataset: Dataset) -> None:
    """Buttons below the notices: another table or sheet, names, what a point is."""
    source, visit = dataset.reading, session.get()
    if source is None:
        return
    put = st.session_state.__setitem__
    if source.doubtful_names:
        words = f"First row is {'data' if source.header else 'names'}"
        _offer(words, put, "reading_header", 1 - source.header)
    if source.next_table:
        words = f"Read the table from line {source.next_table + 1:,} instead"
        _offer(words, put, "reading_skip", source.next_table)
    for title in source.other_sheets[:_MOST_SHEETS]:
        noun = "sheet" if source.format == "Excel" else "table"
        _offer(f"Read the {noun} {title} instead", put, "reading_sheet", title)
    for name, text, read in dict.fromkeys(source.doubtful_points):
        other = text.replace(".", "") if read == text else text
        swapped = tuple({*source.points} ^ {name})
        words = f"{short_label(name)}: read {text} as {other}"
        _offer(words, visit.read_as.__setitem__, "points", swapped)
    for name, read in source.doubtful_levels:
        swapped = tuple({*source.levels} ^ {name})
        words = "missing" if read == "level" else "a level"
        words = f"{short_label(name)}: NA is {words}"
        _offer(words, visit.read_as.__setitem__, "levels", swapped)


def _offer(words: str, change: Callable[..., None], *args: Any) -> None:
    """A button that has the file read otherwise, while it is here."""
    st.button(
        escape_markdown(words),
        key=f"offer_{words}",
        on_click=change,
        args=args,
        disabled=not _is_file_here(),
    )


def copy(dataset: Dataset) -> None:
    """A button that makes a table from elsewhere the visitor's own, to be mended."""
    if session.current().data in BUNDLED:
        return
    visit = session.get()
    st.button(
        "Copy to my tables",
        key="copy_table",
        icon=":material/content_copy:",
        on_click=setattr,
        args=(visit, "copy_wanted", True),
        help="To change the roles of its columns.",
    )
    if visit.copy_wanted:
        visit.copy_wanted = False
        with problems_shown(st.error):
            editor.keep(replace(dataset, private=True), brought=True)
            st.rerun()
