"""Forest plots: a value with its interval for each line, and what it is compared to."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from smpcore.colors import GREY, NEGATIVE, OKABE_ITO, POSITIVE
from smpcore.figures.charts import error_bars, layout, marks, words

#: Of kinds that have no style of their own: the first, and another one.
_OTHERS = (OKABE_ITO[0], "circle"), (OKABE_ITO[0], "circle-open")
#: Kind of a line -> its colour and symbol.
_STYLES = {
    "no clear difference": (GREY, "circle"),
    "undecided": (GREY, "circle-open"),
    "few rows": (GREY, "circle-open"),
    "better": (POSITIVE, "square"),
    "reproduced": (POSITIVE, "square"),
    "worse": (NEGATIVE, "diamond"),
    "differs": (NEGATIVE, "diamond"),
    "differs from the rest": (NEGATIVE, "diamond"),
    "on other data": (OKABE_ITO[0], "circle"),
    "holds": (POSITIVE, "square"),
    "depends on the reading": (GREY, "circle-open"),
    "holds in part": (GREY, "circle"),
    "does not hold": (NEGATIVE, "diamond"),
}
#: Pixels of a line, of one among more than so many, and around all of them.
_LINE, _NARROW, _MANY, _AROUND = 34, 22, 12, 120


def forest(
    table: pd.DataFrame, title: str, line: float, line_name: str = ""
) -> go.Figure:
    """A dot with its interval for each row of a table, and an upright line.

    The table has the columns group, value, low, high and kind, and maybe rows, whose
    number stands beside the group. A limit that is not finite is not drawn.
    """
    figure, n = go.Figure(), len(table)
    places, labels = np.arange(n), [words(group, 30) for group in table["group"]]
    for number, kind in enumerate(table["kind"].unique()):
        shown = (table["kind"] == kind).to_numpy()
        part = table[shown]
        color, symbol = _STYLES.get(kind, _OTHERS[number % 2])
        interval = part[["value", "low", "high"]].replace([-np.inf, np.inf], np.nan)
        marks(
            figure,
            np.column_stack([part["value"], places[shown]]),
            kind,
            {"color": color, "symbol": symbol, "size": 11},
            error_x=error_bars(*interval.to_numpy().T),
            error_x_thickness=1.5,
            text=part["group"].map(words),
            hovertemplate="%{text}: %{x:.3~r}",
        )
    dotted = {"color": GREY, "dash": "dot", "width": 1.5}
    note = {"text": words(line_name), "yanchor": "bottom"} if line_name else None
    figure.add_vline(x=line, line=dotted, annotation=note)
    if "rows" in table:
        counts = table["rows"]
        labels = [f"{label} ({n:,})" for label, n in zip(labels, counts, strict=True)]
    layout(figure, _AROUND + (_LINE if n <= _MANY else _NARROW) * n, title, "group")
    figure.update_yaxes(tickvals=places, ticktext=labels, range=(n - 0.5, -0.5))
    return figure.update_layout(dragmode=False)


def verdict_strip(lines: pd.DataFrame, kinds: Sequence[str]) -> go.Figure:
    """A mark for each conclusion of each paper, sorted by its verdict.

    The table has the columns paper, kind and claim.
    """
    papers = [*lines["paper"].unique()]
    order = lines["kind"].map(list(kinds).index).sort_values(kind="stable").index
    lines = lines.loc[order]
    place = lines.groupby("paper").cumcount() + 1
    figure = go.Figure()
    for kind in kinds:
        part = lines[lines["kind"] == kind]
        color, symbol = _STYLES[kind]
        marks(
            figure,
            np.column_stack([place[part.index], part["paper"].map(papers.index)]),
            kind,
            {"color": color, "symbol": symbol, "size": 14},
            text=[
                "<br>".join(wrap(words(claim, 500), 60, break_on_hyphens=False))
                for claim in part["claim"]
            ],
            hovertemplate="%{text}",
        )
    layout(figure, _AROUND + _LINE * len(papers), "conclusions", "paper")
    ticks = {"tickvals": np.arange(len(papers)), "ticktext": [*map(words, papers)]}
    figure.update_yaxes(range=(len(papers) - 0.5, -0.5), **ticks)
    return figure.update_layout(dragmode=False)


def group_values(
    table: pd.DataFrame, title: str, overall: float, percent: bool = False
) -> go.Figure:
    """A dot with its interval for each group of rows, and a line at all rows' value.

    The table has the lines of one measure, from `subgroups`.
    """
    kinds = np.where(
        table["p_value"] < 0.05, "differs from the rest", "no clear difference"
    )
    kinds = np.where(table["few"], "few rows", kinds)
    figure = forest(table.assign(kind=kinds), title, overall, "all rows")
    return figure.update_xaxes(tickformat=".0%" if percent else None)


def mean_differences(rows: pd.DataFrame) -> go.Figure:
    """Measured minus printed means with their intervals, in margins.

    The rows are those of `smpcore.papers.verdicts`.
    """
    names = rows["model"]
    if names.duplicated().any():
        names = names + ", " + rows["measure"]
    scaled = rows[["difference", "low", "high"]].div(rows["margin"], axis=0)
    scaled = scaled.rename(columns={"difference": "value"})
    lines = scaled.assign(group=names, kind=rows["verdict"])
    figure = forest(lines, "measured − printed, in margins", 0.0, "as printed")
    for edge in (-1, 1):
        figure.add_vline(edge, line={"color": GREY, "dash": "dot"})
    return figure.update_yaxes(title="model")
