"""The self-test of generated C notices every number that is wrong by a digit."""

import re
from functools import partial

import numpy as np
import pytest

from smpcore import codegen
from smpcore.codegen import compile_model, emit_c99
from smpcore.codegen.program import SIMILARITIES, SparseCode
from smpcore.codegen.targets.c99.source import selftest_files
from smpcore.codegen.vectors import active_prototypes
from tests.smpcore.codegen.models import (
    coded_model,
    one_value,
    random_kernel_model,
    random_linear,
)
from tests.smpcore.codegen.toolchain import unnoticed, write


def _put(folder, model, vectors):
    """Write a model and its self-test."""
    # Exports have 64 vectors at most, and count them in 8 bits.
    wide = re.compile(r"uint8_t (v|count|mdl_selftest)\b")
    tests = selftest_files(model, vectors, "mdl").items()
    tests = {name: wide.sub(r"uint16_t \1", text).encode() for name, text in tests}
    return write(folder, emit_c99(model) | tests)


def _similarity(kind, dense):
    """Far from 0, so that there are offsets; one prototype per class: each is heard."""
    mixing = np.random.default_rng(0).normal(size=(6, 2))
    if not dense:
        mixing[np.arange(6) % 2 == 0, 0] = mixing[np.arange(6) % 2 == 1, 1] = 0.0
    # Overlaps are of histograms as they are: their centre is 0.
    center = np.full(3, 0.0 if kind == "intersection" else 1e4)
    parts = {"mixing": mixing, "bias": np.array([0.1, -0.1]), "votes": np.eye(2)}
    parts |= {"counts": np.ones(2, dtype=np.int64), "center": center}
    parts |= {"low": center - 2 * (kind != "intersection"), "high": center + 2}
    return random_kernel_model(kind, 3, 6, 2, **parts)


#: A large intercept would hide the last digits of what is added to it.
SMALL = {"intercept": np.array([0.1])}
#: Name -> model in floats; the other ones by --all.
FLOATS = {
    "linear": lambda: random_linear(4, 2, density=0.7),
    "value": lambda: one_value(random_linear, 6, **SMALL),
    "code, features": lambda: coded_model("features", 5, n_features=3, n_anchors=6),
    "code, cosine": lambda: coded_model("cosine", 5, n_features=3, n_anchors=6),
}
for number, kind in enumerate(SIMILARITIES):
    for dense in (number % 2 == 0, number % 2 == 1):
        name = f"{kind}, {'dense' if dense else 'sparse'}"
        FLOATS[name] = partial(_similarity, kind, dense)
for kind in ("laplacian", "ncc"):
    make = partial(random_kernel_model, kind)
    FLOATS[f"value, {kind}"] = partial(one_value, make, 6, **SMALL)
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
    folder = _put(tmp_path, compiled, vectors)
    every, unseen = unnoticed(folder, "mdl.c", "mdl_selftest")
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
