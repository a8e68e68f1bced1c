"""What the trade-off page asks for, and what it has found so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared import cached, kept, links
from pages.shared.choice import Choice
from pages.shared.sweep_jobs import REFERENCE, SweepJob
from smpcore import (
    METHODS,
    SCORES,
    figures,
    n_draws,
    pareto_front,
    title_of,
    walk_baselines,
)

SIZE_TITLES = {
    "n_nonzeros": "Non-zeros",
    "n_features": "Features",
    "n_prototypes": "Prototypes",
    "flash_bytes": "Flash bytes, float32",
    "flash_int16": "Flash bytes, int16",
    "flash_int8": "Flash bytes, int8",
    "cycles_float32": "Cycles, float32",
    "cycles_int16": "Cycles, int16",
    "cycles_int8": "Cycles, int8",
}
SCORE_TITLES = {
    "balanced_accuracy": "Balanced accuracy",
    "accuracy": "Accuracy",
    "mae": "Mean absolute error",
    "r2": "R²",
}
#: Added to the titles of costs on an axis.
ON_CHIP = " (ATmega328P, estimated on one fold)"

#: A running sweep is looked at this often until there is a chart, and from then on.
FIRST_SECONDS, NEXT_SECONDS = 0.25, 0.5

#: Added where the folds are blocks in time.
IN_TIME = (
    " Folds are blocks in time: each is judged after learning from what came before; "
    "the first block is never held out."
)


@dataclass(frozen=True)
class Asked:
    """What to sweep and how to show it.

    Parameters
    ----------
    data : Parts
    values : dict
        Method -> its values, the swept one at its default.
    score, size : str
    n_folds : int
    baselines : bool
    """

    data: cached.Parts
    values: dict[str, dict[str, Any]]
    score: str
    size: str
    n_folds: int
    baselines: bool

    @property
    def task(self) -> str:
        """Of the data."""
        return self.data.dataset.task

    @property
    def larger_is_better(self) -> bool:
        """Of the score."""
        return SCORES[self.task][self.score]

    def jobs(self) -> list[tuple[SweepJob, SweepJob | None]]:
        """First and fine sweep of each method; first ones that are missing begin.

        So do those that another visitor's busy moment left without a point, once.
        """
        refined = st.session_state.setdefault("refined", set())
        met = st.session_state.setdefault("met", set())
        for key, where in self._sweeps().items():
            if key not in met and cached.swept(*where, False).futile:
                cached.swept(*where, False).start()
            met.add(key)
        return [
            (
                cached.swept(*where, False),
                cached.swept(*where, True) if key in refined else None,
            )
            for key, where in self._sweeps().items()
        ]

    def refine(self) -> None:
        """Begin the fine sweep of each method, again where it was stopped."""
        st.session_state["refined"] |= set(self._sweeps())
        for _, fine in self.jobs():
            if not (fine.running or fine.complete):
                fine.start()

    def _sweeps(self) -> dict[Any, tuple]:
        """What names a sweep -> how to ask for it."""
        wanted = dict(self.values)
        if self.baselines:
            wanted[REFERENCE] = {}
        of = self.data.dataset.digest, self.data.split.key, self.n_folds
        return {
            (*of, key, pairs): (self.data, key, pairs, self.n_folds)
            for key, pairs in ((k, cached.pairs(v)) for k, v in wanted.items())
        }


@dataclass(frozen=True, eq=False)
class Found:
    """What sweeps have found so far.

    Parameters
    ----------
    table : DataFrame
        One line per fit.
    points : DataFrame
        One line per point, those of the methods as `pareto_front` marks them.
    """

    table: pd.DataFrame
    points: pd.DataFrame

    @property
    def of_methods(self) -> pd.DataFrame:
        """The points that can be opened, those worth it first."""
        own = self.points[self.points["method"].isin(METHODS)]
        return own.sort_values(["sparsest", "best", "front"], ascending=False)


def ask(choice: Choice, data: cached.Parts) -> Asked:
    """The page's controls."""
    task = data.dataset.task
    able = [key for key, method in METHODS.items() if task in method.estimators]
    first = [choice.method] if choice.method in able else able[:1]
    columns = st.columns([4, 2, 2, 1])
    chosen = columns[0].multiselect(
        "Methods",
        able,
        format_func=lambda key: METHODS[key].title,
        key=kept.several(f"sweep_methods_{task}", able, first),
    )
    score = columns[1].selectbox(
        "Score",
        SCORES[task],
        format_func=SCORE_TITLES.get,
        key=kept.one(f"sweep_score_{task}", SCORES[task], next(iter(SCORES[task]))),
    )
    size = columns[2].selectbox(
        "Against",
        SIZE_TITLES,
        format_func=SIZE_TITLES.get,
        key=kept.one("sweep_size", SIZE_TITLES, next(iter(SIZE_TITLES))),
    )
    folds = kept.one("sweep_folds", range(2, 11), 5)
    n_folds = columns[3].number_input("Folds", 2, 10, key=folds)
    baselines = st.toggle(
        "Baselines: l1 path, RBF-SVM, tree, forest, neighbours"
        if task == "classification"
        else "Baselines: lasso path, SVR, tree, forest, neighbours, ridge",
        key=kept.one("sweep_baselines", (False, True), True),
    )
    values = {key: _values(choice, key, task) for key in chosen}
    return Asked(data, values, score, size, int(n_folds), baselines)


def _values(choice: Choice, key: str, task: str) -> dict[str, Any]:
    """A method's values, the swept one at its default: it is the same sweep."""
    start = METHODS[key].defaults(task)
    if key == choice.method:
        mine = {name: v for name, v in choice.all_values.items() if name in start}
        swept = METHODS[key].sparsity
        return {**start, **mine, swept: start[swept]}
    return start


def pace(jobs: list[tuple[SweepJob, SweepJob | None]]) -> float | None:
    """How often to look at sweeps; None if none is running."""
    if not any((fine or first).running for first, fine in jobs):
        return None
    return NEXT_SECONDS if any(first.n_found for first, _ in jobs) else FIRST_SECONDS


def gather(asked: Asked, jobs: list[tuple[SweepJob, SweepJob | None]]) -> Found:
    """Put sweeps together: of each method the fine one, once it has a point."""
    looks = []
    for first, fine in jobs:
        look = fine.look(asked.score) if fine else None
        if look is None or look[1].empty:
            look = first.look(asked.score)
        looks.append(look)
    table = pd.concat([fits for fits, _ in looks], ignore_index=True)
    parts = [points for _, points in looks]
    points = pd.concat([part for part in parts if len(part)] or parts[:1])
    mine = points["method"].isin(METHODS)
    how = table, asked.size, asked.score, asked.larger_is_better
    points = pd.concat([pareto_front(points[mine], *how), points[~mine]])
    marks = ["front", "undecided", "best", "sparsest"]
    points[marks] = points[marks].eq(True)
    # A click may come back when there are more points: a name says which was meant.
    points.index = [f"{p.method} {p.value!r}" for p in points.itertuples()]
    return Found(table, points)


def label(point: Any) -> str:
    """A point in words."""
    if not point.parameter:
        return title_of(point.method)
    known = METHODS.get(point.method)
    named = known.param(point.parameter).label if known else point.parameter
    return f"{title_of(point.method)}: {named} = {point.value:.6g}"


def stop(jobs: list[SweepJob]) -> None:
    """End them soon; what is finished is kept."""
    for job in jobs:
        job.stop()


def use(choice: Choice, point: Any) -> None:
    """Make a point the model of every page.

    Parameters
    ----------
    choice : Choice
        What is changed.
    point : row of `Found.points`
    """
    method = METHODS[point.method]
    values = dict(choice.values) if point.method == choice.method else {}
    values[point.parameter] = method.param(point.parameter).clean(point.value)
    links.choose(replace(choice, method=point.method, values=values))


def in_use(choice: Choice, found: Found, asked: Asked) -> str:
    """Which point is the model of every page now, in words; empty if none is.

    The pointer reaches one of several points on one spot: the others are named.
    """
    own = found.of_methods
    for place, point in own[own["method"] == choice.method].iterrows():
        if choice.all_values.get(point.parameter) != point.value:
            continue
        spot = [asked.size, "mean"]
        near = np.isclose(own[spot], point[spot].astype(float), rtol=1e-9).all(axis=1)
        same = [label(p) for p in own[near].itertuples() if p.Index != place]
        told = f"On every page now: {label(point)}, fitted on all training rows."
        return told + f" On the same spot of the chart: {'; '.join(same)}." * bool(same)
    return ""


def to_beat(asked: Asked) -> float:
    """The score of one and the same answer to every training row."""
    y = asked.data.of("train")[1]
    if asked.task == "regression":
        return 0.0 if asked.larger_is_better else np.abs(y - np.median(y)).mean()
    counts = np.unique(y, return_counts=True)[1]
    shares = {"accuracy": counts.max() / y.size, "balanced_accuracy": 1 / counts.size}
    return float(shares[asked.score])


def as_table(found: Found, asked: Asked) -> pd.DataFrame:
    """The points in words and numbers, the best first."""
    points = found.points.sort_values(
        "mean", ascending=not asked.larger_is_better, kind="stable"
    )
    marks = {
        "best": "best mean",
        "sparsest": "sparsest within 1 SE",
        "front": "front",
        "undecided": "cannot be told from the front",
        "dead": "no better than one answer to all rows",
    }
    sign = 1 if asked.larger_is_better else -1
    points["dead"] = sign * (points["mean"] - to_beat(asked)) <= 1e-9
    told = [
        ", ".join(words for name, words in marks.items() if getattr(point, name))
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
    costs = size.startswith(("flash", "cycles"))
    return SIZE_TITLES[size] + ON_CHIP * costs


def show(found: Found, asked: Asked, on_click: Callable[[], None]) -> None:
    """The chart, and what it leaves out."""
    points = found.points
    reference = tuple(walk.key for walk in walk_baselines(asked.task))
    figure = figures.tradeoff(
        points,
        asked.size,
        {key: title_of(key) for key in (*asked.values, *reference)},
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
        "Filled: no smaller model is better. Hollow: cannot be told from those "
        "(corrected resampled t-test, 5 %). Small: a smaller one is better. Bars: one "
        "standard error (SE), corrected for folds that share training rows. Grey: "
        "baselines at usual settings, not part of the front."
        + (asked.data.dataset.times is not None)
        * IN_TIME
    )
    st.caption(
        f"One answer to all training rows reaches {to_beat(asked):.4g}. "
        + repeats(asked, found)
    )
    absent = points[~np.isfinite(points[asked.size].to_numpy(np.float64))]
    if len(absent):
        told = ", ".join(
            f"{label(point)} ({point.mean:.3g})" for point in absent.itertuples()
        )
        st.caption(f"Not on this axis, as nothing was measured: {told}.")


def repeats(asked: Asked, found: Found) -> str:
    """How often the folds were drawn, and how often Refine draws them."""
    most = n_draws(asked.data.dataset, asked.data.split.train)
    if most == 1:
        return ""
    now = int(found.table["repeat"].max()) + 1
    how = (
        f"they were drawn {now} times" if now > 1 else f"Refine draws them {most} times"
    )
    return f"One draw of folds says too little of so few rows: {how}."


def failures(found: Found, score: str) -> list[str]:
    """Why fits failed, each reason once, with how often."""
    reasons = found.table.loc[found.table[score].isna(), "status"].value_counts()
    return [f"{n} fits have no score: {text}" for text, n in reasons.items()]


def unfinished(found: Found, asked: Asked) -> str:
    """What has neither a point nor a reason for that, in a sentence; else empty."""
    failed = found.table.loc[found.table[asked.score].isna(), "method"]
    told = {*found.points["method"], *failed}
    late = [title_of(key) for key in asked.values if key not in told]
    late += ["the baselines"] * (asked.baselines and told <= set(METHODS))
    return f"No point yet of {', '.join(late)}; Refine takes its time." * bool(late)


def table_twin(found: Found, asked: Asked) -> None:
    """The same numbers as a table, and every fit as CSV."""
    with st.expander("The points as a table", icon=":material/table:"):
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
