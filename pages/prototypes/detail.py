"""Prototypes at a glance and one by one, with what can be forbidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from pages.prototypes import model_context
from pages.prototypes.model_context import ModelContext
from pages.state import session, undo, widget_state
from pages.state.session import Slot
from pages.state.state_file import NAME, NOTE
from pages.ui.elements import expander, signed_bars, table_popover
from pages.ui.elements import table as show_table
from pages.ui.text import escape_markdown, message, short_label
from pages.work import slots
from smpcore import explain, figures
from smpcore.datasets import (
    MOST_FORBIDDEN,
    forbiddable,
    list_names,
    only_compared,
    plain_number,
    plural,
)
from smpcore.explain import embedding, prototype_table, score_leads
from smpcore.live import Context, define, kernel_weights
from smpcore.model import value_range

#: Method and data -> number of the prototype that was shown last.
_SHOWN_LAST = Slot[dict[str, int]]("shown_prototypes")
_TYPICAL = Slot[tuple[np.ndarray, np.ndarray]]("typical_rows")
#: Column, row with another value of it, and the prototype that wins it then.
_WINNERS = Slot[list[tuple[int, np.ndarray, int]]]("other_winners")

#: Prototypes drawn beside each other; of series, whose lines share their axes, fewer.
MOST_DRAWN, MOST_LINES = 20, 8
#: Width of a small picture in CSS pixels: the least that Streamlit gives to a chart;
#: two stand beside each other on a phone.
_PICTURE = 150
_EMBEDDED = 200
#: Of a table: bars in a portrait, and its width; four stand beside each other.
_BARS, _BARS_WIDTH = 6, 290
#: Opacity of a prototype that wins no training row.
_FADED = 0.35


@slots.interactive_slot()
def draw(
    context: ModelContext,
    rows: np.ndarray,
    titles: list[str],
    key: str,
    signed: bool = False,
    of_class: np.ndarray | None = None,
    faded: np.ndarray | None = None,
) -> None:
    """Rows as pictures or, of series, channels; of a table nothing.

    Lines have the colours of the classes, where rows have one.
    """
    opacity = np.where([False] * len(rows) if faded is None else faded, _FADED, None)
    shape = context.shape
    if len(shape) < 2:
        return
    rows = context.in_place(rows)
    if context.channels:
        _draw_channels(context, rows, titles, key, of_class, opacity, signed)
        return
    top = float(np.nanmax(np.abs(rows))) or 1.0
    limits = (-top, top) if signed else value_range(context.model)
    width = _PICTURE if len(rows) > 1 else 2 * _PICTURE
    with st.container(horizontal=True, gap="xsmall"):
        for place, (row, title) in enumerate(zip(rows, titles, strict=True)):
            figure = figures.picture(row, shape, title, limits, signed, width)
            st.plotly_chart(
                figure.update_traces(opacity=opacity[place]),
                key=f"{key}_{place}",
                width="content",
                config={"displayModeBar": False},
                alt=short_label(f"Portrait of {title}"),
            )
    dark, bright = ("crimson", "teal") if signed else ("black", "white")
    blank = " Forbidden pixels are crossed out." if np.isnan(rows).any() else ""
    span = "" if signed else ", the range of the training rows"
    beyond = figures.OUTSIDE * (limits[1] - limits[0])
    if (rows < limits[0] - beyond).any() or (rows > limits[1] + beyond).any():
        blank += " − marks values at least 10 % of the range below it, + above it."
    st.caption(
        f"From {plain_number(limits[0], 3)} ({dark}) to {plain_number(limits[1], 3)} "
        f"({bright}){span}.{blank}"
    )


def _draw_channels(
    context: ModelContext,
    rows: np.ndarray,
    titles: list[str],
    key: str,
    of_class: np.ndarray | None,
    opacity: np.ndarray,
    signed: bool,
) -> None:
    """Rows as series; behind those of classes the spread of these."""
    gone = np.isnan(rows.reshape(-1, *context.shape)).all(axis=(0, 2))
    marked = zip(context.channels, gone, strict=True)
    names = [f"{name} (forbidden)" if out else name for name, out in marked]
    axis = figures.time_axis(context.data.dataset)
    behind = None if signed else _spreads(context)
    style = names, of_class, axis, behind
    figure = figures.channels(rows, context.shape, titles, *style)
    for place, part in enumerate(opacity):
        figure.update_traces(opacity=part, selector={"legendgroup": str(place)})
    words = f"Channels of {', '.join(titles[:6])}"
    st.plotly_chart(figure, key=key, alt=short_label(words))
    if behind and of_class is not None:
        st.caption(
            "Behind: mean of the class's training rows (dotted) and one standard "
            "deviation to either side. Channels of one unit have one scale."
        )


def _spreads(context: ModelContext) -> dict[int, figures.Spread]:
    """Mean and spread of the training rows of each class."""
    X, codes = context.rows
    return figures.spreads(context.in_place(X), codes)


class Bars(NamedTuple):
    """Numbers that are drawn of a prototype of a table, and what they are."""

    values: np.ndarray
    names: Sequence[str]
    title: str
    marked: Sequence[int]


def _bars_of(context: ModelContext, j: int) -> Bars:
    """What its columns add to its score, in their own units, or its values."""
    model, fact = context.model, context.facts[j]
    if context.portraits.signed and not context.data.dataset.matrices:
        output = model.prototype_labels[j]
        weights = model.weights[j] / model.scale * model.votes[j, output]
        lines = explain.unit_effects(weights, context.data.preparation, context.rows[0])
        marked = [i for i, line in enumerate(lines) if line.feature in fact.opposing]
        title = "points" if model.classes is not None else "change of the prediction"
        values = np.array([line.points for line in lines])
        return Bars(values, [line.words for line in lines], title, marked)
    values, title = context.portraits.values[j], "weight of the similarity"
    if not context.portraits.signed:
        values = (values - model.center) / model.scale
        title = "standard deviations from the training mean"
    return Bars(values, model.feature_names, title, fact.outside)


_BY_STEPS = "by usual steps of a column"


@slots.interactive_slot()
def _bars(context: ModelContext, drawn: np.ndarray) -> None:
    """What is largest in each of some prototypes of a table, beside each other."""
    bars = {j: _bars_of(context, j) for j in drawn}
    largest = [np.sort(np.abs(one.values))[-_BARS:] for one in bars.values()]
    most = max(part.max(initial=0.0) for part in largest)
    n_bars = max(int(np.count_nonzero(part)) for part in largest)
    with st.container(horizontal=True, gap="small"):
        for j, (values, names, title, _) in bars.items():
            with st.container(width=_BARS_WIDTH, gap=None):
                st.markdown(f"**{escape_markdown(context.title(j))}**")
                if context.portraits.signed and not values.any():
                    st.caption("All weights are 0: its score is the same everywhere.")
                    continue
                figure = figures.signed_bars(values, names, "", most=_BARS, y_title="")
                figure.update_layout(height=60 + 24 * n_bars, margin_t=8)
                figure.update_xaxes(range=[-most, most])  # bars can be compared
                if context.is_idle[j]:
                    figure.update_traces(opacity=_FADED)
                words = f"The largest of {context.name(j)}: {title}"
                config = {"displayModeBar": False}
                key = f"bars_{j}"
                st.plotly_chart(figure, key=key, config=config, alt=short_label(words))
    if context.portraits.signed and not context.data.dataset.matrices:
        title = f"{title} {_BY_STEPS}"
    st.caption(f"The largest {title}, at most {_BARS} of a prototype, on one scale.")


def lines(context: ModelContext) -> list[dict[str, Any]]:
    """The prototypes as lines of a table."""
    merged, texts = context.merged_from, context.texts
    return [
        {"prototype": context.name(j), context.side_title: context.side(j)}
        | ({"text": texts[j]} if texts else {})
        | numbers
        | ({"merged from": merged[j]} if any(merged) else {})
        for j, numbers in enumerate(prototype_table(context.model, *context.rows))
    ]


def of_every_class(labels: np.ndarray, most: int) -> np.ndarray:
    """Numbers of so many prototypes, of all classes in turn."""
    turn = [int((labels[:j] == label).sum()) for j, label in enumerate(labels)]
    return np.sort(np.lexsort((np.arange(len(labels)), turn))[:most])


def _classes(context: ModelContext, numbers: Sequence[int]) -> np.ndarray | None:
    """Class numbers of some prototypes; None of a regression."""
    model = context.model
    return None if model.classes is None else model.prototype_labels[numbers]


def gallery(context: ModelContext) -> None:
    """All prototypes at a glance, and what the whole model weighs."""
    model = context.model
    labels, shown = model.prototype_labels, context.portraits
    most = max(MOST_LINES, len(np.unique(labels))) if context.channels else MOST_DRAWN
    drawn = of_every_class(labels, min(most, MOST_DRAWN))
    drawn = drawn[np.argsort(context.is_idle[drawn], kind="stable")]
    names, faded = [context.title(j) for j in drawn], context.is_idle[drawn]
    style = shown.signed, _classes(context, drawn), faded
    draw(context, shown.values[drawn], names, "gallery", *style)
    if len(context.shape) == 1 and not context.texts:
        _bars(context, drawn)
    if len(context.shape) > 1:
        more = model.n_prototypes - len(drawn)
        more_text = f" {more} more in the table and under One by one." if more else ""
        st.caption((shown.what if context.channels else shown.coloured) + more_text)
    table = _with_selected(context, lines(context))
    show_table(table)
    far = any("distance to nearest row" in line for line in table)
    more_text = " Distances are in standard deviations." if far else ""
    if faded.any():
        more_text += " Faded, last: it wins no training row."
    st.caption(f"Counts refer to training rows.{more_text}")
    if model.classes is not None:
        _leads(context)
    if model.similarity.weights:
        _kernels(context)


def _with_selected(
    context: ModelContext, table: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """How many rows that are selected, on Explore or in a table, each decides."""
    data, model = context.data, context.model
    rows = data.split.train
    selected = session.are_selected(data.dataset, rows)
    if model.classes is None or not selected.any():
        return table
    X = context.rows[0][selected]
    winners = explain.deciding_prototypes(model, model.activations(X))
    counts = np.bincount(winners, minlength=len(table)).tolist()
    return [
        line | {"selected rows won": count}
        for line, count in zip(table, counts, strict=True)
    ]


@slots.interactive_slot()
def _leads(context: ModelContext) -> None:
    """How the final score is spread in each class."""
    model, (X, codes) = context.model, context.rows
    lead = score_leads(model, X, codes)
    title = "lead of the true class"
    if model.n_outputs == 2:
        names = context.outputs[:: 1 if context.outcome else -1]
        title = f"score of {names[1]} minus score of {names[0]}"
    figure = figures.densities(
        lead, codes, model.classes, title, [(0.0, "decision boundary")]
    )
    words = "Density of the score on the training rows of each class"
    st.markdown("**Score distribution** of the training rows, by class")
    st.plotly_chart(figure, key="leads", alt=words)
    limits = {"rows": "size", "lowest": "min", "median": "median", "highest": "max"}
    summary = pd.Series(lead).groupby(codes).agg(**{n: f for n, f in limits.items()})
    summary.insert(0, "class", np.array(context.outputs)[summary.index])
    table_popover(summary, key="leads")


@slots.interactive_slot()
def _kernels(context: ModelContext) -> None:
    """Weights of the similarity's kernels, and what they do to the rows."""
    model = context.model
    what, names, weights = kernel_weights(model, context.data)
    heading = f"**Weights β of the kernels**, by {what}"
    st.markdown(heading, help=define("Weight β"))
    alt = "Weights of the kernels, sorted"
    signed_bars(weights, names, "weight β", "kernel", key="beta", alt=alt)
    if what == "columns" and context.data.preparation.has_level_features:
        of_levels = {"kernel": model.feature_names, "weight": model.similarity.weights}
        with st.popover("By category level", key="beta_levels"):
            show_table(of_levels)
    if model.classes is None:
        return
    X, codes = context.rows
    some = np.linspace(0, len(X) - 1, min(_EMBEDDED, len(X))).astype(int)
    before, after = (embedding(model, X[some], equal) for equal in (True, False))
    figure = figures.embeddings(before, after, codes[some], model.classes)
    words = "Training rows in feature space, before and after weighting the kernels"
    st.plotly_chart(figure, key="embedding", alt=words)
    st.caption(f"{words}: first two principal axes of {len(some)} rows.")


def forbidden(context: Context) -> None:
    """Say which features must not be used; the model is learned anew without them."""
    choice, known = context.choice, forbiddable(context.whole)
    if len(known) < 2:
        return
    label = "Forbid features"
    if n := len(choice.forbidden):
        label = f"{plural(n, 'feature')} forbidden"
    with expander(label, "forbid", "block"):
        st.multiselect(
            "Features that must not be used",
            list(known),
            format_func=short_label,
            **widget_state.for_choice(
                "forbidden_features", list(choice.forbidden), partial(_forbid, context)
            ),
            max_selections=min(MOST_FORBIDDEN, len(known) - 1),
            placeholder="None: all features are allowed",
        )
        what = "A category is forbidden with all its levels."
        if channels := context.whole.channels:
            what = "A channel is forbidden at all its time points."
            if len(channels) < 2:
                what = "Each time point of the series can be forbidden."
        st.caption(
            "On every page, models are trained as if the table had no such column. "
            f"{what} Names, notes and how often test rows were opened stay."
        )


def forbid_button(context: ModelContext, feature: int) -> None:
    """Forbid one feature of the model, beside where it is shown."""
    choice, name = context.choice, _forbidden_with(context, feature)
    known = forbiddable(context.whole)
    full = len(choice.forbidden) >= min(MOST_FORBIDDEN, len(known) - 1)
    st.button(
        "Forbid and refit",
        key="forbid_feature",
        icon=":material/block:",
        on_click=_forbid,
        args=(context, (*choice.forbidden, name)),
        disabled=full,
        help=escape_markdown(f"Refit without {short_label(name)}."),
    )


def _forbidden_with(context: ModelContext, feature: int) -> str:
    """What a feature of the model is forbidden with: its column, or its channel."""
    preparation = context.data.preparation
    column = preparation.inputs[preparation.column_of_feature[feature]].name
    known = forbiddable(context.data.dataset)
    return next(name for name, columns in known.items() if column in columns)


def _forbid(context: Context, names: tuple[str, ...]) -> None:
    """Forbid exactly these."""
    choice, known = context.choice, forbiddable(context.whole)
    # Places of features among those that are left say nothing any more.
    view = {name: kind for name, kind in choice.view.items() if name == "kind"}
    undo.push(session.get().live, undo.Step("what is forbidden", choice))
    forbidden = tuple(name for name in known if name in names)
    session.choose(replace(choice, forbidden=forbidden, view=view))


#: Extreme rows, columns of the card, and those that can be forbidden there.
_NEAREST, _COLUMNS, _OFFERED = 5, 6, 50


def single(context: ModelContext) -> None:
    """The card of one prototype."""
    model, j = context.model, _picked(context)
    shown, signed = context.portraits, context.portraits.signed
    _notes(context, j)
    won = np.array([], dtype=np.int64)
    if model.classes is not None:
        won = _won(context, j)
    _oddities(context, j)
    if signed and not shown.values[j].any():
        words = (
            f"All its weights are 0: its activation is {plain_number(model.bias[j])} "
        )
        words += "for every input"
        if model.classes is not None:
            words += ", and it wins where no other prototype has a higher one"
        st.info(f"{words}.")
    else:
        names, classes = [context.name(j)], _classes(context, [j])
        style = signed, classes, context.is_idle[[j]]
        draw(context, shown.values[[j]], names, "portrait", *style)
        if context.texts:
            message(st.markdown, f"Text: **{context.texts[j]}**")
        elif len(context.shape) == 1:
            _effects(context, j)
    if model.classes is not None and not only_compared(context.data.dataset):
        _columns(context, j, won)
    if len(won):
        _typical(context, j, won)
    if shown.values[j].any():
        _nearest(context, j)


def _picked(context: ModelContext) -> int:
    """The prototype that is chosen.

    A control whose options change as names are typed would lose its place: with other
    names it is another one, which begins where the last one stood.
    """
    numbers = np.argsort(context.is_idle, kind="stable").tolist()
    key = f"one_prototype_{context.choice.method}_{context.data.dataset.digest}"
    shown_last = _SHOWN_LAST.get_or_make(None, dict)
    start = shown_last.get(key, numbers[0])
    start = numbers.index(min(start, len(numbers) - 1))
    widget = f"{key}_{hash(tuple(map(context.title, numbers)))}"
    j = st.selectbox("Prototype", numbers, start, context.title, key=widget)
    shown_last[key] = j
    return j


def _notes(context: ModelContext, j: int) -> None:
    """Name and note of a prototype, kept for this model while the visit lasts."""
    written = context.notes.get(j, model_context.EMPTY)
    left, right = st.columns([1, 3])
    about = hash((context.notes_key, context.choice.forbidden))
    key = f"{about}_{j}_{session.get().editions['controls']}"
    for place, what, longest in ((left, "name", NAME), (right, "note", NOTE)):
        widget = f"{what}_{key}"
        options = {"on_change": _write, "args": (context, j, what, widget)}
        title = what.capitalize()
        place.text_input(title, written[what], longest, key=widget, **options)
    model_context.note_of_another_fit(context, j)


def _write(context: ModelContext, j: int, what: str, widget: str) -> None:
    model_context.write(context, j, what, st.session_state[widget])


def _oddities(context: ModelContext, j: int) -> None:
    fact = context.facts[j]
    if context.merged_from[j]:
        st.write(
            f"Merged from {context.model.counts[j]} equal prototypes of the fit, with "
            f"the training rows tied to each: {context.merged_from[j]}."
        )
    if np.isfinite(fact.distance):
        st.write(
            "Distance to the nearest training row: "
            f"{plain_number(fact.distance, 3)} standard deviations (median between "
            "training rows and their nearest neighbours: "
            f"{plain_number(fact.median_distance, 3)})."
        )
    for warning in oddities(context, j):
        message(st.warning, warning)


def oddities(context: ModelContext, j: int) -> list[str]:
    """What to read with care about a prototype, a sentence or two each; not escaped."""
    fact, names, warnings = context.facts[j], context.model.feature_names, []
    if fact.outside:
        outside = list_names([names[f] for f in fact.outside], 8)
        are = "is" if len(fact.outside) == 1 else "are"
        warnings.append(
            f"{plural(len(fact.outside), 'feature')} {are} outside the training range: "
            f"{outside}."
        )
    if fact.opposing:
        opposing = list_names([names[f] for f in fact.opposing], 8)
        have = "has" if len(fact.opposing) == 1 else "have"
        warnings.append(
            f"{plural(len(fact.opposing), 'weight')} {have} the opposite sign of the "
            f"difference between class means: {opposing}. Correlated features can "
            "cause this; interpret such weights with care."
        )
    return warnings


def _effects(context: ModelContext, j: int) -> None:
    """What its columns add to its score, or its values, the largest first."""
    model, (values, names, title, marked) = context.model, _bars_of(context, j)
    if context.portraits.signed and not context.data.dataset.matrices:
        side = ""
        if model.classes is not None:
            label = short_label(context.outputs[model.prototype_labels[j]])
            side = f" for {escape_markdown(label)}"
        st.markdown(f"**What it adds to a score**: {title}{side}, {_BY_STEPS}")
    alt = f"Prototype {j + 1}: {title}, sorted"
    signed_bars(values, names, title, "column", key="weights", alt=alt, marked=marked)
    if np.count_nonzero(values) > 25:
        st.caption("The 25 largest; the table has all.")


def _nearest(context: ModelContext, j: int) -> None:
    """The training rows with its highest activations."""
    X = context.rows[0]
    places = explain.nearest_examples(context.model, X, _NEAREST)[j]
    title, what = "**Most similar training rows**", "similarity"
    if context.portraits.signed:
        title = "**Most extreme training rows**, of the highest activations"
        what = "activation"
    about = {what: explain.likeness(context.model, X[places])[:, j]}
    _rows(context, title, places, about, "nearest")
    if context.channels and explain.aligns_series(context.model):
        _aligned(context, j, places)


@slots.interactive_slot()
def _aligned(context: ModelContext, j: int, places: np.ndarray) -> None:
    """Which steps of a near row the alignment kernel pairs with those of its case."""
    model, X = context.model, context.rows[0]
    gone = np.isnan(context.in_place(X[:1]).reshape(context.shape)).all(axis=1)
    names = [n for n, out in zip(context.channels, gone, strict=True) if not out]
    cases, shares = explain.heaviest_cases(model, 1)
    case = model.anchors[cases[j, 0]] * model.scale + model.center
    places = places[~np.isclose(X[places], case).all(axis=1)]
    if not len(places):
        return
    numbers = context.data.dataset.row_numbers(context.data.split.train[places])
    left, right = st.columns(2)
    row = left.selectbox(
        "Row", range(len(places)), 0, lambda i: f"row {numbers[i]}", key="aligned_row"
    )
    heaviest = int(np.argmax(model.similarity.weights))
    channel = right.selectbox(
        "Channel",
        range(len(names)),
        heaviest,
        lambda c: short_label(names[c]),
        key="aligned_channel",
    )
    both, axis = (case, X[places[row]]), figures.time_axis(context.data.dataset)
    path = explain.warping_path(model, *both, channel)
    series = tuple(one.reshape(len(names), -1)[channel] for one in both)
    shown = [f"heaviest case of prototype {j + 1}", f"row {numbers[row]}, drawn lower"]
    figure = figures.aligned(series, path, shown, axis, names[channel])
    words = "Alignment: which step of the row goes with which of the prototype"
    st.markdown(f"**{words}**")
    st.plotly_chart(figure, key="aligned", alt=words)
    most = plain_number(np.abs(np.subtract(*path.T)).max() * abs(axis.step), 3)
    unit = f" {axis.unit}" if axis.unit else " steps"
    st.caption(
        "Of all alignments that the kernel sums, the one that adds most. Paired values "
        f"are up to {most}{escape_markdown(unit)} apart. The case has "
        f"{plain_number(100 * abs(shares[j, 0]), 3)} % of the prototype's weight."
    )


def _rows(
    context: ModelContext, title: str, places: np.ndarray, about: dict, key: str
) -> None:
    """Some training rows, as pictures and as a table."""
    dataset = context.data.dataset
    rows = context.data.split.train[places]
    st.markdown(title)
    numbers = dataset.row_numbers(rows)
    pairs = zip(numbers, dataset.y[rows], strict=True)
    titles = [f"row {n}: {short_label(y)}" for n, y in pairs]
    draw(context, context.rows[0][places], titles, key)
    with (
        st.container()
        if len(context.shape) == 1
        else st.popover("Show as a table", key=f"{key}_table")
    ):
        show_table(context.table_of(rows, about), hide_index=False)


def _won(context: ModelContext, j: int) -> np.ndarray:
    """Places of the training rows that it wins; how many, and of which classes."""
    X, codes = context.rows
    winners = explain.deciding_prototypes(context.model, context.model.activations(X))
    won = np.flatnonzero(winners == j)
    counts = np.bincount(codes[won], minlength=len(context.outputs))
    pairs = zip(context.outputs, counts, strict=True)
    parts = [f"{n:,} of {short_label(output)}" for output, n in pairs if n]
    words = f"Wins **{len(won):,}** of {len(X):,} training rows"
    words += f": {escape_markdown(list_names(parts, 8, 99))}"
    if not len(won):
        words = "Wins no training row: another prototype always has a higher score"
    side = escape_markdown(short_label(context.side(j)))
    st.markdown(f"For class **{side}**. {words}.")
    return won


def _columns(context: ModelContext, j: int, won: np.ndarray) -> None:
    """How the rows won are spread in each column that it uses, beside all rows."""
    preparation, X = context.data.preparation, context.rows[0]
    sizes = preparation.sum_by_column(_importance(context, j) ** 2)
    order = np.argsort(-sizes, kind="stable")[:_OFFERED]
    inputs = [preparation.inputs[i] for i in order if sizes[i]]
    if not inputs:
        return
    if len(won) and len(context.shape) == 1:
        st.markdown("**Rows that it wins**, beside all training rows")
        parts = {"rows won": X[won], "all training rows": X}
        figure = figures.columns_beside(inputs[:_COLUMNS], parts)
        alt = "Spread of each used column among the rows won and all training rows"
        st.plotly_chart(figure, key="beside", alt=alt)
        st.caption("Numbers: 5 to 95 %, middle half, median. Levels: shares of rows.")
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    names = {one.first: short_label(one.name) for one in inputs}
    feature = left.selectbox("Column", names, format_func=names.get, key=f"column_{j}")
    with right:
        forbid_button(context, feature)


def _typical(context: ModelContext, j: int, won: np.ndarray) -> None:
    """Medoids of the rows that it wins, and what would make them another's."""
    X, key = context.rows[0], (context.key, context.operating, j)
    typical = partial(explain.typical_rows, context.model, X[won])
    places, shares = _TYPICAL.get_or_make(key, typical)
    about = {"stands for % of the rows won": 100 * shares}
    title = "**Typical rows that it wins**: the others lie near one of these"
    _rows(context, title, won[places], about, "typical")
    if len(context.shape) > 1 or context.texts or only_compared(context.data.dataset):
        return
    x, preparation = X[won[places[0]]], context.data.preparation
    winners = partial(explain.other_winners, context.model, preparation, x, X)
    changes = _WINNERS.get_or_make(key, winners)[:_COLUMNS]
    lines = [
        {
            "column": preparation.inputs[place].name,
            "from": preparation.inputs[place].text(x),
            "to": preparation.inputs[place].text(row),
            "then won by": context.name(winner),
        }
        for place, row, winner in changes
    ]
    st.markdown("**What would make the first of them another prototype's?**")
    if lines:
        show_table(lines)
        st.caption("One column at a time, to the nearest value in the training rows.")
    else:
        st.caption("No value in the training rows, of one column alone.")


def _importance(context: ModelContext, j: int) -> np.ndarray:
    model = context.model
    if context.texts:
        return np.zeros(model.n_features)
    if context.portraits.signed:
        return model.weights[j]
    if len(model.similarity.weights) == model.n_features:
        return np.array(model.similarity.weights)
    return (context.portraits.values[j] - model.center) / model.scale
