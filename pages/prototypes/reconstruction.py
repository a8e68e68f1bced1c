"""How an input is reconstructed from prototypes, one entry of its code at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from pages.prototypes.context import ModelContext
from pages.prototypes.portraits import draw
from pages.ui.elements import signed_bars, table
from pages.ui.glossary import define
from pages.ui.text import escape_markdown, short_label
from smpcore.datasets import plain_number
from smpcore.explain import CodeState, code_states

#: Training cases of a code that are shown at most.
_MOST_CASES = 8


def section(context: ModelContext, x: np.ndarray) -> None:
    """The code of a row step by step: prototypes, votes, and the rows behind them."""
    st.markdown("**Reconstruction from prototypes, step by step**", help=define("Code"))
    states = code_states(context.model, x)
    last = len(states) - 1
    if not last:
        st.info(
            "No prototype is similar to this row: its code is empty, and the fallback "
            "class is predicted."
        )
        return
    # Another row or model has other steps: it begins at its last one.
    steps = tuple(state.entered for state in states)
    widget = f"why_step_{hash((context.data.dataset.digest, x.tobytes(), steps))}"
    number = st.slider("Step", 0, last, last, key=widget)
    state, winner = states[number], context.outputs[states[number].winner]
    st.markdown(
        f"Step {number} of {last}: {_change(context, state)} Reconstruction error "
        f"**{_percent(state.error)}**, prediction "
        f"**{escape_markdown(short_label(winner))}**.",
        help=define("Reconstruction error"),
    )
    if number:
        _bars(context, state)
        _cases(context, x, state)
    with st.expander("All steps as a table", icon=":material/list:"):
        table([_line(context, i, one) for i, one in enumerate(states)])


def _bars(context: ModelContext, state: CodeState) -> None:
    """Weights of the prototypes, and what they add up to for each class."""
    left, right = st.columns(2)
    names = [context.name(j) for j in range(len(state.weights))]
    with left:
        alt = "Weights of the prototypes in the code, the largest first"
        signed_bars(state.weights, names, "weight", "prototype", key="code", alt=alt)
    with right:
        alt, names = "Score of each class with this code", context.outputs
        signed_bars(state.scores, names, "score", "class", key="votes", alt=alt)


def _percent(share: float) -> str:
    return f"{plain_number(100 * share, 3)}\u00a0%"


def _change(context: ModelContext, state: CodeState) -> str:
    """What entered and left at a step, as a sentence."""
    if state.entered < 0:
        return "the code is still empty."
    name = escape_markdown(context.name(state.entered))
    weight = plain_number(state.weights[state.entered], 3)
    words = f"**{name}** enters with weight {weight}"
    if state.left:
        gone = ", ".join(escape_markdown(context.name(j)) for j in state.left)
        words += f"; {gone} leaves, because its weight would be negative"
    return words + "."


def _line(context: ModelContext, number: int, state: CodeState) -> dict[str, Any]:
    """A step as a line of the table."""
    line = {
        "step": number,
        "enters": "" if state.entered < 0 else context.name(state.entered),
        "leaves": ", ".join(context.name(j) for j in state.left),
        "prototypes": int(np.count_nonzero(state.weights)),
        "reconstruction error %": 100 * state.error,
    }
    line["prediction"] = context.outputs[state.winner]
    scores = zip(context.outputs, state.scores, strict=True)
    return line | {f"score {name}": float(score) for name, score in scores}


def _cases(context: ModelContext, x: np.ndarray, state: CodeState) -> None:
    """The training rows behind the code, by their weight in the reconstruction."""
    model, estimator = context.model, context.fit().finished()
    weight = model.mixing @ state.weights
    n_cases = np.count_nonzero(weight)
    shown = np.argsort(-weight, kind="stable")[: min(_MOST_CASES, n_cases)]
    rows = context.data.split.train[estimator.anchor_rows_[shown]]
    dataset = context.data.dataset
    numbers = dataset.row_numbers(rows)
    share = weight[shown] / weight.sum()
    st.markdown("**Training rows of the code**, by weight in the reconstruction")
    titles = [
        f"{_percent(part)}: row {n}, {dataset.y[r]}"
        for part, n, r in zip(share, numbers, rows, strict=True)
    ]
    if len(context.shape) > 1:
        mean = weight @ context.data.X[context.data.split.train[estimator.anchor_rows_]]
        pictures = np.vstack([x, mean / weight.sum(), context.data.X[rows]])
        draw(context, pictures, ["this row", "weighted mean", *titles], "code_rows")
        st.caption(
            "The reconstruction is in feature space and has no picture of its own; "
            "shown is the mean of the training rows of the code, by weight."
        )
    places = [
        ", ".join(str(j + 1) for j in np.flatnonzero(model.mixing[a] * state.weights))
        for a in shown
    ]
    about = {"weight %": 100 * share, "class": dataset.y[rows], "in prototypes": places}
    with st.container() if len(context.shape) == 1 else st.popover("Show as a table"):
        table(context.table_of(rows, about), hide_index=False)
    if n_cases > len(shown):
        st.caption(f"{n_cases - len(shown)} more have smaller weights.")
