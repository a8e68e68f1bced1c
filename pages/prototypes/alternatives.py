"""Other choices of features that are nearly as good: all of them, one to be picked."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.prototypes.context import ModelContext
from pages.state import session, undo
from pages.state.context import Context
from pages.ui.elements import problems_shown, table, table_popover
from pages.ui.progress import is_waiting
from pages.work.memo import pairs
from pages.work.tasks import Task
from smpcore import figures
from smpcore.datasets import list_names, plain_number
from smpcore.methods import Alternatives
from smpcore.readouts import READOUTS

_WITHIN = (0.01, 0.02, 0.05, 0.1)
_LIMIT, _SECONDS = 1000, 600.0
#: Column of the table of choices.
_SCORE = f"{READOUTS['validation_accuracy'].label} %"
#: Choices in the table, and features in the picture, at most.
_LISTED, _DRAWN = 100, 25


def parameter(context: Context) -> str:
    """Name of what chooses the features of the prototypes; empty: the fit does."""
    two = context.task == "classification" and len(context.dataset.classes) == 2
    names = (param.name for param in context.params if param.scale == "lists")
    return next(names, "") if two else ""


def section(context: ModelContext) -> None:
    """Offer the search; show how it goes, and what it found."""
    name = parameter(context)
    st.caption(
        "All choices of exactly k features for each prototype with nearly the best "
        "objective, refitted. Each prototype keeps the training rows that it has in "
        "the fit."
    )
    if context.choice.values.get(name) is not None:
        left, right = st.columns([3, 1], vertical_alignment="center")
        left.info(
            "The features that were picked are not all here; the fit chooses."
            if context.values[name] is None
            else "The features of this model were picked here."
        )
        right.button("Let the fit choose", on_click=_pick, args=(context, None))
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    within = left.selectbox(
        "Objective within", _WITHIN, 2, lambda part: f"{100 * part:g} %"
    )
    values = {**context.values, name: None}
    key = context.data.dataset.digest, context.data.split.key, pairs(values), within
    before, task = session.get().results.get("alternatives", (key, None))
    if before == key and task is not None and is_waiting(task, 0.0, "Alternatives"):
        return
    right.button(
        "Find alternatives",
        key="find_alternatives",
        icon=":material/search:",
        on_click=_start,
        args=(context, values, key),
    )
    if before == key and task is not None:
        with problems_shown(st.error):
            _show(context, task.result(), key)


def _start(context: ModelContext, values: dict[str, Any], key: tuple) -> None:
    estimator = context.method.estimator(values, context.task)
    limits = key[-1], _LIMIT, _SECONDS
    work = partial(estimator.alternatives_of, context.problem(), *limits)
    session.get().results["alternatives"] = key, Task(work, study=context.data.dataset)


def _show(context: ModelContext, found: Alternatives, key: tuple) -> None:
    """How many there are, the features in them, and one of them to be used."""
    n, within = len(found.supports), key[-1]
    if not n:
        st.info("Stopped before the first choice was certified.")
        return
    rest = "There are no others: all that is left out is certified to be worse."
    if not found.complete:
        rest = "There may be more: the search was ended. These are the best."
    st.markdown(
        f"**{'' if found.complete else 'At least '}{n:,} choices of features** have an "
        f"objective within {100 * within:g} % of the best, "
        f"{plain_number(found.objectives[0])}. {rest}"
    )
    make = partial(_features, context, found)
    lines = session.remembered("alternatives_features", (key, n), make)
    shown = lines[:_DRAWN]
    title = "weight per standard deviation"
    figure = figures.intervals(shown, _KINDS, title, 0.0)
    figure.update_yaxes(title="prototype: feature")
    st.plotly_chart(figure, key="alternatives_weights", alt=f"Features by {title}")
    st.caption(
        "Number of the prototype, feature and how many choices have it; median and "
        "range of its weight over their refits."
    )
    table_popover(lines.drop(columns=["group", "kind"]))
    make = partial(_choices, context, found)
    choices = session.remembered("alternatives_choices", (key, n), make)
    if n > len(choices):
        st.caption(f"The {len(choices)} best, of {n:,}:")
    table(choices)
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    place = left.selectbox("Choice", choices["choice"], key="alternative") - 1
    names = context.model.feature_names
    lists = tuple(tuple(names[f] for f in row) for row in found.supports[place])
    right.button(
        "Use this model on every page",
        key="use_alternative",
        icon=":material/check:",
        on_click=_pick,
        args=(context, lists),
    )


_KINDS = "in all choices (core)", "in some, exchangeable"


def _prototypes(found: Alternatives) -> list[int]:
    """Prototypes of the model that choose features, in the order of the weights."""
    return np.flatnonzero(found.build(0).weights.any(axis=1)).tolist()


def _features(context: ModelContext, found: Alternatives) -> pd.DataFrame:
    """A line for each feature of a prototype: how often, how much, in place of what."""
    names, lines = context.model.feature_names, []
    instead = _exchanges(found.supports)
    for j, number in enumerate(_prototypes(found)):
        weights = found.weights[:, j]
        counts = np.count_nonzero(weights, axis=0)
        for f in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]:
            values = weights[weights[:, f] != 0, f]
            others = sorted(instead[j, f], key=lambda g: -counts[g])
            line = {"prototype": context.name(number), "feature": names[f]}
            line["% of choices"] = 100 * len(values) / len(weights)
            line |= {"value": np.median(values), "low": values.min()}
            line |= {"high": values.max(), "rows": len(values)}
            line["exchanged for"] = list_names([names[g] for g in others], 4)
            line["group"] = f"{number + 1}: {names[f]}"
            line["kind"] = _KINDS[len(values) < len(weights)]
            lines.append(line)
    return pd.DataFrame(lines)


def _exchanges(supports: list[tuple[tuple[int, ...], ...]]) -> dict[Any, set[int]]:
    """Prototype and feature -> features that take its place, all else being equal."""
    places = defaultdict(set)
    for rows in supports:
        for j, features in enumerate(rows):
            for f in features:
                left = tuple(g for g in features if g != f)
                places[rows[:j], left, rows[j + 1 :]].add((j, f))
    instead = defaultdict(set)
    for alike in places.values():
        for j, f in alike:
            instead[j, f] |= {g for _, g in alike} - {f}
    return instead


def _choices(context: ModelContext, found: Alternatives) -> pd.DataFrame:
    """A line for each of the best choices."""
    names = context.model.feature_names
    titles = [context.name(number) for number in _prototypes(found)]
    X, y = context.data.of("validation")
    lines = []
    for place, rows in enumerate(found.supports[:_LISTED]):
        above = found.objectives[place] / found.objectives[0] - 1.0
        line = {"choice": place + 1, "objective above the best, %": 100 * above}
        if len(y):
            model = found.build(place)
            line[_SCORE] = 100 * np.mean(model.predict(X) == y)
        for title, row in zip(titles, rows, strict=True):
            line[title] = list_names([names[f] for f in row], 10)
        lines.append(line)
    return pd.DataFrame(lines)


def _pick(context: ModelContext, lists: tuple[tuple[str, ...], ...] | None) -> None:
    """Make these the features of the model, on every page."""
    choice = context.choice
    undo.push(session.get().live, undo.Step("the choice of features", choice))
    values = {**choice.values, parameter(context): lists}
    session.choose(replace(choice, values=values))
