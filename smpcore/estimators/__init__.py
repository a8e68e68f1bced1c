"""scikit-learn classes: validate, start, call the kernel, wrap."""

from smpcore.estimators.imkpl import IMKPLClassifier
from smpcore.estimators.mprotsvm import MultiPrototypeSVC
from smpcore.estimators.smallk import SMaLLClassifier
from smpcore.estimators.smp import SMPClassifier
from smpcore.estimators.supersparse import (
    SuperSparseClassifier,
    SuperSparseRegressor,
)
from smpcore.estimators.supersparse_pruning import (
    fit_smallest,
    prune_path,
    removal_costs,
)
from smpcore.estimators.supersparse_strings import decode_strings, encode_strings

__all__ = [
    "IMKPLClassifier",
    "MultiPrototypeSVC",
    "SMPClassifier",
    "SMaLLClassifier",
    "SuperSparseClassifier",
    "SuperSparseRegressor",
    "decode_strings",
    "encode_strings",
    "fit_smallest",
    "prune_path",
    "removal_costs",
]
