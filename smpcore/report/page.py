"""What an explanation sheet says, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smpcore.explain import Case, Section
from smpcore.report.calculator import Calculator


@dataclass(frozen=True)
class Page:
    """What a sheet says; what it is given nothing of is left out.

    Parameters
    ----------
    title : str
        Heading of the sheet and name of the document.
    facts : mapping of str to str
        Data, split, method, accuracy, in the order shown.
    portraits : ndarray of shape (n_prototypes, n_features), optional
        Weights, or values of a case. Of a picture NaN is crossed out: what stands
        there was forbidden. Without them, prototypes are not shown one by one.
    signed : bool
        Whether the portraits are weights.
    shape : tuple of int
        Of a sample: portraits of two and more dimensions are drawn as pictures.
    what : str
        What the portraits show.
    names, notes : mapping of int to str
        What an expert wrote on a prototype.
    warnings : mapping of int to sequence of str
        What to read with care about a prototype.
    prototypes : sequence of mapping
        One line of a table per prototype.
    rows : sequence of mapping
        Real rows that the sheet quotes; empty if none.
    cases : sequence of Case
        From `CaseExplainer.explain`: each has a printed page of its own, and then
        nothing else is printed but the card.
    card : Section, optional
        Points that are added by hand, from `smpcore.explain.card_section`.
    calculator : Calculator or str, optional
        With what a reader begins to try the model in the file; a sentence: why not.
    sections : sequence of Section
        What else is told, in this order: the rule first.
    """

    title: str
    facts: Mapping[str, str]
    portraits: np.ndarray | None = None
    signed: bool = False
    shape: tuple[int, ...] = ()
    what: str = ""
    names: Mapping[int, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    warnings: Mapping[int, Sequence[str]] = field(default_factory=dict)
    prototypes: Sequence[Mapping[str, Any]] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    cases: Sequence[Case] = ()
    card: Section | None = None
    calculator: Calculator | str | None = None
    sections: Sequence[Section] = ()
