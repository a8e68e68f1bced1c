"""The trade-off chart draws each point that has the cost, and leads back to it."""

import numpy as np
import pandas as pd

from smpcore import figures
from smpcore.evaluation import operating_points, reject_curve


def _points() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "method": ["a", "a", "a", "b", "c"],
            "parameter": ["p", "p", "p", "p", ""],
            "value": [1.0, 2.0, 3.0, 1.0, np.nan],
            "mean": [0.7, 0.9, 0.89, 0.5, 0.8],
            "error": 0.01,
            "n_nonzeros": [1.0, 10.0, 100.0, 50.0, 20.0],
            "flash_bytes": [100.0, 150.0, 200.0, np.nan, np.nan],
        }
    )
    frame["front"] = [True, True, False, False, False]
    frame["undecided"] = [False, False, True, False, False]
    frame["best"] = [False, True, False, False, False]
    frame["sparsest"] = frame["best"]
    return frame


def _drawn(figure) -> dict[int, object]:
    return {
        int(place): trace
        for trace in figure.data
        if trace.customdata is not None
        for place in trace.customdata
    }


def test_every_point_is_there_once_with_its_own_mark():
    names = {"a": "Method A", "b": "Method B", "c": "Baseline"}
    figure = figures.tradeoff(_points(), "n_nonzeros", names, ("x", "y"), ("c",))
    drawn = _drawn(figure)
    assert sorted(drawn) == [0, 1, 2, 3, 4]
    assert drawn[0] is drawn[1] and drawn[0].marker.symbol == "circle"
    assert drawn[2].marker.symbol == "circle-open"
    assert drawn[3].marker.color != drawn[0].marker.color
    assert drawn[4].marker.color == figures.tradeoff.__globals__["GREY"]
    assert figure.layout.xaxis.type == "log"
    line = next(trace for trace in figure.data if trace.name == "front")
    np.testing.assert_array_equal(line.x, [1.0, 10.0])
    assert sum(bool(trace.showlegend) for trace in drawn.values()) >= 3


def test_no_cost_no_point():
    names = {"a": "Method A", "b": "Method B", "c": "Baseline"}
    figure = figures.tradeoff(_points(), "flash_bytes", names, ("x", "y"), ("c",))
    assert sorted(_drawn(figure)) == [0, 1, 2]
    assert figure.layout.xaxis.type == "linear"


def test_a_point_that_is_alone_stands_on_an_axis_of_scores():
    names = {"a": "Method A", "b": "Method B", "c": "Baseline"}
    figure = figures.tradeoff(_points()[:1], "n_nonzeros", names, ("x", "y"), ("c",))
    np.testing.assert_allclose(figure.layout.yaxis.range, (0.65, 0.75))


def test_curves_show_the_threshold_in_use():
    rng = np.random.default_rng(0)
    truth = rng.random(60) < 0.5
    margin = rng.normal(size=60) + truth
    points = operating_points(margin, truth)
    chosen = points.iloc[20]
    roc = figures.roc(points, chosen["threshold"]).data[-1]
    assert roc.y[0] == chosen["sensitivity"]
    recall = figures.precision_recall(points, chosen["threshold"]).data[-1]
    assert (recall.x[0], recall.y[0]) == (chosen["sensitivity"], chosen["precision"])
    curve = reject_curve(margin, truth)
    drawn = figures.coverage(curve, curve["band"][3])
    legend = drawn.layout.legend  # below: the toolbar covers what is above
    assert (legend.yref, legend.y, legend.yanchor) == ("container", 0, "bottom")
    picture = drawn.data[-1]
    assert picture.x[0] == curve["coverage"][3]


def test_points_on_one_spot_are_all_named_where_the_pointer_stands():
    points = _points().assign(n_nonzeros=[10.0, 10.0, 100.0, 10.0, 20.0], mean=0.9)
    figure = figures.tradeoff(points, "n_nonzeros", {"a": "A", "b": "B"}, ("x", "y"))
    texts = {
        place: text
        for trace in figure.data
        if trace.customdata is not None
        for place, text in zip(trace.customdata, trace.text, strict=True)
    }
    assert texts[0] == texts[1] == "p = 1<br>p = 2"
    assert texts[2] == "p = 3" and texts[3] == "p = 1"
