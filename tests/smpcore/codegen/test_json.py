"""Models as JSON, as the schema says; parts that do not fit are refused in words."""

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from smpcore.codegen.describe import schema
from smpcore.errors import ExportError
from tests.smpcore.codegen.models import changed, every_kind, groups


def validator(model):
    """What tells how a text departs from the schema of a model."""
    return jsonschema.Draft202012Validator(schema(model))


@pytest.mark.parametrize("group", groups())
def test_the_text_holds_every_number_of_a_model(group):
    for model in groups()[group].values():
        content = json.loads(model.to_json())
        validator(model).validate(content)
        texts = content["operations"]
        for text, operation in zip(texts, model.operations, strict=True):
            assert text["operation"] == type(operation).__name__
            for name in operation.INDICES + operation.NUMBERS:
                numbers = getattr(operation, name)
                if numbers is not None:
                    written = np.array(text[name], numbers.dtype).reshape(numbers.shape)
                    assert written.tobytes() == numbers.tobytes()


@pytest.mark.parametrize("kind", every_kind())
def test_the_schema_refuses_what_is_missing_or_wrong(kind):
    model = every_kind()[kind]
    described, content = validator(model), json.loads(model.to_json())
    described.check_schema(described.schema)
    wrong = [{"operation": "Other"}]
    wrong += [{"bias": ["1"]}] if kind[0] != "code" else []
    texts = [content | {"operations": None}]
    texts += [
        content | {"operations": [one | entries for one in content["operations"]]}
        for entries in wrong
    ]
    for name in described.schema["required"]:
        texts.append({key: value for key, value in content.items() if key != name})
        assert (
            f"'{name}' is a required" in next(described.iter_errors(texts[-1])).message
        )
    assert not any(map(described.is_valid, texts))


#: Kind and number format -> changes of its parts, and what is said.
UNFIT = {
    ("linear", "float32"): [
        ({"inputs": []}, "inputs should not be empty"),
        ({"operations": []}, "operations should not be empty"),
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
        ({"bias": [2**40, 0, 0, 0, 0, 0]}, "bits hold"),
        ({"input": [99] * 5}, "should have an input, a level"),
        ({"start": [1]}, "start should lead through all terms"),
    ],
    ("sums", "int16"): [
        ({"input": [9] * 5}, "input should be an index of inputs"),
        ({"places": [40] * 5}, "places should be shifts"),
        ({"origin": [0]}, "should have a number for each factor"),
        ({"power": 3}, "power should be 1 or 2"),
        ({"anchor": [[1]]}, "anchor should be a table"),
        ({"row": [9] * 42}, "row should be a row"),
    ],
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
    [(kind, *case) for kind, cases in UNFIT.items() for case in cases],
)
def test_parts_that_do_not_fit_are_refused_in_words(kind, change, words):
    arrays = {n: np.array(v) if isinstance(v, list) else v for n, v in change.items()}
    with pytest.raises(ExportError, match=words):
        changed(every_kind()[kind], **arrays)


def test_a_name_that_is_no_identifier_is_refused():
    first = every_kind()["linear", "float32"].inputs[0]
    with pytest.raises(ExportError, match=r"identifier=.* should be a short identif"):
        replace(first, identifier='x */ #include "evil.h"')
