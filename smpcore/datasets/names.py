"""Clean names of columns."""

from collections import Counter
from collections.abc import Iterable

from smpcore.datasets.display_names import listed

# A longer column name is a text, not a name.
MAX_NAME = 200
_LONGEST_ENDING = len(" (1000000)")


def clean_names(names: Iterable[object]) -> tuple[list[str], list[str]]:
    """Column names made text, non-empty, different and at most 200 characters long."""
    known = (None if name != name else name for name in names)  # NaN is none
    texts = ["" if name is None else str(name).strip() for name in known]
    cut = [name[:MAX_NAME] for name in texts]
    cleaned: dict[str, None] = {}
    taken = set(cut)
    counts: Counter[str] = Counter()  # of each beginning, so that none is tried again
    for number, name in enumerate(cut, start=1):
        unique = base = name or f"column {number}"
        beginning = base[: MAX_NAME - _LONGEST_ENDING]
        while unique in cleaned or (unique != name and unique in taken):
            counts[beginning] += 1
            ending = f" ({counts[beginning] + 1})"
            unique = base[: MAX_NAME - len(ending)] + ending
        cleaned[unique] = None
    notices = []
    if any(len(name) > MAX_NAME for name in texts):
        notices.append(f"Column names were cut to {MAX_NAME} characters.")
    changed = [new for old, new in zip(cut, cleaned, strict=True) if old != new]
    if changed:
        notices.append(f"Empty or repeated column names became {listed(changed)}.")
    return list(cleaned), notices
