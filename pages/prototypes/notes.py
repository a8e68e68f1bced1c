"""Names and notes of prototypes, which stay with their prototype after a refit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.state import session
from pages.state.table_record import WORD
from pages.ui.text import message
from pages.work import cache, fits
from smpcore import SmpcoreError
from smpcore.evaluation import SAME_PROTOTYPE, match_prototypes

if TYPE_CHECKING:
    from pages.prototypes.context import ModelContext

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
        if (key, list(without)) == (context.notes_key, _forbidden(context)):
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


def _forbidden(context: ModelContext) -> list[str]:
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
        dataset = cache.forbidding(context.whole, without) if without else context.whole
        data = cache.parts(dataset, context.data.split)
        fit = fits.fit(data, context.method.key, values)
        if not fit.wait(0.0):
            fit.join()
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
    new = old | {name: text, "without": _forbidden(context)}
    visit.notes.setdefault(context.notes_key, {})[j] = new
    vars(context).pop("fitted_notes")


def caption(context: ModelContext) -> None:
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


def caption_of(context: ModelContext, j: int) -> None:
    """Say that a note was written for another fit."""
    if (similarity := context.fitted_notes.similarities.get(j)) is not None:
        st.caption(
            "Name and note were written for another fit; this is its most similar "
            f"prototype (similarity {similarity:.2f} of 1)."
        )
