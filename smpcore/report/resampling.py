"""Sections on refits of drawn rows: optimism, instability, size of a study."""

from __future__ import annotations

import numpy as np

from smpcore.datasets import plain_number, plural
from smpcore.evaluation import (
    Optimism,
    cox_snell_r2,
    expected_shrinkage,
    largest_r2,
    rows_for_classes,
    rows_for_numbers,
)
from smpcore.evaluation.sample_size import USUAL_SHARE
from smpcore.readouts import READOUTS, Section, Unit, number_text

#: An answer is unstable if this share of the refits gives another one.
UNSTABLE = 0.1
_RECIPE = (
    "Each refit repeats preparation, fit and calibration on rows drawn with "
    "replacement from the training rows (rows of a group together). "
)
_FIXED = (
    "Parameters are those of this model: what choosing them adds to the optimism is "
    "not in it. "
)
_CHOSEN = (
    "Each also chooses among {} settings on folds of its rows, the smallest model "
    "within one standard error; so does the model that is apparent here, which may be "
    "another one than that of the page. "
)
_CLOSED = (
    "Validation and test rows take no part, and a threshold that is set is not judged."
)


def unit_of(measure: str) -> Unit:
    """Unit of a measure of `Optimism`.

    Parameters
    ----------
    measure : str
        Its name in the lines.

    Returns
    -------
    {"%", "target", ""}
    """
    units: dict[str, Unit] = {"accuracy": "%", "mae": "target"}
    return {READOUTS[key].label: unit for key, unit in units.items()}.get(measure, "")


def predicted_in_words(result: Optimism) -> str:
    """Name what `Optimism.rows` has of each row.

    Parameters
    ----------
    result : Optimism
        From `bootstrap_optimism`.

    Returns
    -------
    str
    """
    if result.outcome:
        return f"risk of {result.outcome}"
    return "probability of the predicted class" if result.classes else "prediction"


def optimism_section(result: Optimism) -> Section:
    """Say how much too good the scores on training rows are.

    Parameters
    ----------
    result : Optimism
        From `bootstrap_optimism`.

    Returns
    -------
    Section
    """
    lines = []
    for one in result.lines.to_dict("records"):
        unit = unit_of(one["measure"])

        def text(*columns: str, one: dict = one, unit: Unit = unit) -> str:
            values = [one[column] for column in columns]
            if not np.isfinite(values).all():
                return "–"
            return " to ".join(number_text(value, unit) for value in values)

        line = {"measure": one["measure"], "apparent": text("apparent")}
        line |= {"optimism": text("optimism")}
        line |= {"Monte-Carlo s.e.": _two_digits(one["error"], unit)}
        line |= {"corrected": text("corrected"), "95 % interval": text("low", "high")}
        if result.lines[".632+"].notna().any():
            line[".632+"] = text(".632+")
        lines.append(line | {"refits": str(one["refits"])})
    first = f"{plural(result.n_refits, 'refit')}. "
    if result.failed:
        first += f"{plural(result.failed, 'more')} could not be fitted. "
    words = (
        "Apparent: on the training rows, which the model knows. Optimism (Harrell): by "
        "how much the refits are better on their samples than on the training rows, in "
        "the mean. Corrected: apparent less optimism; its interval is that of the "
        "refits on their samples, moved (Noma). Refits: those that have the measure; "
        "where rows are parted without an error, there is no slope. "
    )
    if result.lines[".632+"].notna().any():
        words += (
            ".632+ (Efron and Tibshirani) is another estimate, by rows that a refit "
            "did not draw; it is of errors of single rows, so not of all measures. "
        )
    elif result.classes:
        words += "No .632+: some rows are in every sample. "
    first += _RECIPE
    first += _CHOSEN.format(result.settings) if result.settings else _FIXED
    return Section("Optimism", (first + _CLOSED, lines, words.strip()))


def _two_digits(error: float, unit: Unit) -> str:
    """A standard error: it is far smaller than what it is of."""
    if not np.isfinite(error):
        return "–"
    return (
        f"{plain_number(100 * error, 2)} %" if unit == "%" else plain_number(error, 2)
    )


def instability_section(result: Optimism) -> Section:
    """Say how far refits differ in what they predict of a row.

    Parameters
    ----------
    result : Optimism
        From `bootstrap_optimism`.

    Returns
    -------
    Section
    """
    rows, is_number = result.rows, not result.classes
    what = predicted_in_words(result)
    unit: Unit = "target" if is_number else ""
    lines = []

    def add(name: str, text: str) -> None:
        lines.append({"mean over the training rows": name, "value": text})

    if rows["predicted"].notna().any():
        width = np.average(rows["high"] - rows["low"], weights=rows["weight"])
        difference = number_text(result.mean("error"), unit)
        add(f"absolute difference of a refit's {what} from the model's", difference)
        add(
            f"width of the range of 95 % of the refits' {what}",
            number_text(width, unit),
        )
    if not is_number:
        share = np.average(rows["changes"] >= UNSTABLE, weights=rows["weight"])
        changes = number_text(result.mean("changes"))
        add("refits that answer otherwise than the model", changes)
        add(
            "rows that one refit in ten, or more, answers otherwise", number_text(share)
        )
    slope = [result.of("Calibration slope", end) for end in ("from", "to")]
    if np.isfinite(slope).all():
        limits = " to ".join(number_text(value, "") for value in slope)
        add("calibration slope of the refits on these rows, 95 % of them", limits)
    words = (
        "How much the prediction of one and the same row depends on which rows were "
        "there to learn from (Riley and Collins 2023)."
    )
    return Section("Instability of predictions", (words, lines))


def sample_size_section(result: Optimism) -> Section | None:
    """Say how many rows a study should have whose model is about as good as this.

    Parameters
    ----------
    result : Optimism
        From `bootstrap_optimism`.

    Returns
    -------
    Section or None
        None for more than two classes.
    """
    n, parameters = len(result.rows), result.parameters
    words = (
        f"{plural(n, 'training row')}, {plural(parameters, 'candidate')} of predictors"
    )
    if result.outcome:
        rarer = min(result.events, n - result.events)
        r2, note = _r2(result)
        table = rows_for_classes(parameters, result.prevalence, r2)
        shrinkage = number_text(expected_shrinkage(n, parameters, r2), "")
        words += (
            f", {plural(result.events, 'event')} ({result.outcome}): "
            f"{plain_number(rarer / parameters, 3)} of the rarer class per candidate. "
            f"Expected shrinkage of a regression of these rows: {shrinkage}."
        )
    elif result.classes:
        return None
    else:
        r2, note = result.of(READOUTS["r2"].label), "corrected for optimism"
        words += "."
        if not 0 < r2 < 1:
            words += " The corrected R² is not above 0, so there are no criteria."
            return Section("Sample size", (words,))
        table = rows_for_numbers(parameters, r2)
    lines = table.astype(str).to_dict("records")
    end = (
        f"A planned study should have {table['rows'].max():,} rows or more, the "
        f"largest of these (Riley et al. 2020), where R² is {number_text(r2, '')}: "
        f"{note}. A category with k levels is k - 1 candidates. The criteria are those "
        "of a regression; a model of several prototypes has more weights than that, so "
        "these rows are the least."
    )
    return Section("Sample size", (words, lines, end))


def _r2(result: Optimism) -> tuple[float, str]:
    """Cox and Snell's R2 that is expected, and where it comes from."""
    r2 = cox_snell_r2(result.of("Log-loss"), result.prevalence)
    if r2 > 0:
        return r2, "Cox and Snell's, by the corrected log-loss"
    share = number_text(USUAL_SHARE)
    note = f"{share} of the largest there can be, as that of the model is not known"
    return USUAL_SHARE * largest_r2(result.prevalence), note
