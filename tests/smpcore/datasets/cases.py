"""What tests of data sets share: small tables, files of them, and what is said."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smpcore.datasets import make_dataset
from smpcore.errors import DatasetError


def made(columns, target="y", roles=None, **options):
    """A data set of some columns, or of a frame, with a target unless it has none."""
    roles = {**({target: "target"} if target else {}), **(roles or {})}
    return make_dataset(pd.DataFrame(columns), "t", roles=roles, **options)


def parquet(columns, **options):
    """A Parquet file of some columns, of a frame or of a table of pyarrow."""
    file = io.BytesIO()
    if isinstance(columns, pd.DataFrame):
        columns = pa.Table.from_pandas(columns, preserve_index=False)
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    pq.write_table(table, file, **options)
    return file.getvalue()


def npz(**arrays):
    """A file of arrays."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def refused(words, error=DatasetError):
    """What is done within is refused with a sentence that has these words."""
    return pytest.raises(error, match=words)


def said(data, *words):
    """Whether one of the notices has all of these words."""
    return any(all(word in notice for word in words) for notice in data.notices)
