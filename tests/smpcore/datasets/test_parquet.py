"""Parquet: rows a piece at a time, a sample, and statistics of all rows."""

import io
import pickle
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smpcore import read_table
from smpcore.datasets import file_statistics, limits, parquet, parquet_rows
from smpcore.datasets.columns import as_text
from smpcore.datasets.parquet import read_parquet
from smpcore.datasets.parquet_rows import ParquetRows
from tests.smpcore.datasets.cases import refused

NAMES = ["a", "b", "c"]


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(1000, 3))


@pytest.fixture
def saved(tmp_path, table):
    frame = pd.DataFrame(table, columns=NAMES).assign(kind="text")
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    return tmp_path / "rows.parquet"


def test_rows_are_those_of_the_table(saved, table):
    rows = ParquetRows(saved, NAMES)
    assert (rows.shape, rows.ndim, rows.dtype) == ((1000, 3), 2, np.float64)
    for part in (slice(0, 5), slice(60, 300), slice(995, 2000), slice(None), slice(0)):
        np.testing.assert_array_equal(rows[part], table[part])
    some = np.array([0, 3, 69, 70, 70, 500, 999])
    np.testing.assert_array_equal(rows[some], table[some])
    np.testing.assert_array_equal(rows[50:200, [2, 0]], table[50:200, [2, 0]])
    np.testing.assert_array_equal(np.asarray(rows), table)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rows))[:9], table[:9])
    assert rows.frame(slice(2)).columns.tolist() == NAMES


def test_columns_come_in_the_order_asked_for(saved, table):
    np.testing.assert_array_equal(ParquetRows(saved, ["c", "a"])[:], table[:, [2, 0]])


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, np.uint8])
def test_other_numbers_become_float64(tmp_path, kind):
    frame = pd.DataFrame({"a": np.arange(100).astype(kind)})
    frame.to_parquet(tmp_path / "rows.parquet")
    found = ParquetRows(tmp_path / "rows.parquet")[:]
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found[:, 0], np.arange(100))


def test_rows_that_follow_each_other_decode_each_group_once(saved, monkeypatch):
    rows, read = ParquetRows(saved, NAMES), []
    usual = pq.ParquetFile.read_row_group

    def counted(file, group, **options):
        read.append(group)
        return usual(file, group, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    for first in range(0, 1000, 16):
        rows[first : first + 16]
    assert read == list(range(15))


def columns_in(folder, **columns):
    pd.DataFrame(columns).to_parquet(folder / "rows.parquet", row_group_size=2)
    return folder / "rows.parquet"


REFUSED = {
    "no such column": (["a", "d"], "has no column .*d.*; it has .*: name some of"),
    "text": (
        ["t"],
        "Column 't' of rows.parquet holds .*string and should hold numbers",
    ),
    "a null": (["b"], "Column 'b' of rows.parquet has no value in row 3; leave such"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_column_is_refused_with_its_place(tmp_path, case):
    columns, words = REFUSED[case]
    lacking = pd.array([1, 2, 3, None], dtype="Int64")
    path = columns_in(tmp_path, a=[1.0, 2.0, 3.0, 4.0], b=lacking, t=list("wxyz"))
    with refused(words):
        ParquetRows(path, columns)[:]


def test_a_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"a,b\n1,2\n")
    for name in ("rows.parquet", "nowhere.parquet"):
        with refused(f"{name} cannot be read as a Parquet"):
            ParquetRows(tmp_path / name)
    with refused("has no rows; choose one with rows"):
        ParquetRows(columns_in(tmp_path, a=np.empty(0)))


def test_a_damaged_row_group_is_refused_when_it_is_read(saved):
    data = bytearray(saved.read_bytes())
    data[4 : len(data) // 2] = bytes(len(data) // 2 - 4)
    saved.write_bytes(data)
    with refused("Row 0 and those after it cannot be read"):
        ParquetRows(saved, NAMES)[:10]


def test_what_would_not_fit_into_memory_is_refused(saved, monkeypatch):
    monkeypatch.setattr(parquet_rows, "MOST_ARRAY_BYTES", 2000)
    rows = ParquetRows(saved, NAMES)
    with refused(r"1,000 rows of rows\.parquet would take"):
        np.asarray(rows)
    monkeypatch.setattr(parquet_rows, "MOST_ARRAY_BYTES", 1000)
    words = re.escape("A row group of rows.parquet has 70 rows")
    with refused(words + ".*row_group_size=100_000"):
        ParquetRows(saved, NAMES)


def test_rows_out_of_order_are_refused(saved):
    rows = ParquetRows(saved, NAMES)
    with refused("ascending order, from 0 on; sort the row"):
        rows[np.array([5, 3])]
    with refused(r"in steps of 2 .* use a step of 1"):
        rows[::2]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A file of more than 1,000 rows is large, and 200 of them are drawn."""
    monkeypatch.setattr(limits, "MAX_ROWS", 1_000)
    monkeypatch.setattr(parquet, "MOST_ROWS", 200)
    monkeypatch.setattr(parquet, "LEAST_ROWS", 20)


def a_frame(n_rows=2_000):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(n_rows, 3)), columns=list("abc"))
    shares = random.choice(["no", "yes", "rare"], n_rows, p=[0.7, 0.27, 0.03])
    return frame.assign(place=np.arange(n_rows) * 0.5, label=shares)


def written(frame, group=100):
    file = io.BytesIO()
    frame.to_parquet(file, row_group_size=group)
    return file


def sample(frame, group=100):
    return read_table(written(frame, group), "t.parquet", sample=True)


def test_each_class_has_its_share_of_all_rows():
    frame = a_frame()
    dataset = sample(frame)
    counts = frame["label"].value_counts()
    assert dataset.frame["label"].value_counts().to_dict() == {
        name: round(count / 10) for name, count in counts.items()
    }
    assert dataset.reading.sampled_from == 2_000
    assert dataset.notices[0] == (
        "A sample: 199 of 2,000 rows, drawn by the classes of 'label' with shares "
        "as in all rows, from 20 of 20 row groups."
    )


def test_the_numbers_of_the_rows_are_those_of_the_file_whatever_their_roles():
    frame = a_frame()
    frame.loc[::7, "a"] = np.nan
    dataset = sample(frame)
    for table in (dataset, dataset.with_roles({"a": "target"})):
        places = table.row_numbers(np.arange(table.n_samples)) - 1
        np.testing.assert_array_equal(places, 2 * table.frame["place"])
    assert table.n_samples < dataset.n_samples


def test_the_same_file_gives_the_same_sample_and_python_reads_it_again():
    dataset = sample(a_frame())
    again = read_table(written(a_frame()), "t.parquet", **dataset.reading.options())
    assert again.digest == dataset.digest


def test_only_some_row_groups_are_read_and_one_for_a_class_that_they_lack(monkeypatch):
    frame = a_frame()
    size = pq.ParquetFile(written(frame)).metadata.row_group(0).total_byte_size
    monkeypatch.setattr(parquet, "MOST_READ", 4 * size)
    frame["label"] = np.where(np.arange(2_000) < 100, "first", "other")
    dataset = sample(frame)
    assert "with shares as in all rows, from 5 of 20 row groups" in dataset.notices[0]
    assert (dataset.frame["label"] == "first").sum() == 10
    frame["label"] = np.where(np.arange(2_000) % 500 < 250, "less", "more")
    monkeypatch.setattr(parquet, "MOST_READ", size)
    assert "as far as these have such rows" in sample(frame).notices[0]


def test_a_sample_is_never_larger_than_it_may_be():
    rare = np.arange(2_000) % 400
    dataset = sample(a_frame().assign(label=[f"c{min(i, 150)}" for i in rare]))
    assert dataset.n_samples == 200 and dataset.frame["label"].nunique() == 151


def test_classes_that_are_many_only_in_all_rows_are_not_counted(monkeypatch):
    monkeypatch.setattr(parquet, "MOST_CLASSES", 50)
    frame = a_frame().assign(label=[f"c{i // 20}" for i in range(2_000)])
    assert "200 of 2,000 rows, drawn at random" in sample(frame).notices[0]


KINDS = pa.dictionary(pa.uint32(), pa.string()), pa.string_view()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_texts_may_be_stored_as_other_programs_do(kind):
    frame, file = a_frame(), io.BytesIO()
    table = pa.table({"a": frame["a"], "label": pa.array(frame["label"], kind)})
    pq.write_table(table, file, row_group_size=100)
    shares = read_table(file, "t.parquet", sample=True).frame["label"].value_counts()
    assert shares.to_dict() == sample(frame).frame["label"].value_counts().to_dict()


def test_row_groups_without_rows_are_passed_over():
    table, file = pa.Table.from_pandas(a_frame()), io.BytesIO()
    with pq.ParquetWriter(file, table.schema) as writer:
        for part in (table[:0], table[:1_500], table[:0], table[1_500:]):
            writer.write_table(part, row_group_size=500)
    dataset = read_table(file, "t.parquet", sample=True)
    places = dataset.row_numbers(np.arange(dataset.n_samples)) - 1
    np.testing.assert_array_equal(places, 2 * dataset.frame["place"])
    assert "with shares as in all rows, from 6 of 6" in dataset.notices[0]


def test_a_number_to_predict_is_drawn_at_random():
    dataset = sample(a_frame().drop(columns="label"))
    assert dataset.task == "regression" and dataset.n_samples == 200
    assert "200 of 2,000 rows, drawn at random, from" in dataset.notices[0]


def test_rows_without_a_class_are_not_drawn():
    frame = a_frame()
    frame["class"] = np.where(np.arange(2_000) % 2, np.nan, np.arange(2_000) % 3)
    dataset = sample(frame)
    assert dataset.target == "class" and not dataset.frame["class"].isna().any()
    assert dataset.n_samples == pytest.approx(200, abs=2)


def test_a_small_file_is_read_as_a_whole():
    dataset = sample(a_frame(900))
    assert dataset.n_samples == 900 and dataset.reading.sampled_from == 0


def test_wide_tables_get_fewer_rows(monkeypatch):
    monkeypatch.setattr(parquet, "MOST_VALUES", 500)
    assert sample(a_frame()).n_samples == pytest.approx(100, abs=2)


def nested(frame):
    lists = pa.array([[1]] * len(frame))
    file = io.BytesIO()
    pq.write_table(pa.table({"a": lists, "b": lists}), file)
    return file


def named_twice(frame):
    file = io.BytesIO()
    table = pa.Table.from_pandas(frame[["a", "b", "label"]])
    pq.write_table(table.rename_columns(["a", "a", "label"]), file)
    return file


def encoded(frame, encoding):
    file = io.BytesIO()
    table = pa.Table.from_pandas(frame[["a", "label"]])
    encodings = {"a": "PLAIN", "label": encoding}
    pq.write_table(table, file, use_dictionary=False, column_encoding=encodings)
    return file


def shortened(frame):
    return encoded(frame, "DELTA_BYTE_ARRAY")


@pytest.mark.parametrize("most", [1_000, 10_000])
def test_texts_of_stated_lengths_are_read_in_a_large_file_and_a_small_one(
    most, monkeypatch
):
    monkeypatch.setattr(limits, "MAX_ROWS", most)
    file = encoded(a_frame(), "DELTA_LENGTH_BYTE_ARRAY")
    dataset = read_table(file, "t.parquet", sample=True)
    assert set(dataset.frame["label"]) == {"no", "yes", "rare"}


def cut_off(frame):
    data = written(frame).getvalue()
    return io.BytesIO(data[:500] + bytes(20_000) + data[20_500:])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (nested, "No column of the Parquet file holds numbers or text"),
        (shortened, "'label' of the Parquet file should not be stored as DELTA_BYTE"),
        (named_twice, "Several columns of the Parquet file are called 'a'"),
        (lambda frame: written(frame[["a"]]), "one column only"),
        (
            lambda frame: io.BytesIO(written(frame).getvalue()[:-9]),
            "cut off or damaged",
        ),
        (cut_off, "cut off or damaged"),
    ],
)
def test_what_is_refused(make, words):
    with refused(words):
        read_table(make(a_frame()), "t.parquet", sample=True)


def test_a_row_group_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(parquet, "MOST_GROUP_BYTES", 1_000)
    with refused("save the file with smaller row groups"):
        sample(a_frame())


def test_an_empty_target_is_not_taken_and_all_empty_columns_are_refused():
    frame = a_frame().assign(**{"class": np.nan})
    assert sample(frame).target != "class"
    with refused("No column has the role target"):
        sample(frame[["class"]].assign(b=np.nan))


def test_without_being_asked_for_a_sample_a_large_file_is_refused():
    with refused(r"2,000 rows, at most 1,000"):
        read_table(written(a_frame()), "t.parquet")


def flags():
    return np.zeros(1, dtype=np.int64), np.zeros(1)


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(1e6, 2.0, size=(230, 2)), columns=list("ab"))
    frame.loc[:120, "a"] = np.nan
    frame["b"] = frame["b"].astype(np.float32)
    label = pd.Series(random.choice(["x", "y"], 230, p=[0.8, 0.2]), dtype=object)
    label[5] = None
    return frame.assign(whole=np.arange(230), empty=np.nan, label=label)


def test_they_are_those_of_the_table_in_memory(tmp_path, frame):
    path = tmp_path / "t.parquet"
    frame.to_parquet(path, row_group_size=50)
    stop, progress = flags()
    found = file_statistics(path, "label", stop, progress)
    assert progress[0] == 1 and found.n_rows == 230
    columns = found.columns.set_index("column")
    assert columns["count"].to_dict() == frame.count().to_dict()
    assert columns["missing"].to_dict() == frame.isna().sum().to_dict()
    numbers = frame.drop(columns="label").astype(np.float64)
    for name, expected in (
        ("mean", numbers.mean()),
        ("standard deviation", numbers.std(ddof=0)),
        ("min", numbers.min()),
        ("max", numbers.max()),
    ):
        got = columns.loc[list(numbers), name]
        np.testing.assert_allclose(got, expected, rtol=1e-10)
    assert np.isnan(columns.loc["label", "mean"])
    assert found.class_counts == frame["label"].value_counts().to_dict()


def test_decimals_are_numbers(tmp_path):
    path, prices = tmp_path / "t.parquet", [Decimal("1.5"), None, Decimal("2.5")]
    pd.DataFrame({"price": prices}).to_parquet(path)
    row = file_statistics(path, None, *flags()).columns.iloc[0]
    assert (row["missing"], row["mean"], row["standard deviation"]) == (1, 2.0, 0.5)


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        ([1.0, np.nan, 2.0, 1.0], {"1": 2, "2": 1}),
        ([True, False, True, True], {"True": 3, "False": 1}),
        (pd.to_datetime(["2026-01-02"] * 2), {"2026-01-02 00:00:00.000000": 2}),
        (pd.Categorical(["x", "y", "x"], ["w", "x", "y"]), {"x": 2, "y": 1}),
    ],
    ids=["numbers", "truths", "times", "categories"],
)
def test_classes_are_called_as_in_the_table(tmp_path, classes, names):
    path = tmp_path / "t.parquet"
    pd.Series(classes, name="kind").to_frame().to_parquet(path, row_group_size=2)
    frame, _ = read_parquet(path.read_bytes())
    assert {*names} == {*as_text(frame["kind"].dropna())}
    assert file_statistics(path, "kind", *flags()).class_counts == names


def test_means_too_far_apart_for_a_square_have_an_infinite_deviation(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": np.repeat([1e200, -1e200], 50)}).to_parquet(
        path, row_group_size=50
    )
    row = file_statistics(path, None, *flags()).columns.iloc[0]
    assert row["mean"] == 0 and row["max"] == 1e200
    assert np.isinf(row["standard deviation"])


def test_it_ends_when_it_is_asked_to(tmp_path, frame):
    frame.to_parquet(tmp_path / "t.parquet")
    assert (
        file_statistics(tmp_path / "t.parquet", None, *(np.ones(1), flags()[1])) is None
    )


def test_a_damaged_file_is_refused(tmp_path, frame):
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    data = path.read_bytes()
    path.write_bytes(data[:100] + bytes(1_000) + data[1_100:])
    with refused("cut off or damaged"):
        file_statistics(path, None, *flags())
