"""JavaScript answers as the emulator does: Node, every score bit for bit."""

import json
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import (
    CompiledInput,
    CompiledModel,
    SensorRange,
    compile_model,
    quantise,
    sample,
)
from smpcore.codegen.program import (
    LOWEST,
    Operation,
    SparseCode,
    WeightedInputs,
    WeightedSums,
)
from smpcore.codegen.quant_inputs import container_ends
from smpcore.codegen.similarities import SIMILARITIES
from smpcore.codegen.targets.javascript.operations import javascript_of
from smpcore.codegen.targets.javascript.source import emit_javascript
from tests.smpcore.codegen.kernel_models import coded_model, random_kernel_model
from tests.smpcore.codegen.programs import changed, farthest_rows, part, whole_distances
from tests.smpcore.codegen.test_codes import _models as coded_models
from tests.smpcore.codegen.test_regression import _one_value
from tests.smpcore.codegen.toolchain import CommandFailed, run
from tests.smpcore.codegen.zips import bundle, readme, unpack

#: Reads rows and a list of functions for each module, writes what the functions give.
_RUNNER = """
import { readFileSync, writeFileSync } from "node:fs";
const floats = (file) => {
  const { buffer, byteOffset, length } = readFileSync(file);
  return new Float64Array(buffer.slice(byteOffset, byteOffset + length));
};
for (const [place, [names, n]] of JSON.parse(readFileSync("tasks.json")).entries()) {
  const model = await import(`./${place}.mjs`);
  const numbers = floats(`${place}.rows`);
  const found = [];
  for (let k = 0; k < numbers.length; k += n) {
    const x = Array.from(numbers.slice(k, k + n));
    for (const name of names) found.push(...[model[name](x)].flat(2).map(Number));
  }
  writeFileSync(`${place}.out`, new Float64Array(found));
}
"""


@pytest.fixture
def answers(tool, tmp_path):
    """Ask one process of Node what functions of models give for rows, one by one."""

    def ask(tasks):
        (tmp_path / "runner.mjs").write_text(_RUNNER)
        for place, (model, rows, _) in enumerate(tasks):
            (tmp_path / f"{place}.mjs").write_text(emit_javascript(model))
            rows.astype(np.float64).tofile(tmp_path / f"{place}.rows")
        told = [(list(names), rows.shape[1]) for _, rows, names in tasks]
        (tmp_path / "tasks.json").write_text(json.dumps(told))
        run(tool("node"), "runner.mjs", cwd=tmp_path)
        for place, (_, rows, names) in enumerate(tasks):
            found = np.fromfile(tmp_path / f"{place}.out").reshape(len(rows), -1)
            ends = np.cumsum(list(names.values()))
            assert found.shape[1] == ends[-1]
            yield dict(zip(names, np.split(found, ends[:-1], axis=1), strict=True))

    return ask


def _names(model):
    """Functions that answer a row, and how many numbers each gives."""
    if model.is_regression:
        return {"rowScores": 1, "predict": 1, "value": 1}
    rows, classes = model.n_rows, model.n_outputs
    return {"rowScores": rows, "scores": classes, "predict": 1, "margin": 1, "sure": 1}


def _rows(model, n=200):
    """Test vectors, rows at random, and rows of what should never come."""
    random = np.random.default_rng(0)
    if model.is_integer:
        drawn = model.quantise(sample(model.source, n))
        ends = container_ends(model.width)
        wild = random.integers(ends[0], ends[1] + 1, drawn.shape)
        corners = random.choice(ends, drawn.shape)
        return np.vstack([codegen.test_vectors(model).rows, drawn, wild, corners])
    drawn, wild = np.repeat(sample(model, n)[None], 2, axis=0)
    strange = random.choice([np.nan, np.inf, -np.inf, 1e30, -3e38, 1e-40, -1, 2], n)
    wild[np.arange(n), random.integers(0, wild.shape[1], n)] = strange
    wild *= random.choice([1.0, 100.0], (n, 1))
    return np.vstack([codegen.test_vectors(model).rows, drawn, wild])


def _equal(found, expected):
    """Equal numbers with equal signs; all that are none are alike."""
    expected = np.asarray(expected, dtype=np.float64).reshape(found.shape)
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


def _compare(answers, models):
    """Every answer to every row is that of the emulator; all the scores."""
    tasks = [(model, _rows(model), _names(model)) for model in models]
    for (model, rows, _), found in zip(tasks, answers(tasks), strict=True):
        _equal(found["rowScores"], model.row_scores(rows))
        scores = model.scores(rows)
        if model.is_regression:
            shift = model.shift if model.is_integer else 0.0
            _equal(found["predict"], scores)
            _equal(found["value"], scores * float(model.step) + shift)
            continue
        _equal(found["scores"], scores)
        _equal(found["predict"], model.winners(rows))
        with np.errstate(invalid="ignore", over="ignore"):
            margins = model.margins(rows)
        _equal(found["margin"], margins)
        band = model.not_sure if model.is_integer else np.float32(model.band or -1)
        has_score = (scores > LOWEST).any(axis=1)
        _equal(found["sure"], has_score & (margins > band))
        yield model, rows, scores


def _all(answers, models):
    """How many models were compared, with their rows."""
    found = list(_compare(answers, models))
    assert all(len(rows) > 400 for _, rows, _ in found)
    return found


def test_linear_models_give_the_same_bits(answers, random_model, mixed_model):
    models = [
        compile_model(random_model(7, density=density, seed=seed))
        for density in (1.0, 0.5, 0.2)
        for seed in range(3)
    ]
    two = compile_model(random_model(4, n_classes=2, per_class=1))
    wide = compile_model(random_model(80, n_classes=9))
    found = _all(answers, [*models, two, wide, mixed_model])
    _, rows, _ = found[-1]
    assert np.isnan(rows).any() and (rows == -1).any()
    silent = [(scores == LOWEST).all(axis=1).sum() for *_, scores in found]
    assert not any(model.band for model, *_ in found) and sum(silent) > 10


@pytest.mark.parametrize("density", [1.0, 0.5])
def test_every_similarity_gives_the_same_bits(answers, density):
    make = partial(random_kernel_model, density=density)
    models = [
        compile_model(make(kind, seed=s)) for kind in SIMILARITIES for s in (0, 1)
    ]
    assert len(_all(answers, models)) == 2 * len(SIMILARITIES)


def _code_of_inputs(n, n_dimensions, seed):
    """The code of the inputs themselves, among prototypes that may be dependent."""
    random = np.random.default_rng(seed)
    anchors = random.normal(size=(n, n_dimensions))
    anchors /= np.linalg.norm(anchors, axis=1, keepdims=True)
    each, one = np.arange(n), np.ones(n)
    take = WeightedInputs(
        bias=0 * one, start=np.arange(n + 1), input=each, level=0 * each - 1, weight=one
    )
    code = SparseCode(
        size=6,
        gram=anchors @ anchors.T,
        votes=np.eye(2)[each % 2],
        fallback=1,
        unrepresented=0.25,
    )
    return CompiledModel(
        operations=(take, code),
        prototype_labels=[0, 1],
        inputs=tuple(
            CompiledInput(k, f"x{k}", f"x{k}", "number", -2.0, 2.0) for k in each
        ),
        classes=("a", "b"),
        fallback=1,
    )


def test_sparse_codes_give_the_same_bits(answers):
    models = dict(coded_models())
    del models["300 prototypes"]  # long in the emulator, and no other code
    models["dropped"] = compile_model(coded_model("poly", 30, 12, 1, n_anchors=30))
    assert len(_all(answers, models.values())) == len(models)


def test_any_search_for_a_code_gives_the_same_bits(answers):
    """Dependent prototypes, several that drop out at once, similarities of 0."""
    models = [_code_of_inputs(8, d, seed) for d in (3, 5, 8) for seed in range(3)]
    random = np.random.default_rng(0)
    rows = np.vstack([random.normal(size=(300, 8)), random.integers(-1, 2, (100, 8))])
    tasks = [(model, rows, _names(model)) for model in models]
    for (model, *_), found in zip(tasks, answers(tasks), strict=True):
        _equal(found["rowScores"], model.row_scores(rows))


@pytest.mark.parametrize("width", [8, 16])
def test_integers_are_exact(answers, random_model, mixed_model, width):
    compiled = [
        mixed_model,
        compile_model(random_model(7)),
        compile_model(random_model(60, density=0.3, n_classes=5)),
        compile_model(random_model(4, n_classes=2, per_class=1)),
        *(
            compile_model(random_kernel_model(kind, n_classes=n, seed=n))
            for kind in ("rbf", "laplacian")
            for n in (2, 3)
        ),
    ]
    models = [quantise(one, width) for one in compiled]
    assert any(model.relative for model in models)
    assert len(_all(answers, models)) == len(models)


def test_distances_above_31_bits_are_exact(answers):
    quant = quantise(compile_model(random_kernel_model("rbf", 40)), 16)
    rows = farthest_rows(quant)
    assert whole_distances(quant, rows).max() > 2**31
    (found,) = answers([(quant, rows, _names(quant))])
    _equal(found["rowScores"], quant.row_scores(rows))


@pytest.mark.parametrize("kind", ["linear", *SIMILARITIES])
def test_a_value_is_the_same(answers, random_model, kind):
    make = partial(random_kernel_model, kind) if kind in SIMILARITIES else random_model
    compiled = compile_model(_one_value(make, 6))
    widths = (8, 16) if kind in ("linear", "rbf", "laplacian") else ()
    models = [compiled, *(quantise(compiled, width) for width in widths)]
    assert list(_compare(answers, models)) == []


def test_ties_band_and_fallback_are_those_of_the_emulator(answers, random_model):
    base = compile_model(random_model(3, density=1.0))
    # Steps that float32 adds without rounding: many scores are equal.
    weight = np.round(part(base, "weight") * 4) / 4
    coarse = {"weight": weight, "bias": np.zeros(base.n_rows)}
    rows = np.random.default_rng(0).integers(-9, 9, (600, 3)) / 4.0
    rows[:60] = np.where(rows[:60] > 0, np.inf, -np.inf)
    rows[60:70] = np.nan
    inputs = tuple(replace(entry, offset=0.0) for entry in base.inputs)
    tasks = []
    for tie in (0.0, 0.25):
        for fallback in (0, 2):
            others = {"inputs": inputs, "tie": tie, "fallback": fallback, "band": 0.5}
            model = changed(base, **coarse, **others)
            tasks.append((model, rows, _names(model)))
            if not fallback:
                quant = quantise(replace(model, fallback=fallback), 8)
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
    at = random.integers(0, raw.shape[1], len(raw))
    raw[np.arange(len(raw)), at] = random.choice(strange, len(raw))
    n = raw.shape[1]
    models = [quantise(mixed_model, width) for width in (8, 16)]
    tasks = [(model, raw, {"quantise": n}) for model in models]
    for model, found in zip(models, answers(tasks), strict=True):
        _equal(found["quantise"], model.quantise(raw))
        whole = model.quantise(raw)
        (ends,) = answers([(model, whole, {"saturated": 1})])
        _equal(ends["saturated"], model.saturated(whole))
        assert 0 < ends["saturated"].sum() < ends["saturated"].size


def test_contributions_add_up_to_the_scores(answers, mixed_model, random_model):
    floats = [mixed_model, compile_model(_one_value(random_model, 6))]
    models = [*floats, *(quantise(one, 16) for one in floats)]
    tasks = []
    for model in models:
        rows = sample(mixed_model if len(model.inputs) == 4 else floats[1], 200)
        n = model.n_rows * len(model.inputs)
        tasks.append((model, model.to_inputs(rows), {"contributions": n}))
    for (model, rows, _), found in zip(tasks, answers(tasks), strict=True):
        added = found["contributions"].reshape(len(rows), model.n_rows, -1)
        operation = model.find(WeightedInputs)
        room = 0 if model.is_integer else 1e-5 * (1 + np.abs(added).sum(axis=2))
        scores = model.row_scores(rows)
        assert (np.abs(added.sum(axis=2) + operation.bias - scores) <= room).all()
        # An input that is changed changes its own share only.
        one = rows.copy()
        one[:, 0] = one[::-1, 0]
        alone = scores - model.row_scores(one)
        assert (np.abs(added[:, :, 0] - added[::-1, :, 0] - alone) <= 2 * room).all()


def test_terms_of_anchors_and_of_a_code_add_up_to_the_scores(answers):
    sums = [compile_model(random_kernel_model(kind)) for kind in SIMILARITIES]
    sums += [quantise(compile_model(random_kernel_model("laplacian")), 16)]
    tasks = []
    for model in [*sums, compile_model(coded_model())]:
        parts = model.find(SparseCode) or model.find(WeightedSums)
        n = getattr(parts, "n_prototypes", 0) or parts.n_anchors
        given = model.to_inputs(sample(getattr(model, "source", model), 200))
        tasks.append((model, given, {"contributions": model.n_rows * n}))
    for (model, rows, _), found in zip(tasks, answers(tasks), strict=True):
        added = found["contributions"].reshape(len(rows), model.n_rows, -1)
        bias = 0 if model.find(SparseCode) else model.find(WeightedSums).bias
        room = 0 if model.is_integer else 1e-5 * (1 + np.abs(added).sum(axis=2))
        scores = model.row_scores(rows)
        if code := model.find(SparseCode):
            # What nothing represents has a score of its own.
            scores = np.where(scores == np.float32(code.unrepresented), 0, scores)
        assert (np.abs(added.sum(axis=2) + bias - scores) <= room).all()
        assert np.count_nonzero(added) > len(rows)


HOSTILE = [
    "\"'`\\ ${x} \\u0022",
    "</script><script>alert(1)</script><!-- -->",
    "a\u2028b\u2029c\nd\r\0e",
    "😀 \ud800 & __proto__ ]]>",
]


@pytest.mark.parametrize("width", [None, 8])
def test_no_text_of_a_user_breaks_out(tool, tmp_path, random_model, width):
    model = random_model(
        4,
        classes=np.array(HOSTILE),
        n_classes=4,
        feature_names=tuple(HOSTILE[::-1]),
    )
    model = compile_model(model)
    if width:
        measured = SensorRange(-5, 5, unit=HOSTILE[1])
        model = quantise(model, width, {HOSTILE[-1]: measured})
    unpack(bundle(model, codegen.test_vectors(model), target="javascript"), tmp_path)
    run(tool("node"), "--check", tmp_path / "mdl.mjs")
    text = (tmp_path / "mdl.mjs").read_bytes()
    assert all(32 <= byte < 127 or byte == 10 for byte in text)
    lines = [line for line in text.splitlines() if b"alert" in line]
    assert len(lines) == 2 + (width == 8)
    assert not re.search(rb"[<>&]", b"".join(lines))
    assert b"</" not in text and b"<!" not in text  # of a <script> in a page
    (tmp_path / "tell.mjs").write_text(
        'import { CLASSES, INPUTS, label } from "./mdl.mjs";\n'
        "const told = [CLASSES, CLASSES.map((_, k) => label(k)),\n"
        "  INPUTS.map((one) => one.name), INPUTS[0].unit];\n"
        "console.log(JSON.stringify(told));\n"
    )
    told = run(tool("node"), "tell.mjs", cwd=tmp_path)
    classes, labels, names, unit = json.loads(told)
    assert unit == (HOSTILE[1] if width else "")
    assert classes == labels == HOSTILE
    assert names == HOSTILE[::-1]


def test_a_page_can_show_the_inputs(tool, tmp_path, mixed_model):
    (tmp_path / "mdl.mjs").write_text(emit_javascript(mixed_model, "abc", "0123"))
    (tmp_path / "tell.mjs").write_text(
        'import * as m from "./mdl.mjs";\n'
        "console.log(JSON.stringify([m.NAME, m.ID, m.INPUTS]));\n"
    )
    name, number, inputs = json.loads(run(tool("node"), "tell.mjs", cwd=tmp_path))
    assert (name, number) == ("abc", "0123")
    for one, entry in zip(inputs, mixed_model.inputs, strict=True):
        for key, value in one.items():
            if key != "unit":
                assert value == json.loads(json.dumps(getattr(entry, key)))
    assert [one["levels"] for one in inputs if one["levels"]]


def _zips(mixed_model, random_model):
    value = compile_model(_one_value(random_model, 6))
    sums = compile_model(random_kernel_model())
    floats = {"linear": mixed_model, "value": value, "sums": sums}
    whole = {f"{k}, int8": quantise(model, 8) for k, model in floats.items()}
    band = replace(mixed_model, band=0.1)
    return {**floats, **whole, "code": compile_model(coded_model()), "band": band}


def test_every_zip_tests_itself(tool, tmp_path, mixed_model, random_model):
    for name, model in _zips(mixed_model, random_model).items():
        folder, vectors = tmp_path / name, codegen.test_vectors(model)
        files = unpack(bundle(model, vectors, target="javascript"), folder)
        assert {"mdl.mjs", "mdl_selftest.mjs", "mdl.json", "LICENSE"} < set(files)
        # From another folder.
        said = run(tool("node"), folder / "mdl_selftest.mjs", cwd=tmp_path).decode()
        expected = f"mdl {codegen.model_id(model)} selftest: 0 of {len(vectors.rows)}"
        assert said == f"{expected} differ\n"
        # The lines of the README run as they are.
        text = readme(model, vectors, target="javascript")
        (block,) = re.findall(r"```js\n(.*?)```", text, re.S)
        (folder / "own.mjs").write_text(block)
        assert run(tool("node"), "own.mjs", cwd=folder).strip()
        assert ("Not sure" in text) == (name == "band")
        part = {"code": "prototype"}.get(name, "anchor" if "sums" in name else "input")
        assert f"`contributions(x)` tells how much each {part} adds" in text


@pytest.mark.parametrize("kind", ["value", "sums", "value, int8", "sums, int8"])
def test_a_wrong_weight_is_noticed(tool, tmp_path, mixed_model, random_model, kind):
    model = _zips(mixed_model, random_model)[kind]
    unpack(bundle(model, codegen.test_vectors(model), target="javascript"), tmp_path)
    module = tmp_path / "mdl.mjs"
    head, weights = module.read_text().split("const WEIGHT = ")
    first = re.search(r"\[\s*([^,]+)", weights)[1]
    wrong = int(first) + 1 if model.is_integer else float(first) * 1.00001
    module.write_text(f"{head}const WEIGHT = {weights.replace(first, str(wrong), 1)}")
    with pytest.raises(CommandFailed, match=r"selftest: [1-9]\d* of 32 differ"):
        run(tool("node"), "mdl_selftest.mjs", cwd=tmp_path)


def test_what_is_no_number_is_missing(tool, tmp_path, mixed_model):
    (tmp_path / "mdl.mjs").write_text(emit_javascript(mixed_model))
    (tmp_path / "ask.mjs").write_text(
        'import { scores } from "./mdl.mjs";\n'
        'const given = [undefined, null, "", "5", true, {}, NaN];\n'
        "const told = given.map((cell) => scores([cell, 0, 0, 2000]));\n"
        "console.log(JSON.stringify([...told, scores([5, 0, 0, 2000])]));\n"
    )
    *found, number = json.loads(run(tool("node"), "ask.mjs", cwd=tmp_path))
    assert all(one == found[-1] for one in found) and number != found[-1]


def test_every_operation_can_be_written():
    for kind in Operation.__subclasses__():
        assert javascript_of.dispatch(kind) is not javascript_of.dispatch(object)
