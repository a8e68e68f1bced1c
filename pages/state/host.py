"""The app as the place where figures live: its tables, and what visitors share."""

from __future__ import annotations

from functools import partial

from pages.state import table_store
from pages.work import cache, fits, slots, sources, studies
from smpcore import Dataset, SmpcoreError, live
from smpcore.datasets import Split
from smpcore.live import BUNDLED, MINE, Choice, Host, pairs


def _table(choice: Choice) -> tuple[Dataset, Split | None]:
    """The table of a choice; the visitor's own is visited by that."""
    if choice.data == MINE:
        return table_store.visit(choice.token)
    if choice.data not in BUNDLED:
        if not sources.is_source(choice.data):
            raise SmpcoreError("The link names an unknown data set; moons is shown.")
        return sources.load(choice.data), None
    values = {p.name: p.start for p in BUNDLED[choice.data].params}
    return cache.bundled(choice.data, pairs(values | dict(choice.data_values))), None


HOST = Host(
    table=_table,
    computed=cache.computed,
    fits=fits,
    studies=studies,
    stopped_after=slots.stopped_after,
)
#: Of the library, with the tables of this app.
resolve = partial(live.resolve, host=HOST)
validated = partial(live.validated, host=HOST)
with_data_here = partial(live.with_data_here, host=HOST)
