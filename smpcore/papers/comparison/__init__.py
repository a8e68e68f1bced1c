"""Our own comparison: the five methods and scikit-learn's models on many data sets."""

from smpcore.papers.comparison.experiments import EXPERIMENTS
from smpcore.papers.comparison.summary import Comparison, compared

__all__ = ["EXPERIMENTS", "Comparison", "compared"]
