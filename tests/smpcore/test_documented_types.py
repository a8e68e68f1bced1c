"""Each documented type of each setting of an estimator is taken."""

import ast
import inspect
import re
import warnings

import numpy as np
import pytest
from sklearn.base import RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge

import smpcore


def documented(documentation):
    """Parameters in a docstring, each with its type in the docstring's words."""
    text = inspect.cleandoc(documentation or "")
    part = re.search(
        r"(?:Parameters|Attributes)\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-|\Z)", text, re.S
    )
    found = re.findall(r"^(\w[\w, ]*) : (.*)$", part[1] if part else "", re.M)
    return {name: kind for names, kind in found for name in names.split(", ")}


def alternatives(kind):
    """Types that a docstring allows: "int or None" are two, {"a", "b"} are, too."""
    kind = re.sub(r"(,| of)? shape \([^)]*\)", "", kind)
    kind = re.sub(r", (optional|default.*|user's units)$", "", kind)
    values = [
        v for inside in re.findall(r"\{(.*?)\}", kind) for v in inside.split(", ")
    ]
    rest = re.sub(r"\{.*?\}(, | or )?", "", kind)
    split = re.split(r",? or (?:of )?|, (?![^(]*\))", rest)
    return [*values, *(word for word in split if word)]


#: Documented type -> a value of it, of settings whose default is another one.
SETTINGS = {
    "row_code_size": {"int": 5},
    "n_prototypes": {"int": 2},
    "kappa": {"float": 1.0},
    "n_neighbors": {"int": 3},
    "landmarks": {"int": 10},
    "gamma": {"float": 0.5},
    "n_init": {"int": 1},
    "teacher_alpha": {"float": 0.1},
    "class_weight": {"dict": {0: 1.0, 1: 2.0}},
    "class_prototypes": {"dict": {0: 1, 1: 2}},
    "class_lam": {"dict": {0: 1.0, 1: 2.0}},
    "positive_class": {"label": 1},
    "supports": {"lists": [[0, 1, 2], [0, 1, 2]]},
    "similarity": {"callable": lambda X, anchors: X @ anchors.T},
    "box": {"(low, high)": (-3.0, 3.0)},
    "random_state": {"RandomState": np.random.RandomState(0)},
}


@pytest.mark.parametrize(
    "estimator",
    [
        estimator
        for name in smpcore.__all__
        if hasattr(estimator := getattr(smpcore, name), "fit")
    ],
)
def test_each_documented_setting_of_an_estimator_is_taken(estimator):
    X = np.random.default_rng(0).normal(size=(24, 2))
    y = X[:, 0] if issubclass(estimator, RegressorMixin) else np.arange(len(X)) % 2
    usual = estimator().get_params()
    for name, kind in documented(estimator.__doc__).items():
        for word in alternatives(kind):
            value = _setting(estimator, name, word, usual[name])
            rows = np.eye(len(X)) if value == "precomputed" else X
            needed = {n: v for n, v in _needed(name, value).items() if n in usual}
            with warnings.catch_warnings(action="ignore"):
                estimator(**needed | {name: value}).fit(rows, y)


def _needed(name, value):
    """Other settings without which a value means nothing."""
    if name == "landmarks" and value:
        return {"kernel": "rbf"}
    return {"standardize": False} if value in ("precomputed", "gak") else {}


def _setting(estimator, name, word, usual):
    """A value of a documented type: the default, if that is of it."""
    if word[:1] in "\"'" or word == "None":
        return ast.literal_eval(word)
    if word == type(usual).__name__:
        return usual
    if word == "estimator":
        return (
            Ridge() if issubclass(estimator, RegressorMixin) else LogisticRegression()
        )
    return SETTINGS[name][word]
