"""scikit-learn classes: validate, start, call the kernel, wrap."""

from smpcore.estimators.imkpl import IMKPLClassifier
from smpcore.estimators.mprotsvm import MultiPrototypeSVC
from smpcore.estimators.smallk import SMaLLClassifier
from smpcore.estimators.smp import SMPClassifier
from smpcore.estimators.supersparse import (
    SuperSparseClassifier,
    SuperSparseRegressor,
)

__all__ = [
    "IMKPLClassifier",
    "MultiPrototypeSVC",
    "SMPClassifier",
    "SMaLLClassifier",
    "SuperSparseClassifier",
    "SuperSparseRegressor",
]
