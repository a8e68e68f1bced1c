"""JavaScript, Python, MicroPython and Rust answer as the emulator, bit for bit."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import (
    CompiledInput,
    CompiledModel,
    compile_model,
    quantise,
    sample,
)
from smpcore.codegen.inputs import container_ends
from smpcore.codegen.program import LOWEST, SparseCode, WeightedInputs
from tests.smpcore.codegen.c_programs import any_integers, case, expected
from tests.smpcore.codegen.models import (
    changed,
    farthest_rows,
    groups,
    part,
    random_kernel_model,
    whole_distances,
)
from tests.smpcore.codegen.scripts import LANGUAGES, answers_of_script


@pytest.fixture(params=LANGUAGES)
def answers(tool, tmp_path, request):
    """Answers of a language, see `answers_of_script`; where it is slow, to few rows."""

    def ask(tasks):
        return answers_of_script(request.param, tasks, tool, tmp_path / request.param)

    # MicroPython in WebAssembly takes long.
    slow = request.param == "micropython" and not request.config.getoption("--all")
    ask.rows = slice(None, None, 8 if slow else 1)
    return ask


def _names(model):
    """Functions that answer a row, and how many numbers each gives."""
    if model.is_regression:
        return {"row_scores": 1, "predict": 1, "value": 1}
    classes = model.n_outputs
    found = {"row_scores": model.n_rows, "scores": classes}
    found |= dict.fromkeys(("predict", "margin", "sure"), 1)
    if model.probability:
        found |= {"probability": 1} if classes == 2 else {"probabilities": classes}
    return found


def _rows(model, n=200):
    """Test vectors, rows at random, and rows of what should never come."""
    random, vectors = np.random.default_rng(0), codegen.test_vectors(model).rows
    drawn = model.to_inputs(sample(model.source, n))
    if model.is_integer:
        corners = random.choice(container_ends(model.width), drawn.shape)
        return np.vstack([vectors, drawn, any_integers(model, n), corners])
    wild = drawn.copy()
    strange = random.choice([np.nan, np.inf, -np.inf, 1e30, -3e38, 1e-40, -1, 2], n)
    wild[np.arange(n), random.integers(0, wild.shape[1], n)] = strange
    wild *= random.choice([1.0, 100.0], (n, 1))
    return np.vstack([vectors, drawn, wild])


def _equal(found, wanted):
    """Equal numbers with equal signs; all that are none are alike."""
    wanted = np.asarray(wanted, dtype=np.float64).reshape(found.shape)
    np.testing.assert_array_equal(found, wanted)
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(wanted)[known])


def compare(answers, models):
    """Every answer to every row is that of the emulator; all the scores."""
    tasks = [(m, _rows(m)[answers.rows], _names(m)) for m in models]
    for (model, rows, _), found in zip(tasks, answers(tasks), strict=True):
        wanted = expected(case(model, rows)) | {"row_scores": model.row_scores(rows)}
        scores = wanted["scores"]
        if model.is_regression:
            wanted["predict"] = scores
            wanted["value"] = scores * float(model.step) + model.shift
        else:
            wanted["sure"] &= (scores > LOWEST).any(axis=1)
        wanted["probabilities"] = wanted.get("probability")
        for name, values in found.items():
            _equal(values, wanted[name])


@pytest.mark.parametrize("group", groups())
def test_every_model_gives_the_same_bits(answers, group):
    named = groups()[group].items()
    # Many classes are long in the emulator, and no other code.
    models = [one for name, one in named if not {"300", "256"} & {*name.split()}]
    compare(answers, models)


def _code_of_inputs(n, n_dimensions, seed):
    """The code of the inputs themselves, among prototypes that may be dependent."""
    anchors = np.random.default_rng(seed).normal(size=(n, n_dimensions))
    anchors /= np.linalg.norm(anchors, axis=1, keepdims=True)
    each, one = np.arange(n), np.ones(n)
    take = {"bias": 0 * one, "start": np.arange(n + 1), "input": each}
    take = WeightedInputs(**take, level=0 * each - 1, weight=one)
    parts = {"size": 6, "gram": anchors @ anchors.T, "votes": np.eye(2)[each % 2]}
    code = SparseCode(**parts, fallback=1, unrepresented=0.25)
    inputs = (CompiledInput(k, f"x{k}", f"x{k}", "number", -2.0, 2.0) for k in each)
    answer = {"prototype_labels": [0, 1], "classes": ("a", "b"), "fallback": 1}
    return CompiledModel(operations=(take, code), inputs=tuple(inputs), **answer)


def test_any_search_for_a_code_gives_the_same_bits(answers):
    """Dependent prototypes, several that drop out at once, similarities of 0."""
    models = [_code_of_inputs(8, d, seed) for d in (3, 5, 8) for seed in range(3)]
    random = np.random.default_rng(0)
    rows = np.vstack([random.normal(size=(300, 8)), random.integers(-1, 2, (100, 8))])
    rows = rows[answers.rows]
    tasks = [(model, rows, _names(model)) for model in models]
    for (model, *_), found in zip(tasks, answers(tasks), strict=True):
        _equal(found["row_scores"], model.row_scores(rows))


def test_distances_above_31_bits_are_exact(answers):
    quant = quantise(compile_model(random_kernel_model("rbf", 40)), 16)
    rows = farthest_rows(quant)
    assert whole_distances(quant, rows).max() > 2**31
    (found,) = answers([(quant, rows, _names(quant))])
    _equal(found["row_scores"], quant.row_scores(rows))


def test_ties_band_and_fallback_are_those_of_the_emulator(answers, random_model):
    base = compile_model(random_model(3, density=1.0))
    # Steps that float32 adds without rounding: many scores are equal.
    coarse = {"weight": np.round(part(base, "weight") * 4) / 4}
    coarse |= {"bias": np.zeros(base.n_rows), "band": 0.5}
    coarse["inputs"] = tuple(replace(entry, offset=0.0) for entry in base.inputs)
    rows = np.random.default_rng(0).integers(-9, 9, (600, 3)) / 4.0
    rows[:60] = np.where(rows[:60] > 0, np.inf, -np.inf)
    rows[60:70] = np.nan
    tasks = []
    for tie, fallback in product((0.0, 0.25), (0, 2)):
        model = changed(base, tie=tie, fallback=fallback, **coarse)
        tasks.append((model, rows, _names(model)))
        if not fallback:
            quant = quantise(model, 8)
            tasks.append((quant, quant.quantise(rows), _names(quant)))
    moved = silent = 0
    for (model, given, _), found in zip(tasks, answers(tasks), strict=True):
        scores = model.scores(given)
        _equal(found["scores"], scores)
        _equal(found["predict"], model.winners(given))
        moved += (model.winners(given) != scores.argmax(axis=1)).sum()
        silent += (scores == LOWEST).all(axis=1).sum()
        assert 50 < found["sure"].sum() < len(given) - 50
    assert moved > 50 and silent >= 10


def test_quantise_gives_the_same_integers(answers, mixed, mixed_model):
    raw = np.vstack([mixed_model.rows(mixed[0].frame), sample(mixed_model, 300)])
    random = np.random.default_rng(0)
    strange = [np.nan, np.inf, -np.inf, 1e30, -1, 1.5, 99, 2005.5, -0.0]
    n, at = raw.shape[1], random.integers(0, raw.shape[1], len(raw))
    raw[np.arange(len(raw)), at] = random.choice(strange, len(raw))
    for model in (quantise(mixed_model, width) for width in (8, 16)):
        whole = model.quantise(raw)
        (found,) = answers([(model, raw, {"quantise": n})])
        _equal(found["quantise"], whole)
        (ends,) = answers([(model, whole, {"saturated": 1})])
        _equal(ends["saturated"], model.saturated(whole))
        assert 0 < ends["saturated"].sum() < ends["saturated"].size
