"""Garg, Dekel, Xiao: Sparse Multi-Prototype Classification. UAI 2018."""

from smpcore.papers.experiment import of_paper
from smpcore.papers.smp import convergence, figure_1, sparsity, table_1

EXPERIMENTS = of_paper("smp", table_1, figure_1, sparsity, convergence)

__all__ = ["EXPERIMENTS"]
