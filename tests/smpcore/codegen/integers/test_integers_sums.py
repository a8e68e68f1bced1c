"""Similarity sums in integers: proofs, errors, and C that gives every score."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from smpcore import METHODS, load_dataset, prepare, split
from smpcore.codegen import agreement, compile_model, error_bound, quantise
from smpcore.codegen.arithmetic import MOST_SCALE, FixedPointExp2
from smpcore.codegen.vectors import saturating_row
from smpcore.errors import ExportError
from tests.smpcore.codegen.c_programs import near_rows
from tests.smpcore.codegen.models import (
    coded_model,
    farthest_rows,
    random_kernel_model,
    svm_model,
    whole_distances,
)

#: Name of a model -> data, method ("svm": of scikit-learn) and its parameters.
MODELS = {
    "digits": ("digits", "supersparse", {"n_prototypes": 10}),
    "breast cancer": ("breast_cancer", "supersparse", {}),
    "iris": ("iris", "supersparse", {}),
    "iris laplacian": ("iris", "supersparse", {"similarity": "laplacian"}),
    "wine laplacian": ("wine", "supersparse", {"similarity": "laplacian"}),
    "iris margin": ("iris", "mprotsvm", {"kernel": "rbf"}),
    "breast cancer svm": ("breast_cancer", "svm", {}),
    "wine svm": ("wine", "svm", {}),
    "diabetes": ("diabetes", "supersparse", {}),
}


@cache
def fitted(name):
    """A model of `MODELS`, its preparation, its test rows, and the compiled model."""
    data, method, parameters = MODELS[name]
    dataset = load_dataset(data)
    parts = split(dataset)
    preparation = prepare(dataset, parts.train)
    X = preparation.transform(dataset.frame)[parts.train]
    y = dataset.y[parts.train]
    if method == "svm":
        model, _ = svm_model(X, y)
    else:
        row, task = METHODS[method], dataset.task
        values = {**row.defaults(task), **parameters}
        model = row.estimator(values, task).fit(X, y).model_
    test = dataset.frame.iloc[parts.test]
    return model, preparation, test, compile_model(model, preparation)


def _random_model(seed):
    """Columns of very different size, some with values far from all others."""
    random = np.random.default_rng(seed)
    kind = ("rbf", "laplacian")[seed % 2]
    d, n_anchors, n_classes = (
        int(random.integers(*r)) for r in ((1, 40), (1, 30), (2, 6))
    )
    scale = 10.0 ** random.uniform(-6, 6, d)
    center = scale * random.normal(size=d) * 10.0 ** random.uniform(0, 3)
    spread = np.where(random.random(d) < 0.1, 10.0 ** random.uniform(0, 3, d), 1.0)
    parts = {"scale": scale, "center": center}
    parts |= {"low": center - 2 * scale * spread, "high": center + 2 * scale * spread}
    if seed % 5 == 0:
        parts |= {"classes": None, "pooling": "sum", "intercept": np.array([40.0])}
        parts |= {"votes": random.normal(size=(2 * n_classes, 1))}
    density = 0.3 if seed % 3 else 1.0
    return random_kernel_model(kind, d, n_anchors, n_classes, density, seed, **parts)


def _random_rows(model, seed):
    """Raw rows inside the range, near the anchors, and outside."""
    random = np.random.default_rng(seed)
    n, d = 400, model.n_features
    near = model.anchors[random.integers(0, len(model.anchors), n)]
    near = model.center + model.scale * (near + 0.3 * random.normal(size=(n, d)))
    inside = random.uniform(model.low, model.high, (n, d))
    outside = random.uniform(
        2 * model.low - model.high, 2 * model.high - model.low, (n, d)
    )
    return np.vstack([inside, near, outside])


def test_random_models_keep_their_bounds():
    done = {8: 0, 16: 0}
    for seed in range(24):
        model = _random_model(seed)
        compiled, X = compile_model(model), _random_rows(model, seed)
        for width in (8, 16):
            try:
                quant = quantise(compiled, width)
            except ExportError as refused:
                assert width == 8 and "choose 16 bits" in str(refused)
                continue
            done[width] += 1
            found = agreement(quant, model, X)
            assert found.n_broken == 0
            exact = model.scores(X)
            exact = exact - (exact[:, :1] if quant.relative else 0)
            rows = quant.rows(X)
            error = np.abs(quant.real_scores(rows) - exact)
            assert (error <= error_bound(quant, rows)).all()
    assert done[8] >= 5 and done[16] >= 20


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("name", MODELS)
def test_no_bits_lead_beyond_what_is_proved(name, width):
    model, preparation, test, compiled = fitted(name)
    quant = quantise(compiled, width)
    if width == 16:  # enough is proved
        found = agreement(quant, model, test, preparation)
        assert found.n_equal == found.n_rows
        assert found.n_certified >= 0.9 * found.n_rows
    reached = whole_distances(quant, farthest_rows(quant))
    most = whole_distances(
        quant, near_rows(quant, quant.values(farthest_rows(quant)), 20_000)
    )
    # Features do not mix in a distance, so its largest value is known exactly.
    np.testing.assert_array_equal(reached.diagonal(), most.max(axis=0))
    assert most.max() <= 2**32 - 1
    scores = np.abs(
        quant.row_scores(near_rows(quant, quant.rows(fitted(name)[2]), 20_000))
    )
    assert scores.max() <= quant.largest <= 2**31 - 1
    told = np.abs(quant.row_scores(saturating_row(quant)[None])).max()
    assert 0 < told <= quant.largest


def test_wide_tables_use_their_bits():
    """The finest grid whose distances fit: twice as fine would not."""
    for name in ("digits", "breast cancer"):
        quant = quantise(fitted(name)[-1], 16)
        assert whole_distances(quant, farthest_rows(quant)).max() > 2**30


@pytest.mark.parametrize("scale", [0.7, 5.0, 1000.3, 1e5, 3.3e6, MOST_SCALE])
def test_fading_is_as_exact_as_proved(scale):
    exp2 = FixedPointExp2.of(scale)
    most = min(int(17 * scale) + 5, 2**32 - 1)
    edge = (exp2.last + 1) << exp2.drop
    random = np.random.default_rng(0).integers(0, most, 200_000)
    distance = np.unique(np.r_[np.arange(min(most, 50_000)), random, edge - 1, edge])
    coarse = np.minimum(distance >> exp2.drop, exp2.last) * exp2.gain + exp2.half
    assert coarse.max() < 2**32 and (coarse >> exp2.down).max() < 2**16
    exact = 2.0 ** (-distance / scale)
    bound = exact * (2.0**exp2.exponent_error - 1) + exp2.error
    assert (np.abs(exp2.similarity(distance) / 2**15 - exact) <= bound).all()
    assert bound.max() < (0.003 if scale > 1000 else 0.2)
    assert (np.diff(exp2.similarity(distance)) <= 0).all()


def test_8_bits_are_refused_where_they_are_too_coarse():
    wide = {"low": np.full(5, -500.0), "high": np.full(5, 500.0)}
    model = random_kernel_model("rbf", center=np.zeros(5), scale=np.ones(5), **wide)
    compiled = compile_model(model)
    with pytest.raises(
        ExportError, match=r"In 8 bits, input 'feature .*choose 16 bits"
    ):
        quantise(compiled, 8)
    assert quantise(compiled, 16).width == 16
    for scale in (1e2, 1e6):  # anchors far from each other
        model = random_kernel_model("laplacian", 40)
        compiled = compile_model(replace(model, anchors=scale * model.anchors))
        with pytest.raises(ExportError, match="spread that is small beside its range"):
            quantise(compiled, 8)
        assert quantise(compiled, 16).width == 16
    far = {"low": np.full(5, -1e6), "high": np.full(5, 1e6)}
    model = random_kernel_model("rbf", center=np.zeros(5), scale=np.ones(5), **far)
    with pytest.raises(ExportError, match="export the model as 32-bit floats"):
        quantise(compile_model(model), 16)


@pytest.mark.parametrize("kind", ["poly", "cosine", "ncc", "intersection", "features"])
def test_forms_without_a_bound_are_refused(kind):
    compiled = compile_model(random_kernel_model(kind))
    with pytest.raises(
        ExportError, match=f"{kind} similarity has no integer form.* rbf"
    ):
        quantise(compiled, 16)


def test_codes_and_narrow_sums_are_refused():
    with pytest.raises(ExportError, match=r"sparse code.*32-bit floats"):
        quantise(compile_model(coded_model()), 16)
    with pytest.raises(ExportError, match="need 32 bits"):
        quantise(compile_model(random_kernel_model("rbf")), 16, accumulator=16)
