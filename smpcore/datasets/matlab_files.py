"""Files of MATLAB: arrays of numbers, and labels beside them, become one table."""

import zlib
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd

from smpcore.datasets.columns import canonical, framed, narrowed
from smpcore.datasets.limits import MAX_EXPANDED, check_expanded, check_size
from smpcore.datasets.plain_rows import check_columns, without_values
from smpcore.datasets.reading import (
    FileTable,
    Reading,
    ReadingOptions,
    damage_in_words,
)
from smpcore.errors import DatasetError

_HEAD, _TAG, _PACKED = 128, 8, 15
_BLOCK = 65_536
#: Names of labels, the likeliest last: the last column is the one to predict.
_LABELS = ("name", "group", "t", "gnd", "class", "classes", "labels", "label", "target")
_LABELS = (*_LABELS, "targets", "y")


def is_matlab(data: bytes) -> bool:
    """Whether this is a .mat file, of version 4 or later."""
    if data.startswith(b"MATLAB "):
        return True
    # Version 4: a type, rows, columns, whether it is complex, and the name's length.
    kind, n_rows, n_columns, is_complex, n_letters = (
        int.from_bytes(data[place : place + 4], "little") for place in range(0, 20, 4)
    )
    plausible = kind < 53 and is_complex < 2 and 1 < n_letters < 64
    plausible = plausible and 0 < n_rows * n_columns * 8 <= 64 * len(data)
    return plausible and data[19 + n_letters : 20 + n_letters] == b"\0"


def read_matlab(data: bytes, options: ReadingOptions) -> FileTable:
    """Read the largest array of numbers, and what has a value for each of its rows."""
    from scipy.io import loadmat, whosmat

    if data.startswith(b"MATLAB 7.3"):
        raise DatasetError(
            "The file is of MATLAB 7.3, which is another format (HDF5); save it with "
            "save(file, variables, '-v7')."
        )
    with damage_in_words("The MATLAB file", "save it again, or as CSV with writetable"):
        _check_packed(data)
        about = whosmat(BytesIO(data))
        size = sum(8 * int(np.prod(shape, dtype=object)) for _, shape, _ in about)
        remedy = "take fewer rows or columns"
        check_expanded("The MATLAB file", size, MAX_EXPANDED, remedy)
        arrays = loadmat(BytesIO(data), chars_as_strings=True)
    arrays = {name: a for name, a in arrays.items() if not name.startswith("__")}
    values = {name: _values(array) for name, array in arrays.items()}
    tables = {name: array for name, array in values.items() if array is not None}
    check_columns([*tables], "MATLAB file")
    largest = max(
        tables.values(), key=lambda array: (array.dtype != object, array.size)
    )
    n_rows = max(largest.shape) if 1 in largest.shape else len(largest)
    columns, names, labels, left_out = [], [], {}, []
    for name in arrays:
        array = tables.get(name)
        array = None if array is None else _by_rows(array, n_rows)
        if array is None:
            left_out.append(name)
        elif array.shape[1] == 1:
            labels[name] = array[:, 0]
        else:
            check_size(n_rows, len(columns) + array.shape[1])
            columns += [_stored(column) for column in array.T]
            names += [f"{name}_{place + 1}" for place in range(array.shape[1])]
    for name in sorted(labels, key=label_rank):
        columns.append(_stored(labels[name]))
        names.append(name)
    frame = framed(columns, names)
    return FileTable(frame, Reading("MATLAB"), without_values(left_out))


def label_rank(name: str) -> int:
    """How likely an array of this name holds labels; -1 if it does not."""
    return _LABELS.index(name.lower()) if name.lower() in _LABELS else -1


def _check_packed(data: bytes) -> None:
    """Refuse what would be too large once it is unpacked, block by block."""
    if not data.startswith(b"MATLAB "):
        return
    order = "big" if data[126:128] == b"MI" else "little"
    place, size = _HEAD, 0
    while place + _TAG <= len(data):
        kind = int.from_bytes(data[place : place + 4], order)
        n_bytes = int.from_bytes(data[place + 4 : place + 8], order)
        place += _TAG
        if kind == _PACKED:
            unpacker, rest = zlib.decompressobj(), data[place : place + n_bytes]
            while rest and not unpacker.eof:
                size += len(unpacker.decompress(rest, _BLOCK))
                rest = unpacker.unconsumed_tail
                remedy = "take fewer variables, rows or columns"
                check_expanded("The MATLAB file", size, MAX_EXPANDED, remedy)
        place += n_bytes


def _values(array: Any) -> np.ndarray | None:
    """An array of numbers or of texts as rows and columns; None: it is neither."""
    if hasattr(array, "toarray"):
        check_size(*array.shape)
        array = array.toarray()
    array = np.asarray(array)
    if array.dtype.kind == "U":  # a text in each row
        return array.reshape(-1, 1).astype(object) if array.size else None
    if array.dtype.kind == "O" and array.ndim == 2:
        cells = [_cell(cell) for cell in array.ravel()]
        if not array.size or any(cell is None for cell in cells):
            return None
        return np.array(cells, dtype=object).reshape(array.shape)
    is_number = array.dtype.kind in "biuf" and array.ndim == 2 and array.size
    return array if is_number else None


def _cell(cell: Any) -> str | float | None:
    """A text or number that a cell holds alone; None: it holds something else."""
    cell = np.asarray(cell)
    if cell.dtype.kind == "U":
        return str(cell.ravel()[0]) if cell.size == 1 else "" if not cell.size else None
    return (
        float(cell.ravel()[0]) if cell.dtype.kind in "biuf" and cell.size == 1 else None
    )


def _by_rows(array: np.ndarray, n_rows: int) -> np.ndarray | None:
    """An array with a row for each row of the table; None: it has none."""
    if len(array) == n_rows:
        return array
    return array.T if array.shape == (1, n_rows) else None


def _stored(column: np.ndarray) -> Any:
    if column.dtype.kind == "O":
        return canonical(pd.Series([*column])).array
    return narrowed(column.astype(np.float64))
