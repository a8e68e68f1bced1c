"""How good a model is, and what it does no better than a constant prediction."""

from __future__ import annotations

import numpy as np

from pages.ui.readouts import of_part
from pages.work import cache
from smpcore import PrototypeModel
from smpcore.datasets import list_names
from smpcore.evaluation import RegressionScores, Scores
from smpcore.readouts import READOUTS


def quality_of(model: PrototypeModel, data: cache.Parts) -> str:
    """How good a model is beside one and the same answer to all rows, in sentences."""
    part = scored_part(data)
    return quality(data.evaluate(model, part), data)


def scored_part(data: cache.Parts) -> str:
    """Validation rows, training rows where there are none."""
    return "validation" if len(data.split.validation) else "train"


def quality(scores: Scores | RegressionScores, data: cache.Parts) -> str:
    """How good these scores of `scored_part` are, in sentences."""
    part = scored_part(data)
    entry = of_part(part, scores, data)[0]
    words = f"{entry['name']} {entry['value']}: {entry['detail']}."
    return " ".join([words, *shortcomings(scores, data.of("train")[1])])


def shortcomings(scores: Scores | RegressionScores, train: np.ndarray) -> list[str]:
    """What a model does no better than one answer to all rows, in sentences."""
    if isinstance(scores, RegressionScores):
        dead = scores.mae >= scores.always(float(np.median(train)))
        return ["Not better than the training-median baseline."] * bool(dead)
    sentences = ["Not better than the majority-class baseline."]
    sentences *= scores.accuracy <= scores.majority
    if len(scores.never_answered):
        names = list_names(scores.never_answered, longest=24)
        sentences.append(f"{READOUTS['never_predicted'].label}: {names}.")
    return sentences
