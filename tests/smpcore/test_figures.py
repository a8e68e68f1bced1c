"""Windows and rasters: what is painted is what the model says."""

import numpy as np
import pytest

from smpcore import SMPClassifier, SmpcoreError, SuperSparseRegressor, load_dataset
from smpcore.figures import (
    axis_view,
    convergence,
    curve_view,
    decision_raster,
    pca_view,
    prediction_raster,
    similarity_map,
    similarity_view,
)
from smpcore.model import History


@pytest.fixture(scope="module")
def iris():
    dataset = load_dataset("iris")
    X = dataset.frame[dataset.feature_columns].to_numpy()
    return X, SMPClassifier(n_prototypes=2, lam=0.001).fit(X, dataset.y).model_


def _nodes(view, n):
    x, y = np.linspace(*view.x, n), np.linspace(*view.y, n)
    return np.column_stack([np.tile(x, n), np.repeat(y, n)])


@pytest.mark.parametrize(
    "make", [pca_view, lambda X: axis_view(X, tuple("abcd"), 0, 2)]
)
def test_the_raster_is_the_models_answer(iris, make):
    X, model = iris
    view = make(X)
    raster = decision_raster(model, view, n_nodes=25)
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
    view = pca_view(X)
    lines = decision_raster(model, view, n_nodes=5).lines
    points = np.random.default_rng(0).uniform(-2, 2, (40, 2))
    painted = points @ lines[:, :2].T + lines[:, 2]
    np.testing.assert_allclose(
        painted, model.activations(view.lift(points)), rtol=1e-4, atol=1e-5
    )


def test_projecting_what_was_lifted_gives_the_point_back(iris):
    X, _ = iris
    points = np.random.default_rng(0).uniform(-2, 2, (40, 2))
    for view in (pca_view(X), axis_view(X, tuple("abcd"), 3, 1)):
        np.testing.assert_allclose(view.project(view.lift(points)), points, atol=1e-9)


def test_every_training_row_lies_in_the_window(iris):
    X, _ = iris
    for view in (pca_view(X), axis_view(X, tuple("abcd"), 0, 1)):
        points = view.project(X)
        assert (points > [view.x[0], view.y[0]]).all()
        assert (points < [view.x[1], view.y[1]]).all()
    view = axis_view(X, tuple("abcd"), 0, 1, np.array([9.0, 9.0, 1.5, 0.25]))
    there = view.lift(np.array([[5.0, 3.0]]))
    np.testing.assert_allclose(there, [[5.0, 3.0, 1.5, 0.25]])


def test_one_feature_has_a_window_too():
    view = axis_view(np.array([[1.0], [3.0]]), ("a",), 0, 0)
    np.testing.assert_allclose(view.project(np.array([[2.0]])), [[2.0, 0.0]])
    np.testing.assert_allclose(view.lift(np.array([[2.0, 0.7]])), [[2.0]])


def test_convergence_names_phases_and_leaves_out_gaps_that_are_unknown():
    steps = np.arange(4.0)
    phases = (0.0, "relaxed"), (2.0, "rounded <b>")
    gaps = np.array([np.nan, 0.1, 0.0, 0.2])
    figure = convergence(History(steps, steps + 1, gaps, phases=phases))
    lines = figure.layout.shapes
    assert [(line.x0, line.x1) for line in lines] == [(0, 0), (2, 2)]
    texts = [note.text for note in figure.layout.annotations]
    assert texts == ["relaxed", "rounded &lt;b>"]
    assert list(figure.data[1].x) == [1.0, 3.0]


@pytest.fixture(scope="module")
def diabetes():
    dataset = load_dataset("diabetes")
    X = dataset.frame[dataset.feature_columns].to_numpy(dtype=float)
    return X, dataset.y, SuperSparseRegressor(4).fit(X, dataset.y).model_


def test_a_surface_is_what_the_model_predicts(diabetes):
    X, _, model = diabetes
    view = pca_view(X)
    surface = prediction_raster(model, view, n_nodes=20)
    assert surface.shape == (20, 20) and surface.dtype == np.float32
    values = model.predict(view.lift(_nodes(view, 20)))
    np.testing.assert_allclose(surface.ravel(), values, rtol=1e-6)


def test_a_curve_is_what_the_model_predicts_with_the_rest_standing(diabetes):
    X, y, model = diabetes
    names = tuple(f"f{j}" for j in range(X.shape[1]))
    rest = np.median(X, axis=0) + 0.5
    view = curve_view(X, y, names, 2, "progression", rest)
    assert (view.x_label, view.y_label) == ("f2", "progression")
    assert view.y[0] < y.min() and view.y[1] > y.max()
    line = np.tile(rest, (30, 1))
    line[:, 2] = np.linspace(*view.x, 30)
    curve = prediction_raster(model, view, n_nodes=30)
    np.testing.assert_allclose(curve, model.predict(line), rtol=1e-6)
    # Wherever a row stands above the line, the line's own input is meant.
    np.testing.assert_array_equal(view.lift([[28.0, 99.0]]), view.lift([[28.0, 0.0]]))


def test_a_picture_of_the_other_task_is_refused(iris, diabetes):
    X, model = iris
    with pytest.raises(SmpcoreError, match="should be a regression model"):
        prediction_raster(model, pca_view(X))
    X, _, model = diabetes
    with pytest.raises(SmpcoreError, match="should be a classifier"):
        decision_raster(model, pca_view(X))


def test_the_plane_of_linear_kernels_is_that_of_the_rows():
    """Two matrices that are products of the rows: principal components of the rows."""
    rows = np.random.default_rng(1).normal(size=(30, 4)) * [3, 2, 1, 0.1]
    rows -= rows.mean(axis=0)
    K = rows @ rows.T
    K /= K.diagonal().mean()
    view = similarity_view(np.hstack([K, 5 * K]))
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
    view = similarity_view(-apart)
    assert np.isfinite(view.axes).all() and np.isfinite(view.reading).all()
    order = view.project(-apart)[:, 0]
    assert (np.diff(order) > 0).all() or (np.diff(order) < 0).all()


def test_a_map_of_similarities_is_sorted_by_label():
    K = np.arange(9.0).reshape(3, 3)
    figure = similarity_map(K, np.array(["b", "<i>a", "b"]), np.array([4, 5, 6]))
    assert figure.data[0].z.tolist() == [[4, 3, 5], [1, 0, 2], [7, 6, 8]]
    assert figure.data[0].customdata[0][0] == "row 5 (&lt;i>a)"
