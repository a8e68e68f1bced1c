"""Series drawn by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from smpcore.datasets.dataset import Dataset
from smpcore.errors import DatasetError


def with_series(dataset: Dataset, x: np.ndarray, label: Any, most: int) -> Dataset:
    """Return a data set of series with one more.

    Parameters
    ----------
    dataset : Dataset
        Series, without groups or times of rows.
    x : ndarray of shape (n_features,)
        Values of the new series, channel beside channel.
    label : object
        Its class, one of those there are, or its number.
    most : int
        Rows that there may be.

    Returns
    -------
    Dataset
        ``private``; the new row is the last one.

    Raises
    ------
    DatasetError
        If there would be too many rows, or rows have a group or a time.
    """
    if dataset.groups is not None or dataset.times is not None:
        raise DatasetError(
            "A drawn series has no group and no time, which these rows have; give "
            "those columns the role ignore on Data."
        )
    if dataset.n_samples >= most:
        raise DatasetError(f"At most {most:,} rows can be drawn on; use fewer rows.")
    names = [*dataset.feature_columns, dataset.target]
    frame = dataset.frame[names]
    row = pd.DataFrame([[*np.asarray(x, np.float64), label]], columns=names)
    return replace(
        dataset,
        frame=pd.concat([frame, row], ignore_index=True),
        roles={name: dataset.roles[name] for name in names},
        kinds={name: dataset.kinds[name] for name in names},
        **{"private": True, "test_rows": None, "numbers": None, "origin": None},
        **{"notices": (), "cleaning": ()},
    )
