"""Kernels from .npz files: read as they are, or refused with a sentence."""

import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from smpcore import IMKPLClassifier, SmpcoreError
from smpcore.datasets import matrices, read_kernels
from smpcore.errors import DatasetError

POINTS = np.random.default_rng(0).normal(size=(12, 3))
NEAR = np.exp(-((POINTS[:, None] - POINTS) ** 2).sum(axis=2))
LABELS = np.repeat(["a", "b"], 6)


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def test_kernels_stand_side_by_side_with_their_names_and_labels():
    found = read_kernels(npz(near=NEAR, y=LABELS, far=(NEAR**0.5).astype(np.float32)))
    np.testing.assert_array_equal(found.X[:, :12], NEAR)
    np.testing.assert_allclose(found.X[:, 12:], NEAR**0.5, rtol=1e-6)
    assert found.names == ("near", "far") and found.y.tolist() == LABELS.tolist()
    new = read_kernels(npz(near=NEAR[:2], far=NEAR[:2] ** 0.5), n_samples=12)
    assert new.X.shape == (2, 24) and new.y is None


class Harmful:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["near", "y"])
def test_pickles_are_refused_and_never_run(tmp_path, name):
    trap = tmp_path / "sprung"
    objects = np.array([Harmful(trap)] * 12, dtype=object)
    file = npz(**{"near": NEAR, name: objects})
    with np.load(io.BytesIO(file), allow_pickle=True) as loaded:
        _ = loaded[name]
    assert trap.exists()  # it is one that works
    trap.unlink()
    with pytest.raises(DatasetError, match=f"'{name}' holds pickled Python objects"):
        read_kernels(file)
    assert not trap.exists()


def test_a_bare_pickle_under_the_name_of_an_array_is_refused(tmp_path):
    import pickle

    trap, file = tmp_path / "sprung", io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("near.npy", pickle.dumps(Harmful(trap)))
    with pytest.raises(DatasetError, match="cannot be read"):
        read_kernels(file)
    assert not trap.exists()


def _edited(size=None, claim=None):
    """A file of zeros whose own header, or whose directory, says something else."""
    file, head = io.BytesIO(), io.BytesIO()
    shape = claim or (size, size)
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, header)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("near.npy", "w") as entry:
            entry.write(head.getvalue())
            for _ in range(size):
                entry.write(bytes(8 * size))
    return file.getvalue()


def test_a_long_directory_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(matrices, "MAX_KERNELS", 2)
    data = npz(**{f"k{number}": np.eye(2) for number in range(6)})
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(DatasetError, match="more than 2 arrays; leave kernels out"):
        read_kernels(data)


def test_texts_that_are_no_labels_are_refused_packed(monkeypatch):
    data = npz(k=np.eye(2), names=np.array(["a", "b" * 1_001]))
    monkeypatch.setattr(matrices, "_array", None)
    with pytest.raises(DatasetError, match=r"names has texts of 1,001 characters, at"):
        read_kernels(data)


def test_what_unpacks_to_too_much_is_refused_packed(monkeypatch):
    monkeypatch.setattr(matrices, "MAX_KERNEL_BYTES", 2**22)
    bomb = _edited(3000)
    assert len(bomb) < 100_000
    tracemalloc.start()
    try:
        with pytest.raises(DatasetError, match="expands to 72 MB, at most 4 MB"):
            read_kernels(bomb)
        with pytest.raises(DatasetError, match="says that it has 8,000,000,000,000"):
            read_kernels(_edited(100, claim=(10**6, 10**6)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**21


HOLE = NEAR.copy()
HOLE[2, 4] = np.nan


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"near": NEAR[:5]}, r"'near' has the shape \(5, 12\) and should be square"),
        ({"near": NEAR[0]}, r"'near' has the shape \(12,\) and should be square"),
        ({"near": np.float64(1)}, r"'near' has the shape \(\) and should be square"),
        ({"a": NEAR, "b": NEAR[:9, :9]}, r"'b' has the shape \(9, 9\) and 'a' \(12, 1"),
        ({"near": HOLE}, "'near' has 1 entries .* the first in row 3, column 5"),
        ({"near": NEAR.astype(str)}, "'near' holds no real numbers"),
        ({"near": NEAR * 1j}, "'near' holds no real numbers"),
        ({"y": LABELS}, "holds no kernel"),
        ({"near": NEAR, "y": LABELS[:4]}, r"y has the shape \(4,\) .* of the 12 rows"),
    ],
)
def test_what_is_no_kernel_is_refused_with_a_sentence(arrays, words):
    with pytest.raises(DatasetError, match=words):
        read_kernels(npz(**arrays))


def test_kernels_of_new_rows_have_a_column_for_each_training_row():
    with pytest.raises(DatasetError, match="should have 11 columns"):
        read_kernels(npz(near=NEAR[:2]), n_samples=11)


def test_damaged_files_are_refused():
    whole = npz(near=NEAR)
    torn = bytearray(whole)
    torn[200:260] = bytes(60)
    for data in (whole[:-40], b"PK\x03\x04", b"near", bytes(torn)):
        with pytest.raises(DatasetError, match="cannot be read"):
            read_kernels(data)
    with pytest.raises(DatasetError, match="empty"):
        read_kernels(b"")
    twice = io.BytesIO(npz(near=NEAR))
    with zipfile.ZipFile(twice, "a") as archive:
        archive.writestr("notes.txt", "of mine")
    with pytest.raises(DatasetError, match=r"'notes.txt', which is no array"):
        read_kernels(twice)


def test_the_fit_checks_that_tables_are_kernels():
    skew = NEAR.copy()
    skew[0, 1] += 0.1
    found = read_kernels(npz(skew=skew, y=LABELS))
    estimator = IMKPLClassifier(kernels="precomputed", standardize=False)
    with pytest.raises(SmpcoreError, match="differs from its transpose"):
        estimator.fit(found.X, found.y)
