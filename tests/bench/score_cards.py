"""Score cards beside FasterRisk: ``python -m tests.bench.score_cards PYTHON [FOLDER]``.

PYTHON is an interpreter with ``fasterrisk`` installed (it needs numpy < 2), FOLDER one
with further ARFF files. Both use at most five columns. Ours: SMaLL with one prototype
for each class and k chosen on the validation rows, then its card. FasterRisk: columns
cut at their training deciles, at most five columns (``group_sparsity``), 5 or 10
lines chosen on the validation rows, points from -5 to 5. Printed: mean accuracy on test
rows over five splits, and the largest number of lines.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from smpcore import SMaLLClassifier, load_dataset, prepare, read_table, split
from smpcore.explain import score_card

SETS = ("sonar", "prnn_synth", "analcatdata_bankruptcy")
N_SPLITS, N_COLUMNS = 5, 5

PEER = """
import json, sys
import numpy as np
from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

results = []
for path in sys.argv[1:]:
    parts = np.load(path)
    cuts = [np.unique(np.quantile(column, np.arange(0.1, 1, 0.1)))
            for column in parts["X_train"].T]
    groups = np.repeat(np.arange(len(cuts)), [len(ends) for ends in cuts])
    def lines(X):
        return np.column_stack([X[:, [f]] <= ends for f, ends in enumerate(cuts)]) * 1.0
    best = (-1.0,)
    for k in (5, 10):
        search = RiskScoreOptimizer(
            lines(parts["X_train"]), parts["y_train"], k=k, parent_size=10,
            group_sparsity=5, featureIndex_to_groupIndex=groups)
        search.optimize()
        multiplier, intercept, points = search.get_models(model_index=0)
        model = RiskScoreClassifier(multiplier, intercept, points)
        right = [
            float((model.predict(lines(parts["X_" + n])) == parts["y_" + n]).mean())
            for n in ("validation", "test")
        ]
        if right[0] > best[0]:
            best = (*right, int((points != 0).sum()))
    results.append(best)
print(json.dumps(results))
"""


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
            best = right[1], right[2], whole, len(card.points)
    return best[1:]


def main(python: str, folder: str = "") -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    sets = {"breast_cancer": load_dataset("breast_cancer")}
    for name in SETS if folder else ():
        file = Path(folder, f"{name}.arff")
        sets[name] = read_table(file.read_bytes(), file.name)
    print(f"{'':24} float model    card (lines)    FasterRisk (lines)")
    for name, data in sets.items():
        place = Path(tempfile.mkdtemp())
        ours, files = [], []
        for seed in range(N_SPLITS):
            parts, preparation = _parts(data, seed)
            ours.append(_ours(parts, preparation))
            files.append(str(place / f"{seed}.npz"))
            arrays = {f"X_{n}": X for n, (X, _) in parts.items()}
            arrays |= {f"y_{n}": 2.0 * y - 1 for n, (_, y) in parts.items()}
            np.savez(files[-1], **arrays)
        made = subprocess.run([python, "-c", PEER, *files], capture_output=True)
        peer = json.loads(made.stdout.decode().splitlines()[-1])
        card, whole, n_lines = np.array(ours).T
        _, other, other_lines = np.array(peer).T
        cells = [
            f"{whole.mean():.3f}",
            f"{card.mean():.3f} ({n_lines.max():.0f})",
            f"{other.mean():.3f} ({other_lines.max():.0f})",
        ]
        print(f"{name:24} " + "".join(f"{cell:15}" for cell in cells), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
