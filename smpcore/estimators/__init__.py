"""scikit-learn classes: validate, start, call the kernel, wrap."""

from smpcore.estimators.smp import SMPClassifier

__all__ = ["SMPClassifier"]
