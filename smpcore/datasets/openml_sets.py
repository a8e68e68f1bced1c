"""Data sets of OpenML: search them, and load one through the openml package.

The package runs in a process of its own (`openml_process`): that one can be stopped,
has a time limit and a memory limit, and keeps what it fetched in openml's own cache.
Importing the package takes seconds, so a process answers one request after another.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from smpcore.datasets.arff_reader import read_arff
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import clean_names, shown
from smpcore.datasets.limits import MAX_BYTES, MAX_ROWS, MAX_TABLE_BYTES, read_bytes
from smpcore.datasets.process_pool import ProcessPool
from smpcore.datasets.reading import ReadingOptions
from smpcore.datasets.table_formats import make_dataset
from smpcore.errors import DatasetError

log = logging.getLogger(__name__)

#: Names of the searched columns here, for those of the service.
COLUMNS = {
    "did": "id",
    "name": "name",
    "version": "version",
    "format": "format",
    "NumberOfInstances": "rows",
    "NumberOfFeatures": "columns",
    "NumberOfClasses": "classes",
    "NumberOfMissingValues": "missing values",
}
_SCRIPT = Path(__file__).with_name("openml_process.py")
#: After so many seconds without a request a process ends, and after one that left it
#: so much larger than it was; else the next one would have less memory.
IDLE_SECONDS, MAX_GROWTH_BYTES = 60.0, 100_000_000


def _command(idle_seconds: float, max_growth: int) -> list[object]:
    return [sys.executable, "-P", _SCRIPT, idle_seconds, max_growth]


_pool = ProcessPool(_command(IDLE_SECONDS, MAX_GROWTH_BYTES), stderr=subprocess.DEVNULL)
atexit.register(_pool.close)
#: Environment variable: another service that speaks OpenML's language.
SERVER = "SPE_OPENML_SERVER"
_SENTENCES = {
    "forbidden": "OpenML does not give {what} to everybody; choose another one.",
    "checksum": "What OpenML sent for {what} is not what it has stored (the checksum "
    "differs); nothing was kept, try again later.",
    "refused": "OpenML has no {what} (it said {message}); choose another one.",
    "cut": "OpenML stopped in the middle of {what}; nothing was kept, try again.",
    "offline": "OpenML cannot be reached for {what}; the bundled data and your own "
    "files work without it, or try again later.",
    "disk": "This machine cannot keep {what}: the disk is full, or the folder for "
    "data of OpenML cannot be written to; contact its operator.",
    "ended": "The process that fetches {what} was ended, maybe for want of memory; "
    "nothing was kept, try again.",
    "memory": "{what} is too large to be read here; choose a smaller one.",
    "broken": "OpenML's answer for {what} cannot be read; try again later, or choose "
    "another one.",
}

Doing = Callable[[str], None]


def search_openml(
    text: str = "",
    max_rows: int = MAX_ROWS,
    max_columns: int = 10_000,
    *,
    seconds: float = 120.0,
    stop: np.ndarray | None = None,
    doing: Doing = lambda words: None,
) -> pd.DataFrame:
    """Find data sets by a part of their name.

    Parameters
    ----------
    text : str
        Part of the name, in any case; a number finds that id, too.
    max_rows, max_columns : int
        Largest sizes wanted; sets of unknown size are left out.
    seconds : float
        How long to wait at most for the list, which is fetched once a day.
    stop : ndarray of int, shape (1,), optional
        Give up when it is not 0.
    doing : callable
        Told in words what is being done.

    Returns
    -------
    DataFrame
        `COLUMNS`; whole names first, then beginnings, then by id.

    Raises
    ------
    DatasetError
        If OpenML cannot be reached and no earlier list is there.
    """
    columns, what = {"columns": list(COLUMNS)}, "the list of data sets"
    listed = _ask("listing", columns, what, seconds, stop, doing)
    frame = pd.DataFrame(listed["rows"], columns=list(COLUMNS.values()))
    wanted = text.strip().casefold()
    names = frame["name"].astype(str).str.casefold()
    matches = names.str.contains(wanted, regex=False)
    matches |= frame["id"].astype(str) == wanted
    fits = (frame["rows"] <= max_rows) & (frame["columns"] <= max_columns)
    rank = np.where(names == wanted, 0, np.where(names.str.startswith(wanted), 1, 2))
    order = np.lexsort((frame["id"], rank))
    return frame.iloc[order][(matches & fits).to_numpy()[order]].reset_index(drop=True)


def _read_here(reader: Callable[..., Dataset], path: Path, *args: Any) -> Dataset:
    with path.open("rb") as file:
        return reader(file, *args)


def fetch_openml(
    number: int,
    *,
    seconds: float = 120.0,
    stop: np.ndarray | None = None,
    doing: Doing = lambda words: None,
    read: Callable[..., Dataset] = _read_here,
) -> Dataset:
    """Load a data set of OpenML, from openml's cache if it was loaded before.

    Parameters
    ----------
    number : int
        Id of the data set on OpenML, from 1.
    seconds : float
        How long to wait at most.
    stop : ndarray of int, shape (1,), optional
        Give up when it is not 0.
    doing : callable
        Told in words what is being done.
    read : callable
        ``read(reader, path, *args)`` opens the file and returns what
        ``reader(file, *args)`` does, maybe in another process.

    Returns
    -------
    Dataset
        With OpenML's own target and without the columns that it ignores.

    Raises
    ------
    DatasetError
        In one sentence: offline, no such set, too large, not readable, too slow.
    """
    what = f"data set {number}"
    if isinstance(number, bool) or int(number) != number or not 0 < number < 10**9:
        raise DatasetError(
            f"number={shown(number)} should be a whole number above 0, as OpenML "
            "numbers its data sets."
        )
    most = MAX_TABLE_BYTES // 8
    limits = {"number": int(number), "max_rows": MAX_ROWS, "max_cells": most}
    done = _ask("fetch", limits, what, seconds, stop, doing)
    if "too_large" in done:
        n_rows, n_cells = done["too_large"]
        raise DatasetError(
            f"OpenML's {what} has {n_rows:,.0f} rows and {n_cells:,.0f} cells, at most "
            f"{MAX_ROWS:,} rows and {most:,} cells are read; choose a smaller one."
        )
    doing("Reading the rows")
    try:
        return read(_dataset, Path(done["path"]), number, done)
    except DatasetError as error:
        raise DatasetError(f"OpenML's {what} cannot be read. {error}") from error


def _dataset(file: BinaryIO, number: int, done: dict) -> Dataset:
    table = read_arff(read_bytes(file), ReadingOptions())
    frame = table.frame
    names, _ = clean_names(frame.columns)
    new_name = dict(zip(map(str, frame.columns), names, strict=True))
    notices = [*table.notices]
    targets = [t.strip() for t in (done["target"] or "").split(",") if t.strip()]
    roles = {names[place]: role for place, role in table.roles.items()}
    roles |= {new_name[n]: "ignore" for n in done["ignored"] if n in new_name}
    if targets and targets[0] in new_name:
        roles[new_name[targets[0]]] = "target"
        others = [new_name[name] for name in targets[1:] if name in new_name]
        roles.update(dict.fromkeys(others, "ignore"))
        if others:
            notices.append(
                f"OpenML names {len(targets)} targets; {shown(targets[0])} was taken, "
                "the others are left out."
            )
    else:
        notices.append("OpenML names no target for this data set; check the guess.")
    texts = [new_name[str(n)] for n in frame if frame[n].dtype.kind not in "fiub"]
    return make_dataset(
        frame,
        done["name"].strip()[:80] or f"OpenML {number}",
        kinds=dict.fromkeys(texts, "category"),
        roles=roles,
        notices=tuple(notices),
        source=f"OpenML {number}, version {done['version']}",
        reading=table.reading,
        sample_shape=table.shape,
    )


def _ask(
    verb: str,
    settings: dict,
    what: str,
    seconds: float,
    stop: np.ndarray | None,
    doing: Doing,
) -> dict:
    """Send a request, pass on what the process does, and return what it found."""
    # The environment names openml's cache, its settings, proxies and certificates.
    request = settings | {"verb": verb, "environment": dict(os.environ)}
    request |= {"server": os.environ.get(SERVER, ""), "max_bytes": MAX_BYTES}
    start = time.monotonic()
    with closing(_pool.messages(request)) as messages:
        for message in messages:
            if stop is not None and stop[0]:
                raise DatasetError(f"Stopped; nothing of {what} was kept.")
            if time.monotonic() - start > seconds:
                raise DatasetError(
                    f"OpenML did not send {what} within {seconds:.0f} s; nothing "
                    "was kept, try again later or choose a smaller one."
                )
            if message is None:
                continue
            if "doing" in message:
                doing(message["doing"])
            elif "done" in message:
                log.info("OpenML: %s in %.1f s", what, time.monotonic() - start)
                return message["done"]
            else:
                text = shown(message["message"], 120)
                log.info("OpenML: %s failed: %s", what, message)
                sentence = _SENTENCES[message["failed"]]
                words = sentence.format(what=what, message=text)
                raise DatasetError(words[0].upper() + words[1:])
    log.warning("OpenML: the process ended before it had answered for %s", what)
    raise DatasetError(_SENTENCES["ended"].format(what=what))
