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
    every_kind,
    one_value,
    random_kernel_model,
)
from tests.smpcore.codegen.scripts import answers_of_script
from tests.smpcore.codegen.test_scripts import compare
from tests.smpcore.codegen.toolchain import bundle, run, unpack


def test_contributions_add_up_to_the_scores(tool, tmp_path, mixed_model, random_model):
    floats = [mixed_model, compile_model(one_value(random_model, 6))]
    floats += map(
        compile_model, [*map(random_kernel_model, SIMILARITIES), coded_model()]
    )
    tasks = []
    for model in [*floats, *(quantise(one, 16) for one in floats[:2] + floats[4:5])]:
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
            assert (
                np.abs(added[:, :, 0] - added[::-1, :, 0] - alone) <= 2 * room
            ).all()


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


def test_ten_thousand_rows_give_the_same_bits(tool, tmp_path):
    def answers(tasks):
        return answers_of_script("rust", tasks, tool, tmp_path)

    answers.rows = slice(None)
    compare(answers, every_kind().values(), 10_000)


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


def test_a_file_is_read_with_what_was_chosen():
    evil = "a' + __import__('os').getcwd() + '.csv"
    roles = {"id": "ignore", "it's": "target"}
    dataset = {"file": evil, "params": {"delimiter": ";", "roles": roles}}
    text = emit_python({**RECIPE, "dataset": dataset})
    line = next(line for line in text.splitlines() if line.startswith("dataset"))
    call = line.removeprefix("dataset = ")
    seen = {}
    names = {"open": lambda *words: seen.update(opened=words)}
    names["read_table"] = lambda *words, **options: seen.update(words=words, **options)
    eval(call, names)
    assert seen["opened"] == (evil, "rb")
    assert seen["words"][1] == evil
    assert seen["roles"] == roles
    assert seen["delimiter"] == ";"


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (np.float64(0.1), "0.1"),
        (np.int64(3), "3"),
        (True, "True"),
        (None, "None"),
        ((1, "a"), "[1, 'a']"),
        (float("inf"), 'float("inf")'),
        ('"""', '\'"""\''),
    ],
)
def test_values_are_literals(value, literal):
    assert f"SMPClassifier(lam={literal})" in emit_python(
        {**RECIPE, "params": {"lam": value}}
    )


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
