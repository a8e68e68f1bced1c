"""Two classes in place of a number to predict."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from smpcore.datasets.columns import Kind
from smpcore.datasets.display_names import plain_number, shown
from smpcore.errors import DatasetError


def cut_at_mean(
    frame: pd.DataFrame, target: str, kinds: Mapping[str, Kind]
) -> tuple[dict[str, Any], str]:
    """Cut a number to predict at its mean."""
    if kinds[target] != "number":
        raise DatasetError(
            f"target={shown(target)} should be a number to be cut at its mean, it is "
            "a category; choose another target."
        )
    values = frame[target].to_numpy(np.float64)
    mean = float(values.mean())
    labels = pd.Series(np.where(values < mean, "P", "N"), dtype="str")
    notice = (
        f"Two classes: 'P' where {shown(target)} is below {plain_number(mean, 6)}, "
        f"the mean of all {len(frame):,} rows, test rows included, else 'N'."
    )
    return {
        "frame": frame.assign(**{target: labels}),
        "kinds": {**kinds, target: "category"},
        "task": "classification",
    }, notice
