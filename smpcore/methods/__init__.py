"""The registry: a folder a method. Pages know a method only through its row."""

from importlib import import_module
from pkgutil import iter_modules

from smpcore.datasets import Dataset
from smpcore.methods.imkpl import IMKPLClassifier
from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.shared.method import START_SEED, Method, solve_path
from smpcore.methods.smallk import Alternatives, SMaLLClassifier
from smpcore.methods.smp import SMPClassifier
from smpcore.methods.supersparse import (
    SuperSparseClassifier,
    SuperSparseRegressor,
    decode_strings,
    encode_strings,
    fit_smallest,
    prune_path,
    removal_costs,
)

#: How pages list the methods; those of other folders come after these.
ORDER = ("smp", "smallk", "mprotsvm", "supersparse", "imkpl")

_FOLDERS = {m.name for m in iter_modules(__path__) if m.ispkg} - {"shared"}

METHODS: dict[str, Method] = {
    key: import_module(f"{__name__}.{key}.row").ROW
    for key in (*ORDER, *sorted(_FOLDERS.difference(ORDER)))
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


__all__ = [
    "METHODS",
    "START_SEED",
    "Alternatives",
    "IMKPLClassifier",
    "Method",
    "MultiPrototypeSVC",
    "SMPClassifier",
    "SMaLLClassifier",
    "SuperSparseClassifier",
    "SuperSparseRegressor",
    "decode_strings",
    "encode_strings",
    "fit_smallest",
    "prune_path",
    "refusals",
    "removal_costs",
    "solve_path",
]
