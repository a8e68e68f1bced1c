"""Figures: what is painted and drawn is what model and tables say; no tag is obeyed."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde
from sklearn.decomposition import PCA

from smpcore import (
    SMPClassifier,
    SmpcoreError,
    SuperSparseRegressor,
    evaluation,
    figures,
    load_dataset,
    read_table,
    split,
)
from smpcore.datasets import TimeAxis, make_dataset
from smpcore.evaluation import RegressionScores
from smpcore.figures.charts import class_mark, log_axis
from smpcore.model import History
from smpcore.model.portraits import as_image


@pytest.fixture(scope="module")
def iris():
    dataset = load_dataset("iris")
    X = dataset.frame[dataset.feature_columns].to_numpy()
    return X, SMPClassifier(n_prototypes=2, lam=0.001).fit(X, dataset.y).model_


def _nodes(view, n):
    x, y = np.linspace(*view.x, n), np.linspace(*view.y, n)
    return np.column_stack([np.tile(x, n), np.repeat(y, n)])


@pytest.mark.parametrize(
    "make", [figures.pca_view, lambda X: figures.axis_view(X, tuple("abcd"), 0, 2)]
)
def test_the_raster_is_the_models_answer(iris, make):
    X, model = iris
    view = make(X)
    raster = figures.decision_raster(model, view, n_nodes=25)
    scores = model.scores(view.lift(_nodes(view, 25)))
    np.testing.assert_array_equal(raster.winner.ravel(), scores.argmax(axis=1))
    ordered = np.sort(scores, axis=1)
    gap = ordered[:, -1] - ordered[:, -2]
    shown = (raster.margin.ravel() / 255) ** 2 * raster.margin_max
    assert (shown >= gap - 1e-9).all()
    assert (np.sqrt(shown) - np.sqrt(gap) <= np.sqrt(raster.margin_max) / 255).all()
    rows = np.arange(len(scores))
    np.testing.assert_allclose(
        scores[rows, raster.runner.ravel()], ordered[:, -2], atol=1e-12
    )


def test_lines_give_the_exact_activations(iris):
    X, model = iris
    view = figures.pca_view(X)
    lines = figures.decision_raster(model, view, n_nodes=5).lines
    points = np.random.default_rng(0).uniform(-2, 2, (40, 2))
    painted = points @ lines[:, :2].T + lines[:, 2]
    np.testing.assert_allclose(
        painted, model.activations(view.lift(points)), rtol=1e-4, atol=1e-5
    )


def test_what_is_lifted_is_projected_back_and_every_row_lies_in_the_window(iris):
    X, _ = iris
    somewhere = np.random.default_rng(0).uniform(-2, 2, (40, 2))
    for view in (figures.pca_view(X), figures.axis_view(X, tuple("abcd"), 3, 1)):
        back = view.project(view.lift(somewhere))
        np.testing.assert_allclose(back, somewhere, atol=1e-9)
        points = view.project(X)
        assert (points > [view.x[0], view.y[0]]).all()
        assert (points < [view.x[1], view.y[1]]).all()
    view = figures.axis_view(X, tuple("abcd"), 0, 1, np.array([9.0, 9.0, 1.5, 0.25]))
    there = view.lift(np.array([[5.0, 3.0]]))
    np.testing.assert_allclose(there, [[5.0, 3.0, 1.5, 0.25]])


def test_one_feature_has_a_window_too():
    view = figures.axis_view(np.array([[1.0], [3.0]]), ("a",), 0, 0)
    np.testing.assert_allclose(view.project(np.array([[2.0]])), [[2.0, 0.0]])
    np.testing.assert_allclose(view.lift(np.array([[2.0, 0.7]])), [[2.0]])


def test_convergence_names_phases_and_leaves_out_gaps_that_are_unknown():
    steps = np.arange(4.0)
    phases = (0.0, "relaxed"), (2.0, "rounded <b>")
    gaps = np.array([np.nan, 0.1, 0.0, 0.2])
    figure = figures.convergence(History(steps, steps + 1, gaps, phases=phases))
    lines = figure.layout.shapes
    assert [(line.x0, line.x1) for line in lines] == [(0, 0), (2, 2)]
    texts = [note.text for note in figure.layout.annotations]
    assert texts == ["relaxed", "rounded &lt;b>"]
    assert list(figure.data[1].x) == [1.0, 3.0]


def test_the_plane_is_the_same_in_any_unit(iris):
    X, _ = iris
    view, tiny = figures.pca_view(X), figures.pca_view(X * 1e-12)
    np.testing.assert_allclose(tiny.project(X * 1e-12), view.project(X), atol=1e-9)
    assert tiny.x_label == view.x_label


def test_the_plane_of_few_rows_takes_no_matrix_of_features(iris, monkeypatch):
    X = iris[0] @ np.random.default_rng(0).normal(size=(4, 500))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    first, second = PCA(2).fit(Z).explained_variance_ratio_
    monkeypatch.delattr(np, "cov")
    view = figures.pca_view(X)
    assert (f"{first:.1%}" in view.x_label) and (f"{second:.1%}" in view.y_label)


@pytest.fixture(scope="module")
def diabetes():
    dataset = load_dataset("diabetes")
    X = dataset.frame[dataset.feature_columns].to_numpy(dtype=float)
    return X, dataset.y, SuperSparseRegressor(4).fit(X, dataset.y).model_


def test_a_surface_is_what_the_model_predicts(diabetes):
    X, _, model = diabetes
    view = figures.pca_view(X)
    surface = figures.prediction_raster(model, view, n_nodes=20)
    assert surface.shape == (20, 20) and surface.dtype == np.float32
    values = model.predict(view.lift(_nodes(view, 20)))
    np.testing.assert_allclose(surface.ravel(), values, rtol=1e-6)


def test_a_curve_is_what_the_model_predicts_with_the_rest_standing(diabetes):
    X, y, model = diabetes
    names = tuple(f"f{j}" for j in range(X.shape[1]))
    rest = np.median(X, axis=0) + 0.5
    view = figures.curve_view(X, y, names, 2, "progression", rest)
    assert (view.x_label, view.y_label) == ("f2", "progression")
    assert view.y[0] < y.min() and view.y[1] > y.max()
    line = np.tile(rest, (30, 1))
    line[:, 2] = np.linspace(*view.x, 30)
    curve = figures.prediction_raster(model, view, n_nodes=30)
    np.testing.assert_allclose(curve, model.predict(line), rtol=1e-6)
    # Wherever a row stands above the line, the line's own input is meant.
    np.testing.assert_array_equal(view.lift([[28.0, 99.0]]), view.lift([[28.0, 0.0]]))


def test_a_picture_of_the_other_task_is_refused(iris, diabetes):
    X, model = iris
    with pytest.raises(SmpcoreError, match="should be a regression model"):
        figures.prediction_raster(model, figures.pca_view(X))
    X, _, model = diabetes
    with pytest.raises(SmpcoreError, match="should be a classifier"):
        figures.decision_raster(model, figures.pca_view(X))


def test_the_plane_of_linear_kernels_is_that_of_the_rows():
    """Two matrices that are products of the rows: principal components of the rows."""
    rows = np.random.default_rng(1).normal(size=(30, 4)) * [3, 2, 1, 0.1]
    rows -= rows.mean(axis=0)
    K = rows @ rows.T
    K /= K.diagonal().mean()
    view = figures.similarity_view(np.hstack([K, 5 * K]))
    _, sizes, axes = np.linalg.svd(rows / np.sqrt((rows**2).sum(axis=1).mean()))
    xy = view.project(np.hstack([K, 5 * K]))
    np.testing.assert_allclose(np.abs(xy.T @ xy), np.diag(sizes[:2] ** 2), atol=1e-9)
    np.testing.assert_allclose(view.project(view.lift(xy)), xy, atol=1e-9)
    # A point of the window has the similarities of the input that lies there.
    unit = np.sqrt((rows**2).sum(axis=1).mean())
    signs = np.sign(xy[0]) * np.sign(rows[0] @ axes[:2].T)
    there = (xy * signs) @ axes[:2] * unit
    np.testing.assert_allclose(
        view.lift(xy)[:, :30] * unit**2, there @ rows.T, atol=1e-9
    )


def test_similarities_that_are_no_kernel_have_a_plane_too():
    apart = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0))) ** 1.5
    view = figures.similarity_view(-apart)
    assert np.isfinite(view.axes).all() and np.isfinite(view.reading).all()
    order = view.project(-apart)[:, 0]
    assert (np.diff(order) > 0).all() or (np.diff(order) < 0).all()


def test_a_map_of_similarities_is_sorted_by_label_and_cluster():
    K, labels = np.arange(9.0).reshape(3, 3), np.array(["b", "<i>a", "b"])
    figure = figures.similarity_map(K, labels, ["row 4", "P53, row 5", "row 6"])
    assert figure.data[0].z.tolist() == [[4, 3, 5], [1, 0, 2], [7, 6, 8]]
    assert figure.data[0].customdata[0][0] == "P53, row 5 (&lt;i>a)"
    x = np.array([0.0, 5.0, 0.1, 5.1, 0.2, 5.2])
    near = np.exp(-((x[:, None] - x) ** 2))
    titles = [f"{v}" for v in x]
    rows = figures.similarity_map(near, np.repeat("a", 6), titles).data[0].customdata[0]
    sides = [float(name.split()[0]) > 1 for name in rows]
    assert sides in ([False] * 3 + [True] * 3, [True] * 3 + [False] * 3)


@pytest.mark.parametrize("key", ["iris", "digits", "breast_cancer"])
def test_class_balance_counts_every_row_once(key):
    dataset = load_dataset(key)
    figure = figures.class_balance(dataset, split(dataset))
    counts = dict.fromkeys(map(str, dataset.classes), 0)
    for bar in figure.data:
        for label, count in zip(bar.y, bar.x, strict=True):
            counts[label] += count
    assert list(counts.values()) == np.bincount(dataset.y_encoded).tolist()
    assert [bar.name for bar in figure.data] == ["training", "validation", "test"]


def test_class_balance_of_numbers_and_of_many_classes():
    dataset = load_dataset("diabetes")
    figure = figures.class_balance(dataset, split(dataset))
    assert sum(len(part.x) for part in figure.data) == dataset.n_samples
    sizes = np.arange(1, 61)
    y = np.repeat([f"c{i}" for i in sizes], sizes)
    frame = pd.DataFrame({"x": np.arange(len(y)) * 0.5, "y": y})
    dataset = make_dataset(frame, "t", roles={"y": "target"})
    figure = figures.class_balance(dataset, split(dataset))
    assert figure.data[0].y[:2] == ("c60", "c59")
    assert len(figure.data[0].y) == 40


def table():
    frame = pd.DataFrame(
        {
            "<b>a</b>": [1.0, np.nan, np.nan, 4.0],
            "w": ["u", None, "<i>v</i>", "u"],
            "full": [1, 2, 3, 5],
            "y": ["p", "q", "p", "<a href=x>"],
        }
    )
    return make_dataset(frame, "t", roles={"y": "target"})


def test_missing_values_are_sorted_shares():
    (bars,) = figures.missing_values(table()).data
    assert list(bars.x) == [50, 25]
    assert bars.y == ("&lt;b>a&lt;/b>", "w")


def test_scatter_shows_the_rows_it_is_given_and_no_others():
    dataset = table()
    figure = figures.scatter(dataset, np.array([0, 2, 3]), "<b>a</b>", "w")
    assert [trace.name for trace in figure.data] == ["&lt;a href=x>", "p", "q"]
    assert [len(trace.x) for trace in figure.data] == [1, 2, 0]
    assert list(figure.data[1].y) == ["u", "&lt;i>v&lt;/i>"]
    assert figure.layout.xaxis.title.text == "&lt;b>a&lt;/b>"


def test_scatter_tells_classes_apart_and_thins_many_rows():
    dataset = load_dataset("moons", n_samples=5000)
    figure = figures.scatter(dataset, np.arange(5000), "x1", "x2")
    assert 1000 < sum(len(trace.x) for trace in figure.data) <= 2000
    looks = [(trace.marker.color, trace.marker.symbol) for trace in figure.data]
    assert looks == [tuple(class_mark(j).values()) for j in range(2)]


def test_scatter_of_a_regression_is_coloured_by_value():
    dataset = load_dataset("diabetes")
    (points,) = figures.scatter(dataset, np.arange(100), "age", "bmi").data
    assert list(points.marker.color) == dataset.y[:100].tolist()


def test_series_draw_some_of_each_class_and_no_other_row():
    dataset = load_dataset("series", n_times=10)
    train = split(dataset).train
    figure = figures.series(dataset, train, per_class=2)
    assert len(figure.data) == len(dataset.channels) * len(dataset.classes)
    assert len({(t.line.color, t.line.dash) for t in figure.data}) == 4
    assert sum(bool(trace.showlegend) for trace in figure.data) == 4
    seen = dataset.frame[dataset.feature_columns].iloc[train].to_numpy()
    label = dataset.y_encoded[train]
    for number, trace in enumerate(figure.data):
        code, channel = divmod(number, 9)
        drawn = np.reshape(trace.y, (2, 11))[:, :10]
        rows = seen[label == code, 10 * channel : 10 * channel + 10]
        assert all((rows == line).all(axis=1).any() for line in drawn)


def test_series_of_many_channels_and_without_classes():
    lines = "\n".join(
        ":".join(f"{i},{j},{i + j}" for j in range(15)) + f":{0.5 * i}"
        for i in range(9)
    )
    data = f"@targetLabel true\n@dimension 15\n@data\n{lines}\n".encode()
    dataset = read_table(data, "t.ts")
    figure = figures.series(dataset, np.arange(9))
    names = [trace.name for trace in figure.data[::12]]
    assert names == [
        f"{third} third of the target" for third in ("low", "middle", "high")
    ]
    assert len(figure.data) == 3 * 12


def test_a_table_is_no_series():
    with pytest.raises(SmpcoreError, match="should hold series"):
        figures.series(load_dataset("digits"), np.arange(5))


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


def _tradeoff(points, cost="n_nonzeros"):
    """The figure, and the trace and the text of each point."""
    names = {"a": "Method A", "b": "Method B", "c": "Baseline"}
    figure = figures.tradeoff(points, cost, names, ("x", "y"), ("c",))
    traces = [trace for trace in figure.data if trace.customdata is not None]
    drawn = {int(place): trace for trace in traces for place in trace.customdata}
    texts = {
        int(place): text
        for trace in traces
        for place, text in zip(trace.customdata, trace.text, strict=True)
    }
    return figure, drawn, texts


def test_every_point_is_there_once_with_its_own_mark():
    figure, drawn, _ = _tradeoff(_points())
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
    figure, drawn, _ = _tradeoff(_points(), "flash_bytes")
    assert sorted(drawn) == [0, 1, 2]
    assert figure.layout.xaxis.type == "linear"


def test_a_point_that_is_alone_stands_on_an_axis_of_scores():
    figure, *_ = _tradeoff(_points()[:1])
    np.testing.assert_allclose(figure.layout.yaxis.range, (0.65, 0.75))


def test_curves_show_the_threshold_in_use():
    rng = np.random.default_rng(0)
    truth = rng.random(60) < 0.5
    margin = rng.normal(size=60) + truth
    points = evaluation.operating_points(margin, truth)
    chosen = points.iloc[20]
    roc = figures.roc(points, chosen["threshold"]).data[-1]
    assert roc.y[0] == chosen["sensitivity"]
    recall = figures.precision_recall(points, chosen["threshold"]).data[-1]
    assert (recall.x[0], recall.y[0]) == (chosen["sensitivity"], chosen["precision"])
    curve = evaluation.reject_curve(margin, truth)
    drawn = figures.coverage(curve, curve["band"][3])
    legend = drawn.layout.legend  # below: the toolbar covers what is above
    assert (legend.yref, legend.y, legend.yanchor) == ("container", 0, "bottom")
    picture = drawn.data[-1]
    assert picture.x[0] == curve["coverage"][3]


def test_points_on_one_spot_are_all_named_where_the_pointer_stands():
    points = _points().assign(n_nonzeros=[10.0, 10.0, 100.0, 10.0, 20.0], mean=0.9)
    *_, texts = _tradeoff(points)
    assert texts[0] == texts[1] == "p = 1<br>p = 2"
    assert texts[2] == "p = 3" and texts[3] == "p = 1"


RNG = np.random.default_rng(0)
P = RNG.random(300)
TRUTH = RNG.random(300) < P


def test_the_reliability_plot_has_intervals_of_the_first_table_only():
    tables = {
        "calibrated": evaluation.reliability(P, TRUTH),
        "other": evaluation.reliability(P**2, TRUTH),
    }
    curves = {
        "calibrated": evaluation.calibration_curve(P, TRUTH),
        "other": evaluation.calibration_curve(P**2, TRUTH),
    }
    figure = figures.reliability(tables, curves, "of ill")
    drawn = {trace.name: trace for trace in figure.data}
    assert figure.layout.xaxis.title.text == "predicted probability of ill"
    for name, table in tables.items():
        bins, smoothed = drawn[f"{name}, bins"], drawn[f"{name}, smoothed"]
        np.testing.assert_array_equal(bins.x, table["probability"])
        np.testing.assert_array_equal(bins.y, table["share"])
        np.testing.assert_array_equal(smoothed.y, curves[name]["share"])
        assert bins.error_y.visible == (name == "calibrated")
    bars, table = drawn["calibrated, bins"].error_y, tables["calibrated"]
    np.testing.assert_allclose(table["share"] + bars.array, table["high"])
    np.testing.assert_allclose(table["share"] - bars.arrayminus, table["low"])
    bands = [one for one in figure.data if one.name == "95 % interval"]
    for band, end in zip(bands, ("high", "low"), strict=True):
        np.testing.assert_array_equal(band.y, curves["calibrated"][end])
    shown = [trace for trace in figure.data if trace not in bands]
    styles = [(trace.line.dash, trace.marker.symbol) for trace in shown]
    assert len({*styles}) == 5, "told apart without colour"
    absent = {name: curve[:0] for name, curve in curves.items()}
    assert len(figures.reliability(tables, absent, "of ill").data) == 3


def test_the_decision_curve_has_treat_all_and_treat_none():
    curve = evaluation.decision_curve(P, TRUTH)
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


NASTY = '<img src=x onerror=alert(1)>"&'


@pytest.mark.parametrize(
    ("shape", "size"),
    [((4, 6), (4, 6)), ((4, 6, 3), (4, 6)), ((3, 4, 6), (12, 6)), ((24,), (1, 24))],
)
def test_a_row_of_any_shape_is_a_picture(shape, size):
    row = np.arange(np.prod(shape), dtype=float)
    image = as_image(row, shape)
    assert image.shape == size
    assert image.mean() == pytest.approx(row.mean())
    figure = figures.picture(row, shape, NASTY, (-9.0, 9.0), True, 120)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-9.0, 9.0)
    assert figure.layout.height <= 3 * 120 + 24
    assert "<img" not in figure.to_json().replace("\\u003c", "<")


def test_pixels_far_outside_the_range_are_marked():
    row = np.array([0.0, 16, -1.5, -1.7, 17.5, 17.7, np.nan, 40])
    figure = figures.picture(row, (2, 4), "", (0.0, 16.0), False, 120)
    marks = {
        trace.marker.symbol: np.c_[trace.y, trace.x].tolist()
        for trace in figure.data[1:]
    }
    assert marks == {
        "x-thin": [[1, 2]],
        "line-ew": [[0, 3]],
        "cross-thin": [[1, 1], [1, 3]],
    }


def test_bars_are_sorted_and_names_are_text():
    values = np.array([0.5, -2.0, 0.0, 1.0])
    figure = figures.signed_bars(values, [NASTY, "b", "c", "b"], "weight", [1])
    assert list(figure.data[0].x) == [-2.0, 1.0, 0.5]
    assert list(figure.layout.yaxis.ticktext)[:2] == ["⚠ b", "b"]
    (title,) = figure.layout.annotations  # ends with the bars, however long names are
    assert (title.text, title.x, title.xanchor) == ("weight", 1, "right")
    assert "<img" not in figure.to_json().replace("\\u003c", "<")


def test_a_density_has_area_one():
    rng = np.random.default_rng(0)
    values, codes = rng.normal(size=300), rng.integers(0, 2, 300)
    classes = np.array([NASTY, "b"])
    figure = figures.densities(values, codes, classes, "x", [(9.0, "m")])
    for line in figure.data:
        assert np.trapezoid(line.y, line.x) == pytest.approx(1.0, abs=0.02)
    assert figure.data[0].x.max() > 9.0
    for c, line in enumerate(figure.data):
        expected = gaussian_kde(values[codes == c], lambda of: 0.9 * of.n**-0.2)
        # Its factor is of the standard deviation with one degree of freedom less.
        np.testing.assert_allclose(line.y, expected(line.x), rtol=0.03, atol=1e-6)
    # A narrow class is as wide as a node; 8 % of the range is on either side.
    near = figures.densities(
        np.array([5.0, 5.0, 9.0]), np.array([0, 0, 1]), classes, "x"
    )
    width = 4 * 1.16 / 160
    top = near.data[0].y.max(), near.data[0].x.min(), near.data[0].x.max()
    assert top == pytest.approx((1 / width / np.sqrt(2 * np.pi), 4.68, 9.32), rel=0.05)
    same = figures.densities(np.ones(5), np.zeros(5, int), np.array(["a"]), "x")
    assert np.isfinite(same.data[0].y).all()


def test_channels_and_embeddings_draw_every_row():
    rows = np.arange(24.0).reshape(2, 12)
    names = ["x", NASTY, "z"]
    figure = figures.channels(rows, (3, 4), ["a", NASTY], names)
    assert len(figure.data) == 6
    assert figure.layout.yaxis.title.text == "weight"  # without spreads
    assert figure.layout.annotations[2].text == "z"
    assert "<img" not in figure.to_json().replace("\\u003c", "<")
    np.testing.assert_array_equal(figure.data[5].y, rows[1, 8:])
    points = np.arange(10.0).reshape(5, 2)
    codes, classes = np.array([0, 1, 0, 1, 1]), np.array(["a", "b"])
    figure = figures.embeddings(points, -points, codes, classes)
    assert sum(len(trace.x) for trace in figure.data) == 10


def test_behind_series_lie_mean_and_spread_of_their_class_in_the_files_time():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 12)), np.arange(20) % 3
    X[:, 8:] = 0.1 + 0.2  # a mean of these differs from them by rounding
    axis = TimeAxis(5.0, 0.5, "s", "time")
    style = ["x [g]", "y [g]", "z"], [2], axis, figures.spreads(X, y)
    figure = figures.channels(X[2:3], (3, 4), ["a"], *style)
    band, mean, *_ = figure.data
    part = X[2::3, :4]
    np.testing.assert_allclose(mean.y, part.sum(axis=0) / len(part))
    deviation = np.sqrt(((part - mean.y) ** 2).sum(axis=0) / len(part))
    outline = [*(mean.y + deviation), *(mean.y - deviation)[::-1]]
    np.testing.assert_allclose(sorted(band.y), sorted(outline))
    np.testing.assert_array_equal(figure.data[-1].x, [5.0, 5.5, 6.0, 6.5])
    assert figure.layout.xaxis3.title.text == "time [s]"
    assert figure.layout.yaxis2.matches == "y" and figure.layout.yaxis3.matches is None
    constant = [v for trace in figure.data[-5:] if trace.yaxis == "y3" for v in trace.y]
    assert len({float(v) for v in constant}) == 1


def test_aligned_series_have_lines_between_paired_steps():
    a, b = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.0, 2.0])
    path = np.array([[0, 0], [0, 1], [1, 1], [2, 2]])
    axis = TimeAxis(0.0, 0.5, "s", "time")
    figure = figures.aligned((a, b), path, ["a", "b"], axis, "x")
    lines = np.reshape(figure.data[0].x, (-1, 3))[:, :2]
    np.testing.assert_array_equal(lines, path / 2)
    lower = np.asarray(figure.data[2].y)
    np.testing.assert_allclose(lower - lower[0], b)
    assert list(figure.layout.yaxis.ticktext) == ["0", "2", "0", "2"]


def test_no_two_of_many_classes_look_alike():
    marks = [tuple(class_mark(j).values()) for j in range(110)]
    assert len(set(marks)) == 110
    assert len({color for color, _ in marks[:10]}) == 10


def test_the_legend_has_room_for_every_class_on_a_phone():
    few, many = (figures.class_legend(np.arange(n)) for n in (3, 20))
    assert few.layout.height == 60
    assert many.layout.height > 80
    assert many.layout.legend.maxheight == 1.0


def test_of_many_rows_the_worst_and_some_others_are_drawn():
    """As many as a browser takes, whatever they are drawn against; the band, too."""
    truth = np.linspace(0, 1, 9_000)
    rows = RegressionScores(truth, truth[::-1]).residuals()
    rows = rows.assign(row=rows.index, low=rows["predicted"] - 1, high=2.0)
    drawn = (
        figures.predicted_actual(rows, "y", "band"),
        figures.residual_quantiles(rows),
    )
    for figure in (*drawn, figures.residuals(rows, "predicted", "y")):
        assert max(len(trace.x) for trace in figure.data) == 2_000
        points = next(trace for trace in figure.data if trace.name == "rows")
        assert {*rows["row"][:1_000], rows["row"].iloc[-1]} <= {*points.customdata}


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.8, 3, 240], ["1", "10", "100"]),
        ([0, np.nan, 1, 4000], ["1", "10", "100", "1,000"]),
        ([1200, 9000], ["2,000", "5,000"]),
        ([], None),
    ],
)
def test_a_log_axis_reads_1_10_100(values, shown):
    axis = log_axis(values)
    assert axis["type"] == "log" and axis.get("ticktext") == shown
    if shown:
        assert [*axis["tickvals"]] == [float(one.replace(",", "")) for one in shown]
