"""Portraits of prototypes: pictures, channels, weights, densities, embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from smpcore.colors import GREY, NEGATIVE, OKABE_ITO, POSITIVE, translucent
from smpcore.datasets import Input
from smpcore.figures import charts
from smpcore.model.portraits import as_image

#: Of signed weights: at zero the ground of the theme, whichever it is.
_SIGNED = [
    [0.0, NEGATIVE],
    [0.5, translucent(NEGATIVE, 0.0)],
    [0.5, translucent(POSITIVE, 0.0)],
    [1.0, POSITIVE],
]
_NODES = 160
#: Levels of a category that are drawn, at most.
_MOST_LEVELS = 6
#: Pixels further outside the range of the colours than this share of it are marked.
OUTSIDE = 0.1


def _mark_pixels(
    figure: go.Figure, image: np.ndarray, limits: tuple[float, float], width: int
) -> None:
    """Cross out what is not used; mark what is darker or brighter than the colours."""
    low, high = limits
    beyond = OUTSIDE * (high - low)
    size = max(3.0, 0.5 * width / max(image.shape))
    for where, symbol, color, text in (
        (np.isnan(image), "x-thin", GREY, "forbidden"),
        (image < low - beyond, "line-ew", NEGATIVE, f"below {low:.3g}"),
        (image > high + beyond, "cross-thin", POSITIVE, f"above {high:.3g}"),
    ):
        if not where.any():
            continue
        y, x = np.nonzero(where)
        line = {"width": 1 if symbol == "x-thin" else 2, "color": color}
        value = "" if symbol == "x-thin" else "%{customdata:.3~r}, "
        figure.add_scatter(
            x=x,
            y=y,
            customdata=image[where],
            mode="markers",
            marker={"symbol": symbol, "size": size, "line": line},
            hovertemplate=f"row %{{y}}, column %{{x}}: {value}{text}<extra></extra>",
            showlegend=False,
        )


def picture(
    row: np.ndarray,
    shape: tuple[int, ...],
    title: str,
    color_range: tuple[float, float],
    signed: bool,
    width: int,
) -> go.Figure:
    """One row as a small picture of its own, so that a page sets many as it has room.

    NaN is crossed out: that place of a sample is not used. The range of colours is the
    same for all pictures that stand together; pixels far below it are marked with a
    dash, far above with a plus. Signed are weights: teal for, crimson against.
    """
    image = as_image(row, shape)
    figure = go.Figure(
        go.Heatmap(
            z=image,
            zmin=color_range[0],
            zmax=color_range[1],
            colorscale=_SIGNED if signed else "Greys_r",
            showscale=False,
            hovertemplate="row %{y}, column %{x}: %{z:.3~r}<extra></extra>",
        )
    )
    _mark_pixels(figure, image, color_range, width)
    # Marks at the rim would widen the axes: the picture fills its place.
    h, w = image.shape
    usual = {"visible": False, "automargin": False, "constrain": "domain"}
    figure.update_xaxes(range=(-0.5, w - 0.5), **usual)
    figure.update_yaxes(range=(h - 0.5, -0.5), scaleanchor="x", **usual)  # square
    tall = width * min(3.0, image.shape[0] / image.shape[1])
    heading, top = charts.words(title), 24
    if 6.5 * len(heading) > width:  # about what it takes; the class gets its own line
        heading, top = heading.replace(" (", "<br>(", 1), 40
    return figure.update_layout(
        title={"text": heading, "font_size": 12, "pad_t": 5, "x": 0.5, "y": 1},
        title_xanchor="center",
        title_yanchor="top",
        width=width,
        height=max(60, round(tall) + top),
        margin={"l": 1, "r": 1, "t": top, "b": 0},
        dragmode=False,
    )


def signed_bars(
    values: np.ndarray,
    names: Sequence[str],
    x_title: str,
    marked: Sequence[int] = (),
    most: int = 25,
    y_title: str = "feature",
) -> go.Figure:
    """Numbers as lying bars, the largest on top; negative ones hatched, zeros left out.

    Names are in the order of the values; marked ones have a warning sign.
    """
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[values[order] != 0][:most]
    # A number in front keeps two names apart that read alike when cut short.
    labels = [f"{'⚠ ' if i in marked else ''}{charts.words(names[i])}" for i in order]
    places = list(range(len(order)))
    figure = go.Figure(
        go.Bar(
            x=values[order],
            y=places,
            orientation="h",
            marker={
                "color": [POSITIVE if v > 0 else NEGATIVE for v in values[order]],
                "pattern": {"shape": ["" if v > 0 else "/" for v in values[order]]},
            },
            customdata=labels,
            hovertemplate="%{customdata}: %{x:.4~r}<extra></extra>",
        )
    )
    charts.bars_layout(figure, len(order), x_title, y_title)
    return figure.update_yaxes(type="linear", tickvals=places, ticktext=labels)


def columns_beside(
    inputs: Sequence[Input], parts: Mapping[str, np.ndarray]
) -> go.Figure:
    """Columns of prepared rows of two parts: boxes of numbers, shares of levels."""
    lanes = [2 if one.kind == "number" else len(one.levels) for one in inputs]
    lanes = [max(2, min(n, _MOST_LEVELS)) for n in lanes]
    height = 60 + 70 * len(inputs) + 26 * sum(lanes)
    figure = make_subplots(
        len(inputs), 1, row_heights=lanes, vertical_spacing=75 / height
    )
    for place, (name, X) in enumerate(parts.items()):
        color = (OKABE_ITO[0], GREY)[place % 2]
        for row, one in enumerate(inputs, 1):
            values, at = X[:, one.features], {"row": row, "col": 1}
            shown = {"name": name, "legendgroup": name, "marker_color": color}
            shown |= {"showlegend": row == 1, "orientation": "h"}
            if one.kind == "number":
                quantiles = np.percentile(values[:, 0], [5, 25, 50, 75, 95])
                keys = "lowerfence", "q1", "median", "q3", "upperfence"
                box = {key: [q] for key, q in zip(keys, quantiles, strict=True)}
                figure.add_trace(go.Box(**shown, **box, y=[place], width=0.7), **at)
                figure.update_yaxes(visible=False, **at)
            else:
                shares = np.zeros(len(one.levels))
                shares[list(one.feature_levels)] = values.mean(axis=0)
                if one.dropped >= 0:
                    shares[one.dropped] = 1.0 - values.sum(axis=1).mean()
                levels = [charts.words(level) for level in one.levels[:_MOST_LEVELS]]
                figure.add_bar(**shown, x=shares[:_MOST_LEVELS], y=levels, **at)
                figure.update_yaxes(type="category", title="level", **at)
                figure.update_xaxes(tickformat=".0%", rangemode="tozero", **at)
            title = charts.words(f"{one.name} {one.unit_beside}".strip())
            figure.update_xaxes(title=title, title_standoff=2, **at)
            figure.update_yaxes(autorange="reversed", **at)
    charts.layout(figure, height)
    return figure.update_layout(barmode="group", dragmode=False)


def densities(
    values: np.ndarray,
    y_encoded: np.ndarray,
    classes: np.ndarray,
    x_title: str,
    limits: Sequence[tuple[float, str]] = (),
) -> go.Figure:
    """How one number is spread in each of the first 12 classes, by a normal kernel.

    Limits are upright lines with their names.
    """
    figure = go.Figure()
    low, high = float(values.min()), float(values.max())
    for place, _ in limits:
        low, high = min(low, place), max(high, place)
    room = 0.08 * (high - low) or 1.0
    grid = np.linspace(low - room, high + room, _NODES)
    for c, label in enumerate(classes[:12]):
        class_values = values[y_encoded == c]
        if not class_values.size:
            continue
        # Silverman's width, and never narrower than a node.
        width = 0.9 * class_values.std() * class_values.size**-0.2
        width = max(width, (high - low + 2 * room) / _NODES)
        bells = np.exp(-0.5 * ((grid[:, None] - class_values[:2000]) / width) ** 2)
        density = bells.mean(axis=1) / (width * np.sqrt(2 * np.pi))
        name, style = charts.words(label), charts.class_line(c, c)
        figure.add_scatter(x=grid, y=density, name=name, line=style)
    for place, name in limits:
        figure.add_vline(
            x=place,
            line_dash="dot",
            line_color=GREY,
            annotation_text=charts.words(name),
        )
    return charts.layout(figure, 260, charts.words(x_title), "density")


def embeddings(
    before: np.ndarray, after: np.ndarray, y_encoded: np.ndarray, classes: np.ndarray
) -> go.Figure:
    """Rows in feature space before and after its kernels were weighted."""
    titles = ["equal weights", "learned weights"]
    figure = make_subplots(1, 2, subplot_titles=titles, horizontal_spacing=0.06)
    for col, points in enumerate((before, after), start=1):
        for c, label in enumerate(classes):
            style = {**charts.class_mark(c), "size": 7}
            more = {"legendgroup": str(c), "showlegend": col == 1, "row": 1, "col": col}
            charts.marks(
                figure, points[y_encoded == c, :2], charts.words(label), style, **more
            )
    figure.update_xaxes(title_text="first principal axis")
    figure.update_yaxes(title_text="second principal axis", col=1)
    return charts.legend_above_titles(figure, 380)


def recovery(
    bounds: np.ndarray, shares: np.ndarray, names: Sequence[str], bound: float
) -> go.Figure:
    """Share of refits that recover each prototype, against how similar it has to be."""
    figure = go.Figure()
    for j, column in enumerate(shares.T):
        name, style = charts.words(names[j]), charts.line_style(j)
        figure.add_scatter(x=bounds, y=column, name=name, line=style)
    figure.add_vline(x=bound, line={"color": GREY, "dash": "dot", "width": 1.5})
    figure.update_yaxes(tickformat=".0%", range=(0.0, 1.02))
    titles = "similarity of at least", "refits that recover it"
    return charts.layout(figure, 300, *titles)
