"""The smallest change that flips an answer, against cvxpy and against every change."""

import itertools
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore import (
    METHODS,
    SMPClassifier,
    SmpcoreError,
    counterfactual,
    prepare,
)
from smpcore.datasets import make_dataset
from smpcore.explain import changed_columns
from smpcore.explain.flip import kept_orders
from tests.bench.counterfactuals import Searched, patients
from tests.shown.oracle import Fit, fit
from tests.smpcore.codegen.models import random_linear


def linear_model(seed=0, n_features=4, pooling="max"):
    """Two prototypes of each of three classes; of sums each has votes for all."""
    rng = np.random.default_rng(seed)
    parts = {"intercept": rng.normal(size=3), "classes": np.arange(3)}
    parts |= {"low": np.full(n_features, -3.0), "high": np.full(n_features, 3.0)}
    if pooling == "sum":
        parts["votes"] = rng.normal(size=(6, 3))
    return random_linear(n_features, density=1.0, seed=seed, pooling=pooling, **parts)


def oracle(model, x, bounds=None, frozen=(), orders=()):
    """Length of the smallest change, by one program per rival class and prototype."""
    z0 = (x - model.center) / model.scale
    if model.pooling == "sum":
        W, b = model.votes.T @ model.weights, model.votes.T @ model.bias
        owner = np.arange(len(W))
    else:
        W, b, owner = model.weights, model.bias, model.prototype_labels
    b, best = b + model.intercept[owner], np.inf
    for j in np.flatnonzero(owner != model.scores(x[None])[0].argmax()):
        z, others = cp.Variable(len(x)), owner != owner[j]
        rules = [(W[j] - W[others]) @ z + b[j] - b[others] >= 0]
        if bounds is not None:
            rules += [z >= (bounds[0] - model.center) / model.scale]
            rules += [z <= (bounds[1] - model.center) / model.scale]
        rules += [z[f] == z0[f] for f in frozen]
        changed = cp.multiply(model.scale, z) + model.center
        rules += [changed[lower] <= changed[upper] for lower, upper in orders]
        program = cp.Problem(cp.Minimize(cp.norm1(z - z0)), rules)
        program.solve(solver="CLARABEL")
        if program.status in ("optimal", "optimal_inaccurate"):
            best = min(best, program.value)
    return best


@pytest.mark.parametrize("pooling", ["max", "sum"])
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n_features=st.integers(1, 7),
    reach=st.sampled_from([None, 1.5, 4.0]),
    spread=st.sampled_from([1.0, 4.0]),
    n_frozen=st.integers(0, 2),
)
def test_a_linear_flip_is_the_smallest(
    pooling, seed, n_features, reach, spread, n_frozen
):
    """Also from outside of the bounds, into which it leads; what is frozen stays."""
    model = linear_model(seed, n_features, pooling)
    x = spread * np.random.default_rng(seed + 1).normal(size=n_features)
    frozen = list(range(min(n_frozen, n_features)))
    bounds = None
    if reach:
        bounds = np.full((2, n_features), [[-reach], [reach]])
        bounds[:, frozen] = x[frozen]
    flip = counterfactual(model, x, frozen=frozen, bounds=bounds)
    best = oracle(model, x, frozen=frozen, bounds=bounds)
    if flip is None:
        assert best > 1e9 or _hardly(model, x, frozen, bounds)
        return
    assert flip.exact
    assert model.predict(flip.x[None])[0] == flip.after != flip.before
    assert model.predict(x[None])[0] == flip.before
    np.testing.assert_array_equal(flip.x[frozen], x[frozen])
    if reach:
        assert (flip.x >= bounds[0]).all() and (flip.x <= bounds[1]).all()
    measured = np.abs((flip.x - x) / model.scale).sum()
    assert flip.length == pytest.approx(measured)
    assert best - 1e-5 <= flip.length <= best + 1e-3 * max(best, 0.05)


@pytest.mark.parametrize("seed", range(12))
def test_columns_in_order_stay_so(seed):
    """Of independent columns that were sorted, each row is in order."""
    model = linear_model(seed, 4)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(np.sort(rng.normal(size=(80, 4))).round(5), columns=[*"abcd"])
    frame["y"] = rng.choice(["p", "q"], size=80)
    data = make_dataset(frame, "y")
    preparation = prepare(data, np.arange(80))
    X = preparation.transform(frame)
    orders = kept_orders(X, preparation)
    assert {(0, 1), (1, 2), (2, 3)} <= {*map(tuple, orders)}
    x, bounds = X[0], np.full((2, 4), [[-4.0], [4.0]])
    x[3] = x[2] - 0.5  # an order that x itself does not keep
    flip = counterfactual(model, x, bounds=bounds, preparation=preparation, X=X[1:])
    best = oracle(model, x, bounds, orders=[o for o in orders if x[o[0]] <= x[o[1]]])
    if flip is None:
        assert best > 1e9
        return
    assert (np.diff(flip.x[:3]) >= 0).all()
    digits = [10.0**-one.decimals for one in preparation.inputs]
    assert best - 1e-5 <= flip.length <= best + 1e-5 + np.sum(digits / model.scale)


def test_orders_are_those_that_chance_does_not_make():
    rng = np.random.default_rng(0)
    mean, spread = rng.gamma(9, 2, size=60), rng.gamma(2, 2, size=60)
    frame = pd.DataFrame(
        {
            "low": (mean - spread).round(2),
            "mean": mean.round(2),
            "high": (mean + spread).round(2),
            "apart": rng.normal(500, 10, size=60).round(2),
            "hardly": mean.max() - 0.1 + rng.gamma(5, 2, size=60),
            "y": rng.choice(["a", "b"], size=60),
        }
    )
    data = make_dataset(frame, "y")
    preparation = prepare(data, np.arange(60))
    X = preparation.transform(frame)
    first = {one.first: one.name for one in preparation.inputs}
    pairs = [(first[a], first[b]) for a, b in kept_orders(X, preparation)]
    assert pairs == [("low", "mean"), ("low", "high"), ("mean", "high")]
    X[7, [1, 2]] = X[7, [2, 1]]  # one row is enough
    assert len(kept_orders(X, preparation)) == 2


def _hardly(model, x, frozen, bounds):
    """Whether the answer flips at the very edge only: a wider box then has one."""
    if bounds is None:
        return False
    wide = bounds[0] - 1e-3, bounds[1] + 1e-3
    return counterfactual(model, x, frozen=frozen, bounds=wide)


@pytest.fixture(scope="module")
def measured():
    """A table of two categories and of columns with few and with many digits."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "treated": rng.choice(["PCI", "none"], 240, p=[0.3, 0.7]),
            "stage": rng.choice(["I", "II", "III"], 240),
            "weight": rng.normal(70, 9, 240).round(1),
            "ratio": rng.normal(size=240),
            "tiny": rng.uniform(1e-7, 9e-7, 240),
            "count": rng.integers(0, 9, 240),
        }
    )
    says = (frame["treated"] == "PCI") + (frame["stage"] == "II") + frame["ratio"]
    says += (frame["weight"] - 70) / 9 + (frame["count"] - 4) / 4 + 2e6 * frame["tiny"]
    frame["label"] = np.where(says > says.median(), "yes", "no")
    dataset = make_dataset(frame, "measured", roles={"label": "target"})
    preparation = prepare(dataset, np.arange(240))
    return preparation, frame, preparation.transform(frame), dataset.y


def test_columns_that_cannot_be_changed_are_held_by_default(measured):
    preparation, _, X, y = measured
    model = SMPClassifier().fit(X, y).model_
    held = ("ratio", "stage")
    inputs = [replace(one, fixed=one.name in held) for one in preparation.inputs]
    fixing = replace(preparation, inputs=tuple(inputs))
    columns = [
        feature for one in fixing.inputs if one.fixed for feature in one.positions
    ]
    assert fixing.fixed_features == columns and len(columns) == 4
    moved = 0
    for x in X[:12]:
        flip = counterfactual(model, x, preparation=fixing)
        assert flip is None or (flip.x[columns] == x[columns]).all()
        free = counterfactual(model, x, preparation=fixing, frozen=())
        moved += (free.x[columns] != x[columns]).any()
    assert moved, "they would have changed"


@pytest.mark.parametrize("method", METHODS)
def test_the_row_as_it_is_printed_has_the_other_answer(method, measured):
    """Also from outside of the training range, into which the change leads."""
    preparation, frame, X, y = measured
    model = METHODS[method].estimator(METHODS[method].defaults()).fit(X, y).model_
    inputs = {one.name: one for one in preparation.inputs}
    options = {"preparation": preparation, "bounds": (model.low, model.high), "X": X}
    n_numbers = n_back = 0
    for row, is_outside in itertools.product(range(12), (False, True)):
        x, printed = X[row].copy(), frame.iloc[[row]].astype(object)
        if is_outside:
            printed["weight"] = x[inputs["weight"].first] = 400.0
        flip = counterfactual(model, x, **options)
        back = np.clip(x, model.low, model.high)
        if model.predict(back[None])[0] != model.predict(x[None])[0]:
            assert flip is not None
            n_back += 1
        if flip is None:
            continue
        np.testing.assert_array_equal(
            np.clip(flip.x, model.low, model.high)[model.support],
            flip.x[model.support],
        )
        if model.predict(back[None])[0] != model.predict(x[None])[0]:
            assert flip.exact
        for line in changed_columns(model, preparation, x, flip):
            spec = inputs[line["column"]]
            printed[spec.name] = line["then"]
            if spec.kind == "number":
                n_numbers += 1
                assert float(line["now"]) == x[spec.first]
                digits = len(line["then"].partition(".")[2])
                assert digits <= spec.decimals, line
        Z = preparation.transform(printed)
        assert model.predict(Z)[0] == model.classes[flip.after]
        assert flip.after != flip.before
    assert n_numbers and n_back


def _values(spec):
    """All that a column may hold: its levels, or numbers of its digits in its range."""
    if spec.kind == "category":
        levels = np.eye(spec.width) if spec.dropped < 0 else [[0.0], [1.0]]
        return [np.array(level) for level in levels]
    unit = 10.0**-spec.decimals
    steps = np.arange(np.ceil(spec.low / unit - 1e-9), spec.high / unit + 1e-9)
    return [np.array([round(step * unit, spec.decimals)]) for step in steps]


@pytest.mark.parametrize("seed", range(20))
def test_no_change_in_the_columns_digits_is_smaller(seed):
    """Every value of every column is tried, and each as it is."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "kind": rng.choice(["a", "b", "c"][: 2 + seed % 2], 60),
            "count": rng.integers(0, 6, 60),
            "half": rng.integers(0, 9, 60) / 2,
            "size": rng.normal(scale=0.4, size=60).round(1),
        }
    )
    risk = (frame["kind"] == "b") + frame["count"] / 3 + frame["half"] / 2
    risk += frame["size"]
    n_classes = 2 + (seed % 3 == 0)
    limits = np.quantile(risk, np.arange(1, n_classes) / n_classes)
    frame["y"] = np.digitize(risk, limits)
    dataset = make_dataset(frame, "t", roles={"y": "target"}, kinds={"y": "category"})
    preparation = prepare(dataset, np.arange(60))
    X = preparation.transform(dataset.frame)
    method = METHODS[["smp", "smallk", "mprotsvm"][seed % 3]]
    model = method.estimator(method.defaults()).fit(X, dataset.y).model_
    inputs = preparation.inputs
    columns = {one.name: one.features for one in inputs}
    for number, x in enumerate(X[:10].copy()):
        if number > 4:  # digits that the column does not have, or outside its range
            x[columns["half"]] += 0.13
            x[columns["count"]] = 40.0
        bounds = np.stack([np.minimum(model.low, 0), model.high])
        flip = counterfactual(model, x, preparation=preparation, bounds=bounds)
        values = []
        for one in inputs:
            own = x[one.features]
            is_idle = one.kind == "number" and not model.support[one.first]
            as_it_is = [own] * bool((own <= model.high[one.features]).all())
            values.append([own] if is_idle else [*_values(one), *as_it_is])
        rows = np.array([np.concatenate(row) for row in itertools.product(*values)])
        other = model.predict(rows) != model.predict(x[None])
        leads = np.diff(np.sort(model.scores(rows), axis=1)[:, -2:], axis=1)[:, 0]
        other &= leads > 1e-5  # on the border either answer will do
        lengths = np.abs((rows - x) / model.scale).sum(axis=1)[other]
        assert (flip is None) == (not lengths.size)
        if flip is not None:
            assert flip.exact
            assert flip.length == pytest.approx(lengths.min(), rel=2e-4, abs=1e-9)
            assert (rows[other] == flip.x).all(axis=1).any()
            few = counterfactual(
                model, x, preparation=preparation, bounds=bounds, few=1
            )
            takes = preparation.sum_by_column(rows[other] != x) > 0
            single = takes.sum(axis=1) <= 1
            expected = lengths[single].min() if single.any() else flip.length
            assert few.length == pytest.approx(expected, rel=2e-4, abs=1e-9)


def test_a_search_ends_at_the_border():
    """On the way back to x the answer changes at once."""
    of = fit("supersparse", "moons")
    model, X = of.model, of.X[of.parts["train"]]
    for x in X[:10]:
        flip = counterfactual(model, x, X=X)
        assert not flip.exact
        back = flip.x + 1e-4 * (x - flip.x)
        assert model.predict(back[None])[0] == model.predict(x[None])[0]


@pytest.mark.parametrize(
    ("method", "data", "places"),
    [
        ("supersparse", "breast_cancer", range(0, 60, 12)),
        ("imkpl", "breast_cancer", range(3, 5)),
        ("supersparse", "patients", range(15)),
        ("imkpl", "patients", range(15)),
    ],
)
def test_no_scan_beats_what_is_shown_first(method, data, places):
    """No line below it, no column alone, no two columns and no luck is shorter."""
    of = Fit(method, data, patients()) if data == "patients" else fit(method, data)
    for place in places:
        row = Searched(of, place)
        assert row.below >= row.headline * (1 - 5e-4)  # it has three digits
        assert min(row.single(), row.pairs()) >= 0.99 * row.headline
        if data == "patients":
            assert row.random() >= 0.95 * row.headline


@pytest.mark.parametrize(("method", "place"), [("smp", 36), ("mprotsvm", 10)])
def test_no_column_is_listed_that_is_not_needed(method, place):
    """A rounding of one column was, "area error 24.91 -> 24.9"."""
    of = fit(method, "breast_cancer")
    model, preparation, x = of.model, of.preparation, of.X[place]
    options = {"preparation": preparation, "X": of.X[of.parts["train"]]}
    flip = counterfactual(model, x, bounds=(model.low, model.high), **options)
    lines = changed_columns(model, preparation, x, flip)
    assert len(lines) > 1
    for feature in np.flatnonzero(flip.x != x):
        row = flip.x.copy()
        row[feature] = x[feature]
        assert model.predict(row[None]) == model.predict(x[None])


def test_a_search_keeps_what_may_not_change():
    """Neither an age nor a held column moves; levels stay whole, numbers in range."""
    of = Fit("supersparse", "patients", patients())
    model, preparation = of.model, of.preparation
    held = [*preparation.fixed_features, *preparation.inputs[2].positions]
    options = {"preparation": preparation, "X": of.X[of.parts["train"]]}
    options |= {"bounds": (model.low, model.high), "frozen": held}
    for x in of.X[:10]:
        if (flip := counterfactual(model, x, **options)) is None:
            continue
        assert (flip.x[held] == x[held]).all()
        assert ((flip.x >= model.low) & (flip.x <= model.high)).all()
        for spec in preparation.inputs:
            part = flip.x[spec.features]
            if spec.kind == "category":
                assert set(part) <= {0.0, 1.0}
                assert spec.width == 1 or part.sum() == x[spec.features].sum()
            else:
                assert part == pytest.approx(part.round(spec.decimals), abs=0)
    nothing = options | {"frozen": range(model.n_features)}
    assert counterfactual(model, of.X[0], **nothing) is None


def test_a_wrong_call_is_a_sentence_and_no_change_is_none():
    model = linear_model()
    assert counterfactual(model, np.zeros(4), frozen=range(4)) is None
    with pytest.raises(SmpcoreError, match="x should have shape"):
        counterfactual(model, np.zeros(3))
