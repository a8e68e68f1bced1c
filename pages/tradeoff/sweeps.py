"""The sweeps of Trade-off, and their points so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pages.state import session
from pages.state.context import Context
from pages.tradeoff import batch
from pages.work import cache, slots
from pages.work.memo import pairs
from pages.work.sweep_jobs import SweepJob
from smpcore import BASELINES, METHODS
from smpcore.datasets import plain_number
from smpcore.evaluation import (
    SCORES,
    pareto_front,
    smaller_and_as_good,
    title_of,
)

#: A running sweep is looked at this often until there is a chart, and from then on; a
#: fine one adds to a chart that is there.
FIRST_SECONDS, NEXT_SECONDS, FINE_SECONDS = 0.25, 0.5, 1.0
#: First and fine sweep of a method; in place of the first one a file.
Pair = tuple[SweepJob | batch.Opened, SweepJob | None]


@dataclass(frozen=True)
class SweepRequest:
    """What to sweep and how to show it."""

    data: cache.Parts
    values: dict[str, dict[str, Any]]
    score: str
    size: str
    n_folds: int
    groups: tuple[str, ...]
    opened: batch.Opened | None = None

    @property
    def task(self) -> str:
        """Of the data."""
        return self.data.dataset.task

    @property
    def larger_is_better(self) -> bool:
        """Of the score."""
        return SCORES[self.task][self.score]

    def jobs(self) -> list[Pair]:
        """First and fine sweep of each method; first ones that are missing begin.

        So do those that another visitor's busy moment left without a point, once.
        """
        visit = session.get()
        sweeps: list[Pair] = []
        for key, where in self._sweeps().items():
            first = cache.swept(*where, False)
            if key not in visit.met and first.has_no_points:
                first.start()
            visit.met.add(key)
            fine = cache.swept(*where, True) if key in visit.refined else None
            for sweep in filter(None, (first, fine)):
                sweep.join()
            sweeps.append((first, fine))
        return sweeps + ([(self.opened, None)] if self.opened else [])

    def refine(self) -> None:
        """Begin the fine sweep of each method, again where it was stopped."""
        session.get().refined |= set(self._sweeps())
        for _, fine in self.jobs():
            if fine and not fine.complete:
                fine.start()

    def _sweeps(self) -> dict[Any, tuple]:
        """Key of a sweep -> its arguments."""
        wanted = dict(self.values)
        wanted |= {group: {} for group in self.groups}
        there = self.opened.keys if self.opened else set()
        wanted = {key: v for key, v in wanted.items() if key not in there}
        for group in {BASELINES[key].group for key in there.intersection(BASELINES)}:
            wanted.pop(group, None)
        of = self.data.dataset.digest, self.data.split.key, self.n_folds
        return {
            (*of, key, pairs(values)): (self.data, key, pairs(values), self.n_folds)
            for key, values in wanted.items()
        }


@dataclass(frozen=True, eq=False)
class SweepResult:
    """What sweeps have found so far."""

    table: pd.DataFrame
    points: pd.DataFrame

    @property
    def of_methods(self) -> pd.DataFrame:
        """The points that can be opened, those worth it first."""
        of_methods = self.points[self.points["method"].isin(METHODS)]
        return of_methods.sort_values(["sparsest", "best", "front"], ascending=False)


def poll_interval(pairs: list[Pair]) -> float | None:
    """How often to look at sweeps; None if none is running."""
    running = [(first, fine) for first, fine in pairs if (fine or first).running]
    if not running:
        return None
    if not any(first.n_done for first, _ in pairs):
        return slots.poll_interval(FIRST_SECONDS)
    fine = all(fine for _, fine in running)
    return slots.poll_interval(FINE_SECONDS if fine else NEXT_SECONDS)


@slots.interactive_slot()
def gather(request: SweepRequest, pairs: list[Pair]) -> SweepResult:
    """Put sweeps together: of each method the fine one, once it has a point."""
    looks = []
    for first, fine in pairs:
        look = fine.look(request.score) if fine else None
        if look is None or look[1].empty:
            look = first.look(request.score)
        looks.append(look)
    table = pd.concat([fits for fits, _ in looks], ignore_index=True)
    parts = [points for _, points in looks]
    points = pd.concat([part for part in parts if len(part)] or parts[:1])
    mine = points["method"].isin(METHODS)
    front = table, request.size, request.score, request.larger_is_better
    of_methods, reference = pareto_front(points[mine], *front), points[~mine]
    rivals = smaller_and_as_good(
        of_methods, reference, request.size, request.larger_is_better
    )
    titles = [title_of(key) for key in reference["method"]]
    of_methods["rival"] = [titles[i] if i >= 0 else "" for i in rivals]
    points = pd.concat([of_methods, reference.assign(rival="")])
    marks = ["front", "undecided", "best", "sparsest"]
    points[marks] = points[marks].eq(True)
    points["usual"] = points["method"].isin(
        request.opened.keys if request.opened else ()
    )
    # A click may come back when there are more points: a name says which was meant.
    points.index = [f"{p.method} {p.value!r}" for p in points.itertuples()]
    return SweepResult(table, points)


def label(point: Any) -> str:
    """A point in words."""
    if not point.parameter:
        return title_of(point.method)
    known = METHODS.get(point.method)
    named = known.param(point.parameter).label if known else point.parameter
    return f"{title_of(point.method)}: {named} = {plain_number(point.value, 6)}"


def use(request: SweepRequest, point: Any) -> None:
    """Make a point the model of every page, with the values of its sweep's request."""
    method = METHODS[point.method]
    usual = method.defaults(request.task)
    swept = {} if point.usual else request.values.get(point.method, {})
    values = {name: v for name, v in swept.items() if v != usual[name]}
    values[point.parameter] = method.param(point.parameter).clean(point.value)
    session.choose(replace(session.get().choice, method=point.method, values=values))


def in_use(context: Context, result: SweepResult, request: SweepRequest) -> str:
    """Which point is the model of every page now; empty if none is.

    The pointer reaches one of several points on one spot: the others are named.
    """
    points, method = result.of_methods, context.method
    usual = method.defaults(request.task).items()
    for place, point in points[points["method"] == method.key].iterrows():
        rest = {n: v for n, v in context.values.items() if n != point.parameter}
        is_here = context.values.get(point.parameter) == point.value
        if is_here and (not point.usual or rest.items() <= usual):
            spot = [request.size, "mean"]
            near = np.isclose(points[spot], point[spot].astype(float), rtol=1e-9)
            near = points[near.all(axis=1)].drop(place)
            same = "; ".join(label(other) for other in near.itertuples())
            text = f"Used on every page: {label(point)}, fitted on all training rows."
            also = f" At the same position in the chart: {same}."
            return text + also * bool(same)
    return ""
