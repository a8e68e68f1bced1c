"""How a file is to be read, and how it was read."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from smpcore.datasets.display_names import plural
from smpcore.errors import DatasetError

#: Names of signs that are hard to see.
SIGNS = {
    "\t": "tab",
    "\x1f": "unit separator",
    " ": "one blank",
    "whitespace": "blanks",
    "": "none",
}


@contextmanager
def damage_in_words(what: str, remedy: str) -> Iterator[None]:
    """Refuse a file that a library cannot take apart, in words; lack of memory is
    raised.

    Libraries raise whatever they meet in a damaged file.
    """
    try:
        yield
    except (DatasetError, MemoryError):  # the latter is Arrow's, too
        raise
    except Exception as error:
        raise DatasetError(
            f"{what} cannot be read, it seems to be cut off or damaged; {remedy}."
        ) from error


@dataclass(frozen=True)
class ReadingOptions:
    """How a file is to be read; what is None is detected.

    Attributes
    ----------
    delimiter, decimal, encoding, quote, escape : str, optional
        Of a text table, see `read_delimited`.
    header : int, optional
        Rows of a text table that hold the column names, mostly 1 or 0.
    skip, footer : int, optional
        Lines above the names, and rows at the end, that belong to no table.
    sheet : str
        Of a workbook; else, or if it has none of this name, the first with a table.
    widths : tuple of int
        Letters of each column but the last one, where lines are cut by their places;
        empty: by a delimiter, or as detected.
    thousands : str, optional
        The sign between thousands in a text table.
    comment : str, optional
        Lines of a text table that begin with it are left out.
    written : tuple of str
        Columns of a text table whose cells stay as they are written, numbers too.
    points : tuple of str
        Columns of a text table whose points are read the other way: they part
        thousands, or stand before decimals, see `Reading.doubtful_points`.
    missing : tuple of str, optional
        Marks of a missing value in a text table besides `MISSING_WORDS`; by default
        words such as "-" or "k.A." that stand in a column of numbers.
    not_missing : tuple of str
        Those of `MISSING_WORDS` that are values here.
    levels : tuple of str
        Columns of a text table whose NA is read the other way: a level of its own, or
        a missing value, see `Reading.doubtful_levels`.
    usual_decimal : str
        The sign before decimals where no number of a text table leaves no doubt.
    series : bool, "rows", "wide" or (str, str, str)
        The table is long: a row per sample and time, with columns "sample" and "time",
        channels and a label, see `from_long`; it becomes a row per sample. Three names
        say which columns are the sample, the time and the label; "rows": each row is a
        label and the values of one series; "wide": with a column for each channel and
        time (x_1, x_2, ..., y_1, ...), see `guess_series`. A .ts file holds series in
        any case.
    n_times : int, optional
        Series are resampled to this length; by default to their median length.
    sample : bool
        Of a Parquet file that is too large, a sample of its rows is read, see
        `sample_parquet`; else such a file is refused.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: int | None = None
    quote: str | None = None
    escape: str | None = None
    skip: int | None = None
    footer: int | None = None
    sheet: str = ""
    widths: tuple[int, ...] = ()
    thousands: str | None = None
    comment: str | None = None
    written: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    not_missing: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    usual_decimal: str = ""
    series: bool | str | tuple[str, str, str] = False
    n_times: int | None = None
    sample: bool = False


@dataclass(frozen=True)
class Reading:
    """How a file was read: what was detected, or what was asked for instead.

    Attributes
    ----------
    format : str
        A key of `TABLE_FORMATS`; "CSV" stands for every text table.
    delimiter, decimal, encoding, quote, escape : str
        Empty where the format leaves no choice, ``decimal`` also where no number of
        the table tells.
    header : int
        Rows that hold the column names.
    skip, footer : int
        Lines above the names, and rows at the end, that were left out.
    next_table : int
        Lines above the next table, if one of those rows begins it; else 0.
    widths : tuple of int
        As in `ReadingOptions`: what was detected, or asked for.
    thousands, comment : str
        Of a text table, as asked for.
    sheet, other_sheets : str, tuple of str
        The sheet of a workbook that was read, and those that were not.
    row_names : str
        Column of names of rows, which has no name in the file; mostly there is none.
    totals : int
        Rows at the end that look like totals or notes, and were read.
    points : tuple of str
        Columns whose points were read the other way, as was asked for.
    doubtful_points : tuple of (str, str, str)
        Columns with numbers such as 1.234 only, one of these, and what it was read as.
    missing, not_missing, levels : tuple of str
        As in `ReadingOptions`: what was detected, or asked for.
    missing_counts : tuple of (str, str, int)
        Marks of missing values, each with a column and how many of its cells have it.
    doubtful_levels : tuple of (str, str)
        Columns whose NA may be a level, each with "level" or "missing" as it was read.
    doubtful_names : bool
        Whether the first row, read as names if ``header`` is 1, may be data, or the
        other way.
    close : tuple of str
        Other delimiters that may be right.
    head : tuple of str
        The first lines as they stand in the file.
    series : tuple of str, "rows" or "wide"
        Columns of the sample, the time and the label of a long table of series, or
        that each row was a series; empty if the table holds none.
    n_times : int, optional
        Length that was asked for, to which series were resampled.
    filename : str
        Name the file had.
    sampled_from : int
        Rows of the file of which some were read; 0: all were.
    """

    format: str
    delimiter: str = ""
    decimal: str = ""
    encoding: str = ""
    header: int = 1
    quote: str = ""
    escape: str = ""
    skip: int = 0
    footer: int = 0
    next_table: int = 0
    widths: tuple[int, ...] = ()
    thousands: str = ""
    comment: str = ""
    sheet: str = ""
    other_sheets: tuple[str, ...] = ()
    row_names: str = ""
    totals: int = 0
    points: tuple[str, ...] = ()
    doubtful_points: tuple[tuple[str, str, str], ...] = ()
    missing: tuple[str, ...] = ()
    not_missing: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    missing_counts: tuple[tuple[str, str, int], ...] = ()
    doubtful_levels: tuple[tuple[str, str], ...] = ()
    doubtful_names: bool = False
    close: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    series: tuple[str, ...] | str = ()
    n_times: int | None = None
    filename: str = ""
    sampled_from: int = 0

    def words(self) -> str:
        """How the text is cut, in a sentence without its end; empty if it is no text.

        Returns
        -------
        str
        """
        if self.format not in ("CSV", "Excel"):
            return ""
        first, last = self.skip + 1, self.skip + self.header
        lines = f"line {first}" if last == first else f"lines {first} to {last}"
        sign = SIGNS.get(self.delimiter, self.delimiter)
        parts = {
            f"{plural(self.skip, 'line')} skipped": self.skip,
            f"{sign} between cells": self.delimiter,
            f"widths {', '.join(map(str, self.widths))}": self.widths,
            f"quotation marks {self.quote}": self.quote == "'",
            "backslash before quotation marks": self.escape,
            "decimal comma": self.decimal == ",",
            f"names in {lines}" if self.header else "no names": True,
            f"{plural(self.footer, 'row')} at the end left out": self.footer,
            f"encoding {self.encoding}": self.encoding,
        }
        return ", ".join(words for words, is_so in parts.items() if is_so)

    def options(self) -> dict[str, Any]:
        """Arguments with which `read_table` reads the file the same way again."""
        names = ["delimiter", "encoding", "sheet", "series", "n_times"]
        options = {name: getattr(self, name) for name in names if getattr(self, name)}
        options |= {"sample": True} if self.sampled_from else {}
        if self.format in ("CSV", "Excel"):
            names = ["header", "skip", "footer"]
            names += ["quote", "escape", "points"] if self.format == "CSV" else []
            options |= {name: getattr(self, name) for name in names}
        if self.format == "CSV":
            options["decimal"] = self.decimal or None
            names = [
                "widths",
                "thousands",
                "comment",
                "missing",
                "not_missing",
                "levels",
            ]
            options |= {
                name: getattr(self, name) for name in names if getattr(self, name)
            }
        return options


#: Units of time, in seconds.
SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
SECONDS |= {"sec": 1, "seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}


class TimeAxis(NamedTuple):
    """When the values of series were taken: evenly, from the first one on.

    Attributes
    ----------
    first, step : float
        Time of the first value, and from one to the next.
    unit : str
        Of both; empty: none is known.
    name : str
        What is measured, as the axis of a chart says it.
    """

    first: float = 1.0
    step: float = 1.0
    unit: str = ""
    name: str = "time step"

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    @property
    def rate(self) -> float | None:
        """Values per second, if the unit says so."""
        seconds = SECONDS.get(self.unit, 0.0) * self.step
        return 1 / seconds if seconds else None

    def times(self, n_times: int) -> np.ndarray:
        """Time of each value.

        Parameters
        ----------
        n_times : int
            Values of a series.

        Returns
        -------
        ndarray of shape (n_times,)
        """
        return self.first + self.step * np.arange(n_times)


def declared_times(seconds: float) -> TimeAxis:
    """Seconds from the first value on, as a visitor declares them.

    Parameters
    ----------
    seconds : float
        From one value to the next.

    Returns
    -------
    TimeAxis
    """
    return TimeAxis(0.0, seconds, "s", "time")


class FileTable(NamedTuple):
    """What a file holds, and what it says about that.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
    reading : Reading
    notices : sequence of str
        What was changed.
    shape : tuple of int
        Channels and times, if every row is a series.
    time_axis : TimeAxis, optional
        When the values of series were taken, if the file says so.
    numbers : ndarray of int, optional
        Number of each row in the file, from 1, where only some of them were read.
    roles, kinds : mapping of int to str
        Of columns by their places, as far as the file names them.
    """

    frame: pd.DataFrame
    reading: Reading
    notices: Sequence[str] = ()
    shape: tuple[int, int] | tuple[()] = ()
    numbers: np.ndarray | None = None
    roles: Mapping[int, str] = {}
    kinds: Mapping[int, str] = {}
    time_axis: TimeAxis | None = None
