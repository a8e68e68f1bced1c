"""Our models for ``tests.bench.chip``: what cross-validation may choose from.

All candidates are scored on the folds of the training rows, as integer models. Then for
each limit of flash or time the best candidate is taken whose program, fitted on all
training rows, keeps that limit on a chip. No test row has a part in it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from smpcore import (
    MultiPrototypeSVC,
    SMaLLClassifier,
    SMPClassifier,
    SuperSparseClassifier,
)
from smpcore.chips import CHIPS, Chip, Measured, measure, needs_conversion
from smpcore.codegen import (
    CompiledModel,
    QuantModel,
    compile_model,
    estimated,
    quantise,
)
from smpcore.codegen.vectors import saturating_row
from smpcore.errors import SmpcoreError
from smpcore.similarity import Similarity
from tests.bench.chip_data import Rows
from tests.smpcore.codegen.models import kernel_model

#: Limits that the candidates are chosen for; of a Cortex-M in instructions.
FLASH = tuple(2**n * size // 4 for n in range(7, 14) for size in (4, 6))  # 128, 192 ...
CYCLES = (125, 250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 60000)
#: Test rows that the simulated chip answers.
N_ASKED = 40
#: Training rows that integers of a rival have to answer as its floats do.
_SAME = 0.995
#: An estimate may be off by so much before its program is compiled in vain.
_OFF = 1.4


@dataclass(frozen=True)
class Candidate:
    """One of ours at fixed parameters.

    Parameters
    ----------
    family : str
        "SMaLL", "SMP", "SVM" or "super-sparse".
    estimator : estimator
    width : int
        Bits of an input.
    bits : int or None
        Of a sum; None: chosen by `quantise`.
    """

    family: str
    estimator: Any
    width: int = 8
    bits: int | None = None

    def quantised(self, rows: Rows, train: np.ndarray) -> QuantModel:
        """The integer model of some training rows."""
        compiled = _compiled(self.estimator, rows, train.tobytes())
        return quantise(compiled, self.width, accumulator=self.bits)


@functools.lru_cache(8)
def _compiled(estimator: Any, rows: Rows, train: bytes) -> CompiledModel:
    """The model in floats, once for all widths; an estimator is told by its place."""
    own = np.frombuffer(train, np.int64)
    model = estimator.fit(rows.X[own], rows.y[own]).model_
    return compile_model(model, rows.preparation)


def candidates(n_classes: int, n_features: int, large: bool) -> Iterator[Candidate]:
    """All that there is to choose from.

    Parameters
    ----------
    n_classes, n_features : int
    large : bool
        Fewer candidates, as each takes long.
    """
    n_rows = 1 if n_classes == 2 else n_classes
    for p, k, lam in _small(n_rows, n_features, large):
        one = SMaLLClassifier(n_prototypes=p, k=k, lam=lam)
        yield Candidate("SMaLL", one, bits=16)
    for p in (1,) if large else (1, 2):
        for mu in (0.001, 0.005, 0.02, 0.05):
            one = SMPClassifier(n_prototypes=p, lam=0.003, mu=mu)
            yield Candidate("SMP", one, bits=16)
    for q in (1, 2, 3):
        for C in (0.1, 1.0) if large else (0.1, 1.0, 10.0):
            yield Candidate("SVM", MultiPrototypeSVC(n_prototypes=q, C=C))
    for n in (1, 2, 4, 8):
        one = SuperSparseClassifier(n_prototypes=n * n_classes, lam=1e-5)
        if n < 8 or not large:
            yield from (Candidate("super-sparse", one, width) for width in (8, 16))


def _small(
    n_rows: int, n_features: int, large: bool
) -> Iterator[tuple[int, int, float]]:
    """Prototypes, features of each and penalty; what takes long has fewer."""
    for p in (1, 2, 3) if n_rows == 1 else (1, 2):
        for k in (1, 2, 3, 4, 6, 8, 12):
            if k > n_features or n_rows * p * k > max(64, 4 * n_rows):
                continue
            if large:
                yield from ((p, k, 1e-3),) if p == 1 else ()
            else:
                few = n_rows == 1 or (p == 1 and k <= 4)
                yield from ((p, k, lam) for lam in (1e-2, 1e-4))
                yield from ((p, k, 1e-5),) if few else ()


@dataclass(frozen=True)
class Scored:
    """A candidate with what the folds say of it.

    Parameters
    ----------
    candidate : Candidate
    accuracy : float
        Mean over the folds, of the integer model.
    costs : dict of str to (float, float)
        Chip -> bytes of flash and cycles, estimated, the most of the folds.
    """

    candidate: Candidate
    accuracy: float
    costs: dict[str, tuple[float, float]]


def scored(rows: Rows, large: bool) -> list[Scored]:
    """All candidates, the most accurate first, and of equal ones the smallest."""
    n_classes = len(np.unique(rows.y))
    found = []
    for candidate in candidates(n_classes, rows.X.shape[1], large):
        try:
            found.append(_score(candidate, rows))
        except SmpcoreError:  # such as a model that uses no input
            continue
    return sorted(found, key=lambda one: (-one.accuracy, one.costs["ATmega328P"]))


def _score(candidate: Candidate, rows: Rows) -> Scored:
    accuracies, costs = [], {chip: (0.0, 0.0) for chip in CHIPS}
    for train, held in rows.folds:
        quant = candidate.quantised(rows, train)
        accuracies.append(accuracy(quant, rows, held))
        for chip, most in costs.items():
            found = estimated(quant, chip)
            costs[chip] = max(most[0], found.flash), max(most[1], found.count)
    return Scored(candidate, float(np.mean(accuracies)), costs)


def raw_rows(quant: QuantModel, rows: Rows, places: np.ndarray) -> np.ndarray:
    """What the inputs of a model are in some rows, in the units of the table."""
    return quant.source.rows(rows.dataset.frame.iloc[places])


def accuracy(quant: QuantModel, rows: Rows, places: np.ndarray) -> float:
    """Share of rows that the emulator, and so the chip, answers rightly."""
    answers = quant.predict(raw_rows(quant, rows, places))
    return float((answers == rows.y[places]).mean())


def line(quant: QuantModel, rows: Rows, chip: Chip) -> dict[str, Any]:
    """What an integer model takes on a chip, and how right it is.

    Raises
    ------
    ExportError
        If the chip cannot hold it.
    """
    raw = raw_rows(quant, rows, rows.test[:N_ASKED])
    integers = quant.quantise(raw)
    asked = np.vstack([integers, saturating_row(quant)[None]])
    told = measure(quant, asked, chip)
    assert np.array_equal(told.scores, quant.scores(asked)), "the chip differs"
    assert np.array_equal(told.winners, quant.winners(asked)), "the chip differs"
    entry = {"accuracy": accuracy(quant, rows, rows.test), "agrees": 1.0}
    entry |= {"weights": quant.n_terms, **_takes(told, told.counts[:-1])}
    both = told
    if needs_conversion(quant):
        both = measure(quant, raw, chip, converted=True)
    more = _takes(both, both.counts[: len(raw)])
    return entry | {f"{what}, from floats": more[what] for what in ("flash", "cycles")}


def _takes(told: Measured, counts: np.ndarray) -> dict[str, int]:
    costs = {"flash": told.flash, "RAM": told.ram, "stack": told.stack}
    return costs | {"cycles": int(counts.max())}


@dataclass
class Picks:
    """The best of the candidates within limits of flash and time, on one split.

    Parameters
    ----------
    rows : Rows
    ranking : list of Scored
    """

    rows: Rows
    ranking: list[Scored]
    _known: dict[tuple[int, str], dict[str, Any] | None] = field(default_factory=dict)

    def lines(self, chip: Chip) -> Iterator[dict[str, Any]]:
        """A line for each limit that any candidate keeps on a chip."""
        for what, limits in (("flash", FLASH), ("cycles", CYCLES)):
            unit = "B of flash" if what == "flash" else chip.counted
            for limit in limits:
                found = self._best(what, limit, chip)
                if found is not None:
                    yield {"name": f"ours, at most {limit:,} {unit}"} | found

    def _best(self, what: str, limit: int, chip: Chip) -> dict[str, Any] | None:
        for place, one in enumerate(self.ranking):
            if one.costs[chip.name][what == "cycles"] > _OFF * limit:
                continue
            measured = self._measured(place, chip)
            if measured is not None and measured[what] <= limit:
                return measured
        return None

    def _measured(self, place: int, chip: Chip) -> dict[str, Any] | None:
        key = place, chip.name
        if key not in self._known:
            candidate = self.ranking[place].candidate
            self._known[key] = None
            try:
                quant = candidate.quantised(self.rows, self.rows.train)
                found = line(quant, self.rows, chip)
                number = f"int{candidate.width}"
                self._known[key] = found | {"chosen": f"{candidate.family}, {number}"}
            except SmpcoreError:  # it does not fit
                pass
        return self._known[key]


def l1_model(rows: Rows, n: int) -> tuple[QuantModel, float]:
    """Logistic regression with l1 penalty and about n weights, and its accuracy."""
    scaler, fitted = l1_fitted(rows, n)
    weights, bias = fitted.coef_, fitted.intercept_
    if len(weights) == 1:
        weights, bias = np.vstack([0 * weights, weights]), np.r_[0.0, bias]
    X = rows.X[rows.train]
    parts = {"bias": bias, "classes": fitted.classes_, "kind_of_prototype": "direction"}
    parts |= {"center": scaler.mean_, "scale": scaler.scale_}
    parts |= {"low": X.min(axis=0), "high": X.max(axis=0)}
    model = kernel_model(weights, np.eye(len(weights)), Similarity(), **parts)
    compiled = compile_model(model, rows.preparation)
    own = raw_rows(compiled, rows, rows.train)
    wanted = compiled.predict(own)
    for width, bits in ((8, 16), (8, 32), (16, 32)):  # the cheapest that is as good
        quant = quantise(compiled, width, accumulator=bits)
        if np.mean(quant.predict(own) == wanted) >= _SAME:
            break
    theirs = fitted.score(scaler.transform(rows.X[rows.test]), rows.y[rows.test])
    return quant, theirs


def l1_fitted(rows: Rows, n: int) -> tuple[StandardScaler, LogisticRegression]:
    """The penalty of the best folds of those with at most n weights, fitted tightly.

    What l1 chooses it also shrinks, so that the weights it leaves are fitted once more
    without it where the folds say that this is better.
    """
    best = -1.0, None
    for C in np.geomspace(1e-3, 10, 13):
        whole = _l1(C).fit(*_scaled(rows, rows.train)[1:])
        if not 0 < np.count_nonzero(whole.coef_) <= n:
            continue
        for make in (_l1, _refitted):
            right = np.mean([_held_out(make(C), rows, *fold) for fold in rows.folds])
            best = max(best, (right, (make, C)), key=lambda one: one[0])
    make, C = best[1]
    scaler, Z, y = _scaled(rows, rows.train)
    return scaler, make(C).fit(Z, y)


def _l1(C: float) -> LogisticRegression:
    return LogisticRegression(l1_ratio=1, C=C, solver="saga", tol=1e-5, max_iter=5000)


class _refitted(LogisticRegression):
    """Logistic regression on what an l1 penalty leaves, its zeros held at zero."""

    def __init__(self, C: float = 1.0) -> None:
        super().__init__(C=C)

    def fit(self, Z: np.ndarray, y: np.ndarray) -> _refitted:
        """Fit, class against class, the columns that l1 leaves to each."""
        chosen = _l1(self.C).fit(Z, y)
        self.classes_, kept = chosen.classes_, chosen.coef_ != 0
        self.coef_, self.intercept_ = np.zeros(kept.shape), chosen.intercept_.copy()
        for k, own in enumerate(kept):
            if own.any():
                truth = y == self.classes_[k if len(kept) > 1 else 1]
                one = LogisticRegression(C=1.0, tol=1e-6, max_iter=5000)
                one.fit(Z[:, own], truth)
                self.coef_[k, own], self.intercept_[k] = one.coef_[0], one.intercept_[0]
        return self


def _scaled(rows: Rows, places: np.ndarray) -> tuple[StandardScaler, Any, np.ndarray]:
    scaler = StandardScaler().fit(rows.X[places])
    return scaler, scaler.transform(rows.X[places]), rows.y[places]


def _held_out(
    model: LogisticRegression, rows: Rows, train: np.ndarray, held: np.ndarray
) -> float:
    scaler, Z, y = _scaled(rows, train)
    return model.fit(Z, y).score(scaler.transform(rows.X[held]), rows.y[held])
