"""A model beside its training rows: what the sections of Prototypes look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pages.prototypes import notes
from pages.state import session
from pages.state.context import Context
from pages.ui import explanation_sheet, readouts
from pages.ui.text import prototype_texts
from pages.work import cache
from pages.work.memo import pairs
from smpcore import PrototypeModel
from smpcore.datasets import Input, in_place, list_names, plural
from smpcore.evaluation import class_numbers
from smpcore.explain import Oddities, facts_of_prototypes, merged_from
from smpcore.model import Portraits, portraits


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelContext(Context):
    """A choice with its model, and the training rows beside which it is looked at.

    Parameters
    ----------
    model : PrototypeModel
    written : mapping
        Every note of the visit: key of a model -> prototype -> name and note.
    subgroup_column : str
        The column that was chosen last on Performance; empty if none was.
    """

    model: PrototypeModel
    written: Mapping[tuple, Mapping[int, notes.Note]]
    subgroup_column: str

    @cached_property
    def notes_key(self) -> tuple:
        """The same for the same model, whatever is forbidden: notes stay."""
        parts = self.whole.digest, self.data.split.key
        return *parts, self.method.key, pairs(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a sample: a picture's or a series', if its values are the features."""
        return explanation_sheet.sample_shape(self.data, self.model.n_features)

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
        return tuple(column for column in inputs if column.name in dataset.forbidden)

    @cached_property
    def channels(self) -> list[str]:
        """Names of the channels, if a sample is a series and drawn as one."""
        return self.data.dataset.channels if len(self.shape) == 2 else []

    @cached_property
    def texts(self) -> list[str]:
        """The prototypes as texts, of data that are texts."""
        return prototype_texts(self.model, self.data)

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Training inputs, and their class numbers (a regression: all 0)."""
        X, y = self.data.of("train")
        if self.model.classes is None:
            return X, np.zeros(len(X), dtype=np.int64)
        return X, class_numbers(y, self.model.classes)

    def table_of(self, rows: np.ndarray, about: dict[str, Any]) -> pd.DataFrame:
        """Columns about some rows of the data set, and then the rows themselves."""
        dataset = self.data.dataset
        numbers = pd.Index(dataset.row_numbers(rows), name="row")
        frame = dataset.frame
        if dataset.matrices:  # what is known of a row besides its similarities
            frame = frame.drop(columns=dataset.sample_columns)
        values = frame.iloc[rows, :200].set_axis(numbers)
        # The data set may have columns of the same names.
        taken = {name: f"{name} (column)" for name in about}
        return pd.concat(
            [pd.DataFrame(about, numbers), values.rename(columns=taken)], axis=1
        )

    @cached_property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        classes = self.model.classes
        return [self.data.dataset.target] if classes is None else [*map(str, classes)]

    @cached_property
    def fitted_notes(self) -> notes.Notes:
        """What the visitor wrote, of this model's prototypes and of others."""
        return notes.fitted(self)

    @property
    def notes(self) -> dict[int, dict[str, str]]:
        """What the visitor wrote: prototype -> name and note."""
        return self.fitted_notes.of

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

    @property
    def names(self) -> list[str]:
        """Names of all prototypes."""
        return [self.name(j) for j in range(self.model.n_prototypes)]

    def name(self, prototype: int) -> str:
        """The visitor's name of a prototype, or its number and class."""
        name = self.notes.get(prototype, {}).get("name", "")
        return f"Prototype {prototype + 1}: {name}" if name else self.label(prototype)

    @cached_property
    def portraits(self) -> Portraits:
        """A row per prototype: its weights, the case, or the mean of its cases."""
        return portraits(self.model)

    @cached_property
    def merged_from(self) -> list[str]:
        """What each prototype was merged from; empty texts where it is only itself."""
        if (self.model.counts == 1).all():
            return [""] * self.model.n_prototypes
        return [
            list_names([f"{place + 1} ({plural(n, 'row')})" for place, n in parts], 20)
            if len(parts) > 1
            else ""
            for parts in merged_from(self.fit().finished())
        ]

    @cached_property
    def facts(self) -> list[Oddities]:
        """What is unusual about each prototype."""
        return facts_of_prototypes(self.model, *self.rows)


def with_model(context: Context, model: PrototypeModel) -> ModelContext:
    """A context with its model, and with the notes of the visit."""
    visit, key = session.get(), "subgroup_column"
    column = visit.widget_texts.get(key, visit.defaults.get(key, ""))
    return context.extended(
        ModelContext, model=model, written=visit.notes, subgroup_column=column
    )
