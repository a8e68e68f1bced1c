"""Readable models of others, tuned on the folds of the comparison.

They are no part of the product and not among the tests' requirements. The packages'
pins conflict with the library's, so they run in an environment of their own, on files
of `tests.bench.rival_rows`; FasterRisk, whose pins are old, in another one. No line
here imports the library:

    python -m tests.bench.rival_rows ROWS --data FOLDER
    python3 -m venv RIVALS
    RIVALS/bin/pip install interpret-core mlxtend matplotlib requests scikit-survival
    RIVALS/bin/pip install --no-deps imodels pystreed
    RIVALS/bin/python -m tests.bench.rivals ROWS FILE --models EBM FIGS STreeD
    FASTERRISK/bin/python -m tests.bench.rivals ROWS FILE --models FasterRisk

FILE is ``smpcore/papers/measured/comparison.jsonl``; what it has is not measured again.

Each model has six settings, as every model of the comparison; the best mean accuracy on
the inner folds is taken. A fit that takes more than `LIMIT` seconds of a core counts as
failed. Sizes are counted as in `smpcore.papers.comparison.experiments`: numbers are
thresholds, values of leaves, values of bins that are not zero, and points; bytes are 4
for each number, also for zeros of a table, and as few as they need for whole numbers.

**EBM** (interpret): at most 32 bins of a column and 16 of a column in a pair. While
settings are tried, a single bag and a learning rate of .1, which takes a hundredth of
the time of the usual settings; in the fit that is scored 14 bags, as usual, and .05.
Lou, Caruana, Gehrke, Hooker: Accurate intelligible models with pairwise interactions.
KDD 2013.

**FIGS** (imodels): sums of small trees. Tan and others: Fast interpretable greedy-tree
sums. PNAS, doi 10.1073/pnas.2310151122.

**STreeD** (pystreed): the tree of the lowest cost of a depth, with thresholds at eight
quantiles of each column, or fewer: 100 in all at most. Van der Linden, de Weerdt,
Demirović: Necessary and sufficient conditions for optimal decision trees using dynamic
programming. NeurIPS 2023.

**FasterRisk**: whole points for the same thresholds, one class against the rest where
there are three, which it does not do itself; while settings are tried, a beam of one
and one swap of each point, which takes a thirtieth of the time, and as usual (ten;
fifty) in the fit that is scored. Liu, Zhong, Li, Seltzer, Rudin: FasterRisk: fast and
accurate interpretable risk scores. NeurIPS 2022.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

#: Seconds of a core that a fit of STreeD, FIGS or FasterRisk may take.
LIMIT = 10
#: Bytes of a number.
_FLOAT = 4
#: Thresholds of a column; fewer where they would be more together: what a search for a
#: tree of depth 4 takes grows with the cube of their number.
_N_THRESHOLDS, _MOST_THRESHOLDS = 8, 100


@dataclass(frozen=True)
class Size:
    """What a fitted model stores.

    Parameters
    ----------
    numbers, n_bytes : int
        As above.
    used : ndarray of bool, shape (n_features,)
        Which features are looked at.
    """

    numbers: int
    n_bytes: int
    used: np.ndarray


@dataclass(frozen=True)
class Fitted:
    """A fitted model: class probabilities of rows, and its size."""

    probabilities: Callable[[np.ndarray], np.ndarray]
    size: Callable[[], Size]


@dataclass(frozen=True)
class Rival:
    """A model of somebody else's package, with the settings that are tried.

    ``fit(X, y, n_classes, values, is_last)`` returns a `Fitted`; it is last in the fit
    that is scored.
    """

    package: str
    fit: Callable[..., Fitted]
    grid: tuple[Mapping[str, Any], ...]
    limit: float = LIMIT


def _grid(**values: tuple) -> tuple[dict[str, Any], ...]:
    return tuple(
        dict(zip(values, one, strict=True)) for one in product(*values.values())
    )


def _index_bytes(largest: int) -> int:
    return np.min_scalar_type(largest).itemsize


def _spread(
    model: Any, n_classes: int, X: np.ndarray, shares: np.ndarray | None = None
) -> np.ndarray:
    """Probabilities with a column for each class, also those that it has not seen."""
    columns = np.asarray(model.classes_, dtype=int)
    result = np.zeros((len(X), n_classes))
    result[:, columns] = model.predict_proba(X) if shares is None else shares
    return result


def _ebm(
    X: np.ndarray, y: np.ndarray, n_classes: int, values: Mapping, is_last: bool
) -> Fitted:
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(
        **values,
        outer_bags=14 if is_last else 1,
        learning_rate=0.05 if is_last else 0.1,
        max_bins=32,
        max_interaction_bins=16,
        early_stopping_rounds=50 if is_last else 25,
        max_rounds=5000,
        feature_types=["continuous"] * X.shape[1],
        n_jobs=1,
        random_state=0,
    ).fit(X, y)

    def size() -> Size:
        terms = model.term_features_, model.term_scores_
        used = np.zeros(X.shape[1], dtype=bool)
        numbers, n_bytes, cuts = 0, _FLOAT * model.intercept_.size, {}
        for features, scores in zip(*terms, strict=True):
            # The first bin of an axis is of missing values, the last of unknown ones.
            inner = scores[(slice(1, -1),) * len(features)]
            if not inner.any():
                continue
            used[[*features]] = True
            numbers += np.count_nonzero(inner)
            n_bytes += _FLOAT * inner.size + len(features)
            for feature in features:
                level = min(len(features), len(model.bins_[feature])) - 1
                cuts[feature, level] = len(model.bins_[feature][level])
        numbers += sum(cuts.values())
        return Size(numbers, n_bytes + _FLOAT * sum(cuts.values()), used)

    return Fitted(lambda rows: _spread(model, n_classes, rows), size)


def _figs(
    X: np.ndarray, y: np.ndarray, n_classes: int, values: Mapping, is_last: bool
) -> Fitted:
    from imodels import FIGSClassifier

    model = FIGSClassifier(**values, random_state=0).fit(X, y)

    def size() -> Size:
        trees = [_nodes(one, "left", "right") for one in model.trees_]
        n_values = 1 if n_classes == 2 else n_classes
        return _size_of_trees(trees, X.shape[1], n_values)

    return Fitted(lambda rows: _spread(model, n_classes, rows), size)


def _streed(
    X: np.ndarray, y: np.ndarray, n_classes: int, values: Mapping, is_last: bool
) -> Fitted:
    from pystreed import STreeDClassifier

    # Its own quantiles differ between fits and rows of one value.
    names, bits = _bits(X)
    model = STreeDClassifier(
        "cost-complex-accuracy", **values, time_limit=LIMIT, random_seed=0
    ).fit(bits(X), y)

    def size() -> Size:
        nodes = _nodes(model.tree_, "left_child", "right_child")
        nodes = [(-1 if one < 0 else names[one][0]) for one in nodes]
        return _size_of_trees([nodes], X.shape[1], 0)

    return Fitted(lambda rows: _spread(model, n_classes, bits(rows)), size)


def _nodes(node: Any, left: str, right: str) -> list[int]:
    """Feature of each node of a tree, -1 of a leaf."""
    if getattr(node, left, None) is None:
        return [-1]
    return [
        int(node.feature),
        *_nodes(getattr(node, left), left, right),
        *_nodes(getattr(node, right), left, right),
    ]


def _size_of_trees(trees: list[list[int]], n_features: int, n_values: int) -> Size:
    """Trees by their nodes; leaves have values, or a class."""
    used = np.zeros(n_features, dtype=bool)
    numbers, n_bytes = 0, 0
    for nodes in trees:
        features = [one for one in nodes if one >= 0]
        n_branches, n_leaves = len(features), len(nodes) - len(features)
        used[features] = True
        numbers += n_branches + max(n_values, 1) * n_leaves
        places = _index_bytes(n_features) + 2 * _index_bytes(len(nodes))
        n_bytes += n_branches * (_FLOAT + places)
        n_bytes += n_leaves * (_FLOAT * n_values if n_values else 1)
    return Size(numbers, n_bytes, used)


def _bits(
    X: np.ndarray,
) -> tuple[list[tuple[int, float]], Callable[[np.ndarray], np.ndarray]]:
    """Feature and threshold of each 0/1 column, and what makes these of rows."""
    n_thresholds = min(_N_THRESHOLDS, max(1, _MOST_THRESHOLDS // X.shape[1]))
    shares = np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
    names = [
        (j, float(cut))
        for j, values in enumerate(X.T)
        for cut in np.unique(np.quantile(values, shares, method="lower"))
        if cut < values.max()
    ]

    def bits(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([rows[:, j] <= cut for j, cut in names]).astype(int)

    return names, bits


def _fasterrisk(
    X: np.ndarray, y: np.ndarray, n_classes: int, values: Mapping, is_last: bool
) -> Fitted:
    from fasterrisk.fasterrisk import RiskScoreOptimizer

    names, bits = _bits(X)
    inputs = bits(X).astype(float)
    narrow = {"parent_size": 1, "select_top_m": 1, "maxAttempts": 1}
    narrow, scores = {} if is_last else narrow, []
    for code in [1] if n_classes == 2 else range(n_classes):
        k = min(values["k"], inputs.shape[1])
        signs = np.where(y == code, 1.0, -1.0)
        search = RiskScoreOptimizer(inputs, signs, k, **narrow)
        search.optimize()
        scores.append(search.get_models(model_index=0))

    def probabilities(rows: np.ndarray) -> np.ndarray:
        inputs = bits(rows)
        odds = [(first + inputs @ points) / unit for unit, first, points in scores]
        shares = 1 / (1 + np.exp(-np.column_stack(odds)))
        if n_classes == 2:
            return np.column_stack([1 - shares, shares])
        return shares / shares.sum(axis=1, keepdims=True)

    def size() -> Size:
        places = [np.flatnonzero(points) for _, _, points in scores]
        n_points = sum(map(len, places))
        cuts = {int(one) for row in places for one in row}
        used = np.zeros(X.shape[1], dtype=bool)
        used[[names[one][0] for one in cuts]] = True
        # A point is a byte and says where its threshold is; a threshold, of what.
        n_bytes = n_points * (1 + _index_bytes(len(cuts)))
        n_bytes += len(cuts) * (_FLOAT + _index_bytes(X.shape[1]))
        return Size(n_points + len(cuts), n_bytes + 2 * _FLOAT * len(scores), used)

    return Fitted(probabilities, size)


RIVALS = {
    "EBM": Rival(
        "interpret-core",
        _ebm,
        _grid(interactions=(0, 1, "3x"), max_leaves=(2, 3)),
        limit=600,
    ),
    "FIGS": Rival("imodels", _figs, _grid(max_rules=(1, 2, 4, 6, 9, 12))),
    "STreeD": Rival(
        "pystreed", _streed, _grid(max_depth=(2, 3, 4), cost_complexity=(0.02, 0.005))
    ),
    "FasterRisk": Rival("fasterrisk", _fasterrisk, _grid(k=(1, 2, 3, 4, 5, 6))),
}


class _TooLong(Exception):
    """A fit has used up its time."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Give up after so many seconds of a core, at the next line of Python."""

    def give_up(*_: Any) -> None:
        raise _TooLong

    signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _fitted(rival: Rival, rows: Mapping, n_classes: int, *more: Any) -> Fitted | None:
    """A fit, or None where it has failed."""
    try:
        with _limited(rival.limit):
            return rival.fit(rows["X"], rows["y"], n_classes, *more)
    except (_TooLong, ValueError, RuntimeError, AssertionError, IndexError):
        return None


def _accuracy(fitted: Fitted | None, rows: Mapping) -> float:
    if fitted is None:
        return 0.0
    answers = fitted.probabilities(rows["X_test"]).argmax(axis=1)
    return float(np.mean(answers == rows["y_test"]))


def measured(rival: Rival, rows: Mapping[str, Mapping], columns: np.ndarray) -> tuple:
    """Scores and sizes of an outer fold, and the settings that its inner ones chose."""
    whole, n_classes = rows["all"], 1 + max(part["y"].max() for part in rows.values())
    inner = [part for name, part in rows.items() if name != "all"]

    def total(values: Mapping) -> float:
        return sum(
            _accuracy(_fitted(rival, part, n_classes, values, False), part)
            for part in inner
        )

    values = max(rival.grid, key=total)
    started = time.thread_time()
    fitted = _fitted(rival, whole, n_classes, values, True)
    seconds = time.thread_time() - started
    if fitted is None:
        return {"accuracy": None}, values
    shares, y = fitted.probabilities(whole["X_test"]), whole["y_test"]
    right = shares.argmax(axis=1) == y
    recalls = [right[y == code].mean() for code in np.unique(y)]
    # No model can know of an error that is rarer than its training rows show.
    chances = np.maximum(shares[np.arange(len(y)), y], 1 / (len(whole["y"]) + 2))
    size = fitted.size()
    return {
        "accuracy": right.mean(),
        "balanced accuracy": np.mean(recalls),
        "log-loss": -np.log(chances).mean(),
        "numbers": size.numbers,
        "bytes": size.n_bytes + _FLOAT * size.used.sum(),
        "columns": len(np.unique(columns[size.used])),
        "fit seconds": seconds,
    }, values


def _parts(path: Path) -> Iterator[tuple[int, dict[str, dict], np.ndarray]]:
    """Outer folds of a file with their parts."""
    with np.load(path) as arrays:
        for number in range(len([one for one in arrays if one.endswith("/columns")])):
            rows: dict[str, dict] = {}
            for key in arrays:
                outer, *names = key.split("/")
                if outer == str(number) and len(names) == 2:
                    rows.setdefault(names[0], {})[names[1]] = arrays[key]
            yield number, rows, arrays[f"{number}/columns"]


def main() -> None:
    """Measure what the file does not have."""
    parser = argparse.ArgumentParser(description="The readable rivals, measured.")
    parser.add_argument("rows", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--models", nargs="*", choices=RIVALS, default=[*RIVALS])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    file = args.file
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    done = [_trial(one) for one in map(json.loads, lines)]
    for table in sorted(args.rows.glob("*.npz"), key=lambda one: one.stat().st_size):
        data = table.stem.partition("-")[2]
        for number, rows, columns in _parts(table):
            for model in args.models:
                trial = {"data": data, "model": model, "repetition": number}
                if _trial(trial) in done:
                    continue
                record = trial | _record(RIVALS[model], rows, columns)
                with file.open("a", encoding="utf-8") as opened:
                    opened.write(json.dumps(record) + "\n")


def _trial(record: Mapping[str, Any]) -> tuple:
    return record["data"], record["model"], record["repetition"]


def _record(rival: Rival, rows: Mapping[str, Mapping], columns: np.ndarray) -> dict:
    """What a line has beside its trial, as lines that the library writes."""
    started = time.perf_counter()
    measures, values = measured(rival, rows, columns)
    return {
        "measures": {
            name: None if one is None else float(f"{float(one):.6g}")
            for name, one in measures.items()
        },
        "curves": {},
        "method": "",
        "values": values,
        "seconds": round(time.perf_counter() - started, 3),
        "edition": _versions(rival),
    }


def _versions(rival: Rival) -> str:
    packages = rival.package, "scikit-learn", "numpy"
    parts = [f"{one} {version(one)}" for one in packages]
    return ", ".join([*parts, f"Python {platform.python_version()}"])


if __name__ == "__main__":
    main()
