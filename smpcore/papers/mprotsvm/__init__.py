"""Aiolli, Sperduti: Multi-prototype Support Vector Machine. IJCAI 2003."""

from smpcore.papers.experiment import of_paper
from smpcore.papers.mprotsvm import annealing, bound, polynomial, tables

EXPERIMENTS = of_paper("mprotsvm", tables, annealing, bound, polynomial)

__all__ = ["EXPERIMENTS"]
