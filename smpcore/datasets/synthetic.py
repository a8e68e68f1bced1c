"""Generated data: shapes in the plane, Friedman's function, and series."""

from collections.abc import Callable

import numpy as np
import pandas as pd

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


def table_of(points: Callable[..., Points], **params) -> pd.DataFrame:
    """Draw the points in random order, as a table with columns x1, x2 and class."""
    X, y = points(**params)
    order = np.random.default_rng(params["seed"]).permutation(len(y))
    frame = {"x1": X[order, 0], "x2": X[order, 1], "class": y[order].astype(np.int64)}
    return pd.DataFrame(frame)


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


def measured(points: Callable[..., Points], **params) -> pd.DataFrame:
    """Draw points with a number each, as a table with columns x1, ... and y."""
    X, y = points(**params)
    names = [f"x{j + 1}" for j in range(X.shape[1])] if X.shape[1] > 1 else ["x"]
    return pd.DataFrame(X, columns=names).assign(y=y)


def friedman(n_samples: int, n_features: int, seed: int) -> pd.DataFrame:
    """Friedman's first function of five features among many, cut at its mean.

    The target is 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5 + N(0, 1) with x
    uniform on [0, 1]; rows below its mean are "P", the others "N".
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_samples, n_features))
    x1, x2, x3, x4, x5 = X[:, :5].T
    value = 10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5
    value += rng.normal(size=n_samples)
    frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(n_features)])
    frame["class"] = np.where(value < value.mean(), "P", "N")
    return frame


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
) -> pd.DataFrame:
    """Series of nine channels that tell four classes apart, as in the IMKPL paper.

    Channel 1 tells classes 1 and 2 from 3 and 4, channel 2 tells 1 and 3 from 2 and 4,
    channel 3 tells 1, channel 4 tells 2 and channel 5 tells 4 from the rest, channel 6
    tells 1 and 4 from 2 and 3; channel 7 repeats channel 6 with slight changes;
    channels 8 and 9 are the same in every row and tell nothing. No channel is enough
    for all four classes: two of the channels 1, 2 and 6 are.
    """
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
    return frame


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


def similarities(
    n_samples: int, noise: float, seed: int
) -> tuple[dict[str, np.ndarray], np.ndarray, list[str]]:
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
    return matrices, y + 1, names


def corners(n_classes: int) -> pd.DataFrame:
    """One point for each of up to five classes, to draw more of them around."""
    places = np.array([[-1, -1], [1, 1], [-1, 1], [1, -1], [0, 0]])[:n_classes]
    frame = pd.DataFrame(0.8 * places, columns=["x1", "x2"])
    return frame.assign(**{"class": np.arange(1, n_classes + 1)})


def cells(channels: list[str], n_times: int) -> list[str]:
    """Names of the columns of series, channel beside channel: c1_t01, c1_t02, ..."""
    width = len(str(n_times))
    times = [f"t{number:0{width}}" for number in range(1, n_times + 1)]
    return [f"{channel}_{time}" for channel in channels for time in times]
