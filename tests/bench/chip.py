"""Ours and the peers' on one chip: ``python -m tests.bench.chip [data set ...]``.

For each of ten splits, the recipe of each entry is chosen by cross-validation on the
training rows, before the test rows are touched; then it is fitted on all training rows,
compiled for an ATmega328P, and asked there (simavr). Accuracies are of what the chip
computes: of our integer models by their emulator, which the chip has to equal on every
score; of the peers by their Python model, beside how often the chip agrees with it.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from smpcore import (
    MultiPrototypeSVC,
    SMaLLClassifier,
    SMPClassifier,
    SuperSparseClassifier,
    load_dataset,
    prepare,
)
from smpcore.chips import CHIPS, measure
from smpcore.chips.measuring import simulated
from smpcore.chips.programs import sizes_of
from smpcore.codegen import QuantModel, compile_model, quantise
from smpcore.errors import ExportError
from smpcore.evaluation.pareto import corrected_error
from smpcore.model import PrototypeModel
from smpcore.similarity import Similarity
from tests.bench.peers import Program, peers

CHIP = CHIPS["ATmega328P"]
N_SPLITS, TEST_SHARE, N_FOLDS = 10, 0.25, 5
#: Test rows that the simulated chip answers.
N_ASKED = 40

Fit = Callable[[np.ndarray, np.ndarray], PrototypeModel]


@dataclass(frozen=True)
class Recipe:
    """One of ours: what cross-validation may choose from.

    Parameters
    ----------
    name : str
    candidates : list of estimators
    width : int
    accumulators : tuple of (int or None)
        Sums to choose from as well.
    """

    name: str
    candidates: list[Any]
    width: int = 8
    accumulators: tuple[int | None, ...] = (None,)

    def choose(self, X: np.ndarray, y: np.ndarray, folds: list) -> tuple[Any, Any]:
        """Estimator and sums with the best mean accuracy of the integer model."""
        best, most = None, -1.0
        for candidate in self.candidates:
            hits = np.zeros((len(self.accumulators), len(folds)))
            for fold, (train, held) in enumerate(folds):
                model = candidate.fit(X[train], y[train]).model_
                for place, bits in enumerate(self.accumulators):
                    quant = self.integers(model, bits)
                    hits[place, fold] = _hits(quant, X[held], y[held])
            for place, mean in enumerate(hits.mean(axis=1)):
                if mean > most:
                    best, most = (candidate, self.accumulators[place]), mean
        return best

    def integers(self, model: PrototypeModel, bits: int | None) -> QuantModel:
        """The integer model."""
        return quantise(compile_model(model), self.width, accumulator=bits)


def _hits(quant: QuantModel, X: np.ndarray, y: np.ndarray) -> float:
    rows = X[:, [entry.index for entry in quant.source.inputs]]
    return float((quant.predict(rows) == y).mean())


def recipes(data: str) -> Iterable[Recipe]:
    """Ours, by data set."""
    if data == "digits":
        yield Recipe(
            "SVM, q prototypes a class, int8",
            [
                MultiPrototypeSVC(n_prototypes=q, C=C)
                for q in (1, 2, 3)
                for C in (0.1, 1.0)
            ],
        )
        yield Recipe(
            "super-sparse, 10 cases, int16",
            [
                SuperSparseClassifier(n_prototypes=10, lam=lam)
                for lam in (1e-5, 1e-4, 1e-3)
            ],
            width=16,
        )
        return
    few = [(p, k) for p in (1, 2, 3) for k in (2, 3, 4, 6, 8, 10, 12) if p * k <= 12]
    yield Recipe(
        "SMaLL, 12 weights at most, int8",
        [
            SMaLLClassifier(n_prototypes=p, k=k, lam=lam)
            for p, k in few
            for lam in (0.003, 0.01, 0.03)
        ],
        accumulators=(16,),
    )
    yield Recipe(
        "SMP, int8",
        [
            SMPClassifier(n_prototypes=p, lam=lam, mu=mu)
            for p in (1, 2)
            for lam in (0.003, 0.01)
            for mu in (0.005, 0.02, 0.05)
        ],
        accumulators=(16, None),
    )
    yield Recipe(
        "super-sparse, 4 cases, int16",
        [SuperSparseClassifier(n_prototypes=4, lam=lam) for lam in (1e-5, 1e-4, 1e-3)],
        width=16,
    )


def _line(quant: QuantModel, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """What an integer model takes on the chip, and how right it is."""
    rows = X[:, [entry.index for entry in quant.source.inputs]]
    integers = quant.quantise(rows)
    accuracy = float(
        (np.asarray(quant.source.classes)[quant.winners(integers)] == y).mean()
    )
    asked = np.vstack([integers[:N_ASKED], quant.saturating_row[None]])
    try:
        told = measure(quant, asked, CHIP)
    except ExportError as error:
        return {"accuracy": accuracy, "refused": str(error)}
    assert np.array_equal(told.scores, quant.scores(asked)), "the chip differs"
    return {
        "accuracy": accuracy,
        "flash": told.flash,
        "cycles": int(told.counts[:-1].max()),
        "stack": told.stack,
        "weights": quant.n_terms,
        "agrees": 1.0,
    }


def _ours(recipe: Recipe, X: np.ndarray, y: np.ndarray, split: tuple) -> dict[str, Any]:
    train, test, folds = split
    estimator, bits = recipe.choose(X[train], y[train], folds)
    quant = recipe.integers(estimator.fit(X[train], y[train]).model_, bits)
    return _line(quant, X[test], y[test])


def _l1_alike(X: np.ndarray, y: np.ndarray, split: tuple, n: int) -> dict[str, Any]:
    """Logistic regression with l1 penalty and about n weights, through our emitter."""
    train, test, _ = split
    center, scale = X[train].mean(axis=0), X[train].std(axis=0)
    scale[scale == 0] = 1.0
    Z = (X[train] - center) / scale
    fitted = None
    for C in np.geomspace(1e-3, 10, 25):  # the last of at most n weights
        tried = LogisticRegression(
            l1_ratio=1, C=C, solver="saga", tol=1e-2, max_iter=200, random_state=0
        ).fit(Z, y[train])
        count = np.count_nonzero(tried.coef_)
        if count > n:
            break
        fitted = tried if count else fitted
    weights, bias = fitted.coef_, fitted.intercept_
    if len(weights) == 1:
        weights, bias = np.vstack([0 * weights, weights]), np.r_[0.0, bias]
    k, d = weights.shape
    model = PrototypeModel(
        center=center,
        scale=scale,
        low=X[train].min(axis=0),
        high=X[train].max(axis=0),
        similarity=Similarity(),
        anchors=weights,
        mixing=np.eye(k),
        bias=bias,
        pooling="max",
        votes=np.eye(k),
        intercept=np.zeros(k),
        classes=fitted.classes_,
        counts=np.ones(k, dtype=np.int64),
        feature_names=tuple(f"x{f}" for f in range(d)),
        sample_shape=(d,),
        kind_of_prototype="direction",
    )
    return _line(quantise(compile_model(model), 8, accumulator=16), X[test], y[test])


def _peer(program: Program, truth: np.ndarray) -> dict[str, Any]:
    """What a peer's program takes on the chip."""
    accuracy = float((program.labels == truth).mean())
    sources = ["mdl.cpp" if "mdl.cpp" in program.files else "mdl.c"]
    if program.least_bytes > CHIP.flash:
        why = f"its numbers alone take {program.least_bytes:,} bytes of flash"
        return {"accuracy": accuracy, "refused": why}
    chip = replace(CHIP, libraries=("-lm",))
    given = np.dtype({"double": "f4", "float": "f4", "int16_t": "i2"}[program.kind])
    types = {"INPUT": program.kind, "SCORE": "uint8_t", "ANSWER": "uint8_t"}
    options = [f"-D{name}={kind}" for name, kind in types.items()]
    options += [f"-I{folder}" for folder in program.folders]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in program.files.items():
            (folder / file).write_text(text)
        try:
            added = sizes_of(folder, chip, options, sources)
            record = np.dtype(
                [("count", "u4"), ("stack", "u4"), ("scores", "u1"), ("winner", "u2")]
            )
            rows = program.rows[:N_ASKED].astype(given)
            told = simulated(folder, chip, options, sources, rows, record)
        except ExportError as error:
            return {"accuracy": accuracy, "refused": str(error)[:100]}
    return {
        "accuracy": accuracy,
        "flash": added.flash,
        "RAM": added.ram,
        "cycles": int(told["count"].max()),
        "stack": int(told["stack"].max()),
        "agrees": float((told["winner"] == program.labels[:N_ASKED]).mean()),
    }


def one_split(data: str, seed: int) -> list[dict[str, Any]]:
    """Every entry on one split."""
    warnings.simplefilter("ignore")
    dataset = load_dataset(data)
    outer = StratifiedShuffleSplit(1, test_size=TEST_SHARE, random_state=seed)
    y = dataset.y
    train, test = next(outer.split(np.zeros((len(y), 1)), y))
    X = prepare(dataset, train).transform(dataset.frame)
    inner = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    folds = list(inner.split(X[train], y[train]))
    split = train, test, folds
    lines = []
    for recipe in recipes(data):
        lines.append({"name": recipe.name} | _ours(recipe, X, y, split))
        if "weights" in lines[-1] and len(lines) == 1:
            name = "l1 logistic regression, as many weights, ours int8"
            alike = _l1_alike(X, y, split, lines[0]["weights"])
            lines.append({"name": name} | alike)
    for peer in peers():
        chosen = peer.choose(X[train], y[train], folds)
        rows = peer.rows(X, train)
        fitted = chosen.fit(rows[train], y[train])
        program = peer.write(fitted, rows[test])
        numbers = np.searchsorted(fitted.classes_, y[test])
        lines.append({"name": peer.name} | _peer(program, numbers))
    return [{"split": seed} | line for line in lines]


def table(lines: pd.DataFrame, n_train: int, n_test: int) -> pd.DataFrame:
    """Mean and spread of accuracy, least and most of everything else."""
    base = lines[lines.name == "m2cgen logistic regression"].set_index("split").accuracy
    out = []
    for name, own in lines.groupby("name", sort=False):
        own = own.set_index("split")
        difference = (own.accuracy - base).to_numpy()
        half = corrected_error(difference, n_train, n_test) * stats.t.ppf(
            0.975, len(difference) - 1
        )
        percent = 100 * own.accuracy
        entry = {
            "model": name,
            "accuracy %": f"{percent.mean():.1f} ± {percent.std():.1f}",
            "less m2cgen LR": f"{100 * difference.mean():+.1f} ± {100 * half:.1f}",
        }
        for what in ("flash", "RAM", "cycles", "stack", "weights"):
            known = own[what].dropna() if what in own else []
            entry[what] = f"{known.min():.0f}-{known.max():.0f}" if len(known) else "-"
        if "agrees" in own:
            entry["agrees with its Python"] = f"{100 * own.agrees.mean():.1f} %"
        entry["does not fit"] = (
            int(own.refused.notna().sum()) if "refused" in own else 0
        )
        out.append(entry)
    return pd.DataFrame(out)


def main(sets: list[str]) -> None:
    """Print a table for each data set."""
    for data in sets or ["breast_cancer", "digits"]:
        n = len(load_dataset(data).y)
        n_test = int(np.ceil(TEST_SHARE * n))
        tasks = [delayed(one_split)(data, seed) for seed in range(N_SPLITS)]
        done = Parallel(n_jobs=2)(tasks)
        lines = pd.DataFrame([line for split in done for line in split])
        print(
            f"\n{data}: {N_SPLITS} splits, {n - n_test} training and {n_test} test rows"
        )
        print(table(lines, n - n_test, n_test).to_string(index=False))
        refused = lines.get("refused", pd.Series(dtype=object)).dropna().unique()
        for why in refused[:6]:
            print(" -", why)
    print(
        "ATmega328P, simavr. Flash and RAM: a program with the model less the same "
        "without it. Cycles, stack: the most of all rows asked. Ranges: least and most "
        "of the splits; ±: standard deviation, and the 95 % interval of Nadeau and "
        "Bengio. The chip equals our emulator on every score asked, or this fails."
    )


if __name__ == "__main__":
    main(sys.argv[1:])
