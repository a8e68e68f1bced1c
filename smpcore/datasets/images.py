"""Pictures as tables: a column for each pixel, from arrays or from folders of files."""

import zipfile
from io import BytesIO
from pathlib import PurePosixPath

import numpy as np

from smpcore.datasets.columns import framed
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import plural, shown
from smpcore.datasets.limits import MAX_EXPANDED, check_expanded, check_size
from smpcore.datasets.matlab_files import label_rank
from smpcore.datasets.reading import (
    FileTable,
    Reading,
    ReadingOptions,
    damage_in_words,
)
from smpcore.errors import DatasetError

_FILES = (".png", ".jpg", ".jpeg")
#: Longest side of a picture as it is taken: larger ones are made smaller.
MOST_PIXELS = 32
#: Of a picture in a file; more are refused before it is unpacked.
_MOST_IN_FILE = 25_000_000
#: Columns from which a table may be one of pictures, and how much longer than wide.
_FEWEST, _LONGEST = 49, 4
_REMEDY = "save it again, or as a table with a column for each pixel"


def image_shapes(dataset: Dataset) -> list[tuple[int, ...]]:
    """Shapes that rows may have as pictures; none if nothing looks like pixels.

    Pixels are numbers of one common range, in the order of the columns, rows first.

    Parameters
    ----------
    dataset : Dataset
        Whose columns may be pixels.

    Returns
    -------
    list of tuple of int
        (height, width) or, with colours, (height, width, 3); squares come first.
    """
    columns = dataset.sample_columns
    n = len(columns)
    shapes = [
        (height, n // depth // height, *(3,) * (depth == 3))
        for depth in (1, 3)
        for height in range(2, n // depth + 1)
        if n % (depth * height) == 0
    ]
    has_square = any(height == width for height, width, *_ in shapes)
    are_numbers = all(dataset.kinds[name] == "number" for name in columns)
    is_other = dataset.channels or dataset.matrices
    # Most tables end here, before their values are gone through.
    if n < _FEWEST or not has_square or not are_numbers or is_other:
        return []
    values = dataset.frame[columns].to_numpy(np.float64)
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    whole = np.nanmax(high) - np.nanmin(low)
    # Border pixels hardly vary, but most begin where all do and reach far.
    is_common = np.mean(low - np.nanmin(low) <= 0.1 * whole) >= 0.5
    if not (whole > 0 and is_common and np.median(high - low) >= 0.5 * whole):
        return []
    shapes = [one for one in shapes if max(one[:2]) <= _LONGEST * min(one[:2])]
    return sorted(shapes, key=lambda one: (abs(one[0] - one[1]), len(one)))


def is_images(data: bytes) -> bool:
    """Whether an archive holds pictures, or arrays of them, and no table.

    Parameters
    ----------
    data : bytes
        Content of a file.

    Returns
    -------
    bool
    """
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = [entry.filename.lower() for entry in _entries(archive)]
            arrays = [name for name in names if name.endswith(".npy")]
            if arrays and len(arrays) == len(names):
                shapes = [_shape(archive, entry) for entry in _entries(archive)]
                return any(len(shape) in (3, 4) for shape in shapes)
            return sum(name.endswith(_FILES) for name in names) > len(names) / 2
    except Exception:  # what is no archive, or damaged, is refused by another reader
        return False


def read_images(data: bytes, options: ReadingOptions) -> FileTable:
    """Read an .npz file of pictures and labels, or folders of pictures, as a table.

    Parameters
    ----------
    data : bytes
        Of an .npz file with pictures (n, height, width) or (n, height, width, 3), and
        labels; or of a .zip whose folders are the classes.
    options : ReadingOptions
        Nothing of it is used.

    Returns
    -------
    FileTable
        Grey, at most `MOST_PIXELS` high and wide.
    """
    with (
        damage_in_words("The file of pictures", _REMEDY),
        zipfile.ZipFile(BytesIO(data)) as archive,
    ):
        entries = _entries(archive)
        size = sum(entry.file_size for entry in entries)
        check_expanded("The file of pictures", size, MAX_EXPANDED, "take fewer")
        is_arrays = entries[0].filename.endswith(".npy")
        pictures, labels, notices = (_arrays if is_arrays else _folders)(archive)
    n, height, width = pictures.shape
    check_size(n, height * width)
    names = [f"pixel_{y}_{x}" for y in range(height) for x in range(width)]
    columns = [*pictures.reshape(n, -1).T, labels]
    return FileTable(
        framed(columns, [*names, "class"]),
        Reading("Images"),
        notices,
        (height, width),
    )


def _entries(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    paths = [(entry, PurePosixPath(entry.filename)) for entry in archive.infolist()]
    return [
        entry
        for entry, path in paths
        if not entry.is_dir()
        and not any(part.startswith((".", "__MACOSX")) for part in path.parts)
    ]


def _shape(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> tuple[int, ...]:
    """Shape of an array of numbers or texts, whose values stay packed."""
    with archive.open(entry) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            return ()
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        promised = int(np.prod([1, *shape], dtype=object)) * dtype.itemsize
        is_whole = promised == entry.file_size - file.tell()
    return shape if is_whole and not dtype.hasobject else ()


def _arrays(archive: zipfile.ZipFile) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The largest array of pictures, and the likeliest labels for it."""
    shapes = {entry.filename: _shape(archive, entry) for entry in _entries(archive)}
    pictures = {name: s for name, s in shapes.items() if len(s) in (3, 4)}
    name = max(pictures, key=lambda one: np.prod(pictures[one]))
    n, *_, last = pictures[name]
    if len(pictures[name]) == 4 and last not in (1, 3, 4):
        raise DatasetError(
            f"{shown(name)} should be (pictures, height, width) or, with colours, "
            f"(pictures, height, width, 3); it is {pictures[name]}."
        )
    fitting = [one for one, shape in shapes.items() if shape in ((n,), (n, 1))]
    if not fitting or n == 0:
        raise DatasetError(
            "The .npz file has no labels; save them as y, one for each picture."
        )
    # x_train goes with y_train; of several, the name that is most like labels.
    part = _parts(name)[1]
    label = max(
        fitting, key=lambda one: (_parts(one)[1] == part, label_rank(_parts(one)[0]))
    )
    read = {}
    for one in (name, label):
        with archive.open(one) as file:
            read[one] = np.lib.format.read_array(file, allow_pickle=False)
    values, notices = read[name], []
    if values.ndim == 4:
        values = values[..., :3].mean(axis=3)
        notices.append("Pictures are grey: of colours, the mean is taken.")
    others = [one for one in shapes if one not in (name, label)]
    if others:
        notices.append(f"Read are {shown(name)} and {shown(label)} only.")
    labels = read[label].reshape(-1)
    labels = labels if labels.dtype.kind in "US" else labels.astype("str")
    longest = max(values.shape[1:])
    if longest > MOST_PIXELS:
        height, width = _smaller(values.shape[1:])
        small = [_resized(_picture(one), height, width) for one in values]
        values = np.stack(small)
        notices.append(f"Pictures are made smaller: {height} × {width} pixels.")
    return values.astype(np.float64), labels, notices


def _parts(name: str) -> tuple[str, str]:
    """What a name says before and after its underscore: y_train.npy."""
    word, _, part = name.removesuffix(".npy").partition("_")
    return word, part


def _folders(archive: zipfile.ZipFile) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Pictures in files, whose folders are the classes."""
    from PIL import Image

    files = [e for e in _entries(archive) if e.filename.lower().endswith(_FILES)]
    labels = np.array([PurePosixPath(e.filename).parent.name for e in files], str)
    if "" in labels or len({*labels}) < 2:
        raise DatasetError(
            "The pictures should lie in a folder for each class, whose name is the "
            "class; pack at least two folders."
        )
    opened = []
    for entry in files:
        picture = Image.open(BytesIO(archive.read(entry)), formats=("PNG", "JPEG"))
        if picture.width * picture.height > _MOST_IN_FILE:
            raise DatasetError(
                f"{shown(entry.filename)} has {picture.width:,} × "
                f"{picture.height:,} pixels; make the pictures smaller."
            )
        opened.append(picture)
    sizes = [(one.height, one.width) for one in opened]
    middle = tuple(int(side) for side in np.median(sizes, axis=0).round())
    height, width = _smaller(middle)
    values = np.stack([_resized(one.convert("L"), height, width) for one in opened])
    notices = [f"{plural(len(files), 'picture')} of the archive, in grey."]
    if {*sizes} != {(height, width)}:
        notices.append(f"Pictures are brought to {height} × {width} pixels.")
    left = len(_entries(archive)) - len(files)
    if left:
        notices.append(f"{plural(left, 'file')} that are no pictures are left out.")
    return values, labels, notices


def _smaller(shape: tuple[int, ...]) -> tuple[int, int]:
    scale = min(1.0, MOST_PIXELS / max(shape))
    height, width = (max(1, round(side * scale)) for side in shape)
    return height, width


def _picture(values: np.ndarray):
    from PIL import Image

    return Image.fromarray(values.astype(np.float32), mode="F")


def _resized(picture, height: int, width: int) -> np.ndarray:
    from PIL import Image

    if (picture.height, picture.width) != (height, width):
        picture = picture.resize((width, height), Image.Resampling.BOX)
    return np.asarray(picture, np.float64)


def image_words(shape: tuple[int, ...]) -> str:
    """A shape as one reads it: 28 × 28, or 28 × 28 in colours.

    Parameters
    ----------
    shape : tuple of int
        (height, width), or (height, width, 3).

    Returns
    -------
    str
    """
    size = " × ".join(map(str, shape[:2]))
    return f"{size} in colours" if len(shape) > 2 else size
