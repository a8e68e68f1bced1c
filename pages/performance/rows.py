"""The rows of a part with what a model predicts for them: what every section shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pages.state.context import Context
from pages.ui.readouts import TITLES
from smpcore import PrototypeModel
from smpcore.evaluation import class_numbers, margins


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluatedRows(Context):
    """A choice with its fitted model, and the rows that it is evaluated on."""

    fitted: PrototypeModel
    part: str

    @cached_property
    def rows(self) -> np.ndarray:
        """Their places in the table."""
        return getattr(self.data.split, self.part)

    @cached_property
    def numbers(self) -> np.ndarray:
        """Their numbers, as all pages show them."""
        return self.data.dataset.row_numbers(self.rows)

    @cached_property
    def X(self) -> np.ndarray:
        """Their features."""
        return self.data.of(self.part)[0]

    @cached_property
    def y(self) -> np.ndarray:
        """Their labels, or the numbers to predict."""
        return self.data.of(self.part)[1]

    @property
    def clusters(self) -> np.ndarray | None:
        """Which of them depend on each other."""
        return self.data.clusters(self.part)

    @property
    def weights(self) -> np.ndarray | None:
        """Their weights, of a question of time to event."""
        return self.data.weights(self.part)

    def dependence(self, chosen: Any = slice(None)) -> dict[str, np.ndarray | None]:
        """Clusters and weights of some of them, as measures take them."""
        of_rows = {"clusters": self.clusters, "weights": self.weights}
        return {k: None if of is None else of[chosen] for k, of in of_rows.items()}

    @property
    def title(self) -> str:
        """What they are, for a sentence."""
        return f"{TITLES[self.part].lower()} rows"

    @cached_property
    def scores(self) -> np.ndarray:
        """Score of each output."""
        return self.fitted.scores(self.X)

    @cached_property
    def truth(self) -> np.ndarray:
        """Class numbers."""
        return class_numbers(self.y, self.fitted.classes)

    @cached_property
    def answers(self) -> np.ndarray:
        """Class numbers that the model predicts as it was fitted."""
        return self.fitted.decide(self.scores)

    @cached_property
    def margin(self) -> np.ndarray:
        """How much more the second of two classes scores than the first."""
        return margins(self.fitted, self.X)

    @cached_property
    def margin_in_training(self) -> np.ndarray:
        """The same of the training rows."""
        return margins(self.fitted, self.data.of("train")[0])

    @property
    def names(self) -> list[str]:
        """The classes as text."""
        return [str(label) for label in self.fitted.classes]

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes, between which a threshold decides."""
        return self.fitted.classes is not None and len(self.fitted.classes) == 2
