"""Generated tables of mixed kinds of columns, with a target that they explain."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from smpcore.datasets import Dataset

Columns = dict[str, np.ndarray]
_Draw = Callable[[np.random.Generator, int], np.ndarray]


def _flag(share: float) -> _Draw:
    return lambda random, n: (random.random(n) < share).astype(float)


def _count(low: int, high: int) -> _Draw:
    return lambda random, n: random.integers(low, high + 1, n).astype(float)


def _normal(middle: float, spread: float) -> _Draw:
    return lambda random, n: random.normal(middle, spread, n)


def _wide(random: np.random.Generator, n: int) -> np.ndarray:
    return random.lognormal(10, 1, n)


def _rare_events(random: np.random.Generator, n: int) -> np.ndarray:
    return random.poisson(random.lognormal(0, 1, n)).astype(float)


def _signs(random: np.random.Generator, n: int) -> np.ndarray:
    return random.choice([-1.0, 1.0], n)


def _letters(random: np.random.Generator, n: int) -> np.ndarray:
    return random.choice(["red", "green", "blue"], n)


#: Name of a table -> how each of its columns is drawn, and how many such there are.
TABLES: Mapping[str, list[tuple[_Draw, int]]] = {
    "flags": [(_flag(0.5), 16)],
    "rare flags": [(_flag(0.05), 8), (_flag(0.2), 8)],
    "flags, floats": [(_flag(0.4), 6), (_normal(0, 1), 6)],
    "flags, 12-bit counter, floats": [
        (_flag(0.3), 5),
        (_count(0, 4095), 1),
        (_normal(0, 1), 4),
    ],
    "rare flags, wide floats": [(_flag(0.05), 4), (_wide, 3), (_normal(0, 1e6), 2)],
    "4-bit counts, floats": [(_count(0, 15), 6), (_normal(0, 1e-3), 4)],
    "flags, 10-bit readings": [(_flag(0.5), 6), (_count(0, 1023), 4)],
    "years, flags, floats": [
        (_count(1990, 2020), 2),
        (_flag(0.3), 4),
        (_normal(20, 5), 3),
    ],
    "events, floats": [(_rare_events, 5), (_normal(0, 10), 4)],
    "categories, flags, counter": [
        (_letters, 2),
        (_flag(0.3), 4),
        (_count(0, 4095), 1),
    ],
    "signs, floats": [(_signs, 2), (_normal(0, 0.5), 12)],
    "8-bit pixels": [(_count(0, 255), 16)],
    "answers 1 to 5, age, income": [(_count(1, 5), 8), (_count(18, 90), 1), (_wide, 1)],
    "flags, 16-bit counter": [(_flag(0.3), 6), (_count(0, 65535), 2)],
    "floats": [(_normal(0, 1), 6), (_normal(100, 3), 4)],
}


def mixed_columns(name: str, n_rows: int = 800, seed: int = 0) -> Dataset:
    """Draw one of `TABLES`, with a target of three classes.

    The class is the highest of two sums of the standardized columns and 0; a bend of
    some columns and noise keep it from being separable.

    Parameters
    ----------
    name : str
        Of `TABLES`.
    n_rows : int, default 800
    seed : int, default 0

    Returns
    -------
    Dataset
    """
    random = np.random.default_rng([seed, list(TABLES).index(name)])
    columns: Columns = {}
    parts = []
    for draw, times in TABLES[name]:
        for _ in range(times):
            values = draw(random, n_rows)
            columns[f"c{len(columns)}"] = values
            number = values if values.dtype.kind == "f" else np.char.str_len(values)
            parts.append((number - number.mean()) / number.std())
    scaled = np.column_stack(parts)
    weights = random.choice([-1, 1], (scaled.shape[1], 2)) * random.uniform(
        0.3, 1.0, (scaled.shape[1], 2)
    )
    sums = scaled @ weights + 0.3 * random.normal(size=(n_rows, 2))
    sums[:, 1] += 0.5 * np.abs(scaled[:, 0])
    y = np.column_stack([sums, np.zeros(n_rows)]).argmax(axis=1)
    frame = pd.DataFrame({**columns, "y": np.array(["a", "b", "c"])[y]})
    roles = dict.fromkeys(frame, "feature") | {"y": "target"}
    kinds = {name: "category" for name in frame if frame[name].dtype.kind not in "fiu"}
    dataset = Dataset(name, frame, roles, "classification")
    return dataset.with_roles(kinds={n: k for n, k in kinds.items() if n != "y"})
