"""Section of the report that says how the table was cleaned."""

from __future__ import annotations

from smpcore.datasets import Dataset, describe_steps
from smpcore.explain import Section

_WORDS = (
    "Each step looks at one cell at a time and learns nothing from other rows; it is "
    "applied to new rows, too. Counts are of all rows of the table as read."
)


def cleaning_section(dataset: Dataset) -> Section | None:
    """List the cleaning steps of a table, each with the rows that it changes."""
    if not dataset.cleaning:
        return None
    sentences = describe_steps(dataset.cleaning, dataset.whole)
    lines = [{"step": one} for one in sentences]
    return Section("Cleaning", (_WORDS, lines))
