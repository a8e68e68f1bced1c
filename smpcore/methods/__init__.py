"""The registry: one row per method. Pages know a method only through its row."""

from smpcore.datasets import Dataset
from smpcore.methods.linear import SMALLK, SMP
from smpcore.methods.margin import MPROTSVM
from smpcore.methods.method import Method, solve_path
from smpcore.methods.similar import IMKPL, SUPERSPARSE

METHODS: dict[str, Method] = {
    row.key: row for row in (SMP, SMALLK, MPROTSVM, SUPERSPARSE, IMKPL)
}


def refusals(dataset: Dataset) -> dict[str, str]:
    """Why methods cannot learn from data of this kind.

    Parameters
    ----------
    dataset : Dataset
        A table, or matrices.

    Returns
    -------
    dict of str to str
        Key of a method that cannot -> a clause.
    """
    reasons = {key: row.refusal(dataset) for key, row in METHODS.items()}
    return {key: reason for key, reason in reasons.items() if reason}


__all__ = ["METHODS", "Method", "refusals", "solve_path"]
