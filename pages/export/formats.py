"""One model in several number formats, each beside the float64 model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.export import costs
from pages.ui import exports
from pages.ui.readouts import TITLES, percent
from pages.ui.text import escape_markdown
from pages.ui.worth import judging_part, worth_of
from smpcore import quantise
from smpcore.codegen import (
    NUMBERS,
    Agreement,
    CompiledModel,
    QuantModel,
    SensorRange,
    agreement,
)
from smpcore.errors import ExportError
from smpcore.evaluation import RegressionScores, Scores, class_numbers, count_answers

#: Ends of the names of costs: what the inputs are.
ENDS = (", whole numbers", ", from floats")
#: Rows that differ are listed up to so many.
MOST_LISTED = 200


@dataclass(frozen=True, eq=False)
class Compared:
    """A model's answers on one part, beside those of the float64 model.

    Parameters
    ----------
    scores : Scores or RegressionScores
    same : Agreement
    answers : ndarray of shape (n,)
    differ : ndarray of int
        Places in the part where the answers differ; of a regression where they are
        farther apart than is proved.
    saturated : int
        Rows with an input at an end of its integers.
    """

    scores: Scores | RegressionScores
    same: Agreement
    answers: np.ndarray
    differ: np.ndarray
    saturated: int


@dataclass(frozen=True, eq=False)
class Form:
    """The model in one number format.

    Parameters
    ----------
    name : str
        Of `NUMBERS`.
    model : CompiledModel, QuantModel or None
    problem : str
        Why there is no model, in a sentence.
    parts : dict of str to Compared
        Part of the data -> what was found there; open parts only.
    """

    name: str
    model: CompiledModel | QuantModel | None
    problem: str = ""
    parts: dict[str, Compared] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether it computes with integers."""
        return isinstance(self.model, QuantModel)

    @property
    def n_inputs(self) -> int:
        """Columns that can change an answer."""
        lost = self.model.zero_weights.values() if self.is_whole else ()
        return len(self.model.inputs) - sum(zero == total for zero, total in lost)

    def total(self, name: str) -> int:
        """Sum of a count of `Agreement` over the open parts."""
        return sum(getattr(part.same, name) for part in self.parts.values())


def forms(
    made: exports.Export,
    ranges: Mapping[str, SensorRange],
    stop: np.ndarray,
    progress: np.ndarray,
) -> dict[str, Form]:
    """The model in every number format, compared on every open part.

    Parameters
    ----------
    made : Export
    ranges : mapping
        See `smpcore.quantise`.
    stop, progress : ndarray of shape (1,)
        See `tasks.Task`.

    Returns
    -------
    dict of str to Form
        In the order of `NUMBERS`.
    """
    found = {}
    for name, width in NUMBERS.items():
        try:
            model = made.compiled
            model = quantise(model, width, ranges) if width else model
            parts = {}
            for part in made.parts * (not stop[0]):
                parts[part] = _compared(made, model, part)
                progress[0] += 1 / len(made.parts) / len(NUMBERS)
            found[name] = Form(name, model, parts=parts)
        except ExportError as error:
            found[name] = Form(name, None, str(error))
    return found


def shown(found: Mapping[str, Form], name: str) -> Form:
    """The format of this name, or the first that there is if it is not possible."""
    asked = found[name]
    return asked if asked.model else next(f for f in found.values() if f.model)


def _compared(
    made: exports.Export, model: CompiledModel | QuantModel, part: str
) -> Compared:
    data, exact = made.data, made.estimator.model_
    rows = getattr(data.split, part)
    table, truth = data.dataset.frame.iloc[rows], data.y[rows]
    clusters = data.clusters(part)
    same = agreement(model, exact, table, data.preparation)
    answers, saturated = model.predict_frame(table), 0
    if isinstance(model, QuantModel):
        integers = model.quantise(model.rows(table))
        saturated = int((model.saturated(integers) > 0).sum())
    if same.is_regression:
        scores = RegressionScores(truth, answers, clusters)
        return Compared(scores, same, answers, np.array([], int), saturated)
    classes = exact.classes
    numbers = [class_numbers(labels, classes) for labels in (truth, answers)]
    scores = count_answers(*numbers, classes, clusters)
    differ = np.flatnonzero(answers != exact.predict(data.X[rows]))
    return Compared(scores, same, answers, differ, saturated)


def in_words(part: Compared) -> str:
    """Score of a part, for a cell."""
    if part.same.is_regression:
        return f"{part.scores.mae:.6g}"
    return f"{percent(part.scores.accuracy)} ({part.scores.hits} of {part.same.n_rows})"


def lines(
    made: exports.Export, found: Mapping[str, Form], chip: str
) -> list[dict[str, Any]]:
    """The formats as lines of a table, after float64 and before what takes no model."""
    regression = made.compiled.is_regression
    what = "mean error" if regression else "right"
    titles = {part: f"{TITLES[part]}: {what}" for part in made.parts}
    first, last = {"number format": "float64, as on the screen"}, {}
    for part, title in titles.items():
        told = made.provenance["accuracy"][part]
        if regression:
            first[title] = f"{told['mean_absolute_error']:.6g}"
            last[title] = f"{told['always_the_training_median']:.6g}"
            last["number format"] = "training-median baseline"
        else:
            share = told["hits"] / told["rows"]
            first[title] = f"{percent(share)} ({told['hits']} of {told['rows']})"
            last[title] = percent(told["most_frequent_class"])
            last["number format"] = "majority-class baseline"
    shown = [first]
    for form in found.values():
        line = {"number format": form.name}
        for part, title in titles.items():
            line[title] = in_words(form.parts[part]) if form.parts else "not possible"
        if form.model:
            line |= _apart(form) | _takes(form, chip)
        shown.append(line)
    columns = dict.fromkeys(name for line in shown for name in line)
    return [{name: line.get(name, "") for name in columns} for line in (*shown, last)]


def table(lines: list[dict[str, Any]], chip: str) -> None:
    """Show the formats as columns: those of a line would run out of a window."""
    shown = pd.DataFrame(lines).set_index("number format").T
    st.dataframe(shown)
    if any(end in name for end in ENDS for name in shown.index):
        st.caption(
            f"Costs are estimated, for {chip}. Whole numbers: the prediction alone, "
            "enough where every input comes as the whole number that the model takes, "
            "for instance as counts of a converter. From floats: with the conversion "
            "of floats to those integers, which computes in floats; float32 takes "
            "floats as they are."
        )


def _takes(form: Form, chip: str) -> dict[str, str]:
    """Estimated costs of a format on a chip."""
    both = costs.estimates(form.model).get(chip)
    if both is None:
        return {}
    found = {}
    needless = form.is_whole and not costs.converts(form.model)
    for end, cost in zip(ENDS, (both.alone, both.linked), strict=True):
        gone = "no conversion" if needless and cost is both.linked else ""
        found |= {
            f"flash{end}": gone or f"{cost.flash:,} B",
            f"{cost.counted}{end}": gone or f"{cost.count:,}",
        }
    return dict(sorted(found.items(), key=lambda one: not one[0].startswith("flash")))


def _apart(form: Form) -> dict[str, str]:
    """How far a format is from float64, over all open parts."""
    n_rows, parts = form.total("n_rows"), form.parts.values()
    n_saturated = sum(part.saturated for part in parts)
    saturated = f"{n_saturated} of {n_rows}" if form.is_whole else ""
    if form.model.is_regression:
        return {
            "largest difference": f"{max(p.same.score_error for p in parts):.1e}",
            "proved bound": f"{max(p.same.score_bound for p in parts):.1e}",
            "rows saturated": saturated,
        }
    n_differ = sum(len(part.differ) for part in parts)
    return {
        "differ from float64": f"{n_differ} of {n_rows}",
        "proved equal": percent(form.total("n_certified") / n_rows),
        "rows saturated": saturated,
    }


def worth(form: Form, made: exports.Export) -> str:
    """How good a format is beside one answer to all rows, in sentences."""
    scores = form.parts[judging_part(made.data)].scores
    return escape_markdown(f"{form.name}: {worth_of(scores, made.data)}")


def told(form: Form) -> str:
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
    n_rows, n_proved = form.total("n_rows"), form.total("n_certified")
    words += f"Of {n_rows:,} rows, {n_proved:,} are proved to have the float64 "
    words += "prediction: no rounding of their scores can change it."
    if n_rows > n_proved:
        n_differ = sum(len(part.differ) for part in form.parts.values())
        words += f" Of the other {n_rows - n_proved:,}, {n_differ:,} differ."
    return words


def differing(made: exports.Export, form: Form) -> list[dict[str, Any]]:
    """Rows that the format answers otherwise than the float64 model."""
    exact, found = made.estimator.model_, []
    for part, compared in form.parts.items():
        rows = getattr(made.data.split, part)[compared.differ]
        answers = exact.predict(made.data.X[rows]) if len(rows) else []
        for row, place, answer in zip(rows, compared.differ, answers, strict=True):
            found.append(
                {
                    "part": TITLES[part],
                    "row": int(row),
                    "truth": str(made.data.y[row]),
                    "float64": str(answer),
                    form.name: str(compared.answers[place]),
                }
            )
    return found[:MOST_LISTED]


def as_exported(form: Form, made: exports.Export) -> dict[str, Any]:
    """What was measured of a format, for its files."""
    told = {"format": form.name, "parts": {}}
    for part, compared in form.parts.items():
        counts = {
            "same_as_float64": compared.same.n_equal,
            "proved_the_same": compared.same.n_certified,
        }
        if form.is_whole:
            counts["saturated_rows"] = compared.saturated
        measured = exports.measured(compared.scores, made.data)
        told["parts"][part] = measured | counts
    return told
