"""Read-outs: what is shown of a fitted model, each named and explained once.

Figure, lessons, trade-off, comparison, export and reports take their keys from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from smpcore.datasets.display_names import plain_number

__all__ = [
    *("CHIP", "COVERAGE", "LARGEST_ANSWER", "READOUTS", "Caution", "Drawing"),
    *("Estimate", "Readout", "Section", "Shown", "interval_text", "number_text"),
    *("r2_text", "width_text"),
]

#: The chip that sizes are of: it has no floats, and its cycles are exact.
CHIP = "ATmega328P"
#: Share of the rows that a prediction interval covers.
COVERAGE = 0.9
#: The largest number that a lesson can ask for.
LARGEST_ANSWER = 1e9


#: What a number is in: a share in per cent, the unit of the target, or a score.
Unit = Literal["%", "target", ""]


#: How shares and scores are written: factor, digits, and what stands behind.
_WRITTEN = {"%": (100, ".1f", " %"), "": (1, ".3f", "")}


def number_text(value: float, unit: Unit = "%", digits: int = 4) -> str:
    """A number as every page and file writes it.

    Parameters
    ----------
    value : float
        A share from 0 to 1 where the unit is per cent.
    unit : {"%", "target", ""}
        Per cent, the unit of the target, or a score.
    digits : int, default=4
        Significant ones in the unit of the target.

    Returns
    -------
    str

    Examples
    --------
    >>> number_text(0.9125), number_text(53582.4, "target"), number_text(0.07, "")
    ('91.2 %', '53,582', '0.070')
    """
    if unit == "target":
        return plain_number(value, digits, ",")
    factor, digits, sign = _WRITTEN[unit]
    return f"{factor * value:{digits}}{sign}"


def r2_text(value: float) -> str:
    """R² in so many digits that it is 1 for predictions without an error only.

    Parameters
    ----------
    value : float
        Share of the variance that is explained, at most 1; NaN where there is none.

    Returns
    -------
    str

    Examples
    --------
    >>> r2_text(0.512), r2_text(0.99996), r2_text(1.0), r2_text(float("nan"))
    ('0.512', '0.99996', '1.000', 'none')
    """
    if not np.isfinite(value):
        return "none"
    digits = 3 if value == 1 else max(3, -math.floor(math.log10(1 - value)))
    return f"{value:.{digits}f}"


def width_text(least: float, most: float, unit: str = "") -> str:
    """How wide the intervals of rows are: plus and minus a half if all are alike.

    Parameters
    ----------
    least, most : float
        Width of the narrowest and of the widest.
    unit : str, optional
        Of the target, with a space before it.

    Returns
    -------
    str

    Examples
    --------
    >>> width_text(7.0, 7.0, " EUR"), width_text(1200.0, 3400.0)
    ('± 3.5 EUR', '1,200 to 3,400 wide')
    """
    low, high = (number_text(value, "target") for value in (least, most))
    if math.isclose(least, most, rel_tol=1e-9) or not math.isfinite(most):
        return f"± {number_text(most / 2, 'target')}{unit}"
    return f"{low} to {high}{unit} wide"


class Estimate(NamedTuple):
    """A number, the ends of its 95 % interval, and whose method has computed these.

    Attributes
    ----------
    value, low, high : float
        NaN where there is none.
    method : str
        As in "Wilson's"; empty where nothing was computed.
    """

    value: float
    low: float = float("nan")
    high: float = float("nan")
    method: str = ""


def interval_text(estimate: Estimate, unit: Unit = "%") -> str:
    """Both ends of an interval, in the digits of `number_text`.

    Parameters
    ----------
    estimate : Estimate
        The number with both ends, shares where the unit is per cent.
    unit : {"%", "target", ""}
        As in `number_text`.

    Returns
    -------
    str
        Empty where nothing was computed.

    Examples
    --------
    >>> interval_text(Estimate(0.95, 0.9, 0.975, "Wilson's"))
    '90.0–97.5 %'
    >>> interval_text(Estimate(0.1, -0.2, 0.4, "Wald's"), "")
    '-0.200 to 0.400'
    """
    _, low, high, method = estimate
    if not method:
        return ""
    if unit == "target":
        # Not by `number_text`: this is read at every picture of a drag.
        return f"{plain_number(low, 4, ',')}–{plain_number(high, 4, ',')}"
    factor, digits, sign = _WRITTEN[unit]
    one, other = f"{factor * low:{digits}}", f"{factor * high:{digits}}"
    if one == other:  # never from 100.0 to 100.0
        one, other = f"{factor * low:.6g}", f"{factor * high:.6g}"
    # A dash beside a minus is read as one of both.
    return f"{one}{' to ' if low < 0 else '–'}{other}{sign}"


@dataclass(frozen=True)
class Shown:
    """A number as every page and file shows it.

    Parameters
    ----------
    label : str
        Its name, above or beside the number.
    estimate : Estimate
        A share from 0 to 1 where the unit is per cent.
    rows : str
        What it is of, in words.
    unit : {"%", "target", ""}
        As in `number_text`.
    absent : str
        What stands in place of the number where there is none.
    """

    label: str
    estimate: Estimate
    rows: str = ""
    unit: Unit = "%"
    absent: str = ""

    @property
    def text(self) -> str:
        """The number."""
        value = self.estimate.value
        return number_text(value, self.unit) if np.isfinite(value) else self.absent

    @property
    def interval(self) -> str:
        """Both ends; empty where nothing was computed."""
        return interval_text(self.estimate, self.unit)

    @property
    def line(self) -> dict[str, str]:
        """Its line in a table."""
        return {
            "measure": self.label,
            "value": self.text,
            "95 % interval": self.interval,
            "rows": self.rows,
            "interval by": self.estimate.method,
        }

    @property
    def in_words(self) -> str:
        """All of it, within a sentence."""
        interval = f"95 % interval {self.interval}, {self.estimate.method}"
        about = [self.rows] * bool(self.rows) + [interval] * bool(self.interval)
        return f"{self.label} {self.text}" + (f" ({', '.join(about)})" if about else "")


@dataclass(frozen=True)
class Caution:
    """A paragraph to be read with care, which files set off.

    Parameters
    ----------
    text : str
        Its words, as those of any other paragraph.
    """

    text: str


@dataclass(frozen=True)
class Drawing:
    """A picture that a file has where it is mentioned, or beside itself.

    Parameters
    ----------
    title : str
        What it shows, in a few words: also the name of its file.
    svg : str
        An element of SVG, in which every text is escaped.
    """

    title: str
    svg: str


@dataclass(frozen=True)
class Section:
    """A part of a page or a file with a heading of its own.

    Parameters
    ----------
    title : str
        Heading of the section, as text.
    blocks : sequence of str, Caution, Drawing, Section or sequences of mappings
        In their order: paragraphs, pictures, parts of this part, and tables with the
        keys of their first line as headings.
    folded : bool
        Whether only the heading is seen at first.
    """

    title: str
    blocks: Sequence[str | Caution | Drawing | Section | Sequence[Mapping[str, Any]]]
    folded: bool = False


@dataclass(frozen=True)
class Readout:
    """A number or a text that is shown of a fitted model.

    Parameters
    ----------
    key : str
        What the figure, lessons, tables of sizes and links call it.
    label : str
        What it is called on the screen.
    unit : str, default "count"
        ``"%"``, ``"count"``, or ``""`` of any other number.
    value : callable, optional
        ``value(fitted)``, a number that lessons can ask for; NaN where there is none.
    terms : tuple of str
        Entries of the glossary that say what it means; by default that of its label.
    is_slow : bool, default False
        Whether its value is taken only where it is asked for by its key.
    most : callable, optional
        ``most(fitted)``, what a count can be at most.
    """

    key: str
    label: str
    unit: str = "count"
    value: Callable[[Any], float] | None = None
    terms: tuple[str, ...] = ()
    is_slow: bool = False
    most: Callable[[Any], float] | None = None

    def limits(
        self, of: str = "after", most: float = LARGEST_ANSWER
    ) -> tuple[float, float]:
        """Return between which numbers its value, its change or its ratio is.

        Parameters
        ----------
        of : {"before", "after", "change", "ratio"}
            "change" has a sign.
        most : float
            What `most` says of the models.
        """
        high = 100.0 if self.unit == "%" and of != "ratio" else most
        has_sign = of == "change" or (self.unit == "" and of != "ratio")
        return (-high if has_sign else 0.0), high

    @property
    def column(self) -> str:
        """Its name above a column of numbers."""
        is_symbol = len(self.label) < 3
        small = self.label if is_symbol else self.label[0].lower() + self.label[1:]
        return f"{small} %" if self.unit == "%" else small

    def text(self, value: float) -> str:
        """The value for people."""
        if not np.isfinite(value):
            return "none"
        if self.unit == "%":
            few = plain_number(value, 2) if 0 < value < 1 else f"{value:.1f}"
            return f"{few}\u00a0%"
        return f"{value:.0f}" if self.unit == "count" else plain_number(value, 4)

    def change(self, before: float, after: float) -> str:
        """How far the value has moved, with its sign."""
        if not np.isfinite(after - before):
            return "none"
        size = self.text(abs(after - before)).replace("%", "points")
        return size if after == before else f"{'+' if after > before else '−'}{size}"


def _of_part(name: str, part: str) -> list[Readout]:
    """How good a model is on a part; what test rows say is no lesson's to ask."""
    accuracy = "95 % interval", "Balanced accuracy", "Majority-class baseline"
    error = "95 % interval", "Training-median baseline"
    return [
        Readout(
            f"{name}_{key}",
            f"{name.capitalize()} {word}",
            unit,
            partial(_score, part, score) if score and name != "test" else None,
            terms,
        )
        for key, word, unit, score, terms in (
            ("accuracy", "accuracy", "%", "accuracy", accuracy),
            ("error", "error", "", "mae", error),
            ("r2", "R²", "", "", ("R²",)),
        )
    ]


def _score(part: str, name: str, fitted: Any) -> float:
    scores = fitted.data.evaluate(fitted.estimator.model_, part)
    return float(getattr(scores, name, np.nan)) * (100 if name == "accuracy" else 1)


def _n_requested(fitted: Any) -> float:
    return float(fitted.estimator.n_asked_)


def _columns(fitted: Any) -> float:
    used = fitted.data.preparation.used_columns(fitted.estimator.model_.support)
    return float(used.sum())


def _far_cases(fitted: Any) -> float:
    off = fitted.estimator.off_data_
    return np.nan if off is None else float(off.sum())


def _gap(fitted: Any) -> float:
    estimator = fitted.estimator
    return 100 * estimator.gap_ / max(abs(estimator.objective_), 1e-300)


def _as_printed(row: Readout, key: str, of: Callable[[Any], float]) -> Readout:
    """A read-out of the paper's own algorithm."""

    def last(fitted: Any) -> float:
        return np.nan if fitted.printed is None else of(fitted.printed)

    label = f"{row.label}, as printed"
    return replace(row, key=f"printed_{key}", label=label, value=last, is_slow=True)


def _n_distinct(step: Any) -> int:
    """Prototypes that differ; the printed algorithms do not merge equal ones."""
    model = step.model
    made = model.mixing.T @ model.anchors
    rows = np.c_[made, model.bias, model.prototype_labels]
    return len(np.unique(rows, axis=0))


def _support_vectors(fitted: Any) -> float:
    return np.nan if fitted.svm is None else float(len(fitted.svm[-1].support_))


def _near_best(fitted: Any) -> float:
    near = fitted.near_best
    return float(len(near.supports)) if near and near.complete else np.nan


def _in_integers(bits: int, count: str, fitted: Any) -> float:
    same = fitted.agreement(bits)
    return 100 * getattr(same, count) / same.n_rows if same else np.nan


def _svm_accuracy(fitted: Any) -> float:
    if fitted.svm is None:
        return np.nan
    return 100 * float(fitted.svm.score(*fitted.data.of("validation")))


_PROTOTYPES = Readout(
    "n_prototypes",
    "Prototypes",
    value=lambda f: f.estimator.model_.n_prototypes,
    most=_n_requested,
)
_OBJECTIVE = Readout("objective", "Objective", "", lambda f: f.estimator.objective_)
_ITERATIONS = Readout(
    "iterations", "Iterations", value=lambda f: f.estimator.history_.n_iter
)

#: Key -> read-out. Values are taken of an object with `estimator`, its `data` (prepared
#: parts that `evaluate` a model), the last step of the algorithm as `printed` and an
#: `svm` of the same rows.
READOUTS: Mapping[str, Readout] = {
    row.key: row
    for row in (
        *_of_part("training", "train"),
        *_of_part("validation", "validation"),
        *_of_part("test", "test"),
        Readout("accuracy", "Accuracy", "%"),
        Readout("balanced_accuracy", "Balanced accuracy", "%"),
        Readout("mae", "Mean absolute error", ""),
        Readout("r2", "R²", ""),
        Readout("mape", "Mean absolute percentage error", "%"),
        Readout("largest_error", "Largest error", ""),
        Readout("worst_recall", "Worst recall", "%", terms=("Recall",)),
        Readout("never_predicted", "Classes never predicted"),
        Readout("not_in_picture", "Not in this picture"),
        Readout("probabilities", "Calibrated probabilities", ""),
        Readout("interval", f"{100 * COVERAGE:.0f} % interval", ""),
        Readout("forbidden", "Forbidden features"),
        _PROTOTYPES,
        Readout(
            "n_nonzeros", "Non-zeros", value=lambda f: f.estimator.model_.n_nonzeros
        ),
        Readout("cases", "Cases", value=lambda f: len(f.estimator.model_.anchors)),
        Readout("real_cases", "Real cases"),
        Readout("invented_cases", "Invented cases"),
        Readout("far_cases", "Far from all data", value=_far_cases, most=_n_requested),
        Readout(
            "n_features",
            "Columns used",
            value=_columns,
            most=lambda f: len(f.data.preparation.inputs),
        ),
        Readout("interpretability", "Interpretability", "%"),
        Readout("discrimination", "Discrimination", "%"),
        Readout("kernels", "Kernels kept"),
        Readout("kappa", "κ", ""),
        Readout("prototypes_per_class", "Prototypes per class"),
        Readout("start", "Start", ""),
        Readout("gap", "Optimality gap", "%", _gap),
        _OBJECTIVE,
        _ITERATIONS,
        Readout("solver", "Solver", ""),
        Readout("seconds", "Fit seconds", ""),
        _as_printed(_OBJECTIVE, "objective", lambda step: step.objective),
        _as_printed(_PROTOTYPES, "prototypes", _n_distinct),
        _as_printed(_ITERATIONS, "iterations", lambda step: step.iteration),
        Readout("n_near_best", "Choices within 5 %", value=_near_best, is_slow=True),
        *(
            Readout(
                f"{key}_int{bits}",
                f"{label}, integers of {bits} bits",
                *("%", partial(_in_integers, bits, count), (label,), True),
            )
            for key, label, count in (
                ("same", "Same answers", "n_equal"),
                ("proved", "Proved equal", "n_certified"),
            )
            for bits in (8, 16)
        ),
        Readout(
            "n_support_vectors",
            "Support vectors",
            value=_support_vectors,
            is_slow=True,
            most=lambda f: len(f.data.of("train")[0]),
        ),
        Readout(
            "svm_accuracy",
            "Validation accuracy of a support vector machine",
            *("%", _svm_accuracy),
            is_slow=True,
        ),
        *(
            Readout(key, f"{label}, {number} ({CHIP})", "")
            for label, *keys in (
                ("Flash bytes", "flash_bytes", "flash_int16", "flash_int8"),
                ("Cycles", "cycles_float32", "cycles_int16", "cycles_int8"),
            )
            for key, number in zip(keys, ("float32", "int16", "int8"), strict=True)
        ),
    )
}
