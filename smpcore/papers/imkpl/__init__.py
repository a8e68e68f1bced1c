"""Hosseini, Hammer: Interpretable Multiple-Kernel Prototype Learning. CIKM 2019."""
