"""The model among measured ones of other libraries, on a data set that was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from pages.ui.elements import expander, table_popover
from pages.ui.exports import Export
from pages.ui.text import escape_markdown
from smpcore import figures
from smpcore.chips import (
    CHIPS,
    ChipCosts,
    measured_names,
    measured_peers,
    points_of,
)
from smpcore.evaluation import STUDENT, ComparedFormat
from smpcore.live import TITLES
from smpcore.readouts import Estimate, Shown, number_text


def section(
    made: Export, form: ComparedFormat, chip: str, both: ChipCosts | None
) -> None:
    """Show how other libraries' models compare, where they were measured."""
    if made.compiled.is_regression:
        return
    with expander("Compared with other libraries", "peers", "compare"):
        entry = measured_peers(made.data.dataset.digest)
        if entry is None:
            st.caption(
                "Models of other libraries were measured on "
                f"{', '.join(map(escape_markdown, measured_names()))}; not on this "
                "table."
            )
        elif chip not in entry["chips"]:
            st.caption(
                "Models of other libraries were measured on this table for "
                f"{', '.join(entry['chips'])}: choose it under *Costs on*."
            )
        else:
            _pictures(entry, made, form, chip, both)


def _pictures(
    entry: dict[str, Any],
    made: Export,
    form: ComparedFormat,
    chip: str,
    both: ChipCosts | None,
) -> None:
    points = pd.DataFrame(points_of(entry["chips"][chip]))
    part, counted = made.data.scored_part, CHIPS[chip].counted
    scores, name = form.parts[part].scores, f"your model, {form.name}"
    yours = {"model": name, "accuracy": number_text(scores.accuracy)}
    costs = {"flash": "flash, bytes", "cycles": f"{counted} per prediction"}
    for place, (cost, title) in zip(st.columns(2), costs.items(), strict=True):
        mark, yours[title] = None, "no estimate"
        if both is not None:
            taken = both.alone.flash if cost == "flash" else both.alone.count
            mark = figures.MarkedModel(name, taken, scores.estimate)
            yours[title] = f"{taken:,}"
        titles = f"{title}, {chip}", "accuracy"
        alt = (
            f"Accuracy against {title} of {len(points)} measured models"
            f"{' and yours' if mark else ''}; the table below has the same numbers"
        )
        figure = figures.chip_peers(points, cost, titles, mark)
        place.plotly_chart(figure, key=f"peers_{cost}", alt=alt)
    st.caption(_words(chip, part, both), help=_measured(entry, points))
    if both is not None:
        st.markdown(better(points, scores.accuracy, both.alone.flash))
    lines = [_line(point, costs) for point in points.to_dict("records")]
    table_popover([yours, *lines], key="peers_chart")


def better(points: pd.DataFrame, accuracy: float, flash: int) -> str:
    """Models of others that are more accurate than a model and no larger; Markdown."""
    rivals = points[
        (points.group != "ours")
        & (points.accuracy > accuracy)
        & (points.flash_most <= flash)
    ]
    if rivals.empty:
        return "No model of others is more accurate than yours in as little flash."
    best = rivals.sort_values("accuracy", ascending=False).itertuples()
    names = (
        f"{escape_markdown(one.model)} ({number_text(one.accuracy)}, "
        f"{one.flash_most:,.0f} B)"
        for one in best
    )
    return f"**More accurate than yours in no more flash:** {', '.join(names)}."


def _words(chip: str, part: str, both: ChipCosts | None) -> str:
    """What the marks are, and what of it can be compared."""
    yours = "Your model has no cost estimate and is not drawn. "
    if both is not None:
        yours = (
            f"Star: your model, its accuracy on the {TITLES[part].lower()} rows (bar: "
            f"95 % interval), its costs {both.alone.origin}. "
        )
    return escape_markdown(
        f"{yours}Others: measured on a simulated {chip}, on other rows than yours: a "
        "difference within the bars says nothing."
    )


def _measured(entry: dict[str, Any], points: pd.DataFrame) -> str:
    """With what the others were measured."""
    versions = ", ".join(f"{name} {v}" for name, v in entry["versions"].items())
    return escape_markdown(
        f"Others: measured on {entry['date']} ({versions}); mean accuracy of "
        f"{entry['test']:,} test rows over {points.splits.max()} splits with "
        f"{entry['training']:,} training rows each (bar: 95 % interval of the mean), "
        "settings chosen by cross-validation. Costs are of the prediction alone, "
        "without scaling or conversion of inputs."
    )


def _line(point: dict[str, Any], costs: Mapping[str, str]) -> dict[str, str]:
    estimate = Estimate(point["accuracy"], point["low"], point["high"], STUDENT)
    shown = Shown("accuracy", estimate)
    line = {"model": point["model"], "accuracy": f"{shown.text} ({shown.interval})"}
    for cost, title in costs.items():
        least, most = point[f"{cost}_least"], point[f"{cost}_most"]
        fits = "does not fit"
        line[title] = f"{least:,.0f} to {most:,.0f}" if most == most else fits
    if point["ours"] is not None:
        line["ours in no more flash"] = "none is as small"
    if point["ours"]:
        mean, half = point["ours"]
        verdict = "level"
        if abs(mean) > half:
            verdict = "ours is better" if mean > 0 else "ours is worse"
        line["ours in no more flash"] = f"{mean:+.1f} ± {half:.1f} points: {verdict}"
    return line
