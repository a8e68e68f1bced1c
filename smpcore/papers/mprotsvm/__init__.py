"""Aiolli, Sperduti: Multi-prototype Support Vector Machine. IJCAI 2003."""

from smpcore.papers.mprotsvm.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
