"""A first answer where a fit takes long: the same method on a part of the rows."""

from __future__ import annotations

from dataclasses import replace

from pages.work import cache

#: At most so many training rows, and numbers in them.
MOST_ROWS, MOST_VALUES = 300, 100_000
#: Fewer rows than this tell nothing.
LEAST_ROWS = 30


def part_of(data: cache.Parts, method: str) -> cache.Parts | None:
    """The same data with fewer training rows, which keep the shares of the classes."""
    X, y = data.of("train")
    if data.dataset.matrices:  # fewer rows have other columns, too
        return None
    n_rows = min(MOST_ROWS, MOST_VALUES // max(X.shape[1], 1))
    if method in cache.uncompiled or min(n_rows, len(y)) < LEAST_ROWS:
        return None
    classify = data.dataset.task == "classification"
    return replace(data, split=data.split.thinned(data.y, n_rows, classify))


def words(part: cache.Parts, data: cache.Parts) -> str:
    """What a subsampled fit is, to be shown with its picture."""
    few, all_rows = len(part.split.train), len(data.split.train)
    if few == all_rows:
        return "Preview: short fit"
    return f"Preview: fitted on {few:,} of {all_rows:,} rows"
