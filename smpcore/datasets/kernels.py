"""Kernels that a visitor brings: an .npz file, read without running anything in it."""

import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import BinaryIO, NamedTuple

import numpy as np

from smpcore.datasets.display_names import shown
from smpcore.datasets.limits import read_bytes
from smpcore.errors import DatasetError

#: Memory that the arrays of one file may take, in bytes.
MAX_KERNEL_BYTES = 2**30
#: Arrays in one file, at most.
MAX_KERNELS = 1_000
#: Characters of a label or a name of a row, at most.
MAX_LABEL = 1_000
#: What each entry of an archive's directory begins with.
_ENTRY = b"PK\x01\x02"
#: Names of the arrays that hold a label, or a name, of each row instead of a kernel.
LABELS, ROW_NAMES = "y", "names"

_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError)
_REMEDY = "save it with numpy.savez_compressed and arrays of numbers"


class KernelFile(NamedTuple):
    """Kernels side by side, as ``IMKPLClassifier(kernels="precomputed")`` wants them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_samples * n_kernels)
        Row i of kernel l is ``X[i, l * n_samples : (l + 1) * n_samples]``.
    names : tuple of str
        Of the kernels, in the order of the file.
    y : ndarray of shape (n_rows,), or None
        The array "y", if the file has one.
    row_names : ndarray of shape (n_rows,), or None
        The array "names", if the file has one.
    """

    X: np.ndarray
    names: tuple[str, ...]
    y: np.ndarray | None
    row_names: np.ndarray | None = None


class Matrix(NamedTuple):
    """One of the matrices that a data set is made of, with what a method must know.

    Attributes
    ----------
    name : str
        As in the file.
    least : float
        Its smallest eigenvalue; 0 of a matrix without negative ones.
    even : bool
        The same positive number stands everywhere on its diagonal.
    spectral_map : ndarray of shape (n_samples, n_samples), optional
        What similarities of new rows are multiplied by, where its eigenvalues were
        changed.
    """

    name: str
    least: float = 0.0
    even: bool = True
    spectral_map: np.ndarray | None = None


def read_kernels(source: bytes | BinaryIO, n_samples: int | None = None) -> KernelFile:
    """Read kernels from an .npz file: an array for each kernel, and labels as "y".

    The array "names" may hold a name for each row.
    Sizes are checked before anything is unpacked; pickled objects are refused unread.
    What makes a square table a kernel (symmetry, diagonal, eigenvalues) is checked by
    the fit.

    Parameters
    ----------
    source : bytes or binary file
        The content of the file.
    n_samples : int, optional
        Rows that a model was fitted on: kernels are between new rows and those,
        (n_rows, n_samples). By default they are square, to fit.

    Returns
    -------
    KernelFile

    Raises
    ------
    DatasetError
        If the file is damaged, too large, or its arrays are no kernels of one size.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from smpcore import IMKPLClassifier
    >>> from smpcore.datasets import read_kernels
    >>> x, file = np.arange(6.0), io.BytesIO()
    >>> near = np.exp(-((x[:, None] - x) ** 2))
    >>> np.savez_compressed(file, near=near, far=near**0.1, y=x > 2)
    >>> found = read_kernels(file)
    >>> found.X.shape, found.names
    ((6, 12), ('near', 'far'))
    >>> estimator = IMKPLClassifier(
    ...     kernels="precomputed", standardize=False, n_prototypes=2
    ... )
    >>> float(estimator.fit(found.X, found.y).score(found.X, found.y))
    1.0
    """
    return unpack_kernels(source, n_samples)


def unpack_kernels(
    source: bytes | BinaryIO,
    n_samples: int | None = None,
    check_size: Callable[[int, int, int], None] = lambda *sizes: None,
) -> KernelFile:
    """Read kernels, see `read_kernels`; their sizes are checked before they are
    read.
    """
    data = read_bytes(source)
    _check_entries(data.count(_ENTRY) // 2)  # some may stand in an array by chance
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
            _check_directory(entries)
            headers = {_name(entry): _header(archive, entry) for entry in entries}
            _check_headers(headers, n_samples, check_size)
            arrays = {_name(entry): _array(archive, entry) for entry in entries}
    except DatasetError:
        raise
    except _DAMAGED as error:
        raise DatasetError(
            "The .npz file cannot be read, it seems to be cut off, damaged or of "
            f"another kind; {_REMEDY}."
        ) from error
    y, row_names = arrays.pop(LABELS, None), arrays.pop(ROW_NAMES, None)
    for name, kernel in arrays.items():
        wrong = np.argwhere(~np.isfinite(kernel))
        if len(wrong):
            row, column = wrong[0]
            raise DatasetError(
                f"{shown(name)} has {len(wrong)} entries that are no finite numbers, "
                f"the first in row {row + 1}, column {column + 1}; compute them again."
            )
    X = np.hstack([kernel.astype(np.float64) for kernel in arrays.values()])
    return KernelFile(X, tuple(arrays), y, row_names)


class _Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype


def _name(entry: zipfile.ZipInfo) -> str:
    return entry.filename.removesuffix(".npy")


def _check_directory(entries: list[zipfile.ZipInfo]) -> None:
    """Refuse what would be too much, or twice there, by the archive's own directory."""
    _check_entries(len(entries))
    _check_bytes(sum(entry.file_size for entry in entries))
    names = [_name(entry) for entry in entries]
    for entry in entries:
        is_readable = entry.compress_type in _PACKED and not entry.flag_bits & 1
        is_readable = is_readable and entry.filename.endswith(".npy")
        if not is_readable or names.count(_name(entry)) > 1:
            raise DatasetError(
                f"The .npz file holds {shown(entry.filename)}, which is no array of "
                f"its own; {_REMEDY}."
            )


def _check_entries(number: int) -> None:
    if number > MAX_KERNELS:
        raise DatasetError(
            f"The .npz file has more than {MAX_KERNELS:,} arrays; leave kernels out."
        )


def _check_bytes(size: int) -> None:
    if size > MAX_KERNEL_BYTES:
        raise DatasetError(
            f"The .npz file expands to {size / 1e6:,.0f} MB, at most "
            f"{MAX_KERNEL_BYTES / 1e6:,.0f} MB are read; take fewer rows or kernels."
        )


def _header(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> _Header:
    """What an array says of itself; its values stay packed."""
    with archive.open(entry) as file:
        # Headers of later versions may be as long as the file; numbers need none.
        if np.lib.format.read_magic(file) != (1, 0):
            raise DatasetError(
                f"{shown(_name(entry))} is of a format that is not read; {_REMEDY}."
            )
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        promised = int(np.prod([1, *shape], dtype=object)) * dtype.itemsize
        if not dtype.hasobject and promised != entry.file_size - file.tell():
            raise DatasetError(
                f"{shown(_name(entry))} says that it has {promised:,} bytes of "
                f"numbers and has {entry.file_size - file.tell():,}; {_REMEDY}."
            )
    return _Header(shape, dtype)


def _check_headers(
    headers: dict[str, _Header],
    n_samples: int | None,
    check_size: Callable[[int, int, int], None],
) -> None:
    """Refuse objects and wrong shapes, before any value is read."""
    of_rows = LABELS, ROW_NAMES
    kernels = {name: head for name, head in headers.items() if name not in of_rows}
    if not kernels:
        raise DatasetError("The .npz file holds no kernel; save at least one array.")
    for name, head in headers.items():
        if head.dtype.hasobject:
            raise DatasetError(
                f"{shown(name)} holds pickled Python objects, which could run "
                "anything and are not read; save it as numbers, labels as text or "
                "whole numbers."
            )
    # All become 8-byte numbers, once apart and once side by side.
    sizes = [int(np.prod([1, *h.shape], dtype=object)) for h in kernels.values()]
    _check_bytes(16 * sum(sizes))
    first = next(iter(kernels))
    for name, (shape, dtype) in kernels.items():
        if dtype.kind not in "biuf":
            raise DatasetError(f"{shown(name)} holds no real numbers; {_REMEDY}.")
        wide = n_samples or (shape[0] if shape else 0)
        if len(shape) != 2 or shape[1] != wide or not shape[0]:
            should = "be square"
            if n_samples is not None:
                should = f"have {n_samples} columns, one for each training row"
            raise DatasetError(
                f"{shown(name)} has the shape {shape} and should {should}; save one "
                "table for each kernel."
            )
        if shape != kernels[first].shape:
            raise DatasetError(
                f"{shown(name)} has the shape {shape} and {shown(first)} "
                f"{kernels[first].shape}, and all should be of one size; compute them "
                "on the same rows."
            )
    check_size(len(kernels), *kernels[first].shape)
    for name in of_rows:
        _check_labels(name, headers.get(name), kernels[first].shape[0])


def _check_labels(name: str, head: _Header | None, n_rows: int) -> None:
    if head is not None and (head.shape != (n_rows,) or head.dtype.kind not in "biufU"):
        raise DatasetError(
            f"{name} has the shape {head.shape} of {shown(str(head.dtype))} and should "
            f"hold one {'label' if name == LABELS else 'name'} for each of the "
            f"{n_rows} rows, numbers or text."
        )
    if head is not None and head.dtype.itemsize > 4 * MAX_LABEL:
        raise DatasetError(
            f"{name} has texts of {head.dtype.itemsize // 4:,} characters, at most "
            f"{MAX_LABEL:,} are read; shorten them."
        )


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(entry) as file:
        return np.lib.format.read_array(file, allow_pickle=False)
