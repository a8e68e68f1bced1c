"""How a file is to be read, and how it was read."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ReadingOptions:
    """How a file is to be read; what is None is detected.

    Attributes
    ----------
    delimiter, decimal, encoding : str, optional
        Of a text table, see `read_delimited`.
    header : bool, optional
        Whether the first row of a text table holds the column names.
    series : bool or (str, str, str)
        The table is long: a row per sample and time, with columns "sample" and "time",
        channels and a label, see `from_long`; it becomes a row per sample. Three names
        say which columns are the sample, the time and the label. A .ts file holds
        series in any case.
    n_times : int, optional
        Series are resampled to this length; by default to their median length.
    sample : bool
        Of a Parquet file that is too large, a sample of its rows is read, see
        `sample_parquet`; else such a file is refused.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    series: bool | tuple[str, str, str] = False
    n_times: int | None = None
    sample: bool = False


@dataclass(frozen=True)
class Reading:
    """How a file was read: what was detected, or what was asked for instead.

    Attributes
    ----------
    format : {"CSV", "ARFF", "Parquet", "ts"}
        File format; "CSV" stands for every text table.
    delimiter, decimal, encoding : str
        Empty where the format leaves no choice.
    header : bool
        Whether the first row holds the column names.
    series : tuple of str
        Columns of the sample, the time and the label of a long table of series; empty
        if the table is not long.
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
    header: bool = True
    series: tuple[str, ...] = ()
    n_times: int | None = None
    filename: str = ""
    sampled_from: int = 0

    def options(self) -> dict[str, Any]:
        """Arguments with which `read_table` reads the file the same way again."""
        names = ("delimiter", "decimal", "encoding", "series", "n_times")
        options = {name: getattr(self, name) for name in names if getattr(self, name)}
        options |= {"sample": True} if self.sampled_from else {}
        return options if self.header else options | {"header": False}
