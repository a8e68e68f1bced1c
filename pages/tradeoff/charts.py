"""What the trade-off page shows of its sweeps: chart, table, what is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from pages.tradeoff.sweeps import SweepRequest, SweepResult, label
from pages.ui.elements import download, table
from pages.ui.text import define
from pages.work import slots
from smpcore import METHODS, figures
from smpcore.baselines import GROUPS
from smpcore.datasets import as_csv, plain_number
from smpcore.evaluation import CHIP_SIZES, SIZES, baseline_paths, n_draws, title_of
from smpcore.readouts import READOUTS

#: Added where the folds are blocks in time.
IN_TIME = (
    " Folds are blocks in time: each is tested on a model trained on earlier blocks; "
    "the first block is never held out."
)


def baseline_score(request: SweepRequest) -> float:
    """The score of one and the same answer to every training row."""
    y = request.data.of("train")[1]
    if request.task == "regression":
        return 0.0 if request.larger_is_better else np.abs(y - np.median(y)).mean()
    counts = np.unique(y, return_counts=True)[1]
    shares = {"accuracy": counts.max() / y.size, "balanced_accuracy": 1 / counts.size}
    return float(shares[request.score])


def baseline_name(request: SweepRequest) -> str:
    """What the baseline of `baseline_score` predicts for every row."""
    if request.task == "regression":
        return "Mean" if request.larger_is_better else "Training-median"
    return "Majority-class"


def as_table(result: SweepResult, request: SweepRequest) -> pd.DataFrame:
    """The points in words and numbers, the best first."""
    points = result.points.sort_values(
        "mean", ascending=not request.larger_is_better, kind="stable"
    )
    marks = {
        "best": "best mean",
        "sparsest": "sparsest within 1 SE",
        "front": "front",
        "undecided": "not significantly different from the front",
        "dead": "not better than the baseline",
    }
    sign = 1 if request.larger_is_better else -1
    points["dead"] = sign * (points["mean"] - baseline_score(request)) <= 1e-9
    remarks = [
        ", ".join(
            [words for name, words in marks.items() if getattr(point, name)]
            + [f"dominated by baseline {point.rival}"] * bool(point.rival)
        )
        for point in points.itertuples()
    ]
    columns = {
        "Model": [label(point) for point in points.itertuples()],
        READOUTS[request.score].label: points["mean"].to_numpy().round(4),
        "Standard error": points["error"].to_numpy().round(4),
    }
    for name in SIZES:
        columns[READOUTS[name].label] = points[name].to_numpy().round(1)
    columns |= {"Folds": points["n"].to_numpy(), "Remarks": remarks}
    return pd.DataFrame(columns)


def _axis(size: str) -> str:
    """Title of a size, and how it is found where it is of a chip."""
    title = READOUTS[size].label
    if size not in CHIP_SIZES:
        return title
    alone = "without input conversion, " * size.endswith(("int8", "int16"))
    return f"{title}, {alone}estimated on one fold"


@slots.interactive_slot()
def show(
    result: SweepResult, request: SweepRequest, on_click: Callable[[], None]
) -> None:
    """The chart, and what it leaves out."""
    in_file = request.opened.keys if request.opened else set()
    methods = [key for key in METHODS if key in in_file or key in request.values]
    groups = GROUPS if in_file else request.groups
    baselines = [path.key for path in baseline_paths(request.task, groups)]
    score, size = READOUTS[request.score].label, request.size
    figure = figures.tradeoff(
        result.points,
        size,
        {key: title_of(key) for key in (*methods, *baselines)},
        (f"{_axis(size)}, mean over folds", score),
        tuple(baselines),
    )
    st.plotly_chart(
        figure,
        key="tradeoff_chart",
        on_select=on_click,
        selection_mode="points",
        alt=f"{score} against {READOUTS[size].label.lower()}; "
        "the table below has the same numbers",
    )
    _legend(result, request)


def _legend(result: SweepResult, request: SweepRequest) -> None:
    """What the marks of the chart mean, and what it does not show."""
    points = result.points
    st.caption(
        "Filled: on the Pareto front (without baselines). Hollow: not significantly "
        "different from the front (corrected resampled t-test, 5 %). Small: dominated. "
        "Bars: one standard error (SE), corrected for overlapping training sets. Grey: "
        "baselines at default settings. "
        + rivals(points)
        + (request.data.dataset.times is not None) * IN_TIME,
        help=define("Pareto front"),
    )
    st.caption(
        f"{baseline_name(request)} baseline: {plain_number(baseline_score(request))}. "
        + repeats(request, result)
    )
    absent = points[~np.isfinite(points[request.size].to_numpy(np.float64))]
    if len(absent):
        names = ", ".join(
            f"{label(p)} ({plain_number(p.mean, 3)})" for p in absent.itertuples()
        )
        st.caption(f"Not shown, as not measured on this axis: {names}.")


def rivals(points: pd.DataFrame) -> str:
    """Which baselines are smaller and as good as points of the front; maybe none."""
    front = points[points["front"]]
    beaten = front[front["rival"] != ""]
    if not len(beaten):
        return ""
    names = "; ".join(dict.fromkeys(beaten["rival"]))
    return (
        f"At least as good and smaller: {names} (than {len(beaten)} of the "
        f"{len(front)} points on the front)."
    )


def repeats(request: SweepRequest, result: SweepResult) -> str:
    """How often the folds were drawn, and how often Refine draws them."""
    most = n_draws(request.data.dataset, request.data.split.with_censored)
    if most == 1:
        return ""
    now = int(result.table["repeat"].max()) + 1
    times = f"{now} repeats were run" if now > 1 else f"Refine runs {most} repeats"
    return f"One repeat of cross-validation is noisy with so few rows: {times}."


def failures(result: SweepResult, score: str) -> list[str]:
    """Why fits failed, each reason once, with how often."""
    reasons = result.table.loc[result.table[score].isna(), "status"].value_counts()
    return [f"{n} fits without a score: {text}" for text, n in reasons.items()]


def unfinished(result: SweepResult, request: SweepRequest) -> str:
    """What has neither a point nor a reason for that, in a sentence; else empty."""
    failed = result.table.loc[result.table[request.score].isna(), "method"]
    remarks = {*result.points["method"], *failed}
    late = [title_of(key) for key in request.values if key not in remarks]
    filed = request.opened.keys if request.opened else set()
    if filed <= set(METHODS):
        paths = baseline_paths(request.task, request.groups)
        late += [title_of(path.key) for path in paths if path.key not in remarks]
    return f"No points yet for {', '.join(late)}; Refine allows more time." * bool(late)


@slots.interactive_slot()
def points_table(result: SweepResult, request: SweepRequest) -> None:
    """The same numbers as a table, and every fit as CSV."""
    with st.expander("Show as a table", icon=":material/table:"):
        table(as_table(result, request))
    csv = partial(as_csv, result.table)
    download("Download every fit as CSV", csv, "sweep.csv", key="sweep_csv")
