"""Intervals of a number hold for small predictions as for large ones."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import interp1d
from statsmodels.api import QuantReg, add_constant

from smpcore import (
    METHODS,
    PrototypeModel,
    SmpcoreError,
    prepare,
    read_table,
    split,
)
from smpcore.evaluation import calibrate, clusters, out_of_fold, quartile_coverage
from smpcore.model.calibration import SPREADS


def uneven_table(n, seed, power=2.0):
    """A price whose errors grow with it, groups of two rows and a column of noise."""
    draw = np.random.default_rng(seed)
    size = draw.uniform(1, 10, n)
    content = pd.DataFrame({"size": size, "noise": draw.normal(size=n)})
    content["site"] = np.arange(n) // 2
    content["price"] = 100 + 10 * size + 0.2 * size**power * draw.normal(size=n)
    return read_table(content.round(4).to_csv(index=False).encode(), "p.csv")


def calibrated_model(dataset, parts):
    """A fitted regression with its intervals, and all prepared rows."""
    method = next(m for m in METHODS.values() if "regression" in m.estimators)
    estimator = method.estimator_for(dataset, method.defaults("regression"))
    rows = parts.train
    X = prepare(dataset, rows).transform(dataset.frame)
    scores = out_of_fold(estimator, dataset, parts)
    of_rows = dataset.y[rows], None, clusters(dataset, rows)
    calibration = calibrate(scores, *of_rows)
    model = estimator.fit(X[rows], dataset.y[rows]).model_
    return replace(model, calibration=calibration), X


@pytest.mark.parametrize("grouped", [False, True])
def test_each_quarter_of_the_predictions_is_covered(grouped):
    """Where errors grow with the number, one width misses those of the largest."""
    dataset = uneven_table(2000, 0)
    roles = {"price": "target", "site": "group" if grouped else "ignore"}
    dataset = dataset.with_roles(roles, task="regression")
    parts = split(dataset, validation=0.6, test=0.0)
    model, X = calibrated_model(dataset, parts)
    rows = parts.validation
    lines = quartile_coverage(model, X[rows], dataset.y[rows])
    assert np.abs(lines["share"] - 0.9).max() < 0.06, lines


def _sizes(z, residual, at):
    """Mean absolute residual in parts of about equally many rows, and between them."""
    order = np.argsort(z, kind="stable")
    parts = np.array_split(order, min(10, max(1, len(z) // 25)))
    mean = np.abs(residual).mean()
    sizes = [max(np.abs(residual[part]).mean(), 0.1 * mean) for part in parts]
    size = interp1d(
        [np.median(z[part]) for part in parts],
        sizes,
        bounds_error=False,
        fill_value=(sizes[0], sizes[-1]),
    )
    return size(at), size(at)


def _quantiles(z, residual, at):
    """Quantile regression by statsmodels, at the middles of the same parts."""
    order = np.argsort(z, kind="stable")
    parts = np.array_split(order, min(10, max(1, len(z) // 25)))
    middles = np.array([np.median(z[part]) for part in parts])
    least, lines = 0.1 * np.abs(residual).mean(), []
    for sign, share in ((-1, 0.05), (1, 0.95)):
        fit = QuantReg(residual, add_constant(z)).fit(share, max_iter=10_000)
        line = sign * fit.predict(add_constant(middles))
        lines.append(np.interp(at, middles, np.maximum(line, least)))
    return lines


def _order_statistic(values, coverage=0.9):
    return np.sort(values)[int(np.ceil(coverage * (len(values) + 1) - 1e-9)) - 1]


def _by_other_code(z, y, spread, new):
    """Largest miss of a quarter in cross-validation, and both ends for new rows."""
    residual, fold = y - z, np.random.default_rng(0).permutation(len(y)) % 5
    scaled, inside = np.empty(len(y)), np.empty(len(y), dtype=bool)
    for k in range(5):
        below, above = spread(z[fold != k], residual[fold != k], z[fold == k])
        of_fold = residual[fold == k]
        scaled[fold == k] = np.where(of_fold > 0, of_fold / above, -of_fold / below)
    for k in range(5):
        inside[fold == k] = scaled[fold == k] <= _order_statistic(scaled[fold != k])
    miss = pd.Series(inside).groupby(pd.qcut(z, 4, labels=False)).mean().sub(0.9)
    (below, above), width = spread(z, residual, new), _order_statistic(scaled)
    return miss.abs().max(), np.stack([new - width * below, new + width * above], 1)


@pytest.mark.parametrize(
    ("kind", "chosen"),
    [("even", "any"), ("curved", "residual size"), ("skewed", "residual quantiles")],
)
def test_the_width_with_the_smallest_miss_is_that_of_other_code(kind, chosen):
    """Misses and intervals by pandas, SciPy and statsmodels."""
    draw = np.random.default_rng(4)
    z, noise = draw.uniform(0, 10, 600), draw.normal(size=600)
    noise = {
        "even": noise,
        "curved": noise * (0.3 + (z - 5) ** 2),
        "skewed": (draw.exponential(size=600) - 0.3) * (0.5 + z),
    }[kind]
    found, new = calibrate(z, z + noise), draw.uniform(-1, 11, 50)
    others = [
        _by_other_code(z, z + noise, spread, new)
        for spread in (lambda z, _, at: np.ones((2, len(at))), _sizes, _quantiles)
    ]
    np.testing.assert_allclose(found.losses, [miss for miss, _ in others], atol=0.015)
    assert chosen in ("any", found.spread_name)
    expected = others[SPREADS.index(found.spread_name)][1]
    unit = np.ptp(expected, axis=1).mean()
    np.testing.assert_allclose(found.interval(new, 0.9), expected, atol=0.02 * unit)
    miss = 100 * found.losses.min()
    assert f"{found.spread_name} {miss:.1f}" in found.choice


def test_few_independent_rows_have_one_width():
    draw = np.random.default_rng(5)
    z = draw.uniform(0, 10, 200)
    y, groups = z + z * draw.normal(size=200), np.arange(200)
    for clusters_of, tried in ((groups, True), (groups // 5, False)):
        found = calibrate(z, y, clusters=clusters_of)
        assert bool(found.losses.size) == tried == bool(found.choice)
    assert np.ptp(np.ptp(found.interval(z, 0.5), axis=1)) < 1e-12


def test_a_model_keeps_the_spread_of_its_intervals():
    dataset = uneven_table(400, 1).with_roles({"price": "target"}, task="regression")
    model, X = calibrated_model(dataset, split(dataset))
    assert model.calibration.spread.size
    back = PrototypeModel.from_json(model.to_json())
    np.testing.assert_array_equal(back.intervals(X), model.intervals(X))
    descending = replace(model.calibration, spread=model.calibration.spread[:, ::-1])
    with pytest.raises(SmpcoreError, match="spread of a calibration should be"):
        replace(model, calibration=descending)
