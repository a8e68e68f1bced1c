"""Charts of probabilities draw the numbers of their tables."""

import numpy as np
import pytest

from smpcore import figures
from smpcore.evaluation import decision_curve, reliability

RNG = np.random.default_rng(0)
P = RNG.random(300)
TRUTH = RNG.random(300) < P


def test_the_reliability_plot_has_intervals_of_the_first_table_only():
    tables = {"calibrated": reliability(P, TRUTH), "other": reliability(P**2, TRUTH)}
    figure = figures.reliability(tables, "of ill")
    drawn = {trace.name: trace for trace in figure.data}
    assert figure.layout.xaxis.title.text == "predicted probability of ill"
    for name, table in tables.items():
        np.testing.assert_array_equal(drawn[name].x, table["probability"])
        np.testing.assert_array_equal(drawn[name].y, table["share"])
        assert drawn[name].error_y.visible == (name == "calibrated")
    bars, table = drawn["calibrated"].error_y, tables["calibrated"]
    np.testing.assert_allclose(table["share"] + bars.array, table["high"])
    np.testing.assert_allclose(table["share"] - bars.arrayminus, table["low"])
    styles = [(trace.line.dash, trace.marker.symbol) for trace in figure.data]
    assert len({*styles}) == 3, "told apart without colour"


def test_the_decision_curve_has_treat_all_and_treat_none():
    curve = decision_curve(P, TRUTH)
    figure = figures.decision_curve(curve)
    drawn = {trace.name: trace for trace in figure.data if trace.line.width}
    for name, column in (
        ("this model", "net_benefit"),
        ("treat all", "treat_all"),
        ("treat none", "treat_none"),
    ):
        np.testing.assert_array_equal(drawn[name].y, curve[column])
    assert len({trace.line.dash for trace in drawn.values()}) == 3
    low, high = figure.layout.yaxis.range
    assert low < 0 < curve["net_benefit"].max() < high
    assert low == pytest.approx(-0.1 * max(high / 1.05, 0.2))
