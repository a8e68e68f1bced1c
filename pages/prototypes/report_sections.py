"""Sections of the report from which a colleague can check the model."""

from __future__ import annotations

from pages.prototypes.context import ModelContext
from pages.ui.explanation_sheet import holds_rows, rows_of_parts
from pages.ui.quality import scored_part
from smpcore import SmpcoreError
from smpcore.datasets import plural
from smpcore.evaluation import group_rows, row_measures
from smpcore.explain import Section
from smpcore.report import (
    calibration_section,
    cleaning_section,
    columns_section,
    confusion_section,
    numbers_section,
    parts_section,
    subgroups_section,
    versions_section,
)


def _threshold(context: ModelContext) -> Section | None:
    """Where a model of two classes says yes, and who said so."""
    classes = context.model.classes
    if classes is None or len(classes) != 2:
        return None
    words = f"As fitted: {classes[1]} is predicted where its score is the higher one. "
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
    part = scored_part(data)
    X, y = data.of(part)
    probabilities = None
    if model.classes is not None and model.calibration is not None:
        probabilities = model.probabilities(X)
    measures = row_measures(model, X, y, probabilities)
    rows = getattr(data.split, part), measures, data.clusters(part), data.weights(part)
    try:
        grouping = group_rows(data.dataset, column, data.split.train)
    except SmpcoreError as problem:
        return Section("Subgroups", (str(problem),))
    return subgroups_section(grouping, *rows)


def opened(context: ModelContext) -> str:
    """How often the test part was opened, in words."""
    times, is_open = context.times_opened, context.data.dataset.open_test
    never = "always open (generated data)" if is_open else "never"
    return plural(times, "time") if times else never


def _numbers(context: ModelContext, real: bool) -> Section:
    """The whole rule; what is made of training rows only where these are shown."""
    if holds_rows(context.model, real):
        words = "Left out, as the model holds training rows; these are not included."
        return Section("The model in numbers", (words,))
    return numbers_section(context.model)


def sections(context: ModelContext, real: bool) -> list[Section]:
    """Every section that there is of a model, with training rows or without them."""
    model, data = context.model, context.data
    preparation = data.preparation
    tables = rows_of_parts(context, context.open_parts)
    used = preparation.used_columns(model.support)
    inputs = zip(preparation.inputs, used, strict=True)
    names = [one.name for one, is_used in inputs if is_used]
    checked = [part for part in context.open_parts if part != "train"]
    of_classes, calibration = model.classes is not None, model.calibration
    every = (
        confusion_section(model, tables) if of_classes else None,
        _threshold(context),
        _subgroups(context),
        calibration_section(model, rows_of_parts(context, checked))
        if calibration is not None
        else None,
        columns_section(data.dataset, preparation, data.split.train, names),
        cleaning_section(context.table),
        parts_section(data.dataset, data.split, opened(context)),
        _numbers(context, real),
        versions_section(model, preparation),
    )
    return [section for section in every if section is not None]
