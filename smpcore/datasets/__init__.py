"""Data: tables with roles, their split into parts, and their preparation."""

from smpcore.datasets.arrange import Origin
from smpcore.datasets.bundled import (
    DatasetInfo,
    list_datasets,
    load_dataset,
)
from smpcore.datasets.checks import (
    MAX_CLASSES,
    check_fit,
    find_duplicates,
    telling_features,
)
from smpcore.datasets.columns import shown
from smpcore.datasets.dataset import Dataset, Reading
from smpcore.datasets.delimited import DECIMALS, DELIMITERS, ENCODINGS
from smpcore.datasets.limits import MAX_BYTES, MAX_CELLS, MAX_COLUMNS, MAX_ROWS
from smpcore.datasets.preparation import Input, Preparation, prepare
from smpcore.datasets.splits import Split, split
from smpcore.datasets.tables import make_dataset, read_frame, read_table

__all__ = [
    "DECIMALS",
    "DELIMITERS",
    "ENCODINGS",
    "MAX_BYTES",
    "MAX_CELLS",
    "MAX_CLASSES",
    "MAX_COLUMNS",
    "MAX_ROWS",
    "Dataset",
    "DatasetInfo",
    "Input",
    "Origin",
    "Preparation",
    "Reading",
    "Split",
    "check_fit",
    "find_duplicates",
    "list_datasets",
    "load_dataset",
    "make_dataset",
    "prepare",
    "read_frame",
    "read_table",
    "shown",
    "split",
    "telling_features",
]
