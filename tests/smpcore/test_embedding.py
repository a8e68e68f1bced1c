"""The map: what is painted at a place is the model's answer to an input of its own."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from smpcore import SMPClassifier, SmpcoreError, load_dataset
from smpcore.figures import decision_raster, lay_out, map_view, move_to_answers


@pytest.fixture(scope="module")
def wine():
    dataset = load_dataset("wine")
    X = dataset.frame[dataset.feature_columns].to_numpy(float)
    rows, others = X[::2], X[1::2]
    return rows, others, dataset.y[::2], *lay_out(rows, others)


def test_the_same_rows_have_the_same_map(wine):
    rows, others, _, places, _ = wine
    np.testing.assert_array_equal(places, lay_out(rows, others)[0])
    alone, _ = lay_out(rows, others[:0])
    np.testing.assert_allclose(places[: len(rows)], alone, atol=1e-3)
    assert places[: len(rows)].min() == 0
    assert np.ptp(places[: len(rows)], axis=0).max() == pytest.approx(100, rel=1e-5)


def test_rows_whose_place_shows_another_class_move_and_no_other_does(wine):
    rows, others, y, places, smoothing = wine
    sure = np.eye(3)[np.unique(y, return_inverse=True)[1]]
    turned = sure.copy()
    turned[[0, 40]] = sure[[40, 0]]  # as a model that takes these two for the other's
    scores = np.vstack([turned, turned[:1].repeat(len(others), axis=0)])
    nearest = np.linalg.norm(places[len(rows) :, None] - places[: len(rows)], axis=2)
    scores[len(rows) :] = sure[nearest.argmin(axis=1)]
    moved = move_to_answers(places, smoothing, rows, others, None, scores)
    # Each lies among rows of the class that it is taken for, and beside one of them.
    distance = np.linalg.norm(moved[:, None] - places[: len(rows)], axis=2)
    distance[[0, 40], [0, 40]] = np.inf
    for row, other in ((0, 40), (40, 0)):
        five = distance[row].argsort()[:5]
        assert (sure[five] == sure[other]).all()
        assert distance[row].min() < 1.01
    stayed = (moved == places).all(axis=1)
    assert not stayed[[0, 40]].any() and stayed[: len(rows)].mean() > 0.9


def test_rows_of_a_class_that_it_never_saw_lie_together(wine):
    rows, _, y, places, _ = wine
    at = places[: len(rows)]
    distance = np.linalg.norm(at[:, None] - at, axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (y[distance.argmin(axis=1)] == y).mean() > 0.9


def test_the_picture_is_the_models_answer(wine):
    rows, others, y, *layout = wine
    view = map_view(rows, others, *layout)
    model = SMPClassifier().fit(rows, y).model_
    raster = decision_raster(model, view, 40)
    x, up = np.linspace(*view.x, 40), np.linspace(*view.y, 40)
    points = np.column_stack([np.tile(x, 40), np.repeat(up, 40)])
    answers = model.predict(view.lift(points))
    np.testing.assert_array_equal(model.classes[raster.winner.ravel()], answers)
    # The surface goes through the rows: it is the same model that answers there.
    there = model.predict(view.lift(view.project(rows)))
    assert (there == model.predict(rows)).mean() > 0.95


def test_rows_lie_where_they_were_placed_and_others_where_inputs_are_alike(wine):
    rows, others, _, places, smoothing = wine
    view = map_view(rows, others, places, smoothing)
    given = np.vstack([rows, others])
    np.testing.assert_array_equal(view.project(given), places)
    mixed = (rows[:5] + rows[5:10]) / 2
    nodes = view.nodes(view.most_nodes)
    gap = (mixed[:, None] - nodes) / rows.std(axis=0)
    nearest = nodes[(gap**2).sum(axis=2).argmin(axis=1)]
    np.testing.assert_allclose(view.lift(view.project(mixed)), nearest, atol=1e-6)
    together = view.project(np.vstack([mixed[:1], rows[:1]]))
    np.testing.assert_array_equal(together[1], places[0])


def test_an_answer_has_the_place_with_the_nearest_input(wine):
    rows, others, y, *layout = wine
    view = map_view(rows, others, *layout)
    model = SMPClassifier().fit(rows, y).model_
    x = np.linspace(*view.x, 100), np.linspace(*view.y, 100)
    points = np.array([(across, up) for up in x[1] for across in x[0]])
    near = view.far(100).ravel() == 0
    for row in others[:5]:
        place = view.place_answered(model, row)
        same = points[near & (model.predict(view.lift(points)) == model.predict([row]))]
        gaps = np.linalg.norm((view.lift(same) - row) / rows.std(axis=0), axis=1)
        np.testing.assert_allclose(place, same[gaps.argmin()])
    # A far input alone has another answer: there is no such place.
    only = SimpleNamespace(predict=lambda X: np.max(X, axis=1) > 1e6)
    assert view.place_answered(only, np.full(rows.shape[1], 1e9)) is None


def test_what_stands_for_a_row_that_is_left_out_does_not_know_the_row(wine):
    rows, others, _, places, smoothing = wine

    def left_out(view, X):
        return view.left_out(X, view.lift(view.project(X)))

    before = left_out(map_view(rows, others, places, smoothing), rows)[7]
    changed = rows.copy()
    changed[7] = rows.mean(axis=0) + rows.std(axis=0)
    # Units follow from all rows; here they stay what they were.
    changed[8] = rows[8] + rows[7] - changed[7]
    view = map_view(changed, others, places, smoothing)
    assert not np.allclose(view.lift(places[7:8].astype(float)), before)
    assert (
        np.abs(left_out(view, changed)[7] - before).max()
        < np.abs(changed[7] - rows[7]).max()
    )
    unknown = rows[:1] + 0.01
    np.testing.assert_array_equal(
        left_out(view, unknown), view.lift(view.project(unknown))
    )


def test_the_smoothing_misses_left_out_rows_least(wine):
    """A sheet wants a surface close to its rows, noise one through their middle."""
    rng = np.random.default_rng(0)
    along, across = rng.uniform(size=(2, 200))
    sheet = np.column_stack([np.cos(3 * along), np.sin(3 * along), across, along])
    noise = rng.normal(size=(200, 12))
    chosen = {}
    for name, rows in (("sheet", sheet), ("noise", noise), ("wine", wine[0])):
        places, chosen[name] = lay_out(rows, rows[:0])
        units = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        errors = {}
        for smoothing in (1.0, 10.0, 100.0):
            missed = []
            for out in np.array_split(rng.permutation(len(rows)), 5):
                known = np.setdiff1d(np.arange(len(rows)), out)
                surface = RBFInterpolator(
                    places[known], units[known], neighbors=50, smoothing=smoothing
                )
                missed.append(((surface(places[out]) - units[out]) ** 2).mean())
            errors[smoothing] = np.mean(missed)
        assert errors[chosen[name]] < 1.25 * min(errors.values())
    assert chosen["sheet"] < chosen["noise"]


def test_inputs_stay_within_the_range_of_the_rows(wine):
    rows, others, _, *layout = wine
    nodes = map_view(rows, others, *layout).nodes(30)
    assert (nodes >= rows.min(axis=0)).all() and (nodes <= rows.max(axis=0)).all()


def test_it_says_where_there_are_no_data(wine):
    rows, others, _, places, smoothing = wine
    view = map_view(rows, others, places, smoothing)
    far = view.far(50)
    assert 0.05 < far.mean() < 0.9 and far[0, 0]
    step = (
        (places[: len(rows)] - [view.x[0], view.y[0]])
        / [np.ptp(view.x), np.ptp(view.y)]
        * 49
    )
    at = np.rint(step).astype(int)
    assert not far[at[:, 1], at[:, 0]].any()


def test_a_constant_feature_stays_what_it_is(wine):
    rows, others, _, *layout = wine
    more = [np.column_stack([X, np.full(len(X), 3.0)]) for X in (rows, others)]
    view = map_view(*more, *layout)
    assert (view.nodes(30)[:, -1] == 3.0).all()
    np.testing.assert_allclose(
        view.nodes(30)[:, :-1], map_view(rows, others, *layout).nodes(30)
    )


def test_a_map_is_the_same_in_any_unit(wine):
    rows, others, _, *layout = wine
    tiny = map_view(rows * 1e-12, others * 1e-12, *layout).nodes(30)
    expected = map_view(rows, others, *layout).nodes(30)
    np.testing.assert_allclose(tiny * 1e12, expected, rtol=1e-6)


def test_it_can_be_ended(wine):
    rows, others, *_ = wine
    shares = []

    def report(share):
        shares.append(share)
        return len(shares) == 3

    lay_out(rows, others, report=report)
    assert shares == pytest.approx([25 / 1500, 50 / 1500, 75 / 1500])


@pytest.mark.parametrize(
    ("shape", "words"),
    [((19, 3), "20 training rows; there are 19"), ((20, 5001), "5,000 features")],
)
def test_what_has_no_map_is_refused(shape, words):
    rows = np.random.default_rng(0).normal(size=shape)
    with pytest.raises(SmpcoreError, match=words):
        lay_out(rows, rows[:0])
    line = np.column_stack([np.arange(30.0), np.arange(30.0)]).astype(np.float32)
    with pytest.raises(SmpcoreError, match="on one line"):
        map_view(
            np.random.default_rng(0).normal(size=(30, 3)), np.empty((0, 3)), line, 1
        )
