"""Preparation: learned on training rows, finite whatever comes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpcore.datasets import preparation, prepare
from tests.smpcore.datasets.cases import made, refused

ROWS = np.array([0, 1, 2])


def frame():
    columns = {
        "number": [1.0, np.nan, 3.0, 100.0],
        "whole": [4, 2, 8, 1000],
        "colour": ["red", "blue", None, "green"],
        "flag": [True, False, True, False],
        "y": ["p", "q", "p", "q"],
    }
    return pd.DataFrame(columns)


def test_medians_levels_and_ranges_are_those_of_the_training_rows():
    preparation = prepare(made(frame()), ROWS)
    number, whole, colour, flag = preparation.inputs
    assert (number.fill, number.low, number.high, number.integer) == (2, 1, 3, True)
    assert (whole.fill, whole.low, whole.high, whole.integer) == (4, 2, 8, True)
    assert (colour.levels, flag.levels) == (("blue", "red"), ("False", "True"))
    places = [(one.first, one.width) for one in preparation.inputs]
    assert places == [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert preparation.feature_names == (
        *("number", "whole", "colour = red", "flag = False"),
    )
    other = frame()
    other.loc[3, ["number", "whole", "colour"]] = [-7.5, 5, "violet"]
    assert prepare(made(other), ROWS).key == preparation.key, "test rows teach nothing"
    assert prepare(made(other), np.arange(4)).key != preparation.key


def test_transform_fills_medians_and_makes_one_column_per_level():
    table = pd.concat([frame(), frame().assign(colour="green")])
    data = made(table)
    preparation = prepare(data, np.array([0, 1, 2, 4]))
    assert preparation.feature_names[2:] == (
        *("colour = blue", "colour = green", "colour = red"),
        "flag = False",
    )
    assert preparation.column_of_feature.tolist() == [0, 1, 2, 2, 2, 3]
    X = preparation.transform(data.frame.iloc[:4])
    assert X.dtype == np.float64 and X.flags.c_contiguous
    assert X[:, 2:].tolist() == [[0, 0, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 1]]
    assert X[:, 1].tolist() == [4, 2, 8, 1000]


def test_two_levels_are_one_feature_named_after_the_rarer():
    data = made({"sex": ["f", "m", "m", "f", "m", None], "y": ["p", "q"] * 3})
    new = pd.DataFrame({"sex": ["f", "m", "x", None]})
    # Of the first four rows as many are m as f: then the later level has the feature.
    for rows, name, values in (
        (np.arange(6), "sex = f", [1, 0, 0, 0]),
        (np.arange(4), "sex = m", [0, 1, 0, 0]),
        (np.array([0, 3, 4]), "sex = m", [0, 1, 0, 0]),
    ):
        preparation = prepare(data, rows)
        assert preparation.inputs[0].levels == ("f", "m")
        assert preparation.feature_names == (name,)
        assert preparation.transform(new)[:, 0].tolist() == values
    assert preparation.report(new).loc["sex"].tolist() == [1, 1, 0]


def test_report_counts_per_column():
    data = made(frame())
    preparation = prepare(data, ROWS)
    report = preparation.report(data.frame)
    # Of one column nothing else is looked at: of thousands each is asked for alone.
    alone = preparation.report_rows(data.frame[["number"]], ["number"])
    assert alone["missing"].tolist() == ["", "number", "", ""]
    assert report.index.tolist() == ["number", "whole", "colour", "flag"]
    assert report.to_numpy().tolist() == [[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0]]


def test_new_rows_may_hold_anything():
    columns = {
        "flag": [1, "True", None, object()],
        "colour": [3, "red", None, 2.5],
        "number": ["oops", "2.5", np.inf, -1e300],
        "whole": [1e308, None, True, "inf"],
        "extra": [1, 2, 3, 4],
    }
    X = prepare(made(frame()), ROWS).transform(pd.DataFrame(columns))
    assert X.T.tolist() == [[2, 2.5, 2, 2], [4] * 4, [0, 1, 0, 0], [0] * 4]


def test_number_categories_match_however_they_are_written():
    columns = {"zone": [1, 2, 1], "y": ["p", "q", "p"]}
    data = made(columns, kinds={"zone": "category"})
    preparation = prepare(data, np.arange(3))
    assert preparation.inputs[0].levels == ("1", "2")
    for zone in ([1, 2], [1.0, 2.0], ["1", "2"]):
        X = preparation.transform(pd.DataFrame({"zone": zone}))
        assert X.tolist() == [[0], [1]]


def test_absent_columns_are_named():
    preparation = prepare(made(frame()), ROWS)
    with refused("no column 'colour', 'flag'"):
        preparation.transform(frame()[["number", "whole"]])


def test_too_many_levels_or_features_are_refused():
    columns = {"t": [f"w{i}" for i in range(1500)], "y": [0, 1] * 750}
    data = made(columns, roles={"t": "feature"})
    with refused("'t' has 1,500 different values"):
        prepare(data, np.arange(1500))
    words = np.array([f"w{i}" for i in range(900)])
    columns = dict.fromkeys([f"c{j}" for j in range(23)], words)
    data = made({**columns, "y": [0, 1] * 450}, roles=dict.fromkeys(columns, "feature"))
    with refused(r"make 20,\d+ features, at most 20,000"):
        prepare(data, np.arange(900))


cells = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-(10**30), 10**30),
    st.booleans(),
    st.text(max_size=5),
)


@settings(deadline=None, max_examples=80)
@given(
    old=st.lists(st.tuples(cells, cells), min_size=2, max_size=12),
    new=st.lists(st.tuples(cells, cells), min_size=1, max_size=12),
    train=st.integers(1, 12),
    kinds=st.tuples(*[st.sampled_from(["number", "category"])] * 2),
)
def test_transform_is_always_finite(old, new, train, kinds):
    table = pd.DataFrame(old, columns=["a", "b"], dtype=object)
    table["y"] = np.arange(len(old)) % 2
    kinds, roles = dict(zip("ab", kinds, strict=True)), dict.fromkeys("ab", "feature")
    data = made(table, roles=roles, kinds=kinds)
    preparation = prepare(data, np.arange(min(train, len(old))))
    for rows in (data.frame, pd.DataFrame(new, columns=["a", "b"], dtype=object)):
        X = preparation.transform(rows)
        assert X.shape == (len(rows), preparation.n_features)
        assert np.isfinite(X).all()
        report = preparation.report(rows)
        assert (report.to_numpy() >= 0).all()
        assert (report.to_numpy().sum(axis=1) <= len(rows)).all()


@pytest.mark.parametrize("at_once", [1, 100, 2**22])
def test_numbers_are_learned_as_their_definitions_say(at_once, monkeypatch):
    monkeypatch.setattr(preparation, "LEARNED_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    values = {
        "tenths": rng.normal(size=60).round(1),
        "whole": rng.integers(0, 4, 60) * 1.0,
        "tiny": rng.normal(size=60) * 1e-9,
        "large": rng.normal(size=60) * 1e12,
        "one": np.full(60, -7.25),
        "late": np.r_[np.zeros(59), 0.125],
    }
    columns = pd.DataFrame(values)
    columns.loc[::3, "tenths"] = columns.loc[::7, "whole"] = np.nan
    columns.loc[4:, "one"] = columns["none"] = np.nan
    data = made(columns.assign(y=["u", "v"] * 30), roles={"none": "feature"})
    for spec in prepare(data, np.arange(50)).inputs:
        known = columns[spec.name][:50].dropna()
        known = known if len(known) else pd.Series([0.0])
        assert (spec.low, spec.high) == (known.min(), known.max())
        assert spec.fill == known.median()
        assert spec.integer == (known % 1 == 0).all()
        size = np.ptp(known) or abs(known.iloc[0]) or 1.0
        most = max(0, 3 - int(np.floor(np.log10(size))))
        plain = [d for d in range(most) if (known.round(d) == known).all()]
        assert spec.decimals == min([*plain, most]), spec.name
