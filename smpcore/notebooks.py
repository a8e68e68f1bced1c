"""What a notebook shows of a table: the live figure in a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from smpcore.datasets import list_names, make_dataset
from smpcore.errors import SmpcoreError, caution
from smpcore.methods import METHODS
from smpcore.methods.shared.base import PrototypeEstimator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["explore"]


def explore(X: Any, y: ArrayLike, method: str = "", **values: Any) -> Any:
    """Show the live figure of a table in a notebook: drag, click, draw, compare.

    It needs anywidget: ``pip install "smpcore[notebook]"``.

    Parameters
    ----------
    X : array-like, pandas or polars DataFrame of shape (n_samples, n_features)
        Inputs; names of columns are taken over.
    y : array-like of shape (n_samples,)
        Classes, or numbers to predict; the name of a Series is taken over.
    method : str
        Key in ``METHODS``; empty: the first one that learns the table.
    **values
        Parameters of the method; all can be changed in the cell.

    Returns
    -------
    LiveFigure
        A widget. ``model_`` is the fitted estimator of the moment, ``method`` and
        ``values`` are what was chosen (and can be set and observed), ``selected`` the
        selected rows (also to be set); ``save("figure.html")`` writes a page.

    Raises
    ------
    SmpcoreError
        If anywidget is not installed, or the table cannot be learned from.

    Examples
    --------
    >>> figure = smpcore.explore(X, y, "smp", lam=0.01)  # doctest: +SKIP
    """
    try:
        from smpcore.live.notebook import LiveFigure
    except ModuleNotFoundError as error:
        raise SmpcoreError(
            f"explore needs {error.name}, which is not installed: pip install "
            '"smpcore[notebook]".'
        ) from None
    frame = X.to_pandas() if hasattr(X, "to_pandas") else pd.DataFrame(X)
    frame = frame.reset_index(drop=True)
    if isinstance(frame.columns, pd.RangeIndex):  # as scikit-learn names them
        frame.columns = [f"x{i}" for i in frame.columns]
    frame = frame.rename(columns=str)
    name = str(getattr(y, "name", None) or "y")
    while name in frame.columns:
        name += "_"
    answers = y.to_pandas() if hasattr(y, "to_pandas") else y
    frame = frame.assign(**{name: pd.Series(list(answers))})
    dataset = make_dataset(frame, "My table", roles={name: "target"})
    return LiveFigure(dataset, method, values)


def _explore_fitted(self: PrototypeEstimator, X: Any, y: ArrayLike) -> Any:
    """Show a model's settings on a table in a notebook, as `smpcore.explore` does.

    A model does not remember its rows. The figure divides the table into training and
    validation rows and fits its own model: this one stays as it is.

    Parameters
    ----------
    X : array-like, pandas or polars DataFrame of shape (n_samples, n_features)
        Inputs, as those of ``fit``.
    y : array-like of shape (n_samples,)
        Classes, or numbers to predict.

    Returns
    -------
    LiveFigure
        See `smpcore.explore`.
    """
    row, task = next(
        (row, task)
        for row in METHODS.values()
        for task, estimator in row.estimators.items()
        if isinstance(self, estimator)
    )
    controls = row.defaults(task)
    values = self.get_params(deep=False)
    usual = type(self)().get_params(deep=False)
    changed = [n for n in values if n not in controls and values[n] != usual[n]]
    if changed:
        caution(
            f"The figure has no control for {list_names(changed)}: it has defaults."
        )
    chosen = {name: value for name, value in values.items() if name in controls}
    return explore(X, y, row.key, **chosen)


# The floor of the methods knows none of notebooks, which are above it.
PrototypeEstimator.explore = _explore_fitted
