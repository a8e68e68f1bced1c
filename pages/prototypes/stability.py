"""How stable the prototypes are: a job of refits, its progress, and its tables."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from pages.prototypes.context import ModelContext
from pages.state import session
from pages.ui.elements import problems_shown, table
from pages.ui.progress import is_waiting
from pages.work import study_pool
from pages.work.tasks import Task
from smpcore import SmpcoreError, figures, stability
from smpcore.datasets import only_compared
from smpcore.evaluation import FEWEST_REFITS, Stability, TrainingRows, refits

N_REFITS = 100
_MOST_LINES = 50
#: A prototype of a refit is the same from this cosine on, in the table.
_BOUND, _MOST_DRAWN = 0.8, 8


def section(context: ModelContext) -> None:
    """Offer the refits; show how they go, and what came."""
    if only_compared(context.data.dataset):
        st.caption(
            "Prototypes of refits are compared by their features, and these data have "
            "none: there is no stability here."
        )
        return
    pairs = "Prototypes" if context.model.classes is None else "Prototypes of a class"
    st.caption(
        f"{N_REFITS} refits, each on a bootstrap sample of the training rows "
        "(groups and blocks in time stay together), with a new seed if the method "
        f"is random. {pairs} are matched to the most similar prototype of each refit; "
        "similarity is the cosine, 1 where both are the same direction."
    )
    key, task = session.get().results.get("stability", (None, None))
    if key != context.key:
        task = None
    if task is not None and is_waiting(task, 0.0, "Refits"):
        return
    icon = ":material/replay:"
    st.button("Refit", key="refit", icon=icon, on_click=_start, args=(context,))
    if task is None:
        return
    with problems_shown(st.error):
        if result := task.result():
            _show(context, *result)
        else:
            st.info("Stopped before the first refit finished.")


def _start(context: ModelContext) -> None:
    session.get().results["stability"] = context.key, _job(context)


def _job(context: ModelContext) -> Task:
    """Refit in a thread: all it needs is looked up now."""
    data, model = context.data, context.model
    values, task = context.values, data.dataset.task
    method = context.method
    sample = TrainingRows(
        *data.of("train"), data.clusters("train"), data.weights("train")
    )
    make = partial(method.estimator, values, task)

    def work(
        stop: np.ndarray, progress: np.ndarray
    ) -> tuple[Stability, Stability] | None:
        models = []
        try:
            with study_pool.executor_for(data.dataset) as executor:
                where = {"executor": executor, "stop": stop}
                for other in refits(make, sample, n_refits=N_REFITS, **where):
                    models.append(other)
                    progress[0] = len(models) / N_REFITS
        except SmpcoreError:
            if not models:  # fewer refits tell less, but they tell
                raise
        if not models:
            return None
        return stability(model, models, data.preparation), stability(model, models)

    return Task(work, study=data.dataset)


def _show(context: ModelContext, result: Stability, by_level: Stability) -> None:
    """The prototypes, and how often columns are selected; levels on request."""
    st.caption(f"Of {result.n_refits} refits:")
    names, shares = context.names, 100 * result.recovered(_BOUND)
    head = f"recovered %, similarity {_BOUND} or more"
    medians = np.median(np.nan_to_num(result.cosines), axis=0)
    lines = [
        {"prototype": name, head: float(share), "median similarity": float(median)}
        for name, share, median in zip(names, shares, medians, strict=True)
    ]
    table(lines)
    bounds = np.linspace(0.0, 1.0, 101)
    shares = np.array([result.recovered(bound) for bound in bounds])
    figure = figures.recovery(bounds, shares[:, :_MOST_DRAWN], names, _BOUND)
    alt = "Share of refits that recover each prototype, by how similar it has to be"
    st.plotly_chart(figure, key="recovery", alt=alt)
    if context.portraits.signed:
        _selected(context, result, by_level)


def _selected(context: ModelContext, result: Stability, by_level: Stability) -> None:
    """Which columns of a prototype the refits select, too."""
    model, preparation = context.model, context.data.preparation
    numbers = range(model.n_prototypes)
    key = f"steady_{context.choice.method}_{context.data.dataset.digest}"
    j = st.selectbox("Prototype", numbers, format_func=context.label, key=key)
    names = [column.name for column in preparation.inputs]
    used = model.weights[j] != 0
    if preparation.has_level_features and st.toggle(
        "Show category levels", key="levels"
    ):
        names, result, what = list(model.feature_names), by_level, "features"
    else:
        used, what = preparation.used_columns(used), "columns"
    chosen = np.flatnonzero(used)
    if not chosen.size:
        st.caption("All its weights are 0.")
        return
    share = 100 * result.selected[j]
    shown = np.zeros(len(share))
    shown[chosen] = share[chosen]
    figure = figures.signed_bars(
        shown, names, "selected (% of refits)", y_title=what.removesuffix("s")
    )
    words = f"How often refits select the {what} of prototype {j + 1}"
    st.plotly_chart(figure, key="steady", alt=words)
    table(_lines(result, j, chosen, share, names))
    st.caption(
        "Closest substitute: the column that refits select more often when they do "
        f"not select this one. Shown if at least {FEWEST_REFITS} refits omit it, at "
        f"least as many use it, and the difference exceeds two standard errors. As "
        "the largest of many differences, it may still be due to chance."
    )


def _lines(
    result: Stability, j: int, chosen: np.ndarray, share: np.ndarray, names: list[str]
) -> list[dict[str, Any]]:
    """A line for each selected column of prototype ``j``, the commonest first."""
    order = chosen[np.argsort(-share[chosen], kind="stable")][:_MOST_LINES]
    substitutes = result.substitute[j]
    return [
        {
            "column": names[f],
            "selected %": float(share[f]),
            "same sign %": 100 * float(result.agrees[j, f]),
            "closest substitute": "" if substitutes[f] < 0 else names[substitutes[f]],
            "refits without it": int(result.without[j, f]),
        }
        for f in order
    ]
