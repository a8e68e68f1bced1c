"""Which of two classes is the event, and what may be known only after it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from smpcore.datasets.dataset import Dataset
from smpcore.datasets.display_names import list_names, shorten_name
from smpcore.datasets.structure import Proposal
from smpcore.datasets.targets import name_words
from smpcore.datasets.time_to_event import guess_follow_up

_EVENTS = (
    "yes y ja oui si sim true t event case cases positive pos p abnormal sick ill"
    " diseased disease malignant cancer tumor tumour dead died death deceased"
    " nonsurvivor default defaulted bad fraud spam churn churned fail failed failure"
    " faulty fault defect defective relapse recurrence recurred readmitted present"
    " krank gestorben positiv malade infected complication toxic attack anomaly"
)
_OTHERS = (
    "no n nein non nao false f control controls negative neg normal healthy well"
    " benign alive survived survivor good paid ham ok pass passed sound absent gesund"
    " negativ sain censored without not none never"
)
_WORD = re.compile(r"[^\W\d_]+|-?\d+")
_SAYS = dict.fromkeys(_EVENTS.split(), 1) | dict.fromkeys(_OTHERS.split(), -1)
_LATE = re.compile(
    r"follow ?up|discharged?|death|died|deceased|survival|survived|results?|outcome"
    r"|relapse|recurrence|end date|closed|resolved|cancell?ed|cancellation|recovered"
    r"|recoveries|days to|time to|length of stay|los|dod|entlass\w*|tod|todes\w*"
    r"|verstorben|sterbe\w*|\w*ergebnis|nachsorge|nachbeobachtung|verweildauer"
    r"|liegedauer|uberlebt|uberlebens\w*|deces|sortie|suivi|resultat|muerte|egreso"
    r"|seguimiento|resultado|esito|dimissione|decesso|ontslag|uitkomst|wypis|zgon"
)
#: Where the commoner class has less than this share, either may be the one to find.
IN_DOUBT = 0.6


class Outcome(NamedTuple):
    """The class that is the event, and how that is known.

    Attributes
    ----------
    label : str
        Of the class, as text, however the table stores it.
    why : str
        In words, after "proposed".
    is_sure : bool
        Whether there is a reason for this class rather than the other.
    """

    label: str
    why: str
    is_sure: bool


def likely_outcome(dataset: Dataset, rows: np.ndarray | None = None) -> Outcome | None:
    """Propose the event of a table of two classes, by their names, else the rarer one.

    Parameters
    ----------
    dataset : Dataset
        Its own ``outcome`` comes first.
    rows : ndarray of int, optional
        Training rows, whose classes count; by default all.

    Returns
    -------
    Outcome or None
        None where there are no two classes.
    """
    if dataset.classes is None:
        return None
    rows = np.arange(dataset.n_samples) if rows is None else rows
    present, codes = np.unique(dataset.y_encoded[rows], return_inverse=True)
    labels = [str(label) for label in dataset.classes[present]]
    if len(labels) != 2:
        return None
    if dataset.outcome in labels:
        return Outcome(dataset.outcome, "as the table says", True)
    says = [_says(label, other) for label, other in (labels, labels[::-1])]
    if says[0] != says[1]:
        return Outcome(labels[int(says[1] > says[0])], "by the names", True)
    is_sure = max(codes.mean(), 1 - codes.mean()) >= IN_DOUBT
    return Outcome(labels[rarer_class(codes)], "the rarer class", bool(is_sure))


def rarer_class(codes: np.ndarray) -> int:
    """Number of the class of fewer rows, of two; 1 where both have as many.

    Parameters
    ----------
    codes : ndarray of int, shape (n_samples,)
        0 or 1 of each row.

    Returns
    -------
    int
    """
    return int(2 * codes.sum() <= len(codes))


def late_columns(dataset: Dataset, known: Iterable[Proposal] = ()) -> list[Proposal]:
    """Propose not to use features that may be known only after the outcome.

    Parameters
    ----------
    dataset : Dataset
        Only the names of its columns are looked at, and the time beside an event.
    known : iterable of Proposal
        What is proposed already is not proposed again.

    Returns
    -------
    list of Proposal
        One for all such columns, or none.
    """
    if dataset.follow_up is not None or dataset.matrices or dataset.channels:
        return []
    time, event = guess_follow_up(dataset) or ("", "")
    time = time if event == dataset.target else ""
    done = {name for proposal in known for name in proposal.roles}
    late = [
        name
        for name in dataset.feature_columns
        if name not in done and (name == time or _sounds_late(name))
    ]
    if not late:
        return []
    target = shorten_name(dataset.target, 40)
    return [
        Proposal(
            f"By the name, perhaps known only after {target}: {list_names(late)}. "
            "Where it is to be predicted, such a column is not there yet.",
            "Do not use what comes after",
            dict.fromkeys(late, "ignore"),
            is_leak=False,
        )
    ]


def _sounds_late(name: str) -> bool:
    words = name_words(name)
    pairs = map(" ".join, pairwise(words))
    threes = map(" ".join, zip(words, words[1:], words[2:], strict=False))
    return any(map(_LATE.fullmatch, (*words, *pairs, *threes)))


def _says(label: str, other: str) -> int:
    """1: speaks of an event, -1: of none. "Not sick" is none, whatever follows.

    Of numbers 1 is an event beside 0 or -1; of 1 and 2 nothing is known.
    """
    words, others = (_WORD.findall(text.lower()) for text in (label, other))
    rest = [word for word in words if word not in others]
    if rest == ["1"] and {*others} - {*words} in ({"0"}, {"-1"}):
        return 1
    known = [_SAYS.get(word, 0) for word in rest]
    return -1 if -1 in known else max(known, default=0)
