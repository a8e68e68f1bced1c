"""One contract for every method: a forbidden feature has no influence at all."""

import numpy as np
import pandas as pd
import pytest

from smpcore import (
    METHODS,
    compile_model,
    contributions,
    counterfactual,
    load_dataset,
    prepare,
    split,
)
from smpcore.codegen import agreement
from smpcore.datasets import forbid, forbiddable, make_dataset
from smpcore.evaluation import match_columns


def _nominal():
    """A table whose category says nearly everything of the class."""
    rng = np.random.default_rng(0)
    town = rng.choice(["Oslo", "Rome", "Lima"], 150)
    frame = pd.DataFrame(
        {
            "town": town,
            "age": rng.normal(size=150) + (town == "Rome"),
            "size": rng.normal(size=150),
            "y": np.where(town == "Rome", "south", "north"),
        }
    )
    return make_dataset(frame, "towns", roles={"y": "target"})


DATA = {
    "iris": lambda: load_dataset("iris"),
    "towns": _nominal,
    "digits": lambda: load_dataset("digits"),
    "series": lambda: load_dataset("series"),
    "diabetes": lambda: load_dataset("diabetes"),
}
CASES = [
    (method, name)
    for method in METHODS.values()
    for name in DATA
    if ("regression" if name == "diabetes" else "classification") in method.estimators
]


class Case:
    """A method on data of which the most telling feature is forbidden."""

    def __init__(self, method, name):
        whole = DATA[name]()
        known = forbiddable(whole)
        self.gone = {"iris": "petal width (cm)", "diabetes": "bmi", "towns": "town"}
        places = list(known)
        self.name = self.gone.get(name, places[len(places) // 2])
        self.columns = known[self.name]
        self.dataset = forbid(whole, [self.name])
        self.division = split(whole)
        rows = self.division.train[:300]
        self.preparation = prepare(self.dataset, rows)
        X = self.preparation.transform(whole.frame)
        ignored = whole.with_roles(dict.fromkeys(self.columns, "ignore"))
        X_ignored = prepare(ignored, rows).transform(ignored.frame)
        self.X, self.whole, self.rows = X, whole, rows

        self.method = method
        self.model = self.fitted(X).model_
        self.ignored = self.fitted(X_ignored).model_

    def fitted(self, X):
        task, y = self.whole.task, self.whole.y
        estimator = self.method.estimator(self.method.defaults(task), task)
        return estimator.fit(X[self.rows], y[self.rows])

    def held_out(self):
        return self.whole.frame.iloc[self.division.validation]


@pytest.fixture(
    scope="module", params=CASES, ids=lambda case: f"{case[0].key}-{case[1]}"
)
def case(request):
    return Case(*request.param)


def test_its_value_changes_no_score(case):
    before = case.model.scores(case.preparation.transform(case.held_out()))
    for value in (1e9, np.nan, -3.0):
        changed = case.held_out()
        for column in case.columns:
            number = case.whole.kinds[column] == "number"
            changed[column] = value if number else "elsewhere"
        after = case.model.scores(case.preparation.transform(changed))
        assert np.array_equal(before, after)
    bare = case.held_out().drop(columns=case.columns)
    assert np.array_equal(before, case.model.scores(case.preparation.transform(bare)))


def test_allowed_it_would_have_mattered(case):
    if case.name not in case.gone.values():
        pytest.skip("a pixel or a channel may say nothing")
    preparation = prepare(case.whole, case.rows)
    X = preparation.transform(case.whole.frame)
    model = case.fitted(X).model_
    changed = case.held_out()
    column = changed[case.name]
    changed[case.name] = column.to_numpy()[::-1]
    before, after = (
        model.scores(preparation.transform(rows)) for rows in (case.held_out(), changed)
    )
    assert not np.array_equal(before, after)


def test_the_model_is_that_of_a_table_without_it(case):
    rows = case.held_out()
    X = case.preparation.transform(rows)
    assert np.array_equal(case.model.scores(X), case.ignored.scores(X))
    assert np.array_equal(case.model.anchors, case.ignored.anchors)
    assert not set(case.columns) & set(case.model.feature_names)


def test_the_c_code_does_not_ask_for_it(case):
    compiled = compile_model(case.model, case.preparation)
    assert not {given.name for given in compiled.inputs} & set(case.columns)
    raw = case.held_out().drop(columns=case.columns)
    agreed = agreement(compiled, case.model, raw, case.preparation)
    assert agreed.n_equal == len(raw)


def test_new_rows_need_not_have_it(case):
    bare = case.held_out().drop(columns=case.columns)
    found = match_columns(bare, case.preparation, case.whole.target)
    assert not any("missing" in notice for notice in found.notices)


def test_no_answer_is_explained_by_it(case):
    x = case.X[case.division.validation[0]]
    found = contributions(case.model, x, "feature")
    names, channels = case.model.feature_names, case.whole.channels
    assert len(found.parts) in (len(names), len(channels) - 1)
    assert not set(names) & set(case.columns)
    if case.model.classes is None:
        return
    flip = counterfactual(
        case.model, x, preparation=case.preparation, X=case.X[case.rows]
    )
    assert flip is None or flip.x.shape == x.shape
