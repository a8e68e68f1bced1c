"""Each documented type of each argument of the face, and of what reads files, is taken.

A type that a docstring names and the tables here do not fails, and so does a type here
that no docstring names.
"""

import ast
import inspect
import io
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge

import smpcore
from smpcore import codegen, datasets
from smpcore.datasets import CleaningStep, openml_sets
from smpcore.datasets.reading import ReadingOptions
from smpcore.evaluation import folds, method_path
from smpcore.report import Page

ROWS = [(0.5 * i, i % 3, i % 2) for i in range(24)]
CSV = ("v,w,class\n" + "".join(f"{v},{w},{c}\n" for v, w, c in ROWS)).encode()
LONG = "sample,time,x,y\n" + "".join(
    f"{i // 3},{i % 3},{i},{'ab'[i // 3 % 2]}\n" for i in range(18)
)
ONE = np.zeros(1, dtype=np.int64)


def _npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


SQUARE = _npz(k=np.eye(4), y=np.array([0, 1, 0, 1]))
MATRICES = datasets.read_matrices(SQUARE, "k.npz")


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


@pytest.mark.parametrize(
    "kind, found",
    [
        ("int or None, default=None", ["int", "None"]),
        ('None, "balanced" or dict, default=None', ["None", '"balanced"', "dict"]),
        ('{"labels", "teacher"} or estimator', ['"labels"', '"teacher"', "estimator"]),
        ("bool or (str, str, str)", ["bool", "(str, str, str)"]),
        ("(low, high) of ndarray of shape (n,), optional", ["(low, high) of ndarray"]),
        ("ndarray of int, shape (1,), optional", ["ndarray of int"]),
    ],
)
def test_types_are_cut_apart(kind, found):
    assert alternatives(kind) == found


@cache
def _fixtures():
    """A table, and a model of it with what was made on the way."""
    data = smpcore.read_table(CSV, "t.csv")
    preparation = smpcore.prepare(data, np.arange(data.n_samples))
    X = preparation.transform(data.frame)
    model = smpcore.SMPClassifier().fit(X, data.y).model_
    return data, preparation, X, model


def _sources(content):
    return {"bytes": content, "binary file": partial(io.BytesIO, content)}


def _of_models():
    """Function -> argument -> type in the docstring's words -> a value of it."""
    data, preparation, X, model = _fixtures()
    compiled = smpcore.compile_model(model, preparation)
    ranges = {"v": codegen.SensorRange(0.0, 20.0)}
    these = {"model": {"PrototypeModel": model}}
    prepared = {"preparation": {"Preparation": preparation}}
    origin = {"provenance": {"mapping": {"data": {"name": "t"}}}}
    row = {"ndarray": X[0]}
    counts = {name: codegen.Counts(0.1) for name in "vw"}
    vectors = codegen.test_vectors(compiled, n=4)
    page = Page(
        "t", {"Data": "t"}, portraits=np.zeros((len(model.bias), 2)), signed=True
    )
    of_ranges = {"ranges": {"mapping of str to SensorRange": ranges}}
    return {
        smpcore.compile_model: these | prepared | origin,
        smpcore.contributions: these
        | {"x": row}
        | {"by": {f'"{by}"': by for by in ("column", "feature", "case", "prototype")}}
        | prepared,
        smpcore.counterfactual: these
        | {"x": row}
        | {"bounds": {"(low, high) of ndarray": (X.min(axis=0), X.max(axis=0))}}
        | {"frozen": {"sequence of int": [0]}, "X": {"ndarray": X}}
        | prepared,
        smpcore.evaluate: these
        | {"X": {"ndarray": X}}
        | {"y": {"ndarray": data.y, "labels; numbers for regression": data.y}}
        | {"clusters": {"ndarray of int": np.arange(len(X)) // 2}}
        | {"weights": {"ndarray": np.ones(len(X))}},
        smpcore.export: these
        | {"target": {"str": "c99"}, "name": {"str": "small"}}
        | {"number": {f'"{n}"': n for n in ("float32", "int16", "int8")}}
        | {"vectors": {"int": 4, "TestVectors": vectors}}
        | {"real_rows": {"DataFrame": data.frame}}
        | {"counts": {"mapping of str to Counts": counts}}
        | (prepared | of_ranges | origin),
        smpcore.quantise: {"compiled": {"CompiledModel": compiled}}
        | {"width": {"8": 8, "16": 16}, "widen": {"float": 0.5}}
        | {"accumulator": {"16": 16, "32": 32}}
        | of_ranges,
        smpcore.report: these | {"page": {"Page": page}},
        smpcore.stability: these
        | {"others": {"sequence of PrototypeModel": [model, model]}}
        | prepared,
    }


def _of_tables(folder):
    """As `_of_models`."""
    data, *_ = _fixtures()
    parts = smpcore.split(data)
    file = folder / "t.parquet"
    pq.write_table(pa.table(data.frame), file)
    text = {"str": "t.csv"}
    words = "mapping of str to str"
    step = CleaningStep("v", codes=("1",))
    as_json = datasets.steps_to_json([step])
    path = method_path("smp", data, parts.train, n_points=2)
    return {
        smpcore.read_table: {"source": _sources(CSV), "filename": text}
        | {"kinds": {words: {"w": "category"}}, "roles": {words: {"w": "ignore"}}}
        | {"task": {f'"{t}"': t for t in ("classification", "regression")}}
        | {
            "cleaning": {
                "iterable of CleaningStep": (step,),
                "what `steps_to_json` writes": as_json,
            }
        },
        datasets.read_kernels: {"source": _sources(SQUARE), "n_samples": {"int": 4}},
        datasets.read_matrices: {"source": _sources(SQUARE), "filename": text}
        | {"indefinite": {f'"{i}"': i for i in ("refuse", "shift", "keep")}}
        | {"normalise": {"bool": True}},
        datasets.read_similarities: {
            "source": _sources(SQUARE),
            "dataset": {"Dataset": MATRICES},
        },
        datasets.file_statistics: {"path": {"Path": file}}
        | {"target": {"str": "class", "None": None}}
        | {"stop": {"ndarray of int64": ONE}}
        | {"progress": {"ndarray of float64": np.zeros(1)}},
        datasets.ParquetRows: {"path": {"str": str(file), "PathLike": file}}
        | {"columns": {"sequence of str": ["v", "w"]}}
        | {"rows": {"ndarray of int": np.arange(4)}},
        smpcore.fetch_openml: {name: {"int": 1} for name in ("number",)}
        | {"seconds": {"float": 1.0}, "stop": {"ndarray of int": ONE}}
        | {"doing": {"callable": print}, "read": {"callable": lambda *_: data}},
        smpcore.load_dataset: {"key": {"str": "moons"}},
        smpcore.prepare: {
            "dataset": {"Dataset": data},
            "rows": {"ndarray of int": parts.train},
        },
        smpcore.split: {"dataset": {"Dataset": data}, "validation": {"float": 0.3}}
        | {"test": {"float": 0.2}, "seed": {"int": 1}},
        smpcore.sweep: {"dataset": {"Dataset": data}}
        | {"drawn": {"sequence of Fold": folds(data, parts.with_censored, 2)}}
        | {"paths": {"sequence of ParameterPath": [path]}}
        | {"mode": {f'"{mode}"': mode for mode in ("preview", "warm", "cold")}}
        | {"executor": {"Executor": ThreadPoolExecutor(1)}}
        | {"stop": {"ndarray of int64": ONE}, "done": {"collection of tuple": set()}},
    }


def _value(value):
    """What a table holds; a file is made anew for each call."""
    return value() if isinstance(value, partial) else value


def _check(documentation, values):
    """The table has each documented type, and no other."""
    kinds = {name: alternatives(k) for name, k in documented(documentation).items()}
    assert {name: [*of] for name, of in values.items()} == kinds


def _calls(function, values):
    """Arguments of a call for each type; all others as they are first documented."""
    needed = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        # Some values of other arguments need these.
        if (name in values and parameter.default is parameter.empty)
        or name in values.keys() & {"preparation", "width"}
    ]
    usual = {name: next(iter(values[name].values())) for name in needed}
    for name, of_types in values.items():
        # What reads bytes and files reads both with each of its options.
        sources = values.get("source", {"": None}).values()
        for value, source in product(of_types.values(), sources):
            given = {"source": source} if "source" in values else {}
            arguments = usual | given | {name: value}
            yield {name: _value(value) for name, value in arguments.items()}


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """OpenML has sent a file."""
    file = tmp_path / "t.arff"
    rows = "\n".join(f"{v},{w},{c}" for v, w, c in ROWS)
    names = "@attribute v real\n@attribute w real\n@attribute class {0,1}\n"
    file.write_text(f"@relation t\n{names}@data\n{rows}\n")
    done = {"path": file, "target": "class", "ignored": [], "name": "t", "version": 1}
    monkeypatch.setattr(openml_sets, "_ask", lambda *_: done)


def test_each_documented_type_is_taken(tmp_path, offline):
    table = _of_models() | _of_tables(tmp_path)
    face = [getattr(smpcore, name) for name in smpcore.__all__]
    takes = {
        f for f in face if inspect.isfunction(f) and inspect.signature(f).parameters
    }
    assert takes <= {*table}
    readers = {f for n in datasets.__all__ if takes_a_file(f := getattr(datasets, n))}
    assert readers <= {*table, *_AS_READ_TABLE}
    for function, values in table.items():
        _check(function.__doc__, values)
        for arguments in _calls(function, values):
            made = function(**arguments)
            assert not inspect.isgenerator(made) or list(made)


def takes_a_file(function):
    """Whether one of its arguments is the content of a file, or the place of one."""
    names = inspect.signature(function).parameters if callable(function) else ()
    return not {"source", "path", "data"}.isdisjoint(names) and function.__module__ != (
        "smpcore.datasets.dataset"
    )


#: Its docstring says so.
_AS_READ_TABLE = {datasets.read_frame}
OPTIONS = {
    "delimiter": {"str": ","},
    "decimal": {"str": "."},
    "encoding": {"str": "utf-8"},
    "header": {"bool": True},
    "series": {"bool": True, "(str, str, str)": ("sample", "time", "y")},
    "n_times": {"int": 2},
    "sample": {"bool": True},
}


@pytest.mark.parametrize("reader", [smpcore.read_table, datasets.read_frame])
def test_each_option_of_a_reader_is_taken_with_bytes_and_with_files(reader):
    _check(ReadingOptions.__doc__, OPTIONS)
    for name, of_types in OPTIONS.items():
        content = LONG.encode() if name in ("series", "n_times") else CSV
        more = {"series": True} if name == "n_times" else {}
        for value, source in product(of_types.values(), _sources(content).values()):
            reader(_value(source), "t.csv", **more, **{name: value})


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
    X = _fixtures()[2]
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
