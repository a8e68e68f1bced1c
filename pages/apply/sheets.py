"""The sheet to print of new rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pages.state.context import Context
from pages.ui import explanation_sheet
from pages.ui.files import OpenFile
from smpcore.evaluation import Matched

#: Facts of a row that are carried from the file, and characters of each.
_MOST_FACTS, _MOST_TEXT = 6, 60


def offer(
    context: Context, file: OpenFile, matched: Matched, carried: pd.DataFrame
) -> None:
    """Offer a page for each row that the visitor chooses."""
    some = carried.iloc[:, :_MOST_FACTS]

    def facts(place: int) -> dict[str, str]:
        row = some.iloc[place].items()
        facts = {name: f"{v!s:.{_MOST_TEXT}}" for name, v in row if pd.notna(v)}
        if matched.labels is not None and pd.notna(truth := matched.labels.iloc[place]):
            facts["True value"] = f"{truth!s:.{_MOST_TEXT}}"
        return facts

    numbers = np.arange(1, len(matched.frame) + 1)
    every = np.arange(len(numbers))
    rows = explanation_sheet.Rows(matched.frame, every, numbers, file.name, facts)
    explanation_sheet.offer(context, context.model(), f"apply_{file.id}", rows)
