"""Our own comparison: the five methods and scikit-learn's models on many data sets."""

from smpcore.papers.comparison import experiments
from smpcore.papers.comparison.advice import shipped_advice
from smpcore.papers.comparison.summary import Comparison, compared
from smpcore.papers.experiment import of_paper

EXPERIMENTS = of_paper("all", experiments)

__all__ = ["EXPERIMENTS", "Comparison", "compared", "shipped_advice"]
