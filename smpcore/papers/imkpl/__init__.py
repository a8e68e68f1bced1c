"""Hosseini, Hammer: Interpretable Multiple-Kernel Prototype Learning. CIKM 2019."""

from smpcore.papers.imkpl import figures, tables

EXPERIMENTS = (*tables.EXPERIMENTS, *figures.EXPERIMENTS)

__all__ = ["EXPERIMENTS"]
