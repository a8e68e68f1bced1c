"""Portraits of prototypes as figures."""

import numpy as np
import pytest

from smpcore import figures
from smpcore.model.portraits import as_image

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
    assert "<img" not in figure.to_json().replace("\\u003c", "<")


def test_a_density_has_area_one():
    rng = np.random.default_rng(0)
    values, codes = rng.normal(size=300), rng.integers(0, 2, 300)
    figure = figures.densities(values, codes, np.array([NASTY, "b"]), "x", [(9.0, "m")])
    for line in figure.data:
        assert np.trapezoid(line.y, line.x) == pytest.approx(1.0, abs=0.02)
    assert figure.data[0].x.max() > 9.0
    same = figures.densities(np.ones(5), np.zeros(5, int), np.array(["a"]), "x")
    assert np.isfinite(same.data[0].y).all()


def test_channels_and_embeddings_draw_every_row():
    rows = np.arange(24.0).reshape(2, 12)
    names = ["x", NASTY, "z"]
    figure = figures.channels(rows, (3, 4), ["a", NASTY], names)
    assert len(figure.data) == 6
    assert figure.layout.annotations[2].text == "z"
    assert "<img" not in figure.to_json().replace("\\u003c", "<")
    np.testing.assert_array_equal(figure.data[5].y, rows[1, 8:])
    points = np.arange(10.0).reshape(5, 2)
    codes, classes = np.array([0, 1, 0, 1, 1]), np.array(["a", "b"])
    figure = figures.embeddings(points, -points, codes, classes)
    assert sum(len(trace.x) for trace in figure.data) == 10
