"""JavaScript, Rust and the recipe in Python: texts of users; scores: `test_scripts`."""

import json
import re
from functools import partial

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import SensorRange, compile_model, emit_python, quantise, sample
from smpcore.codegen.program import SIMILARITIES, SparseCode, WeightedInputs
from smpcore.codegen.targets.javascript.source import emit_javascript
from smpcore.codegen.targets.rust.source import emit_rust
from smpcore.errors import ExportError
from tests.smpcore.codegen.models import (
    coded_model,
    one_value,
    random_kernel_model,
)
from tests.smpcore.codegen.scripts import answers_of_script
from tests.smpcore.codegen.toolchain import bundle, contents, run


def test_contributions_add_up_to_the_scores(tool, tmp_path, mixed_model, random_model):
    made = [*map(random_kernel_model, SIMILARITIES), coded_model()]
    floats = [mixed_model, *map(compile_model, [one_value(random_model, 6), *made])]
    tasks = []
    exact = [*floats[:2], compile_model(random_kernel_model("laplacian"))]
    for model in [*floats, *(quantise(one, 16) for one in exact)]:
        last = model.operations[-1]
        n = getattr(last, "n_prototypes", getattr(last, "n_anchors", len(model.inputs)))
        given = model.to_inputs(sample(model.source, 200))
        tasks.append((model, given, {"contributions": model.n_rows * n}))
    told = answers_of_script("javascript", tasks, tool, tmp_path)
    for (model, rows, _), found in zip(tasks, told, strict=True):
        added = found["contributions"].reshape(len(rows), model.n_rows, -1)
        room = 0 if model.is_integer else 1e-5 * (1 + np.abs(added).sum(axis=2))
        scores = model.row_scores(rows)
        rest = scores - getattr(model.operations[-1], "bias", 0)
        if code := model.find(SparseCode):
            # What nothing represents has a score of its own.
            rest = np.where(scores == np.float32(code.unrepresented), 0, scores)
        assert (np.abs(added.sum(axis=2) - rest) <= room).all()
        assert np.count_nonzero(added) > len(rows)
        if model.find(WeightedInputs) is model.operations[-1]:
            # An input that is changed changes its own share only.
            one = rows.copy()
            one[:, 0] = one[::-1, 0]
            alone = scores - model.row_scores(one)
            moved = added[:, :, 0] - added[::-1, :, 0]
            assert (np.abs(moved - alone) <= 2 * room).all()


HOSTILE = [
    "\"'`\\ ${x} \\u0022",
    "</script><script>alert(1)</script><!-- -->",
    "a\u2028b\u2029c\nd\r\0e",
    "😀 \ud800 & __proto__ ]]>",
]


@pytest.mark.parametrize("width", [None, 8])
def test_no_text_of_a_user_breaks_out(tool, tmp_path, random_model, width):
    names = {"classes": np.array(HOSTILE), "feature_names": tuple(HOSTILE[::-1])}
    model = compile_model(random_model(4, n_classes=4, **names))
    if width:
        measured = SensorRange(-5, 5, unit=HOSTILE[1])
        model = quantise(model, width, {HOSTILE[-1]: measured})
    packed = bundle(model, codegen.test_vectors(model), target="javascript")
    text = contents(packed)["mdl.mjs"]
    assert all(32 <= byte < 127 or byte == 10 for byte in text)
    lines = [line for line in text.splitlines() if b"alert" in line]
    assert len(lines) == 2 + (width == 8)
    assert not re.search(rb"[<>&]", b"".join(lines))
    assert b"</" not in text and b"<!" not in text  # of a <script> in a page
    labels = "m.CLASSES.map((_, k) => m.label(k))"
    script = f"[m.CLASSES, {labels}, m.INPUTS.map((one) => one.name), m.INPUTS[0].unit]"
    told = told_by(tool, tmp_path, model, script)
    unit = HOSTILE[1] if width else ""
    assert told == [HOSTILE, HOSTILE, HOSTILE[::-1], unit]


def told_by(tool, folder, model, script, *names):
    """What a script says of the module of a model, `m`."""
    (folder / "mdl.mjs").write_text(emit_javascript(model, *names))
    begin = 'import * as m from "./mdl.mjs";\n'
    (folder / "tell.mjs").write_text(f"{begin}console.log(JSON.stringify({script}));\n")
    return json.loads(run(tool("node"), "tell.mjs", cwd=folder))


def test_a_page_can_show_the_inputs(tool, tmp_path, mixed_model):
    told = told_by(tool, tmp_path, mixed_model, "[m.NAME, m.ID, m.INPUTS]", "abc", "01")
    name, number, inputs = told
    assert (name, number) == ("abc", "01")
    for one, entry in zip(inputs, mixed_model.inputs, strict=True):
        for key in one.keys() - {"unit"}:
            assert one[key] == json.loads(json.dumps(getattr(entry, key)))
    assert [one["levels"] for one in inputs if one["levels"]]


def test_what_is_no_number_is_missing(tool, tmp_path, mixed_model):
    cells = '[undefined, null, "", "5", true, {}, NaN, 5]'
    script = f"{cells}.map((cell) => m.scores([cell, 0, 0, 2000]))"
    *found, missing, number = told_by(tool, tmp_path, mixed_model, script)
    assert all(one == missing for one in found) and number != missing


def test_no_text_breaks_out_of_rust(tool, tmp_path, random_model):
    hostile = ['"); panic!("{}', "a\\\n\r\0\u202e", 'r#"😀"# \ud800', "*/ // '"]
    model = compile_model(random_model(4, 4, classes=np.array(hostile)))
    (tmp_path / "m.rs").write_text(emit_rust(model), "ascii")
    tell = 'for k in 0..4 { println!("{:?}", m::label(k).as_bytes()); }'
    (tmp_path / "tell.rs").write_text(f"fn main() {{ {tell} }}")
    rustc = partial(run, tool("rustc"), "--edition", "2021", cwd=tmp_path)
    rustc("--crate-type", "rlib", "-D", "warnings", "m.rs")
    rustc("-L", ".", "--extern", "m", "tell.rs")
    told = run(tmp_path / "tell").decode().splitlines()
    wanted = [list(label.encode("utf-8", "replace")) for label in hostile]
    assert [list(map(int, line[1:-1].split(","))) for line in told] == wanted


RECIPE = {
    "dataset": {"key": "iris"},
    "split": {"validation": 0.2, "test": 0.2, "seed": 3},
    "estimator": "SMPClassifier",
    "params": {"lam": 0.01, "n_prototypes": 3},
}


def test_the_script_is_short_and_plain():
    assert emit_python(RECIPE).splitlines() == [
        "from smpcore import SMPClassifier, load_dataset, prepare, split",
        "",
        "dataset = load_dataset('iris')",
        "parts = split(dataset, validation=0.2, test=0.2, seed=3)",
        "preparation = prepare(dataset, parts.train)",
        "X, y = preparation.transform(dataset.frame), dataset.y",
        "model = SMPClassifier(lam=0.01, n_prototypes=3)",
        "model.fit(X[parts.train], y[parts.train])",
        "answers = model.predict(X[parts.validation])",
    ]


def test_values_are_literals():
    values = [np.float64(0.1), np.int64(3), True, None, (1, "a"), float("inf"), '"""']
    literals = ["0.1", "3", "True", "None", "[1, 'a']", 'float("inf")', '\'"""\'']
    for value, literal in zip(values, literals, strict=True):
        script = emit_python({**RECIPE, "params": {"lam": value}})
        assert f"SMPClassifier(lam={literal})" in script


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"estimator": "SMP()"}, r"name='SMP\(\)' should be a Python identifier"),
        ({"params": {"a=1, b": 2}}, "name='a=1, b' should be a Python identifier"),
        ({"params": {"lam": object()}}, "cannot be written in a script"),
    ],
)
def test_what_is_no_script_is_refused(changes, words):
    with pytest.raises(ExportError, match=words):
        emit_python({**RECIPE, **changes})
