"""Roles that names of columns propose: weights of rows, what is known afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np

from smpcore.datasets.columns import AFTERWARDS, read_weights
from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import list_names, shorten_name
from smpcore.datasets.follow_up import FollowUp
from smpcore.datasets.roles import looks_like_dates
from smpcore.datasets.structure import Proposal
from smpcore.datasets.targets import name_words
from smpcore.datasets.time_to_event import (
    event_values,
    guess_follow_up,
    horizons,
    likely_event,
)
from smpcore.errors import DatasetError

#: Names that surveys and studies give to weights of rows, as far as they are letters.
_WEIGHTS = set(
    "pweight fweight aweight dweight iweight pweights pwt perwt hhwt sampweight sampwt"
    " psweight pspwght pspwght anweight finalweight finalwgt fnlwgt finalwt ipw ipcw"
    " iptw siptw sipw wtfinl wtssall wtssps wtint wtmec wtsam surveyweight".split()
)
#: What weighs something, and the words that make a weight of rows of it.
_WEIGHT = {"weight", "weights", "wt", "wts", "wgt", "wgts", "gewicht", "gewichtung"}
_OF_ROWS = set(
    "survey sampling sample design final stratified poststratification stratum inverse"
    " prob probability propensity person household frequency nonresponse calibration"
    " row case cases respondent ipw analysis".split()
)
#: What weighs in kilograms: by its unit, or beside a height.
_UNITS = {"kg", "g", "lb", "lbs", "pounds", "grams", "birth", "body", "gain", "loss"}
_HEIGHT = {"height", "ht", "hgt", "bmi", "cm", "grosse", "size", "stature"}
_LATE = re.compile(
    r"follow ?up|discharged?|death|died|deceased|survival|survived|results?|outcome"
    r"|relapse|recurrence|end date|closed|resolved|cancell?ed|cancellation|recovered"
    r"|recoveries|days to|time to|length of stay|los|dod|entlass\w*|tod|todes\w*"
    r"|verstorben|sterbe\w*|\w*ergebnis|nachsorge|nachbeobachtung|verweildauer"
    r"|liegedauer|uberlebt|uberlebens\w*|deces|sortie|suivi|resultat|muerte|egreso"
    r"|seguimiento|resultado|esito|dimissione|decesso|ontslag|uitkomst|wypis|zgon"
)


def weight_columns(dataset: Dataset) -> list[Proposal]:
    """Propose to weigh the rows by a column that is named like their weight.

    Parameters
    ----------
    dataset : Dataset
        Names of its columns are looked at, and whether their values are weights.

    Returns
    -------
    list of Proposal
        None where a column has this role already.
    """
    if dataset.weight is not None or dataset.matrices or dataset.channels:
        return []
    free = [n for n, role in dataset.roles.items() if role in ("feature", "ignore")]
    return [
        Proposal(
            f"By its name, {shorten_name(name, 40)} may say how many rows each row "
            "stands for, as a survey's weight or an inverse probability does. A "
            "feature is learned from; a weight counts in fits, shares and scores.",
            f"Weigh the rows by {shorten_name(name, 40)}",
            {name: "weight"},
            is_leak=False,
        )
        for name in free
        if _names_weight(name, free) and _varies(dataset, name)
    ]


def _names_weight(name: str, others: Iterable[str]) -> bool:
    words = {*name_words(name)}
    if words & _WEIGHTS or not words & _WEIGHT:
        return bool(words & _WEIGHTS)
    if words & _UNITS or words == {"weight"} or words == {"gewicht"}:
        return False
    if words <= _WEIGHT:  # "wt" is a weight of rows, or of bodies
        return not any(_HEIGHT & {*name_words(other)} for other in others)
    return bool(words & _OF_ROWS)


def _varies(dataset: Dataset, name: str) -> bool:
    """Whether a column holds weights, and not the same one everywhere."""
    with suppress(DatasetError):
        return bool(np.ptp(read_weights(dataset.frame[name])) > 0)
    return False


def late_columns(dataset: Dataset, known: Iterable[Proposal] = ()) -> list[Proposal]:
    """Propose what may be known only after the outcome, and what to ask instead.

    Parameters
    ----------
    dataset : Dataset
        Only the names of its columns are looked at, and the time beside an event.
    known : iterable of Proposal
        What is proposed already is not proposed again.

    Returns
    -------
    list of Proposal
        One for all such columns, and one for a time beside the event; or none.
    """
    frame = dataset.frame
    if dataset.follow_up is not None or dataset.matrices or dataset.channels:
        return []
    time, event = guess_follow_up(dataset) or ("", "")
    time = time if event == dataset.target else ""
    question = _question(dataset, time) if time else None
    done = {name for proposal in known for name in proposal.roles}
    late = [
        name
        for name, role in dataset.roles.items()
        if name not in done and (name == time or _sounds_late(name))
        if role == "feature" or (role == "ignore" and looks_like_dates(frame[name]))
    ]
    target, proposals = shorten_name(dataset.target, 40), []
    if late:
        words = (
            f"By the name, perhaps known only after {target}: {list_names(late)}. "
            "Where it is to be predicted, such a column is not there yet."
        )
        roles = dict.fromkeys(late, AFTERWARDS)
        action = "Known only afterwards: these columns"
        proposals.append(Proposal(words, action, roles, is_leak=False))
    if question is not None and dataset.roles[time] == "feature":
        words = (
            f"{shorten_name(time, 40)} looks like the time that each row was followed "
            f"for, until {target} or until it was censored. Asked whether {target} "
            "comes within a time, censored rows are accounted for."
        )
        action = "Ask about time to event"
        proposals.append(Proposal(words, action, is_leak=False, question=question))
    return proposals


def _question(dataset: Dataset, time: str) -> FollowUp | None:
    """Whether the target comes within a median time; None if it has no such times."""
    with suppress(DatasetError):
        event = dataset.target
        value = likely_event(event, event_values(dataset, event))
        if value is not None:
            question = FollowUp(time, event, value, 0.0)
            return replace(question, horizon=horizons(dataset, question)[2])
    return None


def _sounds_late(name: str) -> bool:
    words = name_words(name)
    pairs = map(" ".join, pairwise(words))
    threes = map(" ".join, zip(words, words[1:], words[2:], strict=False))
    return any(map(_LATE.fullmatch, (*words, *pairs, *threes)))
