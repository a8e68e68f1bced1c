"""The data sets that come with the explorer, and what can be chosen about each."""

import inspect
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from smpcore.datasets import synthetic
from smpcore.datasets.columns import Task
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import shown
from smpcore.datasets.limits import check_size
from smpcore.datasets.matrices import make_matrices
from smpcore.errors import SmpcoreError
from smpcore.parameters import Param


@dataclass(frozen=True)
class DatasetInfo:
    """An entry in the list of data sets.

    Attributes
    ----------
    key, title : str
        Name for `load_dataset` and for links; name for people.
    task : {"classification", "regression"}
        What the target is.
    params : tuple of Param
        What can be chosen.
    load : callable
        Called with the parameters, returns the Dataset.
    """

    key: str
    title: str
    task: Task
    params: tuple[Param, ...]
    load: Callable[..., Dataset]


_SIZE = Param("n_samples", "Rows", "int", low=20, high=5000, start=300)
_SEED = Param(
    "seed",
    "Seed",
    "int",
    low=0,
    high=9999,
    start=0,
    help="Change the seed to draw new points.",
    advanced=True,
)
_IMBALANCE = Param(
    "imbalance",
    "Imbalance",
    "linear",
    low=0.0,
    high=0.95,
    start=0.0,
    advanced=True,
    help="0: classes of equal size; 0.9: all but the first have a tenth of its rows.",
)
_CLASSES = Param("n_classes", "Classes", "int", low=2, high=7, start=3)
_DRAWN = (replace(_CLASSES, high=5, start=2),)
_ARMS = replace(_CLASSES, start=2)
_INNER = Param("inner", "Inner radius", "linear", low=0.1, high=0.9, start=0.5)
_TURNS = Param("turns", "Turns", "linear", low=0.25, high=3.0, start=1.0)
_SQUARES = Param("squares", "Squares per side", "int", low=2, high=8, start=3)
_FEATURES = Param(
    "n_features",
    "Features",
    "int",
    low=5,
    high=10_000,
    start=50,
    help="Five are informative, the others are noise.",
)
_DEVIATION = "Standard deviation of the normal noise"
_IN_PLANE = f"{_DEVIATION} on both coordinates."
_OF_VALUE = f"{_DEVIATION} on the number to predict."


def _noise(high: float, start: float, words: str = _IN_PLANE) -> Param:
    return Param("noise", "Noise", "linear", 0.0, high, start, help=words)


_SERIES = (
    replace(_SIZE, start=120, help="Divided evenly among the classes."),
    replace(_CLASSES, high=4, start=4, help="How many of the four, in order."),
    Param("n_times", "Length", "int", 10, 100, 40, help="Times of a series."),
    _noise(1.0, 0.2, f"{_DEVIATION}; the curves reach from -1 to 1."),
    _SEED,
)
_SIMILARITIES = (
    replace(_SIZE, low=30, high=600, start=120, help="Of every two the similarity."),
    _noise(
        1.0,
        0.5,
        "How far places are from the middle of their class; and, in tenths, the chance "
        "of each letter of a word to be another one.",
    ),
    _SEED,
)
_WORDS = (
    replace(_SIZE, high=1000, start=150, help="Divided evenly among the classes."),
    replace(_CLASSES, high=4, start=3, help="All but the first have a motif."),
    Param("length", "Length", "int", 8, 18, 10, help="Mean letters of a word."),
    _noise(0.5, 0.05, "Chance of each letter to be another one."),
    _SEED,
)
_FRIEDMAN = (replace(_SIZE, low=50, high=1_000_000, start=1000), _FEATURES, _SEED)


def _toy(key: str, title: str, noise: Param, *more: Param) -> DatasetInfo:
    params = (_SIZE, noise, _IMBALANCE, *more, _SEED)
    return _generated(key, title, "classification", params, synthetic.table_of)


def _toy_regression(key: str, title: str, size: int, noise: Param) -> DatasetInfo:
    params = (replace(_SIZE, start=size), noise, _SEED)
    return _generated(key, title, "regression", params, synthetic.measured)


def _described(points: Callable) -> str:
    """What is generated, in the words of its docstring."""
    return " ".join(inspect.getdoc(points).split())


def _dataset(
    name: str,
    frame: pd.DataFrame,
    task: Task = "classification",
    source: str = "generated",
    **about,
) -> Dataset:
    """A table whose last column is the target."""
    names = list(frame)
    roles = {**dict.fromkeys(names[:-1], "feature"), names[-1]: "target"}
    about = {"open_test": source != "scikit-learn", **about}
    return Dataset(
        name=name, frame=frame, roles=roles, task=task, source=source, **about
    )


def _generated(
    key: str,
    title: str,
    task: Task,
    params: tuple[Param, ...],
    table_of: Callable[..., pd.DataFrame],
) -> DatasetInfo:
    points = getattr(synthetic, key)

    def load(**values) -> Dataset:
        frame = table_of(points, **values)
        return _dataset(title, frame, task, description=_described(points))

    return DatasetInfo(key, title, task, params, load)


def _friedman(n_samples: int, n_features: int, seed: int) -> Dataset:
    check_size(n_samples, n_features)
    frame = synthetic.friedman(n_samples, n_features, seed)
    name = f"fri_c0_{n_samples}_{n_features}"
    return _dataset(name, frame, description=_described(synthetic.friedman))


def _series(
    n_samples: int, n_classes: int, n_times: int, noise: float, seed: int
) -> Dataset:
    check_size(n_samples, 9 * n_times + 1)
    frame = synthetic.series(n_samples, n_classes, n_times, noise, seed)
    words = _described(synthetic.series)
    about = {"description": words, "sample_shape": (9, n_times)}
    return _dataset("Series, 9 channels", frame, **about)


def _matrices(n_samples: int, noise: float, seed: int) -> Dataset:
    made = synthetic.similarities(n_samples, noise, seed)
    about = {"description": _described(synthetic.similarities), "source": "generated"}
    about |= {"row_names": np.array(made[2]), "open_test": True}
    return make_matrices(*made[:2], "Similarities, 3 matrices", **about)


def _words(
    n_samples: int, n_classes: int, length: int, noise: float, seed: int
) -> Dataset:
    sizes = synthetic.class_sizes(n_samples, n_classes, 0.0)
    labels = np.repeat(np.arange(n_classes), sizes)
    labels = np.random.default_rng(seed).permutation(labels)
    texts = synthetic.words(labels, length, noise, seed)
    frame = pd.DataFrame({"word": texts, "class": labels + 1})
    words = _described(synthetic.words)
    kinds = {"word": "text", "class": "number"}
    return _dataset("Words with motifs", frame, description=words, kinds=kinds)


def _to_draw(n_classes: int) -> Dataset:
    words = (
        "A point of each class to begin with: take Spray or Add on Explore, pick a "
        "class and draw. What is drawn is kept for this browser only."
    )
    frame = synthetic.corners(n_classes)
    return _dataset("Draw your own", frame, source="drawn by hand", description=words)


def _from_sklearn(
    key: str,
    title: str,
    description: str,
    sample_shape: tuple[int, ...] = (),
    task: Task = "classification",
    **options,
) -> DatasetInfo:
    def load() -> Dataset:
        import sklearn.datasets

        bunch = getattr(sklearn.datasets, f"load_{key}")(as_frame=True, **options)
        names = np.asarray(getattr(bunch, "target_names", []))
        target = names[bunch.target] if names.dtype.kind == "U" else bunch.target
        frame = bunch.data.assign(
            **{"class" if task == "classification" else "target": target}
        )
        about = {"description": description, "sample_shape": sample_shape}
        return _dataset(title, frame, task, "scikit-learn", **about)

    return DatasetInfo(key, title, task, (), load)


_INFOS = (
    _toy("moons", "Moons", _noise(0.5, 0.15)),
    _toy("circles", "Circles", _noise(0.5, 0.08), _INNER),
    _toy("xor", "XOR", _noise(1.5, 0.4)),
    _toy("blobs", "Blobs", _noise(2.0, 0.6), _CLASSES),
    _toy("spirals", "Spirals", _noise(0.3, 0.03), _ARMS, _TURNS),
    _toy("checkerboard", "Checkerboard", _noise(0.5, 0.03), _SQUARES),
    _toy_regression("sine", "Wave", 120, _noise(1.0, 0.2, _OF_VALUE)),
    _toy_regression("hills", "Hills", 300, _noise(1.0, 0.15, _OF_VALUE)),
    DatasetInfo("drawn", "Draw your own", "classification", _DRAWN, _to_draw),
    _from_sklearn("iris", "Iris", "Lengths and widths of flowers of three irises."),
    _from_sklearn("wine", "Wine", "Chemical analysis of wines of three growers."),
    _from_sklearn(
        "breast_cancer",
        "Breast cancer",
        "Shapes of cell nuclei in images of breast masses, malignant or benign.",
    ),
    _from_sklearn(
        "digits", "Digits", "Handwritten digits, 8 x 8 pixels of 0 to 16.", (8, 8)
    ),
    _from_sklearn(
        "diabetes",
        "Diabetes",
        "Ten measurements, and the progression of diabetes a year later.",
        task="regression",
        scaled=False,
    ),
    DatasetInfo("friedman", "Friedman #1", "classification", _FRIEDMAN, _friedman),
    DatasetInfo("series", "Series, 9 channels", "classification", _SERIES, _series),
    DatasetInfo("words", "Words with motifs", "classification", _WORDS, _words),
    DatasetInfo(
        "similarities",
        "Similarities, 3 matrices",
        "classification",
        _SIMILARITIES,
        _matrices,
    ),
)
_DATASETS = {info.key: info for info in _INFOS}


def list_datasets() -> list[DatasetInfo]:
    """Return the data sets that need no file, in the order of the list.

    Returns
    -------
    list of DatasetInfo
        Entries with key, title, task and parameters.
    """
    return list(_INFOS)


def load_dataset(key: str, **params: float) -> Dataset:
    """Return a bundled data set.

    Parameters
    ----------
    key : str
        One of the keys of `list_datasets`.
    **params
        Parameters of a generated set; those left out have their start values.

    Returns
    -------
    Dataset
        The same for the same parameters.

    Raises
    ------
    SmpcoreError
        If there is no such data set, or it has no such parameter.

    Examples
    --------
    >>> load_dataset("moons", n_samples=100, noise=0.1)
    <Dataset 'Moons': 100 rows, 2 features, classification>
    """
    if key not in _DATASETS:
        raise SmpcoreError(f"key={shown(key)} should be one of {', '.join(_DATASETS)}.")
    info = _DATASETS[key]
    known = {param.name: param for param in info.params}
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise SmpcoreError(
            f"{key} has no parameter {shown(unknown[0])}; it has "
            f"{', '.join(known) or 'none'}."
        )
    values = {name: params.get(name, param.start) for name, param in known.items()}
    return info.load(**{name: _allowed(known[name], values[name]) for name in known})


def _allowed(param: Param, value: float) -> float:
    number = isinstance(value, numbers.Real) and param.low <= value <= param.high
    if not number or (param.scale == "int" and value != int(value)):
        whole = "a whole number " if param.scale == "int" else ""
        raise SmpcoreError(
            f"{param.name}={shown(value)} should be {whole}from {param.low:,} to "
            f"{param.high:,}."
        )
    return int(value) if param.scale == "int" else float(value)
