"""Garg, Dekel, Xiao: Sparse Multi-Prototype Classification. UAI 2018."""

from smpcore.papers.smp.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
