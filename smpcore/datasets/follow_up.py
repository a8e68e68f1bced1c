"""Time to event: until when each row was followed, and whether that was the event.

A row that was followed for a shorter time than the horizon, and had no event by then,
is *censored*: nobody knows whether its event came within the horizon. Rows that are
known speak for those that are not: each has the weight 1 / G, where G is the share of
rows that would still be followed at the time at which its answer was known (inverse
probability of censoring weights; Graf et al., Statistics in Medicine 18, 1999).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from smpcore.datasets.columns import as_numbers, as_text

#: A known row counts for at most so many: a few rows must not decide alone.
MOST_WEIGHT = 20.0
_UNIT = re.compile(r"(?<![a-z])(day|week|month|year|hour|minute)s?(?![a-z])")


@dataclass(frozen=True)
class FollowUp:
    """A question of time to event: does the event come within the horizon?

    Parameters
    ----------
    time : str
        Column of the time that each row was followed for.
    event : str
        Column that says how that ended.
    value : str
        What stands there, as text, if it ended with the event; all else is censored.
    horizon : float
        In the unit of the times.
    """

    time: str
    event: str
    value: str
    horizon: float

    @property
    def unit(self) -> str:
        """Unit of the times, if the name of their column holds one; else empty."""
        match = _UNIT.search(self.time.lower().replace("_", " "))
        return f"{match[1]}s" if match else ""

    @property
    def title(self) -> str:
        """The question in words, a name for the column of its answers."""
        usual = self.value.lower() in ("1", "yes", "true", self.event.lower())
        name = self.event if usual else f"{self.event} = {self.value}"
        unit = self.unit or f"({self.time})"
        return f"{name} within {self.horizon:.6g} {unit}"

    @property
    def rule(self) -> str:
        """What becomes of censored rows, in sentences."""
        return (
            f"Rows censored before {self.horizon:.6g} {self.unit or self.time} have no "
            "answer: they are not used and not counted. The others are weighted by "
            "1 / the probability of not being censored before their answer was known "
            f"(Kaplan-Meier on training rows; at most {MOST_WEIGHT:g}), which takes "
            "censoring to be independent of the event."
        )

    def read(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Read times and events.

        Parameters
        ----------
        frame : DataFrame of shape (n_samples, n_columns)
            Has both columns.

        Returns
        -------
        times : ndarray of shape (n_samples,)
            NaN where there is no time from 0, or it is not said how it ended.
        events : ndarray of bool, shape (n_samples,)
            Whether the time ended with the event.
        """
        times = as_numbers(frame[self.time])
        ended = as_text(frame[self.event])
        times[~(times >= 0) | ended.isna().to_numpy()] = np.nan
        return times, (ended == self.value).fillna(False).to_numpy(bool)


def within(
    times: np.ndarray, events: np.ndarray, horizon: float
) -> tuple[np.ndarray, np.ndarray]:
    """Answer the question for each row, as far as that is known.

    Of equal times the event comes first: a row that was censored at the horizon itself
    had no event within it.
    """
    positive = events & (times <= horizon)
    return positive, positive | (times > horizon) | (~events & (times == horizon))


def still_followed(
    times: np.ndarray,
    events: np.ndarray,
    at: np.ndarray,
    masses: np.ndarray | None = None,
) -> np.ndarray:
    """Estimate which share of rows is not censored before a time (Kaplan and Meier).

    Events and censoring change places in the estimate of survival (Journal of the
    American Statistical Association 53, 1958); of equal times the events come first,
    so that a row with an event is no longer at risk of being censored at that time.
    A row counts by its mass, if rows have some.
    """
    followed = ~np.isnan(times)
    distinct, place = np.unique(times[followed], return_inverse=True)
    masses = np.ones(len(times)) if masses is None else masses
    ended = np.bincount(place, masses[followed], len(distinct))
    censored = np.bincount(place, (masses * ~events)[followed], len(distinct))
    at_risk = np.cumsum(ended[::-1])[::-1] - (ended - censored)
    stays = 1 - np.divide(censored, at_risk, np.zeros(len(distinct)), where=at_risk > 0)
    share = np.concatenate([[1.0], np.cumprod(stays)])
    return share[np.searchsorted(distinct, at, side="left")]


def censoring_weight(
    times: np.ndarray,
    events: np.ndarray,
    known_at: np.ndarray,
    masses: np.ndarray | None = None,
) -> np.ndarray:
    """Weigh rows whose answer was known at these times."""
    share = still_followed(times, events, known_at, masses)
    return 1.0 / np.maximum(share, 1.0 / MOST_WEIGHT)
