"""Garg, Dekel, Xiao: Learning SMaLL Predictors. NeurIPS 2018."""

from smpcore.papers.small import budget, convergence, recovery, sparsity, table_1

EXPERIMENTS = (
    *table_1.EXPERIMENTS,
    *sparsity.EXPERIMENTS,
    *convergence.EXPERIMENTS,
    *recovery.EXPERIMENTS,
    *budget.EXPERIMENTS,
)

__all__ = ["EXPERIMENTS"]
