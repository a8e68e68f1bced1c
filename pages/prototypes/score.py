"""A score that is added by hand: chosen with its points, or the card of a model."""

from __future__ import annotations

from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
import streamlit as st

from pages.prototypes.model_context import ModelContext
from pages.state import widget_state
from pages.state.session import Slot
from pages.ui import elements, explanation_sheet
from pages.ui.elements import download, study, table
from pages.ui.explanation_sheet import SCORE, rows_of_parts, score_key
from pages.ui.text import escape_markdown, message
from pages.work.tasks import Task
from smpcore import SmpcoreError
from smpcore.datasets import list_names, only_compared
from smpcore.evaluation import folds
from smpcore.explain import (
    MAX_LINES,
    MAX_POINTS,
    RiskScore,
    risk_score,
    score_code,
    score_files,
    score_section,
    search_words,
)
from smpcore.readouts import Section
from smpcore.report import printed

_TASK, _CARD = Slot[Task]("risk_score"), Slot[Section]("score_card")
#: Parts of branch and bound; scores in the table; columns that can be switched off.
_PARTS, _LISTED, _SWITCHES = 100, 50, 40


def section(context: ModelContext) -> None:
    """The risk score of two classes; of more the card of the model."""
    classes = context.model.classes
    if classes is None:
        st.caption("A score gives the risk of an outcome; a number has its prediction.")
        return
    if only_compared(context.data.dataset):
        st.caption("A score needs columns of numbers or categories.")
        return
    if len(classes) > 2:
        _card(context)
        return
    label = classes[context.outcome]
    message(
        st.caption,
        f"A score for {label} is chosen from the training rows, not from the model: "
        "a few statements about columns, each with whole points, and the risk that "
        "follows from their sum.",
    )
    options = _options(context)
    key = score_key(context), tuple(sorted(options.items()))
    study(
        _TASK,
        key,
        partial(_job, context, options),
        partial(_show, context),
        words="Searching for the score",
        label="Find the score",
        key="find_score",
        icon=":material/search:",
    )


def _card(context: ModelContext) -> None:
    """The card of a linear model of more than two classes."""
    seen = tuple(context.names), tuple(context.open_parts), context.outcome
    key = context.key, context.operating, seen
    make = partial(explanation_sheet.card, context, context.model)
    try:
        elements.show_section(_CARD.get_or_make(key, make))
    except SmpcoreError as problem:
        message(st.caption, str(problem))


def _options(context: ModelContext) -> dict[str, Any]:
    """What the visitor asks of the score."""
    digest, columns = context.data.dataset.digest, context.data.preparation.inputs
    names = [one.name for one in columns]
    numbers = [one.name for one in columns if one.kind == "number"]
    left, right = st.columns(2)
    n_lines = left.number_input(
        "Lines at most",
        *(1, MAX_LINES),
        **widget_state.for_value("score_lines", range(1, MAX_LINES + 1), 5),
    )
    most_points = right.number_input(
        "Points of a line at most",
        *(1, MAX_POINTS),
        **widget_state.for_value("score_points", range(1, MAX_POINTS + 1), 5),
    )

    def chosen(place: Any, label: str, name: str, options: list[str]) -> tuple:
        control = widget_state.for_multiselect(f"{name}_{digest}", options, [])
        return tuple(place.multiselect(label, options, **control))

    left, right = st.columns(2)
    required = chosen(left, "Columns with points", "score_in", names)
    excluded = chosen(right, "Columns left out", "score_out", names)
    left, right = st.columns(2)
    higher = chosen(left, "More never lowers the risk", "score_up", numbers)
    lower = chosen(right, "More never raises the risk", "score_down", numbers)
    return {
        "n_lines": n_lines,
        "most_points": most_points,
        "required": required,
        "excluded": excluded,
        "signs": tuple((name, 1) for name in higher)
        + tuple((name, -1) for name in lower),
    }


def _job(context: ModelContext, options: dict[str, Any]) -> Task:
    """Search in a thread: all it needs is looked up now."""
    data, rows = context.data, context.data.split.train
    outcome, weights = context.model.classes[context.outcome], data.weights("train")
    signs = dict(options["signs"])

    def work(stop: np.ndarray, progress: np.ndarray) -> RiskScore:
        if len(signs) < len(options["signs"]):
            raise SmpcoreError(
                "A column that never lowers and never raises the risk has no points: "
                "choose one of the two, or leave it out."
            )

        def report(share: float) -> None:
            progress[0] = share

        drawn = [
            (np.searchsorted(rows, one.train), np.searchsorted(rows, one.held_out))
            for one in folds(data.dataset, rows)
        ]
        return risk_score(
            *data.of("train"),
            data.preparation,
            **options | {"signs": signs},
            outcome=outcome,
            sample_weight=weights,
            folds=drawn,
            n_parts=_PARTS,
            stopped=lambda: bool(stop[0]),
            progress=report,
        )

    return Task(work, study=data.dataset)


def _show(context: ModelContext, best: RiskScore) -> None:
    """The pool with its columns as switches, and one score of it as a sheet."""
    pool = _switched(best)
    if not pool:
        st.info("Every score of the pool has a column that is switched off.")
        return
    place = 0
    if len(pool) > 1:
        with st.expander(f"{len(pool)} scores close to the best", key="score_pool"):
            st.caption(
                f"With at most as many lines and a loss within {100 * best.within:g} % "
                "of the best on the training rows, the best of each set of columns, in "
                "the order of this loss."
            )
            table([_row(one, best, i) for i, one in enumerate(pool[:_LISTED])])
        numbers = range(min(len(pool), _LISTED))
        name = "score_of_pool"
        place = st.selectbox(
            "Score", numbers, format_func=lambda i: f"{i + 1}", key=name
        )
    score, dataset = pool[place], context.data.dataset
    parts = rows_of_parts(context, context.open_parts)
    label = score.classes[score.outcome]
    sheet = score_section(score, f"Risk of {label}: {dataset.name}", parts)
    SCORE.put(score_key(context), (score, sheet))
    elements.show_section(sheet)
    st.caption(search_words(score, best.complete))
    _files(score, sheet)


def _switched(best: RiskScore) -> list[RiskScore]:
    """Scores of the pool without the columns that are switched off."""
    names = list(dict.fromkeys(name for one in best.pool for name in one.columns))
    names = names[:_SWITCHES]
    if len(best.pool) < 2:
        return list(best.pool)
    used = st.pills(
        "Columns of the scores; switch off what should not be asked",
        names,
        selection_mode="multi",
        default=names,
        format_func=escape_markdown,
        key=f"score_columns_{crc32(repr(names).encode())}",
    )
    off = set(names) - set(used)
    return [one for one in best.pool if not off & set(one.columns)]


def _row(score: RiskScore, best: RiskScore, place: int) -> dict[str, Any]:
    above = score.loss / best.loss - 1.0 if best.loss else 0.0
    return {
        "score": place + 1,
        "loss above the best, %": 100 * above,
        "lines": len(score.points),
        "columns": list_names(list(score.columns), 10),
    }


def _files(score: RiskScore, sheet: Section) -> None:
    """The sheet to print, and the score as code."""
    places = st.columns(len(score_files()) + 1)
    with places[0]:
        make = partial(printed, sheet)
        download("Print", make, "score.html", key="score_print")
    for place, (language, ending) in zip(
        places[1:], score_files().items(), strict=True
    ):
        with place:
            make = partial(score_code, score, language)
            download(language, make, f"score.{ending}", key=f"score_{ending}")
