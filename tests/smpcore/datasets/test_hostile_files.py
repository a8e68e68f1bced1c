"""Files made to hold up a server: what is counted here is work and memory, not time."""

import io
import resource
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smpcore.datasets import prepare, read_frame, read_table
from smpcore.datasets.display_names import clean_names
from smpcore.errors import DatasetError

HEADER = b"@relation r\n@attribute a real\n@attribute class {p,q}\n@data\n"
#: Content, name, and what is said or how many rows there are: files on which one
#: regular expression would work for minutes, or for ever.
FILES = (
    (b"\n" * 10_000_000, "t.csv", "The file is empty"),
    (b"\n" * 500_000 + HEADER[:28], "t.arff", "no @DATA line"),
    (b"%\n" * 2_500_000 + HEADER + b"1,p\n2,q\n", "t.arff", "2"),
    (
        HEADER[:12] + b"@attribute c {" + b"a," * 60 + b" b c}\n@data\na\n",
        "t.arff",
        "or",
    ),
    (
        b"@attribute a string\n@attribute y {p,q}\n@data\n'"
        + b"x\\'" * 1_000_000
        + b"',p\n' ',q\n",
        "t.arff",
        "2",
    ),
)


def read_all():
    """Read the files with two minutes of processor time, which is plenty."""
    seconds = 120 + int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    for data, name, words in FILES:
        try:
            found = str(read_table(data, name).n_samples)
        except DatasetError as error:
            found = str(error)
        assert words in found, (words, found)


@pytest.mark.slow
def test_files_are_read_in_bounded_time():
    program = f"from {__name__} import read_all; read_all()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert done.returncode == 0, done.stderr[-300:]


def _calls(function, *arguments):
    """How many functions a call runs: the same each time."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return count


LONG = [f"{'b' * 195}{number:05d}" for number in range(500)] * 2


@pytest.mark.parametrize(
    "names", [["a"] * 2_000, ["b" * 300] * 2_000, LONG], ids=["short", "long", "many"]
)
def test_a_repeated_name_takes_as_long_as_the_first(names):
    assert _calls(clean_names, names) < 30 * len(names)
    assert len(set(clean_names(names)[0])) == len(names)


def _wide(n_columns):
    names = ",".join(f"c{number}" for number in range(n_columns))
    row = ",".join(f"0.{number}5" for number in range(n_columns))
    return f"{names}\n{f'{row}{chr(10)}1{row}{chr(10)}' * 10}".encode()


def test_the_work_on_a_column_is_small_and_does_not_grow_with_their_number():
    read_table(_wide(50), "t.csv")
    few, many = (_calls(read_table, _wide(n), "t.csv") for n in (200, 800))
    assert many < 4.2 * few
    assert many < 800 * 800


def test_a_column_of_text_takes_hardly_more_work_than_one_of_numbers():
    words = b",".join([b"%"] * 400) + b"\n"
    numbers = b",".join([b"1.5"] * 400) + b"\n"
    header = ",".join(f"c{number}" for number in range(400)).encode() + b"\n"
    read_table(header + words * 30, "t.csv")
    of_words, of_numbers = (
        _calls(read_table, header + line * 30, "t.csv") for line in (words, numbers)
    )
    assert of_words < 2 * of_numbers


def test_a_header_has_so_many_lines_at_most(monkeypatch):
    monkeypatch.setattr("smpcore.datasets.arff_reader._MOST_HEADER_LINES", 10)
    table = b"%\n" * 6 + HEADER + b"1,p\n2,q\n"
    assert read_table(table, "t.arff").n_samples == 2
    with pytest.raises(DatasetError, match=r"only far down.*remove its comments"):
        read_table(b"%\n" * 5 + table, "t.arff")


@pytest.mark.parametrize("sign", ["'", '"'])
def test_a_quoted_value_ends_at_the_first_mark_that_is_not_escaped(sign):
    table = HEADER.replace(b"a real", b"a string") + b"Qx\\Q, \\\\Q,p\nv,q\n"
    table = table.replace(b"Q", sign.encode())
    assert read_table(table, "t.arff").frame["a"][0] == f"x{sign}, \\"
    long = table.replace(b"x\\", b"x\\" * 300_001)
    tracemalloc.start()
    assert len(read_table(long, "t.arff").frame["a"][0]) == 300_005
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000


def test_an_attribute_names_so_many_levels_at_most(monkeypatch):
    table = b"@relation r\n@attribute a real\n@attribute y {p,q,r}\n@data\n1,p\n2,q\n"
    assert read_table(table, "t.arff").n_samples == 2
    monkeypatch.setattr("smpcore.datasets.arff_reader._MOST_LEVELS", 2)
    with pytest.raises(DatasetError, match=r"line 3 .more than 2 levels; call it a"):
        read_table(table, "t.arff")


def test_a_line_is_cut_into_no_more_cells_than_there_are_columns():
    data = HEADER + b"1," * 1_000_000
    tracemalloc.start()
    with pytest.raises(DatasetError, match="values for 2 attributes"):
        read_table(data, "t.arff")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * len(data)


def test_a_long_value_is_a_value():
    frame, _, _ = read_frame(HEADER + b"1" * 200_000 + b",q\n", "t.arff")
    assert np.isinf(frame["a"]).all()


def _parquet(table, **options):
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def test_texts_of_a_parquet_file_are_measured_before_they_are_made():
    codes = pa.array(np.arange(900_000, dtype=np.int32) % 2)
    texts = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 400, "y" * 400]))
    data = _parquet(pa.table({"a": texts, "y": codes}), compression="zstd")
    assert len(data) < 500_000
    before = pa.total_allocated_bytes()
    with pytest.raises(DatasetError, match="expands to 360 MB, at most 250 MB"):
        read_table(data, "t.parquet")
    assert pa.total_allocated_bytes() - before < 10_000_000


def test_texts_that_repeat_the_one_before_are_not_unpacked():
    texts = ["x" * 100_000 + str(number % 10) for number in range(5_000)]
    data = _parquet(
        pa.table({"a": texts, "y": range(5_000)}),
        use_dictionary=False,
        column_encoding={"a": "DELTA_BYTE_ARRAY", "y": "PLAIN"},
    )
    assert len(data) < 1_000_000
    with pytest.raises(DatasetError, match=r"expands to .* MB, at most 250 MB"):
        read_table(data, "t.parquet")
    few = _parquet(
        pa.table({"a": ["u", "v"] * 20, "y": range(40)}),
        use_dictionary=False,
        column_encoding={"a": "DELTA_BYTE_ARRAY", "y": "PLAIN"},
    )
    assert read_frame(few, "t.parquet")[0]["a"].nunique() == 2


def test_a_parquet_directory_is_bounded():
    with pytest.raises(DatasetError, match="directory of the Parquet file has 20 MB"):
        read_table(b"PAR1" + (20_000_000).to_bytes(4, "little") + b"PAR1", "t.parquet")


def test_categories_that_make_too_many_features_are_refused():
    levels = np.arange(60_000) % 900
    table = pa.table({"a": [f"w{level}" for level in levels], "y": levels % 2})
    roles = {"a": "feature", "y": "target"}
    data = read_table(_parquet(table), "t.parquet", roles=roles)
    with pytest.raises(DatasetError, match="900 features of 60,000 rows"):
        prepare(data, np.arange(60_000))
