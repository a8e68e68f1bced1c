"""Fits that read rows from a file in blocks are the fits of the table in memory."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from smpcore import MultiPrototypeSVC, SMaLLClassifier, SMPClassifier
from smpcore.datasets.parquet_rows import ParquetRows
from smpcore.errors import SmpcoreError
from smpcore.estimators import row_blocks, scaling, starts

FAMILIES = {
    "SMP": SMPClassifier(mu=0.01, tol=1e-6),
    "SMP by class": SMPClassifier(mu=0.01, class_weight="balanced", reassign=True),
    "SMaLL": SMaLLClassifier(k=2, tol=1e-6),
    "SMaLL of all features": SMaLLClassifier(k=8),
    "SMaLL against the rest": SMaLLClassifier(k=3, multiclass="ovr"),
}


@pytest.fixture
def table():
    rows = np.random.default_rng(0).normal(3.0, 2.0, size=(3000, 8))
    rows[:, 7] = 5.0
    labels = (rows[:, 0] + rows[:, 1] ** 2 > 14.0).astype(int) + (rows[:, 2] > 5.0)
    return pd.DataFrame(rows, columns=list("abcdefgh")), labels


@pytest.fixture
def tiny_blocks(monkeypatch):
    monkeypatch.setattr(scaling, "MOST_COPY_BYTES", 10_000)
    monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 300)
    monkeypatch.setattr(row_blocks, "ROWS_AT_ONCE", 41)


def in_file(folder, frame):
    frame.to_parquet(folder / "rows.parquet", row_group_size=700)
    return ParquetRows(folder / "rows.parquet")


def assert_same_fit(fitted, usual):
    for name in ("weights", "bias", "low", "high", "center", "scale", "tie"):
        one, other = (getattr(each.model_, name) for each in (fitted, usual))
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)
    for name in ("objective_", "gap_"):
        one, other = (getattr(each, name) for each in (fitted, usual))
        assert one == pytest.approx(other, rel=1e-7, abs=1e-8)
    for name in ("assignment_", "merged_", "wins_", "feature_names_in_"):
        one, other = (getattr(each, name) for each in (fitted, usual))
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_fit_from_a_file_is_that_from_memory(name, table, tmp_path, tiny_blocks):
    frame, labels = table
    with pytest.MonkeyPatch.context() as whole:
        whole.setattr(scaling, "MOST_COPY_BYTES", 2**30)
        usual = clone(FAMILIES[name]).fit(frame, labels)
    rows = in_file(tmp_path, frame)
    fitted = clone(FAMILIES[name]).fit(rows, labels)
    assert_same_fit(fitted, usual)
    with pytest.MonkeyPatch.context() as whole:
        whole.setattr(scaling, "MOST_COPY_BYTES", 2**30)
        answers = usual.predict(frame)
    np.testing.assert_array_equal(fitted.predict(rows), answers)


def test_a_small_file_is_read_at_once(table, tmp_path):
    frame, labels = table
    usual = SMPClassifier().fit(frame, labels)
    fitted = SMPClassifier().fit(in_file(tmp_path, frame), labels)
    np.testing.assert_array_equal(fitted.model_.weights, usual.model_.weights)
    svm = MultiPrototypeSVC(n_prototypes=1)
    assert svm.fit(in_file(tmp_path, frame), labels).score(frame, labels) > 0.5


@pytest.mark.parametrize("name", ["SMP", "SMaLL"])
def test_a_memory_map_of_float32_is_read_as_float64(name, table, tmp_path, tiny_blocks):
    frame, labels = table
    small = frame.to_numpy(np.float32)
    mapped = np.memmap(tmp_path / "rows", np.float32, "w+", shape=small.shape)
    mapped[:] = small
    fitted = clone(FAMILIES[name]).fit(mapped, labels)
    fitted.feature_names_in_ = frame.columns.to_numpy()
    with pytest.MonkeyPatch.context() as whole:
        whole.setattr(scaling, "MOST_COPY_BYTES", 2**30)
        usual = clone(FAMILIES[name]).fit(
            pd.DataFrame(small, columns=frame.columns), labels
        )
    assert_same_fit(fitted, usual)


@pytest.mark.parametrize("name", ["SMP", "SMaLL"])
def test_memory_does_not_grow_with_the_file(name, tmp_path, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(60_000, 100))
    labels = (rows[:, 0] + rows[:, 1] > 0.0).astype(int)
    frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(100)])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=5000)
    monkeypatch.setattr(scaling, "MOST_COPY_BYTES", 2**20)
    monkeypatch.setattr(starts, "MOST_ROWS", 1000)
    tracemalloc.start()
    clone(FAMILIES[name]).set_params(tol=1e-2).fit(
        ParquetRows(tmp_path / "rows.parquet"), labels
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.nbytes / 3


REFUSED = {
    "NaN": (
        np.nan,
        r"X holds NaN \(missing\) in row 2900, column 'c'; leave such rows",
    ),
    "infinite": (np.inf, "X holds an infinite value in row 2900, column 'c'"),
    "too large": (1e200, "X holds values as large as 1e\\+200, too large to be scaled"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_values_that_cannot_be_learned_from_are_refused(
    case, table, tmp_path, tiny_blocks
):
    frame, labels = table
    value, words = REFUSED[case]
    table = frame.to_numpy().copy()
    table[2900, 2] = value
    mapped = np.memmap(tmp_path / "rows", np.float64, "w+", shape=table.shape)
    mapped[:] = table
    with pytest.raises(SmpcoreError, match=words.replace("'c'", "2")):
        SMPClassifier().fit(mapped, labels)
    if np.isfinite(value):
        frame.iloc[2900, 2] = value
        with pytest.raises(SmpcoreError, match=words):
            SMPClassifier().fit(in_file(tmp_path, frame), labels)


def test_what_reads_no_blocks_says_who_does(table, tmp_path, tiny_blocks):
    frame, labels = table
    rows = in_file(tmp_path, frame)
    words = "3,000 rows in a file, and .* takes rows in memory only.*SMPClassifier"
    for estimator in (MultiPrototypeSVC(), SMPClassifier(solver="primal-dual")):
        with pytest.raises(SmpcoreError, match=words):
            estimator.fit(rows, labels)
    with pytest.raises(SmpcoreError, match="inconsistent numbers of samples"):
        SMPClassifier().fit(rows, labels[:-1])
    fitted = SMPClassifier().fit(rows, labels)
    with pytest.raises(SmpcoreError, match="feature names"):
        fitted.predict(ParquetRows(rows.path, list("abcdefg")))
