"""Regions of several models on the same window with the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from pages.compare.candidates import Scored
from pages.state.context import Context
from pages.work import cache
from smpcore import figures
from smpcore.evaluation import ComparedModel, class_numbers

#: Nodes of a map along each axis, and rows that are drawn in it.
NODES, MOST_ROWS = 80, 300


class Maps:
    """Regions of several candidates on the same window with the same rows."""

    def __init__(self, context: Context, part: str) -> None:
        data = context.data
        self.view = cache.view(data, context.view)
        is_late = context.view["kind"] == "map" and self.view.far(2) is None
        self.job = cache.map_of(data) if is_late else None
        X, y = data.of(part)
        chosen = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
        self._X, self._chosen = X[chosen], chosen
        self.xy = self.view.places(self._X, y[chosen])
        self._shown = self.view.left_out(self._X, self.view.lift(self.xy))
        self.classes = data.dataset.classes
        self._nodes = self.view.nodes(NODES)
        known = self.classes is not None
        self.truth = class_numbers(y[chosen], self.classes) if known else y[chosen]

    def answers(self, candidate: ComparedModel) -> np.ndarray:
        """Its answers at the nodes, shape (NODES, NODES)."""
        labels = candidate.answers(self._nodes)
        if self.classes is not None:
            labels = class_numbers(labels, self.classes)
        return labels.reshape(NODES, NODES)

    def of(self, one: Scored) -> Any:
        """The map of one candidate, its wrong answers ringed."""
        loss = one.loss[self._chosen]
        wrong = loss > 0 if self.classes is not None else loss > 2 * one.loss.mean()
        answers = self.answers(one.candidate)
        return figures.answer_map(
            self.view, answers, self.xy, self.truth, wrong, self.classes
        )

    def agreement(self, one: Scored) -> str:
        """How true a map of classes is, in a sentence; empty for other pictures."""
        if self.classes is None or self.view.far(2) is None:
            return ""
        answers = one.candidate.answers
        share = (answers(self._shown) == answers(self._X)).mean()
        return f" The map did not know these rows and shows {share:.0%} as predicted."

    def difference(self, a: Scored, b: Scored) -> Any:
        """Where two candidates differ, and who is right."""
        differ = np.abs(self.answers(a.candidate) - self.answers(b.candidate))
        if self.classes is not None:
            differ = (differ > 0).astype(float)
        first, second = a.loss[self._chosen], b.loss[self._chosen]
        only = np.where(first < second, 0, np.where(second < first, 1, 2))
        words = ["only A correct", "only B correct", "both correct or both wrong"]
        where = "predictions of A and B differ"
        if self.classes is None:
            words = ["A closer", "B closer", "equally close"]
            where = "darker: larger difference"
        return figures.difference_map(self.view, differ, self.xy, only, [*words, where])


def note(maps: Maps, part: str) -> str:
    """What the maps show."""
    off = (
        "wrong" if maps.classes is not None else "error more than twice the mean error"
    )
    late = ""
    if maps.job is not None:
        waits = "A map of all features is being laid out; this is the plane meanwhile."
        late = f"{maps.job.problem or waits} "
    return f"{late}{maps.view.note} Rows shown: {part}; ringed: {off}."
