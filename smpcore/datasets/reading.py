"""How a file was read."""

from dataclasses import dataclass
from typing import Any


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
    """

    format: str
    delimiter: str = ""
    decimal: str = ""
    encoding: str = ""
    header: bool = True
    series: tuple[str, ...] = ()
    n_times: int | None = None
    filename: str = ""

    def options(self) -> dict[str, Any]:
        """Arguments with which `read_table` reads the file the same way again."""
        names = ("delimiter", "decimal", "encoding", "series", "n_times")
        options = {name: getattr(self, name) for name in names if getattr(self, name)}
        return options if self.header else options | {"header": False}
