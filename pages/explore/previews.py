"""Quick answers while a control moves, and while the canonical fit takes long."""

from __future__ import annotations

import logging
from typing import Any

from pages.explore import subsampled
from pages.state.context import Context
from pages.work import cache, fits, slots
from smpcore import SmpcoreError

log = logging.getLogger(__name__)


def subsampled_fit(context: Context, state: Any) -> tuple[Any, cache.Parts | None]:
    """A quick fit on a part of the rows, and that part; None if it would not help."""
    method = context.method.key
    part = subsampled.part_of(context.data, method)
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
