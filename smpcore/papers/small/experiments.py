"""Tables and figures of the paper, reported and measured.

Garg, Dekel, Xiao: Learning SMaLL Predictors. NeurIPS 2018.
"""

from __future__ import annotations

from smpcore.papers.experiment import Experiment
from smpcore.papers.small import budget, convergence, recovery, sparsity, table_1

EXPERIMENTS: tuple[Experiment, ...] = (
    *table_1.EXPERIMENTS,
    *sparsity.EXPERIMENTS,
    *convergence.EXPERIMENTS,
    *recovery.EXPERIMENTS,
    *budget.EXPERIMENTS,
)
