"""Files that pages read: their endings, and how another one is read alike."""

from __future__ import annotations

from typing import Any

from smpcore import Dataset

ENDINGS = ["csv", "tsv", "txt", "data", "arff", "parquet", "pq", "ts"]


def like(dataset: Dataset) -> dict[str, Any]:
    """Settings that make series of another file join those of a data set."""
    if not dataset.channels:
        return {}
    series = dataset.reading.series if dataset.reading else ()
    return {"series": series or False, "n_times": dataset.sample_shape[1]}
