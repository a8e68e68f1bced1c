"""Charts of a class's votes, for its teacher and for the wall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from pages.state.host import resolve
from pages.state.lesson_files import Question
from pages.state.lesson_run import Run
from pages.ui.elements import table_popover
from pages.work.classes import Counts
from smpcore import figures
from smpcore.datasets import plain_number

#: Pixels of letters in charts on a wall, and of a chart at most: question, votes and
#: answer are seen at a time on 1280 x 720.
WALL_LETTERS, WALL_HEIGHT = 22, 240


def by_name(counts: Counts, step: int) -> dict[str, list[Any]]:
    """The answers to a step's question by the name of their vote."""
    return {
        f"Vote {i}" if counts.second.get(step) else "Answers": sent[step]
        for i, sent in enumerate((counts.answers, counts.second), 1)
        if sent.get(step)
    }


def rows_in_figure(run: Run) -> Any:
    """Places of the training rows, if the question asks for a place among them."""
    if not run.asks_place:
        return None
    return resolve(run.choice_of("before")).data.of("train")[0]


def drawn(
    question: Question,
    votes: Mapping[str, list[Any]],
    right: Any,
    rows: Any,
    is_wall: bool = False,
) -> None:
    """A chart of each vote: choices as bars, places as heat, numbers on a line.

    A wall is read from afar, and nothing can be pressed there.
    """
    config = {"staticPlot": is_wall}

    def sized(figure: Any) -> Any:
        if is_wall:
            figure.update_annotations(font_size=WALL_LETTERS)
            height = min(1.2 * figure.layout.height, WALL_HEIGHT)
            figure.update_layout(font_size=WALL_LETTERS, height=height)
            for axes in figure.update_xaxes, figure.update_yaxes:
                axes(tickfont_size=WALL_LETTERS, title_font_size=WALL_LETTERS)
        return figure

    if question.number:
        sent = (
            f"{name}: {', '.join(map(plain_number, vote))}"
            for name, vote in votes.items()
        )
        figure = sized(figures.answer_numbers(votes, right))
        st.plotly_chart(figure, key="class_answers", alt="; ".join(sent), config=config)
        return
    for part, (name, vote) in zip(st.columns(2), votes.items(), strict=False):
        part.caption(name)
        if question.point:
            figure = figures.answer_places(vote, right or [], rows)
            words = "Places, table below"
        else:
            texts = [choice.text for choice in question.choices]
            sizes = [vote.count(i) for i in range(len(texts))]
            figure = figures.answer_counts(texts, sizes, right or [])
            words = f"{name}: " + "; ".join(map("{}: {}".format, texts, sizes))
        part.plotly_chart(sized(figure), key=f"class_{name}", alt=words, config=config)
    if question.point and not is_wall:
        sent = [(name, *place) for name, vote in votes.items() for place in vote]
        table_popover(
            pd.DataFrame(sent, columns=["vote", "x", "y"]), key="class_places"
        )
