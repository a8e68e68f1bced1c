"""What the trade-off page shows of its sweeps: chart, table, what is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from pages.tradeoff.sweeps import (
    SCORE_TITLES,
    SIZE_TITLES,
    SweepRequest,
    SweepResult,
    label,
)
from pages.work import slots
from smpcore import METHODS, figures
from smpcore.evaluation import baseline_paths, n_draws, title_of

#: Added where the folds are blocks in time.
IN_TIME = (
    " Folds are blocks in time: each is tested on a model trained on earlier blocks; "
    "the first block is never held out."
)


def to_beat(asked: SweepRequest) -> float:
    """The score of one and the same answer to every training row."""
    y = asked.data.of("train")[1]
    if asked.task == "regression":
        return 0.0 if asked.larger_is_better else np.abs(y - np.median(y)).mean()
    counts = np.unique(y, return_counts=True)[1]
    shares = {"accuracy": counts.max() / y.size, "balanced_accuracy": 1 / counts.size}
    return float(shares[asked.score])


def baseline_name(asked: SweepRequest) -> str:
    """What the baseline of `to_beat` predicts for every row."""
    if asked.task == "regression":
        return "Mean" if asked.larger_is_better else "Training-median"
    return "Majority-class"


def as_table(found: SweepResult, asked: SweepRequest) -> pd.DataFrame:
    """The points in words and numbers, the best first."""
    points = found.points.sort_values(
        "mean", ascending=not asked.larger_is_better, kind="stable"
    )
    marks = {
        "best": "best mean",
        "sparsest": "sparsest within 1 SE",
        "front": "front",
        "undecided": "not significantly different from the front",
        "dead": "not better than the baseline",
    }
    sign = 1 if asked.larger_is_better else -1
    points["dead"] = sign * (points["mean"] - to_beat(asked)) <= 1e-9
    told = [
        ", ".join(
            [words for name, words in marks.items() if getattr(point, name)]
            + [f"dominated by baseline {point.rival}"] * bool(point.rival)
        )
        for point in points.itertuples()
    ]
    columns = {
        "Model": [label(point) for point in points.itertuples()],
        SCORE_TITLES[asked.score]: points["mean"].to_numpy().round(4),
        "Standard error": points["error"].to_numpy().round(4),
    }
    for name, words in SIZE_TITLES.items():
        columns[words] = points[name].to_numpy().round(1)
    columns |= {"Folds": points["n"].to_numpy(), "Remarks": told}
    return pd.DataFrame(columns)


def _axis(size: str) -> str:
    """Title of a size, with the chip where it is of one."""
    if not size.startswith(("flash", "cycles")):
        return SIZE_TITLES[size]
    alone = "without input conversion, " * size.endswith(("int8", "int16"))
    return f"{SIZE_TITLES[size]} (ATmega328P, {alone}estimated on one fold)"


@slots.interactive_slot()
def show(found: SweepResult, asked: SweepRequest, on_click: Callable[[], None]) -> None:
    """The chart, and what it leaves out."""
    points = found.points
    there = asked.opened.keys if asked.opened else set()
    own = [key for key in METHODS if key in there or key in asked.values]
    reference = tuple(walk.key for walk in baseline_paths(asked.task, bool(there)))
    figure = figures.tradeoff(
        points,
        asked.size,
        {key: title_of(key) for key in (*own, *reference)},
        (
            f"{_axis(asked.size)}, mean over folds",
            SCORE_TITLES[asked.score],
        ),
        reference,
    )
    st.plotly_chart(
        figure,
        key="tradeoff_chart",
        on_select=on_click,
        selection_mode="points",
        alt=f"{SCORE_TITLES[asked.score]} against {SIZE_TITLES[asked.size].lower()}; "
        "the table below has the same numbers",
    )
    st.caption(
        "Filled: on the Pareto front (without baselines). Hollow: not significantly "
        "different from the front (corrected resampled t-test, 5 %). Small: dominated. "
        "Bars: one standard error (SE), corrected for overlapping training sets. Grey: "
        "baselines at default settings. "
        + rivals(points)
        + (asked.data.dataset.times is not None) * IN_TIME
    )
    st.caption(
        f"{baseline_name(asked)} baseline: {to_beat(asked):.4g}. "
        + repeats(asked, found)
    )
    absent = points[~np.isfinite(points[asked.size].to_numpy(np.float64))]
    if len(absent):
        told = ", ".join(
            f"{label(point)} ({point.mean:.3g})" for point in absent.itertuples()
        )
        st.caption(f"Not shown, as not measured on this axis: {told}.")


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


def repeats(asked: SweepRequest, found: SweepResult) -> str:
    """How often the folds were drawn, and how often Refine draws them."""
    most = n_draws(asked.data.dataset, asked.data.split.train)
    if most == 1:
        return ""
    now = int(found.table["repeat"].max()) + 1
    how = f"{now} repeats were run" if now > 1 else f"Refine runs {most} repeats"
    return f"One repeat of cross-validation is noisy with so few rows: {how}."


def failures(found: SweepResult, score: str) -> list[str]:
    """Why fits failed, each reason once, with how often."""
    reasons = found.table.loc[found.table[score].isna(), "status"].value_counts()
    return [f"{n} fits without a score: {text}" for text, n in reasons.items()]


def unfinished(found: SweepResult, asked: SweepRequest) -> str:
    """What has neither a point nor a reason for that, in a sentence; else empty."""
    failed = found.table.loc[found.table[asked.score].isna(), "method"]
    told = {*found.points["method"], *failed}
    late = [title_of(key) for key in asked.values if key not in told]
    filed = asked.opened.keys if asked.opened else set()
    if asked.baselines and filed <= set(METHODS):
        walks = baseline_paths(asked.task)
        late += [title_of(walk.key) for walk in walks if walk.key not in told]
    return f"No points yet for {', '.join(late)}; Refine allows more time." * bool(late)


@slots.interactive_slot()
def table_twin(found: SweepResult, asked: SweepRequest) -> None:
    """The same numbers as a table, and every fit as CSV."""
    with st.expander("Show as a table", icon=":material/table:"):
        st.dataframe(as_table(found, asked), hide_index=True)
    st.download_button(
        "Download every fit as CSV",
        # Made when it is asked for: what stands here while points come in is replaced
        # four times a second, and the link to an older file is dead.
        data=partial(found.table.to_csv, index=False),
        file_name="sweep.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="sweep_csv",
    )
