"""Fits that read rows from a file in blocks are the fits of the table in memory."""

import threading
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from joblib import parallel_config
from sklearn.base import clone

from smpcore import (
    MultiPrototypeSVC,
    SMaLLClassifier,
    SMPClassifier,
    SuperSparseClassifier,
    SuperSparseRegressor,
)
from smpcore.datasets.parquet_rows import ParquetRows
from smpcore.errors import SmpcoreError
from smpcore.methods.mprotsvm import problem as svm_problem
from smpcore.methods.shared import row_blocks, scaling, starts
from smpcore.methods.supersparse import blocks as supersparse_blocks
from smpcore.methods.supersparse import fit as supersparse_fit
from smpcore.methods.supersparse import problem as supersparse_problem

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


@contextmanager
def all_in_memory():
    with pytest.MonkeyPatch.context() as whole:
        whole.setattr(scaling, "MOST_COPY_BYTES", 2**30)
        yield


@all_in_memory()
def in_memory(estimator, *data):
    return clone(estimator).fit(*data)


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
    usual, rows = in_memory(FAMILIES[name], frame, labels), in_file(tmp_path, frame)
    fitted = clone(FAMILIES[name]).fit(rows, labels)
    assert_same_fit(fitted, usual)
    with all_in_memory():
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
    small = pd.DataFrame(small, columns=frame.columns)
    assert_same_fit(fitted, in_memory(FAMILIES[name], small, labels))


SUPERSPARSE = {
    "two classes": SuperSparseClassifier(4, gamma=0.2),
    "balanced": SuperSparseClassifier(6, class_weight="balanced"),
    "Laplacian": SuperSparseClassifier(4, similarity="laplacian"),
    "polynomial": SuperSparseClassifier(4, similarity="poly", degree=2),
    "linear, in a box": SuperSparseClassifier(2, similarity="linear", box=(0.0, 9.0)),
    "numbers": SuperSparseRegressor(3),
    "numbers, Laplacian": SuperSparseRegressor(3, similarity="laplacian"),
}


@pytest.mark.parametrize("name", SUPERSPARSE)
def test_virtual_prototypes_from_a_file_are_those_from_memory(
    name, table, tmp_path, tiny_blocks, monkeypatch
):
    monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 4000)
    monkeypatch.setattr(row_blocks, "ROWS_AT_ONCE", 500)
    frame, labels = table
    labels = labels > 0 if name != "balanced" else labels
    weights = np.random.default_rng(1).integers(3, size=len(labels))
    if "numbers" in name:
        labels = np.round(frame["a"] + 0.3 * frame["b"] ** 2, 2).to_numpy()
    usual = in_memory(SUPERSPARSE[name], frame, labels, weights)
    rows = in_file(tmp_path, frame)
    fitted = clone(SUPERSPARSE[name]).fit(rows, labels, weights)
    np.testing.assert_allclose(fitted.start_, usual.start_, rtol=1e-9, atol=1e-9)
    assert fitted.objective_ == pytest.approx(usual.objective_, rel=1e-3)
    assert fitted.model_.tie == pytest.approx(usual.model_.tie, rel=0.2)
    np.testing.assert_allclose(fitted.model_.low, usual.model_.low)
    found, wanted = fitted.predict(rows), usual.predict(frame)
    if "numbers" in name:
        assert np.sqrt(((found - wanted) ** 2).mean()) < 0.02 * labels.std()
    else:
        assert (found == wanted).mean() > 0.99


@pytest.mark.parametrize("name", ["two classes", "balanced", "Laplacian"])
def test_most_steps_are_made_on_a_sample(
    name, table, tmp_path, tiny_blocks, monkeypatch
):
    monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 4000)
    monkeypatch.setattr(supersparse_blocks, "SAMPLE_SIZE", 8 * 1500)
    monkeypatch.setattr(supersparse_fit, "SMALL", 0)  # one start of both
    monkeypatch.setattr(supersparse_fit, "N_CLUSTERED", 1)
    frame, labels = table
    few = clone(SUPERSPARSE[name]).set_params(tol=1e-3)
    usual = in_memory(few, frame, labels)
    rows, read = in_file(tmp_path, frame), []
    groups, read_group = -(-3000 // 700), pq.ParquetFile.read_row_group

    def counted(file, group, **options):
        read.append(group)
        return read_group(file, group, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    fitted = clone(few).fit(rows, labels)
    assert fitted.objective_ == pytest.approx(usual.objective_, rel=1e-2)
    assert fitted.n_iter_ < usual.n_iter_ / 2
    # Ranges, scales, order, sample, start, answers; then two for each step.
    assert len(read) / groups < 14 + 2 * fitted.n_iter_


def test_a_sample_has_all_classes_and_their_weights(table, tmp_path, tiny_blocks):
    frame, labels = table
    labels = np.where(np.arange(3000) % 300 == 0, 7, labels)
    weights = np.random.default_rng(1).integers(1, 3, size=3000)
    few = SuperSparseClassifier(class_weight="balanced")
    rows = few.problem(in_file(tmp_path, frame), labels, weights).rows
    some = rows.sampled(400)
    sizes = np.bincount(some.Y.argmax(axis=0))
    np.testing.assert_array_equal(sizes, [100, 100, 100, 10])
    np.testing.assert_allclose(some.Y @ some.weights, rows.Y @ rows.weights, atol=1e-12)
    np.testing.assert_array_equal(some.cases, rows.sampled(400).cases)


def test_equal_rows_count_as_one_where_prototypes_start(tmp_path, tiny_blocks):
    rows = np.random.default_rng(0).integers(2, size=(3000, 4)).astype(float)
    labels = (rows.sum(axis=1) + np.random.default_rng(1).random(3000) > 2.5) + 0
    frame = pd.DataFrame(rows, columns=list("abcd"))
    few = SuperSparseClassifier(20, max_iter=5)
    with pytest.warns(UserWarning, match="more than the 16 distinct rows"):
        usual = in_memory(few, frame, labels)
    with pytest.warns(UserWarning, match="more than the 16 distinct rows"):
        fitted = clone(few).fit(in_file(tmp_path, frame), labels)
    np.testing.assert_allclose(fitted.start_, usual.start_, atol=1e-9)
    assert fitted.objective_ == pytest.approx(usual.objective_, rel=1e-3)


CORES = FAMILIES | SUPERSPARSE | {"SVM": MultiPrototypeSVC(n_prototypes=2)}


@pytest.mark.parametrize("name", CORES)
def test_more_cores_change_no_bit(name, table, tmp_path, tiny_blocks, monkeypatch):
    monkeypatch.setattr(svm_problem, "DRAWN", 1500)
    frame, labels = table
    if name in SUPERSPARSE:  # six blocks: it goes over them for each step
        monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 4000)
        monkeypatch.setattr(row_blocks, "ROWS_AT_ONCE", 500)
        labels = labels > 0
    rows, (usual, fitted) = in_file(tmp_path, frame), (clone(CORES[name]) for _ in "12")
    usual.fit(rows, labels)
    with parallel_config("threading", n_jobs=3):
        fitted.fit(rows, labels)
    assert fitted.objective_ == usual.objective_
    for part in ("weights", "bias", "scale"):
        of_one_core = getattr(usual.model_, part)
        np.testing.assert_array_equal(getattr(fitted.model_, part), of_one_core)


@pytest.mark.parametrize("stretch", [82, 2**22])
def test_blocks_are_worked_on_side_by_side_and_told_in_order(
    stretch, tiny_blocks, monkeypatch
):
    monkeypatch.setattr(row_blocks, "MOST_STRETCH", stretch)
    X, two = np.arange(820.0).reshape(410, 2), threading.Barrier(2)

    def work(part, block):
        two.wait(timeout=20)  # until the other one is here
        return part.start, np.exp(block.max())

    with parallel_config("threading", n_jobs=2), np.errstate(over="ignore"):
        came = [start for start, _ in row_blocks.map_blocks(work, X)]
    assert came == list(range(0, 410, 41))


def test_what_fails_in_one_block_is_raised_and_ends_the_others(tiny_blocks):
    def work(part, block):
        raise SmpcoreError(f"no rows {part.start}")

    with (
        parallel_config("threading", n_jobs=2),
        pytest.raises(SmpcoreError, match="no rows 0"),
    ):
        list(row_blocks.map_blocks(work, np.ones((410, 2))))
    assert not [t for t in threading.enumerate() if "ThreadPool" in t.name]


@pytest.mark.parametrize("name", ["SMP", "SMaLL", "two classes"])
def test_memory_does_not_grow_with_the_file(name, tmp_path, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(60_000, 100))
    labels = (rows[:, 0] + rows[:, 1] > 0.0).astype(int)
    frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(100)])
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=5000)
    monkeypatch.setattr(scaling, "MOST_COPY_BYTES", 2**20)
    monkeypatch.setattr(starts, "MOST_ROWS", 1000)
    monkeypatch.setattr(supersparse_fit, "MOST_ROWS", 1000)
    monkeypatch.setattr(supersparse_problem, "MOST_ROWS", 1000)
    if name not in FAMILIES:  # it compares 300 points with every row of a block
        monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 50_000)
    tracemalloc.start()
    clone((FAMILIES | SUPERSPARSE)[name]).set_params(tol=1e-2).fit(
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
    words = "3,000 rows in a file, and .* takes rows in memory only.*(SMP|SuperSp)"
    takes_memory = (
        MultiPrototypeSVC(kernel="rbf"),
        SMPClassifier(solver="primal-dual"),
        SuperSparseClassifier(similarity="strings"),
        SuperSparseClassifier(target="teacher"),
        SuperSparseClassifier(standardize=False),
        SuperSparseRegressor(loss="epsilon-insensitive"),
        SuperSparseRegressor(target="ridge"),
    )
    for estimator in takes_memory:
        with pytest.raises(SmpcoreError, match=words):
            estimator.fit(rows, labels)
    with pytest.raises(SmpcoreError, match="inconsistent numbers of samples"):
        SMPClassifier().fit(rows, labels[:-1])
    fitted = SMPClassifier().fit(rows, labels)
    with pytest.raises(SmpcoreError, match="feature names"):
        fitted.predict(ParquetRows(rows.path, list("abcdefg")))
