"""The registry: one row per method. Pages know a method only through its row."""

from smpcore.methods.linear import SMALLK, SMP
from smpcore.methods.margin import MPROTSVM
from smpcore.methods.method import Method, solve_path
from smpcore.methods.similar import IMKPL, SUPERSPARSE

METHODS: dict[str, Method] = {
    row.key: row for row in (SMP, SMALLK, MPROTSVM, SUPERSPARSE, IMKPL)
}

__all__ = ["METHODS", "Method", "solve_path"]
