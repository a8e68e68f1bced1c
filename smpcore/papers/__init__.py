"""The five papers' own algorithms, as printed, in readable NumPy: for teaching.

Each file opens with a table of the paper's symbols and says where the print had to be
mended to run at all. Nothing here is fast, and some of it does not converge: that is
what it is for. What a fit uses is in `smpcore.solvers`.

``PRINTED[key](estimator, problem, n_steps)`` runs the algorithm of a method of
`METHODS` on the rows of ``problem = estimator.problem(X, y)`` and returns each state
with its objective, in the units of our solver, and the model that it is:

>>> from sklearn.datasets import load_iris
>>> from smpcore import SMPClassifier
>>> X, y = load_iris(return_X_y=True)
>>> estimator = SMPClassifier()
>>> steps = PRINTED["smp"](estimator, estimator.problem(X, y), n_steps=200)
>>> steps[-1].objective > 1.5 * estimator.fit(X, y).objective_
True
"""

from collections.abc import Callable

from smpcore.papers.imkpl import printed_imkpl
from smpcore.papers.mprotsvm import printed_mprotsvm
from smpcore.papers.small import printed_small
from smpcore.papers.smp import printed_smp
from smpcore.papers.steps import PrintedStep
from smpcore.papers.supersparse import printed_supersparse

PRINTED: dict[str, Callable[..., tuple[PrintedStep, ...]]] = {
    "smp": printed_smp,
    "smallk": printed_small,
    "mprotsvm": printed_mprotsvm,
    "supersparse": printed_supersparse,
    "imkpl": printed_imkpl,
}

__all__ = ["PRINTED", "PrintedStep"]
