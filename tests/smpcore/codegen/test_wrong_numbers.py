"""The self-test of generated C notices every number that is wrong by a digit."""

import re

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import compile_model, emit_c99, quantise
from smpcore.codegen.constants import has_tables
from smpcore.codegen.program import SIMILARITIES, FixedPointFeatures, SparseCode
from smpcore.codegen.run import whole_features
from smpcore.codegen.targets.c99.source import selftest_files
from smpcore.codegen.vectors import active_prototypes, discriminating_inputs
from tests.smpcore.codegen.c_programs import any_integers
from tests.smpcore.codegen.kernel_models import coded_model, random_kernel_model
from tests.smpcore.codegen.random_models import one_value, random_linear
from tests.smpcore.codegen.toolchain import (
    SANITIZE,
    CommandFailed,
    run,
    unnoticed,
    write,
)

_MAIN = """
#include "mdl_selftest.h"
int main(void) { return mdl_selftest() != 0; }
"""
FILES = ["main.c", "mdl_selftest.c", "mdl.c"]


def _put(folder, model, vectors):
    """Write a model, its self-test and a program that runs it."""
    tests = selftest_files(model, vectors, "mdl") | {"main.c": _MAIN}
    # Exports have 64 vectors at most, and count them in 8 bits.
    wide = re.compile(r"uint8_t (v|count|mdl_selftest)\b")
    tests = {name: wide.sub(r"uint16_t \1", text) for name, text in tests.items()}
    files = emit_c99(model) | {name: text.encode() for name, text in tests.items()}
    return write(folder, files)


def _similarity(kind, dense):
    """Far from 0, so that there are offsets; one prototype per class: each is heard."""
    mixing = np.random.default_rng(0).normal(size=(6, 2))
    if not dense:
        mixing[np.arange(6) % 2 == 0, 0] = mixing[np.arange(6) % 2 == 1, 1] = 0.0
    # Overlaps are of histograms as they are: their centre is 0.
    center = np.full(3, 0.0 if kind == "intersection" else 1e4)
    return random_kernel_model(
        kind,
        n_features=3,
        n_anchors=6,
        n_classes=2,
        mixing=mixing,
        bias=np.array([0.1, -0.1]),
        votes=np.eye(2),
        counts=np.ones(2, dtype=np.int64),
        center=center,
        low=center - 2 * (kind != "intersection"),
        high=center + 2,
    )


#: A large intercept would hide the last digits of what is added to it.
SMALL = {"intercept": np.array([0.1])}
#: Name -> model in floats; the other ones by --all.
FLOATS = {
    "linear": lambda: random_linear(4, 2, density=0.7),
    "value": lambda: one_value(random_linear, 6, **SMALL),
    "value, laplacian": lambda: one_value(
        random_kernel_model, 6, kind="laplacian", **SMALL
    ),
    "code, features": lambda: coded_model("features", 5, n_features=3, n_anchors=6),
    **{
        f"{kind}, {'dense' if dense else 'sparse'}": lambda kind=kind, dense=dense: (
            _similarity(kind, dense)
        )
        for number, kind in enumerate(SIMILARITIES)
        for dense in (number % 2 == 0, number % 2 == 1)
    },
    "code, cosine": lambda: coded_model("cosine", 5, n_features=3, n_anchors=6),
    "value, ncc": lambda: one_value(random_kernel_model, 6, kind="ncc", **SMALL),
}
RARE = {"code, cosine", "value, ncc", *list(FLOATS)[5:18:2]}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.exhaustive if name in RARE else ())
        for name in FLOATS
    ],
)
def test_every_wrong_number_of_floats_is_noticed(tool, tmp_path, name):
    tool("gcc")
    compiled = compile_model(FLOATS[name]())
    vectors = codegen.test_vectors(compiled, n=64)
    every, unseen = unnoticed(_put(tmp_path, compiled, vectors), FILES)
    named = {f"mdl_{name}" for name in compiled.tables()}
    assert {table for table, _ in every} == named
    allowed = set()
    if name.startswith("value"):
        # There is no class, and the coefficients of 2^-u are tried elsewhere.
        allowed = {one for one in every if one[0] in ("mdl_owner", "mdl_exp2")}
    if code := compiled.find(SparseCode):
        # A pair that no vector has in one code may change without showing.
        active = active_prototypes(compiled, vectors.rows)
        apart = (active.T @ active == 0)[np.tril_indices(code.n_prototypes)]
        allowed = {("mdl_gram", place) for place in np.flatnonzero(apart)}
        assert len(allowed) <= 3
    assert set(unseen) <= allowed


def _vectors(quant, n=48):
    """The model's own telling rows, the least margins of each pair, random rows."""
    drawn = any_integers(quant, 20_000)
    telling = list(discriminating_inputs(quant, drawn[:400]))
    left, right = drawn[::2], drawn[1::2]
    for _ in range(16):
        middle = (left + right) // 2
        same = (quant.winners(middle) == quant.winners(left))[:, None]
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    rows = np.vstack([left, right])
    best = np.argsort(-quant.scores(rows), axis=1, kind="stable")[:, :2]
    nearest = np.argsort(quant.margins(rows), kind="stable")
    for pair in np.unique(best, axis=0):
        telling += list(rows[nearest[(best[nearest] == pair).all(axis=1)][:n]])
    return np.vstack([*telling, drawn[:n]])


def _written_out(source):
    """The source with numbers of its expressions wrong, one by WRONG, and how many."""
    body = "#include <stdlib.h>\nstatic int mdl_is(int n)\n"
    body += '{ const char *w = getenv("WRONG"); return w && atoi(w) == n; }\n'
    count, end = 0, 0
    for function in ("void mdl_scores", "mdl_predict"):
        begin = source.index("{", source.index(f"{function}(const"))
        stop = source.index("\n}", begin)
        for number in re.finditer(r"(?<![\w.])(?<!winner = )\d+L?\b", source):
            if begin < number.start() < stop:
                body += f"{source[end : number.start()]}({number[0]} + mdl_is({count}))"
                count, end = count + 1, number.end()
    return body + source[end:], count


def _unseen(folder, files, count):
    """Numbers that are wrong by WRONG and that no vector tells."""
    # What is never written is not 0 by chance.
    how = ["-std=c99", "-w", *SANITIZE, "-ftrivial-auto-var-init=pattern"]
    run("gcc", *how, "-o", "wrong", *files, cwd=folder)
    run(folder / "wrong")
    for number in range(count):
        try:
            run("env", f"WRONG={number}", folder / "wrong", seconds=5)
            yield number
        except CommandFailed:
            pass


def _changes_nothing(quant, name, place):
    """Whether a factor or an origin one larger gives the same feature of any count."""
    features = quant.find(FixedPointFeatures)
    numbers = [features.factor[place], features.origin[place]]
    counts = np.arange(-128, 128)[:, None]
    rest = features.places[[place]], features.top
    was = whole_features(counts, *(np.array([n]) for n in numbers), *rest)
    numbers[name == "mdl_origin"] += 1
    now = whole_features(counts, *(np.array([n]) for n in numbers), *rest)
    return np.array_equal(was, now)


#: Name -> model and bits of its sums: wide ones are written out up to 12 terms only.
MUTATED = {
    "sparse": (lambda: compile_model(random_linear(4, 3, 2, 0.7)), 32),
    "dense": (lambda: compile_model(random_linear(5, 3, 1, 1.0)), 32),
    "written out": (lambda: compile_model(random_linear(4, 3, 1, 0.7)), 16),
    "two classes": (lambda: compile_model(random_linear(5, 2, 1, 0.9)), 16),
    "rbf": (lambda: compile_model(_few_anchors()), None),
}


def _few_anchors():
    """One prototype per class, so that each can win."""
    mixing = np.random.default_rng(0).normal(size=(4, 3))
    parts = {"n_features": 3, "n_anchors": 4, "n_classes": 3, "mixing": mixing}
    parts |= {"bias": np.zeros(3), "votes": np.eye(3), "counts": np.ones(3, np.int64)}
    return random_kernel_model("rbf", **parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATED)
def test_every_wrong_number_of_integers_is_noticed(tool, tmp_path, name):
    make, accumulator = MUTATED[name]
    quant = quantise(make(), 8, accumulator=accumulator)
    assert has_tables(quant) == (accumulator != 16)
    rows = _vectors(quant)
    answers = quant.scores(rows), quant.winners(rows)
    _put(tmp_path, quant, codegen.TestVectors(rows, *answers, ("",) * len(rows)))
    if not has_tables(quant):
        path = tmp_path / "mdl.c"
        source, count = _written_out(path.read_text())
        path.write_text(source)
        assert count > 20 and not list(_unseen(tmp_path, FILES, count))
        return
    every, unseen = unnoticed(tmp_path, FILES, flags=SANITIZE)
    assert len(every) > 20
    for table, place in unseen:  # a rounding that no input of 8 bits comes near
        assert table in ("mdl_factor", "mdl_origin")
        assert _changes_nothing(quant, table, place)
