"""Bundles: the vectors of every kind of row, the files, and what the README says."""

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from smpcore import SMaLLClassifier, codegen, load_dataset
from smpcore.codegen import NUMBERS, SensorRange, compile_model, quantise, sample
from smpcore.codegen.describe import schema
from smpcore.codegen.inputs import container_ends
from smpcore.codegen.program import FixedPointFeatures
from smpcore.codegen.vectors import neighbours, saturating_row
from tests.smpcore.codegen import models
from tests.smpcore.codegen.toolchain import bundle, readme, unpack

FILES = """
.github/workflows/selftest.yml CMakeLists.txt LICENSE Makefile README.md mdl.c mdl.h
mdl.hpp mdl.json mdl.schema.json MISRA.md mdl_board.c mdl_card.json mdl_example.c
mdl_inputs.c mdl_selftest.c mdl_selftest.h mdl_test_vectors.csv mdl_test_vectors.h
""".split()

#: Further files of integers.
WHOLE = ["mdl_quantise.c", "mdl_selftest_quantise.c"]


@pytest.fixture
def real(mixed, mixed_model):
    """The rows of the mixed table."""
    return mixed_model.rows(mixed[0].frame)


def test_vectors_try_every_kind_of_row(real, mixed_model):
    """They are synthetic unless real rows are given."""
    found = codegen.test_vectors(mixed_model, real, source="mixed")
    kinds = {"real", "missing", "corner", "boundary", "tie", "random"}
    assert set(found.kinds) == kinds
    assert len(found.rows) == len(np.unique(found.rows, axis=0)) == 32
    assert found.n_real == 11
    own = {row.tobytes() for row in real.astype(np.float32)}
    for row, kind in zip(found.rows, found.kinds, strict=True):
        assert (row.tobytes() in own) or kind != "real"
    top = np.sort(found.scores, axis=1)[:, -2:]
    tied = np.array(found.kinds) == "tie"
    assert (top[tied, 0] == top[tied, 1]).all()
    near = np.array(found.kinds) == "boundary"
    assert (top[near, 1] - top[near, 0] < 1e-4).all()
    assert set(found.winners[near]) == {0, 1}
    invented = codegen.test_vectors(mixed_model, source="patients")
    assert (invented.n_real, invented.source) == (0, "")
    assert not own & {row.tobytes() for row in invented.rows}


def test_vectors_end_where_no_other_rows_exist(mixed_model):
    few = {"bias": [0.0, 0.5], "prototype_labels": [0, 1], "start": [0, 1, 2]}
    few |= {"input": [0, 0], "level": [0, 1], "weight": [1.0, 2.0]}
    few = models.changed(mixed_model, inputs=mixed_model.inputs[1:2], **few)
    found = codegen.test_vectors(few)
    assert sorted(found.rows[:, 0].tolist()) == [-1.0, 0.0, 1.0, 2.0]


def test_the_readme_says_what_matters(mixed, random_model):
    data, preparation = mixed
    provenance = {"data": {"name": "a|b <img>", "digest": "abc"}}
    provenance |= {"accuracy": {"test": "137 of 143"}, "test set opened": 2}
    classes = np.array(["`ok`", "[not] ok"])
    model = random_model(preparation.n_features, 2, 2, 1.0, classes=classes)
    compiled = compile_model(model, preparation, provenance)
    rows = compiled.rows(data.frame)
    found = codegen.test_vectors(compiled, rows, source="mi_xed")
    text = readme(compiled, found)
    for words in (
        f"Test vectors: {found.n_real} real rows of mi\\_xed.",
        r"| data, name | a\|b \<img\> |",
        "| accuracy in 64-bit floats, test | 137 of 143 |",
        "| test set opened | 2 |",
        r"| 0 | \`ok\` |",
        "| `MDL_IN_SIZE_CM` | size, cm | 1",
        "`MDL_IS_SEX_FEMALE` female, `MDL_IS_SEX_MALE` male | no level (-1), as",
        "whole numbers",
    ):
        assert words in text
    synthetic = readme(compiled, codegen.test_vectors(compiled), "abc")
    assert "Test vectors: synthetic." in synthetic
    assert "ABC_IN_SIZE_CM" in synthetic and "MDL" not in synthetic


@pytest.mark.parametrize("number", NUMBERS)
def test_a_bundle_is_complete_and_always_the_same(tmp_path, number):
    model = models.every_kind()["linear", number]
    vectors = codegen.test_vectors(model, seed=3)
    packed = bundle(model, vectors)
    assert packed == bundle(model, codegen.test_vectors(model, seed=3))
    assert packed != bundle(model, codegen.test_vectors(model, seed=4))
    assert unpack(packed, tmp_path) == sorted(FILES + WHOLE * model.is_integer)
    text = (tmp_path / "mdl.json").read_text()
    told = {"name": "mdl", "id": codegen.model_id(model)}
    assert json.loads(text) == told | json.loads(model.to_json())
    jsonschema.validate(json.loads(text), schema(model))


@pytest.fixture(scope="module", params=[8, 16])
def quant(request, mixed_model):
    """An integer model of a table with numbers, categories and missing values."""
    return quantise(mixed_model, request.param)


def test_vectors_of_integers_try_every_kind_of_row(quant, mixed):
    real = quant.rows(mixed[0].frame)
    found = codegen.test_vectors(quant, real, n=64, source="mixed")
    kinds = {"real", "missing", "corner", "boundary", "random"}
    assert kinds <= set(found.kinds) <= {*kinds, "tie"}
    assert found.rows.dtype == f"int{quant.width}"
    assert len(found.rows) == len(np.unique(found.rows, axis=0)) == 64
    own = {row.tobytes() for row in quant.quantise(real)}
    rows, why = found.rows.astype(np.int64), np.array(found.kinds)
    assert all(row.tobytes() in own for row in rows[why == "real"])
    np.testing.assert_array_equal(found.scores, quant.scores(rows))
    assert (quant.margins(rows[why == "tie"]) == 0).all()
    tried = {tuple(row) for row in rows}
    number = [one.is_number for one in quant.inputs]
    ends = np.array([rows.min(axis=0), rows.max(axis=0)])[:, number].T
    assert (ends == container_ends(quant.width)).all()
    assert tuple(saturating_row(quant)) in tried


def test_boundary_rows_have_a_neighbour_with_another_label(quant):
    drawn = quant.quantise(sample(quant.source, 256))
    rows = np.array(neighbours(quant, drawn)["boundary"])
    assert len(rows) >= 32
    assert (np.abs(rows[::2] - rows[1::2]).sum(axis=1) == 1).all()
    assert (quant.winners(rows[::2]) != quant.winners(rows[1::2])).all()
    found = codegen.test_vectors(quant, n=64)
    near = np.array(found.kinds) == "boundary"
    assert near.sum() > 10 and set(found.winners[near]) == {0, 1}


def test_ties_are_found():
    dataset = load_dataset("iris")
    X = dataset.frame[dataset.feature_columns].to_numpy(np.float64)
    quant = quantise(compile_model(SMaLLClassifier().fit(X, dataset.y).model_), 8)
    found = codegen.test_vectors(quant)
    tied = found.rows[np.array(found.kinds) == "tie"]
    assert len(tied) > 3 and (quant.margins(tied.astype(np.int64)) == 0).all()


#: Name -> sizes of a model, and of 8 bits the bits of its sums.
MUTATED = {
    **{f"linear {seed}": ((8, 3, 2, 0.6, seed), None) for seed in range(4)},
    # Most of its rows win nowhere at random: corners tell their numbers.
    "many rows": ((8, 6, 4), None),
    "dense": ((5, 3, 1, 1.0), 32),
    "written out": ((4, 3, 1, 0.7), 16),
    "two classes": ((5, 2, 1, 0.9), 16),
    "rbf": (None, None),
    "laplacian": (None, None),
}


@pytest.mark.parametrize(
    ("name", "width"),
    [(n, w) for n in MUTATED for w in (8, 16) if (n, w) != ("many rows", 8)],
)
def test_a_changed_number_changes_a_score(name, width):
    """Of 64 exported vectors one tells each wrong number of an integer model."""
    sizes, accumulator = MUTATED[name]
    model = models.random_linear(*sizes) if sizes else models.few_anchors(name)
    accumulator = accumulator if width == 8 else None
    quant = quantise(compile_model(model), width, accumulator=accumulator)
    found = codegen.test_vectors(quant, n=64)
    rows, survivors = found.rows.astype(np.int64), []
    steps = {}
    if features := quant.find(FixedPointFeatures):  # less is less than a whole feature
        steps = {"origin": 1 << features.places, "factor": 1 << features.places}
    for operation in quant.operations:
        for name, numbers in operation.numbers.items():
            step = np.broadcast_to(steps.get(name, 1), numbers.shape).ravel()
            for place in range(numbers.size):
                other = numbers.copy()  # towards 0: never too large
                other.flat[place] -= step[place] * (np.sign(other.flat[place]) or 1)
                wrong = models.changed(quant, **{name: other})
                if np.array_equal(wrong.scores(rows), found.scores):
                    survivors.append((name, place))
    assert survivors == []


def test_the_readme_of_integers_says_what_matters(mixed_model):
    measured = {"rows": 143, "hits": 138, "interval_95": [0.92, 0.98]}
    measured |= {"same_as_float64": 141, "proved_the_same": 120, "saturated_rows": 3}
    exported = {"format": "int8", "parts": {"test": measured}}
    provenance = {"as_exported": exported, "test_set_opened": 2}
    source = replace(mixed_model, provenance=provenance, band=0.5)
    quant = quantise(source, 8, {"size, cm": SensorRange(0, 300, unit="cm*")})
    text = readme(quant, codegen.test_vectors(quant), "abc")
    more = codegen.conversion(quant, "Cortex-M0")
    for words in (
        "| test | 143 | 138 | 0.92 to 0.98 | 141 | 120 | 3 |",
        "was opened 2 times",
        "| `ABC_IN_SIZE_CM` | size, cm | cm\\* | 0 to 300 | (value - 150) ×",
        f"at most {quant.not_sure} (`ABC_NOT_SURE`)",
        f"larger than {quant.largest:,} in size",
        f"| Cortex-M0 | {more.flash:,} bytes | {more.count:,} instr",
        "Whole-number inputs avoid it",
        "a retrained model has other formulas",
        "`abc.c`, `abc.h` and `abc_quantise.c`",
        "-ffp-contract=off",
        "BLAKE2b",
    ):
        assert words in text
    plain = quantise(mixed_model, 8)
    without = readme(plain, codegen.test_vectors(plain))
    assert "MDL" not in text
    assert "Not sure" not in without and "How good" not in without


def test_the_page_speaks_of_a_value():
    compiled = compile_model(models.one_value(models.random_kernel_model, 6))
    vectors = codegen.test_vectors(compiled, codegen.sample(compiled, 50), source="x")
    assert vectors.n_real == 11
    assert (np.diff(vectors.scores[:11, 0]) >= 0).all()
    text = readme(compiled, vectors)
    assert "# A regression model of" in text
    assert "A sum of 7 similarities to anchors of 5 features (rbf similarity)" in text
    assert "float value = mdl_predict(x);" in text
    assert "On the test vectors it is proved to be within" in text
