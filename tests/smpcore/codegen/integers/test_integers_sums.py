"""Similarity sums in integers: proofs, errors, and C that gives every score."""

from dataclasses import replace
from functools import cache, partial
from itertools import product

import numpy as np
import pytest

from smpcore import METHODS
from smpcore.codegen import agreement, compile_model, error_bound, quantise
from smpcore.codegen.arithmetic import MOST_SCALE, FixedPointExp2
from smpcore.codegen.vectors import saturating_row
from smpcore.errors import ExportError
from tests.bench.export import at_defaults, kernel_fitted
from tests.smpcore.codegen.c_programs import near_rows
from tests.smpcore.codegen.models import (
    coded_model,
    farthest_rows,
    one_value,
    random_kernel_model,
    whole_distances,
)

#: Name of a model -> data, method and its parameters.
MODELS = {
    "digits": ("digits", "supersparse", {"n_prototypes": 10}),
    "breast cancer": ("breast_cancer", "supersparse", {}),
    "iris": ("iris", "supersparse", {}),
    "iris laplacian": ("iris", "supersparse", {"similarity": "laplacian"}),
    "wine laplacian": ("wine", "supersparse", {"similarity": "laplacian"}),
    "iris margin": ("iris", "mprotsvm", {"kernel": "rbf"}),
    "breast cancer margin": ("breast_cancer", "mprotsvm", {"kernel": "rbf"}),
    "wine margin": ("wine", "mprotsvm", {"kernel": "rbf"}),
    "diabetes": ("diabetes", "supersparse", {}),
}


@cache
def fitted(name):
    """A model of `MODELS`, its preparation, its test rows, and the compiled model."""
    data, method, changes = MODELS[name]
    return kernel_fitted(data, partial(at_defaults, **changes), METHODS[method])


def _random_model(seed):
    """Columns of very different size, some with values far from all others."""
    random = np.random.default_rng(seed)
    kind, density = ("rbf", "laplacian")[seed % 2], 0.3 if seed % 3 else 1.0
    sizes = [int(random.integers(*ends)) for ends in ((1, 40), (1, 30), (2, 6))]
    d = sizes[0]
    scale = 10.0 ** random.uniform(-6, 6, d)
    center = scale * random.normal(size=d) * 10.0 ** random.uniform(0, 3)
    spread = np.where(random.random(d) < 0.1, 10.0 ** random.uniform(0, 3, d), 1.0)
    parts = {"scale": scale, "center": center}
    parts |= {"low": center - 2 * scale * spread, "high": center + 2 * scale * spread}
    make = partial(random_kernel_model, kind, *sizes, density, seed, **parts)
    return one_value(make, 2 * sizes[2], seed) if seed % 5 == 0 else make()


def _random_rows(model, seed):
    """Raw rows inside the range, near the anchors, and outside."""
    random, size = np.random.default_rng(seed), (400, model.n_features)
    near = model.anchors[random.integers(0, len(model.anchors), 400)]
    near = model.center + model.scale * (near + 0.3 * random.normal(size=size))
    inside = random.uniform(model.low, model.high, size)
    width = model.high - model.low
    outside = random.uniform(model.low - width, model.high + width, size)
    return np.vstack([inside, near, outside])


def test_random_models_keep_their_bounds():
    done = {8: 0, 16: 0}
    for seed, width in product(range(24), done):
        model = _random_model(seed)
        X = _random_rows(model, seed)
        try:
            quant = quantise(compile_model(model), width)
        except ExportError as refused:
            assert width == 8 and "choose 16 bits" in str(refused)
            continue
        done[width] += 1
        assert agreement(quant, model, X).n_broken == 0
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
    farthest = farthest_rows(quant)
    reached = whole_distances(quant, farthest)
    if width == 16:  # enough is proved
        found = agreement(quant, model, test, preparation)
        assert found.n_equal == found.n_rows
        assert found.n_certified >= 0.9 * found.n_rows
        # The finest grid whose distances fit: twice as fine would not.
        assert reached.max() > 2**30 or name not in ("digits", "breast cancer")
    most = whole_distances(quant, near_rows(quant, quant.values(farthest), 20_000))
    # Features do not mix in a distance, so its largest value is known exactly.
    np.testing.assert_array_equal(reached.diagonal(), most.max(axis=0))
    assert most.max() <= 2**32 - 1
    scores = np.abs(quant.row_scores(near_rows(quant, quant.rows(test), 20_000)))
    assert scores.max() <= quant.largest <= 2**31 - 1
    told = np.abs(quant.row_scores(saturating_row(quant)[None])).max()
    assert 0 < told <= quant.largest


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
    def wide(end):
        ends = {"low": np.full(5, -end), "high": np.full(5, end)}
        parts = {"center": np.zeros(5), "scale": np.ones(5)}
        return compile_model(random_kernel_model("rbf", **parts, **ends))

    def apart(by):
        model = random_kernel_model("laplacian", 40)
        return compile_model(replace(model, anchors=by * model.anchors))

    small = "spread that is small beside its range"
    for compiled, words in (
        (wide(500.0), r"In 8 bits, input 'feature .*choose 16 bits"),
        (apart(1e2), small),
        (apart(1e6), small),
    ):
        with pytest.raises(ExportError, match=words):
            quantise(compiled, 8)
        assert quantise(compiled, 16).width == 16
    with pytest.raises(ExportError, match="export the model as 32-bit floats"):
        quantise(wide(1e6), 16)


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
