"""Aiolli, Sperduti: Multi-prototype Support Vector Machine. IJCAI 2003."""

from smpcore.papers.mprotsvm import annealing, bound, polynomial, tables

EXPERIMENTS = (
    *tables.EXPERIMENTS,
    *annealing.EXPERIMENTS,
    *bound.EXPERIMENTS,
    *polynomial.EXPERIMENTS,
)

__all__ = ["EXPERIMENTS"]
