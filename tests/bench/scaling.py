"""How long a fit takes as data grow, beside the peers.

    python -m tests.bench.scaling [--limit SECONDS] [--save]

One thing grows at a time: rows, features, prototypes of a class, classes. Seconds of
CPU time on one thread, the median of three fits, or the only one where it takes longer
than a second; a size that is expected to take more than the limit is left out. The
exponent is the slope of seconds over size, both as logarithms, by least squares over
the upper half of the sizes. ``--save`` draws assets/scaling.svg.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import plotly.graph_objects as go
from playwright.sync_api import sync_playwright
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from smpcore import METHODS

PICTURE = Path(__file__).parents[2] / "assets" / "scaling.svg"

#: What grows -> title of the axis and its sizes.
GROWING = {
    "rows": ("rows, of 10 features", (10**3, 10**4, 10**5, 10**6, 10**7)),
    "features": ("features, of 2,000 rows", (4, 16, 64, 256, 1024)),
    "prototypes": ("prototypes of a class", (1, 2, 4, 8, 16, 32)),
    "classes": ("classes", (2, 4, 8, 16, 32, 64)),
}
USUAL = {"rows": 2000, "features": 10, "prototypes": 2, "classes": 3}
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900"),
    *("#999999", "#777777", "#555555", "#333333"),
)


def blobs(rows: int, features: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds of each class, which overlap; features of unit scale."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(classes, 2, features)) * (3.0 / np.sqrt(features))
    y, cloud = random.integers(classes, size=rows), random.integers(2, size=rows)
    X = random.normal(size=(rows, features))
    X += centres[y, cloud]
    return X, y


def ours(key: str) -> Callable[[int], Any]:
    """A method at its defaults, by prototypes of a class."""
    method = METHODS[key]

    def model(prototypes: int, classes: int) -> Any:
        values = method.defaults("classification")
        counts = {
            "imkpl": {"code_size": prototypes},
            "supersparse": {"n_prototypes": prototypes * classes},
        }
        return method.estimator(
            values | counts.get(key, {"n_prototypes": prototypes})
        ).set_params(tol=1e-2)

    return model


def peers() -> dict[str, Callable[..., Any]]:
    """Well-known models, whose number of prototypes is not asked for."""
    return {
        "l1 logistic regression": lambda *_: LogisticRegression(
            l1_ratio=1.0, solver="saga", C=1.0, tol=1e-2
        ),
        "LinearSVC, Crammer-Singer": lambda *_: LinearSVC(
            multi_class="crammer_singer", C=0.1, tol=1e-2, random_state=0
        ),
        "SVC, RBF": lambda *_: SVC(tol=1e-2),
        "random forest of 100": lambda *_: RandomForestClassifier(random_state=0),
    }


def seconds(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> float:
    """Median CPU time of three fits; of one that takes long.

    Each has one row less: IMKPL remembers what it chose for the same rows.
    """
    spent: list[float] = []
    while len(spent) < 3 and sum(spent) < 1.0:
        model, first = make(), len(spent)
        began = time.process_time()
        model.fit(X[first:], y[first:])
        spent.append(time.process_time() - began)
    return statistics.median(spent)


def measured(limit: float) -> dict[str, dict[str, dict[int, float]]]:
    """What grows -> model -> size -> seconds."""
    models = {METHODS[key].title.split(":")[0]: ours(key) for key in METHODS} | peers()
    for method in METHODS.values():
        method.warm_up(every_option=True)
    small = blobs(200, 3, 3)
    for make in models.values():
        make(2, 3).fit(*small)
    times: dict[str, dict[str, dict[int, float]]] = {}
    for what, (_, sizes) in GROWING.items():
        names = list(models if what != "prototypes" else models.keys() - peers().keys())
        curves: dict[str, dict[int, float]] = {name: {} for name in names}
        for size in sizes:
            shape = USUAL | {what: size}
            count, classes = shape.pop("prototypes"), shape["classes"]
            X, y = blobs(**shape)
            for name in list(names):
                try:
                    spent = seconds(partial(models[name], count, classes), X, y)
                except ValueError as problem:
                    print(f"  {name}, {size} {what}: {problem}")
                    names.remove(name)
                    continue
                curves[name][size] = spent
                if expected(curves[name], sizes) > limit:
                    names.remove(name)
        times[what] = curves
        for name, curve in curves.items():
            shown = "".join(f"{curve.get(size, np.nan):10.3g}" for size in sizes)
            print(f"{what:<10} {name:<26}{shown}  ^{exponent(curve):.2f}", flush=True)
    return times


def expected(curve: dict[int, float], sizes: tuple[int, ...]) -> float:
    """Seconds of the next size, if growth goes on as over all sizes so far."""
    first, last = min(curve), max(curve)
    following = [size for size in sizes if size > last]
    if not following:
        return 0.0
    power = 1.0
    if first < last:
        power = np.log(curve[last] / curve[first]) / np.log(last / first)
    return curve[last] * (following[0] / last) ** max(power, 1.0)


def exponent(curve: dict[int, float]) -> float:
    """Slope of the upper half of a curve, as logarithms."""
    points = np.log([*curve.items()])[len(curve) // 2 :]
    return float(np.polyfit(*points.T, 1)[0]) if len(points) > 1 else float("nan")


def picture(times: dict[str, dict[str, dict[int, float]]]) -> go.Figure:
    """Four panels with logarithmic axes; exponents in the legend are those of rows."""
    titles = [title for title, _ in GROWING.values()]
    figure = make_subplots(
        2, 2, subplot_titles=titles, horizontal_spacing=0.08, vertical_spacing=0.16
    )
    names = list(times["rows"])
    for place, what in enumerate(times):
        for name, curve in times[what].items():
            peer, number = name in peers(), names.index(name)
            power = exponent(times["rows"][name])
            grows = "" if np.isnan(power) else f" (rows^{power:.2f})"
            figure.add_scatter(
                x=list(curve), y=list(curve.values()), name=name + grows,
                legendgroup=name, showlegend=place == 0, mode="lines+markers",
                line={"color": COLOURS[number], "dash": "dot" if peer else "solid"},
                row=1 + place // 2, col=1 + place % 2,
            )  # fmt: skip
    axis = {"type": "log", "gridcolor": "#e5e5e5", "exponentformat": "SI"}
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis, ticksuffix=" s")
    for place, (_, sizes) in enumerate(GROWING.values()):
        figure.update_xaxes(tickvals=sizes, row=1 + place // 2, col=1 + place % 2)
    return figure.update_layout(
        template="plotly_white", width=1000, height=760, margin={"t": 40, "r": 20},
        font={"family": "sans-serif", "size": 12},
        legend={"orientation": "h", "y": -0.08},
    )  # fmt: skip


def draw(figure: go.Figure) -> None:
    """Save a figure as SVG, as a browser draws it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium")
        page = browser.new_page()
        page.add_script_tag(content=get_plotlyjs())
        address = page.evaluate(
            """async figure => Plotly.toImage(figure, {format: "svg"})""",
            json.loads(figure.to_json()) | {"config": {}},
        )
        text = unquote(address.partition(",")[2])
        browser.close()
    PICTURE.write_text(text)


def main() -> None:
    """Measure, print, and draw if asked."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--limit", type=float, default=30.0, metavar="SECONDS")
    reader.add_argument("--save", action="store_true")
    options = reader.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        times = measured(options.limit)
    if options.save:
        draw(picture(times))


if __name__ == "__main__":
    main()
