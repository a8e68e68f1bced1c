"""What cleaning a table would do it good, for Data and for Performance."""

from __future__ import annotations

from pages.state.session import Slot
from smpcore import Dataset
from smpcore.datasets import Suggestion, suggest_codes

_CODES = Slot[list[Suggestion]]("suggested_codes")


def suggested_codes(dataset: Dataset) -> list[Suggestion]:
    """Values of columns that look like codes, found once for a table."""
    return _CODES.get_or_make(dataset.digest, lambda: suggest_codes(dataset))
