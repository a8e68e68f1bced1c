"""The data sets that come with the explorer: how they are made, and what is chosen."""

import inspect
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from smpcore.datasets.columns import Task, cells
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import shown
from smpcore.datasets.limits import check_size
from smpcore.datasets.matrices import make_matrices
from smpcore.errors import SmpcoreError
from smpcore.parameters import Param

Points = tuple[np.ndarray, np.ndarray]


def class_sizes(n_samples: int, n_classes: int, imbalance: float) -> list[int]:
    """Rows per class; every class but the first has (1 - imbalance) of the first's."""
    weights = np.full(n_classes, 1.0 - imbalance)
    weights[0] = 1.0
    sizes = np.maximum(2, np.floor(n_samples * weights / weights.sum()).astype(int))
    sizes[0] = n_samples - sizes[1:].sum()
    return sizes.tolist()


def moons(n_samples: int, noise: float, imbalance: float, seed: int) -> Points:
    """Two half circles that reach into each other."""
    from sklearn.datasets import make_moons

    sizes = tuple(class_sizes(n_samples, 2, imbalance))
    return make_moons(sizes, noise=noise, random_state=seed)


def circles(
    n_samples: int, noise: float, imbalance: float, inner: float, seed: int
) -> Points:
    """A circle around a circle."""
    from sklearn.datasets import make_circles

    sizes = tuple(class_sizes(n_samples, 2, imbalance))
    return make_circles(sizes, noise=noise, random_state=seed, factor=inner)


def xor(n_samples: int, noise: float, imbalance: float, seed: int) -> Points:
    """Four clouds; opposite ones are one class."""
    from sklearn.datasets import make_blobs

    sizes = class_sizes(n_samples, 2, imbalance)
    sizes = [sizes[0] // 2, sizes[0] - sizes[0] // 2, sizes[1] // 2]
    corners = np.array([(-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)])
    sizes.append(n_samples - sum(sizes))
    X, cloud = make_blobs(sizes, centers=corners, cluster_std=noise, random_state=seed)
    return X, cloud // 2


def blobs(
    n_samples: int, noise: float, imbalance: float, n_classes: int, seed: int
) -> Points:
    """One round cloud per class, on a ring."""
    from sklearn.datasets import make_blobs

    angles = 2 * np.pi * np.arange(n_classes) / n_classes
    centers = 2 * np.column_stack([np.cos(angles), np.sin(angles)])
    sizes = class_sizes(n_samples, n_classes, imbalance)
    return make_blobs(sizes, centers=centers, cluster_std=noise, random_state=seed)


def spirals(
    n_samples: int,
    noise: float,
    imbalance: float,
    n_classes: int,
    turns: float,
    seed: int,
) -> Points:
    """One arm per class, winding out of the centre."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), class_sizes(n_samples, n_classes, imbalance))
    along = np.sqrt(rng.uniform(0.02, 1, n_samples))
    angle = 2 * np.pi * (turns * along + y / n_classes)
    X = along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + rng.normal(0, noise, X.shape), y


def checkerboard(
    n_samples: int, noise: float, imbalance: float, squares: int, seed: int
) -> Points:
    """Squares of two classes by turns, as many to a side as ``squares``."""
    rng = np.random.default_rng(seed)
    cells = np.indices((squares, squares)).reshape(2, -1).T
    corner = []
    for label, size in enumerate(class_sizes(n_samples, 2, imbalance)):
        fields = cells[cells.sum(axis=1) % 2 == label]
        corner.append(fields[rng.integers(len(fields), size=size)])
    X = np.concatenate(corner) + rng.uniform(size=(n_samples, 2))
    y = np.repeat([0, 1], [len(part) for part in corner])
    return X + rng.normal(0, noise, X.shape), y


def sine(n_samples: int, noise: float, seed: int) -> Points:
    """A wave that grows from left to right: y = x / 4 + sin(2 x) for x in [-3, 3]."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n_samples, 1))
    return X, X[:, 0] / 4 + np.sin(2 * X[:, 0]) + rng.normal(0, noise, n_samples)


def hills(n_samples: int, noise: float, seed: int) -> Points:
    """Two hills and a hollow on a plain: heights at places in the plane."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n_samples, 2))
    y = rng.normal(0, noise, n_samples)
    for height, x1, x2 in ((3.0, -1.5, 1.2), (2.0, 1.6, 1.0), (-2.5, 0.2, -1.4)):
        y += height * np.exp(-((X[:, 0] - x1) ** 2 + (X[:, 1] - x2) ** 2))
    return X, y


def friedman(n_samples: int, n_features: int, seed: int) -> Dataset:
    """Friedman's first function of five features among many, cut at its mean.

    The target is 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5 + N(0, 1) with x
    uniform on [0, 1]; rows below its mean are "P", the others "N".
    """
    check_size(n_samples, n_features)
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_samples, n_features))
    x1, x2, x3, x4, x5 = X[:, :5].T
    value = 10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5
    value += rng.normal(size=n_samples)
    frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(n_features)])
    frame["class"] = np.where(value < value.mean(), "P", "N")
    name = f"fri_c0_{n_samples}_{n_features}"
    return _dataset(name, frame, description=_described(friedman))


def _wave(turns: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda u: np.sin(2 * np.pi * turns * u)


def _hump(u: np.ndarray) -> np.ndarray:
    return 2 * np.exp(-(((u - 0.5) / 0.15) ** 2)) - 0.5


def _step(u: np.ndarray) -> np.ndarray:
    return np.tanh(20 * (u - 0.4))


def _tent(u: np.ndarray) -> np.ndarray:
    return 1 - 4 * np.abs(u - 0.5)


def _ramp(u: np.ndarray) -> np.ndarray:
    return 2 * u - 1


# Two curves, and which classes have the first; the other classes have the second.
_CHANNELS = (
    (_ramp, lambda u: -_ramp(u), (1, 2)),
    (_wave(1), _wave(2), (1, 3)),
    (_hump, lambda u: -_hump(u), (1,)),
    (_step, lambda u: -_step(u), (2,)),
    (_wave(3), _wave(1.5), (4,)),
    (_tent, lambda u: -_tent(u), (1, 4)),
)
# How much series of a class differ besides the noise.
_WARP, _LOUDNESS, _REPLICA = 0.15, 0.1, 0.05


def series(
    n_samples: int, n_classes: int, n_times: int, noise: float, seed: int
) -> Dataset:
    """Series of nine channels that tell four classes apart, as in the IMKPL paper.

    Channel 1 tells classes 1 and 2 from 3 and 4, channel 2 tells 1 and 3 from 2 and 4,
    channel 3 tells 1, channel 4 tells 2 and channel 5 tells 4 from the rest, channel 6
    tells 1 and 4 from 2 and 3; channel 7 repeats channel 6 with slight changes;
    channels 8 and 9 are the same in every row and tell nothing. No channel is enough
    for all four classes: two of the channels 1, 2 and 6 are.
    """
    check_size(n_samples, 9 * n_times + 1)
    rng = np.random.default_rng(seed)
    sizes = class_sizes(n_samples, n_classes, 0.0)
    y = rng.permutation(np.repeat(np.arange(1, n_classes + 1), sizes))
    times = np.linspace(0, 1, n_times)
    X = np.empty((n_samples, 9, n_times))
    for j, (curve, other, curve_classes) in enumerate(_CHANNELS):
        bent = times ** np.exp(rng.normal(0, _WARP, (n_samples, 1)))
        loud = 1 + rng.normal(0, _LOUDNESS, (n_samples, 1))
        has_first = np.isin(y, curve_classes)[:, None]
        X[:, j] = loud * np.where(has_first, curve(bent), other(bent))
    X[:, 6] = X[:, 5] + rng.normal(0, _REPLICA, (n_samples, n_times))
    X[:, :7] += rng.normal(0, noise, (n_samples, 7, n_times))
    # Multiples of 1/64: sums of equal ones are exact, so that they have no spread.
    X[:, 7], X[:, 8] = np.round(64 * _wave(1)(times)) / 64, 0.5
    channels = [f"c{number}" for number in range(1, 10)]
    frame = pd.DataFrame(X.reshape(n_samples, -1), columns=cells(channels, n_times))
    frame["class"] = y
    about = {"description": _described(series), "sample_shape": (9, n_times)}
    return _dataset("Series, 9 channels", frame, **about)


#: What is planted into the words of each class but the first.
_MOTIFS = ("GATTAC", "CCGCGG", "TTAGGG")


def words(labels: np.ndarray, length: int, noise: float, seed: int) -> list[str]:
    """Words of A, C, G and T; each class but the first has a motif somewhere inside."""
    rng, letters = np.random.default_rng(seed), np.array(list("ACGT"))
    made = []
    for label in labels:
        word = rng.choice(letters, length + rng.integers(-2, 3))
        if label:
            motif = list(_MOTIFS[label - 1])
            first = rng.integers(0, len(word) - len(motif) + 1)
            word[first : first + len(motif)] = motif
        changed = rng.random(len(word)) < noise
        word[changed] = rng.choice(letters, int(changed.sum()))
        made.append("".join(word))
    return made


def similarities(n_samples: int, noise: float, seed: int) -> Dataset:
    """Three matrices of things that are known by their similarities alone.

    "place" tells class 1 from the others, "word" class 3 (its words share a motif);
    "chance" tells nothing. No matrix is enough for all three classes.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(3), class_sizes(n_samples, 3, 0.0)))
    places = rng.normal(0, noise, (n_samples, 2)) + np.where(y == 0, 1.0, -1.0)[:, None]
    chance = rng.normal(size=(n_samples, 2))
    names = words(np.where(y == 2, 1, 0), 9, noise / 10, seed)
    pairs = [a + b for a in "ACGT" for b in "ACGT"]
    counts = np.array([[name.count(pair) for pair in pairs] for name in names], float)
    lengths = np.linalg.norm(counts, axis=1)
    distances = [((X[:, None] - X) ** 2).sum(axis=2) for X in (places, chance)]
    matrices = {
        "place": np.exp(-distances[0] / 4),
        "word": counts @ counts.T / np.outer(lengths, lengths),
        "chance": np.exp(-distances[1] / 4),
    }
    about = {"description": _described(similarities), "source": "generated"}
    about |= {"row_names": np.array(names), "open_test": True}
    return make_matrices(matrices, y + 1, "Similarities, 3 matrices", **about)


def drawn(n_classes: int) -> Dataset:
    """One point for each of up to five classes, to draw more of them around."""
    places = np.array([[-1, -1], [1, 1], [-1, 1], [1, -1], [0, 0]])[:n_classes]
    frame = pd.DataFrame(0.8 * places, columns=["x1", "x2"])
    frame["class"] = np.arange(1, n_classes + 1)
    words = (
        "A point of each class to begin with: take Spray or Add on Explore, pick a "
        "class and draw. What is drawn is kept for this browser only."
    )
    return _dataset("Draw your own", frame, source="drawn by hand", description=words)


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


def _toy(
    points: Callable[..., Points],
    title: str,
    noise: Param,
    *more: Param,
    size: int = 300,
    task: Task = "classification",
) -> DatasetInfo:
    """Points of classes, drawn in random order, or with a number each."""
    classify = task == "classification"
    more = (_IMBALANCE, *more) if classify else more
    params = (replace(_SIZE, start=size), noise, *more, _SEED)

    def load(**values) -> Dataset:
        X, y = points(**values)
        if classify:
            order = np.random.default_rng(values["seed"]).permutation(len(y))
            X, y = X[order], y[order].astype(np.int64)
        names = [f"x{j + 1}" for j in range(X.shape[1])] if X.shape[1] > 1 else ["x"]
        frame = pd.DataFrame(X, columns=names).assign(
            **{"class" if classify else "y": y}
        )
        return _dataset(title, frame, task, description=_described(points))

    return DatasetInfo(points.__name__, title, task, params, load)


def _words(
    n_samples: int, n_classes: int, length: int, noise: float, seed: int
) -> Dataset:
    labels = np.repeat(np.arange(n_classes), class_sizes(n_samples, n_classes, 0.0))
    labels = np.random.default_rng(seed).permutation(labels)
    texts = words(labels, length, noise, seed)
    frame = pd.DataFrame({"word": texts, "class": labels + 1})
    kinds = {"word": "text", "class": "number"}
    about = {"description": _described(words), "kinds": kinds}
    return _dataset("Words with motifs", frame, **about)


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
    _toy(moons, "Moons", _noise(0.5, 0.15)),
    _toy(circles, "Circles", _noise(0.5, 0.08), _INNER),
    _toy(xor, "XOR", _noise(1.5, 0.4)),
    _toy(blobs, "Blobs", _noise(2.0, 0.6), _CLASSES),
    _toy(spirals, "Spirals", _noise(0.3, 0.03), _ARMS, _TURNS),
    _toy(checkerboard, "Checkerboard", _noise(0.5, 0.03), _SQUARES),
    _toy(sine, "Wave", _noise(1.0, 0.2, _OF_VALUE), size=120, task="regression"),
    _toy(hills, "Hills", _noise(1.0, 0.15, _OF_VALUE), task="regression"),
    DatasetInfo("drawn", "Draw your own", "classification", _DRAWN, drawn),
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
    DatasetInfo("friedman", "Friedman #1", "classification", _FRIEDMAN, friedman),
    DatasetInfo("series", "Series, 9 channels", "classification", _SERIES, series),
    DatasetInfo("words", "Words with motifs", "classification", _WORDS, _words),
    DatasetInfo(
        "similarities",
        "Similarities, 3 matrices",
        "classification",
        _SIMILARITIES,
        similarities,
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
