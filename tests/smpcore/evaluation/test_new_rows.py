"""New rows: matched, answered, what is odd about them, and which are known ones."""

import numpy as np
import pandas as pd
import pytest

from smpcore import (
    SMPClassifier,
    SmpcoreError,
    load_dataset,
    prepare,
    read_table,
    split,
)
from smpcore.codegen import used_inputs
from smpcore.datasets import CleaningStep, forbid, make_dataset, read_frame
from smpcore.errors import DatasetError
from smpcore.evaluation import (
    answer_rows,
    carry_columns,
    known_rows,
    labelled,
    match_columns,
    suggest_carried,
)


@pytest.fixture(scope="module")
def learned():
    frame = load_dataset("iris").frame.copy()
    frame["site"] = ["north", "south"] * 75
    dataset = make_dataset(frame, "iris at sites", roles={"class": "target"})
    preparation = prepare(dataset, np.arange(150))
    model = SMPClassifier().fit(preparation.transform(dataset.frame), dataset.y).model_
    return dataset, preparation, model


def test_the_same_table_gets_the_same_answers(learned):
    dataset, preparation, model = learned
    shuffled = dataset.frame.iloc[:, ::-1]
    matched = match_columns(shuffled, preparation, dataset.target)
    assert matched.notices == ()
    table = answer_rows(model, preparation, matched.frame)
    X = preparation.transform(dataset.frame)
    np.testing.assert_array_equal(table["answer"], model.predict(X))
    scores = model.scores(X)
    np.testing.assert_array_equal(table.filter(like="score of").to_numpy(), scores)
    best = np.sort(scores, axis=1)
    np.testing.assert_allclose(table["margin"], best[:, -1] - best[:, -2])
    odd = ["out of range", "missing", "unseen", "not used by this model"]
    assert (table[odd] == "").all(axis=None)
    assert matched.labels.tolist() == dataset.frame[dataset.target].tolist()


def test_each_row_says_what_is_odd_about_it(learned):
    dataset, preparation, model = learned
    rows = dataset.frame.iloc[:4].copy()
    first, second = dataset.feature_columns[:2]
    rows.loc[0, first] = 1e6
    rows.loc[1, [first, second]] = np.nan
    rows.loc[2, "site"] = "west"
    table = answer_rows(model, preparation, rows)
    high = dataset.frame[first].max()
    text = f"{first} = 1000000 (above what was seen: max {high})"
    assert table["out of range"].tolist() == [text, "", "", ""]
    assert table["missing"].tolist() == ["", f"{first}; {second}", "", ""]
    assert table["unseen"].tolist() == ["", "", "site = west", ""]
    by_column = preparation.report(rows).sum().tolist()
    assert by_column == [2, 1, 1]


def test_names_that_read_the_same_are_taken_and_said(learned):
    dataset, preparation, _ = learned
    name = dataset.feature_columns[0]
    rows = dataset.frame.rename(columns={name: name.upper().replace(" ", "_")})
    matched = match_columns(rows.assign(more=1), preparation, dataset.target)
    np.testing.assert_array_equal(matched.frame[name], dataset.frame[name])
    said = " ".join(matched.notices)
    assert "was taken for" in said
    assert "Not used: 'more'" in said
    asked = rows.assign(more=1), preparation, dataset.target
    said = " ".join(match_columns(*asked, carried=["more"]).notices)
    assert "was taken for" in said and "more" not in said


def test_a_missing_column_needs_a_decision(learned):
    dataset, preparation, _ = learned
    name = dataset.feature_columns[0]
    rows = dataset.frame.drop(columns=name).assign(other=7.0)
    two = dataset.frame.rename(columns={name: name.upper()})
    two[name.replace(" ", "_")] = 0.0  # both claim one place
    for wrong, words in (
        (rows, r"no column .* say which"),
        (two, "no column"),
        (rows[:0], "no rows"),
    ):
        with pytest.raises(DatasetError, match=words):
            match_columns(wrong, preparation, dataset.target)
    filled = match_columns(rows, preparation, dataset.target, {name: None})
    assert filled.frame[name].isna().all()
    assert any("all values count as missing" in words for words in filled.notices)
    taken = match_columns(rows, preparation, dataset.target, {name: "other"})
    assert (taken.frame[name] == 7.0).all()


@pytest.fixture(scope="module")
def sparse(learned):
    """A model of two columns out of five."""
    dataset, preparation, _ = learned
    X = preparation.transform(dataset.frame)
    X[:, :2] = X[:, 4:] = 0.0
    model = SMPClassifier().fit(X, dataset.y).model_
    used = used_inputs(model, preparation)
    assert used == tuple(dataset.feature_columns[2:4])
    return dataset, preparation, model, used


def test_columns_that_the_model_does_not_use_are_optional(sparse):
    dataset, preparation, model, used = sparse
    rows = dataset.frame[list(used)].assign(site="west")
    matched = match_columns(rows, preparation, dataset.target, needed=used)
    assert matched.notices == ()
    assert matched.frame["site"].eq("west").all()
    table = answer_rows(model, preparation, matched.frame)
    X = preparation.transform(dataset.frame)
    np.testing.assert_array_equal(table["answer"], model.predict(X))
    with pytest.raises(DatasetError, match="no column 'petal length"):
        match_columns(rows.drop(columns=used[0]), preparation, "class", needed=used)


def test_values_that_the_model_does_not_use_are_named_apart(sparse):
    dataset, preparation, model, used = sparse
    rows = dataset.frame.iloc[:4].assign(site="west")
    rows[dataset.feature_columns[0]] = [np.nan, 1e6, 5.0, 5.0]
    rows.loc[2, used[0]], rows.loc[3, used[1]] = np.nan, 1e6
    table = answer_rows(model, preparation, rows)
    assert table["missing"].tolist() == ["", "", used[0], ""]
    far = table["out of range"].str.startswith(used[1])
    assert far.tolist() == [False] * 3 + [True]
    assert (table["unseen"] == "").all()
    first, *others = table["not used by this model"]
    assert others[0].startswith(f"{dataset.feature_columns[0]} = 1000000 (")
    assert first == "site = west" and others[1:] == ["site = west"] * 2
    assert others[0].endswith("; site = west")
    words = rows.assign(**{dataset.feature_columns[0]: "no number"})
    found = match_columns(words, preparation, dataset.target, needed=used)
    assert found.notices == ()


def test_labels_are_read_as_those_of_training():
    labels = pd.Series(["1", "2", None, "7", "x"])
    rows, y, notices = labelled(labels, np.array([1, 2]))
    assert rows.tolist() == [0, 1, 3]
    assert y.tolist() == [1, 2, 7]
    assert len(notices) == 2 and "never seen ('7')" in notices[1]
    rows, y, notices = labelled(pd.Series(["a", "b"]), np.array(["a", "b"]))
    assert y.tolist() == ["a", "b"]
    assert not notices


def test_a_new_file_is_cleaned_as_the_training_table_was():
    text = "age,chol,kind,y\n" + "".join(
        f"{30 + i % 40},{-9 if i % 4 == 0 else 200 + i},{'ab?'[i % 3]},{i % 2}\n"
        for i in range(60)
    )
    steps = [
        CleaningStep("age", high=60, indicator=True),
        CleaningStep("chol", codes=("-9",)),
        CleaningStep("kind", codes=("?",), levels=(("b", "a"),), impute="own level"),
        CleaningStep("y", levels=(("1", "yes"), ("0", "no"))),
    ]
    data = read_table(text.encode(), "t.csv", cleaning=steps)
    preparation = prepare(data, np.arange(data.n_samples))
    frame, _, _ = read_frame(text.replace("chol", "CHOL").encode(), "new.csv")
    found = match_columns(frame, preparation, "y")
    np.testing.assert_array_equal(
        preparation.transform(found.frame), preparation.transform(data.frame)
    )
    assert found.labels.tolist() == data.y.tolist()
    (words,) = (words for words in found.notices if words.startswith("Cleaned as"))
    assert "chol: -9 is missing (15 of 60 rows)." in words
    needed = ["age is missing"]
    with pytest.raises(SmpcoreError, match="has no column 'age'; say which"):
        match_columns(frame.drop(columns="age"), preparation, "y", needed=needed)
    only = match_columns(frame[["age"]], preparation, "y", needed=needed)
    assert (only.frame["age is missing"] == "yes").sum() == (frame["age"] > 60).sum()


@pytest.fixture
def patients():
    """Ignored: an ID without repeats, and a site with repeats; sex is forbidden."""
    frame = pd.DataFrame(
        {
            "id": [f"={i}" for i in range(40)],
            "patient": np.arange(40) // 2,
            "site": ["a", "b"] * 20,
            "pressure": np.linspace(94, 200, 40),
            "sex": ["f", "m"] * 20,
            "sick": np.arange(40) % 3 == 0,
        }
    )
    roles = {"id": "ignore", "patient": "group", "site": "ignore", "sick": "target"}
    return forbid(make_dataset(frame, "patients", roles=roles), ["sex"])


def test_columns_that_tell_rows_apart_are_carried(patients):
    columns = list(patients.frame)
    assert suggest_carried(patients, columns) == ["id", "patient"]
    assert suggest_carried(patients, ["patient", "other"]) == ["patient"]


def test_words_in_place_of_numbers_are_counted(learned):
    dataset, preparation, model = learned
    name = dataset.feature_columns[0]
    rows = dataset.frame.iloc[:3].astype({name: "object"})
    rows.loc[1, name] = "<script>"
    matched = match_columns(rows, preparation, dataset.target)
    assert any("1 of 3 values are none" in words for words in matched.notices)
    table = answer_rows(model, preparation, matched.frame)
    assert table["missing"].tolist() == ["", name, ""]


def test_carried_columns_stand_first_with_names_of_their_own():
    answers = pd.DataFrame({"answer": [1, 2], "x (file)": 0}, pd.RangeIndex(1, 3))
    frame = pd.DataFrame(
        {"answer": ["u", "v"], "answer (file)": [3, 4], "x": [5, 6]}, index=[7, 9]
    )
    carried = carry_columns(frame, ["answer", "answer (file)", "x"], answers)
    names = ["answer (file) (file)", "answer (file)", "x"]
    assert list(carried) == [*names, "answer", "x (file)"]
    assert carried.index.tolist() == [1, 2]
    assert carried[names].to_numpy().tolist() == [["u", 3, 5], ["v", 4, 6]]


def parts_of(dataset, frame, division=None):
    division = division or split(dataset)
    preparation = prepare(dataset, division.train)
    X = preparation.transform(dataset.frame)
    renamed = {name: None for name in dataset.feature_columns if name not in frame}
    matched = match_columns(frame, preparation, dataset.target, renamed)
    return known_rows(dataset, division, preparation, X, matched)


@pytest.mark.parametrize("data", ["wine", "diabetes"])
def test_each_row_is_found_in_its_part(data):
    dataset, division = load_dataset(data), split(load_dataset(data))
    shuffled = dataset.frame.sample(frac=1.0, random_state=0)
    for frame in (
        shuffled,
        shuffled.drop(columns=dataset.target),
        shuffled.drop(columns=dataset.feature_columns[3]),
    ):
        found = parts_of(dataset, frame)
        for part in ("train", "validation", "test"):
            rows = frame.index[found == part]
            assert sorted(rows) == getattr(division, part).tolist()
    first = dataset.feature_columns[0]
    near = shuffled.assign(**{first: np.nextafter(shuffled[first], np.inf)})
    assert (parts_of(dataset, near) == "").all()


@pytest.fixture
def small():
    """Few values, a category and a gap: rows repeat, also with another label."""
    frame = pd.DataFrame({"a": np.arange(60) % 3, "kind": ["u", "v"] * 30})
    frame["b"] = np.where(np.arange(60) == 7, np.nan, np.arange(60) % 7)
    frame["y"] = ["yes", "no", "no"] * 20
    roles = dict.fromkeys(["a", "kind", "b"], "feature") | {"y": "target"}
    return make_dataset(frame, "small", roles=roles)


def test_a_row_of_the_test_part_is_one_wherever_else_it_is(small):
    division = split(small)
    found = parts_of(small, small.frame, division)
    values = small.frame.fillna({"b": small.frame["b"].iloc[division.train].median()})
    keys = values.apply(tuple, axis=1)
    closed = keys.isin(set(keys.iloc[division.test]))
    assert closed.sum() > len(division.test)
    np.testing.assert_array_equal(found == "test", closed)


def test_another_label_is_another_row_and_none_is_not_compared(small):
    frame = small.frame.drop_duplicates(["a", "kind", "b"])
    turned = frame.assign(y=np.where(frame["y"] == "yes", "no", "yes"))
    assert (parts_of(small, turned) == "").all()
    for labels in ("never seen", None):
        assert (parts_of(small, frame.assign(y=labels)) != "").all()


def test_rows_in_no_part_are_told_apart():
    dataset = load_dataset("iris")
    division = split(dataset).without_row(0)
    found = parts_of(dataset, dataset.frame.iloc[[149, 0]], division)
    assert found[0] == "left out"


def test_without_any_value_nothing_is_compared(small):
    frame = pd.DataFrame({"y": ["yes", "no"]})
    assert (parts_of(small, frame) == "").all()
