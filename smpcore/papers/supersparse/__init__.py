"""Demontis, Melis, Biggio, Fumera, Roli: Super-sparse Learning in Similarity Spaces.

IEEE Computational Intelligence Magazine, 2016.
"""

from smpcore.papers.experiment import of_paper
from smpcore.papers.supersparse import (
    costs,
    figure_2,
    regression,
    size,
    start,
    verification,
)

EXPERIMENTS = of_paper(
    "supersparse", figure_2, size, start, verification, regression, costs
)

__all__ = ["EXPERIMENTS"]
