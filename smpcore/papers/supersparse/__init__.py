"""Demontis, Melis, Biggio, Fumera, Roli: Super-sparse Learning. CIM 2016."""

from smpcore.papers.supersparse.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
