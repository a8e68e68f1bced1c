"""Hosseini, Hammer: Interpretable Multiple-Kernel Prototype Learning. CIKM 2019."""

from smpcore.papers.experiment import of_paper
from smpcore.papers.imkpl import figures, tables

EXPERIMENTS = of_paper("imkpl", tables, figures)

__all__ = ["EXPERIMENTS"]
