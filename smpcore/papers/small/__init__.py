"""Garg, Dekel, Xiao: Learning SMaLL Predictors. NeurIPS 2018."""

from smpcore.papers.small.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
