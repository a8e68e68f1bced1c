"""Everybody against one model on the same rows: a picture, and its tables."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from pages.compare.candidates import Scored, overview
from pages.ui import workspace
from pages.ui.elements import expander, table
from pages.ui.text import message
from pages.work import studies
from smpcore import figures
from smpcore.datasets import list_names, plain_number, plural
from smpcore.evaluation import LEVEL, simultaneous_differences
from smpcore.live import Context, Parts, define

#: A bar of seven buttons over each picture would be fifty stops for the keyboard.
BARE = {"displayModeBar": False}


def section(a: Scored | None, scored: list[Scored], context: Context) -> None:
    """All against A in a picture, what that shows in a line, and the tables, folded."""
    data, part, lines = context.data, context.data.scored_part, pd.DataFrame()
    if a is not None and len(scored) > 1:
        is_chosen = a.entry == workspace.pinned_entry(context)
        name = "the model on the screen" if is_chosen else a.entry.title
        lines = against(a, scored, data)
        message(st.markdown, in_words(lines, data, name))
        alt = f"Differences to {name} with intervals; the table has the same numbers"
        st.plotly_chart(
            forest(lines, data, name), key="differences", alt=alt, config=BARE
        )
        rows = f"{plural(len(a.loss), f'{part} row')}{data.weight_note}"
        message(
            st.caption,
            f"Intervals hold together: 95 % (Holm), on the same {rows}.",
            help=define("Simultaneous interval"),
        )
    with expander("Show as tables", "compared", "table"):
        table(overview(scored, data, part))
        if len(lines):
            words = studies.about_differences(len(a.loss), part, data.dataset)
            st.caption(words)
            if data.weight_summary:
                message(st.caption, f"Rows are {data.weight_summary}.")
            table(in_a_table(lines, data))


def against(to: Scored, scored: list[Scored], data: Parts) -> pd.DataFrame:
    """Each other model's paired difference to one on the same rows, the best first.

    Of classifiers in percentage points, and in rows on which it is right more often.
    """
    part = data.scored_part
    rivals = [one for one in scored if one.entry != to.entry]
    tests = simultaneous_differences(
        [one.loss for one in rivals], to.loss, data.clusters(part), data.weights(part)
    )
    unit = 1 if data.dataset.task == "regression" else 100
    lines = []
    for one, test in zip(rivals, tests, strict=True):
        kind = "better" if test.mean > 0 else "worse"
        lines.append(
            {
                "group": one.title(data),
                "value": unit * test.mean,
                "low": unit * test.low,
                "high": unit * test.high,
                "p_value": test.p_value,
                "test": test.test,
                "kind": kind if test.p_value < LEVEL else "no clear difference",
                "n_rows": round(float((to.loss - one.loss).sum())),
            }
        )
    return pd.DataFrame(lines).sort_values("value", ascending=False, kind="stable")


def forest(lines: pd.DataFrame, data: Parts, name: str) -> Any:
    """A picture of differences to a model of this name, which is the upright line."""
    title = "difference of accuracy (points; right: better)"
    if data.dataset.task == "regression":
        title = f"mean absolute error saved{data.unit_of_score('mae')}"
    return figures.forest(lines, title, 0.0, name).update_yaxes(title="model")


def in_words(lines: pd.DataFrame, data: Parts, name: str) -> str:
    """What the picture shows: how much the best differs, and who else clearly does."""
    is_best = lines["value"] == lines["value"].max()
    best, rest = lines[is_best], lines[~is_best]
    first, is_one = best.iloc[0], len(best) == 1
    verb = "is" if is_one else "are"
    counted = (
        data.dataset.task != "regression" and data.weights(data.scored_part) is None
    )
    n_rows = abs(int(first["n_rows"]))
    if first["value"] == 0:
        words = f"as good as {name}"
    elif counted:
        more = "more" if first["value"] > 0 else "fewer"
        words = f"right on {plural(n_rows, 'row')} {more} than {name}"
    else:
        amount = _signed(abs(first["value"]), data).removeprefix("+")
        words = f"{'better' if first['value'] > 0 else 'worse'} than {name} by {amount}"
    includes = first["low"] <= 0 <= first["high"]
    interval = "the interval" if is_one else "the intervals"
    interval += " include" if includes else " exclude"
    sentences = [f"{list_names([*best['group']], 3, 40)} {verb} {words}; {interval}"]
    sentences[0] += "s 0." if is_one else " 0."
    for kind in ("better", "worse"):
        if others := [*rest["group"][rest["kind"] == kind]]:
            sentences.append(f"Clearly {kind}: {list_names(others, 3, 40)}.")
    return " ".join(sentences)


def in_a_table(lines: pd.DataFrame, data: Parts) -> pd.DataFrame:
    """The numbers of the picture as texts."""
    texts = []
    for line in lines.itertuples():
        mean, *limits = (_signed(v, data) for v in (line.value, line.low, line.high))
        p_value = f"{line.p_value:.4f}" if line.p_value >= 1e-4 else "< 0.0001"
        texts.append(
            {
                "model": line.group,
                "difference": mean,
                "simultaneous 95 % interval (Holm)": " to ".join(limits),
                "p (Holm)": p_value,
                "test": line.test,
                "result": line.kind,
            }
        )
    return pd.DataFrame(texts)


def _signed(value: float, data: Parts) -> str:
    """A difference of scores: of numbers in their unit, else in percentage points."""
    if data.dataset.task == "regression":
        text = plain_number(value, 4, ",") + data.target_unit
        return f"+{text}" if value > 0 else text
    return f"{value:+.1f} points"
