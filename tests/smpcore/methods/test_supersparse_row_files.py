"""Super-sparse regression of rows in a file is that of the table in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from smpcore import SuperSparseRegressor
from smpcore.datasets.parquet_rows import ParquetRows
from smpcore.errors import SmpcoreError
from smpcore.methods.shared import row_blocks, scaling
from smpcore.methods.supersparse.blocks import BlockObjective


@pytest.fixture
def table(tmp_path, monkeypatch):
    rows = np.random.default_rng(0).normal(3.0, 2.0, size=(3000, 8))
    rows[:, 7] = 5.0
    rows[1500:] = rows[:1500]
    frame = pd.DataFrame(rows, columns=list("abcdefgh"))
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 4000)
    noise = np.tile(np.random.default_rng(2).normal(size=1500), 2)
    y = np.round(rows[:, 0] + 0.3 * rows[:, 1] ** 2 + noise, 2)
    return frame, ParquetRows(tmp_path / "rows.parquet"), y


@pytest.mark.parametrize("similarity", ["rbf", "laplacian", "poly", "linear"])
def test_numbers_are_predicted_as_from_memory(similarity, table, monkeypatch):
    frame, rows, y = table
    weights = np.random.default_rng(1).integers(3, size=len(y))
    few = SuperSparseRegressor(3, similarity=similarity)
    usual = clone(few).fit(frame, y, weights)
    monkeypatch.setattr(scaling, "MOST_COPY_BYTES", 10_000)
    fitted = clone(few).fit(rows, y, weights)
    assert type(fitted.objective(few.problem(rows, y))) is BlockObjective
    np.testing.assert_allclose(fitted.start_, usual.start_, rtol=1e-9, atol=1e-9)
    assert fitted.objective_ == pytest.approx(usual.objective_, rel=1e-3)
    monkeypatch.undo()
    apart = fitted.predict(rows) - usual.predict(frame)
    assert np.sqrt((apart**2).mean()) < 0.02 * y.std()


def test_what_is_no_sum_of_squares_takes_memory(table, monkeypatch):
    _, rows, y = table
    monkeypatch.setattr(scaling, "MOST_COPY_BYTES", 10_000)
    words = "takes rows in memory only.*SuperSparseRegressor"
    for options in ({"loss": "epsilon-insensitive"}, {"target": "ridge"}):
        with pytest.raises(SmpcoreError, match=words):
            SuperSparseRegressor(**options).fit(rows, y)
