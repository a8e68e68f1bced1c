"""The model among measured ones of other libraries, on a data set that was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from pages.ui.elements import table_popover
from pages.ui.exports import Export
from pages.ui.readouts import TITLES, percent, scored_part
from pages.ui.text import escape_markdown
from smpcore import figures
from smpcore.chips import (
    ChipCosts,
    PredictionCost,
    measured_names,
    measured_peers,
    points_of,
)
from smpcore.evaluation import ComparedFormat

#: Cost -> title of its axis.
_AXES = {"flash": "flash, bytes", "cycles": "cycles per prediction"}


def section(made: Export, form: ComparedFormat, known: Mapping[str, ChipCosts]) -> None:
    """Show how other libraries' models compare, where they were measured."""
    if made.compiled.is_regression:
        return
    with st.expander("Compared with other libraries", icon=":material/compare:"):
        entry = measured_peers(made.data.dataset.digest)
        if entry is None:
            st.caption(
                "Models of other libraries were measured on "
                f"{', '.join(map(escape_markdown, measured_names()))}; not on this "
                "table."
            )
        else:
            _pictures(entry, made, form, known.get(entry["chip"]))


def _pictures(
    entry: dict[str, Any], made: Export, form: ComparedFormat, both: ChipCosts | None
) -> None:
    points, part = pd.DataFrame(points_of(entry)), scored_part(made.data)
    scores = form.parts[part].scores
    name = f"your model, {form.name}"
    for place, cost in zip(st.columns(2), _AXES, strict=True):
        own = None
        if both is not None:
            found = _taken(both.alone, cost), scores.accuracy, scores.interval
            own = figures.MarkedModel(name, *found)
        title = f"{_AXES[cost]}, {entry['chip']}"
        figure = figures.chip_peers(points, cost, (title, "accuracy"), own)
        alt = (
            f"Accuracy against {_AXES[cost]} of {len(points)} measured models"
            f"{' and yours' if own else ''}; the table below has the same numbers"
        )
        place.plotly_chart(figure, key=f"peers_{cost}", alt=alt)
    st.caption(_words(entry, part, both))
    own = _own_line(name, scores.accuracy, both)
    table_popover([own, *map(_line, points.to_dict("records"))])


def _taken(cost: PredictionCost, what: str) -> int:
    return cost.flash if what == "flash" else cost.count


def _words(entry: dict[str, Any], part: str, both: ChipCosts | None) -> str:
    """What the marks are, and what of it can be compared."""
    versions = ", ".join(f"{name} {v}" for name, v in entry["versions"].items())
    splits = max(model["splits"] for model in entry["entries"])
    own = "Your model has no cost estimate and is not drawn. "
    if both is not None:
        own = (
            f"Star: your model, its accuracy on the {TITLES[part].lower()} rows (bar: "
            f"95 % interval), its costs {both.alone.origin}. "
        )
    return escape_markdown(
        f"{own}Others: measured on {entry['date']} on a simulated {entry['chip']} "
        f"({versions}); mean accuracy of {entry['test']:,} test rows over {splits} "
        f"splits with {entry['training']:,} training rows each (bar: standard "
        "deviation), settings chosen by cross-validation. Costs are of the prediction "
        "alone, without scaling or conversion of inputs. Not the same rows as yours: a "
        "difference within the bars says nothing."
    )


def _own_line(name: str, accuracy: float, both: ChipCosts | None) -> dict[str, str]:
    line = {"model": name, "accuracy": percent(accuracy)}
    for cost in _AXES:
        line[cost] = "no estimate" if both is None else f"{_taken(both.alone, cost):,}"
    return line


def _line(point: dict[str, Any]) -> dict[str, str]:
    line = {
        "model": point["model"],
        "accuracy": f"{percent(point['accuracy'])} ± {100 * point['spread']:.1f}",
    }
    for cost in _AXES:
        least, most = point[f"{cost}_least"], point[f"{cost}_most"]
        line[cost] = f"{least:,.0f} to {most:,.0f}" if most == most else "does not fit"
    return line
