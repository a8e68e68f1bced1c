"""Tables and figures of the paper, reported and measured.

Aiolli, Sperduti: Multi-prototype Support Vector Machine. IJCAI 2003.
"""

from __future__ import annotations

from smpcore.papers.experiment import Experiment
from smpcore.papers.mprotsvm import annealing, bound, polynomial, tables

EXPERIMENTS: tuple[Experiment, ...] = (
    *tables.EXPERIMENTS,
    *annealing.EXPERIMENTS,
    *bound.EXPERIMENTS,
    *polynomial.EXPERIMENTS,
)
