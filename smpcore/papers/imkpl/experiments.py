"""All experiments of the paper.

Hosseini, Hammer: Interpretable Multiple-Kernel Prototype Learning. CIKM 2019.
"""

from smpcore.papers.experiment import Experiment
from smpcore.papers.imkpl import figures, tables

EXPERIMENTS: tuple[Experiment, ...] = (*tables.EXPERIMENTS, *figures.EXPERIMENTS)
