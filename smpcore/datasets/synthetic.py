"""Generated data: shapes in the plane, and Friedman's function."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs, make_circles, make_moons

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
    sizes = tuple(class_sizes(n_samples, 2, imbalance))
    return make_moons(sizes, noise=noise, random_state=seed)


def circles(
    n_samples: int, noise: float, imbalance: float, inner: float, seed: int
) -> Points:
    """A circle around a circle."""
    sizes = tuple(class_sizes(n_samples, 2, imbalance))
    return make_circles(sizes, noise=noise, random_state=seed, factor=inner)


def xor(n_samples: int, noise: float, imbalance: float, seed: int) -> Points:
    """Four clouds; opposite ones are one class."""
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
        own = cells[cells.sum(axis=1) % 2 == label]
        corner.append(own[rng.integers(len(own), size=size)])
    X = np.concatenate(corner) + rng.uniform(size=(n_samples, 2))
    y = np.repeat([0, 1], [len(part) for part in corner])
    return X + rng.normal(0, noise, X.shape), y


def table_of(points: Callable[..., Points], **params) -> pd.DataFrame:
    """Draw the points in random order, as a table with columns x1, x2 and class."""
    X, y = points(**params)
    order = np.random.default_rng(params["seed"]).permutation(len(y))
    frame = {"x1": X[order, 0], "x2": X[order, 1], "class": y[order].astype(np.int64)}
    return pd.DataFrame(frame)


def friedman(n_samples: int, n_features: int, seed: int) -> pd.DataFrame:
    """Friedman's first function of five features among many, cut at its mean.

    The target is 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5 + N(0, 1) with x
    uniform on [0, 1]; rows below its mean are "P", the others "N".

    Parameters
    ----------
    n_samples, n_features : int
        Shape; at least five features, the rest is noise.
    seed : int
        Of the generator.

    Returns
    -------
    DataFrame of shape (n_samples, n_features + 1)
        Columns x1, x2, ... and class.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_samples, n_features))
    x1, x2, x3, x4, x5 = X[:, :5].T
    value = 10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5
    value += rng.normal(size=n_samples)
    frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(n_features)])
    frame["class"] = np.where(value < value.mean(), "P", "N")
    return frame
