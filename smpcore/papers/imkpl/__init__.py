"""Hosseini, Hammer: Interpretable Multiple-Kernel Prototype Learning. CIKM 2019."""

from smpcore.papers.imkpl.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
