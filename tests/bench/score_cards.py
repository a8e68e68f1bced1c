"""Beside FasterRisk: ``python -m tests.bench.score_cards PYTHON [FOLDER [TABLE ...]]``.

PYTHON is an interpreter with ``fasterrisk`` installed (it needs numpy < 2), FOLDER one
with further ARFF files. What is printed is kept in `score_cards.txt`, with versions.

*Scores.* Five lines of at most five points, 20 splits; training and validation rows
are learned from, as nothing is chosen on the latter, test rows are predicted. Twice:
both get the same lines, the columns cut at their deciles; and each makes its lines
itself, FasterRisk at no more than 100 thresholds of a column, as its tool does. Means
over the splits; the slope of calibration is that of all test rows together. The paired
difference of log-loss is ours less theirs, with its standard error.

*Alternatives.* The first twelve columns cut at their training medians, choices of three
(or all but one) within 5 % of the best objective. FasterRisk's pool, which is of a loss
without a ridge, is refitted with our objective: how many of it are within, and in ours?
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from smpcore import SMaLLClassifier, load_dataset, prepare, read_table, split
from smpcore.datasets import Input, Preparation
from smpcore.explain.risk_score import risk_score

SETS = (
    *("sonar", "prnn_synth", "rabe_148", "analcatdata_cyyoung9302"),
    "analcatdata_bankruptcy",
)
N_SPLITS, N_LINES, MOST_POINTS = 20, 5, 5
#: Of the table of alternatives.
K, MOST = 3, 12
KEPT = Path(__file__).with_suffix(".txt")

PEER = """
import json, sys, time
from importlib.metadata import version
import numpy as np
import pandas as pd
from fasterrisk.binarization_util import BinBinarizer
from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

def score(parts):
    X, X_test = parts["X"], parts["X_test"]
    if parts["own"]:
        cut = BinBinarizer()
        frames = [pd.DataFrame(x, columns=[f"c{i}" for i in range(x.shape[1])])
                  for x in (X, X_test)]
        cut.fit(frames[0])
        X, X_test = (np.asarray(cut.transform(frame)[0], dtype=float)
                     for frame in frames)
    search = RiskScoreOptimizer(X, parts["y"], k=int(parts["k"]))
    search.optimize()
    multiplier, intercept, points = search.get_models(model_index=0)
    model = RiskScoreClassifier(multiplier, intercept, points)
    used = points[points != 0]
    return [model.predict_prob(X_test).tolist(), len(used), float(abs(used).max())]

def pool(parts):
    started = time.perf_counter()
    most = {"select_top_m": 1000, "gap_tolerance": 0.05, "maxAttempts": 1000}
    search = RiskScoreOptimizer(parts["X"], parts["y"], k=int(parts["k"]), **most)
    search.optimize()
    points = search.get_models()[2]
    chosen = sorted({tuple(np.flatnonzero(row).tolist()) for row in points})
    return chosen, time.perf_counter() - started

work = {"score": score, "pool": pool}[sys.argv[1]]
versions = {name: version(name) for name in ("fasterrisk", "numpy")}
print(json.dumps([versions, [work(np.load(path)) for path in sys.argv[2:]]]))
"""


def peer(python: str, work: str, inputs: list[dict[str, Any]]) -> tuple[dict, list]:
    """Versions and results of FasterRisk, in its own environment."""
    place = Path(tempfile.mkdtemp())
    files = [str(place / f"{number}.npz") for number in range(len(inputs))]
    for file, arrays in zip(files, inputs, strict=True):
        np.savez(file, **arrays)
    command = [python, "-c", PEER, work, *files]
    made = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(made.stdout.decode().splitlines()[-1])


def _parts(data, seed: int):
    """Rows to learn from and test rows of a split, and their preparation."""
    parts = split(data, seed=seed)
    learned = np.sort(np.concatenate([parts.train, parts.validation]))
    preparation = prepare(data, learned)
    X = preparation.transform(data.frame)
    y = np.unique(data.y, return_inverse=True)[1]
    return (X[learned], y[learned], X[parts.test], y[parts.test]), preparation


def _same_cuts(X: np.ndarray, X_test: np.ndarray):
    """Lines at the deciles, as columns of 0 and 1 and what prepares these."""
    cuts = [np.unique(np.quantile(x, np.arange(0.1, 1, 0.1))) for x in X.T]
    lines = [
        np.column_stack([x[:, [f]] <= of for f, of in enumerate(cuts)]) * 1.0
        for x in (X, X_test)
    ]
    inputs = [
        Input(f"line {j}", "number", 0.0, (), first=j) for j in range(lines[0].shape[1])
    ]
    return *lines, Preparation(tuple(inputs))


def _measures(probabilities: list, truth: list) -> np.ndarray:
    """Accuracy, AUC and log-loss of each split."""
    rows = []
    for p, y in zip(probabilities, truth, strict=True):
        p = np.clip(p, 1e-12, 1 - 1e-12)
        rows.append([((p >= 0.5) == y).mean(), roc_auc_score(y, p), log_loss(y, p)])
    return np.array(rows)


def _slope(probabilities: list, truth: list) -> float:
    """Slope of calibration of all test rows together."""
    z = logit(np.clip(np.concatenate(probabilities), 1e-12, 1 - 1e-12))
    model = LogisticRegression(C=np.inf).fit(z[:, None], np.concatenate(truth))
    return float(model.coef_[0, 0])


def scores(python: str, data, own: bool) -> tuple[list[str], dict]:
    """Two lines of the first table, and the peer's versions."""
    ours, sizes, inputs, truth, seconds = [], [], [], [], 0.0
    for seed in range(N_SPLITS):
        (X, y, X_test, y_test), preparation = _parts(data, seed)
        if not own:
            X, X_test, preparation = _same_cuts(X, X_test)
        started = time.perf_counter()
        made = risk_score(X, y, preparation, N_LINES, MOST_POINTS, n_parts=0)
        seconds += time.perf_counter() - started
        ours.append(made.probabilities(X_test)[:, 1])
        sizes.append([len(made.points), max(made.points, default=0)])
        truth.append(y_test)
        theirs = {"X": X, "y": 2.0 * y - 1, "X_test": X_test, "k": N_LINES, "own": own}
        inputs.append(theirs)
    started = time.perf_counter()
    versions, found = peer(python, "score", inputs)
    waited = time.perf_counter() - started
    pairs = (
        (ours, sizes, seconds),
        ([f[0] for f in found], [f[1:] for f in found], waited),
    )
    table = [_measures(one, truth) for one, *_ in pairs]
    lines = []
    for (one, size, took), measured in zip(pairs, table, strict=True):
        numbers = "".join(f"{value:8.3f}" for value in measured.mean(axis=0))
        of_size = "".join(f"{value:7.1f}" for value in np.mean(size, axis=0))
        lines.append(f"{numbers}{_slope(one, truth):8.2f}{of_size}{took:8.0f}")
    apart = (table[0] - table[1])[:, 2]
    error = apart.std(ddof=1) / np.sqrt(len(apart))
    lines[0] += f"{apart.mean():+9.4f} ({error:.4f})"
    return lines, versions


def alternatives(python: str, data) -> str:
    """A line of the second table."""
    X, y, *_ = _parts(data, 0)[0]
    X = (np.median(X, axis=0) < X).astype(float)[:, :MOST]
    k, started = min(K, X.shape[1] - 1), time.perf_counter()
    small = SMaLLClassifier(n_prototypes=1, k=k)
    ours = small.alternatives(small.problem(X, y))
    seconds = time.perf_counter() - started
    _, [(chosen, others)] = peer(python, "pool", [{"X": X, "y": 2.0 * y - 1, "k": k}])
    mine = {support for (support,) in ours.supports}
    refits = {
        tuple(one): SMaLLClassifier(n_prototypes=1, k=k, supports=[one]).fit(X, y)
        for one in chosen
        if len(one) == k
    }
    within = {s for s, fit in refits.items() if fit.objective_ <= ours.ceiling}
    rest = f"{ours.objectives[0]:10.4f}{len(mine):8}{ours.complete!s:>10}{seconds:8.2f}"
    return (
        f"{X.shape[1]:8}{rest}{len(refits):12}{others:8.2f}{len(within):8}"
        f"{len(within & mine):9}"
    )


def _followed(name: str):
    """Event status of a table of scikit-survival; the time is no input."""
    from sksurv import datasets

    frame, y = getattr(datasets, f"load_{name}")()
    event, _ = y.dtype.names
    frame = frame.assign(event=np.where(y[event], "yes", "no"))
    table = frame.to_csv(index=False).encode()
    return read_table(table, f"{name}.csv", roles={"event": "target"})


def _tables(folder: str) -> Iterator[tuple[str, Any]]:
    """Every table that is there, with its name."""
    yield "breast_cancer", load_dataset("breast_cancer")
    for name in SETS if folder else ():
        for file in (Path(folder, f"{name}.arff"), Path(folder, f"table1/{name}.arff")):
            if file.exists():
                yield name, read_table(file.read_bytes(), file.name)
                break
    with suppress(ImportError):
        yield "whas500", _followed("whas500")
        yield "GBSG2", _followed("gbsg2")


def main(python: str, folder: str = "", *names: str) -> None:
    """Print the tables, and keep them."""
    warnings.simplefilter("ignore")
    sets = {n: data for n, data in _tables(folder) if not names or n in names}
    head = "accuracy     AUC    loss   slope  lines points seconds  difference (s.e.)"
    lines = [f"{'':36}{head}"]
    print(lines[0])
    for own, (name, data) in itertools.product((False, True), sets.items()):
        words, versions = scores(python, data, own)
        cuts = "own cuts" if own else "same cuts"
        for who, numbers in zip(("ours", "FasterRisk"), words, strict=True):
            lines.append(f"{name[:15]:16}{cuts:10}{who:10}{numbers}")
            print(lines[-1], flush=True)
    head = "columns      best  choices  complete  seconds"
    lines += ["", f"{'':24} {head}  FasterRisk  seconds  within  in ours"]
    print(lines[-1])
    for name, data in sets.items():
        lines.append(f"{name:24}{alternatives(python, data)}")
        print(lines[-1], flush=True)
    used = versions | {f"{name} here": version(name) for name in ("numpy", "numba")}
    lines.append(", ".join(f"{name} {number}" for name, number in used.items()))
    if not names:
        KEPT.write_text("\n".join(["python -m tests.bench.score_cards", *lines, ""]))


if __name__ == "__main__":
    main(*sys.argv[1:])
