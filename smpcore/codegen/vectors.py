"""Rows that try a generated model where it is most likely to be wrong."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.discriminating import discriminating_inputs
from smpcore.codegen.float32 import to_float32
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.neighbours import neighbours
from smpcore.codegen.quant_inputs import container_ends
from smpcore.codegen.quantised import QuantModel
from smpcore.errors import ExportError

#: A bundle holds at most this many test vectors.
MAX_VECTORS = 64

#: Most bytes of their inputs: an AVR has 32 kB, and 32,767 bytes in one table.
MAX_BYTES = 2**14

# A float32 has 24 bits; inputs near zero have a few more to walk.
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class TestVectors:
    """Rows with the scores and labels that the emulator gives them.

    Parameters
    ----------
    rows : ndarray of shape (n, n_inputs), float32, int8 or int16
        Inputs of the model, as its C function takes them.
    scores : ndarray of shape (n, n_classes), float32, int16 or int32
        Score of each class that the C code must reproduce.
    winners : ndarray of shape (n,), int64
        Index of the class that the C code must answer.
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
        Model whose inputs and their ranges are drawn from.
    n : int
        Number of rows to draw.
    seed : int, default 0
        Seed of the random numbers; equal seeds give equal rows.

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
    model: CompiledModel | QuantModel,
    rows: np.ndarray | None = None,
    n: int = 32,
    seed: int = 0,
    source: str = "",
) -> TestVectors:
    """Choose rows of every kind, and let the emulator answer them.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        Model whose emulator answers the rows.
    rows : ndarray of shape (n_rows, n_inputs), optional
        Real rows (`CompiledModel.rows`) that may be given away; up to a third of the
        vectors are taken from them, each class in turn. Default: synthetic rows only.
    n : int, default 32
        Number of vectors, 1 to 64; fewer come out where so many rows do not exist, or
        would take more than 16 kB on a chip.
    seed : int, default 0
        Seed of the random rows; equal seeds give equal vectors.
    source : str, optional
        Name of the data set of `rows`.

    Returns
    -------
    TestVectors
        Of an integer model in integers: what its C code gets and gives.

    Raises
    ------
    ExportError
        If `n` is out of its range.
    """
    if not 1 <= n <= MAX_VECTORS:
        raise ExportError(f"n={n} should be from 1 to {MAX_VECTORS}.")
    whole = model.is_integer
    compiled = model.source if whole else model
    n = min(n, most_rows(len(compiled.inputs), model.width // 8 if whole else 4))
    raw = sample(compiled, max(256, n), seed)
    if whole:
        given, drawn = model.quantise, model.quantise(raw)
        # Rows drawn at random may all lie far from the prototypes, chosen ones do not.
        chosen = list(
            itertools.islice(discriminating_inputs(model, drawn), MAX_VECTORS)
        )
        near = neighbours(model, np.vstack([chosen, drawn]), MAX_VECTORS)
        # Rows inside the ranges, and between them rows of any bits.
        least, most = container_ends(model.width)
        random = drawn.copy()
        random[1::2] = np.random.default_rng(seed).integers(
            least, most + 1, random[1::2].shape
        )
        kinds = f"int{model.width}", f"int{model.accumulator}"
    else:
        given, drawn = to_float32, raw
        near, random = _between(model, drawn), drawn
        kinds = "float32", "float32"
    real = [] if rows is None else _each_class(model, given(rows), -(-n // 3))
    groups = {
        "real": real,
        "missing": given(_missing(compiled.inputs, raw, categories_only=whole)),
        "corner": discriminating_inputs(model, drawn),
        **near,
        "random": random,
    }
    # Every prototype of an integer model has a corner: those come first.
    n_corners = n // 2 if whole else 0
    tried, why = _chosen(groups, n, n_corners, "int64" if whole else "float32")
    return TestVectors(
        rows=tried.astype(kinds[0]),
        scores=model.scores(tried).astype(kinds[1]),
        winners=model.winners(tried),
        kinds=why,
        source=source if "real" in why else "",
    )


def most_rows(n_inputs: int, size: int) -> int:
    """Rows of inputs of so many bytes each that a chip has room for; at least one."""
    return max(1, MAX_BYTES // (n_inputs * size))


def _chosen(
    groups: dict[str, Iterable[np.ndarray]], n: int, n_corners: int, dtype: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Take the real rows, corners, then a new row of each group in turn; n in all."""
    seen: set[bytes] = set()
    streams = {kind: _unseen(rows, seen, dtype) for kind, rows in groups.items()}
    chosen: dict[str, list[np.ndarray]] = {kind: [] for kind in groups}
    chosen["real"] += streams.pop("real")
    chosen["corner"] += itertools.islice(streams["corner"], n_corners)
    waiting = deque(streams.items())
    while waiting and sum(map(len, chosen.values())) < n:
        kind, stream = waiting.popleft()
        if (row := next(stream, None)) is not None:
            chosen[kind].append(row)
            waiting.append((kind, stream))
    kinds = tuple(kind for kind, rows in chosen.items() for _ in rows)
    return np.array([row for rows in chosen.values() for row in rows]), kinds


def _unseen(
    rows: Iterable[np.ndarray], seen: set[bytes], dtype: str
) -> Iterator[np.ndarray]:
    for row in (np.asarray(given).astype(dtype) for given in rows):
        if row.tobytes() not in seen:
            seen.add(row.tobytes())
            yield row


def _each_class(
    compiled: CompiledModel | QuantModel, rows: np.ndarray, n: int
) -> list[np.ndarray]:
    """Up to n rows, the predicted classes in turn, each from its first row on."""
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


def _missing(
    inputs: Sequence[CompiledInput], drawn: np.ndarray, categories_only: bool
) -> np.ndarray:
    """Rows without any value, without one value, and with a level that is not there."""
    gone = np.array([np.nan if entry.kind == "number" else -1.0 for entry in inputs])
    may_miss = [
        entry.kind == "category" or entry.missing is not None for entry in inputs
    ]
    rows = [np.where(may_miss, gone, drawn[0])] if any(may_miss) else []
    if categories_only:
        may_miss = [entry.kind == "category" for entry in inputs]
    columns = np.flatnonzero(may_miss)[:MAX_VECTORS]
    for column in columns:
        values = [gone[column], len(inputs[column].levels)]
        for value in values[: 1 + bool(inputs[column].levels)]:
            rows.append(drawn[1].copy())
            rows[-1][column] = value
    return np.array(rows).reshape(-1, len(inputs))


def _between(compiled: CompiledModel, drawn: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Neighbouring float32 rows with different labels, and rows with tied scores."""
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
        near = compiled.margins(middle) <= np.float32(compiled.tie)
        for pair in np.flatnonzero(near):
            ties.setdefault(int(pair), middle[pair])
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    pairs = np.stack([left, right], axis=1).reshape(-1, drawn.shape[1])
    return {"boundary": list(pairs), "tie": list(ties.values())}
