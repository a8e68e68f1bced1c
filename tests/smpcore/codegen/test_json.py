"""Models as JSON: back bit for bit, as the schema says, and refused in words."""

import json

import jsonschema
import numpy as np
import pytest

from smpcore.codegen import CompiledModel, QuantModel
from smpcore.codegen.describe import schema
from smpcore.codegen.probability import ONE
from smpcore.errors import ExportError
from tests.smpcore.codegen.models import every_kind, groups, spoiled


def validator(model):
    """What tells how a text departs from the schema of a model."""
    return jsonschema.Draft202012Validator(schema(model))


@pytest.mark.parametrize("group", groups())
def test_every_model_comes_back_bit_for_bit(group):
    for model in groups()[group].values():
        text = model.to_json()
        again = type(model).from_json(text)
        assert again.to_json() == text
        assert again.source.inputs == model.source.inputs
        for one, other in zip(again.operations, model.operations, strict=True):
            for name, numbers in other.numbers.items():
                assert one.numbers[name].tobytes() == numbers.tobytes()
        validator(model).validate(json.loads(text))


@pytest.mark.parametrize("kind", every_kind())
def test_the_schema_refuses_what_is_missing_or_wrong(kind):
    model = every_kind()[kind]
    described, content = validator(model), json.loads(model.to_json())
    described.check_schema(described.schema)
    wrong = [{"operation": "Other"}, {"operations": None}]
    wrong += [{"bias": ["1"]}] if kind[0] != "code" else []
    texts = [json.loads(spoiled(content, **entries)) for entries in wrong]
    for name in described.schema["required"]:
        texts.append({key: value for key, value in content.items() if key != name})
        assert (
            f"'{name}' is a required" in next(described.iter_errors(texts[-1])).message
        )
    assert not any(map(described.is_valid, texts))


#: Kind and number format -> changes of its text, and what is said.
SPOILED = {
    ("linear", "float32"): [
        ({"schema": 1}, "schema should be 2"),
        ({"extra": 1}, "wrong entry: .*extra"),
        ({"inputs": []}, "inputs should not be empty"),
        ({"inputs": [{"name": "a"}]}, "wrong entry: .*missing"),
        ({"operations": []}, "operations should not be empty"),
        ({"operation": "Sums"}, "operation='Sums' should be one of"),
        ({"bias": ["a"]}, "wrong entry"),
        ({"bias": [0.0] * 5}, "start should lead"),
        ({"bias": [1e300] * 6}, "finite"),
        ({"prototype_labels": [0, 0, 0, 1, 1, 2]}, "should name a class"),
        ({"prototype_labels": [0] * 6}, "and every class"),
        ({"prototype_labels": [1, 0, 0, 1, 1, 1]}, "ascending"),
        ({"input": [99] * 36}, "index of inputs"),
        ({"level": [0] * 36}, "level of its input"),
        ({"weight": [1.0] * 35}, "a level and a weight"),
        ({"fallback": 3}, "fallback should be a class index"),
        ({"classes": None, "prototype_labels": [0] * 6}, "bias should be one number"),
    ],
    ("sums", "float32"): [
        ({"similarity": "gak"}, r"similarity should be one of \['cosine', 'features'"),
        ({"similarity": ["rbf"]}, "wrong entry"),
        ({"anchor": [[1.0], [2.0]]}, "anchor should be a table"),
        ({"anchor": 1.0}, "anchor should be a table"),
        ({"constant": [0.0]}, "constant should have a number for each anchor"),
        ({"factor": [-1.0] * 5}, "factor should be above 0"),
        ({"factor": [1e39] * 5}, "should be finite"),
        ({"level": [0] * 5}, "level should be a level of its input"),
        ({"input": [4, 3, 2, 1, 0]}, "should be all inputs in order"),
        ({"start": [0]}, "start should lead through all terms"),
        ({"row": [6] * 42}, "row should be a row"),
        ({"row": [0] * 42}, "ascending within an anchor"),
        ({"degree": 0}, "degree should be a whole number from 1 on"),
        ({"n_training_rows": 1.5}, "n_training_rows should be a whole number"),
    ],
    ("linear", "int8"): [
        ({"operation": "Other"}, "operation='Other' should be one of"),
        ({"schema": 7}, "schema should be 2"),
        ({"weight": "x"}, "wrong entry"),
        ({"more": 1}, "wrong entry"),
        ({"bias": [2**40, 0, 0, 0, 0, 0]}, "bits hold"),
        ({"input": [99] * 5}, "should have an input, a level"),
        ({"start": [1]}, "start should lead through all terms"),
        ({"source": {}}, "schema should be"),
    ],
    ("sums", "int16"): [
        ({"input": [9] * 5}, "input should be an index of inputs"),
        ({"places": [40] * 5}, "places should be shifts"),
        ({"origin": [0]}, "should have a number for each factor"),
        ({"power": 3}, "power should be 1 or 2"),
        ({"anchor": [[1]]}, "anchor should be a table"),
        ({"row": [9] * 42}, "row should be a row"),
        ({"exp2": {}}, "wrong entry"),
    ],
    ("calibrated", "float32"): [({"probability": {"value": [ONE]}}, "wrong entry")],
    ("code", "float32"): [
        ({"gram": np.eye(5).tolist()}, "gram should be symmetric"),
        ({"gram": np.triu(np.ones((6, 6))).tolist()}, "gram should be symmetric"),
        ({"votes": np.ones((5, 2)).tolist()}, "votes should have a number"),
        ({"votes": np.ones((6, 3)).tolist()}, "should give 2 scores"),
        ({"size": 0}, "size should be a whole number"),
        ({"fallback": 2}, "fallback should be an output"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [(kind, *case) for kind, cases in SPOILED.items() for case in cases],
)
def test_spoiled_text_is_refused_in_words(kind, change, words):
    model = every_kind()[kind]
    content = json.loads(model.to_json())
    with pytest.raises(ExportError, match=words):
        type(model).from_json(spoiled(content, **change))


def test_what_is_no_model_is_refused_in_words():
    compiled, quant = every_kind()["linear", "float32"], every_kind()["linear", "int8"]
    for text, words in (("{", "not valid JSON"), ("[1]", "schema should be 2")):
        for kind in (CompiledModel, QuantModel):
            with pytest.raises(ExportError, match=words):
                kind.from_json(text)
    with pytest.raises(ExportError, match=r"read by CompiledModel\.from_json"):
        QuantModel.from_json(compiled.to_json())
    with pytest.raises(ExportError, match=r"read by QuantModel\.from_json"):
        CompiledModel.from_json(quant.to_json())
    content = json.loads(compiled.to_json())
    content["inputs"][0]["identifier"] = 'x */ #include "evil.h"'
    with pytest.raises(ExportError, match=r"identifier=.* should be a short identif"):
        CompiledModel.from_json(json.dumps(content))
