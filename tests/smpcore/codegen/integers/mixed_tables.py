"""Generated tables of mixed kinds of columns, with a target that they explain."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from smpcore.datasets import Dataset

_Draw = Callable[[np.random.Generator, int], np.ndarray]


def _flag(share: float) -> _Draw:
    return lambda random, n: (random.random(n) < share).astype(float)


def _count(low: int, high: int) -> _Draw:
    return lambda random, n: random.integers(low, high + 1, n).astype(float)


def _normal(middle: float, spread: float) -> _Draw:
    return lambda random, n: random.normal(middle, spread, n)


#: Name of a table -> its seed, how its columns are drawn, and how many such there are.
TABLES: Mapping[str, tuple[int, list[tuple[_Draw, int]]]] = {
    "flags": (0, [(_flag(0.5), 16)]),
    "rare flags": (1, [(_flag(0.05), 8), (_flag(0.2), 8)]),
    "flags, floats": (2, [(_flag(0.4), 6), (_normal(0, 1), 6)]),
    "flags, 12-bit counter, floats": (
        3,
        [(_flag(0.3), 5), (_count(0, 4095), 1), (_normal(0, 1), 4)],
    ),
    "years, flags, floats": (
        7,
        [(_count(1990, 2020), 2), (_flag(0.3), 4), (_normal(20, 5), 3)],
    ),
}


def mixed_columns(name: str, n_rows: int = 800) -> Dataset:
    """Draw one of `TABLES`, with a target of three classes.

    The class is the highest of two sums of the standardized columns and 0; a bend of
    some columns and noise keep it from being separable.
    """
    seed, kinds = TABLES[name]
    random = np.random.default_rng([0, seed])
    X = np.column_stack(
        [draw(random, n_rows) for draw, times in kinds for _ in range(times)]
    )
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = random.choice([-1, 1], (scaled.shape[1], 2)) * random.uniform(
        0.3, 1.0, (scaled.shape[1], 2)
    )
    sums = scaled @ weights + 0.3 * random.normal(size=(n_rows, 2))
    sums[:, 1] += 0.5 * np.abs(scaled[:, 0])
    y = np.column_stack([sums, np.zeros(n_rows)]).argmax(axis=1)
    frame = pd.DataFrame(X, columns=[f"c{place}" for place in range(X.shape[1])])
    roles = dict.fromkeys(frame, "feature") | {"y": "target"}
    frame = frame.assign(y=np.array(["a", "b", "c"])[y])
    return Dataset(name, frame, roles, "classification")
