"""Data that are no table: how similar every two samples are, in one or more matrices.

A `Dataset` of matrices has a column for each row of each matrix, matrix beside matrix.
`prepare` makes inputs of the similarities to its training rows only, so that a fit gets
``K[train][:, train]`` and a prediction ``K[rows][:, train]``, in every fold.
"""

import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import PurePath
from typing import BinaryIO, Literal, NamedTuple

import numpy as np
import pandas as pd

from smpcore.datasets.columns import as_text, framed, is_numeric
from smpcore.datasets.dataset import Dataset, Matrix
from smpcore.datasets.display_names import clean_names, plain_number, shown
from smpcore.datasets.limits import check_expanded, read_bytes
from smpcore.datasets.reading import damage_in_words
from smpcore.datasets.targets import guess_task
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
_REMEDY = "save it with numpy.savez_compressed and arrays of numbers"

#: How matrices take less of a file.
_SMALLER = (
    "save float32 and one triangle (np.tril) of each matrix with "
    "numpy.savez_compressed, or take fewer rows or matrices"
)


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

    @property
    def by_name(self) -> dict[str, np.ndarray]:
        """Each kernel, (n_rows, n_samples), under its name."""
        blocks = np.split(self.X, len(self.names), axis=1)
        return dict(zip(self.names, blocks, strict=True))


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
    data = read_bytes(source, _SMALLER)
    _check_entries(data.count(_ENTRY) // 2)  # some may stand in an array by chance
    with (
        damage_in_words("The .npz file", _REMEDY),
        zipfile.ZipFile(BytesIO(data)) as archive,
    ):
        entries = archive.infolist()
        _check_directory(entries)
        headers = {_name(entry): _header(archive, entry) for entry in entries}
        _check_headers(headers, n_samples, check_size)
        arrays = {_name(entry): _array(archive, entry) for entry in entries}
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
    remedy = "take fewer rows or kernels"
    check_expanded("The .npz file", size, MAX_KERNEL_BYTES, remedy)


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
            raise DatasetError(
                f"{shown(name)} holds no real numbers; save labels as y, names of "
                "rows as names, and matrices as numbers."
            )
        wide = n_samples or (shape[0] if shape else 0)
        if len(shape) != 2 or shape[1] != wide or not shape[0]:
            should = "be square"
            if n_samples is not None:
                should = f"have {n_samples} columns, one for each training row"
            raise DatasetError(
                f"{shown(name)} has the shape {shape} and should {should}; save one "
                "table for each kernel, labels as y and names of rows as names."
            )
        if shape != kernels[first].shape:
            raise DatasetError(
                f"{shown(name)} has the shape {shape} and {shown(first)} "
                f"{kernels[first].shape}, and all should be of one size; compute them "
                "on the same rows."
            )
    check_size(len(kernels), *kernels[first].shape)
    for name in (name for name in of_rows if name in headers):
        _check_labels(name, headers[name], kernels[first].shape[0])


def _check_labels(name: str, head: _Header, n_rows: int) -> None:
    if head.shape != (n_rows,) or head.dtype.kind not in "biufU":
        raise DatasetError(
            f"{name} has the shape {head.shape} of {shown(str(head.dtype))} and should "
            f"hold one {'label' if name == LABELS else 'name'} for each of the "
            f"{n_rows} rows, numbers or text."
        )
    if head.dtype.itemsize > 4 * MAX_LABEL:
        raise DatasetError(
            f"{name} has texts of {head.dtype.itemsize // 4:,} characters, at most "
            f"{MAX_LABEL:,} are read; shorten them."
        )


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(entry) as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
    if array.dtype.kind == "U":
        "".join(array.tolist()).encode()  # raises where one is no character
    return array.astype(array.dtype.newbyteorder("="), copy=False)


#: What is done with a matrix that has negative eigenvalues.
Indefinite = Literal["refuse", "shift", "clip", "flip", "square", "keep"]
#: Way to mend eigenvalues -> what each is multiplied by, and that in words. So are
#: similarities of new rows (Chen, Garcia, Gupta, Rahimi, Cazzanti: Similarity-based
#: classification. JMLR 10, 2009).
_FACTORS = {
    "clip": (lambda values: values > 0, "those below 0 were set to 0"),
    "flip": (np.sign, "those below 0 were made positive"),
    "square": (lambda values: values, "all were squared"),
}

#: Entries, and their quotients with what is on the diagonal, whose squares are numbers.
MAX_ENTRY = 1e50
#: Asymmetry, and spread of the diagonal, that counts as rounding.
ROUNDING = 1e-6
#: Negative eigenvalue, for each row, that counts as rounding.
_EIGENVALUE_ROUNDING = 1e-8
#: Values of all matrices, and those of a row.
MAX_CELLS, MAX_COLUMNS = 20_000_000, 10_000
#: Columns of the labels and of the rows' names.
_TARGET, _NAME = "y", "name"


def make_matrices(
    matrices: Mapping[str, np.ndarray],
    y: np.ndarray,
    name: str,
    *,
    row_names: np.ndarray | None = None,
    indefinite: Indefinite = "refuse",
    normalise: bool = False,
    **about,
) -> Dataset:
    """Make a data set of matrices that say how similar every two samples are.

    Parameters
    ----------
    matrices : mapping of str to ndarray of shape (n_samples, n_samples)
        Symmetric, or one triangle with zeros beyond the diagonal, which is mirrored;
        where they differ from their transpose by rounding only, the mean of both is
        taken. A notice says so.
    y : ndarray of shape (n_samples,)
        Class or number of each sample.
    name : str
        Short name for titles.
    row_names : ndarray of shape (n_samples,), optional
        Name of each sample.
    indefinite : {"refuse", "shift", "clip", "flip", "square", "keep"}
        What is done with a matrix that has negative eigenvalues: it is refused, its
        diagonal is raised by the smallest, these are set to 0 or made positive, all are
        squared, or it is kept for the methods that need no semidefinite one.
    normalise : bool
        Divide each entry by the root of both samples' similarities to themselves.
    **about
        Further fields of `Dataset` (source, description, private, ...).

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If a matrix is too large, not symmetric, or indefinite and refused; or a label
        is missing.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(6.0)
    >>> near = np.exp(-((x[:, None] - x) ** 2))
    >>> make_matrices({"near": near}, x > 2, "Six numbers")
    <Dataset 'Six numbers': 6 rows, 6 features, classification>
    """
    n = len(y)
    _check_size(len(matrices), n, n)
    names, renamed = clean_names(matrices)
    kinds, blocks, notices = [], [], [*renamed]
    for title, K in zip(names, matrices.values(), strict=True):
        K = _symmetric(title, np.array(K, dtype=np.float64), notices)
        K = _normalised(title, K, notices) if normalise else K
        K, kind = _definite(title, K, indefinite, notices)
        blocks.append(K)
        kinds.append(kind)
    labels = _labels(y)
    columns = [column for K in blocks for column in K.T]  # symmetric: rows as well
    titles = [similarity_column(title, row) for title in names for row in range(n)]
    roles = dict.fromkeys(titles, "feature")
    if row_names is not None:
        columns.append(as_text(pd.Series(row_names)).array)
        titles.append(_NAME)
        roles[_NAME] = "ignore"
    frame = framed([*columns, labels.array], [*titles, _TARGET])
    kind = "number" if is_numeric(labels) else "category"
    return Dataset(
        name=name,
        frame=frame,
        roles=roles | {_TARGET: "target"},
        task=guess_task(frame[_TARGET], kind),
        notices=tuple(notices),
        matrices=tuple(kinds),
        **about,
    )


def read_matrices(
    source: bytes | BinaryIO,
    filename: str,
    *,
    indefinite: Indefinite = "refuse",
    normalise: bool = False,
) -> Dataset:
    """Read a data set from an .npz file of square matrices, with labels as "y".

    Nothing in the file is run, see `read_kernels`. The array "names" may hold a name
    for each row.

    Parameters
    ----------
    source : bytes or binary file
        The content of the file.
    filename : str
        Its name, which names the data set.
    indefinite : {"refuse", "shift", "clip", "flip", "square", "keep"}
        See `make_matrices`.
    normalise : bool
        See `make_matrices`.

    Returns
    -------
    Dataset
        ``private``.

    Raises
    ------
    DatasetError
        If the file cannot be read, or its arrays are no matrices with labels.
    """
    kernels = unpack_kernels(source, check_size=_check_size)
    if kernels.y is None:
        raise DatasetError(
            "The .npz file has no labels; save them as y, one for each row of the "
            "matrices."
        )
    path = PurePath(filename)
    return make_matrices(
        kernels.by_name,
        kernels.y,
        path.stem,
        row_names=kernels.row_names,
        indefinite=indefinite,
        normalise=normalise,
        source=path.name,
        private=True,
    )


def read_similarities(source: bytes | BinaryIO, dataset: Dataset) -> pd.DataFrame:
    """Read the similarities of new samples to those of a data set of matrices.

    Parameters
    ----------
    source : bytes or binary file
        An .npz file with an array (n_new, n_samples) for each matrix, under its name;
        "y" and "names" as in `read_matrices`.
    dataset : Dataset
        The data set, whose rows the columns of the arrays stand for.

    Returns
    -------
    DataFrame of shape (n_new, n_columns)
        Columns as those of the data set.

    Raises
    ------
    DatasetError
        If the file cannot be read, or lacks a matrix of the data set.
    """
    kernels = unpack_kernels(source, dataset.n_samples, _check_size)
    arrays = kernels.by_name
    matrices = used_matrices(dataset)
    used = [matrix.name for matrix in matrices]
    for name, *_, spectral_map in matrices:
        if name not in arrays:
            raise DatasetError(
                f"The .npz file has no array {shown(name)}; it should hold the "
                "similarity of each new row to each row of the data, under the names "
                f"of the matrices: {', '.join(map(shown, used))}."
            )
        if spectral_map is not None:
            arrays[name] = arrays[name] @ spectral_map
    columns = [column for name in used for column in arrays[name].T]
    rows = range(dataset.n_samples)
    titles = [similarity_column(name, row) for name in used for row in rows]
    for title, values in ((_NAME, kernels.row_names), (_TARGET, kernels.y)):
        if values is not None and title in dataset.roles:
            columns.append(pd.Series(values).array)
            titles.append(title)
    return framed(columns, titles)


def similarity_column(matrix: str, row: int) -> str:
    """Name of the column that holds the similarities to a row."""
    return f"{matrix} to row {row + 1}"


def used_matrices(dataset: Dataset) -> tuple[Matrix, ...]:
    """Matrices that models may use: those that are not forbidden.

    Parameters
    ----------
    dataset : Dataset
        Of matrices, or a table.

    Returns
    -------
    tuple of Matrix
        Empty if the data set is a table.
    """
    return tuple(
        matrix
        for matrix in dataset.matrices
        if dataset.roles[similarity_column(matrix.name, 0)] == "feature"
    )


def matrix_of(dataset: Dataset, name: str) -> np.ndarray:
    """One matrix of a data set.

    Parameters
    ----------
    dataset : Dataset
        A data set of matrices.
    name : str
        Name of one of its matrices.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
    """
    columns = [similarity_column(name, row) for row in range(dataset.n_samples)]
    return dataset.frame[columns].to_numpy(np.float64)


def row_titles(dataset: Dataset, places: np.ndarray) -> list[str]:
    """How rows are called: by the names that came with matrices, else by number.

    Parameters
    ----------
    dataset : Dataset
        Of matrices, or a table.
    places : ndarray of int, shape (n_rows,)
        Positions of rows.

    Returns
    -------
    list of str
    """
    titles = [f"row {number}" for number in dataset.row_numbers(places)]
    if not dataset.matrices or _NAME not in dataset.roles:
        return titles
    names = dataset.frame[_NAME].iloc[places]
    return [f"{name}, {title}" for name, title in zip(names, titles, strict=True)]


def _check_size(n_matrices: int, n_rows: int, n: int) -> None:
    width = n * n_matrices
    if width > MAX_COLUMNS or n_rows * width > MAX_CELLS:
        raise DatasetError(
            f"{n_matrices:,} matrices of {n_rows:,} x {n:,} have "
            f"{n_rows * width:,} numbers, and "
            f"{width:,} in a row; at most {MAX_CELLS:,} and {MAX_COLUMNS:,} are read; "
            "leave out rows or matrices."
        )


def _symmetric(name: str, K: np.ndarray, notices: list[str]) -> np.ndarray:
    """The matrix, symmetric to the last bit."""
    if (largest := np.abs(K).max()) > MAX_ENTRY:
        raise DatasetError(
            f"{shown(name)} has an entry of size {largest:.3g}, at most "
            f"{MAX_ENTRY:g} is read; divide the matrix by a number."
        )
    if np.tril(K, -1).any() != np.triu(K, 1).any():
        notices.append(f"{shown(name)} has one triangle only, which is mirrored.")
        K = K + K.T - np.diag(K.diagonal())
    asymmetry = np.abs(K - K.T)
    worst = float(asymmetry.max())
    if worst > ROUNDING * np.abs(K).max():
        row, column = np.unravel_index(asymmetry.argmax(), asymmetry.shape)
        raise DatasetError(
            f"{shown(name)} differs from its transpose by {worst:.3g} (row {row + 1}, "
            f"column {column + 1}) and should be symmetric; save (K + K.T) / 2."
        )
    if worst > 0:
        notices.append(
            f"{shown(name)} differed from its transpose by up to {worst:.2g}, which is "
            "rounding: the mean of both is used."
        )
    return (K + K.T) / 2


def _normalised(name: str, K: np.ndarray, notices: list[str]) -> np.ndarray:
    """The matrix with 1 on its diagonal."""
    diagonal = K.diagonal()
    if diagonal.min() < 1 / MAX_ENTRY:
        row = int(diagonal.argmin())
        raise DatasetError(
            f"{shown(name)} has {diagonal[row]:.3g} on its diagonal (row {row + 1}), "
            "so that row cannot be normalised; turn that off, or leave the row out."
        )
    notices.append(
        f"{shown(name)} was divided by √(k(x, x) k(z, z)); new rows need the same."
    )
    K = K / np.sqrt(np.outer(diagonal, diagonal))
    np.fill_diagonal(K, 1.0)
    return K


def _definite(
    name: str, K: np.ndarray, indefinite: Indefinite, notices: list[str]
) -> tuple[np.ndarray, Matrix]:
    """The matrix, made semidefinite if that is wanted, and what is known of it."""
    values, vectors = np.linalg.eigh(K)
    least = float(values[0])
    if least >= -_EIGENVALUE_ROUNDING * np.abs(K).max() * len(K):
        return K, Matrix(name, 0.0, _is_even(K))
    value = plain_number(least, 3)
    if indefinite == "refuse":
        raise DatasetError(
            f"{shown(name)} is no kernel: it has the eigenvalue {value}, and none "
            "should be below 0. Choose under Negative eigenvalues how to mend that, or "
            "keep it for methods that need similarities only."
        )
    if indefinite == "keep":
        notices.append(
            f"{shown(name)} has the eigenvalue {value}, so it is no kernel: methods "
            "that need one cannot use it."
        )
        return K, Matrix(name, least, _is_even(K))
    had = f"{shown(name)} had the eigenvalue {value}"
    if indefinite == "shift":
        notices.append(
            f"{had}: its diagonal was raised by {plain_number(-least, 3)}. "
            "Similarities of different rows stay."
        )
        K = K - least * np.eye(len(K))
        return K, Matrix(name, 0.0, _is_even(K))
    factor_of, words = _FACTORS[indefinite]
    factors = factor_of(values)
    notices.append(
        f"{had}: of all its eigenvalues {words}. That looks at the similarities of all "
        "rows, also of validation and test, and at no label; similarities of new rows "
        "are changed alike."
    )
    K = (vectors * (values * factors)) @ vectors.T
    K = (K + K.T) / 2
    return K, Matrix(name, 0.0, _is_even(K), (vectors * factors) @ vectors.T)


def _is_even(K: np.ndarray) -> bool:
    diagonal = K.diagonal()
    return bool(diagonal.min() > 0 and np.ptp(diagonal) <= ROUNDING * diagonal.max())


def _labels(y: np.ndarray) -> pd.Series:
    """Labels as a column; none is missing."""
    labels = pd.Series(y)
    if labels.dtype.kind not in "iuf":
        labels = as_text(labels)
    missing = labels.isna() | (labels == "")
    if missing.any():
        row = int(missing.to_numpy().argmax()) + 1
        raise DatasetError(
            f"y has no label in row {row}; give one to every row, or leave the row out "
            "of the matrices."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DatasetError("y holds an infinite number; correct it.")
    return labels
