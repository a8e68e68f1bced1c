import numpy as np
import pytest

from smpcore.codegen import emit_python
from smpcore.errors import ExportError

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
