"""Accuracy at fixed bytes: SMaLL and SMP against ProtoNN and Bonsai.

Garg, Dekel, Xiao: Learning SMaLL Predictors. NeurIPS 2018. The paper limits features;
ProtoNN and Bonsai were made for bytes.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from smpcore.datasets import Dataset, load_dataset
from smpcore.methods.smallk import SMaLLClassifier
from smpcore.methods.smp import SMPClassifier
from smpcore.papers.experiment import Experiment, Outcome, Trial
from smpcore.papers.protocols import Values, accuracy, halves, standardised
from smpcore.papers.small.bonsai import Bonsai
from smpcore.papers.small.protonn import ProtoNN
from smpcore.papers.small.thresholded import n_bytes
from smpcore.papers.sources import Source

#: Bytes of weights that a model may have, the experiment's axis.
BUDGETS = (32, 64, 128, 256, 512, 1024, 2048)
N_FOLDS = 3


def _all(**grid: tuple[Any, ...]) -> list[Values]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


#: Model -> what makes it, and the settings that are tried.
MODELS: dict[str, tuple[Any, list[Values]]] = {
    "SMaLL": (SMaLLClassifier, _all(n_prototypes=(1, 2, 4), k=(1, 2, 3, 5, 8, 13))),
    "SMP": (
        SMPClassifier,
        _all(n_prototypes=(1, 2, 4), mu=(0.003, 0.01, 0.03, 0.06, 0.1, 0.2)),
    ),
    "ProtoNN": (
        ProtoNN,
        _all(n_dimensions=(1, 2, 5), n_prototypes=(1, 2, 4), share=(0.1, 0.3, 1.0)),
    ),
    "Bonsai": (
        Bonsai,
        _all(depth=(1, 2), n_dimensions=(1, 2, 5), share=(0.1, 0.3, 1.0)),
    ),
}


def weight_bytes(fitted: Any) -> int:
    """Bytes of a model's weights in float32, counted alike for all models."""
    if hasattr(fitted, "n_bytes"):
        return int(fitted.n_bytes)
    model = fitted.model_
    return n_bytes({"weights": model.anchors, "biases": np.atleast_1d(model.bias)})


def _run(trial: Trial, dataset: Dataset) -> Outcome:
    rows = standardised(halves(dataset, trial.repetition))
    make, grid = MODELS[trial.model]
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=trial.repetition)
    drawn = list(folds.split(rows.X, rows.y))
    tried = []
    for values in grid:
        whole = make(**values).fit(rows.X, rows.y)
        size = weight_bytes(whole)
        if size > BUDGETS[-1]:
            continue
        parts = (make(**values).fit(rows.X[a], rows.y[a]) for a, _ in drawn)
        chances = [
            accuracy(part, rows.X[b], rows.y[b])
            for part, (_, b) in zip(parts, drawn, strict=True)
        ]
        test = accuracy(whole, rows.X_test, rows.y_test)
        tried.append((float(np.mean(chances)), -size, test))
    curve = []
    for budget in BUDGETS:
        fitting = [one for one in tried if -one[1] <= budget]
        if fitting:
            best = max(fitting, key=lambda one: one[:2])
            curve.append((float(budget), best[2]))
    at = dict(curve)
    measures = {f"accuracy, {b} bytes": at.get(float(b), np.nan) for b in (64, 256)}
    return Outcome(measures, {"test accuracy": curve})


def _bundled(*keys: str) -> dict[str, Source]:
    return {key: Source(make=partial(load_dataset, key), bundled=key) for key in keys}


EXPERIMENTS = (
    Experiment(
        name="small-bytes",
        paper="smallk",
        where="Section 1",
        title="Accuracy at fixed bytes, beside ProtoNN and Bonsai",
        protocol=(
            "Two random halves. A setting is chosen by three folds of the training "
            "half among those whose fit on it has few enough bytes. Bytes are weights "
            "in float32: all of an array, or those that are not zero with two bytes "
            "for their place. Code, scaling and RAM are not counted; what a chip takes "
            "in all is on Export. ProtoNN and Bonsai are plain NumPy with the "
            "published equations, not their authors' programs."
        ),
        data={
            **_bundled("wine", "breast_cancer", "friedman"),
            "sonar": Source(file="sonar.arff", openml=40),
        },
        models=tuple(MODELS),
        run=_run,
        repetitions=2,
        axis="bytes of weights",
    ),
)
