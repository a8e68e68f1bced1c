"""The report: one HTML file to take away."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from pages.shared import readouts, rules
from pages.shared.portraits import lines, oddities
from pages.shared.readouts import TITLES
from pages.shared.sight import Sight
from smpcore import METHODS, Page, evaluate, nearest_examples, report

_NEAREST = 3


def section(sight: Sight) -> None:
    """Say what the report will hold, and offer it."""
    dataset = sight.data.dataset
    real = st.checkbox(
        "Quote the nearest real training rows",
        value=not dataset.private,
        key=f"report_rows_{dataset.digest}",
        help="Your own data leave the app only if you ask for it.",
    )
    made_of_rows = "real case" in sight.model.kind_of_prototype
    hidden = dataset.private and made_of_rows and not real
    if hidden:
        st.warning(
            "These prototypes are made of your rows: their portraits are left out "
            "unless rows may be quoted."
        )
    st.download_button(
        "Download the report",
        data=partial(html, sight, facts_of(sight), real),
        file_name="prototypes.html",
        mime="text/html",
        icon=":material/download:",
        on_click="ignore",
        key="report_download",
        help="One file: the rule, the prototypes, your names and notes. No script, no "
        "network.",
    )
    st.caption(
        "It holds the model's rule, every prototype with your name and note, and its "
        + ("nearest training rows." if real else "facts; no table of real rows.")
    )


def html(sight: Sight, facts: dict[str, str], real: bool) -> str:
    """The report of a model as a whole HTML document.

    A button calls this in a thread without a session: what needs one is there already.
    """
    model, notes = sight.model, sight.notes
    hidden = not real and "real case" in model.kind_of_prototype
    hidden = hidden and sight.data.dataset.private
    page = Page(
        title=f"Prototypes of {sight.data.dataset.name}",
        facts=facts,
        portraits=sight.in_place(sight.portraits * (not hidden)),
        signed=sight.signed or hidden,
        shape=sight.shape,
        what="Portraits are left out: they are real rows." if hidden else sight.what,
        names={j: note["name"] for j, note in notes.items()},
        notes={j: note["note"] for j, note in notes.items()},
        warnings={j: oddities(sight, j) for j in range(model.n_prototypes)},
        prototypes=lines(sight),
        rows=_rows(sight) if real else (),
        rule=None if hidden else rules.rule(sight),
    )
    return report(model, page)


def facts_of(sight: Sight) -> dict[str, str]:
    """Where the model comes from and how good it is; reads the visitor's notes too."""
    choice, data, _ = sight.choice, sight.data, sight.notes
    values = ", ".join(f"{name}={v}" for name, v in choice.all_values.items())
    facts = {
        "Data": f"{data.dataset.name} ({data.dataset.n_samples} rows)",
        "Digest": data.dataset.digest,
        "Split": f"{data.split.train.size} training rows, key {data.split.key}",
        "Method": METHODS[choice.method].title,
        "Parameters": values,
    }
    if choice.forbidden:
        facts["Forbidden features"] = ", ".join(choice.forbidden)
    if len(data.split.test) and not data.dataset.open_test:
        times = choice.times_opened
        facts["Test set opened"] = f"{times} times" if times else "never"
    parts = ["train", "validation"]
    if choice.open_test or data.dataset.open_test:
        parts.append("test")
    for part in parts:
        X, y = data.of(part)
        if len(y):
            scores = evaluate(sight.model, X, y, data.clusters(part))
            for told in readouts.of_part(TITLES[part], scores, data):
                facts[told["name"]] = f"{told['value']} ({told['detail']})"
    if choice.opened and (times := choice.times_opened):
        facts["Test set opened"] = f"{times} time{'s' * (times > 1)}"
    return facts


def _rows(sight: Sight) -> list[dict[str, Any]]:
    """Training rows nearest to each prototype, of at most 20 columns."""
    dataset, found = sight.data.dataset, []
    near = nearest_examples(sight.model, sight.rows[0], _NEAREST)
    columns = [*dataset.feature_columns[:20], dataset.target]
    for j, places in enumerate(near):
        for row in sight.data.split.train[places]:
            values = dataset.frame[columns].iloc[row]
            line = {"nearest to": sight.name(j), "row": int(row)}
            found.append(line | {str(name): values[name] for name in columns})
    return found
