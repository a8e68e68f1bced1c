"""A Parquet file that is too large is opened as a sample of its rows."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smpcore import SmpcoreError, read_table
from smpcore.datasets import limits, parquet


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
    with pytest.raises(SmpcoreError, match=words):
        read_table(make(a_frame()), "t.parquet", sample=True)


def test_a_row_group_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(parquet, "MOST_GROUP_BYTES", 1_000)
    with pytest.raises(SmpcoreError, match="save the file with smaller row groups"):
        sample(a_frame())


def test_an_empty_target_is_not_taken_and_all_empty_columns_are_refused():
    frame = a_frame().assign(**{"class": np.nan})
    assert sample(frame).target != "class"
    with pytest.raises(SmpcoreError, match="No column has the role target"):
        sample(frame[["class"]].assign(b=np.nan))


def test_without_being_asked_for_a_sample_a_large_file_is_refused():
    with pytest.raises(SmpcoreError, match=r"2,000 rows, at most 1,000"):
        read_table(written(a_frame()), "t.parquet")
