"""Risk scores against brute force, and what they promise."""

import itertools
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from smpcore import SmpcoreError, load_dataset, prepare, split
from smpcore.datasets import Input, Preparation, make_dataset
from smpcore.explain import risk_score, search_words
from smpcore.explain.score_lines import roundest
from smpcore.explain.score_search import MOST_LOG_ODDS, Problem, Proof, search


def binary(lines) -> Preparation:
    """What prepares columns of 0 and 1 named a, b, c, ..."""
    names = "abcdefghijklmnop"[: lines.shape[1]]
    inputs = [Input(name, "number", 0.0, (), first=j) for j, name in enumerate(names)]
    return Preparation(tuple(inputs))


def draw(seed: int, n_rows: int = 40, most: int = 6):
    """Lines, outcome and weights at random."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, int(rng.integers(3, most + 1)))) < 0.5) * 1.0
    z = 2 * X[:, 0] - 3 * X[:, 1] + X[:, 2]
    y = rng.random(n_rows) < 1 / (1 + np.exp(-z))
    return X, y, rng.random(n_rows)


def loss_of(totals, y, weight, most) -> float:
    """The smallest mean log-loss of b + a total, by SciPy."""

    def value(ab):
        z = ab[1] + ab[0] * totals
        loss = weight @ np.logaddexp(0, z) - weight[y] @ z[y]
        residual = weight * (1 / (1 + np.exp(-z)) - y)
        return loss, np.array([residual @ totals, residual.sum()])

    box = [(0, MOST_LOG_ODDS / max(most, 1)), (-60, 60)]
    options = {"ftol": 1e-15, "gtol": 1e-10}
    return minimize(
        value, [0.1, 0.0], jac=True, bounds=box, method="L-BFGS-B", options=options
    ).fun


def brute_force(X, y, weight, n_lines, most, allowed) -> float:
    """The smallest loss of any points."""
    values, seen = range(-most, most + 1), np.inf
    for points in itertools.product(values, repeat=X.shape[1]):
        points = np.array(points)
        if (points != 0).sum() <= n_lines and allowed(points):
            loss = loss_of(X @ points, y, weight, np.abs(points).max())
            seen = min(seen, loss)
    return seen


@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_all_scores_is_found_and_proved(seed):
    X, y, weight = draw(seed, most=4)
    n_lines, most = seed % 3 + 1, seed % 2 + 1
    signs = {"a": -1} if seed % 4 == 0 else {}
    required = ["c"] if seed % 5 == 0 else []

    def allowed(points):
        return not (signs and points[0] > 0) and not (required and not points[2])

    score = risk_score(
        *(X, y, binary(X), n_lines, most),
        sample_weight=weight,
        signs=signs,
        required=required,
        n_parts=10_000,
    )
    expected = brute_force(X, y, weight / weight.sum(), n_lines, most, allowed)
    assert score.complete
    assert score.loss == pytest.approx(expected, abs=1e-7)
    assert score.bound == pytest.approx(score.loss, abs=1e-7)
    points = dict.fromkeys("abcdef"[: X.shape[1]], 0)
    for line, value in zip(score.lines, score.points, strict=True):
        points[line.column.name] = -value if line.negated else value
    assert allowed(np.array([*points.values()]))


@pytest.mark.parametrize("seed", range(2))
def test_a_complete_pool_has_every_set_of_columns_that_is_close(seed):
    X, y, weight = draw(seed, most=4)
    score = risk_score(
        X, y, binary(X), 2, 2, sample_weight=weight, n_parts=10_000, within=0.1
    )
    assert score.complete
    weight, close = weight / weight.sum(), set()
    for points in itertools.product(range(-2, 3), repeat=X.shape[1]):
        points = np.array(points)
        if (points != 0).sum() <= 2:
            loss = loss_of(X @ points, y, weight, np.abs(points).max())
            if loss <= 1.1 * score.loss:
                close.add(tuple("abcdef"[j] for j in np.flatnonzero(points)))
    of_pool = [tuple(sorted(one.columns)) for one in score.pool]
    # Points of a line may be such that its multiplier is 0: no score has these.
    assert set(of_pool) == close
    assert len(set(of_pool)) == len(of_pool)
    losses = [one.loss for one in score.pool]
    assert losses == sorted(losses)


@pytest.mark.parametrize("seed", range(6))
def test_a_loss_is_never_below_its_bound_wherever_the_proof_ends(seed):
    X, y, weight = draw(100 + seed, n_rows=80, most=16)
    before = 0.0
    for n_parts in (0, 1, 5, 1000):
        score = risk_score(
            *(X, y, binary(X), 3, 3), sample_weight=weight, n_parts=n_parts, folds=1
        )
        assert score.bound <= score.loss + 1e-9
        assert score.bound >= before - 1e-9
        before = score.bound
    assert all(one.bound == score.bound for one in score.pool)


def bounded(X, y, weight) -> Problem:
    """A search on binary columns."""
    weight = weight / weight.sum()
    ends = np.full(X.shape[1], MOST_LOG_ODDS)
    of_classes = np.column_stack([weight * ~y, weight * y])
    columns = np.arange(X.shape[1])
    return Problem(X, of_classes, -ends, ends, columns, frozenset(), 3, 3)


def test_enumeration_and_relaxations_prove_the_same(monkeypatch):
    problem = bounded(*draw(7, n_rows=60, most=9))
    losses = []
    for enumerated in (4000, 1):
        monkeypatch.setattr("smpcore.explain.score_search._ENUMERATED", enumerated)
        proof = Proof(problem, search(problem), 0.02)
        proof.run(100_000)
        assert proof.complete
        losses.append((proof.best, len(proof.scores)))
        assert proof.bound == pytest.approx(proof.best, abs=1e-8)
    assert losses[0][0] == pytest.approx(losses[1][0], abs=1e-8)


def heart(n_rows: int = 300):
    """A table with a number, a category of three levels, one of two, and gaps."""
    rng = np.random.default_rng(3)
    age = np.round(rng.uniform(30, 80, n_rows))
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n_rows) < 0.1, np.nan, age),
            "pressure": np.round(rng.normal(130, 15, n_rows), 1),
            "sex": np.where(rng.random(n_rows) < 0.6, "male", "female"),
            "pain": rng.choice(["none", "mild", "strong"], n_rows),
        }
    )
    z = 0.08 * (age - 55) + 1.5 * (frame["sex"] == "male") - (frame["pain"] == "none")
    sick = rng.random(n_rows) < 1 / (1 + np.exp(-z))
    frame["sick"] = np.where(sick, "yes", "no")
    data = make_dataset(frame, "heart", roles={"sick": "target"})
    rows = np.arange(n_rows)
    preparation = prepare(data, rows)
    return preparation.transform(data.frame), data.y, preparation, frame


def test_order_of_rows_and_columns_and_copies_of_columns_change_nothing():
    X, y, preparation, _ = heart()
    options = {"n_parts": 0, "folds": 1}
    score = risk_score(X, y, preparation, **options)
    order = np.random.default_rng(0).permutation(len(y))
    again = risk_score(X[order], y[order], preparation, **options)
    turned = Preparation(preparation.inputs[::-1])
    reverse = risk_score(X, y, turned, **options)
    for other in (again, reverse):
        assert other.loss == pytest.approx(score.loss, abs=1e-9)
        assert sorted(other.totals(X)) == sorted(score.totals(X))
    copy = Input("copy", "number", 0.0, (), first=X.shape[1], low=30, high=80)
    still = Input("still", "number", 1.0, (), first=X.shape[1] + 1)
    wide = np.column_stack([X, X[:, 0], np.ones(len(y))])
    padded = risk_score(
        wide, y, Preparation((*preparation.inputs, copy, still)), **options
    )
    assert padded.loss == pytest.approx(score.loss, abs=1e-9)
    assert {one.columns for one in padded.pool} == {one.columns for one in score.pool}


def test_weights_choose_the_score_of_repeated_rows():
    X, y, preparation, _ = heart(120)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    fold = np.arange(len(y)) % 3
    folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    place = np.repeat(np.arange(len(y)), weight)
    repeated = [
        tuple(np.flatnonzero(np.isin(place, part)) for part in pair) for pair in folds
    ]
    options = {"n_parts": 0}
    one = risk_score(X, y, preparation, sample_weight=weight, folds=folds, **options)
    two = risk_score(X[place], y[place], preparation, folds=repeated, **options)
    assert one.points == two.points
    assert one.loss == pytest.approx(two.loss, abs=1e-9)
    assert one.calibration.slope == pytest.approx(two.calibration.slope, abs=1e-5)
    # The intervals are those of Kish's effective number.
    effective = weight.sum() ** 2 / (weight**2).sum()
    assert one.calibration.n_rows == pytest.approx(effective)
    ratio = one.calibration.covariance / two.calibration.covariance
    np.testing.assert_allclose(ratio, len(place) / effective, rtol=1e-3)


def test_constraints_of_columns_hold():
    X, y, preparation, _ = heart()
    score = risk_score(
        *(X, y, preparation),
        signs={"age": 1, "pressure": -1},
        required=["pressure"],
        excluded=["pain"],
        outcome="yes",
        n_parts=0,
    )
    assert "pressure" in score.columns
    assert "pain" not in score.columns
    for one in score.pool:
        for line in one.lines:
            if line.column.name in ("age", "pressure"):
                assert line.negated == (line.column.name == "pressure")
    other = risk_score(X, y, preparation, outcome="no", n_parts=0)
    same = risk_score(X, y, preparation, outcome="yes", n_parts=0)
    np.testing.assert_allclose(other.probabilities(X), same.probabilities(X), atol=1e-6)


def test_the_table_of_risks_is_what_rows_get():
    X, y, preparation, frame = heart()
    score = risk_score(X, y, preparation, n_parts=0)
    table = score.risk_frame()
    assert (np.diff(table["risk"]) > 0).all()
    assert ((table["low"] <= table["risk"]) & (table["risk"] <= table["high"])).all()
    assert table["rows"].sum() == pytest.approx(len(y))
    assert table["events"].sum() == pytest.approx((y == "yes").sum())
    at = table.set_index("total")["risk"]
    np.testing.assert_allclose(score.probabilities(X)[:, 1], at[score.totals(X)])
    # Totals by hand from the raw table, a missing value as the card says.
    total = np.zeros(len(y))
    for _, line in score.to_frame().iterrows():
        raw = frame[line["column"]]
        sign, _, end = line["value"].partition(" ")
        if sign in ("≥", "<"):
            holds = raw >= float(end) if sign == "≥" else raw < float(end)
        elif sign == "not":
            holds = raw != end
        else:
            holds = raw == line["value"]
        total += line["points"] * np.where(raw.isna(), line["missing"], holds)
    np.testing.assert_array_equal(total, score.totals(X))


def test_risks_are_calibrated_where_the_score_is_too_sure():
    rng = np.random.default_rng(0)
    X = (rng.random((60, 12)) < 0.5) * 1.0  # nothing predicts
    y = rng.random(60) < 0.5
    score = risk_score(X, y, binary(X), n_parts=0)
    assert score.calibration.slope < 0.5
    assert np.ptp(score.probabilities(X)[:, 1]) < 0.5


def test_what_cannot_be_scored_is_refused():
    X, y, preparation, _ = heart(60)
    for options, words in (
        ({"n_lines": 0}, "n_lines=0 should be from 1"),
        ({"most_points": 99}, "most_points=99"),
        ({"required": ["nobody"]}, "Not a column"),
        ({"required": ["age"], "excluded": ["age"]}, "Both required and excluded"),
        ({"signs": {"sex": 1}}, "is a category"),
        ({"signs": {"age": 2}}, "should be 1 or -1"),
        ({"required": ["age", "sex"], "n_lines": 1}, "cannot have points"),
        ({"excluded": ["age", "pressure", "sex", "pain"]}, "No column has a value"),
    ):
        with pytest.raises(SmpcoreError, match=words):
            risk_score(X, y, preparation, n_parts=0, **options)
    with pytest.raises(SmpcoreError, match="two classes"):
        risk_score(X, np.arange(60) % 3, preparation)


def test_cuts_are_the_roundest_numbers_of_an_interval():
    assert roundest(47.0, 52.0, 0) == 50
    assert roundest(0.123, 0.137, 3) == 0.13
    assert roundest(61.0, 62.0, 0) == 62
    assert roundest(-0.4, 0.3, 1) == 0
    assert roundest(7.0, 7.0, 0) == 7
    for seed in range(50):
        low, high = np.sort(np.random.default_rng(seed).normal(0, 100, 2))
        assert low < roundest(low, high, 12) <= high


def test_breast_cancer_is_scored_well():
    data = load_dataset("breast_cancer")
    parts = split(data)
    preparation = prepare(data, parts.train)
    X = preparation.transform(data.frame)
    rows = parts.train
    score = risk_score(X[rows], data.y[rows], preparation, n_parts=2)
    assert len(score.points) <= 5
    assert max(score.points) <= 5
    assert (score.predict(X[parts.test]) == data.y[parts.test]).mean() > 0.9


def test_of_many_rows_and_lines_some_are_looked_at(monkeypatch):
    X, y, preparation, _ = heart()
    module = sys.modules["smpcore.explain.risk_score"]
    monkeypatch.setattr(module, "MOST_CANDIDATES", 4)
    score = risk_score(X, y, preparation, n_parts=0, required=["pressure"], n_lines=3)
    assert "pressure" in score.columns
    assert score.n_left_out[0] > 0 == score.n_left_out[1]
    monkeypatch.setattr(module, "MOST_ROWS", 100)
    half = risk_score(X, y, preparation, n_parts=0)
    assert half.counts["rows"].sum() == pytest.approx(100)
    assert half.pool[-1].n_left_out[1] == len(y) - 100
    assert f"{len(y) - 100} evenly spread rows were not" in search_words(half, True)


def test_the_calibration_is_that_of_statsmodels_on_out_of_fold_scores():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(8)
    X = (rng.random((150, 8)) < 0.5) * 1.0
    y = rng.random(150) < 1 / (1 + np.exp(1 - X[:, 0] - X[:, 1]))
    fold = np.arange(150) % 5
    folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(5)]
    made = risk_score(X, y, binary(X), n_parts=0, folds=folds).calibration
    z = np.zeros(150)
    for train, held_out in folds:
        part = risk_score(X[train], y[train], binary(X), n_parts=0, folds=1)
        z[held_out] = part.intercept + part.scale * part.totals(X[held_out])
    n = np.array([(~y).sum(), y.sum()])
    target = np.where(y, (n[1] + 1) / (n[1] + 2), 1 / (n[0] + 2))
    model = sm.GLM(target, sm.add_constant(z), family=sm.families.Binomial()).fit()
    assert made.slope == pytest.approx(model.params[1], abs=1e-4)
    assert made.offset == pytest.approx(model.params[0], abs=1e-4)
    expected = model.get_prediction(np.array([[1.0, 0.0], [1.0, 1.5]]))
    low, high = made.interval(np.array([0.0, 1.5]))
    limits = expected.conf_int()
    np.testing.assert_allclose(np.column_stack([low, high]), limits, atol=1e-4)
