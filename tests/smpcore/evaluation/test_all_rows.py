"""A fit of all rows of a file: which rows it sees, and what is refused."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from smpcore import SMPClassifier, SuperSparseRegressor, read_table
from smpcore.datasets import limits, prepare
from smpcore.errors import DatasetError
from smpcore.evaluation import fit_all_rows

N_ROWS = 3000


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    y = random.integers(2, size=N_ROWS)
    numbers = {name: random.normal(size=N_ROWS) + y for name in ("a", "b")}
    words = np.where(random.random(N_ROWS) < 0.5, "x", "z")
    return pd.DataFrame(numbers).assign(word=words, label=np.where(y, "yes", "no"))


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_ROWS", 1000)
    monkeypatch.setattr("smpcore.datasets.parquet.MOST_ROWS", 200)
    monkeypatch.setattr("smpcore.datasets.parquet.LEAST_ROWS", 200)

    def save(frame, **options):
        path = tmp_path / "large.parquet"
        frame.to_parquet(path, row_group_size=500)
        with path.open("rb") as file:
            return path, read_table(file, "large.parquet", sample=True, **options)

    return save


def fit(path, dataset, stop=0, estimator=None):
    flags, estimator = (np.array([stop]), np.zeros(1)), estimator or SMPClassifier()
    return fit_all_rows(path, dataset, estimator, 0.25, 3, *flags)


def rows_left_out(dataset):
    """A quarter of the rows, but none of the sample."""
    chosen = np.random.default_rng(3).random(N_ROWS) < 0.25
    chosen[dataset.row_numbers(np.arange(dataset.n_samples)) - 1] = False
    return chosen


@pytest.mark.parametrize(
    ("yes", "no"),
    [(True, False), (Decimal(2), Decimal(1)), (date(2026, 1, 2), date(2026, 1, 1))],
    ids=str,
)
def test_classes_are_called_as_in_the_table_whatever_the_file_holds(
    yes, no, frame, saved
):
    label = [yes if answer == "yes" else no for answer in frame["label"]]
    table, roles = frame[["a", "b"]].assign(label=label), {"label": "target"}
    path, dataset = saved(table, roles=roles)  # two days are no usual classes
    found = fit(path, dataset).estimator.classes_
    np.testing.assert_array_equal(found, np.unique(dataset.frame["label"]))


def test_numbers_are_predicted_and_rows_without_one_left_out(frame, saved):
    noise = np.random.default_rng(1).normal(size=N_ROWS)
    numbers = frame[["a", "b"]].assign(target=2.0 * frame["a"] + noise)
    numbers.loc[7::20, "target"] = None
    path, dataset = saved(numbers)
    fitted = fit(path, dataset, estimator=SuperSparseRegressor(3))
    known, left_out = numbers["target"].notna().to_numpy(), rows_left_out(dataset)
    X, y = frame[["a", "b"]], numbers["target"].to_numpy()
    usual = SuperSparseRegressor(3).fit(X[known & ~left_out], y[known & ~left_out])
    errors = np.abs(usual.predict(X[left_out & known]) - y[left_out & known])
    assert fitted.n_train == (known & ~left_out).sum()
    assert fitted.scores.rows == (known & left_out).sum()
    assert fitted.scores.mae == pytest.approx(errors.mean(), rel=1e-2)


def test_it_stops(frame, saved):
    assert fit(*saved(frame.drop(columns="word")), stop=1) is None


def test_columns_become_features_as_in_the_sample(frame, saved):
    """Categories, decimals and missing values too: a table of an operator has them."""
    rest = np.arange(N_ROWS) % 7
    frame["a"] = [Decimal(f"{value:.3f}") for value in frame["a"]]
    frame.loc[3::11, "a"] = frame.loc[4::11, "word"] = None
    frame["b"] = frame["b"].where(rest != 2, np.inf)
    frame["flag"] = [None if i == 5 else bool(i > 2) for i in rest]
    frame["kind"] = pd.Categorical.from_codes(rest % 3, ["k", "l", "m"])
    path, dataset = saved(frame)
    fitted = fit(path, dataset)
    table = dataset.frame.iloc[:0].copy()
    for name in dataset.feature_columns:
        column = frame[name]
        is_number = dataset.kinds[name] == "number"
        table[name] = column.astype(float) if is_number else column.astype("str")
    X = prepare(dataset, np.arange(dataset.n_samples)).transform(table)
    y, left_out = frame["label"].to_numpy(), rows_left_out(dataset)
    assert (fitted.n_train, fitted.scores.rows) == ((~left_out).sum(), left_out.sum())
    usual = SMPClassifier().fit(X[~left_out], y[~left_out])
    assert fitted.estimator.objective_ == pytest.approx(usual.objective_, rel=1e-9)
    assert fitted.scores.hits == (usual.predict(X[left_out]) == y[left_out]).sum()
    assert {"flag = True", "kind = k"} <= {*fitted.estimator.model_.feature_names}


def test_a_file_that_was_damaged_or_changed_since_is_named(frame, saved):
    """Its sample is still on the screen."""
    path, dataset = saved(frame.drop(columns="word"))
    for other in (frame.drop(columns=["word", "a"]), frame.drop(columns="word")[:2000]):
        other.to_parquet(path)
        with pytest.raises(DatasetError, match="has changed since its sample was read"):
            fit(path, dataset)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(DatasetError, match="cut off or damaged"):
        fit(path, dataset)


def test_rows_of_a_file_are_not_learned_from_as_if_they_weighed_alike(frame, saved):
    path, dataset = saved(frame.assign(w=1.0 + np.arange(N_ROWS) % 3))
    with pytest.raises(DatasetError, match="learned from without weights; give"):
        fit(path, dataset.with_roles({"w": "weight"}))
