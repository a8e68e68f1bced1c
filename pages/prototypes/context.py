"""A model beside its training rows: what the sections of Prototypes look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pages.state import session
from pages.state.choice import Choice
from pages.state.context import Context
from pages.ui import readouts
from pages.work import cache
from smpcore import PrototypeModel
from smpcore.datasets import Input, in_place
from smpcore.evaluation import class_numbers
from smpcore.explain import Oddities, facts_of_prototypes
from smpcore.model import Portraits, portraits


@dataclass(frozen=True)
class ModelContext:
    """A model and the training rows beside which it is looked at.

    Parameters
    ----------
    chosen : Context
    model : PrototypeModel
    """

    chosen: Context
    model: PrototypeModel

    @property
    def choice(self) -> Choice:
        """What decides about the model."""
        return self.chosen.choice

    @property
    def data(self) -> cache.Parts:
        """Its rows."""
        return self.chosen.data

    @cached_property
    def key(self) -> tuple:
        """What is the same for the same model only."""
        values = cache.pairs(self.chosen.values)
        data = self.data
        return data.dataset.digest, data.split.key, self.choice.method, values

    @cached_property
    def notes_key(self) -> tuple:
        """The same with every feature allowed: notes outlive what is forbidden."""
        return self.chosen.whole.digest, *self.key[1:]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a sample: a picture's or a series', if its values are the features."""
        dataset, n_features = self.data.dataset, self.model.n_features
        one_each = len(dataset.feature_columns) == n_features
        drawn = one_each and len(dataset.sample_shape) > 1
        return dataset.sample_shape if drawn else (n_features,)

    def in_place(self, rows: np.ndarray) -> np.ndarray:
        """Rows fit to be drawn in `shape`: NaN where a feature is forbidden."""
        return in_place(self.data.dataset, rows) if len(self.shape) > 1 else rows

    @cached_property
    def forbidden(self) -> tuple[Input, ...]:
        """The columns that the model does not get, as it would have had them."""
        dataset = self.data.dataset
        if not dataset.forbidden:
            return ()
        whole = cache.parts(cache.forbidding(dataset, ()), self.data.split)
        inputs = whole.preparation.inputs
        return tuple(given for given in inputs if given.name in dataset.forbidden)

    @cached_property
    def channels(self) -> list[str]:
        """Names of the channels, if a sample is a series and drawn as one."""
        return self.data.dataset.channels if len(self.shape) == 2 else []

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Training inputs, and their class numbers (a regression: all 0)."""
        X, y = self.data.of("train")
        if self.model.classes is None:
            return X, np.zeros(len(X), dtype=np.int64)
        return X, class_numbers(y, self.model.classes)

    @cached_property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        classes = self.model.classes
        return [self.data.dataset.target] if classes is None else [*map(str, classes)]

    @cached_property
    def notes(self) -> dict[int, dict[str, str]]:
        """What the visitor wrote: prototype -> name and note. It may be written to."""
        return session.get().notes.setdefault(self.notes_key, {})

    def label(self, prototype: int) -> str:
        """A prototype's number and class, or what it does to the number predicted."""
        kind = "" if self.model.classes is None else "class "
        return f"Prototype {prototype + 1} ({kind}{self.side(prototype)})"

    def side(self, prototype: int) -> str:
        """The class it speaks for; of a regression, which way it moves the answer."""
        if self.model.classes is None:
            return readouts.effect(self.model.votes[prototype, 0])
        return self.outputs[self.model.prototype_labels[prototype]]

    @property
    def side_title(self) -> str:
        """What `side` is, as the heading of a table."""
        return "effect" if self.model.classes is None else "class"

    def name(self, prototype: int) -> str:
        """The visitor's name of a prototype, or its number and class."""
        own = self.notes.get(prototype, {}).get("name", "")
        return f"Prototype {prototype + 1}: {own}" if own else self.label(prototype)

    @cached_property
    def _portraits(self) -> Portraits:
        return portraits(self.model)

    @property
    def signed(self) -> bool:
        """Whether portraits are weights, for and against, and not values."""
        return self._portraits.signed

    @property
    def portraits(self) -> np.ndarray:
        """One row per prototype: weights, the case, or the mean of the cases."""
        return self._portraits.values

    @property
    def what(self) -> str:
        """What the portraits show, in words."""
        return self._portraits.what

    @cached_property
    def facts(self) -> list[Oddities]:
        """What is unusual about each prototype."""
        return facts_of_prototypes(self.model, *self.rows)
