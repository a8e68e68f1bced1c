"""scikit-learn classes: validate, start, call the kernel, wrap."""

from smpcore.estimators.mprotsvm import MultiPrototypeSVC
from smpcore.estimators.smallk import SMaLLClassifier
from smpcore.estimators.smp import SMPClassifier

__all__ = ["MultiPrototypeSVC", "SMPClassifier", "SMaLLClassifier"]
