"""Parquet: rows a piece at a time, a sample, and statistics of all rows."""

import io
import pickle
import re
import shutil
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smpcore import SmpcoreError, read_table
from smpcore.datasets import file_statistics, limits, parquet, parquet_rows
from smpcore.datasets.columns import as_text
from smpcore.datasets.parquet import read_parquet
from smpcore.datasets.parquet_rows import ParquetRows
from tests.smpcore.datasets.cases import parquet as written
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
    np.testing.assert_array_equal(ParquetRows(saved, ["c", "a"])[:], table[:, [2, 0]])


def parts_of(frame, folder, n_parts=12):
    """A folder as Spark and Dask write tables: part.10 comes after part.9."""
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        path = folder / f"part.{number}.parquet"
        frame.iloc[rows].to_parquet(path, row_group_size=30, index=False)
    for name in ("_SUCCESS", ".part.0.parquet.crc"):
        (folder / name).write_bytes(b"crc")
    return folder


def test_a_folder_of_parts_is_read_as_one_file(saved, table, tmp_path, monkeypatch):
    frame = pd.read_parquet(saved)
    folder = parts_of(frame, tmp_path / "table")
    rows = pickle.loads(pickle.dumps(ParquetRows(folder, NAMES)))
    np.testing.assert_array_equal(rows[:], table)
    some = np.array([0, 83, 84, 500, 999])
    np.testing.assert_array_equal(rows[some], table[some])
    stop, progress = np.zeros(1, np.int64), np.zeros(1)
    one, other = (
        file_statistics(path, "kind", stop, progress) for path in (saved, folder)
    )
    pd.testing.assert_frame_equal(one.columns, other.columns)
    assert other.class_counts == {"text": 1000} and other.n_rows == 1000
    frame["kind"] = np.where(frame["a"] > 0, "yes", "no")
    folder = parts_of(frame, tmp_path / "classes")
    whole = read_table(folder, "classes", sample=True)
    assert whole.digest == read_table(written(frame), "classes").digest
    monkeypatch.setattr(limits, "MAX_ROWS", 900)
    few = read_table(folder, "classes", sample=True)
    assert few.reading.sampled_from == 1000
    places = few.row_numbers(np.arange(few.n_samples)) - 1
    np.testing.assert_array_equal(few.frame[NAMES], table[places])


def test_a_folder_that_is_no_table_is_refused_in_words(saved, tmp_path):
    parts = tmp_path / "parts"
    for make, words in (
        (lambda: None, "should hold the Parquet files of one table"),
        (lambda: (parts / "class=1").mkdir(), "save the table without partitions"),
        (lambda: (parts / "a.txt").write_text("no"), "cannot be read"),
    ):
        parts.mkdir()
        make()
        for reading in (lambda: ParquetRows(parts), lambda: read_table(parts, "parts")):
            with pytest.raises(SmpcoreError, match=words):
                reading()
        shutil.rmtree(parts)
    parts_of(pd.read_parquet(saved), parts, 2)
    pd.DataFrame({"a": ["x"]}).to_parquet(parts / "part.3.parquet")
    with pytest.raises(SmpcoreError, match=r"part\.3\.parquet' has other columns than"):
        ParquetRows(parts, NAMES)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, np.uint8])
def test_other_numbers_become_float64(tmp_path, kind):
    found = ParquetRows(columns_in(tmp_path, a=np.arange(100).astype(kind)))[:]
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
    "ad": "has no column .*d.*; it has .*: name some of",
    "t": "Column 't' of rows.parquet holds .*string and should hold numbers",
    "b": "Column 'b' of rows.parquet has no value in row 3; leave such",
}


@pytest.mark.parametrize("columns", REFUSED)
def test_a_bad_column_is_refused_with_its_place(tmp_path, columns):
    lacking = pd.array([1, 2, 3, None], dtype="Int64")
    path = columns_in(tmp_path, a=[1.0, 2.0, 3.0, 4.0], b=lacking, t=list("wxyz"))
    with refused(REFUSED[columns]):
        ParquetRows(path, list(columns))[:]


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


def sample(frame):
    return read_table(written(frame, row_group_size=100), "t.parquet", sample=True)


def is_twice_the_place(dataset):
    """Whether the numbers of rows are those of `a_frame`."""
    places = dataset.row_numbers(np.arange(dataset.n_samples)) - 1
    np.testing.assert_array_equal(places, 2 * dataset.frame["place"])


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
    fewer = dataset.with_roles({"a": "target"})
    assert fewer.n_samples < dataset.n_samples
    is_twice_the_place(dataset)
    is_twice_the_place(fewer)


def test_the_same_file_gives_the_same_sample_and_python_reads_it_again():
    dataset = sample(a_frame())
    file = written(a_frame(), row_group_size=100)
    again = read_table(file, "t.parquet", **dataset.reading.options())
    assert again.digest == dataset.digest


def test_only_some_row_groups_are_read_and_one_for_a_class_that_they_lack(monkeypatch):
    frame = a_frame()
    file = pq.ParquetFile(io.BytesIO(written(frame, row_group_size=100)))
    size = file.metadata.row_group(0).total_byte_size
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
    frame = a_frame()
    table = pa.table({"a": frame["a"], "label": pa.array(frame["label"], kind)})
    shares = sample(table).frame["label"].value_counts()
    assert shares.to_dict() == sample(frame).frame["label"].value_counts().to_dict()


def test_row_groups_without_rows_are_passed_over():
    table, file = pa.Table.from_pandas(a_frame()), io.BytesIO()
    with pq.ParquetWriter(file, table.schema) as writer:
        for part in (table[:0], table[:1_500], table[:0], table[1_500:]):
            writer.write_table(part, row_group_size=500)
    dataset = read_table(file, "t.parquet", sample=True)
    is_twice_the_place(dataset)
    assert "with shares as in all rows, from 6 of 6" in dataset.notices[0]


def test_a_number_to_predict_is_drawn_at_random():
    dataset = sample(a_frame().drop(columns="label"))
    assert dataset.task == "regression" and dataset.n_samples == 200
    assert "200 of 2,000 rows, drawn at random, from" in dataset.notices[0]


def test_rows_without_a_class_are_not_drawn():
    frame = a_frame()
    place = np.arange(2_000)
    frame["class"] = np.where(place % 12, place % 3, np.nan)
    dataset = sample(frame)
    assert dataset.target == "class" and not dataset.frame["class"].isna().any()
    assert dataset.n_samples == pytest.approx(200, abs=2)


def test_a_small_file_is_read_as_a_whole():
    dataset = sample(a_frame(900))
    assert dataset.n_samples == 900 and dataset.reading.sampled_from == 0


def test_wide_tables_get_fewer_rows(monkeypatch):
    monkeypatch.setattr(parquet, "MOST_VALUES", 500)
    assert sample(a_frame()).n_samples == pytest.approx(100, abs=2)


def encoded(encoding):
    options = {"column_encoding": {"a": "PLAIN", "label": encoding}}
    return written(a_frame()[["a", "label"]], use_dictionary=False, **options)


@pytest.mark.parametrize("most", [1_000, 10_000])
def test_texts_of_stated_lengths_are_read_in_a_large_file_and_a_small_one(
    most, monkeypatch
):
    monkeypatch.setattr(limits, "MAX_ROWS", most)
    file = encoded("DELTA_LENGTH_BYTE_ARRAY")
    dataset = read_table(file, "t.parquet", sample=True)
    assert set(dataset.frame["label"]) == {"no", "yes", "rare"}


WHOLE = written(a_frame(), row_group_size=100)
TWICE = pa.table({"a": range(2_000), "b": range(2_000), "label": ["x", "y"] * 1_000})
REFUSED_FILES = [
    (
        written({"a": [[1]], "b": [[1]]}),
        "No column of the Parquet file holds numb",
    ),
    (encoded("DELTA_BYTE_ARRAY"), "'label' of .* should not be stored as DELTA_BYTE"),
    (
        written(TWICE.rename_columns(["a", "a", "label"])),
        "Several columns .* 'a'",
    ),
    (written(a_frame()[["a"]]), "one column only"),
    (WHOLE[:-9], "cut off or damaged"),
    (WHOLE[:500] + bytes(20_000) + WHOLE[20_500:], "cut off or damaged"),
]


@pytest.mark.parametrize(
    ("file", "words"), REFUSED_FILES, ids=[words for _, words in REFUSED_FILES]
)
def test_what_is_refused(file, words):
    with refused(words):
        read_table(file, "t.parquet", sample=True)


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


@pytest.fixture
def statistics(tmp_path):
    """Statistics of a frame's or a table's file, or of one that is given."""

    def found(table, target=None, stop=0, **options):
        path, progress = tmp_path / "t.parquet", np.zeros(1)
        data = table if isinstance(table, bytes) else written(table, **options)
        path.write_bytes(data)
        all_rows = file_statistics(path, target, np.full(1, stop), progress)
        assert all_rows is None or progress[0] == 1
        return all_rows

    return found


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(1e6, 2.0, size=(230, 2)), columns=list("ab"))
    frame.loc[:120, "a"] = np.nan
    frame["b"] = frame["b"].astype(np.float32)
    label = pd.Series(random.choice(["x", "y"], 230, p=[0.8, 0.2]), dtype=object)
    label[5] = None
    return frame.assign(whole=np.arange(230), empty=np.nan, label=label)


def test_they_are_those_of_the_table_in_memory(statistics, frame):
    found = statistics(frame, "label", row_group_size=50)
    assert found.n_rows == 230
    columns = found.columns.set_index("column")
    assert columns["count"].to_dict() == frame.count().to_dict()
    assert columns["missing"].to_dict() == frame.isna().sum().to_dict()
    numbers = frame.drop(columns="label").astype(np.float64)
    expected = {name: numbers.agg(name) for name in ("mean", "min", "max")}
    expected["standard deviation"] = numbers.std(ddof=0)
    for name in expected:
        got = columns.loc[list(numbers), name]
        np.testing.assert_allclose(got, expected[name], rtol=1e-10)
    assert np.isnan(columns.loc["label", "mean"])
    assert found.class_counts == frame["label"].value_counts().to_dict()


def test_decimals_are_numbers(statistics):
    prices = [Decimal("1.5"), None, Decimal("2.5")]
    row = statistics({"price": prices}).columns.iloc[0]
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
def test_classes_are_called_as_in_the_table(statistics, classes, names):
    file = written(pd.Series(classes, name="kind").to_frame(), row_group_size=2)
    frame, _ = read_parquet(file)
    assert {*names} == {*as_text(frame["kind"].dropna())}
    assert statistics(file, "kind").class_counts == names


def test_means_too_far_apart_for_a_square_have_an_infinite_deviation(statistics):
    table = {"a": np.repeat([1e200, -1e200], 50)}
    row = statistics(table, row_group_size=50).columns.iloc[0]
    assert row["mean"] == 0 and row["max"] == 1e200
    assert np.isinf(row["standard deviation"])


def test_it_ends_when_it_is_asked_to(statistics, frame):
    assert statistics(frame, stop=1) is None


def test_a_damaged_file_is_refused(statistics, frame):
    data = written(frame)
    with refused("cut off or damaged"):
        statistics(data[:100] + bytes(1_000) + data[1_100:])
