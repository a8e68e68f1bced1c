"""Beside FasterRisk: ``python -m tests.bench.score_cards PYTHON [FOLDER]``.

PYTHON is an interpreter with ``fasterrisk`` installed (it needs numpy < 2), FOLDER one
with further ARFF files. What is printed is kept in `score_cards.txt`, with versions.

*Cards.* Ours: SMaLL with one prototype for each class and at most five columns, k
chosen on the validation rows, then its card. FasterRisk: as many columns as that card
(``group_sparsity``), cut at their training deciles, 5 or 10 lines chosen on the
validation rows, points from -5 to 5. Means over five splits.

*Alternatives.* The first twelve columns cut at their training medians, choices of three
(or all but one) within 5 % of the best objective. FasterRisk's pool, which is of a loss
without a ridge, is refitted with our objective: how many of it are within, and in ours?
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from smpcore import SMaLLClassifier, load_dataset, prepare, read_table, split
from smpcore.explain import score_card

SETS = ("sonar", "prnn_synth", "analcatdata_bankruptcy")
N_SPLITS, N_COLUMNS, K, MOST = 5, 5, 3, 12
KEPT = Path(__file__).with_suffix(".txt")

PEER = """
import json, sys, time
from importlib.metadata import version
import numpy as np
from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

def card(parts):
    cuts = [np.unique(np.quantile(column, np.arange(0.1, 1, 0.1)))
            for column in parts["X_train"].T]
    groups = np.repeat(np.arange(len(cuts)), [len(ends) for ends in cuts])
    def lines(X):
        return np.column_stack([X[:, [f]] <= ends for f, ends in enumerate(cuts)]) * 1.0
    best, most = (-1.0,), 8 * int(parts["n_columns"])  # it fails without a line left
    for k in (min(k, most) for k in (5, 10)):
        search = RiskScoreOptimizer(
            lines(parts["X_train"]), parts["y_train"], k=k, parent_size=10,
            group_sparsity=int(parts["n_columns"]), featureIndex_to_groupIndex=groups)
        search.optimize()
        model = RiskScoreClassifier(*search.get_models(model_index=0))
        right = [
            float((model.predict(lines(parts["X_" + n])) == parts["y_" + n]).mean())
            for n in ("validation", "test")
        ]
        if right[0] > best[0]:
            best = (*right, int((search.get_models(model_index=0)[2] != 0).sum()))
    return best[1:]

def pool(parts):
    started = time.perf_counter()
    most = {"select_top_m": 1000, "gap_tolerance": 0.05, "maxAttempts": 1000}
    search = RiskScoreOptimizer(parts["X"], parts["y"], k=int(parts["k"]), **most)
    search.optimize()
    points = search.get_models()[2]
    chosen = sorted({tuple(np.flatnonzero(row).tolist()) for row in points})
    return chosen, time.perf_counter() - started

work = {"card": card, "pool": pool}[sys.argv[1]]
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
    """Training, validation and test rows of a split, and its preparation."""
    parts = split(data, seed=seed)
    preparation = prepare(data, parts.train)
    X = preparation.transform(data.frame)
    y = np.unique(data.y, return_inverse=True)[1]
    rows = {name: getattr(parts, name) for name in ("train", "validation", "test")}
    return {name: (X[r], y[r]) for name, r in rows.items()}, preparation


def _ours(parts, preparation):
    """Card and model of the k that is best on the validation rows; test accuracies."""
    best = (-1.0,)
    for k in range(1, N_COLUMNS + 1):
        model = SMaLLClassifier(n_prototypes=1, k=k).fit(*parts["train"])
        weights = model.model_.weights
        used = preparation.used_columns((weights != 0).any(axis=0)).sum()
        if used > N_COLUMNS:
            continue
        card = score_card(model.model_, preparation, parts["train"][0])
        right = [(card.predict(X) == y).mean() for X, y in parts.values()]
        whole = (model.predict(parts["test"][0]) == parts["test"][1]).mean()
        if right[1] > best[0]:
            sizes = len(card.points), card.points.max(), used
            best = right[1], whole, right[2], *sizes
    return best[1:]


def cards(python: str, data) -> tuple[str, dict]:
    """A line of the first table, and the peer's versions."""
    ours, inputs = [], []
    for seed in range(N_SPLITS):
        parts, preparation = _parts(data, seed)
        ours.append(_ours(parts, preparation))
        arrays = {f"X_{n}": X for n, (X, _) in parts.items()}
        arrays |= {f"y_{n}": 2.0 * y - 1 for n, (_, y) in parts.items()}
        inputs.append(arrays | {"n_columns": ours[-1][-1]})
    versions, theirs = peer(python, "card", inputs)
    whole, card, n_lines, most, n_columns = np.mean(ours, axis=0)
    other, other_lines = np.mean(theirs, axis=0)
    numbers = f"{n_columns:8.1f}{whole:10.3f}{card:10.3f} ({n_lines:4.1f}, {most:4.1f})"
    return f"{numbers}{other:12.3f} ({other_lines:4.1f})", versions


def alternatives(python: str, data) -> str:
    """A line of the second table."""
    X, y = _parts(data, 0)[0]["train"]
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


def main(python: str, folder: str = "") -> None:
    """Print the tables, and keep them."""
    warnings.simplefilter("ignore")
    sets = {"breast_cancer": load_dataset("breast_cancer")}
    for name in SETS if folder else ():
        file = Path(folder, f"{name}.arff")
        sets[name] = read_table(file.read_bytes(), file.name)
    lines = [f"{'':24} columns     model  card (lines, points)  FasterRisk (lines)"]
    for name, data in sets.items():
        words, versions = cards(python, data)
        lines.append(f"{name:24}{words}")
        print(lines[-1], flush=True)
    head = "columns      best  choices  complete  seconds"
    lines += ["", f"{'':24} {head}  FasterRisk  seconds  within  in ours"]
    for name, data in sets.items():
        lines.append(f"{name:24}{alternatives(python, data)}")
        print(lines[-1], flush=True)
    used = versions | {f"{name} here": version(name) for name in ("numpy", "numba")}
    lines.append(", ".join(f"{name} {number}" for name, number in used.items()))
    KEPT.write_text("\n".join(["python -m tests.bench.score_cards", *lines, ""]))


if __name__ == "__main__":
    main(*sys.argv[1:])
