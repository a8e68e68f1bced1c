"""IMKPL on the generated series, measured: ``python -m tests.bench.series``.

Weights of the nine channels and accuracy on the validation and test rows, which no
setting was chosen on; the mean over five seeds of the data. Weights are scaled to unit
length, as the paper prints them. Then the alignment kernel beside tslearn's, which is
the same function. Times are processor seconds of one thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from smpcore.datasets import Dataset, Split, load_dataset, prepare, split
from smpcore.methods.imkpl import IMKPLClassifier
from smpcore.similarity import alignment_kernel
from tests.bench.imkpl import processor_seconds
from tests.bench.solvers import show

SEEDS = range(5)
NOISES = (0.2, 0.5, 1.0)
SETTINGS = {"kappa=1": 1.0, "kappa=2": 2.0, "all alike (ISKPL)": np.inf}
PEERS = {"kNN, k=5": KNeighborsClassifier, "SVC, RBF, C=1": SVC}


def parts(data: Dataset) -> tuple[np.ndarray, np.ndarray, Split]:
    """Rows as prepared on the training ones, their labels, and the division."""
    division = split(data)
    X = prepare(data, division.train).transform(data.frame)
    return X, data.y, division


def fitted(X: np.ndarray, y: np.ndarray, n_channels: int, **params) -> IMKPLClassifier:
    """IMKPL with an alignment kernel for each channel."""
    common = {"kernels": "gak", "n_channels": n_channels, "standardize": False}
    return IMKPLClassifier(**common, **params).fit(X, y)


def lines() -> Iterator[list]:
    """One line for each noise and model."""
    for noise in NOISES:
        sets = [load_dataset("series", noise=noise, seed=seed) for seed in SEEDS]
        for label, kappa in SETTINGS.items():
            found = [_measured(data, kappa) for data in sets]
            weights = np.mean([f[0] for f in found], axis=0)
            accuracy, kept, dropped, seconds = np.mean([f[1:] for f in found], axis=0)
            yield [
                noise, label, " ".join(f"{w:.2f}" for w in weights), f"{kept:.1f}",
                f"{dropped:.1f}", f"{100 * accuracy:.1f}", f"{seconds:.2f}",
            ]  # fmt: skip
        for label, make in PEERS.items():
            accuracy = np.mean([_held_out(make(), *parts(data)) for data in sets])
            yield [noise, label, "", "", "", f"{100 * accuracy:.1f}", ""]


def _measured(data: Dataset, kappa: float) -> tuple:
    X, y, division = parts(data)
    started = time.process_time()
    train = division.train
    model = fitted(X[train], y[train], data.sample_shape[0], kappa=kappa)
    seconds = time.process_time() - started
    weights = model.kernel_weights_
    rows = np.concatenate([division.validation, division.test])
    return (
        weights / np.linalg.norm(weights),
        model.score(X[rows], y[rows]),
        np.count_nonzero(weights),
        np.isin([7, 8], model.dropped_).sum(),
        seconds,
    )


def _held_out(model, X: np.ndarray, y: np.ndarray, division: Split) -> float:
    rows = np.concatenate([division.validation, division.test])
    return model.fit(X[division.train], y[division.train]).score(X[rows], y[rows])


def series() -> None:
    """Print the table."""
    fitted(*parts(load_dataset("series", n_samples=40, n_times=10))[:2], 9)  # compiles
    head = ["noise", "model", "weights of channels 1 to 9", "kept", "of 8, 9 dropped"]
    head += ["accuracy %", "s a fit"]
    show("Series: 72 rows to learn from, 48 held out, five seeds", head, lines())


def alignment() -> None:
    """Print times of the kernel beside tslearn's."""
    from tslearn.metrics import cdist_gak  # takes a second

    def lines() -> Iterator[list]:
        for n_times in (30, 100, 300, 405, 660, 1000):
            rng = np.random.default_rng(0)
            A = 0.3 * rng.normal(size=(20, n_times)).cumsum(axis=1)
            middle = np.median(np.abs(A[0][:, None] - A[1]))
            sigma = float(middle * np.sqrt(n_times))
            wide = A[:, :, None]
            cdist_gak(wide[:2], sigma=sigma)  # compiles
            ours = [processor_seconds(alignment_kernel, A, A, sigma) for _ in range(3)]
            theirs = [processor_seconds(cdist_gak, wide, None, sigma) for _ in range(3)]
            apart = np.abs(ours[0][0] - theirs[0][0]).max()
            ours, theirs = (min(t for _, t in tries) for tries in (ours, theirs))
            yield [
                n_times, f"{1e3 * ours:.1f}", f"{1e3 * theirs:.1f}",
                f"{theirs / ours:.1f}", f"{apart:.0e}",
            ]  # fmt: skip

    head = ["times", "ours ms", "tslearn ms", "times faster", "values apart"]
    show("Alignment kernel of 20 series with each other", head, lines())


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        series()
        alignment()
