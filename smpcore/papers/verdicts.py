"""Whether numbers that are measured here are those that a paper prints."""

from __future__ import annotations

from collections.abc import Mapping

#: Measure -> how far two means may differ that count as equal: one for each measure
#: that papers print, fixed before any difference was computed. Chosen from spreads
#: alone: five halves and five printed ones of 15 data sets, each with a standard
#: deviation of about .05, have a corrected standard error of .02, so that no narrower
#: margin would find equality where there is equality.
MARGINS: Mapping[str, float] = {
    "accuracy": 0.05,
    "test accuracy": 0.05,
    "accuracy %": 5.0,
    "IP %": 5.0,
    "DR %": 5.0,
    "test error": 0.05,
    "MAE, years": 1.0,
}
