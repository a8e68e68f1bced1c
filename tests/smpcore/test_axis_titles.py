"""Every axis that a figure shows has a title; panels share those at the edge."""

import inspect

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from smpcore import figures, load_dataset, prepare, split
from smpcore.datasets import make_dataset
from smpcore.evaluation import (
    decision_curve,
    operating_points,
    reject_curve,
    reliability,
)
from smpcore.model import History

HISTORY = History(iteration=np.ones(2), objective=np.ones(2), gap=np.ones(2))
IRIS = load_dataset("iris")
ALL = np.arange(IRIS.n_samples)
X = IRIS.frame[IRIS.feature_columns].to_numpy()
VIEW = figures.axis_view(X, tuple("abcd"), 0, 1)
XY = np.zeros((3, 2))
CODES, CLASSES = np.array([0, 1, 1]), np.array(["p", "q"])
CURVES = operating_points(np.array([0.1, 0.6, 0.4, 0.9]), np.array([0, 0, 1, 1]))
HOLES = pd.DataFrame({"a": [1.0, None, 2.5], "b": [1, 2, 3], "y": ["p", "q", "p"]})
MIXED = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": list("uvwu"), "y": list("pqpq")})
MIXED = make_dataset(MIXED, "mixed")
POINTS = pd.DataFrame(
    {"method": ["a"], "parameter": ["p"], "value": [1.0], "mean": [0.7]}
).assign(error=0.1, n_nonzeros=3.0, front=True, undecided=False, best=True)
EVENTS = np.linspace(0.05, 0.95, 40), np.arange(40) % 3 == 0
GROUPS = pd.DataFrame({"group": ["a", "b"], "rows": [9, 20], "few": [True, False]})
GROUPS = GROUPS.assign(value=0.5, low=0.2, high=0.9, p_value=0.01)
PEERS = pd.DataFrame({"group": ["g"], "model": ["m"], "accuracy": [0.9]})
PEERS = PEERS.assign(spread=0.1, flash=100.0, flash_least=90.0, flash_most=120.0)


def _series():
    dataset = load_dataset("series", n_samples=20, n_times=10)
    return figures.series(dataset, np.arange(20))


RESULTS = pd.DataFrame({"data": ["d"], "model": ["m"], "at": [1.0]})
RESULTS = RESULTS.assign(reported=0.9, reported_sd=0.1, measured=0.8, measured_sd=0.1)
DIFFERENCES = pd.DataFrame({"model": ["m"], "margin": [0.05]})
DIFFERENCES = DIFFERENCES.assign(difference=0.01, low=-0.01, high=0.03)
DIFFERENCES = DIFFERENCES.assign(verdict="reproduced")
SIZES = pd.DataFrame({"accuracy": [0.9, 0.8], "bytes": [99.0, 9.0]}, index=["a", "b"])
SIZES = SIZES.assign(**{"front, bytes": True})
MAKERS = {
    "accuracy_size": lambda: figures.accuracy_size(SIZES, "accuracy", "bytes", ["a"]),
    "answer_counts": lambda: figures.answer_counts(["a", "b"], [1, 2], [1]),
    "answer_numbers": lambda: figures.answer_numbers({"vote": [1.0, 2.0]}, 1.0),
    "answer_places": lambda: figures.answer_places(
        [(0, 1)], [(1, 1)], np.zeros((2, 2))
    ),
    "critical_difference": lambda: figures.critical_difference(
        ["a", "b"], [1.2, 1.8], [["a", "b"]], 0.9
    ),
    "mean_differences": lambda: figures.mean_differences(DIFFERENCES),
    "reported_measured": lambda: figures.reported_measured(RESULTS, "accuracy"),
    "answer_map": lambda: figures.answer_map(
        VIEW, np.zeros((4, 4)), XY, CODES, CODES > 1, CLASSES
    ),
    "channels": lambda: figures.channels(np.ones((2, 12)), (4, 3), ["a", "b"]),
    "chip_peers": lambda: figures.chip_peers(PEERS, "flash", ("cost", "score"), None),
    "class_balance": lambda: figures.class_balance(IRIS, split(IRIS)),
    "class_legend": lambda: figures.class_legend(CLASSES),
    "convergence": lambda: figures.convergence(HISTORY),
    "coverage": lambda: figures.coverage(
        reject_curve(np.array([0.1, -0.6, 0.4]), CODES), 0.2
    ),
    "decision_curve": lambda: figures.decision_curve(decision_curve(*EVENTS)),
    "densities": lambda: figures.densities(np.arange(3.0), CODES, CLASSES, "lead"),
    "change_map": lambda: figures.change_map(VIEW, CODES[None], X[:2, :2], CLASSES),
    "difference_map": lambda: figures.difference_map(
        VIEW, np.zeros((4, 4)), XY, CODES, ["a", "b", "c", "d"]
    ),
    "columns_beside": lambda: figures.columns_beside(
        prepare(MIXED, np.arange(4)).inputs, {"a": np.eye(4), "all": np.eye(4)}
    ),
    "embeddings": lambda: figures.embeddings(XY, XY, CODES, CLASSES),
    "group_values": lambda: figures.group_values(GROUPS, "accuracy", 0.8, True),
    "intervals": lambda: figures.intervals(
        GROUPS.assign(kind="core"), ("core",), "weight", 0.0
    ),
    "missing_values": lambda: figures.missing_values(make_dataset(HOLES, "holes")),
    "picture": lambda: figures.picture(
        np.ones(6), (2, 3), "t", (0.0, 1.0), False, width=90
    ),
    "precision_recall": lambda: figures.precision_recall(CURVES, 0.5),
    "predicted_actual": lambda: figures.predicted_actual(
        np.arange(3.0), np.ones(3), np.arange(3)
    ),
    "recovery": lambda: figures.recovery(np.ones(2), np.ones((2, 1)), ["a"], 0.8),
    "reliability": lambda: figures.reliability({"a": reliability(*EVENTS)}, "of p"),
    "roc": lambda: figures.roc(CURVES, 0.5),
    "scatter": lambda: figures.scatter(IRIS, ALL, *IRIS.feature_columns[:2]),
    "series": _series,
    "similarity_map": lambda: figures.similarity_map(np.eye(3), CODES, np.arange(3)),
    "signed_bars": lambda: figures.signed_bars(np.ones(2), ["a", "b"], "weight"),
    "tradeoff": lambda: figures.tradeoff(
        POINTS.assign(sparsest=True), "n_nonzeros", {"a": "A"}, ("size", "score")
    ),
}


def test_every_figure_is_looked_at():
    def makes_a_figure(name):
        made = inspect.get_annotations(getattr(figures, name), eval_str=True)
        return made.get("return") is go.Figure

    functions = [n for n in figures.__all__ if inspect.isfunction(getattr(figures, n))]
    assert {*filter(makes_a_figure, functions)} == {*MAKERS}


def _at_the_edge(layout, axis):
    """Whether it is the lowest of its column of panels, or the left one of its row."""
    number = (axis.anchor or "x")[1:]
    other = "yaxis" if axis.plotly_name[0] == "x" else "xaxis"
    across = layout[other + number]
    return across.domain is None or across.domain[0] == 0


@pytest.mark.parametrize("name", MAKERS)
def test_a_visible_axis_has_a_title(name):
    layout = MAKERS[name]().layout
    for key in layout:
        axis = layout[key]
        if key.startswith(("xaxis", "yaxis")) and _at_the_edge(layout, axis):
            assert axis.visible is False or axis.title.text, key
