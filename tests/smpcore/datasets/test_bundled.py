"""The data list: every entry loads, at every end of every parameter."""

import numpy as np
import pytest

from smpcore.datasets import (
    check_fit,
    list_datasets,
    load_dataset,
    prepare,
    split,
    text_features,
)
from smpcore.errors import SmpcoreError
from tests.smpcore.datasets.cases import refused

INFOS = {info.key: info for info in list_datasets()}
SMALL = {"n_samples": 200, "n_features": 20}
ENDS = [
    (info.key, param.name, end)
    for info in INFOS.values()
    for param in info.params
    for end in (param.low, param.high)
    if end <= 5000 and info.key != "drawn"
]
SEEDED = [key for key, info in INFOS.items() if "seed" in {p.name for p in info.params}]


@pytest.mark.parametrize("key", INFOS)
def test_every_set_loads_splits_and_prepares(key):
    data = load_dataset(key)
    assert data.task == INFOS[key].task
    assert data.name and data.source and data.description
    assert not data.private
    assert data.open_test == bool(INFOS[key].params)
    division = split(data)
    check_fit(data, division)
    X = prepare(data, division.train).transform(data.frame)
    assert X.shape[0] == data.n_samples
    # Of matrices the similarities to the training rows only.
    share = len(division.train) / data.n_samples if data.matrices else 1
    width = X.shape[1] if not text_features(data) else 1  # a feature for each letter
    assert np.prod(data.sample_shape) * share == width
    assert np.isfinite(X).all()
    assert load_dataset(key).digest == data.digest


@pytest.mark.parametrize(("key", "name", "end"), ENDS)
def test_every_end_of_every_parameter(key, name, end):
    params = {one.name: SMALL.get(one.name, one.start) for one in INFOS[key].params}
    params[name] = end
    data = load_dataset(key, **params)
    assert data.n_samples == params["n_samples"]
    X = prepare(data, np.arange(data.n_samples)).transform(data.frame)
    assert np.isfinite(X).all()
    if data.task == "regression":
        assert np.isfinite(data.y).all() and np.ptp(data.y) > 0
        return
    assert len(data.classes) == params.get("n_classes", 3 if data.matrices else 2)
    assert np.bincount(data.y_encoded).min() >= 2


@pytest.mark.parametrize("key", SEEDED)
def test_seeds_give_other_points(key):
    digests = {load_dataset(key, n_samples=60, seed=seed).digest for seed in range(3)}
    assert len(digests) == 3


def test_classes_and_pictures_of_scikit_learn_stay_as_they_are():
    assert load_dataset("breast_cancer").classes.tolist() == ["benign", "malignant"]
    digits = load_dataset("digits")
    assert digits.sample_shape == (8, 8) and digits.classes.tolist() == [*range(10)]


def test_diabetes_is_in_its_own_units():
    data = load_dataset("diabetes")
    assert data.frame["age"].between(19, 79).all()
    assert data.y.min() == 25


def test_imbalance_is_what_it_says():
    for key in ("moons", "blobs"):
        counts = np.bincount(load_dataset(key, n_samples=1000, imbalance=0.9).y_encoded)
        assert counts[1:] == pytest.approx(counts[0] / 10, abs=1)


def test_noise_free_shapes():
    data = load_dataset("circles", noise=0.0, inner=0.3)
    radius = np.hypot(data.frame["x1"], data.frame["x2"])
    assert np.allclose(radius, np.where(data.y == 0, 1.0, 0.3))
    data = load_dataset("xor", noise=0.0)
    assert np.array_equal(data.y == 0, data.frame["x1"] * data.frame["x2"] > 0)
    data = load_dataset("checkerboard", noise=0.0, squares=4)
    cell = np.floor(data.frame[["x1", "x2"]].to_numpy()).sum(axis=1)
    assert np.array_equal(data.y, cell % 2)
    data = load_dataset("spirals", noise=0.0, turns=0.25, n_classes=2)
    angle = np.arctan2(data.frame["x2"], data.frame["x1"])
    assert np.array_equal(data.y == 0, angle > 0)


def test_noise_free_values():
    data = load_dataset("sine", noise=0.0)
    x = data.frame["x"]
    assert x.between(-3, 3).all()
    np.testing.assert_allclose(data.y, x / 4 + np.sin(2 * x))
    data = load_dataset("hills", noise=0.0, n_samples=5000)
    x1, x2 = data.frame["x1"], data.frame["x2"]
    top, bottom = np.argmax(data.y), np.argmin(data.y)
    assert np.hypot(x1[top] + 1.5, x2[top] - 1.2) < 0.3
    assert np.hypot(x1[bottom] - 0.2, x2[bottom] + 1.4) < 0.3
    assert 2.8 < data.y.max() <= 3.1 and -2.6 < data.y.min() < -2.3


def test_noise_is_what_it_says_on_values():
    quiet, loud = (load_dataset("sine", noise=n, n_samples=5000) for n in (0.0, 0.5))
    np.testing.assert_array_equal(quiet.frame["x"], loud.frame["x"])
    assert np.std(loud.y - quiet.y) == pytest.approx(0.5, rel=0.05)


def test_friedman_is_cut_at_its_mean():
    data = load_dataset("friedman", n_samples=5000, n_features=7)
    assert data.name == "fri_c0_5000_7"
    x = data.frame.drop(columns="class").to_numpy().T
    assert x.min() >= 0 and x.max() <= 1
    value = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2
    value += 10 * x[3] + 5 * x[4]
    # Only noise of variance 1 is unknown: far from the mean the label is certain.
    mean = value.mean()
    assert (data.y[value < mean - 4] == "P").all()
    assert (data.y[value > mean + 4] == "N").all()
    assert 0.3 < (data.y == "P").mean() < 0.7


REFUSED = [
    ("nope", {}, "key='nope' should be one of moons, circles"),
    ("<script>", {}, "key='<script>' should be one of"),
    ("iris", {"noise": 1}, "iris has no parameter 'noise'; it has none"),
    ("moons", {"size": 1}, "it has n_samples, noise, imbalance, seed"),
    ("moons", {"noise": float("nan")}, "noise='nan' should be from 0.0 to 0.5"),
    ("moons", {"noise": 1e99}, r"noise='1e\+99' should be from"),
    ("moons", {"n_samples": 20.5}, "n_samples='20.5' should be a whole number"),
    ("moons", {"n_samples": "20"}, "n_samples='20' should be a whole number"),
    ("moons", {"seed": -1}, "seed='-1' should be a whole number from 0 to 9,999"),
]


@pytest.mark.parametrize(("key", "params", "words"), REFUSED)
def test_refused(key, params, words):
    with refused(words, SmpcoreError):
        load_dataset(key, **params)


def test_too_large_a_table_is_refused():
    with refused("in memory, at most"):
        load_dataset("friedman", n_samples=1_000_000, n_features=10_000)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_what_is_drawn_on_begins_with_a_point_of_each_class(n_classes):
    data = load_dataset("drawn", n_classes=n_classes)
    assert data.classes.tolist() == [*range(1, n_classes + 1)]
    assert np.bincount(data.y_encoded).tolist() == [1] * n_classes
    assert split(data).train.size == n_classes
    assert data.open_test
    with refused("from 2 to 5", SmpcoreError):
        load_dataset("drawn", n_classes=1)
