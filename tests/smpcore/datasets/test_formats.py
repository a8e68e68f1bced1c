"""ARFF, .ts, Orange's and UCR's files as their own programs write them.

Each table is drawn from a seed and written in a random manner that its program has;
what is read should equal what was drawn.
"""

import io
import sys
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smpcore.datasets import (
    TABLE_FORMATS,
    limits,
    prepare,
    read_frame,
    read_matrices,
    read_table,
)
from smpcore.datasets.archives import ENDINGS
from smpcore.datasets.display_names import clean_names, listed, shorten_name
from smpcore.errors import DatasetError
from tests.smpcore.datasets.cases import npz, parquet, refused, said
from tests.smpcore.datasets.kinds import FILES as KINDS

#: Levels that need quotation marks in some manner of writing, and those that do not.
QUOTED = ["new york", "it's", 'a "b"', "x,y", "5 %", "{z}", "back\\slash", "tab\there"]
BARE = ["p", "q-r", "<=5", "é", "1.0"]


def drawn(random, n_rows=8):
    """Columns of numbers, levels and texts, with gaps."""
    levels = [*random.permutation(BARE)[:3], *random.permutation(QUOTED)[:2]]
    numbers = np.round(random.normal(size=n_rows), 3)
    numbers[random.random(n_rows) < 0.2] = np.nan
    texts = random.choice([*QUOTED, *BARE], n_rows)
    words = np.where(random.random(n_rows) < 0.2, None, random.choice(levels, n_rows))
    return {"a 1": numbers, "text": texts, "b%": words}, levels


def quoted(value, random, always=False):
    """A value as WEKA writes it."""
    if value is None or value != value:
        return "?"
    text = str(value)
    if not always and text.replace(".", "").replace("-", "").isalnum():
        return text
    sign = random.choice(["'", '"'])
    for plain, escaped in (("\\", "\\\\"), (sign, "\\" + sign), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return sign + text + sign


def arff_of(columns, levels, random):
    """A table in one of the manners of WEKA, MOA and openSMILE; weights of its rows."""
    word = random.choice([str.upper, str.lower, str.title])
    names = [quoted(name, random, " " in name) for name in columns]
    kind = ", ".join(quoted(level, random, level not in BARE) for level in levels)
    kinds = [word("numeric"), "string", "{" + kind + "}"]
    if random.random() < 0.3:  # an attribute's own weight, as new WEKAs have it
        kinds[0] += " {2.5}"
    if random.random() < 0.3:
        kinds[2] = kinds[2].replace(", ", ",\n  ", 1)
    if random.random() < 0.5:
        kinds[0] += "  % in mm"
    sign = random.choice([",", ", ", "\t", " "])
    weighted = random.random() < 0.4 and "," in sign
    weights = random.integers(1, 9, len(columns["text"])) / 2
    rows = []
    for row, weight in zip(zip(*columns.values(), strict=True), weights, strict=True):
        cells = [quoted(cell, random, isinstance(cell, str)) for cell in row]
        if random.random() < 0.3:
            pairs = enumerate(cells)
            line = "{" + ", ".join(f"{place} {cell}" for place, cell in pairs) + "}"
            line += f", {{{weight}}}" * weighted
        else:
            line = sign.join(cells) + f",{{ {weight} }}" * weighted
            line += "," * (not weighted and "," in sign and random.random() < 0.3)
            line += " % seen" * (random.random() < 0.2 and "5 %" not in levels)
        rows += [line] + [""] * (random.random() < 0.1) + ["% note"]
    head = [f"{word('@relation')} r", ""]
    both = zip(names, kinds, strict=True)
    head += [f"{word('@attribute')}\t{name} {kind}" for name, kind in both]
    end = random.choice(["\n", "\r\n"])
    data = f"{word('@data')}{random.choice([' ', end])}"
    text = end.join(["% by hand", *head, data]) + end.join(rows)
    return text, weights if weighted else None


@pytest.mark.parametrize("seed", range(60))
def test_arff_of_any_program_is_the_table_that_it_wrote(seed):
    random = np.random.default_rng(seed)
    columns, levels = drawn(random)
    text, weights = arff_of(columns, levels, random)
    frame, _, notices = read_frame(text.encode(), "t.arff")
    if weights is not None and (weights != 1).any():
        assert any("no method here uses them" in words for words in notices)
        assert frame.pop("instance weight").tolist() == weights.tolist()
    expected = pd.DataFrame(columns)
    assert list(frame) == list(expected), text
    np.testing.assert_array_equal(frame["a 1"], expected["a 1"], text)
    for name in ("text", "b%"):
        as_read = frame[name].fillna("missing").tolist()
        assert as_read == [value or "missing" for value in columns[name]], text


@pytest.mark.parametrize("seed", range(12))
def test_the_tables_of_a_relational_attribute_are_series(seed):
    """Rows are times, or channels where the attributes are numbered times."""
    random = np.random.default_rng(seed)
    by_row = seed % 2
    n_channels, n_times = int(random.integers(2, 4)), int(random.integers(5, 9))
    X = np.round(random.normal(size=(6, n_channels, n_times)), 2)
    names = [f"att{t}" for t in range(n_times)] if by_row else ["x", "y", "z"]
    tables = X if by_row else X.transpose(0, 2, 1)
    inner = "\n".join(f"  @attribute {name} numeric" for name in names[: len(tables.T)])
    joined = [[",".join(map(str, row)) for row in table] for table in tables.tolist()]
    lines = enumerate(map("\\n".join, joined))
    rows = "\n".join(f"m{i % 3},'{line}',{'ab'[i % 2]}" for i, line in lines)
    text = (
        "@relation r\n@attribute who {m0,m1,m2}\n@attribute bag relational\n"
        f"{inner}\n@end bag\n@attribute class {{a,b}}\n@data\n{rows}\n"
    )
    data = read_table(text.encode(), "t.arff")
    assert data.sample_shape == (n_channels, n_times)
    values = data.frame[data.feature_columns].to_numpy().reshape(X.shape)
    np.testing.assert_array_equal(values, X)
    assert data.y.tolist() == list("ababab") and data.roles["who"] == "ignore"
    what = "channels, its attributes times" if by_row else "times, its attributes"
    assert said(data, f"the rows of 'bag' are {what}")
    shorter = read_table(text.encode(), "t.arff", n_times=3)
    assert shorter.sample_shape == (n_channels, 3) and shorter.reading.n_times == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("numeric\n@end", "string\n@end"), "line 4 .a relational attr.* numbers only"),
        (("@attribute class {a,b}\n", ""), "line 7 .*2 values for 1 attributes"),
        (("1\\n2", "1\\nx"), "line 7 .*Invalid numerical value 'x' of 'f'"),
        (("1\\n2", "1\\n2,3"), "line 7 .*2 values for 1 attributes in 'bag'"),
        (("'1\\n2'", "?"), "line 7 .*'bag' has no rows"),
    ],
)
def test_relational_attributes_that_are_no_series(change, words):
    text = (
        "@relation r\n@attribute bag relational\n@attribute f numeric\n@end bag\n"
        "@attribute class {a,b}\n@data\n'1\\n2',a\n'3',b\n"
    )
    words = words.replace("line 7", "line [67]")
    with refused(words):
        read_table(text.replace(*change).encode(), "t.arff")


@pytest.mark.parametrize("seed", range(24))
def test_ts_of_any_program_is_the_series_that_it_wrote(seed):
    """Time stamps, padded ends, comments, and labels written as numbers."""
    random = np.random.default_rng(seed)
    n_channels, lengths = int(random.integers(1, 4)), random.integers(3, 9, 6)
    series = [np.round(random.normal(size=(n_channels, n)), 3) for n in lengths]
    manner = ["plain", "stamps", "dates", "padded"][seed % 4]
    stamped = manner in ("stamps", "dates")
    form = "({},{})" if stamped else "{1}"
    days = pd.date_range("2024-02-27 22:30", periods=9, freq="45min")
    lines = []
    for number, sample in enumerate(series):
        if manner == "padded":
            gap = np.full((n_channels, 9 - sample.shape[1]), np.nan)
            sample = np.hstack([sample, gap])
        times = days if manner == "dates" else np.arange(9) * 0.5
        parts = [",".join(map(form.format, times, each)) for each in sample.tolist()]
        label = ["1", "1.0", "2"][number % 3]
        lines += [":".join([*parts, label])] + ["% note"] * (number == 2)
    stamps, single = (str(one).lower() for one in (stamped, n_channels == 1))
    head = f"%# a note\n@problemName x\n@timeStamps {stamps}\n@univariate {single}"
    text = "\n".join([head, "@classLabel true 1 2\n@data", *lines])
    data = read_table(text.encode(), "t.ts", n_times=5)
    values = data.frame[data.feature_columns].to_numpy().reshape(6, n_channels, 5)
    for row, sample in zip(values, series, strict=True):
        at = np.linspace(0, sample.shape[1] - 1, 5)
        for channel, known in zip(row, sample, strict=True):
            expected = np.interp(at, np.arange(known.size), known)
            np.testing.assert_allclose(channel, expected, atol=1e-12)
    assert data.y.tolist() == ["1", "1", "2"] * 2
    span = f"Series have {lengths.min()} to {lengths.max()} values in time"
    assert any(words.startswith(span) for words in data.notices)


def test_channels_of_several_rates_are_one_span_of_time_and_a_mark_alone_is_none():
    text = "@dimensions 2\n@targetLabel true\n@data\n0,1,2,3:0,3:5\n1,2,3,4:?:6\n"
    data = read_table(text.encode(), "t.ts")
    values = data.frame[data.feature_columns].to_numpy().reshape(2, 2, 4)
    gone = np.full(4, np.nan)
    expected = [[range(4), range(4)], [range(1, 5), gone]]
    np.testing.assert_array_equal(values, [[[*c] for c in s] for s in expected])
    assert said(data, "of 1 series have different lengths")
    with refused(r"Line 5 .*2 values in channel 2 and .* 4"):
        read_table(f"@equalLength true\n{text}".encode(), "t.ts")
    uneven = "@timeStamps true\n" + text.replace("0,1,2,3", "(0,1),(1,2),(3,4)")
    with refused(r"Line 5 .* equally spaced numbers or dates"):
        read_table(uneven.encode(), "t.ts")


def test_series_of_a_large_file_are_read_line_by_line(tmp_path, monkeypatch):
    rows = "".join(f"{i},{i + 1},{i + 2}:{'ab'[i % 2]}\r\n" for i in range(50))
    text = f"@univariate true\n@classLabel true a b\n@data\n{rows}".encode()
    (tmp_path / "t.ts").write_bytes(text)
    whole = read_table(text, "t.ts")
    for module in ("table_formats", "series"):
        monkeypatch.setattr(f"smpcore.datasets.{module}.MAX_BYTES", 300)
    with (tmp_path / "t.ts").open("rb") as file:
        assert read_table(file, "t.ts").digest == whole.digest
    monkeypatch.setattr(limits, "MAX_TABLE_BYTES", 4 * limits.COLUMN_BYTES + 900)
    with (tmp_path / "t.ts").open("rb") as file:
        with refused(r"in memory, .* or shorter series"):
            read_table(file, "t.ts")
        assert read_table(file, "t.ts", n_times=2).sample_shape == (1, 2)


@pytest.mark.parametrize("seed", range(16))
def test_a_header_of_orange_names_kinds_and_roles(seed):
    random = np.random.default_rng(seed)
    columns = {  # name: type, flag, cells, kind, role
        "age": ("continuous", "", ["30", "?", "51", "4"], "number", "feature"),
        "sex": ("f m", "", ["m", "f", "f", "m"], "category", "feature"),
        "code": ("discrete", "", ["3", "1", "1", "2"], "category", "feature"),
        "who": ("string", "meta", ["Jo", "Al", "Bo", "Ed"], "category", "ignore"),
        "odd": ("continuous", "ignore", ["7", "8", "7", "9"], "number", "ignore"),
        "ill é": ("discrete", "class", ["0", "1", "0", "1"], "category", "target"),
    }
    order = random.permutation(list(columns))
    types, flags, cells, kinds, roles = zip(*(columns[n] for n in order), strict=True)
    short = {"continuous": "C", "string": "S"}
    if seed % 2:
        prefixes = [
            f"{flag[:1]}{short.get(kind, 'D')}#"
            if flag or random.random() < 0.9
            else ""
            for kind, flag in zip(types, flags, strict=True)
        ]
        kept = [kind if p else "" for kind, p in zip(kinds, prefixes, strict=True)]
        head = [[p + name for p, name in zip(prefixes, order, strict=True)]]
    else:
        some = random.random() < 0.5
        kept, flags = kinds, [f"{flag} x=y".strip() if flag else "" for flag in flags]
        types = [kind[:1] if some and " " not in kind else kind for kind in types]
        head = [order, types, flags]
    sign = "\t" if seed % 4 else [",", "\t"][seed % 2]
    rows = [*head, *zip(*cells, strict=True)]
    text = "\n".join(sign.join(row) for row in rows)
    data = read_table(text.encode(), "t.tab", header=None)
    assert list(data.roles) == list(order) and data.n_samples == 4
    for name, kind, role in zip(order, kept, roles, strict=True):
        assert data.roles[name] == role, (name, text)
        assert not kind or data.kinds[name] == kind, (name, text)
    assert data.y.tolist() == ["0", "1", "0", "1"]
    again = read_table(text.encode(), "t.tab", **data.reading.options())
    assert again.digest == data.digest
    plain = read_table(text.encode(), "t.tab", header=2)  # which is Orange's no more
    assert set(plain.roles) != set(order)


def test_letters_below_a_name_are_no_header_of_orange():
    rows = "".join(f"{'cds'[i % 3]}\t{'cm'[i % 2]}\t{'wi'[i % 2]}\n" for i in range(12))
    data = read_table(f"u\tv\tz\n{rows}".encode(), "t.tab")
    assert data.n_samples == 12 and data.target == "z"


@pytest.mark.parametrize("sign", ["\t", ",", "  "])
def test_a_file_of_the_ucr_archive_is_a_label_and_a_series(sign):
    random = np.random.default_rng(len(sign))
    X = np.round(random.normal(size=(30, 12)).cumsum(axis=1), 4)
    y = np.resize([1, 2, -1], 30)
    rows = [sign.join(map(str, [a, *x])) for a, x in zip(y, X.tolist(), strict=True)]
    data = read_table("\n".join(rows).encode(), "Toy_TRAIN.tsv")
    assert data.sample_shape == (1, 12) and data.target == "class"
    assert data.y.tolist() == y.astype(str).tolist()
    np.testing.assert_array_equal(data.frame[data.feature_columns], X)
    again = read_table("\n".join(rows).encode(), "t.tsv", **data.reading.options())
    assert again.digest == data.digest
    ended = sign.join(rows[3].split(sign)[:9] + ["NaN"] * 4)
    shorter = read_table("\n".join([*rows[:3], ended, *rows[4:]]).encode(), "t.tsv")
    expected = np.interp(np.linspace(0, 7, 12), np.arange(8), X[3, :8])
    np.testing.assert_allclose(shorter.frame.iloc[3, :12].astype(float), expected)


def test_measurements_of_several_scales_behind_a_label_are_no_series():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 6)) * [1, 1, 1, 1, 1, 300] + [0, 1, 0, 2, 0, 900]
    rows = [",".join(map(str, [i % 3, *x])) for i, x in enumerate(X.round(2).tolist())]
    data = read_table("\n".join(rows).encode(), "wine.data")
    assert data.sample_shape == (6,) and "column 1" in data.roles


def test_a_table_of_many_columns_is_read_as_long_as_memory_is_enough(monkeypatch):
    names = ",".join(f"g{number}" for number in range(11_340))
    row = ",".join(["0.5", "1.5"] * 5_670)
    data = f"{names},kind\n{row},p\n{row},q\n".encode()
    frame, _, _ = read_frame(data, "CLL_SUB_111.csv")
    assert frame.shape == (2, 11_341)
    monkeypatch.setattr(limits, "MAX_TABLE_BYTES", 11_341 * limits.COLUMN_BYTES)
    with refused(r"11,341 columns and would take 23 MB in"):
        read_frame(data, "CLL_SUB_111.csv")


HEADER = b"@relation r\n@attribute a real\n@attribute class {p,q}\n@data\n"
MANY_ESCAPES = b"'" + b"x\\'" * 1_000_000 + b"',p\n' ',q\n"
OPEN_LEVELS = b"@attribute c {" + b"a," * 60 + b" b c}\n@data\na\n"
#: Content, name, and what is said or how many rows there are: files on which one
#: regular expression would work for minutes, or for ever.
FILES = [
    (b"\n" * 10_000_000, "t.csv", "The file is empty"),
    (b"\n" * 500_000 + HEADER[:28], "t.arff", "no @DATA line"),
    (b"%\n" * 2_500_000 + HEADER + b"1,p\n2,q\n", "t.arff", "2"),
    (HEADER[:12] + OPEN_LEVELS, "t.arff", "or"),
    (HEADER.replace(b"real", b"string") + MANY_ESCAPES, "t.arff", "2"),
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("data", "name", "words"), FILES, ids=range(len(FILES)))
def test_files_are_read_in_bounded_time(data, name, words):
    try:
        found = str(read_table(data, name).n_samples)
    except DatasetError as error:
        found = str(error)
    assert words in found


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


def test_long_names_that_differ_at_their_end_are_told_apart():
    names = [f"{'How much do you agree that this course ' * 3}{end}" for end in "ABC"]
    assert len({*listed(names).split(", ")}) == 3
    for most in (1, 2, 3, 24, 40):
        assert all(len(shorten_name(name, most)) == most for name in names)
    assert shorten_name(f"{names[0]} = yes", 40).endswith("e A = yes")


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
    header = ",".join(f"c{number}" for number in range(100))
    words, numbers = (",".join([cell] * 100) + "\n" for cell in ("%", "1.5"))
    words, numbers = (f"{header}\n{rows * 30}".encode() for rows in (words, numbers))
    read_table(words, "t.csv")
    assert _calls(read_table, words, "t.csv") < 2 * _calls(read_table, numbers, "t.csv")


def test_a_header_has_so_many_lines_at_most(monkeypatch):
    monkeypatch.setattr("smpcore.datasets.arff_reader._MOST_HEADER_LINES", 10)
    table = b"%\n" * 6 + HEADER + b"1,p\n2,q\n"
    assert read_table(table, "t.arff").n_samples == 2
    with refused(r"only far down.*remove its comments"):
        read_table(b"%\n" * 5 + table, "t.arff")


@pytest.mark.parametrize("sign", ["'", '"'])
def test_a_quoted_value_ends_at_the_first_mark_that_is_not_escaped(sign):
    table = HEADER.replace(b"a real", b"a string") + b"Qx\\Q, \\\\Q,p\nv,q\n"
    table = table.replace(b"Q", sign.encode())
    assert read_table(table, "t.arff").frame["a"][0] == f"x{sign}, \\"
    long = table.replace(b"x\\", b"x\\" * 60_001)
    tracemalloc.start()
    assert len(read_table(long, "t.arff").frame["a"][0]) == 60_005
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


def test_an_attribute_names_so_many_levels_at_most(monkeypatch):
    table = b"@relation r\n@attribute a real\n@attribute y {p,q,r}\n@data\n1,p\n2,q\n"
    assert read_table(table, "t.arff").n_samples == 2
    monkeypatch.setattr("smpcore.datasets.arff_reader._MOST_LEVELS", 2)
    with refused(r"line 3 .more than 2 levels; call it a"):
        read_table(table, "t.arff")


def test_a_line_is_cut_into_no_more_cells_than_there_are_columns():
    data = HEADER + b"1," * 1_000_000
    tracemalloc.start()
    with refused("values for 2 attributes"):
        read_table(data, "t.arff")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * len(data)


def test_a_long_value_is_a_value():
    frame, _, _ = read_frame(HEADER + b"1" * 200_000 + b",q\n", "t.arff")
    assert np.isinf(frame["a"]).all()


def test_texts_of_a_parquet_file_are_measured_before_they_are_made():
    codes = pa.array(np.arange(900_000, dtype=np.int32) % 2)
    texts = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 400, "y" * 400]))
    data = parquet({"a": texts, "y": codes}, compression="zstd")
    assert len(data) < 500_000
    before = pa.total_allocated_bytes()
    with refused("expands to 360 MB, at most 250 MB"):
        read_table(data, "t.parquet")
    assert pa.total_allocated_bytes() - before < 10_000_000


def test_texts_that_repeat_the_one_before_are_not_unpacked(monkeypatch):
    encodings = {"a": "DELTA_BYTE_ARRAY", "y": "PLAIN"}
    options = {"use_dictionary": False, "column_encoding": encodings}
    few = parquet({"a": ["u", "v"] * 20, "y": range(40)}, **options)
    assert read_frame(few, "t.parquet")[0]["a"].nunique() == 2
    monkeypatch.setattr("smpcore.datasets.limits.MAX_EXPANDED", 25_000_000)
    texts = ["x" * 100_000 + str(number % 10) for number in range(500)]
    data = parquet({"a": texts, "y": range(500)}, **options)
    assert len(data) < 150_000
    with refused(r"expands to .* MB, at most 25 MB"):
        read_table(data, "t.parquet")


def test_a_parquet_directory_is_bounded():
    with refused("directory of the Parquet file has 20 MB"):
        read_table(b"PAR1" + (20_000_000).to_bytes(4, "little") + b"PAR1", "t.parquet")


def test_categories_that_make_too_many_features_are_refused():
    levels = np.arange(60_000) % 900
    data = parquet({"a": [f"w{level}" for level in levels], "y": levels % 2})
    data = read_table(data, "t.parquet", roles={"a": "feature", "y": "target"})
    with refused("900 features of 60,000 rows"):
        prepare(data, np.arange(60_000))


def _whole_files():
    """A sound file of each format, and of matrices; by the end of its name."""
    random = np.random.default_rng(0)
    columns, levels = drawn(random)
    frame = pd.DataFrame(columns).assign(y=[*"pqpqpqpq"], when=pd.Timestamp("2020"))
    sheet, text = io.BytesIO(), frame.to_csv(index=False)
    frame.to_excel(sheet, index=False)
    near = np.exp(-(np.subtract.outer(np.arange(8), np.arange(8)) ** 2.0))
    arff, _ = arff_of(columns, levels, random)
    rows = "".join(f"1,2,{i}:4,?,6:{'pq'[i % 2]}\n" for i in range(8))
    head = "@timeStamps false\n@univariate false\n@classLabel true p q\n@data\n"
    pairs = "".join(f"{i % 2} 1:{i}.5 3:2 7:1e3\n" for i in range(8))
    return {
        "csv": text.encode(),
        "tsv": text.replace(",", "\t").encode("utf-16"),
        "parquet": parquet(frame),
        "xlsx": sheet.getvalue(),
        "arff": arff.encode(),
        "ts": (head + rows).encode(),
        "libsvm": pairs.encode(),
        "npz": npz(near=near, far=near**0.1, y=np.array([*"pqpqpqpq"])),
        "images": npz(X=random.random((8, 5, 4)), y=np.array([*"pqpqpqpq"])),
        **KINDS,
    }


def _parts(data):
    """The files in an archive, by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _archive(parts):
    """An archive of these files, which says nothing of their damage."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return packed.getvalue()


@st.composite
def _damaged(draw, data):
    """Content that is cut off, in which bits are flipped, or that has more bytes."""
    content = bytearray(data)
    place = draw(st.integers(0, len(data) - 1))
    how = draw(st.sampled_from(["cut", "flip", "flip", "drop", "add"]))
    if how == "cut":
        return bytes(content[:place])
    if how == "flip":
        for _ in range(draw(st.sampled_from([1, 1, 3, 20]))):
            place = draw(st.integers(0, len(data) - 1))
            content[place] ^= 1 << draw(st.integers(0, 7))
        return bytes(content)
    more = [b"\0", b"\xff" * 4, b"1e999", b"'", b"(", b"{", b":", b"9" * 5000, b"\n"]
    size = draw(st.integers(1, 40)) if how == "drop" else 0
    content[place : place + size] = draw(st.sampled_from(more)) * (how == "add")
    return bytes(content)


WHOLE_FILES = _whole_files()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", WHOLE_FILES)
def test_a_damaged_file_is_refused_in_a_sentence(ending):
    """Whatever its reader raises: no other exception than `DatasetError` comes."""
    data, n_read = WHOLE_FILES[ending], 0
    inside = _parts(data) if ending in ("xlsx", "npz", "images", "ods", "zip") else {}
    damaged = [_damaged(data)]
    for name, part in inside.items():
        others = _damaged(part).map(lambda part, name=name: {**inside, name: part})
        damaged.append(others.map(_archive))

    @settings(max_examples=150, derandomize=True, deadline=None)
    @given(st.one_of(damaged), st.sampled_from([False, True]))
    @example(data, False)
    def read(content, sample):
        nonlocal n_read
        try:
            if ending == "npz":
                read_matrices(content, "t.npz")
            else:
                read_table(io.BytesIO(content), f"t.{ending}", sample=sample)
            n_read += 1
        except DatasetError as error:
            assert str(error).endswith(".")

    read()
    assert n_read


def _file_of(row):
    """A sound file of a format, by its ending or, without one, by its content."""
    files = {f".{ending}": data for ending, data in WHOLE_FILES.items()}
    by_ending = (files[ending] for ending in row.endings if ending in files)
    by_content = (data for data in files.values() if row.begins_so(data))
    return next(by_ending if row.endings else by_content, b"")


def test_every_format_has_a_file_that_is_damaged():
    assert all(map(_file_of, TABLE_FORMATS.values()))
    assert {*ENDINGS} <= {f".{ending.rpartition('.')[2]}" for ending in WHOLE_FILES}


@pytest.mark.parametrize("name", TABLE_FORMATS)
def test_what_a_reader_raises_becomes_the_sentence_of_its_file(name, monkeypatch):
    """As with a library's next release, which nobody has tried yet."""

    def fails(data, options):
        raise KeyError("of a library")

    row = TABLE_FORMATS[name]
    monkeypatch.setitem(TABLE_FORMATS, name, row._replace(read=fails))
    data = _file_of(row)
    with refused("'t.* cannot be read, it seems to be cut off or damaged; fetch"):
        read_table(data, "t.txt" if not row.is_text else f"t{row.endings[0]}")
