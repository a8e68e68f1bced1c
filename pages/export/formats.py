"""One model in several number formats, each beside the float64 model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.ui import exports
from pages.ui.elements import table as show_table
from pages.ui.text import escape_markdown
from smpcore.chips import estimate_costs, needs_conversion
from smpcore.codegen import SensorRange
from smpcore.evaluation import (
    ComparedFormat,
    RegressionScores,
    Rows,
    Scores,
    compare_number_formats,
)
from smpcore.live import TITLES, quality
from smpcore.readouts import number_text

#: Ends of the names of costs: what the inputs are.
INPUTS = (", whole numbers", ", from floats")
#: Rows that differ are listed up to so many.
MOST_LISTED = 200


def forms(
    made: exports.Export,
    ranges: Mapping[str, SensorRange],
    stop: np.ndarray,
    progress: np.ndarray,
) -> dict[str, ComparedFormat]:
    """The model in every number format, compared on every open part."""
    data, parts = made.data, {}
    for part in made.parts:
        truth = data.y[getattr(data.split, part)]
        of_rows = data.clusters(part), data.weights(part)
        parts[part] = Rows(made.frame(part), truth, *of_rows)
    return compare_number_formats(
        made.compiled, made.model, made.preparation, parts, ranges, stop, progress
    )


def shown(results: Mapping[str, ComparedFormat], name: str) -> ComparedFormat:
    """The format of this name, or the first that there is if it is not possible."""
    form = results[name]
    return form if form.model else next(f for f in results.values() if f.model)


def in_words(scores: Scores | RegressionScores) -> str:
    """Score of a part, for a cell."""
    if isinstance(scores, RegressionScores):
        return number_text(scores.mae, "target", 6)
    return f"{number_text(scores.accuracy)} ({scores.hits} of {scores.rows})"


def lines(
    made: exports.Export, results: Mapping[str, ComparedFormat], chip: str
) -> list[dict[str, Any]]:
    """The formats as lines of a table, after float64 and before what takes no model."""
    what, baseline = "right", "majority-class baseline"
    if made.compiled.is_regression:
        what, baseline = "mean error", "training-median baseline"
    titles = {part: f"{TITLES[part]}: {what}" for part in made.parts}
    first = {"number format": "float64, as on the screen"}
    last = {"number format": baseline}
    for part, title in titles.items():
        scores = made.scores[part]
        first[title] = in_words(scores)
        if isinstance(scores, RegressionScores):
            always = made.provenance["accuracy"][part]["always_the_training_median"]
            last[title] = number_text(always, "target", 6)
        else:
            last[title] = number_text(scores.majority)
    rows = [first]
    for form in results.values():
        line = {"number format": form.name}
        for part, title in titles.items():
            parts = form.parts
            line[title] = in_words(parts[part].scores) if parts else "not possible"
        if form.model:
            line |= _apart(form) | _takes(form, chip)
        rows.append(line)
    columns = dict.fromkeys(name for line in rows for name in line)
    return [{name: line.get(name, "") for name in columns} for line in (*rows, last)]


def table(lines: list[dict[str, Any]], chip: str) -> None:
    """Show the formats as columns: those of a line would run out of a window."""
    shown = pd.DataFrame(lines).set_index("number format").T
    show_table(shown, hide_index=False)
    if any(end in name for end in INPUTS for name in shown.index):
        st.caption(
            f"Costs are estimated, for {chip}. Whole numbers: the prediction alone, "
            "enough where every input comes as the whole number that the model takes, "
            "for instance as counts of a converter. From floats: with the conversion "
            "of floats to those integers, which computes in floats; float32 takes "
            "floats as they are."
        )


def decision(form: ComparedFormat) -> str:
    """Whether a format answers as the model on the screen does."""
    alike = f"answers {form.n_rows - form.n_differ} of {form.n_rows} open rows as"
    if form.model.is_regression:
        most = max(p.same.score_error for p in form.parts.values())
        alike = f"is at most {most:.1e} off on {form.n_rows} open rows from what"
    return f"**{form.name}** {alike} the model on the screen does."


def _takes(form: ComparedFormat, chip: str) -> dict[str, str]:
    """Estimated costs of a format on a chip."""
    both = estimate_costs(form.model).get(chip)
    if both is None:
        return {}
    results = {}
    needless = form.is_whole and not needs_conversion(form.model)
    for end, cost in zip(INPUTS, (both.alone, both.linked), strict=True):
        gone = "no conversion" if needless and cost is both.linked else ""
        results |= {
            f"flash{end}": gone or cost.in_words("flash", "B"),
            f"{cost.counted}{end}": gone or cost.in_words("count", ""),
        }
    return dict(sorted(results.items(), key=lambda one: not one[0].startswith("flash")))


def _apart(form: ComparedFormat) -> dict[str, str]:
    """How far a format is from float64, over all open parts."""
    n_rows, parts = form.n_rows, form.parts.values()
    saturated = f"{form.n_saturated} of {n_rows}" if form.is_whole else ""
    if form.model.is_regression:
        return {
            "largest difference": f"{max(p.same.score_error for p in parts):.1e}",
            "proved bound": f"{max(p.same.score_bound for p in parts):.1e}",
            "rows saturated": saturated,
        }
    return {
        "differ from float64": f"{form.n_differ} of {n_rows}",
        "proved equal": number_text(form.n_certified / n_rows),
        "rows saturated": saturated,
    }


def form_quality(form: ComparedFormat, made: exports.Export) -> str:
    """How good a format is beside one answer to all rows, in sentences."""
    scores = form.parts[made.data.scored_part].scores
    words = quality(scores, made.data, form.model.source.band)
    return escape_markdown(f"{form.name}: {words}")


def proved(form: ComparedFormat) -> str:
    """What is proved of a format, in words."""
    model = form.model
    if form.is_whole:
        words = (
            f"No sum overflows: none is larger than {model.largest:,}, whatever the "
            f"inputs, and {model.accumulator} bits hold it. "
            f"{escape_markdown(model.zero_weights_in_words())} "
        )
    else:
        words = "Each operation is rounded separately, as in the emulator. "
    if model.is_regression:
        return words + "Rounding errors stay within the proved bound."
    n_rows, n_proved = form.n_rows, form.n_certified
    words += f"Of {n_rows:,} rows, {n_proved:,} are proved to have the float64 "
    words += "prediction: no rounding of their scores can change it."
    if n_rows > n_proved:
        words += f" Of the other {n_rows - n_proved:,}, {form.n_differ:,} differ."
    return words


def differing(made: exports.Export, form: ComparedFormat) -> list[dict[str, Any]]:
    """Rows that the format answers otherwise than the float64 model."""
    results: list[dict[str, Any]] = []
    for part, compared in form.parts.items():
        rows = getattr(made.data.split, part)[compared.differ]
        frame = made.frame(part).iloc[compared.differ]
        answers = made.model.predict(made.preparation.transform(frame))
        for row, place, answer in zip(rows, compared.differ, answers, strict=True):
            results.append(
                {
                    "part": TITLES[part],
                    "row": int(made.data.dataset.row_numbers(row)),
                    "truth": str(made.data.y[row]),
                    "float64": str(answer),
                    form.name: str(compared.answers[place]),
                }
            )
    return results[:MOST_LISTED]


def as_exported(form: ComparedFormat, made: exports.Export) -> dict[str, Any]:
    """What was measured of a format, for its files."""
    entry: dict[str, Any] = {"format": form.name, "parts": {}}
    for part, compared in form.parts.items():
        counts = {
            "same_as_float64": compared.same.n_equal,
            "proved_the_same": compared.same.n_certified,
        }
        if form.is_whole:
            counts["saturated_rows"] = compared.saturated
        measured = exports.measured(compared.scores, made.data)
        entry["parts"][part] = measured | counts
    return entry
