"""Sheets to print, a page per case: which rows, and the file to download."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from pages.state.context import Context
from pages.ui.elements import problems_shown
from pages.ui.file_download import download
from pages.work import cache
from smpcore import PrototypeModel, SmpcoreError, compile_model
from smpcore.case_sheet import case_sheet
from smpcore.codegen import model_id
from smpcore.datasets import plural
from smpcore.errors import ExportError
from smpcore.explain import Case, CaseExplainer

#: Cases of one file, and characters of the rows that are typed.
MOST_CASES, MOST_TYPED = 30, 400
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


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
    """

    frame: pd.DataFrame
    places: np.ndarray
    numbers: np.ndarray
    table: str
    facts: Callable[[int], Mapping[str, str]]
    training: np.ndarray | None = None
    frozen: list[int] | None = None
    amount: float | None = None

    def explained(self, explainer: CaseExplainer, i: int) -> Case:
        """The case of the row that is the i-th of those to choose from."""
        place = int(self.places[i])
        title = f"Row {self.numbers[i]} of {self.table}"
        without = -1 if self.training is None else int(self.training[place])
        row = self.frame.iloc[[place]]
        more = self.frozen, without, self.amount
        return explainer.explain(row, title, self.facts(place), *more)


def chosen_rows(text: str, numbers: np.ndarray) -> list[int]:
    """Which rows a visitor typed: "3, 8-12"."""
    rows: dict[int, None] = {}
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
    return list(rows)


def offer(
    context: Context,
    model: PrototypeModel,
    key: str,
    rows: Rows,
    shown: Rows | None = None,
) -> None:
    """Let the visitor choose rows, and download their sheets."""
    dataset = context.data.dataset
    with st.expander("Case sheets to print", icon=":material/print:"):
        text = st.text_input(
            "Rows",
            key=f"{key}_cases",
            max_chars=MOST_TYPED,
            placeholder="the row above" if shown else "for example 3, 8-12",
            help=f"Row numbers and ranges, at most {MOST_CASES} rows.",
        )
        real = st.checkbox(
            "Include the three nearest training rows",
            value=not dataset.private,
            key=f"{key}_cases_rows_{dataset.digest}",
            help="Rows of your data are included only if you switch this on.",
        )
        with problems_shown(st.warning):
            explained = explainer(context, model, real), _facts(context)
            typed = chosen_rows(text, rows.numbers)
            if typed:
                _button(explained, key, rows, typed)
            elif shown:
                _button(explained, key, shown, [0])
            else:
                st.caption(_CONTENT)


_CONTENT = (
    "A page per row: the prediction, the contribution of each column, the smallest "
    "change that would change it, the nearest training rows, and what was missing or "
    "out of range."
)


def _button(
    explained: tuple[CaseExplainer, dict[str, str]],
    key: str,
    rows: Rows,
    chosen: list[int],
) -> None:
    """The download; all that it needs is fixed now."""
    make = partial(_sheet, rows, chosen, *explained)
    what = plural(len(chosen), "case sheet")
    download(f"Download {what}", make, "cases.html", key=f"{key}_cases_file")
    shown = explained[0].numbers is not None
    with_rows = "three training rows" if shown else "no training rows"
    st.caption(f"{_CONTENT} One HTML file, made to print; it contains {with_rows}.")


def _sheet(
    rows: Rows, chosen: list[int], explainer: CaseExplainer, facts: dict[str, str]
) -> str:
    cases = [rows.explained(explainer, i) for i in chosen]
    with suppress(ExportError):  # no code, no ID
        compiled = compile_model(explainer.model, explainer.preparation)
        facts = facts | {"Model ID": model_id(compiled)}
    return case_sheet(cases, f"Predictions for {rows.table}", facts)


def explainer(context: Context, model: PrototypeModel, real: bool) -> CaseExplainer:
    """The model with its training rows; these are named where they may be shown."""
    data = context.data
    return CaseExplainer(
        model,
        data.preparation,
        *data.of("train"),
        target=data.dataset.target,
        numbers=data.dataset.row_numbers(data.split.train) if real else None,
        whole=cache.parts(context.whole, data.split).preparation,
    )


def _facts(context: Context) -> dict[str, str]:
    """What every sheet says of the model."""
    dataset, n_rows = context.data.dataset, len(context.data.split.train)
    trained = f"trained on {n_rows:,} rows of {dataset.name}"
    facts = {
        "Predicted": dataset.target,
        "Model": f"{context.method.title}, {trained}",
    }
    if context.operating:
        facts["Decision"] = context.operating
    return facts
