"""What a report says, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smpcore.explain import Rule, ScoreCard
from smpcore.report.calculator import Calculator


@dataclass(frozen=True)
class Section:
    """A part of a report with a heading of its own.

    Parameters
    ----------
    title : str
        Heading of the section, as text.
    blocks : sequence of (str or sequence of mapping)
        In their order: a paragraph, or a table with the keys of its first line as
        headings.
    """

    title: str
    blocks: Sequence[str | Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Page:
    """What a report says besides the model itself.

    Parameters
    ----------
    title : str
        Heading of the report and name of the document.
    facts : mapping of str to str
        Data, split, method, accuracy, in the order shown.
    names, notes : mapping of int to str
        What an expert wrote on a prototype.
    warnings : mapping of int to sequence of str
        What to read with care about a prototype.
    prototypes : sequence of mapping
        One line of a table per prototype.
    portraits : ndarray of shape (n_prototypes, n_features)
        Weights, or values of a case. Of a picture NaN is crossed out: what stands
        there was forbidden.
    signed : bool
        Whether the portraits are weights.
    shape : tuple of int
        Of a sample: portraits of two and more dimensions are drawn as pictures.
    what : str
        What the portraits show.
    rows : sequence of mapping
        Real rows that the report quotes; empty if none.
    rule : Rule, optional
        Sentences and tables of points, before the formula.
    card : ScoreCard, optional
        The rule as points that are added by hand.
    accuracy_of_card : str
        How good the card is, in sentences.
    calculator : Calculator or str, optional
        With what a reader begins to try the model in the file; a sentence: why not.
    sections : sequence of Section
        What else is told, in this order, after the decision rule.
    """

    title: str
    facts: Mapping[str, str]
    portraits: np.ndarray
    signed: bool
    shape: tuple[int, ...] = ()
    what: str = ""
    names: Mapping[int, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    warnings: Mapping[int, Sequence[str]] = field(default_factory=dict)
    prototypes: Sequence[Mapping[str, Any]] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    rule: Rule | None = None
    card: ScoreCard | None = None
    accuracy_of_card: str = ""
    calculator: Calculator | str | None = None
    sections: Sequence[Section] = ()
