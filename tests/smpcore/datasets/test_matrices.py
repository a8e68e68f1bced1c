"""Kernels and matrices as data: what a fit gets of them, and which are refused."""

import io
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from smpcore import METHODS, IMKPLClassifier, load_dataset, prepare, split
from smpcore.datasets import (
    forbid,
    forbiddable,
    limits,
    make_matrices,
    matrices,
    matrix_of,
    read_kernels,
    read_matrices,
    read_similarities,
    used_matrices,
)
from smpcore.evaluation import folds, out_of_fold
from tests.smpcore.datasets.cases import npz, refused

PLACES = np.random.default_rng(0).normal(size=(12, 3))
NIGH = np.exp(-((PLACES[:, None] - PLACES) ** 2).sum(axis=2))
HALVES = np.repeat(["a", "b"], 6)


def test_kernels_stand_side_by_side_with_their_names_and_labels():
    found = read_kernels(npz(near=NIGH, y=HALVES, far=(NIGH**0.5).astype(np.float32)))
    np.testing.assert_array_equal(found.X[:, :12], NIGH)
    np.testing.assert_allclose(found.X[:, 12:], NIGH**0.5, rtol=1e-6)
    assert found.names == ("near", "far") and found.y.tolist() == HALVES.tolist()
    new = read_kernels(npz(near=NIGH[:2], far=NIGH[:2] ** 0.5), n_samples=12)
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
    file = npz(**{"near": NIGH, name: objects})
    with np.load(io.BytesIO(file), allow_pickle=True) as loaded:
        _ = loaded[name]
    assert trap.exists()  # it is one that works
    trap.unlink()
    with refused(f"'{name}' holds pickled Python objects"):
        read_kernels(file)
    assert not trap.exists()


def test_a_bare_pickle_under_the_name_of_an_array_is_refused(tmp_path):
    trap, file = tmp_path / "sprung", io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("near.npy", pickle.dumps(Harmful(trap)))
    with refused("cannot be read"):
        read_kernels(file)
    assert not trap.exists()


def _edited(size, claim=None):
    """A file of zeros whose own header may say something else."""
    file, head = io.BytesIO(), io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": claim or (size, size)}
    np.lib.format.write_array_header_1_0(head, header)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("near.npy", head.getvalue() + bytes(8 * size * size))
    return file.getvalue()


def test_a_long_directory_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(matrices, "MAX_KERNELS", 2)
    data = npz(**{f"k{number}": np.eye(2) for number in range(6)})
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with refused("more than 2 arrays; leave kernels out"):
        read_kernels(data)


def test_texts_that_are_no_labels_are_refused_packed(monkeypatch):
    data = npz(k=np.eye(2), names=np.array(["a", "b" * 1_001]))
    monkeypatch.setattr(matrices, "_array", None)
    with refused(r"names has texts of 1,001 characters, at"):
        read_kernels(data)


def test_what_unpacks_to_too_much_is_refused_packed(monkeypatch):
    monkeypatch.setattr(matrices, "MAX_KERNEL_BYTES", 2**22)
    bomb, claim = _edited(3000), (10**6, 10**6)
    lying = _edited(100, claim)
    assert len(bomb) < 100_000
    tracemalloc.start()
    try:
        with refused("expands to 72 MB, at most 4 MB"):
            read_kernels(bomb)
        with refused("says that it has 8,000,000,000,000"):
            read_kernels(lying)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**21


GAP = NIGH.copy()
GAP[2, 4] = np.nan


NINE, FOUR = NIGH[:9, :9], HALVES[:4]
NO_KERNELS = [
    ({"near": NIGH[:5]}, r"'near' has the shape \(5, 12\) and should be square"),
    ({"near": NIGH, "l": np.arange(12)}, r"shape \(12,\) .* be square; .* labels as y"),
    ({"near": NIGH, "label": HALVES.astype(str)}, "no real numbers; save labels as y"),
    ({"near": np.float64(1)}, r"'near' has the shape \(\) and should be square"),
    ({"a": NIGH, "b": NINE}, r"'b' has the shape \(9, 9\) and 'a' \(12, 1"),
    ({"near": GAP}, "'near' has 1 entries .* the first in row 3, column 5"),
    ({"near": NIGH * 1j}, "'near' holds no real numbers"),
    ({"y": HALVES}, "holds no kernel"),
    ({"near": NIGH, "y": FOUR}, r"y has the shape \(4,\) .* of the 12 rows"),
]


@pytest.mark.parametrize(("arrays", "words"), NO_KERNELS)
def test_what_is_no_kernel_is_refused_with_a_sentence(arrays, words):
    with refused(words):
        read_kernels(npz(**arrays))


def test_damaged_files_are_refused():
    whole = npz(near=NIGH)
    torn = bytearray(whole)
    torn[200:260] = bytes(60)
    for data in (whole[:-40], b"PK\x03\x04", b"near", bytes(torn)):
        with refused("cannot be read"):
            read_kernels(data)
    with refused("empty"):
        read_kernels(b"")
    twice = io.BytesIO(npz(near=NIGH))
    with zipfile.ZipFile(twice, "a") as archive:
        archive.writestr("notes.txt", "of mine")
    with refused(r"'notes.txt', which is no array"):
        read_kernels(twice)


@pytest.mark.parametrize("kind", [">f8", ">i4", ">U1", "<f2", "?", "u1"])
def test_numbers_and_labels_are_read_in_any_order_of_bytes(kind):
    y = np.array([*"010110"]).astype(int)
    labels = (y.astype(str) if "U" in kind else y).astype(kind)
    names = labels[::-1]
    near = np.eye(6).astype(">f8")
    found = read_matrices(npz(near=near, y=labels, names=names), "t.npz")
    wanted = read_matrices(npz(near=np.eye(6), y=labels.tolist(), names=names), "t.npz")
    assert found.frame.equals(wanted.frame)


@pytest.mark.parametrize("character", [0x118100, 0x7A000000, 0xD800])
def test_labels_that_are_no_text_are_refused(character):
    y = np.array([*"010110"])
    y.view(np.uint32)[2] = character
    for arrays in ({"y": y}, {"y": np.arange(6) > 2, "names": y}):
        with refused("seems to be cut off or damaged"):
            read_matrices(npz(near=np.eye(6), **arrays), "t.npz")


RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(40, 2))
LABELS = np.where(POINTS[:, 0] > 0, "a", "b")
APART = ((POINTS[:, None] - POINTS) ** 2).sum(axis=2)
NEAR, LINEAR = np.exp(-APART), POINTS @ POINTS.T
#: A distance is no kernel: its eigenvalues sum to 0.
DISTANCE = -np.sqrt(APART)


def both(**options):
    return make_matrices({"near": NEAR, "flat": LINEAR}, LABELS, "Both", **options)


def test_a_model_gets_the_similarities_to_its_training_rows_only():
    dataset = both()
    parts = split(dataset)
    flat = matrix_of(dataset, "flat")
    for rows in (parts.train, folds(dataset, parts.train)[0].train):
        preparation = prepare(dataset, rows)
        X = preparation.transform(dataset.frame)
        np.testing.assert_array_equal(X, np.hstack([NEAR[:, rows], flat[:, rows]]))
        assert preparation.feature_names[0] == f"near to row {rows[0] + 1}"


@pytest.mark.parametrize("key", METHODS)
def test_what_a_fold_holds_out_is_in_no_fit(key):
    """Scores of folds are those of fits that never see the other rows' columns."""
    dataset, method = make_matrices({"near": NEAR}, LABELS, "Near"), METHODS[key]
    if method.refusal(dataset):
        return
    parts = split(dataset)
    estimator = method.estimator_for(dataset, {"n_prototypes": 2})
    scores = out_of_fold(estimator, dataset, parts, n_folds=2)
    for fold in folds(dataset, parts.train, 2):
        if fold.repeat:
            continue
        K = NEAR[np.ix_(fold.train, fold.train)]
        again = method.estimator_for(dataset, {"n_prototypes": 2})
        model = again.fit(K, LABELS[fold.train]).model_
        places = np.searchsorted(parts.train, fold.held_out)
        alone = model.scores(NEAR[np.ix_(fold.held_out, fold.train)])
        np.testing.assert_allclose(scores[places], alone, atol=1e-9)


def test_rounding_is_mended_and_said():
    rough = NEAR.copy()
    rough[0, 1] += 1e-9
    dataset = make_matrices({"rough": rough}, LABELS, "Rough")
    K = matrix_of(dataset, "rough")
    np.testing.assert_array_equal(K, K.T)
    assert "differed from its transpose by up to 1e-09" in dataset.notices[0]
    assert make_matrices({"near": NEAR}, LABELS, "Near").notices == ()


@pytest.mark.parametrize("triangle", [np.tril, np.triu])
def test_one_triangle_of_32_bits_is_the_whole_matrix(triangle):
    half = triangle(NEAR).astype(np.float32)
    dataset = read_matrices(npz(half=half, y=LABELS), "half.npz")
    whole = NEAR.astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(matrix_of(dataset, "half"), (whole + whole.T) / 2)
    assert "'half' has one triangle only, which is mirrored" in dataset.notices[0]


def test_a_file_of_too_many_bytes_is_told_what_would_fit(monkeypatch):
    monkeypatch.setattr(limits, "MAX_BYTES", 2_000)
    with refused("save float32 and one triangle.*savez_compressed"):
        read_matrices(npz(near=NEAR, y=LABELS), "near.npz")


def test_negative_eigenvalues_are_refused_raised_or_kept():
    least = np.linalg.eigvalsh(DISTANCE)[0]
    with refused(f"'far' is no kernel.*eigenvalue {least:.3g}"):
        make_matrices({"far": DISTANCE}, LABELS, "Far")
    raised = make_matrices({"far": DISTANCE}, LABELS, "Far", indefinite="shift")
    K = matrix_of(raised, "far")
    assert abs(np.linalg.eigvalsh(K)[0]) < 1e-9
    np.testing.assert_array_equal(K - np.diag(K.diagonal()), DISTANCE)
    assert "its diagonal was raised by" in raised.notices[0]
    kept = make_matrices({"far": DISTANCE}, LABELS, "Far", indefinite="keep")
    assert kept.matrices[0].least == pytest.approx(least)
    able = {key for key, row in METHODS.items() if not row.refusal(kept)}
    assert able and able < {k for k, row in METHODS.items() if not row.refusal(raised)}


@pytest.mark.parametrize(
    ("way", "mended"),
    [("clip", lambda x: np.maximum(x, 0)), ("flip", np.abs), ("square", np.square)],
)
def test_changed_eigenvalues_are_those_of_eigh_and_new_rows_change_alike(way, mended):
    """The eigenvectors stay; what is known as a new row is as similar as before."""
    values, vectors = np.linalg.eigh(DISTANCE)
    dataset = make_matrices({"far": DISTANCE}, LABELS, "Far", indefinite=way)
    K = matrix_of(dataset, "far")
    np.testing.assert_array_equal(K, K.T)
    turned = vectors.T @ K @ vectors
    np.testing.assert_allclose(turned, np.diag(mended(values)), atol=1e-9)
    assert np.linalg.eigvalsh(K)[0] > -1e-9 and dataset.matrices[0].least == 0
    new = read_similarities(npz(far=DISTANCE[[3, 7]]), dataset)
    np.testing.assert_allclose(new, K[[3, 7]], atol=1e-9)
    assert "also of validation and test" in dataset.notices[0]
    whole = read_similarities(npz(far=DISTANCE), pickle.loads(pickle.dumps(dataset)))
    np.testing.assert_array_equal(whole.iloc[3], new.iloc[0])
    kernel = make_matrices({"near": NEAR}, LABELS, "Near", indefinite=way)
    np.testing.assert_array_equal(matrix_of(kernel, "near"), (NEAR + NEAR.T) / 2)


def test_each_method_takes_a_kind_of_matrix_or_says_why_not():
    table, kernel = load_dataset("moons"), make_matrices({"near": NEAR}, LABELS, "Near")
    uneven, two = make_matrices({"flat": LINEAR}, LABELS, "Flat"), both(normalise=True)
    assert not any(row.refusal(table) for row in METHODS.values())
    tables = kernel, uneven, two
    reasons = [{row.refusal(one) for row in METHODS.values()} for one in tables]
    assert reasons[0] == {"", "it weighs features, and a matrix has none"}
    assert "it needs 1 on the diagonal: normalise flat" in reasons[1]
    assert "it takes one matrix: choose one on Data" in reasons[2]
    able = [row for row in METHODS.values() if not row.refusal(kernel)]
    assert not any(row.refusal(forbid(two, ["flat"])) for row in able)


@pytest.mark.parametrize("way", ["refuse", "shift", "clip", "square", "keep"])
def test_numbers_that_overflow_are_refused_in_words(way):
    """Their eigenvalues do not converge: that says nothing to whoever brought them."""
    labels = np.array([*"ppqq"])
    for size in (1.5e308, 8e307, 1e60):
        with refused("at most 1e\\+50 is read; divide the matrix"):
            make_matrices({"K": np.full((4, 4), size)}, labels, "K", indefinite=way)
    with refused("cannot be normalised"):
        make_matrices({"K": 5e-324 * np.eye(4)}, labels, "K", normalise=True)
    extreme = np.diag([1e50, 1e50, 1e-50, 1e-50]) + 1e50 * (np.eye(4)[::-1] > 0)
    if way != "refuse":
        both = {"indefinite": way, "normalise": True}
        dataset = make_matrices({"K": extreme}, labels, "K", **both)
        assert np.isfinite(matrix_of(dataset, "K")).all()


def test_normalised_matrices_have_one_on_the_diagonal():
    dataset = both(normalise=True)
    K = matrix_of(dataset, "flat")
    np.testing.assert_array_equal(K.diagonal(), 1.0)
    lengths = np.linalg.norm(POINTS, axis=1)
    np.testing.assert_allclose(K, LINEAR / np.outer(lengths, lengths), atol=1e-12)
    assert [matrix.even for matrix in dataset.matrices] == [True, True]
    assert [matrix.even for matrix in both().matrices] == [True, False]


def test_a_matrix_is_forbidden_as_a_whole():
    dataset = both()
    assert list(forbiddable(dataset)) == ["near", "flat"]
    less = forbid(dataset, ["near"])
    assert [matrix.name for matrix in used_matrices(less)] == ["flat"]
    rows = np.arange(30)
    X = prepare(less, rows).transform(less.frame)
    np.testing.assert_array_equal(X, matrix_of(dataset, "flat")[:, rows])
    assert used_matrices(forbid(less, [])) == dataset.matrices


def test_the_digest_counts_every_number():
    dataset, other = both(), NEAR.copy()
    other[3, 5] = other[5, 3] = 0.123
    tables = {"near": other, "flat": LINEAR}
    changed = make_matrices(tables, LABELS, "Both", indefinite="shift")
    assert changed.digest != dataset.digest == both().digest
    assert pickle.loads(pickle.dumps(dataset)).digest == dataset.digest


def test_an_npz_file_becomes_a_private_data_set():
    file = npz(near=NEAR, y=LABELS, names=np.arange(40))
    dataset = read_matrices(file, "shapes.npz")
    assert (dataset.name, dataset.private, dataset.n_samples) == ("shapes", True, 40)
    assert dataset.y.tolist() == LABELS.tolist() and dataset.task == "classification"
    assert dataset.frame["name"].tolist() == [str(i) for i in range(40)]
    assert dataset.roles["name"] == "ignore"
    numbers = read_matrices(npz(near=NEAR, y=POINTS[:, 0]), "n.npz")
    assert numbers.task == "regression"


HOLE, SKEW = LABELS.copy(), NEAR.copy()
HOLE[7] = ""
SKEW[2, 9] += 0.5
INFINITE = np.full(40, np.inf)
NO_DATA = [
    ({"near": NEAR}, "has no labels; save them as y"),
    ({"near": NEAR, "y": HOLE}, "y has no label in row 8"),
    ({"near": NEAR, "y": INFINITE}, "infinite number"),
    ({"near": SKEW, "y": LABELS}, r"by 0.5 \(row 3, column 10\).*symmetric"),
    ({"far": DISTANCE, "y": LABELS, "normalise": True}, "0 on its diagonal"),
    ({"near": NEAR, "y": LABELS, "names": LABELS[:5]}, "names has the shape"),
]


@pytest.mark.parametrize(("arrays", "words"), NO_DATA)
def test_what_is_no_data_set_is_refused_with_a_sentence(arrays, words):
    options = {"normalise": "normalise" in arrays}
    arrays = {name: arrays[name] for name in arrays if name != "normalise"}
    with refused(words):
        read_matrices(npz(**arrays), "t.npz", **options)


def test_too_many_numbers_are_refused_packed_and_before_they_are_looked_at(monkeypatch):
    file = npz(k=np.eye(5), y=np.arange(5) % 2)
    monkeypatch.setattr(matrices, "MAX_CELLS", 24)
    monkeypatch.setattr(matrices, "_array", None)
    with refused("1 matrices of 5 x 5 have 25 numbers"):
        read_matrices(file, "k.npz")
    with refused("2 matrices of 40 x 40 have 3,200 numbers"):
        both()


def test_similarities_of_new_rows_find_their_columns():
    dataset = read_matrices(npz(near=NEAR, flat=LINEAR, y=LABELS), "t.npz")
    new = RNG.normal(size=(3, 2))
    near = np.exp(-((new[:, None] - POINTS) ** 2).sum(axis=2))
    flat, labels, rows = new @ POINTS.T, ["a", "b", "a"], split(dataset).train
    frame = read_similarities(npz(flat=flat, near=near, y=labels), dataset)
    X = prepare(dataset, rows).transform(frame)
    np.testing.assert_array_equal(X, np.hstack([near[:, rows], flat[:, rows]]))
    assert frame["y"].tolist() == ["a", "b", "a"]
    with refused(r"no array 'flat'.*'near', 'flat'"):
        read_similarities(npz(near=near), dataset)
    with refused("should have 40 columns"):
        read_similarities(npz(near=near[:, :9], flat=near[:, :9]), dataset)


def test_the_bundled_matrices_need_two_of_three():
    dataset = load_dataset("similarities", n_samples=90)
    assert [matrix.name for matrix in dataset.matrices] == ["place", "word", "chance"]
    parts = split(dataset)

    def score(names):
        less = forbid(dataset, [n for n in forbiddable(dataset) if n not in names])
        X = prepare(less, parts.train).transform(less.frame)
        options = {"kernels": "precomputed", "standardize": False, "kappa": 3.0}
        fitted = IMKPLClassifier(**options, n_prototypes=3)
        fitted.fit(X[parts.train], less.y[parts.train])
        return fitted.score(X, less.y)

    assert score(["place", "word"]) > max(score(["place"]), score(["word"])) + 0.1
    assert score(["chance"]) < 0.75
