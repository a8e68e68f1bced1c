"""The report: one HTML file to take away."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.prototypes import rules
from pages.prototypes.card import for_report
from pages.prototypes.context import ModelContext
from pages.prototypes.one import oddities
from pages.prototypes.portraits import lines
from pages.prototypes.report_sections import opened, sections
from pages.ui import readouts
from pages.ui.file_download import download
from smpcore import report
from smpcore.explain import nearest_examples
from smpcore.report import Calculator, Page, typical_row

_NEAREST = 3
#: Real rows that a reader can begin with.
_EXAMPLES = 12
_HIDDEN = (
    "The model is not in this file, as it holds training rows, "
    "and these are not included."
)


def section(context: ModelContext) -> None:
    """Say what the report will hold, and offer it."""
    dataset = context.data.dataset
    if context.texts:
        st.caption("There is no report about texts: All has every prototype.")
        return
    real = st.checkbox(
        "Include the most similar training rows",
        value=not dataset.private,
        key=f"report_rows_{dataset.digest}",
        help="Rows of your data are included only if you switch this on.",
    )
    made_of_rows = "real case" in context.model.kind_of_prototype
    hidden = dataset.private and made_of_rows and not real
    if hidden:
        st.warning(
            "These prototypes are based on your rows: their portraits are omitted "
            "unless training rows are included."
        )
    download(
        "Download the report",
        partial(html, context, real),
        "prototypes.html",
        key="report_download",
        help="One HTML file that needs no network: the decision rule, the prototypes, "
        "your names and notes, and the model itself, to try other values.",
    )
    model = "" if made_of_rows and not real else "the model itself, "
    rows = "its most similar training rows" if real else "no training rows"
    st.caption(
        f"Contains {model}the range, the median and the levels of every column in the "
        "training rows, the decision rule, every prototype with your name and note, "
        f"and {rows}."
    )


def html(context: ModelContext, real: bool) -> str:
    """The report of a model as a whole HTML document."""
    model, notes = context.model, context.notes
    holds_rows = not real and "real case" in model.kind_of_prototype
    hidden = holds_rows and context.data.dataset.private
    card, accuracy = for_report(context)
    page = Page(
        title=f"Prototypes of {context.data.dataset.name}",
        facts=facts_of(context),
        portraits=context.in_place(context.portraits.values * (not hidden)),
        signed=context.portraits.signed or hidden,
        shape=context.shape,
        what="Portraits are omitted, as they are training rows."
        if hidden
        else context.portraits.what,
        names={j: note["name"] for j, note in notes.items()},
        notes={j: note["note"] for j, note in notes.items()},
        warnings={j: oddities(context, j) for j in range(model.n_prototypes)},
        prototypes=lines(context),
        rows=_rows(context) if real else (),
        rule=None if hidden else rules.rule(context),
        card=card,
        accuracy_of_card=accuracy,
        sections=sections(context, real),
        calculator=_HIDDEN if holds_rows else calculator(context, real),
    )
    return report(model, page)


def calculator(context: ModelContext, real: bool) -> Calculator:
    """What a reader can begin with: typical values and real rows, if rows are shown."""
    data, shape = context.data, context.shape
    frame, picture = None, None
    if real:
        near = nearest_examples(context.model, context.rows[0], 1)[:_EXAMPLES, 0]
        rows = data.split.train[np.unique(near)]
        examples = data.dataset.frame.iloc[rows]
        dataset = data.dataset
        names = zip(dataset.row_numbers(rows), dataset.y[rows], strict=True)
        examples.index = [f"Row {n} ({dataset.target}: {y})" for n, y in names]
        training = data.dataset.frame.iloc[data.split.train]
        frame = pd.concat([typical_row(training, data.preparation), examples])
        frame = frame[::-1] if len(shape) == 2 else frame
    if len(shape) == 2:
        features = np.arange(float(context.model.n_features))[None]
        picture = context.in_place(features)[0].reshape(shape)
    names = [context.name(j) for j in range(context.model.n_prototypes)]
    return Calculator(data.preparation, frame, picture, names, data.dataset.target)


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
        facts["Forbidden features"] = ", ".join(choice.forbidden)
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
