"""Rows that try a compiled model where it is most likely to be wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.inputs import to_float32
from smpcore.errors import ExportError

#: A bundle holds at most this many test vectors.
MAX_VECTORS = 64

# A float32 has 24 bits; inputs near zero have a few more to walk.
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class TestVectors:
    """Rows with the scores and labels that the emulator gives them.

    Parameters
    ----------
    rows : ndarray of shape (n, n_inputs), float32
    scores : ndarray of shape (n, n_classes), float32
    winners : ndarray of shape (n,), int64
        Class indices.
    kinds : tuple of str
        Why each row is there: "real", "missing", "corner", "boundary", "tie" or
        "random".
    source : str
        Data set that the real rows come from.
    """

    rows: np.ndarray
    scores: np.ndarray
    winners: np.ndarray
    kinds: tuple[str, ...]
    source: str = ""

    @property
    def n_real(self) -> int:
        """Rows that stand in the user's table."""
        return self.kinds.count("real")


def sample(compiled: CompiledModel, n: int, seed: int = 0) -> np.ndarray:
    """Random rows inside the training range, as float32 numbers.

    Parameters
    ----------
    compiled : CompiledModel
    n : int
    seed : int, default 0

    Returns
    -------
    ndarray of shape (n, n_inputs), float64
        As `CompiledModel.rows` gives them; whole numbers where training had only such.
    """
    random = np.random.default_rng(seed)
    columns = []
    for entry in compiled.inputs:
        if entry.integer:
            low, high = np.floor([entry.low, entry.high])
            column = np.minimum(np.floor(random.uniform(low, high + 1, n)), high)
        else:
            column = random.uniform(entry.low, entry.high, n)
        columns.append(to_float32(column))
    return np.column_stack(columns).astype(np.float64)


def test_vectors(
    compiled: CompiledModel,
    rows: np.ndarray | None = None,
    n: int = 32,
    seed: int = 0,
    source: str = "",
) -> TestVectors:
    """Choose rows of every kind, and let the emulator answer them.

    Parameters
    ----------
    compiled : CompiledModel
    rows : ndarray of shape (n_rows, n_inputs), optional
        Real rows (`CompiledModel.rows`) that may be given away; up to a third of the
        vectors are taken from them, each class in turn. Default: synthetic rows only.
    n : int, default 32
        Number of vectors, 1 to 64; fewer come out where so many rows do not exist.
    seed : int, default 0
    source : str, optional
        Name of the data set of `rows`.

    Returns
    -------
    TestVectors
    """
    if not 1 <= n <= MAX_VECTORS:
        raise ExportError(f"n={n} should be from 1 to {MAX_VECTORS}.")
    drawn = sample(compiled, max(256, n), seed)
    groups = {
        "real": _each_class(compiled, rows, -(-n // 3)) if rows is not None else [],
        "missing": _missing(compiled, drawn),
        "corner": compiled.telling_rows(drawn),
        **_between(compiled, drawn),
        "random": drawn,
    }
    tried, kinds = _chosen(groups, n)
    return TestVectors(
        rows=tried,
        scores=compiled.scores(tried),
        winners=compiled.winners(tried),
        kinds=kinds,
        source=source if "real" in kinds else "",
    )


def _chosen(
    groups: dict[str, Iterable[np.ndarray]], n: int
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Take the real rows, then a new row of each other group in turn; n in all."""
    seen: set[bytes] = set()
    streams = {kind: _unseen(rows, seen) for kind, rows in groups.items()}
    chosen: dict[str, list[np.ndarray]] = {kind: [] for kind in groups}
    chosen["real"] += streams.pop("real")
    waiting = deque(streams.items())
    while waiting and sum(map(len, chosen.values())) < n:
        kind, stream = waiting.popleft()
        if (row := next(stream, None)) is not None:
            chosen[kind].append(row)
            waiting.append((kind, stream))
    kinds = tuple(kind for kind, rows in chosen.items() for _ in rows)
    return np.array([row for rows in chosen.values() for row in rows]), kinds


def _unseen(rows: Iterable[np.ndarray], seen: set[bytes]) -> Iterator[np.ndarray]:
    for row in map(to_float32, rows):
        if row.tobytes() not in seen:
            seen.add(row.tobytes())
            yield row


def _each_class(compiled: CompiledModel, rows: np.ndarray, n: int) -> list[np.ndarray]:
    """Up to n rows, the predicted classes in turn, each from its first row on.

    For regression, rows from the lowest to the highest value.
    """
    if compiled.is_regression:
        order = np.argsort(compiled.scores(rows)[:, 0], kind="stable")
        places = np.linspace(0, len(rows) - 1, min(n, len(rows)))
        return list(rows[order[places.astype(np.int64)]])
    winners = compiled.winners(rows)
    rank = np.zeros(len(rows), dtype=np.int64)
    for winner in np.unique(winners):
        own = winners == winner
        rank[own] = np.arange(own.sum())
    return list(rows[np.lexsort((winners, rank))[:n]])


def _missing(compiled: CompiledModel, drawn: np.ndarray) -> Iterator[np.ndarray]:
    """Rows without any value, without one value, and with a level that is not there."""
    gone = np.array([np.nan if e.kind == "number" else -1.0 for e in compiled.inputs])
    may_miss = [e.kind == "category" or e.missing is not None for e in compiled.inputs]
    columns = np.flatnonzero(may_miss)
    if not columns.size:
        return
    row = drawn[0].copy()
    row[columns] = gone[columns]
    yield row
    for column in columns:
        row = drawn[1].copy()
        row[column] = gone[column]
        yield row
        if compiled.inputs[column].levels:
            row = drawn[1].copy()
            row[column] = len(compiled.inputs[column].levels)
            yield row


def _between(compiled: CompiledModel, drawn: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Neighbouring float32 rows with different labels, and rows with equal scores.

    Found by bisection between random rows that agree in their categories. For
    regression there are none.
    """
    if compiled.is_regression:
        return {}
    right = to_float32(drawn)
    left = np.roll(right, 1, axis=0)
    fixed = [entry.kind == "category" for entry in compiled.inputs]
    right[:, fixed] = left[:, fixed]
    differ = np.flatnonzero(compiled.winners(left) != compiled.winners(right))
    left, right = left[differ[:MAX_VECTORS]], right[differ[:MAX_VECTORS]]
    start = compiled.winners(left)
    ties: dict[int, np.ndarray] = {}
    for _ in range(_HALVINGS):
        middle = left + (right - left) / 2
        same = (compiled.winners(middle) == start)[:, None]
        top = np.sort(compiled.scores(middle), axis=1)[:, -2:]
        for pair in np.flatnonzero(top[:, 0] == top[:, 1]):
            ties.setdefault(int(pair), middle[pair])
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    pairs = np.stack([left, right], axis=1).reshape(-1, drawn.shape[1])
    return {"boundary": list(pairs), "tie": list(ties.values())}
