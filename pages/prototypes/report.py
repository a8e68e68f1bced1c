"""The rule in words, and the report: every prototype, and what can be checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.prototypes.detail import lines, oddities
from pages.prototypes.model_context import ModelContext
from pages.state import session
from pages.state.session import Slot
from pages.state.state_file import WORD
from pages.ui import elements, explanation_sheet, fold_scores
from pages.ui.elements import download, expander
from pages.ui.explanation_sheet import holds_rows, include_rows, rows_of_parts
from pages.ui.text import message, short_label
from pages.work.tasks import Task
from smpcore import SmpcoreError, report
from smpcore.datasets import only_compared, plural, with_unit
from smpcore.evaluation import group_rows, row_measures
from smpcore.explain import nearest_examples
from smpcore.live import TITLES, of_part
from smpcore.readouts import COVERAGE, READOUTS, Section
from smpcore.report import (
    FIELDS,
    LONGEST,
    calibration_section,
    characteristics_section,
    cleaning_section,
    columns_section,
    confusion_section,
    instability_section,
    manuscript,
    numbers_section,
    optimism_section,
    parts_section,
    residuals_section,
    sample_size_section,
    sites_section,
    stated_section,
    subgroups_section,
    summary_section,
    text_rule,
    tripod_section,
    typical_row,
    versions_section,
)

_RULE = Slot[Section]("rule")


def _threshold(context: ModelContext) -> Section | None:
    """Where a model of two classes says yes, and who said so."""
    classes = context.model.classes
    if classes is None or len(classes) != 2:
        return None
    higher = "the higher one" if context.outcome else "not the lower one"
    words = f"As fitted: {classes[context.outcome]} is predicted where its score is "
    words += f"{higher}. "
    words += "There is no band of answers that are not sure."
    if context.operating:
        # A link says nothing of it.
        basis = context.choice.set_by or "How they were chosen was not recorded."
        words = f"{context.operating}. A margin is the score of a class less that of "
        words += f"the other. {basis} The threshold is part of the intercepts below."
    return Section("Threshold and band", (words,))


def _subgroups(context: ModelContext) -> Section | None:
    """The groups that were looked at last on Performance; None if none were."""
    data, model, column = context.data, context.model, context.subgroup_column
    if column not in data.dataset.roles:
        return None
    part = data.scored_part
    X, y = data.of(part)
    sure = {}
    if model.calibration is not None and model.classes is not None:
        sure = {"probabilities": model.probabilities(X)}
    elif model.calibration is not None:
        sure = {"intervals": model.intervals(X, COVERAGE)}
    measures = row_measures(model.classes, model.predict(X), y, **sure)
    rows = getattr(data.split, part), measures, data.clusters(part), data.weights(part)
    try:
        grouping = group_rows(data.dataset, column, data.split.train)
    except SmpcoreError as problem:
        return Section("Subgroups", (str(problem),))
    return subgroups_section(grouping, *rows)


def _residuals(context: ModelContext, checked: list[str]) -> Section:
    """Of rows that the model was not fitted on, if there are any."""
    parts, dataset = rows_of_parts(context, checked or ["train"]), context.data.dataset
    return residuals_section(context.model, parts, with_unit(dataset, dataset.target))


def _studied(
    context: ModelContext, slot: Slot[Task], *sections: Callable[[Any], Section | None]
) -> list[Section | None]:
    """What a study on Performance gave last of this model; empty if none was made."""
    task = slot.about(context.key, context.outcome)
    if task is None or not task.done or task.problem:
        return []
    result = task.result()
    return [section(result) for section in sections]


def _parameters(context: ModelContext) -> Section:
    """Each setting of the method, where it is from, and among how many it was chosen.

    Nobody noted what was looked at in other visits.
    """
    usual, lines = context.method.defaults(context.task), []
    for name, value in context.values.items():
        origin = "set by hand" if name in context.choice.values else "by the data"
        label = next((p.label for p in context.params if p.name == name), "")
        line = {"parameter": name, "control": label, "value": str(value)}
        same = name in usual and value == usual[name]
        lines.append(line | {"from": "default" if same else origin})
    noted = session.get().compared.get(context.table.name, set())
    kinds = [kind for kind, _ in noted]
    words = (
        "Models of these data that were looked at in this visit, this one among them: "
        f"{max(kinds.count('fitted'), 1)}. Settings compared in cross-validation on "
        f"Trade-off or by Choose for me: {kinds.count('swept')}. What was looked at on "
        "Compare, in other visits or in other programs was not counted. Figures on "
        "rows that a setting was chosen on are too good."
    )
    return Section("Choice of parameters", (words, lines))


def opened(context: ModelContext) -> str:
    """How often the test part was opened, in words."""
    times, is_open = context.times_opened, context.data.dataset.open_test
    never = "always open (generated data)" if is_open else "never"
    return plural(times, "time") if times else never


def checked_sections(context: ModelContext, real: bool) -> list[Section]:
    """Every section that there is of a model, with training rows or without them."""
    model, data = context.model, context.data
    preparation = data.preparation
    tables = rows_of_parts(context, context.open_parts)
    used = preparation.used_columns(model.support)
    inputs = zip(preparation.inputs, used, strict=True)
    names = [one.name for one, is_used in inputs if is_used]
    checked = [part for part in context.open_parts if part != "train"]
    of_classes, calibration = model.classes is not None, model.calibration
    fitted = context.fit().finished().model_
    rows_of = {TITLES[part]: getattr(data.split, part) for part in context.open_parts}
    # A pixel, a time of a series or a similarity is nothing to describe by itself.
    of_columns = len(context.shape) == 1 and not only_compared(data.dataset)
    every = (
        _parameters(context),
        confusion_section(model, tables)
        if of_classes
        else _residuals(context, checked),
        _threshold(context),
        _subgroups(context),
        *_studied(context, fold_scores.SITES, sites_section),
        *_studied(
            context,
            fold_scores.OPTIMISM,
            optimism_section,
            instability_section,
            sample_size_section,
        ),
        calibration_section(model, rows_of_parts(context, checked), fitted)
        if calibration is not None
        else None,
        characteristics_section(data.dataset, rows_of) if of_columns else None,
        columns_section(data.dataset, preparation, data.split.train, names),
        cleaning_section(context.table),
        parts_section(data.dataset, data.split, opened(context)),
        explanation_sheet.numbers(model, real),
        versions_section(model, preparation),
    )
    return [section for section in every if section is not None]


_NEAREST = 3
#: Real rows that a reader can begin with.
_EXAMPLES = 12


def _offered(context: ModelContext) -> dict[str, str]:
    """Sections that are in a report once a page has computed them -> where."""
    is_classifier = context.model.classes is not None
    calibration = "Probabilities" if is_classifier else "Intervals"
    sections = {
        "Optimism": "Optimism",
        "Instability of predictions": "Optimism",
        "Sample size": "Optimism",
        "Subgroups": "Subgroups",
        "Sites or Periods": "Sites and periods",
        "Calibrated probabilities or Prediction intervals": calibration,
    }
    return {title: f"Performance > {one}" for title, one in sections.items()}


def section(context: ModelContext) -> None:
    """Say what the report will hold, and offer it."""
    if context.texts:
        st.caption("There is no report about texts: All has every prototype.")
        return
    what = "most similar training rows"
    real = include_rows(context, what, "report_rows")
    if holds_rows(context.model, real):
        st.warning(
            "These prototypes are based on training rows: their portraits are omitted "
            "unless these are included."
        )
    make = partial(written, context, real)
    with st.container(horizontal=True):
        download("Download the report", make, "prototypes.html", key="report_download")
        make = partial(make, write=manuscript)
        label = "Download as Markdown, CSV and SVG"
        download(label, make, "report.zip", key="report_manuscript")
    st.caption(
        "The explanation sheet with the decision rule, every prototype with your name "
        "and note, the model to try other values, and the numbers to check it. "
        + explanation_sheet.contents(context, context.model, real, what)
        + " For a manuscript: a zip with the same text, tables and pictures, without "
        "the model to try."
    )
    with expander("What only you can state", "stated", "edit_note"):
        _form(context)


def _stated(context: ModelContext) -> dict[str, str]:
    """What the author states about these data."""
    return session.get().stated.setdefault(context.table.name[:WORD], {})


def _form(context: ModelContext) -> None:
    """A field for each thing that reviewers ask for and no program knows."""
    stated = _stated(context)
    message(
        st.caption,
        f"About {short_label(context.table.name)}, whatever roles and rows it has. "
        "Reviewers look for it after TRIPOD+AI. It is part of the report and of saved "
        "state files, of no link; what is left empty is named in the report as a gap.",
    )
    places, edition = st.columns(2), session.get().editions["controls"]
    for number, (field, (title, help)) in enumerate(FIELDS.items()):
        widget = f"stated_{field}_{hash(context.table.name)}_{edition}"
        options = {"on_change": _state, "args": (stated, field, widget), "help": help}
        options |= {"max_chars": LONGEST, "height": 68, "key": widget}
        places[number % 2].text_area(title, stated.get(field, ""), **options)


def _state(stated: dict[str, str], field: str, widget: str) -> None:
    stated[field] = st.session_state[widget]


def written(
    context: ModelContext, real: bool, write: Callable[..., Any] = report
) -> Any:
    """The report of a model, as `report` or `manuscript` write it."""
    model, notes, shown = context.model, context.notes, context.portraits
    hidden = holds_rows(model, real)
    title = f"Prototypes of {context.data.dataset.name}"
    examples, facts = _examples(context) if real else None, facts_of(context)
    page = explanation_sheet.page(
        context, model, real, title, facts, context.names, examples
    )
    stated = _stated(context)
    sections = [*page.sections, *checked_sections(context, real)]
    sections.append(stated_section(stated))
    every = [summary_section(page), *sections]
    sections.append(tripod_section(every, stated, _offered(context)))
    page = replace(
        page,
        portraits=context.in_place(shown.values * (not hidden)),
        signed=shown.signed or hidden,
        shape=context.shape,
        what="Portraits are omitted, as they are training rows."
        if hidden
        else shown.coloured,
        names={j: note["name"] for j, note in notes.items()},
        notes={j: note["note"] for j, note in notes.items()},
        warnings={j: oddities(context, j) for j in range(model.n_prototypes)},
        prototypes=lines(context),
        rows=_rows(context) if real else (),
        sections=sections,
    )
    return write(model, page)


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
    facts = {
        "Data": f"{data.dataset.name} ({data.dataset.n_samples} rows)",
        "Digest": data.dataset.digest,
        "Split": f"{data.split.train.size} training rows, key {data.split.key}",
        "Method": context.method.title,
    }
    if (asks := data.dataset.follow_up) is not None:
        facts["Question"] = f"{asks.title}? {asks.rule}"
    if data.dataset.weight:
        facts["Weights"] = f"rows weighted by column {data.dataset.weight}"
    if choice.forbidden:
        facts[READOUTS["forbidden"].label] = ", ".join(choice.forbidden)
    if len(data.split.test):
        facts["Test set opened"] = opened(context)
    for part in context.open_parts:
        scores = data.evaluate(context.model, part)
        for entry in of_part(part, scores, data, context.model.band):
            facts[entry["name"]] = f"{entry['value']} ({entry['detail']})"
    return facts


def _rows(context: ModelContext) -> list[Section]:
    """Training rows nearest to each prototype, of at most 20 columns."""
    dataset, sections = context.data.dataset, []
    near = nearest_examples(context.model, context.rows[0], _NEAREST)
    for j, places in enumerate(near):
        rows = context.data.split.train[places]
        heads = [f"row {number}" for number in dataset.row_numbers(rows)]
        lines = []
        for name in [*dataset.feature_columns[:20], dataset.target]:
            values = dataset.frame[name].iloc[rows]
            line = {"column": str(name)} | dict(zip(heads, values, strict=True))
            lines.append(line)
        title = f"Nearest to {context.name(j)}"
        sections.append(Section(title, (lines,), folded=True))
    return sections


def rule(context: ModelContext) -> None:
    """What the explanation sheet says of the rule."""
    if context.texts:
        section = text_rule(context.model, context.texts)
        elements.show_section(section)
        return
    seen = tuple(context.names), tuple(context.open_parts), context.outcome
    key = context.key, context.operating, seen
    make = partial(explanation_sheet.rule, context, context.model, context.names)
    elements.show_section(_RULE.get_or_make(key, make))
    numbers = replace(numbers_section(context.model), folded=True)
    elements.show_section(Section("", (numbers,)))
