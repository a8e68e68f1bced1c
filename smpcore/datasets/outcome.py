"""Which of two classes is the event."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from smpcore.datasets.dataset import Dataset

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
