"""One contract for every method of the registry."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import smpcore
from smpcore import (
    METHODS,
    PrototypeModel,
    SmpcoreError,
    compile_model,
    load_dataset,
    prepare,
    split,
)
from smpcore.codegen import agreement
from smpcore.errors import ExportError
from smpcore.methods import solve_path
from smpcore.methods.shared.base import PrototypeEstimator
from smpcore.parameters import Param
from smpcore.readouts import READOUTS

#: A data set of each task.
DATA = {"classification": "iris", "regression": "diabetes"}
PAIRS = [(method, task) for method in METHODS.values() for task in method.estimators]


@cache
def rows_of(task):
    """Training rows."""
    dataset = load_dataset(DATA[task])
    division = split(dataset)
    X = prepare(dataset, division.train).transform(dataset.frame)
    return X[division.train], dataset.y[division.train]


@pytest.fixture(params=PAIRS, ids=lambda pair: f"{pair[0].key}-{pair[1]}")
def pair(request):
    return request.param


@pytest.fixture
def method(pair):
    return pair[0]


@pytest.fixture
def task(pair):
    return pair[1]


@pytest.fixture
def rows(task):
    return rows_of(task)


def _settings(method, problem):
    defaults = method.defaults(problem.task)
    yield defaults
    for param in method.controls(problem.task):
        if param.scale == "flag":
            ends = [True, False]
        elif param.scale == "choice":
            ends = [value for value, _ in param.options]
            ends = [value for value in ends if value not in param.series_options]
        elif param.scale in ("class", "lists"):
            ends = [None]
        else:
            ends = method.bounds(problem, defaults)[param.name]
        for value in ends:
            yield {**defaults, param.name: param.clean(value)}


def test_every_control_fits_at_both_ends(method, task, rows):
    estimator = method.estimator(method.defaults(task), task)
    problem = estimator.problem(*rows)
    assert problem.task == task
    for values in _settings(method, problem):
        model = method.estimator(values, task).fit(*rows).model_
        assert np.isfinite(model.scores(rows[0])).all(), values
        back = PrototypeModel.from_json(model.to_json())
        np.testing.assert_array_equal(back.scores(rows[0]), model.scores(rows[0]))
        assert json.loads(back.to_json()) == json.loads(model.to_json())
        try:
            compiled = compile_model(model)
        except ExportError as error:
            assert "it always answers" in str(error) and "supported" in str(error)
        else:
            assert agreement(compiled, model, rows[0]).n_broken == 0


def test_bounds_are_ranges_within_the_widest(method, task, rows):
    values = method.defaults(task)
    problem = method.estimator(values, task).problem(*rows)
    params = {param.name: param for param in method.controls(task)}
    for name, (low, high) in method.bounds(problem, values).items():
        param = params[name]
        assert param.low <= low < high <= param.high, name
        assert param.scale != "log" or low > 0


def test_every_estimator_keeps_the_whole_contract(method, task, rows):
    """What `base` of the methods promises, and nothing that is only half there."""
    estimator = method.estimator(method.defaults(task), task)
    params, problem = estimator.get_params(), estimator.problem(*rows)
    assert isinstance(estimator, PrototypeEstimator)
    assert {*estimator.problem_params, *estimator.bounds(problem)} <= params.keys()
    assert {*estimator.allowed} <= params.keys()
    assert estimator.certificate and estimator.removal_reason
    progress = np.zeros(1)
    fitted = estimator.solve(problem, progress=progress)
    assert fitted is estimator and progress == 1.0
    model, n_rows = fitted.model_, len(rows[0])
    assert fitted.history_ is model.history
    assert fitted.n_iter_ == model.history.n_iter
    assert fitted.n_features_in_ == model.n_features
    assert fitted.objective_ == model.history.objective[-1]
    np.testing.assert_equal(fitted.gap_, model.history.gap[-1])
    assert fitted.assignment_.shape == (n_rows,)
    assert 0 <= fitted.assignment_.min()
    assert fitted.assignment_.max() < len(fitted.merged_) <= fitted.n_asked_
    kept = fitted.merged_[fitted.merged_ >= 0]
    np.testing.assert_array_equal(np.unique(kept), np.arange(model.n_prototypes))
    shapes = {
        "wins_": (model.n_prototypes,),
        "anchor_rows_": (len(model.anchors),),
        "start_": (len(fitted.merged_), model.n_features),
        "off_data_": (model.n_prototypes,),
    }
    for name, shape in shapes.items():
        value = getattr(fitted, name)
        assert value is None or value.shape == shape, name
    given = [name for name, value in params.items() if value is not None]
    assert not {*fitted.automatic_} & {*given} and {*fitted.automatic_} <= {*params}
    for key, (value, explanation) in fitted.measures_.items():
        assert key in READOUTS and value and explanation
    assert isinstance(fitted.state_, fitted.state_class)
    assert fitted.state_.fits(problem)


def test_a_start_that_does_not_fit_is_ignored(method, task, rows):
    estimator = method.estimator(method.defaults(task), task)
    problem = estimator.problem(*rows)
    cold = estimator.solve(problem).model_
    other = estimator.solve(problem, state="the state of something else").model_
    np.testing.assert_array_equal(cold.anchors, other.anchors)
    np.testing.assert_array_equal(cold.bias, other.bias)


def test_a_fit_that_is_stopped_says_so(method, task, rows):
    estimator = method.estimator(method.defaults(task), task)
    estimator.solve(estimator.problem(*rows), stop=np.ones(1, dtype=np.int64))
    assert estimator.history_.status_text == "stopped"


def test_a_fit_that_is_cut_short_says_so(method, task, rows):
    cut = method.estimator(method.defaults(task), task)
    words = r"max_iter=\d+ was reached|max_iter=\d+ sweeps|limit of \d+ steps"
    with pytest.warns(ConvergenceWarning, match=words):
        cut.set_params(max_iter=2, tol=1e-9).fit(*rows)
    assert cut.history_.status_text == "iteration limit reached"


def test_a_path_solves_every_point_of_its_grid(method, task, rows):
    values = method.defaults(task)
    problem = method.estimator(values, task).problem(*rows)
    if method.path is None:
        pytest.skip("nothing is scrubbed")
    grid = method.grid(method.bounds(problem, values)[method.path])
    assert 2 <= len(grid) <= 51
    assert (np.diff(grid) > 0).all()
    solved = dict(solve_path(method, problem, values, grid[::-10]))
    for value, estimator in solved.items():
        here = {**values, method.path: value}
        fresh = method.estimator(here, task, preview=True).fit(*rows)
        if np.isfinite(fresh.gap_):
            assert estimator.objective_ == pytest.approx(fresh.objective_, rel=5e-3)
        else:  # not convex: along the path it may get better, and hardly worse
            assert estimator.objective_ <= 1.05 * fresh.objective_


def test_a_control_has_one_name_in_a_task_and_the_estimator_has_it(method, task):
    names = [param.name for param in method.controls(task)]
    assert len(set(names)) == len(names)
    assert set(names) <= set(method.estimators[task]().get_params())
    assert method.path is None or method.path in names
    assert method.sparsity in names


def test_every_control_belongs_to_a_task_of_its_method():
    for method in METHODS.values():
        for param in method.params:
            assert set(param.tasks) & set(method.estimators), param.name


#: Prints where a copy of the library finds what belongs to its last method.
LAST_METHOD = """
from smpcore import METHODS
from smpcore.papers import PRINTED
method = [*METHODS.values()][-1]
print(method.key, method.estimators["classification"].__module__, method.story == "-")
print(PRINTED[method.key].__module__)
"""


def test_a_folder_is_all_that_a_method_needs(tmp_path):
    """The registry finds it; everything else asks the registry."""
    copy = tmp_path / "smpcore"
    shutil.copytree(Path(smpcore.__file__).parent, copy)
    added = copy / "methods" / "another"
    shutil.copytree(copy / "methods" / "smp", added)
    for path in added.glob("*.py"):
        text = path.read_text("utf-8").replace("methods.smp", "methods.another")
        path.write_text(text.replace('key="smp"', 'key="another"'), "utf-8")
    (added / "story.md").write_text("-")
    done = subprocess.run(
        [sys.executable, "-c", LAST_METHOD],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    folder = "smpcore.methods.another"
    expected = f"another {folder}.estimator True\n{folder}.paper_algorithm\n"
    assert done.stdout == expected


def test_story_and_texts_are_there(method):
    assert len(method.story.splitlines()) > 15
    for param in method.params:
        assert param.label and (param.help or param.scale == "flag")


@pytest.mark.filterwarnings("ignore")
def test_choices_that_are_shown_together_can_be_fitted(method, task):
    X, y = (rows[::5] for rows in rows_of(task))
    choices = [param for param in method.controls(task) if param.scale == "choice"]
    for pair in combinations(choices, 2):
        for options in product(*(param.options for param in pair)):
            values = method.defaults(task)
            values |= {p.name: v for p, (v, _) in zip(pair, options, strict=True)}
            shown = all(p.shown_if is None or p.shown_if(values) for p in pair)
            if shown and not any(values[p.name] in p.series_options for p in pair):
                method.estimator(values, task).set_params(max_iter=3).fit(X, y)


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


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_terms_of_a_method_name_its_controls(method):
    assert 2 <= len(method.terms) <= 5
    symbols = {param.name: param.label.rstrip(")")[-1] for param in method.params}
    for term in method.terms:
        for name in term.params:
            symbol = symbols[name]
            # κ weighs its term by way of ρ, which is calibrated from it.
            assert symbol in term.formula or symbol == "κ", (term, name)
    named = {name for term in method.terms for name in term.params}
    usual = [param for param in method.params if not param.advanced]
    greek = {param.name for param in usual if "α" <= symbols[param.name] <= "ω"}
    assert greek == {p.name for p in usual if re.search(r"\([α-ω]\)$", p.label)}
    # γ belongs to the similarity, which is no term.
    assert greek - named <= {"gamma"}, method.key


@pytest.mark.parametrize("task", DATA)
def test_another_seed_restarts_the_fit_on_the_same_rows(task):
    for method in METHODS.values():
        if task not in method.estimators:
            continue
        values = method.defaults(task)
        if "start" in values:  # the best of several is often none of the random ones
            values["start"] = "kmeans"
        differ = set()
        for seed in range(8):
            end = method.estimator(values | {"random_state": seed}, task)
            differ.add(f"{end.fit(*rows_of(task)).objective_:.9g}")  # beyond rounding
        has_seed = any(p.name == "random_state" for p in method.controls(task))
        assert (len(differ) > 1) == has_seed, method.key


@pytest.mark.parametrize(
    ("key", "values"),
    [("smp", {"mu": 0.0, "lam": 0.0}), ("smallk", {"lam": 1e-6, "k": 1})],
)
@pytest.mark.filterwarnings("ignore")
def test_no_gap_is_larger_than_an_objective_that_cannot_be_below_zero(key, values):
    X, y = rows_of("classification")
    fitted = METHODS[key].estimators["classification"](**values).fit(X, y == "setosa")
    history = fitted.history_
    assert (history.gap <= history.objective * (1 + 1e-12)).all()
