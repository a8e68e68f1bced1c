"""Quick answers while a control moves, and while the canonical fit takes long."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from pages.state.context import Context
from pages.work import cache, fits, slots
from smpcore import SmpcoreError

log = logging.getLogger(__name__)
#: At most so many training rows, and numbers in them.
MOST_ROWS, MOST_VALUES = 300, 100_000
#: Fewer rows than this tell nothing.
LEAST_ROWS = 30


def subsampled_fit(context: Context, state: Any) -> tuple[Any, cache.Parts | None]:
    """A quick fit on a part of the rows, and that part; None if it would not help."""
    method = context.method.key
    part = part_of(context.data, method)
    n_features = context.data.X.shape[1]
    aligned = context.method.comparison_cost(context.values, n_features) > 1
    if part is None or aligned:  # where comparing rows is slow, so is a part of them
        return None, None
    try:
        problem = cache.problem(part, method, context.values)
        return preview(context, problem, state), part
    except SmpcoreError as error:
        log.info("no subsampled fit: %s", error)  # all of the rows may do
        return None, None


def preview(context: Context, problem: Any, state: Any) -> Any:
    """A quick fit from where the last one ended."""
    estimator = context.method.estimator(context.values, problem.task, preview=True)
    with slots.stopped_after(fits.QUICK_SECONDS) as flag:
        return estimator.solve(problem, state, stop=flag)


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
