"""Rates of a confusion matrix with their intervals, as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from pages.performance.matrix import Matrix
from pages.performance.rows import EvaluatedRows
from pages.state import session
from pages.ui.elements import table
from pages.ui.glossary import define
from pages.ui.readouts import percent
from smpcore.datasets import plain_number
from smpcore.evaluation import (
    Rate,
    class_rates,
    predictive_values,
    rate,
    roc_area,
)
from smpcore.readouts import READOUTS


def class_table(rows: EvaluatedRows) -> None:
    """Recall and precision of every class with their intervals."""
    classes = rows.fitted.classes
    frame = class_rates(rows.truth, rows.answers, classes, **rows.dependence())
    lines = {
        "class": frame["class"],
        "rows": frame["rows"],
        "predicted": frame["predicted"],
    }
    for name in ("recall", "precision"):
        of_name = frame[[name, f"{name}_low", f"{name}_high"]].to_numpy()
        lines[f"{name} (95 % interval)"] = [
            "" if np.isnan(share) else f"{percent(share)} ({_interval(low, high)})"
            for share, low, high in of_name
        ]
    table(lines)
    hits = rate(rows.truth == rows.answers, **rows.dependence())
    st.caption(
        f"Accuracy {percent(hits.share)} ({hits.hits:,} of {hits.n:,}, 95 % interval "
        f"{_interval(*hits.interval)}). Wilson intervals{rows.data.cluster_note}"
        f"{rows.data.weight_note}."
    )


def rate_table(rows: EvaluatedRows, matrix: Matrix, place: Any) -> None:
    """Sensitivity, specificity, predictive values and AUC with their intervals."""
    known = matrix.truth >= 0
    truth, right = matrix.truth == 0, matrix.truth == matrix.said
    sure = known & (matrix.said < 2)
    share = rate(truth[known], **rows.dependence(known)).share
    digest, kept = rows.data.dataset.digest, session.get().results
    prevalence = place.number_input(
        "Prevalence, %",
        0.01,
        99.99,
        value=session.remembered("prevalence", digest, lambda: None),
        placeholder=f"{plain_number(100 * share, 3)} (in these rows)",
        key="prevalence",
        help=define("Prevalence"),
    )
    kept["prevalence"] = digest, prevalence
    part = share if prevalence is None else prevalence / 100
    counted = [
        rate(right[chosen], **rows.dependence(chosen))
        for chosen in (truth & sure, ~truth & sure, sure)
    ]
    lines = [
        _line("Sensitivity (recall)", counted[0]),
        _line("Specificity", counted[1]),
        *_predictive(counted, part),
        _line(READOUTS["accuracy"].label, counted[2]),
    ]
    of_known = rows.dependence(known)
    area, low, high = roc_area(matrix.margin[known], truth[known], **of_known)
    if np.isfinite(area):
        ends = f"{low:.3f}–{high:.3f}"
        lines.append(_text("AUC", f"{area:.3f}", ends, "at every threshold"))
    table(lines)
    st.caption(
        f"Wilson intervals{rows.data.cluster_note}; predictive values by Bayes' "
        "rule with the prevalence taken as known (Mercaldo's logit intervals); AUC by "
        f"DeLong's method{rows.data.weight_note}.",
        help=define("Predictive value", "ROC"),
    )


def _predictive(counted: list[Rate], prevalence: float) -> list[dict[str, str]]:
    """Lines of both predictive values; none where one class has no rows."""
    if not 0 < prevalence < 1:
        return []
    values = predictive_values(*counted[:2], prevalence)
    return [
        _text(
            f"{name.capitalize()} predictive value",
            "none predicted" if np.isnan(share) else percent(share),
            _interval(low, high),
            f"at a prevalence of {percent(prevalence)}",
        )
        for name, (share, low, high) in values.items()
    ]


def _line(name: str, counted: Rate) -> dict[str, str]:
    if not counted.n:
        return _text(name, "", "", "no rows")
    limits = _interval(*counted.interval)
    return _text(
        name, percent(counted.share), limits, f"{counted.hits:,} of {counted.n:,}"
    )


def _text(name: str, value: str, limits: str, counts: str) -> dict[str, str]:
    return {"measure": name, "value": value, "95 % interval": limits, "rows": counts}


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.1f}–{100 * high:.1f} %"
