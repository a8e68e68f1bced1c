"""Tables of few distinct values: every target gives the model's answer to each row."""

from contextlib import suppress

import numpy as np
import pytest

from smpcore import METHODS
from smpcore.codegen import agreement, compile_model, quantise
from smpcore.codegen.targets.python.source import emit_plain_python
from smpcore.errors import ExportError
from tests.smpcore.codegen.c_programs import assert_same_in_c, case


def _grid(values, n_columns):
    axes = np.meshgrid(*[values] * n_columns)
    return np.array(axes, dtype=float).reshape(n_columns, -1).T


def _tables():
    """Name -> rows and labels; in most of them classes share rows, or lie evenly."""
    random = np.random.default_rng(0)
    scale, bits = _grid(range(1, 6), 4)[::3], _grid([0, 1], 5)
    tilt = scale[:, 0] * scale[:, 1] - scale[:, 2] * scale[:, 3]
    mines = random.integers(0, 2, (120, 6)).astype(float)
    found = mines[:, :2].all(axis=1) * 2 + random.integers(0, 2, 120)
    board = random.integers(-1, 2, (120, 9)).astype(float)
    few = random.integers(0, 3, (120, 4)).astype(float)
    steps = random.integers(0, 4, (120, 2)).astype(float)
    one = np.column_stack([np.ones(80), random.integers(0, 2, 80), np.zeros(80)])
    twice, three = np.tile(bits[:8], (6, 1)), np.repeat(bits[:16], 6, axis=0)
    return {
        "balance": (scale, np.sign(tilt).astype(int)),
        "balance of two": (scale, (tilt > 0).astype(int)),
        "parity": (bits, bits.sum(axis=1).astype(int) % 2),
        "three labels for each row": (three, np.tile([0, 1, 2], 32)),
        "two labels for each row": (twice, np.repeat([0, 1], 24)),
        "constant columns": (one, random.integers(0, 2, 80)),
        "mines": (mines, found),
        "random labels": (few, random.integers(0, 3, 120)),
        "diagonal": (steps, (steps[:, 0] > steps[:, 1]).astype(int)),
        "board": (board, (board[:, [0, 4, 8]].sum(axis=1) > 0).astype(int)),
    }


TABLES = _tables()


def _answers_of_python(quant, integers):
    module = {}
    exec(emit_plain_python(quant), module)
    return [module["predict"](row) for row in integers.tolist()]


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_no_row_of_a_discrete_table_gets_another_class(method, tool):
    cases, labels = [], []
    for X, y in TABLES.values():
        fitted = method.estimator(method.defaults()).fit(X, y)
        model, expected = fitted.model_, fitted.predict(X)
        try:
            compiled = compile_model(model)
        except ExportError:  # it uses no input
            assert len(set(expected.tolist())) == 1
            continue
        rows = compiled.rows(X)
        np.testing.assert_array_equal(model.predict(X), expected)
        cases.append(case(compiled, rows))
        labels.append((model.classes, expected))
        for width in (8, 16):
            with suppress(ExportError):  # said on the page
                _compare_integers(quantise(compiled, width), model, X, expected)
    answers = assert_same_in_c(cases, tool("gcc"))
    for found, (classes, expected) in zip(answers, labels, strict=True):
        np.testing.assert_array_equal(classes[found["predict"]], expected)


def _compare_integers(quant, model, X, expected):
    """Labels differ at rows only of which it was not proved that they do not."""
    integers = quant.quantise(quant.rows(X))
    winners = quant.winners(integers)
    assert _answers_of_python(quant, integers) == winners.tolist()
    found = agreement(quant, model, X)
    assert found.n_broken == 0
    differ = int((model.classes[winners] != expected).sum())
    assert found.n_rows - found.n_equal == differ
    assert differ <= found.n_rows - found.n_certified
    assert f"of {found.n_certified} it is proved" in found.in_words
