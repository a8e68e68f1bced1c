"""One contract for every method of the registry."""

import json
from pathlib import Path

import numpy as np
import pytest

from smpcore import (
    METHODS,
    ExportError,
    Param,
    PrototypeModel,
    SmpcoreError,
    compile_model,
    load_dataset,
    prepare,
    solve_path,
    split,
)

STORIES = Path(__file__).parents[1] / "assets" / "methods"


@pytest.fixture(scope="module")
def rows():
    dataset = load_dataset("iris")
    division = split(dataset)
    X = prepare(dataset, division.train).transform(dataset.frame)
    return X[division.train], dataset.y[division.train]


@pytest.fixture(params=METHODS.values(), ids=METHODS)
def method(request):
    return request.param


def _settings(method, problem):
    defaults = method.defaults()
    yield defaults
    for param in method.params:
        if param.scale == "flag":
            ends = [True, False]
        elif param.scale == "choice":
            ends = [value for value, _ in param.options]
        elif param.scale == "class":
            ends = [None]
        else:
            ends = method.bounds(problem, defaults)[param.name]
        for value in ends:
            yield {**defaults, param.name: param.clean(value)}


def test_every_control_fits_at_both_ends(method, rows):
    estimator = method.estimator(method.defaults())
    problem = estimator.problem(*rows)
    for values in _settings(method, problem):
        model = method.estimator(values).fit(*rows).model_
        assert np.isfinite(model.scores(rows[0])).all(), values
        back = PrototypeModel.from_json(model.to_json())
        np.testing.assert_array_equal(back.scores(rows[0]), model.scores(rows[0]))
        assert json.loads(back.to_json()) == json.loads(model.to_json())
        try:
            compile_model(model)
        except ExportError as error:
            assert "supported" in str(error)


def test_bounds_are_ranges_within_the_widest(method, rows):
    values = method.defaults()
    problem = method.estimator(values).problem(*rows)
    for name, (low, high) in method.bounds(problem, values).items():
        param = method.param(name)
        assert param.low <= low < high <= param.high, name
        assert param.scale != "log" or low > 0


def test_twice_the_same(method, rows):
    first, second = (method.estimator(method.defaults()).fit(*rows) for _ in "ab")
    np.testing.assert_array_equal(first.model_.anchors, second.model_.anchors)
    np.testing.assert_array_equal(first.model_.bias, second.model_.bias)


def test_a_path_solves_every_knot(method, rows):
    values = method.defaults()
    problem = method.estimator(values).problem(*rows)
    if method.path is None:
        pytest.skip("nothing is scrubbed")
    knots = method.knots(method.bounds(problem, values)[method.path])
    assert 2 <= len(knots) <= 51
    assert (np.diff(knots) > 0).all()
    solved = dict(solve_path(method, problem, values, knots[::-10]))
    for value, estimator in solved.items():
        here = {**values, method.path: value}
        fresh = method.estimator(here, preview=True).fit(*rows)
        if np.isfinite(fresh.gap_):
            assert estimator.objective_ == pytest.approx(fresh.objective_, rel=5e-3)
        else:  # not convex: along the path it may get better, and hardly worse
            assert estimator.objective_ <= 1.05 * fresh.objective_


def test_story_and_texts_are_there(method):
    story = (STORIES / f"{method.key}.md").read_text("utf-8")
    assert len(story.splitlines()) > 15
    for param in method.params:
        assert param.label and (param.help or param.scale == "flag")


@pytest.mark.parametrize(
    ("param", "value", "words"),
    [
        (Param("lam", "λ", "log", 1e-4, 1.0), "nan", "lam should be a number from"),
        (Param("lam", "λ", "log", 1e-4, 1.0), "<script>", "lam should be a number"),
        (Param("loss", "L", "choice", options=(("a", "A"),)), "b", "one of: a"),
        (Param("bias", "b", "flag"), "perhaps", "bias should be true or false"),
    ],
)
def test_hostile_values_are_refused_in_words(param, value, words):
    with pytest.raises(SmpcoreError, match=words):
        param.clean(value)


def test_numbers_out_of_range_are_clipped():
    param = Param("lam", "λ", "log", 1e-4, 1.0, zero=True)
    assert param.clean("1e99") == 1.0
    assert param.clean("-3") == 0.0
    assert Param("p", "p", "int", 1, 6).clean("2.6") == 3
