"""scikit-learn classes: validate, start, call the kernel, wrap; a folder per family."""

from smpcore.estimators.imkpl import IMKPLClassifier
from smpcore.estimators.mprotsvm import MultiPrototypeSVC
from smpcore.estimators.smallk import SMaLLClassifier
from smpcore.estimators.smp import SMPClassifier
from smpcore.estimators.supersparse import (
    SuperSparseClassifier,
    SuperSparseRegressor,
    decode_strings,
    encode_strings,
    fit_smallest,
    prune_path,
    removal_costs,
)

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
