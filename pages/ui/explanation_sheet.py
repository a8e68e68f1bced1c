"""The explanation sheet: rows to print, a page each, and the model to try."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from pages.state.session import Slot
from pages.ui.elements import download, expander, problems_shown
from pages.work import cache
from smpcore import PrototypeModel, SmpcoreError, compile_model, explain, report
from smpcore.codegen import model_id
from smpcore.datasets import plural
from smpcore.errors import ExportError
from smpcore.live import TITLES, Context
from smpcore.readouts import Section
from smpcore.report import Calculator, Page, numbers_section

#: The score of two classes that was looked at last, and its sheet.
SCORE = Slot[tuple[explain.RiskScore, Section]]("score_sheet")
#: Cases of one file, and characters of the rows that are typed.
MOST_CASES, MOST_TYPED = 30, 400
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_HIDDEN = (
    "The model is not in this file, as it holds training rows, "
    "and these are not included."
)
_CONTENT = (
    "A page per row: what was missing or out of range, the prediction, the "
    "contribution of each column, and the smallest change that would change it. Then "
    "the score card, if there is one; on the screen also the rule"
)
_MODEL = ", and the model with these rows, to try other values"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that can have a sheet.

    Parameters
    ----------
    frame : DataFrame of shape (n_samples, n_columns)
        Raw table with every input column.
    places : ndarray of int, shape (n_rows,)
        Positions in it of the rows that can be chosen.
    numbers : ndarray of int, shape (n_rows,)
        Their numbers as they are shown, ascending.
    table : str
        Name of the table.
    facts : callable
        Position in the table -> what is known of the row.
    training : ndarray of int, shape (n_samples,), optional
        Position of each row among the training rows; -1: it is none.
    frozen : list of int, optional
        Features that the smallest change leaves as they are; by default those of the
        columns that cannot be changed.
    amount : float, optional
        How far a change of one column should move a predicted number.
    closed : ndarray of int, shape (n_closed,), optional
        Numbers of the rows that cannot be chosen as they test the model.
    """

    frame: pd.DataFrame
    places: np.ndarray
    numbers: np.ndarray
    table: str
    facts: Callable[[int], Mapping[str, str]]
    training: np.ndarray | None = None
    frozen: list[int] | None = None
    amount: float | None = None
    closed: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    def title(self, i: int) -> str:
        """Name of the row that is the i-th of those to choose from."""
        return f"Row {self.numbers[i]} of {self.table}"

    def explained(self, explainer: explain.CaseExplainer, i: int) -> explain.Case:
        """The case of the i-th of the rows to choose from."""
        place = int(self.places[i])
        without = -1 if self.training is None else int(self.training[place])
        row, facts = self.frame.iloc[[place]], self.facts(place)
        more = self.frozen, without, self.amount
        return explainer.explain(row, self.title(i), facts, *more)


def chosen_rows(
    text: str, numbers: np.ndarray, closed: np.ndarray
) -> tuple[list[int], int]:
    """Which rows a visitor typed ("3, 8-12"), and how many of them are closed."""
    rows: dict[int, None] = {}
    typed = np.zeros(len(closed), dtype=bool)
    text = re.sub(r"\s*[-–]\s*", "-", text)
    for word in filter(None, re.split(r"[,;\s]+", text)):
        match = _RANGE.fullmatch(word)
        if match is None:
            raise SmpcoreError(
                f"Rows: {word[:20]!r} should be a row number or a range; write, for "
                "example, 3, 8-12."
            )
        first, last = int(match[1]), int(match[2] or match[1])
        start, stop = np.searchsorted(numbers, (first, last + 1))
        within = (first <= closed) & (closed <= last)
        typed |= within
        if start >= stop and within.any():
            raise SmpcoreError(
                f"Rows: {word} is of the closed test part; choose other rows."
            )
        if start >= stop:
            raise SmpcoreError(
                f"Rows: no row {word} can be shown here; choose among {numbers[0]} to "
                f"{numbers[-1]}."
            )
        rows |= dict.fromkeys(range(start, min(stop, start + MOST_CASES + 1)))
    if len(rows) > MOST_CASES:
        raise SmpcoreError(
            f"Rows: at most {MOST_CASES} cases fit into one file; choose fewer rows."
        )
    return list(rows), int(typed.sum())


def offer(
    context: Context,
    model: PrototypeModel,
    key: str,
    rows: Rows,
    shown: Rows | None = None,
    names: Sequence[str] = (),
) -> None:
    """Let the visitor choose rows, and download their sheet."""
    with expander("Explanation sheet to print", "sheet", "print"):
        text = st.text_input(
            "Rows",
            key=f"{key}_cases",
            max_chars=MOST_TYPED,
            placeholder="the row above" if shown else "for example 3, 8-12",
            help=f"Row numbers and ranges, at most {MOST_CASES} rows.",
        )
        what = "three nearest training rows"
        real = include_rows(context, what, f"{key}_cases_rows")
        with problems_shown(st.warning):
            chosen, n_closed = chosen_rows(text, rows.numbers, rows.closed)
            if not chosen and shown:
                rows, chosen = shown, [0]
            words = f"{_CONTENT}{'' if holds_rows(model, real) else _MODEL}."
            if not chosen:
                st.caption(words)
                return
            if n_closed:
                are = "row is" if n_closed == 1 else "rows are"
                st.caption(f"{n_closed:,} {are} of the closed test part, left out.")
            make = partial(_sheet, context, model, rows, chosen, real, names)
            label = f"Download the sheet of {plural(len(chosen), 'row')}"
            download(label, make, "cases.html", key=f"{key}_cases_file")
            st.caption(f"{words} {contents(context, model, real, what)}")


def include_rows(context: Context, what: str, key: str) -> bool:
    """Whether training rows may be in the file: of private data only if wanted."""
    dataset = context.data.dataset
    return st.checkbox(
        f"Include the {what}",
        value=not dataset.private,
        key=f"{key}_{dataset.digest}",
        help="Rows of your data are included only if you switch this on.",
    )


def contents(context: Context, model: PrototypeModel, real: bool, what: str) -> str:
    """What of the data is in the file, in a sentence."""
    has_model = "" if holds_rows(model, real) else "the model itself, "
    rows = f"the {what}" if real else "no training rows"
    return (
        f"One HTML file that needs no network. It contains {has_model}the range, the "
        f"median and the levels of columns in the training rows, and {rows}."
    )


def page(
    context: Context,
    model: PrototypeModel,
    real: bool,
    title: str,
    facts: Mapping[str, str],
    names: Sequence[str] = (),
    rows: pd.DataFrame | None = None,
) -> Page:
    """What every sheet has: the rule, the score card, the model to try on raw rows."""
    if holds_rows(model, real):
        in_words = Section("Decision rule", explain.rule_in_words(model))
        return Page(title, facts, calculator=_HIDDEN, sections=[in_words])
    points, data = None, context.data
    calculator = Calculator(data.preparation, rows, names, data.dataset.target)
    with suppress(SmpcoreError):
        points = card(context, model)
    sections = [rule(context, model, names)]
    return Page(title, facts, card=points, calculator=calculator, sections=sections)


def numbers(model: PrototypeModel, real: bool) -> Section:
    """The whole rule; what is made of training rows only where these are shown."""
    if holds_rows(model, real):
        words = "Left out, as the model holds training rows; these are not included."
        return Section(explain.NUMBERS, (words,))
    return numbers_section(model)


def rule(context: Context, model: PrototypeModel, names: Sequence[str]) -> Section:
    """The rule of a model beside its training rows."""
    X, _ = context.data.of("train")
    return explain.rule_section(model, context.data.preparation, X, names)


def score_key(context: Context) -> tuple:
    """Of two classes the score does not depend on the model."""
    data = context.data
    return data.dataset.digest, data.split.key, context.outcome


def card(context: Context, model: PrototypeModel) -> Section:
    """Points to add by hand, or an error that says why there are none."""
    if model.classes is not None and len(model.classes) == 2:
        if score := SCORE.get(score_key(context)):
            _, sheet = score
            return sheet
        raise SmpcoreError("No score was searched for on Prototypes.")
    X, _ = context.data.of("train")
    parts = rows_of_parts(context, context.open_parts)
    return explain.card_section(model, context.data.preparation, X, parts)


def rows_of_parts(context: Context, parts: Sequence[str]) -> dict[str, tuple]:
    """Inputs, labels, clusters and weights of the rows of parts, by their titles."""
    data = context.data
    return {TITLES[p]: (*data.of(p), data.clusters(p), data.weights(p)) for p in parts}


def holds_rows(model: PrototypeModel, real: bool) -> bool:
    """Whether the model is made of training rows that must not be in the file."""
    return not real and "real case" in model.kind_of_prototype


def _sheet(
    context: Context,
    model: PrototypeModel,
    rows: Rows,
    chosen: list[int],
    real: bool,
    names: Sequence[str],
) -> str:
    titles = [rows.title(i) for i in chosen]
    frame = rows.frame.iloc[rows.places[chosen]].set_axis(titles)
    title, facts = f"Predictions for {rows.table}", _facts(context, model)
    sheet = page(context, model, real, title, facts, names, frame)
    case_explainer = explainer(context, model, real)
    cases = [rows.explained(case_explainer, i) for i in chosen]
    sections = [*sheet.sections, numbers(model, real)]
    return report(model, replace(sheet, cases=cases, sections=sections))


def explainer(
    context: Context, model: PrototypeModel, real: bool
) -> explain.CaseExplainer:
    """The model with its training rows; these are named where they may be shown."""
    data = context.data
    return explain.CaseExplainer(
        model,
        data.preparation,
        *data.of("train"),
        target=data.dataset.target,
        numbers=data.dataset.row_numbers(data.split.train) if real else None,
        whole=cache.computed.parts(context.whole, data.split).preparation,
    )


def _facts(context: Context, model: PrototypeModel) -> dict[str, str]:
    """What the page of every row says of the model."""
    dataset, n_rows = context.data.dataset, len(context.data.split.train)
    trained = f"trained on {n_rows:,} rows of {dataset.name}"
    facts = {
        "Predicted": dataset.target,
        "Model": f"{context.method.title}, {trained}",
    }
    if context.operating:
        facts["Decision"] = context.operating
    with suppress(ExportError):  # no code, no ID
        compiled = compile_model(model, context.data.preparation)
        facts["Model ID"] = model_id(compiled)
    return facts
