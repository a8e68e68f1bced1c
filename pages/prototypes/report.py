"""The report: the explanation sheet with every prototype, and what can be checked."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.prototypes.context import ModelContext
from pages.prototypes.detail import oddities
from pages.prototypes.portraits import lines
from pages.prototypes.report_sections import opened, sections
from pages.ui import explanation_sheet, readouts
from pages.ui.file_download import download
from smpcore import report
from smpcore.explain import nearest_examples
from smpcore.readouts import READOUTS
from smpcore.report import typical_row

_NEAREST = 3
#: Real rows that a reader can begin with.
_EXAMPLES = 12


def section(context: ModelContext) -> None:
    """Say what the report will hold, and offer it."""
    if context.texts:
        st.caption("There is no report about texts: All has every prototype.")
        return
    what = "most similar training rows"
    real = explanation_sheet.include_rows(context, what, "report_rows")
    if explanation_sheet.holds_rows(context.model, real):
        st.warning(
            "These prototypes are based on training rows: their portraits are omitted "
            "unless these are included."
        )
    make = partial(html, context, real)
    download("Download the report", make, "prototypes.html", key="report_download")
    st.caption(
        "The explanation sheet with the decision rule, every prototype with your name "
        "and note, the model to try other values, and the numbers to check it. "
        + explanation_sheet.contents(context, context.model, real, what)
    )


def html(context: ModelContext, real: bool) -> str:
    """The report of a model as a whole HTML document."""
    model, notes, shown = context.model, context.notes, context.portraits
    hidden = explanation_sheet.holds_rows(model, real)
    title = f"Prototypes of {context.data.dataset.name}"
    of = context, model, real, title, facts_of(context), context.names
    page = explanation_sheet.page(*of, _examples(context) if real else None)
    page = replace(
        page,
        portraits=context.in_place(shown.values * (not hidden)),
        signed=shown.signed or hidden,
        shape=context.shape,
        what="Portraits are omitted, as they are training rows."
        if hidden
        else shown.what,
        names={j: note["name"] for j, note in notes.items()},
        notes={j: note["note"] for j, note in notes.items()},
        warnings={j: oddities(context, j) for j in range(model.n_prototypes)},
        prototypes=lines(context),
        rows=_rows(context) if real else (),
        sections=[*page.sections, *sections(context, real)],
    )
    return report(model, page)


def _examples(context: ModelContext) -> pd.DataFrame:
    """What a reader can begin with: typical values and real rows."""
    data, dataset = context.data, context.data.dataset
    near = nearest_examples(context.model, context.rows[0], 1)[:_EXAMPLES, 0]
    rows = data.split.train[np.unique(near)]
    examples = dataset.frame.iloc[rows]
    names = zip(dataset.row_numbers(rows), dataset.y[rows], strict=True)
    examples.index = [f"Row {n} ({dataset.target}: {y})" for n, y in names]
    training = dataset.frame.iloc[data.split.train]
    return pd.concat([typical_row(training, data.preparation), examples])


def facts_of(context: ModelContext) -> dict[str, str]:
    """Where the model comes from and how good it is."""
    choice, data = context.choice, context.data
    values = ", ".join(f"{name}={v}" for name, v in context.values.items())
    facts = {
        "Data": f"{data.dataset.name} ({data.dataset.n_samples} rows)",
        "Digest": data.dataset.digest,
        "Split": f"{data.split.train.size} training rows, key {data.split.key}",
        "Method": context.method.title,
        "Parameters": values,
    }
    if (asks := data.dataset.follow_up) is not None:
        facts["Question"] = f"{asks.title}? {asks.rule}"
    if choice.forbidden:
        facts[READOUTS["forbidden"].label] = ", ".join(choice.forbidden)
    if len(data.split.test):
        facts["Test set opened"] = opened(context)
    for part in context.open_parts:
        scores = data.evaluate(context.model, part)
        for entry in readouts.of_part(part, scores, data):
            facts[entry["name"]] = f"{entry['value']} ({entry['detail']})"
    return facts


def _rows(context: ModelContext) -> list[dict[str, Any]]:
    """Training rows nearest to each prototype, of at most 20 columns."""
    dataset, rows = context.data.dataset, []
    near = nearest_examples(context.model, context.rows[0], _NEAREST)
    columns = [*dataset.feature_columns[:20], dataset.target]
    for j, places in enumerate(near):
        for row in context.data.split.train[places]:
            values = dataset.frame[columns].iloc[row]
            line = {"nearest to": context.name(j), "row": int(dataset.row_numbers(row))}
            rows.append(line | {str(name): values[name] for name in columns})
    return rows
