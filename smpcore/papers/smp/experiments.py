"""Tables and figures of the paper, reported and measured.

Garg, Dekel, Xiao: Sparse Multi-Prototype Classification. UAI 2018.
"""

from __future__ import annotations

from smpcore.papers.experiment import Experiment
from smpcore.papers.smp import convergence, figure_1, sparsity, table_1

EXPERIMENTS: tuple[Experiment, ...] = (
    *table_1.EXPERIMENTS,
    *figure_1.EXPERIMENTS,
    *sparsity.EXPERIMENTS,
    *convergence.EXPERIMENTS,
)
