"""The sheet to print of the row on the page, or of rows of the open parts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pages.prototypes.context import ModelContext
from pages.ui import explanation_sheet
from pages.ui.readouts import TITLES


def offer(
    context: ModelContext,
    row: pd.DataFrame,
    place: int,
    frozen: list[int],
    changed: bool,
    amount: float | None,
) -> None:
    """Offer a page for the row on the page, or for each that the visitor chooses."""
    dataset, division = context.data.dataset, context.data.split
    trained = np.full(dataset.n_samples, -1)
    trained[division.train] = np.arange(len(division.train))
    parts = {part: getattr(division, part) for part in context.open_parts}

    def facts(place: int) -> dict[str, str]:
        part = next(part for part, rows in parts.items() if place in rows)
        return {"True value": str(dataset.y[place]), "Part": TITLES[part].lower()}

    places = np.sort(np.concatenate([*parts.values()]))
    rows = explanation_sheet.Rows(
        dataset.frame,
        places,
        dataset.row_numbers(places),
        dataset.name,
        facts,
        trained,
    )
    edited = {"Edited": "by hand; the true value is that before"} if changed else {}
    shown = explanation_sheet.Rows(
        row,
        np.zeros(1, np.int64),
        dataset.row_numbers([place]),
        dataset.name,
        lambda _: facts(place) | edited,
        trained[[place]],
        frozen,
        amount,
    )
    of = context, context.model, "why", rows, shown
    explanation_sheet.offer(*of, context.names)
