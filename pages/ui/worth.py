"""How good a model is beside one and the same answer to every row, in sentences."""

from __future__ import annotations

import numpy as np

from pages.ui.readouts import TITLES, of_part
from pages.work import cache
from smpcore import PrototypeModel, evaluate
from smpcore.evaluation import RegressionScores, Scores


def worth(model: PrototypeModel, data: cache.Parts) -> str:
    """How good a model is beside one and the same answer to all rows, in sentences."""
    part = judging_part(data)
    return worth_of(evaluate(model, *data.of(part), data.clusters(part)), data)


def judging_part(data: cache.Parts) -> str:
    """Validation rows, training rows where there are none."""
    return "validation" if len(data.split.validation) else "train"


def worth_of(scores: Scores | RegressionScores, data: cache.Parts) -> str:
    """How good these scores of `judging_part` are, in sentences."""
    part = judging_part(data)
    told = of_part(TITLES[part], scores, data)[0]
    words = f"{told['name']} {told['value']}: {told['detail']}."
    return " ".join([words, *shortcomings(scores, data.of("train")[1])])


def shortcomings(scores: Scores | RegressionScores, train: np.ndarray) -> list[str]:
    """What a model does no better than one answer to all rows, in sentences."""
    if isinstance(scores, RegressionScores):
        dead = scores.mae >= scores.always(float(np.median(train)))
        return ["Not better than the training-median baseline."] * bool(dead)
    said = ["Not better than the majority-class baseline."]
    said *= scores.accuracy <= scores.majority
    if len(silent := scores.never_answered):
        names = ", ".join(f"{label!s:.24}" for label in silent[:5])
        more = f" and {len(silent) - 5} more" if len(silent) > 5 else ""
        said.append(f"Classes never predicted: {names}{more}.")
    return said
