"""Demontis, Melis, Biggio, Fumera, Roli: Super-sparse Learning. CIM 2016."""

from smpcore.papers.supersparse import (
    costs,
    figure_2,
    regression,
    size,
    start,
    verification,
)

EXPERIMENTS = (
    *figure_2.EXPERIMENTS,
    *size.EXPERIMENTS,
    *start.EXPERIMENTS,
    *verification.EXPERIMENTS,
    *regression.EXPERIMENTS,
    *costs.EXPERIMENTS,
    *figure_2.PICTURES,
)

__all__ = ["EXPERIMENTS"]
