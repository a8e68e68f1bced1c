"""Which step of a series the alignment kernel pairs with which step of another."""

from __future__ import annotations

import numpy as np

from smpcore.model import PrototypeModel

#: Longer series are not aligned for a picture.
MOST_TIMES = 2_000


def aligns_series(model: PrototypeModel) -> bool:
    """Whether its similarity aligns series, none of them longer than 2,000 steps.

    Parameters
    ----------
    model : PrototypeModel
        Model whose similarity is looked at.

    Returns
    -------
    bool
    """
    n_channels = len(model.similarity.widths)
    is_alignment = model.similarity.kind == "gak"
    return is_alignment and model.n_features <= MOST_TIMES * n_channels


def warping_path(
    model: PrototypeModel, x: np.ndarray, z: np.ndarray, channel: int
) -> np.ndarray:
    """Pairs of steps of the alignment that adds most to the kernel of two series.

    The kernel sums products over all alignments, see `smpcore.solvers.alignment`; this
    is the one with the largest product.

    Parameters
    ----------
    model : PrototypeModel
        Whose similarity is the alignment kernel, see `aligns_series`.
    x, z : ndarray of shape (n_features,)
        Two series in the user's units, channel beside channel.
    channel : int
        Channel that is looked at.

    Returns
    -------
    ndarray of int, shape (n_pairs, 2)
        Steps of `x` and of `z`, from 0, in time order.
    """
    n_channels = len(model.similarity.widths)
    a, b = (
        np.split((one - model.center) / model.scale, n_channels)[channel]
        for one in (x, z)
    )
    square = np.subtract.outer(a, b) ** 2 / (2 * model.similarity.widths[channel] ** 2)
    cost = square + np.log(2 - np.exp(-square))  # minus the logarithm of a factor
    n = len(a)
    total = np.full((n + 1, n + 1), np.inf)
    total[0, 0] = 0.0
    for both in range(2 * n - 1):  # all pairs of one diagonal at once
        i = np.arange(max(0, both - n + 1), min(n - 1, both) + 1)
        j = both - i
        before = np.minimum(np.minimum(total[i, j], total[i, j + 1]), total[i + 1, j])
        total[i + 1, j + 1] = cost[i, j] + before
    path = [(n - 1, n - 1)]
    while path[-1] != (0, 0):
        i, j = path[-1]
        before = ((i - 1, j - 1), (i - 1, j), (i, j - 1))
        path.append(min(before, key=lambda pair: total[pair[0] + 1, pair[1] + 1]))
    return np.array(path[::-1])
