"""ONNX files answer as the model does: onnxruntime against float64 and the emulator."""

import json
import sys
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import compile_model, error_bound, model_id, quantise, sample
from smpcore.codegen.program import LOWEST, SIMILARITIES
from smpcore.codegen.targets.onnx.source import emit_onnx
from smpcore.errors import ExportError
from tests.smpcore.codegen.models import (
    changed,
    coded_model,
    far_from_0,
    groups,
    new_similarity,
    one_value,
    part,
    random_kernel_model,
)
from tests.smpcore.codegen.toolchain import bundle, run, unpack

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def _answers(compiled, rows):
    """What onnxruntime answers, by the name of the output."""
    session = runtime.InferenceSession(emit_onnx(compiled))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"input": np.float32(rows)}), strict=True))


def _agree(compiled, rows):
    """Scores within the bounds, and the rules of the answer on every row."""
    rows = np.float32(rows).astype(np.float64)
    found, bound = _answers(compiled, rows), error_bound(compiled, rows)
    scores = found["value"][:, None] if compiled.is_regression else found["scores"]
    off = np.abs(scores.astype(np.float64) - compiled.scores(rows))
    assert (off <= 2 * bound).all()
    if not compiled.is_regression:
        np.testing.assert_array_equal(found["index"], compiled.decide(scores))
        labels = np.array(compiled.classes)[found["index"]]
        np.testing.assert_array_equal(found["label"], labels)
    return scores


@pytest.mark.parametrize("density", [1.0, 0.4])
@pytest.mark.parametrize("kind", ["linear", *SIMILARITIES])
def test_every_similarity_is_within_the_bound(random_model, kind, density):
    make = random_model if kind == "linear" else partial(random_kernel_model, kind)
    make = partial(make, density=density)
    for model in (make(), make(seed=1), one_value(make, 6)):
        random, compiled = np.random.default_rng(0), compile_model(model)
        X = random.uniform(model.low, model.high, (2000, model.n_features))
        X = np.float32(X).astype(np.float64)
        rows = compiled.rows(X)
        off = np.abs(_agree(compiled, rows) - model.scores(X))
        assert (off <= error_bound(compiled, rows)).all()


def test_a_step_and_an_end_may_be_new_together(monkeypatch):
    new_similarity(monkeypatch, "cosine")
    compiled = compile_model(random_kernel_model("cosine"))
    _agree(compiled, sample(compiled, 500))


def test_missing_values_categories_and_offsets_count(mixed, mixed_model):
    rows = mixed_model.rows(mixed[0].frame)
    assert np.isnan(rows).any() and (rows == -1).any()
    assert any(entry.offset for entry in mixed_model.inputs)
    _agree(mixed_model, rows)
    drawn = sample(mixed_model, 500)
    for place, entry in enumerate(mixed_model.inputs):
        drawn[place::7, place] = -1 if entry.levels else np.nan
        drawn[place::9, place] = 99
    _agree(mixed_model, drawn)


@pytest.mark.parametrize("density", [1.0, 0.5])
def test_ties_and_the_fallback_are_as_in_the_emulator(random_model, density):
    base = compile_model(random_model(3, density=density))
    # Steps of 2^-10 that float32 adds without rounding: both sides are equal.
    coarse = {n: np.round(part(base, n) * 4) / 4 for n in ("bias", "weight")}
    coarse["inputs"] = tuple(replace(entry, offset=0.0) for entry in base.inputs)
    rows = np.random.default_rng(0).integers(-9, 9, (3000, 3)) / 4.0
    rows[::11, 0], rows[::13, 1], rows[::17, 2] = np.inf, -np.inf, np.nan
    rows[:6] = np.where(rows[:6] > 0, np.inf, -np.inf)
    rows[6:9] = np.nan
    silent = 0
    for fallback, tie in product((0, 2), (0.0, 0.25)):
        compiled = changed(base, **coarse, tie=tie, fallback=fallback)
        found, scores = _answers(compiled, rows), compiled.scores(rows)
        np.testing.assert_array_equal(found["scores"], scores)
        np.testing.assert_array_equal(found["index"], compiled.winners(rows))
        silent += (scores == LOWEST).all(axis=1).sum()
        top = np.sort(scores[np.isfinite(scores).all(axis=1)], axis=1)
        near = np.float32(top[:, -1]) - top[:, -2] <= tie
        assert near.sum() > 10
    assert silent > 20 or density < 1


@pytest.mark.parametrize("kind", SIMILARITIES)
def test_what_is_no_number_is_none_in_both(kind):
    compiled = compile_model(random_kernel_model(kind, density=0.5))
    compiled = replace(compiled, fallback=1)
    rows = sample(compiled, 200)
    rows[::5, 0], rows[1::5, 1], rows[2::5, 2] = np.nan, np.inf, 1e30
    found = _answers(compiled, rows)
    np.testing.assert_array_equal(found["index"], compiled.winners(rows))
    spoken = compiled.scores(rows) > LOWEST
    np.testing.assert_array_equal(found["scores"] > LOWEST, spoken)


def test_labels_have_the_type_of_the_classes(random_model):
    whole = compile_model(random_model(classes=np.array([3, 5, -7])))
    found = _answers(whole, sample(whole, 50))
    assert found["label"].dtype == np.int64 and set(found["label"]) <= {3, 5, -7}
    texts = compile_model(random_model(classes=np.array(["ä", '"', "‮\ud800"])))
    found = _answers(texts, sample(texts, 50))
    assert set(found["label"]) <= {"ä", '"', "‮?"}


def test_the_file_has_core_operators_only_and_says_what_it_is(mixed_model):
    others = (compile_model(random_kernel_model(kind)) for kind in SIMILARITIES)
    for model in (mixed_model, *others):
        number = model_id(model)
        content = emit_onnx(model, "abc", number)
        assert content == emit_onnx(model, "abc", number)
        file = onnx.load_model_from_string(content)
        onnx.checker.check_model(file, full_check=True)
        assert [one.domain for one in file.opset_import] == [""]
        assert {node.domain for node in file.graph.node} == {""}
        told = {entry.key: entry.value for entry in file.metadata_props}
        assert (told["name"], told["id"], told["format"]) == ("abc", number, "2")
        names = [entry["name"] for entry in json.loads(told["inputs"])]
        assert names == [entry.name for entry in model.inputs]


def test_the_library_may_be_missing(mixed_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ExportError, match="pip install onnx"):
        emit_onnx(mixed_model)


def test_integers_of_linear_models_are_exact():
    """Of 10,000 rows each, with and without levels, ties and missing values."""
    every = (one for of_group in groups().values() for one in of_group.values())
    models = [one for one in every if one.is_integer and _is_linear(one)]
    assert {model.is_regression for model in models} == {False, True}
    assert not all(one.is_number for model in models for one in model.inputs)
    for model in models:
        rows = np.float32(sample(model.source, 10_000)).astype(np.float64)
        rows[:2] = [[np.nan], [1e9]]
        found, scores = _answers(model, rows), model.scores(model.quantise(rows))
        wanted = {"scores": scores, "index": model.decide(scores)}
        if model.is_regression:
            value = np.float32(scores[:, 0]) * np.float32(model.step)
            wanted = {"value": value + np.float32(model.shift)}
        for name, values in wanted.items():
            np.testing.assert_array_equal(found[name], values)


def test_the_example_of_integers_passes_where_floats_are_coarse(random_model, tmp_path):
    """Far from 0 32-bit floats pass over integers: no test vector is such a one."""
    far = far_from_0(random_model(4, 2, 1, 1.0), 5e5)
    model = quantise(compile_model(far), 8)
    unpack(bundle(model, codegen.test_vectors(model), target="onnx"), tmp_path)
    assert b" 0 of 32 differ" in run(sys.executable, "mdl_example.py", cwd=tmp_path)


def test_codes_and_other_integers_are_refused():
    with pytest.raises(ExportError, match=r"sparse code .* export it as C"):
        emit_onnx(compile_model(coded_model()))
    with pytest.raises(ExportError, match="linear models only"):
        emit_onnx(groups()["calibrated"]["kernel int8, sigmoid"])


def _is_linear(model):
    return len(model.operations) == 1 and model.largest < 2**24


def test_probabilities_are_those_of_the_table_at_the_scores():
    for name, model in groups()["calibrated"].items():
        if name.startswith("code") or (model.is_integer and not _is_linear(model)):
            continue
        rows = sample(model.source, 10_000)
        rows[:3] = [[np.nan], [np.inf], [-np.inf]]
        found = _answers(model, rows)
        kind = model.probability.kind
        assert kind == ("probabilities" if "softmax" in name else "probability")
        expected = model.probability.of_scores(found["scores"]) / 32768
        np.testing.assert_array_equal(found[kind], np.float32(expected), name)
        assert np.ptp(found[kind]) > 0.3, name


def test_the_width_of_an_interval_is_in_the_file(random_model):
    model = replace(compile_model(one_value(random_model, 6)), half_width=0.25)
    file = onnx.load_from_string(emit_onnx(model))
    told = {entry.key: entry.value for entry in file.metadata_props}
    assert told["HALF_WIDTH_90"] == "0.25"
