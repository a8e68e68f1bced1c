"""Garg, Dekel, Xiao: Sparse Multi-Prototype Classification. UAI 2018."""

from smpcore.papers.smp import convergence, figure_1, sparsity, table_1

EXPERIMENTS = (
    *table_1.EXPERIMENTS,
    *figure_1.EXPERIMENTS,
    *sparsity.EXPERIMENTS,
    *convergence.EXPERIMENTS,
)

__all__ = ["EXPERIMENTS"]
