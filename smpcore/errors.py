"""What can go wrong in a way that the caller can mend, and what he should know."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from scipy.sparse import issparse

__all__ = ["Caution", "DatasetError", "ExportError", "SmpcoreError", "cautions"]

log = logging.getLogger(__name__)


class SmpcoreError(ValueError):
    """A wrong value, with its bound and its remedy; ``absent``: columns it lacks."""

    absent: Sequence[str] = ()


class DatasetError(SmpcoreError):
    """A table that cannot be read or used as it is."""


class ExportError(SmpcoreError):
    """A model that a target cannot express; the message says what is possible."""


class WrongKindError(SmpcoreError, TypeError):
    """Rows of another kind than numbers: scikit-learn calls it an error of type."""


def checked(check: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Run a check of scikit-learn's; what it refuses is a `SmpcoreError`."""
    try:
        return check(*args, **options)
    except (TypeError, ValueError) as error:
        kind = WrongKindError if isinstance(error, TypeError) else SmpcoreError
        words = str(error)
        if "could not convert" in words or "could not be promoted" in words:
            words = (
                "Numbers are needed, not texts or dates; encode these first, as "
                f"OneHotEncoder or prepare() does ({words})."
            )
        raise kind(words) from error


@contextmanager
def cluster_in_words(then: str = "") -> Iterator[None]:
    """Say what a cluster breaks with; what the work itself breaks with goes through."""
    try:
        yield
    except ImportError as error:
        raise SmpcoreError(
            f"A worker of the cluster lacks a package of this program: {error}"
        ) from error
    except Exception as error:
        lost = isinstance(error, OSError | CancelledError)
        if not lost and not type(error).__module__.startswith("distributed"):
            raise
        log.warning("the cluster broke down: %r", error)
        raise SmpcoreError(
            "The cluster broke down while it worked: look at its scheduler and "
            f"workers, then start again. {then}".rstrip()
        ) from error


def require_finite(
    X: np.ndarray, names: Sequence[Any] | None = None, first: int = 0
) -> np.ndarray:
    """Refuse rows with NaN or infinite values, and say where the first one is.

    X may be sparse; what is no array yet is returned as one of float64. `first` is the
    number of the first row, where X is a block of a larger table.
    """
    if not issparse(X) and (type(X) is not np.ndarray or X.dtype != np.float64):
        X = checked(np.asarray, X, dtype=np.float64)
    values = X.data if issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()) or np.isfinite(values).all():
            return X
    if issparse(X):
        stored = X.tocoo()
        bad = np.flatnonzero(~np.isfinite(stored.data))
        bad = bad[np.lexsort([stored.col[bad], stored.row[bad]])[0]]
        row, column = stored.row[bad], stored.col[bad]
    else:
        row, column = np.argwhere(~np.isfinite(X))[0]
    kind = "NaN (missing)" if np.isnan(X[row, column]) else "an infinite value"
    name = column if names is None else repr(str(names[column]))
    raise SmpcoreError(
        f"X holds {kind} in row {first + row}, column {name}; leave such rows out, or "
        "let prepare() fill them: there both count as missing."
    )


class Caution(UserWarning):
    """A value that was changed to fit the data, or does what nobody may want."""


_PACKAGE = os.path.dirname(__file__) + os.sep
_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


def warn(words: str, category: type[Warning]) -> None:
    """Warn at the line outside of this package that led here: the user's."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(words, category, stacklevel=level)


def caution(words: str) -> None:
    """Hand words to whoever collects cautions in this thread; otherwise warn."""
    heard = _heard.get()
    if heard is None:
        warn(words, Caution)
    else:
        heard.append(words)


@contextmanager
def cautions() -> Iterator[list[str]]:
    """Collect the cautions of this thread, and of no other, instead of warnings.

    Recording warnings would not do: Python has one record for all threads.

    Yields
    ------
    list of str
        Filled while the block runs.

    Examples
    --------
    >>> from smpcore import SMaLLClassifier
    >>> from smpcore.errors import cautions
    >>> with cautions() as heard:
    ...     _ = SMaLLClassifier(k=3).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> heard
    ['k=3 is more than the 1 features; k=1 is used.']
    """
    heard: list[str] = []
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)
