"""A model beside its training rows, with names and notes of its prototypes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session
from pages.state.state_file import WORD
from pages.ui.text import message
from pages.work import cache, fits
from smpcore import PrototypeModel, SmpcoreError
from smpcore.datasets import Input, in_place, list_names, plural
from smpcore.evaluation import SAME_PROTOTYPE, class_numbers, match_prototypes
from smpcore.explain import Oddities, facts_of_prototypes, merged_from, wins
from smpcore.live import Context, effect, pairs, prototype_texts
from smpcore.model import Portraits, portraits

Note = dict[str, Any]
#: Key of the model that a note was written for, and the prototype's number there.
Place = tuple[tuple, int]
EMPTY = {"name": "", "note": "", "without": []}


@dataclass(frozen=True)
class Notes:
    """The notes on one data set and method, as they fit a model.

    Parameters
    ----------
    of : dict of int to dict
        Prototype of the model -> name and note.
    places : dict of int to (key, int)
        Prototype of the model -> where its note is kept.
    similarities : dict of int to float
        Of notes that were written for another fit: how similar the prototypes are.
    lost : list of dict
        Notes whose prototype the model does not have.
    waiting : bool
        Whether a model that notes were written for is still being fitted.
    """

    of: dict[int, Note] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    similarities: dict[int, float] = field(default_factory=dict)
    lost: list[Note] = field(default_factory=list)
    waiting: bool = False


def fitted(context: ModelContext) -> Notes:
    """Find the prototype of each note among those of a model.

    A note that was written for this very model stays with its number. Any other one
    goes with its prototype, found by similarity, best first, one note to one prototype.
    """
    candidates: list[tuple[float, int, Place, Note]] = []
    waiting = False
    partners: dict[Any, Any] = {}
    for (key, j), note in _written(context):
        without = tuple(note.get("without", []))
        if (key, list(without)) == (context.notes_key, _forbidden_names(context)):
            if j < context.model.n_prototypes:
                candidates.append((2.0, j, (key, j), note))
            continue
        if (key, without) not in partners:
            partners[key, without] = _partners(context, key, without)
        pairs = partners[key, without]
        waiting |= pairs is None
        if pairs is not None and j < len(pairs[0]):
            candidates.append((pairs[1][j], int(pairs[0][j]), (key, j), note))
    result = Notes(waiting=waiting)
    for similarity, j, place, note in sorted(candidates, key=lambda one: -one[0]):
        if not similarity >= SAME_PROTOTYPE or j in result.of:
            result.lost.append(note)
            continue
        result.of[j], result.places[j] = note, place
        if similarity <= 1.0 + 1e-9:
            result.similarities[j] = float(similarity)
    return result


def _written(context: ModelContext) -> list[tuple[Place, Note]]:
    """Every note on these data, split and method, with its place."""
    about = context.notes_key[:3]
    return [
        ((key, j), note)
        for key, notes in context.written.items()
        if key[:3] == about
        for j, note in notes.items()
        if note["name"] or note["note"]
    ]


def _forbidden_names(context: ModelContext) -> list[str]:
    return [name[:WORD] for name in context.choice.forbidden]


def _partners(
    context: ModelContext, key: tuple, without: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Partners of the prototypes of another fit; None while it is not there.

    Empty where there can be no such fit: a file may say anything.
    """
    values = dict(key[3])
    try:
        if not _possible(context, values):
            return np.empty(0), np.empty(0)
        dataset = (
            cache.computed.forbidding(context.whole, without)
            if without
            else context.whole
        )
        data = cache.computed.parts(dataset, context.data.split)
        fit = fits.fit(data, context.method.key, values)
        if not fit.ready(0.0):
            fit.want()
            return None
        return match_prototypes(fit.finished().model_, context.model)
    except SmpcoreError:
        return np.empty(0), np.empty(0)


def _possible(context: ModelContext, values: dict[str, Any]) -> bool:
    """Whether controls can have these values."""
    params = {param.name: param for param in context.params}
    if values.keys() != context.values.keys():
        return False
    others = {n: v for n, v in values.items() if v != context.values[n]}
    return all(n in params and params[n].clean(v) == v for n, v in others.items())


def write(context: ModelContext, j: int, name: str, text: str) -> None:
    """Write a name or a note on a prototype; its note is one of this model then."""
    notes, visit = context.fitted_notes, session.get()
    key, number = notes.places.get(j, (context.notes_key, j))
    old = visit.notes.get(key, {}).pop(number, EMPTY)
    new = old | {name: text, "without": _forbidden_names(context)}
    visit.notes.setdefault(context.notes_key, {})[j] = new
    vars(context).pop("fitted_notes")


def lost_notes(context: ModelContext) -> None:
    """Say which names have no prototype here."""
    notes = context.fitted_notes
    for note in notes.lost:
        what = f"The name {note['name']!r}" if note["name"] else "A note"
        message(
            st.caption,
            f"{what} belonged to a prototype that is no longer there; it is kept, and "
            "returns with the prototype.",
        )
    if notes.waiting:
        st.caption("Names and notes written for another model wait for its fit.")


def note_of_another_fit(context: ModelContext, j: int) -> None:
    """Say that a note was written for another fit."""
    if (similarity := context.fitted_notes.similarities.get(j)) is not None:
        st.caption(
            "Name and note were written for another fit; this is its most similar "
            f"prototype (similarity {similarity:.2f} of 1)."
        )


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
    written: Mapping[tuple, Mapping[int, Note]]
    subgroup_column: str

    @cached_property
    def notes_key(self) -> tuple:
        """The same for the same model, whatever is forbidden: notes stay."""
        parts = self.whole.digest, self.data.split.key
        return *parts, self.method.key, pairs(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a sample: a picture's or a series', if its values are the features."""
        dataset, n_features = self.data.dataset, self.model.n_features
        one_each = len(dataset.feature_columns) == n_features
        is_drawn = one_each and len(dataset.sample_shape) > 1
        return dataset.sample_shape if is_drawn else (n_features,)

    def in_place(self, rows: np.ndarray) -> np.ndarray:
        """Rows fit to be drawn in `shape`: NaN where a feature is forbidden."""
        return in_place(self.data.dataset, rows) if len(self.shape) > 1 else rows

    @cached_property
    def forbidden(self) -> tuple[Input, ...]:
        """The columns that the model does not get, as it would have had them."""
        dataset = self.data.dataset
        if not dataset.forbidden:
            return ()
        whole = cache.computed.parts(
            cache.computed.forbidding(dataset, ()), self.data.split
        )
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
    def fitted_notes(self) -> Notes:
        """What the visitor wrote, of this model's prototypes and of others."""
        return fitted(self)

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
            return effect(self.model.votes[prototype, 0])
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
    def is_idle(self) -> np.ndarray:
        """Whether each prototype of a classifier wins no training row."""
        if self.model.classes is None:
            return np.zeros(self.model.n_prototypes, dtype=bool)
        return wins(self.model, *self.rows).sum(axis=1) == 0

    def title(self, prototype: int) -> str:
        """A prototype's name, and whether it is there for no training row."""
        idle = ", wins no row" if self.is_idle[prototype] else ""
        return f"{self.name(prototype)}{idle}"

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
    of_visit = {"written": visit.notes, "subgroup_column": column}
    return context.extended(ModelContext, model=model, **of_visit)
