"""Pictures from arrays, from folders, and from tables whose columns are pixels."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from smpcore import SmpcoreError, load_dataset, read_table
from smpcore.datasets import image_shapes, is_images, make_dataset

DIGITS = load_digits()


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def png(values):
    file = io.BytesIO()
    Image.fromarray(values.astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


def folders(files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


def test_arrays_with_labels_are_a_table_of_pixels():
    data = npz(images=DIGITS.images, y=DIGITS.target, age=np.arange(len(DIGITS.target)))
    dataset = read_table(data, "d.npz")
    assert dataset.sample_shape == (8, 8) and dataset.is_image
    X = dataset.frame[dataset.feature_columns].to_numpy()
    np.testing.assert_array_equal(X, DIGITS.data)
    assert [*dataset.frame[dataset.target]] == [str(one) for one in DIGITS.target]
    assert "Read are 'images.npy' and 'y.npy' only." in " ".join(dataset.notices)


def test_the_labels_of_the_part_that_is_read():
    n, rest = 30, 10
    arrays = {"x_test": DIGITS.images[:rest], "y_test": DIGITS.target[:rest]}
    arrays |= {"x_train": DIGITS.images[rest : n + rest]}
    arrays |= {"y_train": DIGITS.target[rest : n + rest]}
    dataset = read_table(npz(**arrays), "mnist.npz")
    assert [*dataset.frame["class"]] == [*map(str, arrays["y_train"])]


def test_colours_are_read_as_grey_and_large_ones_made_smaller():
    draw = np.random.default_rng(1)
    colours = draw.integers(0, 256, (6, 8, 10, 3))
    dataset = read_table(npz(X=colours, y=list("ababab")), "c.npz")
    X = dataset.frame[dataset.feature_columns].to_numpy()
    np.testing.assert_allclose(X.reshape(6, 8, 10), colours.mean(axis=3))
    blocks = np.kron(draw.integers(0, 9, (6, 16, 32)), np.ones((1, 3, 3)))
    dataset = read_table(npz(X=blocks, y=list("ababab")), "c.npz")
    assert dataset.sample_shape == (16, 32)
    X = dataset.frame[dataset.feature_columns].to_numpy()
    np.testing.assert_allclose(X.reshape(6, 16, 32), blocks[:, ::3, ::3], atol=1e-4)


def test_folders_are_the_classes():
    digits = zip(DIGITS.images[:40], DIGITS.target[:40], strict=True)
    files = {f"all/{y}/{i}.png": png(15 * one) for i, (one, y) in enumerate(digits)}
    data = folders(files | {"all/readme.txt": b"hello", "__MACOSX/._x.png": b"x"})
    dataset = read_table(data, "d.zip")
    assert dataset.sample_shape == (8, 8)
    X = dataset.frame[dataset.feature_columns].to_numpy()
    np.testing.assert_array_equal(X, 15 * DIGITS.data[:40])
    assert [*dataset.frame["class"]] == [str(one) for one in DIGITS.target[:40]]
    assert "1 file that are no pictures" in " ".join(dataset.notices)


def test_an_archive_with_a_table_stays_one():
    assert not is_images(folders({"t.csv": b"a,b\n1,2\n", "look.png": png(np.eye(9))}))
    assert not is_images(npz(kernel=np.eye(5), y=np.arange(5)))
    assert not is_images(b"PK\x03\x04 cut off")


def test_what_cannot_be_read_is_refused_in_words():
    pair = {"a/1.png": png(np.eye(9)), "b/1.png": png(np.eye(9))}
    objects = np.array([[[{}]]], object)
    for data, words in (
        (npz(X=np.zeros((5, 4, 4))), "no labels; save them as y"),
        (npz(X=np.zeros((5, 4, 4)), y=np.zeros(4)), "no labels"),
        (npz(X=np.zeros((5, 4, 4, 2)), y=np.zeros(5)), "with colours"),
        (folders({"1.png": pair["a/1.png"], "2.png": pair["a/1.png"]}), "a folder for"),
        (folders({"a/1.png": pair["a/1.png"]}), "at least two folders"),
        (folders(pair | {"b/1.png": pair["b/1.png"][:40]}), "cut off or damaged"),
        (folders(pair | {"b/1.png": b"not one"}), "cut off or damaged"),
        (folders(pair | {"b/1.png": png(np.zeros((1, 26_000_000)))}), "26,000,000"),
        (npz(X=objects, y=np.zeros(1)), "holds no table"),
    ):
        with pytest.raises(SmpcoreError, match=words):
            read_table(data, "d.npz")


def frame_of(X, y, names=None):
    frame = pd.DataFrame(X, columns=names or [f"c{i}" for i in range(X.shape[1])])
    return make_dataset(frame.assign(label=y), "t", roles={"label": "target"})


def test_columns_that_look_like_pixels_are_offered_as_pictures():
    shapes = image_shapes(frame_of(DIGITS.data, DIGITS.target.astype(str)))
    assert shapes[0] == (8, 8) and (4, 16) in shapes and (2, 32) not in shapes
    colours = np.random.default_rng(0).random((50, 3 * 49))
    shapes = image_shapes(frame_of(colours, ["a", "b"] * 25))
    assert (7, 7, 3) in shapes
    draw = np.random.default_rng(0)
    scales = 10.0 ** draw.integers(-3, 4, 64)
    assert image_shapes(frame_of(draw.random((50, 64)) * scales, ["a", "b"] * 25)) == []
    assert image_shapes(frame_of(draw.random((50, 50)), ["a", "b"] * 25)) == []
    assert image_shapes(frame_of(draw.random((50, 36)), ["a", "b"] * 25)) == []
    assert image_shapes(load_dataset("breast_cancer")) == []
    assert image_shapes(load_dataset("series")) == []
