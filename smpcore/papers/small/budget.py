"""Accuracy at fixed bytes: SMaLL and SMP against ProtoNN and Bonsai.

The paper limits features;
ProtoNN and Bonsai were made for bytes.
"""

from __future__ import annotations

from operator import ge
from typing import Any

import numpy as np

from smpcore.methods.smallk import SMaLLClassifier
from smpcore.methods.smp import SMPClassifier
from smpcore.papers.conclusions import Claim
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.protocols import (
    Fit,
    grid_of,
    mean_accuracy,
    standardised_halves,
    stratified,
)
from smpcore.papers.small.sparsity import Bonsai, ProtoNN, n_bytes
from smpcore.papers.sources import Source, bundled

RIVALS = "ProtoNN", "Bonsai"
#: Bytes of weights that a model may have, the experiment's axis.
BUDGETS = (32, 64, 128, 256, 512, 1024, 2048)
N_FOLDS = 3


#: Model -> what makes it, and the settings that are tried.
MODELS = {
    "SMaLL": Fit(
        SMaLLClassifier, grid_of(n_prototypes=(1, 2, 4), k=(1, 2, 3, 5, 8, 13))
    ),
    "SMP": Fit(
        SMPClassifier,
        grid_of(n_prototypes=(1, 2, 4), mu=(0.003, 0.01, 0.03, 0.06, 0.1, 0.2)),
    ),
    "ProtoNN": Fit(
        ProtoNN,
        grid_of(n_dimensions=(1, 2, 5), n_prototypes=(1, 2, 4), share=(0.1, 0.3, 1.0)),
    ),
    "Bonsai": Fit(
        Bonsai, grid_of(depth=(1, 2), n_dimensions=(1, 2, 5), share=(0.1, 0.3, 1.0))
    ),
}


def weight_bytes(fitted: Any) -> int:
    """Bytes of a model's weights in float32, counted alike for all models."""
    if hasattr(fitted, "n_bytes"):
        return int(fitted.n_bytes)
    model = fitted.model_
    return n_bytes({"weights": model.anchors, "biases": np.atleast_1d(model.bias)})


def _run(case: Case) -> Outcome:
    """For each budget the best of the settings that it has room for."""
    rows, make = case.rows, case.declared.make
    drawn = stratified(rows.X, rows.y, N_FOLDS, case.trial.repetition)
    tried = []
    for values in case.declared.grid:
        whole = make(**values).fit(rows.X, rows.y)
        size = weight_bytes(whole)
        if size <= BUDGETS[-1]:
            chance = mean_accuracy(make, values, rows.X, rows.y, drawn)
            test = rows.test_accuracy(whole)
            tried.append((chance, -size, test))
    curve = {}
    for budget in BUDGETS:
        fitting = [one for one in tried if -one[1] <= budget]
        if fitting:
            curve[budget] = max(fitting, key=lambda one: one[:2])[2]
    measures = {f"accuracy, {b} bytes": curve.get(b, np.nan) for b in (64, 256)}
    return Outcome(measures, {"test accuracy": curve})


EXPERIMENTS = (
    Experiment(
        name="small-bytes",
        where="Section 1",
        title="Accuracy at fixed bytes, beside ProtoNN and Bonsai",
        data={
            **bundled("wine", "breast_cancer", "friedman"),
            "sonar": Source(file="sonar.arff", openml=40),
        },
        models=MODELS,
        measure=_run,
        divide=standardised_halves,
        repetitions=2,
        axis="bytes of weights",
        checks={
            f"{size}": Claim("SMaLL", ge, RIVALS, f"accuracy, {size} bytes")
            for size in (64, 256)
        },
    ),
)
