"""Garg, Dekel, Xiao: Learning SMaLL Predictors. NeurIPS 2018."""

from smpcore.papers.experiment import of_paper
from smpcore.papers.small import budget, convergence, recovery, sparsity, table_1

EXPERIMENTS = of_paper("smallk", table_1, sparsity, convergence, recovery, budget)

__all__ = ["EXPERIMENTS"]
