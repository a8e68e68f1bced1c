"""What a model takes on boards: memory, latency and charge of a prediction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state.session import Slot
from pages.ui.elements import (
    expander,
    is_waiting,
    persistent_data_editor,
    table,
    visit_task,
)
from pages.ui.exports import Export
from pages.ui.text import escape_markdown, message
from pages.work.tasks import STUDIES, Task
from smpcore import figures, quantise
from smpcore.chips import (
    CHIPS,
    ChipCosts,
    PredictionCost,
    available,
    estimate_costs,
    measure_costs,
    needs_conversion,
)
from smpcore.codegen import CompiledModel, QuantModel, Stream
from smpcore.datasets import plain_number
from smpcore.errors import ExportError
from smpcore.evaluation import ComparedFormat
from smpcore.readouts import READOUTS, number_text

_COSTS, EDITED = Slot[Task]("measured"), Slot[pd.DataFrame]("export_boards")
_NUMBERS = ("flash, kB", "RAM, kB", "MHz", "mA per MHz")
_RESERVED = {"flash": "reserved flash, B", "RAM": "reserved RAM, B"}
#: Boards to begin with. The currents are rough: a data sheet is more accurate. What is
#: reserved, see `_RESERVED_HELP`, is printed by ``python -m tests.bench.reserved``.
_START = pd.DataFrame(
    [
        ("Arduino Uno", "ATmega328P", 32.0, 2.0, 16.0, 0.6, 2150, 262),
        ("Small Cortex-M0", "Cortex-M0", 32.0, 4.0, 48.0, 0.3, 1396, 312),
        ("Cortex-M4F", "Cortex-M4F", 256.0, 64.0, 64.0, 0.1, 2128, 384),
    ],
    columns=["board", "chip", *_NUMBERS, *_RESERVED.values()],
)
_RESERVED_HELP = (
    "What a program takes without the model. Arduino Uno, measured: its core with "
    "Serial, the deepest stack of that with its interrupts, and 512 B of bootloader. "
    "Cortex-M: a start in C without a system, measured, with the table of interrupts "
    "and the frame of one by Arm's manuals. Zephyr takes 7 to 8 kB of flash, says its "
    "documentation: enter what yours takes."
)
_KILO = 1024


def section(
    made: Export,
    form: ComparedFormat,
    chip: str,
    key: Any,
    in_floats: Export,
    stream: Stream | None = None,
    rate: int | None = None,
) -> tuple[dict[str, ChipCosts], str]:
    """What a format of the model needs and takes, on a chip and on boards.

    Returns the costs of each chip, and whether the model fits on its boards and keeps
    up with a stream of so many samples per second.
    """
    models = [form.model, *_converting(form, made, in_floats)]
    costs, origin, failed = _costs(models, (key, form.name), stream)
    known = costs[0]
    _metrics(made, form, chip, known.get(chip))
    if stream:
        st.caption(_stream_in_words(form, stream, known.get(chip)))
    if chip in known and form.is_whole:
        st.caption(inputs_in_words(form, *(one[chip] for one in costs)))
    for warning in form.model.warnings:
        st.warning(warning)
    if chip in failed:
        origin = "Estimated, as it could not be measured."
    if chip not in known:
        origin = "No cost estimate is available for this model."
    st.caption(f"{origin} Cortex-M: instructions, each of which takes a cycle or more.")
    return known, verdict(_boards(known, failed, rate) if known else [], chip)


def _converting(
    form: ComparedFormat, made: Export, in_floats: Export
) -> list[QuantModel]:
    """The model that converts floats, where counts have spared it that."""
    if not made.counts or not form.is_whole or needs_conversion(form.model):
        return []
    try:
        return [quantise(in_floats.compiled, form.model.width)]
    except ExportError:
        return []


def _costs(
    models: list[CompiledModel | QuantModel], key: Any, stream: Stream | None
) -> tuple[list[dict[str, ChipCosts]], str, set[str]]:
    """Costs of each model, measured as soon as that is done; their origin; and chips on
    which the first model could not be measured.
    """
    costs = [estimate_costs(model, stream) for model in models]
    if not available():
        words = (
            "Estimated: 19 of 20 models that the estimate was not fitted to are no "
            "further off. No compiler and simulator of a chip is installed here."
        )
        return costs, words, set()
    work = partial(_measured, models, stream)
    task = visit_task(_COSTS, key, work, line=STUDIES)
    words = "Estimated; compiling and running it on simulated chips"
    if is_waiting(task, 0.0, words, stoppable=False):
        return costs, "Estimated until it is measured.", set()
    results = task.result()
    for place, (measured, problems) in enumerate(results):
        costs[place] = costs[place] | measured
        for _, problem in problems:
            message(st.info, problem)
    words = "Measured here on simulated chips: the most of rows of all kinds."
    return costs, words, {*dict(results[0][1])}


def _measured(
    models: list[CompiledModel | QuantModel],
    stream: Stream | None,
    stop: np.ndarray,
    progress: np.ndarray,
) -> list[tuple[dict[str, ChipCosts], list[tuple[str, str]]]]:
    results = []
    for model in models:
        part = np.zeros(1)
        results.append(measure_costs(model, stop, part, stream))
        progress[0] += part[0] / len(models)
    return results


def _stream_in_words(
    form: ComparedFormat, stream: Stream, both: ChipCosts | None
) -> str:
    """What a stream keeps, and what a sample without an answer takes."""
    words = (
        f"Stream: of {stream.n_times:,} samples of {len(stream.channels)} channels it "
        f"keeps {stream.n_slots(form.model):,} values, which a window still needs. "
    )
    if both and not both.linked.lacks_stream:
        cost = both.linked
        return f"{words}A sample without an answer: {cost.sample:,} {cost.counted}."
    return (
        f"{words}RAM is that of the stream; flash and time are those of a row at once "
        "until the stream is measured."
    )


def inputs_in_words(
    form: ComparedFormat, both: ChipCosts, converting: ChipCosts | None = None
) -> str:
    """What the costs take in of what a model of integers needs for its inputs."""
    if not needs_conversion(form.model):
        text = (
            "All inputs are whole numbers that the model takes as they are: a program "
            "links no conversion, and the boards below are evaluated without it."
        )
        return text + (f" {_spared(both, converting)}" if converting else "")
    numbers = [one for one in form.model.inputs if one.is_number]
    advice = " Fill in *Inputs as counts of a converter* if yours come as such."
    if all(one.comes_as_counts for one in numbers):
        advice = " All inputs are whole numbers: macros of the C do without it."
    return (
        "With the conversion from floats, which a program links unless its inputs come "
        f"as whole numbers. {_spared(both, both)} The boards below are evaluated with "
        f"the conversion.{advice}"
    )


def _spared(both: ChipCosts, converting: ChipCosts) -> str:
    """Flash and time without and with the conversion from floats."""
    alone, linked = both.alone, converting.linked
    flash, count = "B of flash", f"{alone.counted} per prediction"
    return (
        f"Without float code: {alone.in_words('flash', flash)}, "
        f"{alone.in_words('count', count)} instead of "
        f"{linked.in_words('flash', 'B')} and {linked.in_words('count', '')}."
    )


def _metrics(
    made: Export, form: ComparedFormat, chip: str, both: ChipCosts | None
) -> None:
    needed = f"{form.n_inputs} of {len(made.data.preparation.inputs)}"
    words, size = form.model.in_words, f"{form.model.table_bytes:,} B"
    with st.container(horizontal=True):
        st.metric("Inputs needed", needed, help=_constants(made), width=150)
        st.metric(
            READOUTS["n_prototypes"].label, made.n_prototypes, help=words, width=150
        )
        if both is None:
            st.metric("Tables in flash", size, width=150)
            return
        cost = both.linked
        st.metric(
            f"Flash, {chip}", cost.in_words("flash", "B"), help=cost.origin, width=190
        )
        st.metric("RAM", f"{cost.ram:,} B", help=ram_in_words(cost), width=150)
        st.metric(
            f"{cost.counted.capitalize()} per prediction",
            cost.in_words("count", ""),
            help=cost.origin,
        )
    st.caption(f"RAM: {ram_in_words(cost)}.")


def ram_in_words(cost: PredictionCost) -> str:
    """The bytes of RAM, one by one."""
    return (
        f"{cost.inputs:,} B of inputs, which the caller fills, + {cost.buffers:,} B of "
        f"integers made from them + {cost.stack:,} B of stack + {cost.static:,} B of "
        f"variables = {cost.ram:,} B"
    )


def _constants(made: Export) -> str | None:
    """Which columns are not needed because they never vary, if there are such."""
    if names := made.provenance.get("constant_in_training"):
        text = "Not needed, as they have one value in all training rows: "
        return escape_markdown(f"{text}{', '.join(names)}.")
    return None


def _boards(
    known: Mapping[str, ChipCosts], failed: set[str], rate: int | None
) -> list[dict[str, str]]:
    place = st.container()
    boards = editor()
    rows = lines(boards, known, failed, rate)
    with place:
        if rows:
            figure = figures.memory_bars(memories(boards, known))
            alt = "Share of each board's memory; the table below has the same numbers"
            st.plotly_chart(figure, key="memories", alt=alt)
        with expander("Show as a table, with latency and charge", "fits", "table"):
            table(rows)
        if large := [row["board"] for row in rows if row["fits"].startswith("no")]:
            names = ", ".join(large)
            message(st.warning, f"Too large for {names}. It can still be exported.")
        if late := [r["board"] for r in rows if r.get("keeps up", "").startswith("no")]:
            words = (
                "Does not keep up with the samples on {}. A longer hop, fewer features "
            )
            words += "or a faster clock may help."
            message(st.warning, words.format(", ".join(late)))
    return rows


#: Whether a model fits -> the begin of a sentence.
_VERDICTS = {
    "yes": "Fits",
    "no": "Does **not** fit",
    "unknown": "Whether it fits is not known",
}
#: Whether a board keeps up with samples -> the same.
_KEEPS_UP = {
    "yes": "It keeps up",
    "no": "It does **not** keep up",
    "unknown": "Whether it keeps up is not known",
}


def verdict(rows: list[dict[str, str]], chip: str) -> str:
    """Which boards with a chip the model fits on, and which it does not; Markdown."""
    sentences = []
    for row in rows:
        if row["chip"] == chip:
            answer, _, why = row["fits"].partition(": ")
            board, why = escape_markdown(row["board"]), f", {why}" if why else ""
            sentences.append(
                f"{_VERDICTS[answer]} on **{board}** ({chip}){why}: "
                f"{row['of its memory']}."
            )
            if "keeps up" in row:
                answer, _, why = row["keeps up"].partition(": ")
                sentences.append(f"{_KEEPS_UP[answer]}: {why}.")
    return " ".join(sentences)


def editor() -> list[dict[str, Any]]:
    """Let the visitor say which boards there are; those without a gap."""
    with expander("Boards, clock and current", "boards", "developer_board"):
        st.caption(
            "Change or add boards. Charge per prediction = cycles times mA per MHz: an "
            "estimate, for which the data sheet of your chip should give the current. "
            "What is reserved is explained at its columns."
        )
        number = st.column_config.NumberColumn
        edited = persistent_data_editor(
            EDITED,
            "",
            _START,
            hide_index=True,
            num_rows="dynamic",
            column_config={
                "board": st.column_config.TextColumn(max_chars=40),
                "chip": st.column_config.SelectboxColumn(options=list(CHIPS)),
                **{name: number(min_value=0) for name in _NUMBERS},
                **{
                    name: number(min_value=0, default=0, help=_RESERVED_HELP)
                    for name in _RESERVED.values()
                },
            },
        )
        whole = edited.dropna()
        whole = whole[(whole[list(_NUMBERS)] > 0).all(axis=1)]
        if left_out := len(edited) - len(whole):
            st.info(
                f"Boards with a gap or a zero are left out: {left_out}. Fill in every "
                "cell of theirs."
            )
    return whole.to_dict("records")


def memories(
    boards: list[dict[str, Any]], known: Mapping[str, ChipCosts]
) -> pd.DataFrame:
    """What is reserved of each memory of a board, and what the model takes; percent."""
    rows = []
    for board in boards:
        if board["chip"] in known:
            cost = known[board["chip"]].linked
            for name, takes in (("flash", cost.flash), ("RAM", cost.ram)):
                part = 100 / (board[f"{name}, kB"] * _KILO)
                parts = {"reserved": part * board[_RESERVED[name]]}
                parts |= {"this model": part * takes}
                rows.append({"memory": f"{board['board']}, {name}"} | parts)
    return pd.DataFrame(rows)


def lines(
    boards: list[dict[str, Any]],
    known: Mapping[str, ChipCosts],
    failed: Collection[str] = (),
    rate: int | None = None,
) -> list[dict[str, str]]:
    """The boards with what the model takes on them; chips that failed hold none."""
    rows = []
    for board in (one for one in boards if one["chip"] in known):
        cost = known[board["chip"]].linked
        rows.append(_line(board, cost, board["chip"] in failed))
        if rate:
            rows[-1]["keeps up"] = _keeps_up(board["MHz"], cost, rate)
    return rows


def _keeps_up(megahertz: float, cost: PredictionCost, rate: int) -> str:
    """Whether the longest sample of a stream is done before the next one comes."""
    if cost.lacks_stream:
        return "unknown: the code of the stream is not measured"
    share = cost.count * rate / (megahertz * 1e6)
    # An instruction takes a cycle or more: it can only be seen that a core is late.
    exact = cost.counted == "cycles"
    answer = "no" if share > 1 else "yes" if exact else "unknown"
    least = "" if exact else "at least "
    return f"{answer}: an answer takes {least}{number_text(share)} of a sample's time"


def _line(
    board: Mapping[str, Any], cost: PredictionCost, failed: bool
) -> dict[str, str]:
    room = {"flash": board["flash, kB"] * _KILO, "RAM": board["RAM, kB"] * _KILO}
    takes = {"flash": cost.flash * (1 + cost.flash_error), "RAM": cost.ram}
    left = {m: int(room[m] - board[_RESERVED[m]] - takes[m]) for m in room}
    lacks = [memory for memory in room if left[memory] < 0]
    fits = "yes"
    if lacks:
        fits = f"no: too little {' and '.join(lacks)}"
    elif failed:
        fits = "no: the measurement failed"
    elif cost.lacks_stream:
        fits = "unknown: the code of the stream is not measured"
    more, most = ("≥ ", "≤ ") if cost.lacks_stream else ("", "")
    shares = ", ".join(
        f"{m} {more}{number_text(getattr(cost, m.lower()) / room[m])} "
        + (f"({-n:,} B too few)" if n < 0 else f"({most}{n:,} B left)")
        for m, n in left.items()
    )
    # An instruction takes a cycle or more.
    least = more if cost.counted == "cycles" else "≥ "
    return {
        "board": str(board["board"]),
        "chip": str(board["chip"]),
        "fits": fits,
        "of its memory": shares,
        "latency": least + _scaled(cost.count / board["MHz"], "µs", "ms"),
        "estimated charge": least
        + _scaled(cost.count * board["mA per MHz"], "nC", "µC"),
    }


def _scaled(value: float, unit: str, thousands: str) -> str:
    if value < 1000:
        return f"{plain_number(value, 3)} {unit}"
    return f"{plain_number(value / 1000, 3)} {thousands}"
