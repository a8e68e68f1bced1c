"""A cleaned table: codes, units and replacements of missing values in every export."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from smpcore import SMPClassifier, compile_model, export, prepare
from smpcore.codegen import CompiledModel
from smpcore.datasets import CleaningStep, make_dataset

N = 120
STEPS = (
    CleaningStep("chol", codes=("-9",), low=50, unit="mg/dl", impute="most frequent"),
    CleaningStep("kind", codes=("unknown",), impute="most frequent"),
    CleaningStep("age", high=60, unit="years", indicator=True),
)


@pytest.fixture(scope="module")
def learned():
    rng = np.random.default_rng(1)
    chol = rng.integers(150, 160, N)
    age = rng.integers(20, 70, N)
    kind = rng.choice(["a", "b", "b", "c", "unknown"], N)
    frame = pd.DataFrame({"chol": np.where(rng.random(N) < 0.2, -9, chol), "age": age})
    frame["kind"] = kind
    frame["y"] = ((chol > 154) ^ (kind == "c") ^ (age > 60)).astype(int)
    data = make_dataset(frame, "heart", cleaning=STEPS, roles={"y": "target"})
    preparation = prepare(data, np.arange(N))
    X = preparation.transform(data.frame)
    model = SMPClassifier(lam=1e-4, mu=1e-4).fit(X, data.y).model_
    return data, preparation, model, X


def test_missing_values_become_what_the_preparation_makes_of_them(learned):
    data, preparation, model, X = learned
    compiled = compile_model(model, preparation)
    kind = next(one for one in compiled.inputs if one.name == "kind")
    assert kind.levels[kind.missing_level] == "b"
    gone = data.frame["kind"].isna().to_numpy()
    values = kind.read(data.frame["kind"])
    assert gone.any() and (values[gone] == kind.missing_level).all()
    assert kind.read(["never seen"]).tolist() == [-1]
    rows = compiled.rows(data.frame)
    answers = compiled.predict(rows)
    labels = [compiled.labels[k] for k in answers]
    assert labels == [str(label) for label in model.predict(X)]


def test_units_and_steps_are_in_json_and_readme(learned):
    _, preparation, model, _ = learned
    compiled = compile_model(model, preparation)
    units = {one.name: one.unit for one in compiled.inputs}
    assert (units["chol"], units["age"], units["kind"]) == ("mg/dl", "years", "")
    content = json.loads(compiled.to_json())
    chol = next(one for one in content["inputs"] if one["name"] == "chol")
    assert chol["unit"] == "mg/dl" and chol["cleaning"][0] == "chol: -9 is missing."
    again = CompiledModel.from_json(compiled.to_json())
    assert [one.cleaning for one in again.inputs] == [
        one.cleaning for one in compiled.inputs
    ]


@pytest.mark.parametrize("target", ["c99", "python"])
@pytest.mark.parametrize("number", ["float32", "int16"])
def test_the_readme_says_what_counts_as_missing(target, number, learned):
    if (target, number) == ("python", "float32"):
        return
    _, preparation, model, _ = learned
    archive = zipfile.ZipFile(
        io.BytesIO(export(model, preparation, target, number, "heart"))
    )
    (name,) = (n for n in archive.namelist() if n.endswith("README.md"))
    text = archive.read(name).decode().replace("\\", "")
    assert "- chol: -9 is missing." in text
    assert "- chol: values below 50 mg/dl are missing." in text
    assert "- kind: 'unknown' is missing." in text
    assert "`HEART_IS_KIND_B`" in text or "| 1 |" in text
