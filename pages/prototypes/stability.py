"""How stable prototypes are, and other choices of features that are nearly as good."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.prototypes.model_context import ModelContext
from pages.state import session, undo
from pages.state.session import Slot
from pages.ui.elements import expander, study, table, table_popover
from pages.ui.text import message
from pages.work import study_pool
from pages.work.tasks import Task
from smpcore import SmpcoreError, figures, stability
from smpcore.datasets import list_names, only_compared, plain_number, plural
from smpcore.evaluation import FEWEST_REFITS, Stability, TrainingRows, refits, wilson
from smpcore.live import NAMES, Context, pairs
from smpcore.methods import Alternatives
from smpcore.readouts import READOUTS, number_text

_STABILITY, _ALTERNATIVES = Slot[Task]("stability"), Slot[Task]("alternatives")
#: Tables of the alternatives: their features, and the choices.
_FEATURES = Slot[pd.DataFrame]("alternatives_features")
_CHOICES = Slot[pd.DataFrame]("alternatives_choices")

#: By columns, by levels of categories, and of a number how much each row's prediction
#: differs between refits.
Results = tuple[Stability, Stability, np.ndarray]
N_REFITS = 100
_MOST_LINES = 50
#: A prototype of a refit is the same from this cosine on, in the table.
_BOUND, _MOST_DRAWN = 0.8, 8


def section(context: ModelContext) -> None:
    """Offer the refits; show how they go, and what came."""
    if only_compared(context.data.dataset):
        st.caption(
            "Prototypes of refits are compared by their features, and these data have "
            "none: there is no stability here."
        )
        return
    pairs = "Prototypes" if context.model.classes is None else "Prototypes of a class"
    st.caption(
        f"{N_REFITS} refits, each on a bootstrap sample of the training rows "
        "(groups and blocks in time stay together), with a new seed if the method "
        f"is random. {pairs} are matched to the most similar prototype of each refit; "
        "similarity is the cosine, 1 where both are the same direction."
    )
    study(
        _STABILITY,
        context.key,
        partial(_job, context),
        partial(_show, context),
        words="Refits",
        label="Refit",
        key="refit",
        icon=":material/replay:",
    )


def _job(context: ModelContext) -> Task:
    """Refit in a thread: all it needs is looked up now."""
    data, model = context.data, context.model
    values, task = context.values, data.dataset.task
    method = context.method
    sample = TrainingRows(
        *data.of("train"),
        data.clusters("train"),
        data.weights("train"),
        data.metadata("train"),
    )
    make = partial(method.estimator, values, task)

    X_scored = data.of(data.scored_part)[0]

    def work(stop: np.ndarray, progress: np.ndarray) -> Results | None:
        models = []
        try:
            with study_pool.executor_for(data.dataset) as executor:
                where = {"executor": executor, "stop": stop}
                for other in refits(make, sample, n_refits=N_REFITS, **where):
                    models.append(other)
                    progress[0] = len(models) / N_REFITS
        except SmpcoreError:
            if not models:  # fewer refits tell less, but they tell
                raise
        if not models:
            return None
        of_levels = stability(model, models)
        deviations = np.empty(0)
        if model.classes is None:
            deviations = np.std([one.predict(X_scored) for one in models], axis=0)
        return stability(model, models, data.preparation), of_levels, deviations

    return Task(work, study=data.dataset)


def _say_deviations(context: ModelContext, deviations: np.ndarray) -> None:
    """How far refits differ in their predictions of a number."""
    unit, part = context.data.target_unit, NAMES[context.data.scored_part]
    usual, most = np.median(deviations), deviations.max()
    message(
        st.markdown,
        f"Predictions of {len(deviations):,} {part} rows: their standard deviation "
        f"between refits is {number_text(usual, 'target')}{unit} in the median, "
        f"{number_text(most, 'target')}{unit} at most.",
    )


def _show(context: ModelContext, results: Results | None) -> None:
    """The prototypes, and how often columns are selected; levels on request."""
    if results is None:
        st.info("Stopped before the first refit finished.")
        return
    result, by_level, deviations = results
    if deviations.size:
        _say_deviations(context, deviations)
    lines = recovered(result, context.names)
    least = lines.iloc[lines["value"].argmin()]
    message(
        st.markdown,
        f"{least['group']} is recovered least often: by {least['value']:.0f} % of "
        f"{plural(result.n_refits, 'refit')}.",
    )
    title = f"recovered by refits (%, similarity {_BOUND} or more)"
    figure = figures.forest(lines, title, 100.0).update_yaxes(title="prototype")
    alt = "Share of refits that recover each prototype; the table has the numbers"
    st.plotly_chart(figure, key="recovered", alt=alt)
    with expander("Show as a table, and for other similarities", "refits", "table"):
        medians = np.median(np.nan_to_num(result.cosines), axis=0)
        columns = {"prototype": lines["group"], "recovered %": lines["value"]}
        table(columns | {"median similarity": medians})
        bounds = np.linspace(0.0, 1.0, 101)
        shares = np.array([result.recovered(bound) for bound in bounds])
        drawn = shares[:, :_MOST_DRAWN], context.names
        figure = figures.recovery(bounds, *drawn, _BOUND)
        alt = "Share of refits that recover each prototype, by how similar it has to be"
        st.plotly_chart(figure, key="recovery", alt=alt)
    if context.portraits.signed:
        _selected(context, result, by_level)


def recovered(result: Stability, names: list[str]) -> pd.DataFrame:
    """The share of refits that recover each prototype, with Wilson's interval; %."""
    shares, n = result.recovered(_BOUND), result.n_refits
    low, high = wilson(shares * n, n)
    limits = {"value": 100 * shares, "low": 100 * low, "high": 100 * high}
    return pd.DataFrame({"group": names, **limits, "kind": "prototype, 95 % interval"})


def _selected(context: ModelContext, result: Stability, by_level: Stability) -> None:
    """Which columns of a prototype the refits select, too."""
    model, preparation = context.model, context.data.preparation
    numbers = range(model.n_prototypes)
    key = f"steady_{context.choice.method}_{context.data.dataset.digest}"
    j = st.selectbox("Prototype", numbers, format_func=context.label, key=key)
    names = [column.name for column in preparation.inputs]
    used = model.weights[j] != 0
    if preparation.has_level_features and st.toggle(
        "Show category levels", key="levels"
    ):
        names, result, what = list(model.feature_names), by_level, "features"
    else:
        used, what = preparation.used_columns(used), "columns"
    chosen = np.flatnonzero(used)
    if not chosen.size:
        st.caption("All its weights are 0.")
        return
    share = 100 * result.selected[j]
    shown = np.zeros(len(share))
    shown[chosen] = share[chosen]
    n_partners = int(np.isfinite(result.cosines[:, j]).sum())
    whole = f"% of {plural(n_partners, 'partner')}"
    figure = figures.signed_bars(
        shown, names, f"selected ({whole})", y_title=what.removesuffix("s")
    )
    words = f"How often refits select the {what} of prototype {j + 1}"
    st.plotly_chart(figure, key="steady", alt=words)
    table(_lines(result, j, chosen, share, names))
    st.caption(
        f"Selected: {whole}, the prototypes of the {result.n_refits} refits that "
        "are paired with this one. Same sign: % of the partners that select it. "
        "Closest substitute: the column that refits select more often when they do "
        f"not select this one. Shown if at least {FEWEST_REFITS} refits omit it, at "
        f"least as many use it, and the difference exceeds two standard errors. As "
        "the largest of many differences, it may still be due to chance."
    )


def _lines(
    result: Stability, j: int, chosen: np.ndarray, share: np.ndarray, names: list[str]
) -> dict[str, Any]:
    """A line for each selected column of prototype ``j``, the commonest first."""
    order = chosen[np.argsort(-share[chosen], kind="stable")][:_MOST_LINES]
    substitutes = result.substitute[j, order]
    return {
        "column": [names[f] for f in order],
        "selected %": share[order],
        "same sign %": 100 * result.agrees[j, order],
        "closest substitute": ["" if f < 0 else names[f] for f in substitutes],
        "refits without it": result.without[j, order],
    }


_WITHIN = (0.01, 0.02, 0.05, 0.1)
_LIMIT, _SECONDS = 1000, 600.0
#: Column of the table of choices.
_SCORE = f"{READOUTS['validation_accuracy'].label} %"
#: Choices in the table, and features in the picture, at most.
_LISTED, _DRAWN = 100, 25


def lists_parameter(context: Context) -> str:
    """Name of what chooses the features of the prototypes; empty: the fit does."""
    two = context.task == "classification" and len(context.dataset.classes) == 2
    names = (param.name for param in context.params if param.scale == "lists")
    return next(names, "") if two else ""


def alternatives(context: ModelContext) -> None:
    """Offer the search; show how it goes, and what it found."""
    name = lists_parameter(context)
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
    study(
        _ALTERNATIVES,
        key,
        partial(_search, context, values, within),
        partial(_show_alternatives, context, key),
        words="Alternatives",
        reached=lambda share: _proved(share * within),
        place=right,
        label="Find alternatives",
        key="find_alternatives",
        icon=":material/search:",
    )


def _search(context: ModelContext, values: dict[str, Any], within: float) -> Task:
    estimator = context.method.estimator(values, context.task)
    limits = within, _LIMIT, _SECONDS
    work = partial(estimator.alternatives, context.problem(), *limits)
    return Task(work, study=context.data.dataset)


def _proved(part: float) -> str:
    """Up to which objective no choice is missing; rounded down, as it is a promise."""
    if not (percent := np.floor(1000 * part) / 10):
        return "Certified so far: less than 0.1 % above the best objective."
    return (
        f"Certified so far: all choices within {percent:g} % of the best objective are "
        "known; beyond, there may be more."
    )


def _show_alternatives(context: ModelContext, key: tuple, result: Alternatives) -> None:
    """How many there are, the features in them, and one of them to be used."""
    n, within = len(result.supports), key[-1]
    at_least = "" if result.complete else "At least "
    if not n:
        st.info("Stopped before the first choice was certified.")
        return
    rest = "There are no others: all that is left out is certified to be worse."
    if not result.complete:
        rest = f"The search was ended. {_proved(result.proved)}"
    st.markdown(
        f"**{at_least}{n:,} choices of features** have an objective within "
        f"{100 * within:g} % of the best, "
        f"{plain_number(result.objectives[0])}. {rest}"
    )
    make = partial(_features, context, result)
    lines = _FEATURES.get_or_make((key, n), make)
    title = "weight per standard deviation"
    figure = figures.forest(lines[:_DRAWN], title, 0.0)
    figure.update_yaxes(title="prototype: feature")
    st.plotly_chart(figure, key="alternatives_weights", alt=f"Features by {title}")
    st.caption(
        "Number of the prototype, feature and how many choices have it; median and "
        "range of its weight over their refits."
    )
    table_popover(lines.drop(columns=["group", "kind"]), key="stability")
    choices = _CHOICES.get_or_make((key, n), partial(_choices, context, result))
    if n > len(choices):
        st.caption(f"The {len(choices)} best, of {n:,}:")
    table(choices)
    _what_choosing_does(len(context.data.split.validation), len(choices))
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    place = left.selectbox("Choice", choices["choice"], key="alternative") - 1
    names = context.model.feature_names
    lists = tuple(tuple(names[f] for f in row) for row in result.supports[place])
    right.button(
        "Use this model on every page",
        key="use_alternative",
        icon=":material/check:",
        on_click=_pick,
        args=(context, lists),
    )


def _what_choosing_does(n_rows: int, n_choices: int) -> None:
    """Say why the accuracies of a list of choices are not to choose by."""
    if n_rows:
        st.caption(
            "In the order of the objective on training rows. One of the "
            f"{plural(n_rows, 'validation row')} is {plain_number(100 / n_rows, 2)} "
            f"points of accuracy: the highest of {n_choices:,} is partly chance, and a "
            "choice that is taken for it does worse on new rows."
        )


_KINDS = "in all choices (core)", "in some, exchangeable"


def _prototypes(result: Alternatives) -> list[int]:
    """Prototypes of the model that choose features, in the order of the weights."""
    return np.flatnonzero(result.build(0).weights.any(axis=1)).tolist()


def _features(context: ModelContext, result: Alternatives) -> pd.DataFrame:
    """A line for each feature of a prototype: how often, how much, in place of what."""
    names, lines = context.model.feature_names, []
    instead = _exchanges(result.supports)
    for j, number in enumerate(_prototypes(result)):
        weights = result.weights[:, j]
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


def _choices(context: ModelContext, result: Alternatives) -> pd.DataFrame:
    """A line for each of the best choices."""
    names = context.model.feature_names
    titles = [context.name(number) for number in _prototypes(result)]
    lines = []
    for place, rows in enumerate(result.supports[:_LISTED]):
        above = result.objectives[place] / result.objectives[0] - 1.0
        line = {"choice": place + 1, "objective above the best, %": 100 * above}
        if len(context.data.split.validation):
            scores = context.data.evaluate(result.build(place), "validation")
            line[_SCORE] = 100 * scores.accuracy
        for title, row in zip(titles, rows, strict=True):
            line[title] = list_names([names[f] for f in row], 10)
        lines.append(line)
    return pd.DataFrame(lines)


def _pick(context: ModelContext, lists: tuple[tuple[str, ...], ...] | None) -> None:
    """Make these the features of the model, on every page."""
    choice = context.choice
    undo.push(session.get().live, undo.Step("the choice of features", choice))
    values = {**choice.values, lists_parameter(context): lists}
    session.choose(replace(choice, values=values))
