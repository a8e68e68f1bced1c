"""Series: the generated set, .ts files and long tables, and IMKPL on their channels."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from smpcore.datasets import (
    MAX_ROWS,
    guess_series,
    limits,
    load_dataset,
    prepare,
    read_frame,
    read_table,
    split,
)
from smpcore.errors import DatasetError
from smpcore.methods.imkpl import IMKPLClassifier
from tests.smpcore.datasets.cases import parquet, refused, said


def fitted(data, noise=None):
    """IMKPL with an alignment kernel for each channel, and its share of test rows."""
    division, y = split(data), data.y
    X = prepare(data, division.train).transform(data.frame)
    if noise is not None:
        X[:, -noise.shape[1] :] = noise
    options = {"kernels": "gak", "n_channels": 9, "standardize": False, "kappa": 1.0}
    estimator = IMKPLClassifier(**options).fit(X[division.train], y[division.train])
    return estimator, estimator.score(X[division.test], y[division.test])


TS = """# two channels, three times
@problemName two
@timeStamps false
@missing true
@univariate false
@dimensions 2
@equalLength true
@seriesLength 3
@classLabel true up down
@data
1,2,3:0.5,0.5,0.5:up
# between

3,2,1:0.5,?,NaN:down
-1,0,1e0:5,5,5:up
"""
UNEQUAL = "@dimension 1\n@equalLength false\n@classLabel true a b\n@data\n"
UNEQUAL += "0,1,2,3:a\n0,2:b\n0,1,2:a\n9,?,9,9,9:b\n"
LONG = """sample,time,c1,c2,label
s2,1,10,0.5,up
s2,2,20,0.5,up
s1,3,7,?,down
s1,1,5,0,down
s2,3,30,0.5,up
s1,2,6,1,down
"""


def values(data):
    """Values of a data set, (n_samples, channels, times)."""
    table = data.frame[data.feature_columns].to_numpy(float)
    return table.reshape(-1, *data.sample_shape)


def ts(text, name="t.ts", **options):
    return read_table(text.encode(), name, **options)


def long(text, **options):
    return read_table(text.encode(), "t.csv", series=True, **options)


def test_generated_series_are_what_they_say():
    data = load_dataset("series", n_samples=400, noise=0.0, n_times=30)
    assert data.sample_shape == (9, 30)
    assert data.feature_columns[:2] == ["c1_t01", "c1_t02"]
    assert data.feature_columns[-1] == "c9_t30"
    assert data.classes.tolist() == [1, 2, 3, 4]
    assert np.bincount(data.y_encoded).tolist() == [100] * 4
    X, y = values(data), data.y
    assert not np.ptp(X[:, 7:], axis=0).any()
    assert X[:, 7:].std(axis=0).max() == 0.0
    # What the description promises about each channel, by a straight cut.
    told = {0: (1, 2), 1: (1, 3), 2: (1,), 3: (2,), 4: (4,), 5: (1, 4), 6: (1, 4)}
    for channel, owners in told.items():
        own = np.isin(y, owners)
        cut = SVC(kernel="linear").fit(X[:200, channel], own[:200])
        assert cut.score(X[200:, channel], own[200:]) == 1.0
        for a, b in ((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)):
            if (a in owners) == (b in owners):
                rows = np.isin(y, (a, b))
                low, high = (X[y == c, channel].mean(axis=0) for c in (a, b))
                assert np.abs(low - high).max() < 0.5 * X[rows, channel].std()
    apart = X[:, 6] - X[:, 5]
    assert 0 < apart.std() < 0.06 < X[:, 5].std()


def test_ts_file():
    data = ts(TS)
    assert data.sample_shape == (2, 3)
    assert data.target == "class" and data.classes.tolist() == ["down", "up"]
    assert data.y.tolist() == ["up", "down", "up"]
    assert data.reading.format == "ts" and data.private and not data.open_test
    assert not said(data, "resampled")
    gap = [0.5, np.nan, np.nan]
    expected = [[[1, 2, 3], [0.5] * 3], [[3, 2, 1], gap], [[-1, 0, 1], [5, 5, 5]]]
    np.testing.assert_array_equal(values(data), expected)
    assert np.isfinite(prepare(data, np.arange(3)).transform(data.frame)).all()


@pytest.mark.parametrize("name", ["t.ts", "T.TS", "series.txt", "no ending"])
def test_ts_files_are_known_by_ending_or_content(name):
    for text in (TS, "\ufeff" + TS, TS.replace("\n", "\r\n"), UNEQUAL):
        assert ts(text, name).reading.format == "ts"
    assert ts(TS, name).digest == ts(TS.replace("\n", "\r"), "t.ts").digest


def test_unequal_lengths_become_the_median_one():
    data = ts(UNEQUAL)
    assert data.sample_shape == (1, 3)
    assert [text for text in data.notices if "resampled" in text] == [
        "Series have 2 to 5 values in time: 3 of 4 were resampled linearly to the "
        "median length, 3."
    ]
    nine = [9, 9, 9]
    expected = [[[0, 1.5, 3]], [[0, 1, 2]], [[0, 1, 2]], [nine]]
    np.testing.assert_allclose(values(data), expected)
    # A value between a known and a missing one is not known.
    hole = ts(UNEQUAL.replace("9,?,9,9,9", "9,?,9,9"))
    np.testing.assert_array_equal(values(hole)[3], [[9, np.nan, 9]])


def test_a_test_file_is_resampled_to_the_length_of_the_data():
    data = ts(UNEQUAL)
    other = b"@univariate true\n@classLabel true a b\n@data\n0,1,2,3,4:b\n4,3,2,1,0:a\n"
    frame, _, notices = read_frame(other, "test.ts", n_times=3)
    assert "2 of 2 were resampled linearly to the length asked for, 3" in notices[0]
    both = data.with_test(frame, notices)
    assert both.sample_shape == (1, 3) and both.test_rows.tolist() == [4, 5]
    assert said(both, "Test file: Series have 5 to 5")
    np.testing.assert_allclose(values(both)[4:], [[[0, 2, 4]], [[4, 2, 0]]])


def test_targets_that_are_numbers():
    text = "@univariate true\n@targetLabel true\n@data\n1,2:0.5\n2,2:1.5\n3,2:2.5\n"
    data = ts(text)
    assert (data.task, data.target) == ("regression", "target")
    assert data.y.tolist() == [0.5, 1.5, 2.5]


def test_long_table():
    data = long(LONG)
    assert data.sample_shape == (2, 3)
    assert data.y.tolist() == ["up", "down"]
    assert data.feature_columns[0] == "c1_t1" and data.target == "label"
    expected = [[[10, 20, 30], [0.5] * 3], [[5, 6, 7], [0, 1, np.nan]]]
    np.testing.assert_array_equal(values(data), expected)
    shorter = long(LONG.replace("s1,2,6,1,down\n", ""))
    assert said(shorter, "resampled linearly")
    np.testing.assert_allclose(values(shorter)[1, 0], [5, 7])


def test_long_tables_of_other_kinds():
    plain = values(long(LONG))
    renamed = LONG.replace("sample,time", "Sample, TIME").replace(",", ";")
    np.testing.assert_array_equal(values(long(renamed)), plain)
    assert long(LONG.replace("c2,label", "y,activity")).target == "activity"
    file = parquet(pd.read_csv(io.StringIO(LONG), na_values="?"))
    data = read_table(file, "t.parquet", series=True)
    np.testing.assert_array_equal(values(data), plain)


def walks(n_samples=12, n_times=20):
    """Two channels of each sample, evenly spaced in time, as numbers per sample."""
    rng = np.random.default_rng(0)
    return np.cumsum(rng.normal(size=(n_samples, 2, n_times)), axis=2)


def long_walks(times, rows=slice(None)):
    X = walks(n_times=len(times))
    parts = [
        pd.DataFrame({"patient_id": f"p{i}", "when": times, "a [g]": a, "b [g]": b})
        .assign(group="xy"[i % 2])
        .iloc[rows]
        for i, (a, b) in enumerate(X)
    ]
    return pd.concat(parts)


TIMES = {
    "time_ms": (np.arange(20) * 20 + 40, (40.0, 20.0, "ms", "time"), 50.0),
    "timestamp": (
        pd.date_range("2024-03-01", periods=20, freq="10min"),
        (0.0, 10.0, "min", "time since 2024-03-01 00:00"),
        1 / 600,
    ),
    "t": (np.arange(20) / 50, (0.0, 0.02, "", "t"), None),
}


@pytest.mark.parametrize("name", TIMES)
def test_a_long_table_is_recognised_with_its_own_time(name):
    times, axis, rate = TIMES[name]
    frame = long_walks(times).rename(columns={"when": name})
    melted = frame.melt(["patient_id", name, "group"], var_name="channel")
    for table in (frame, melted):
        data = table.to_csv(index=False).encode()
        as_table = read_table(data, "t.csv")
        series = guess_series(as_table.whole)
        assert series == ("patient_id", name, "group")
        dataset = read_table(data, "t.csv", series=series)
        assert dataset.time_axis == axis and dataset.channels == ["a [g]", "b [g]"]
        assert dataset.time_axis.rate == (rate and pytest.approx(rate))
        np.testing.assert_allclose(values(dataset), walks())


def test_times_that_are_uneven_or_of_other_lengths_are_said():
    frame = long_walks(np.arange(20) ** 2.0)
    data = frame.to_csv(index=False).encode()
    dataset = read_table(data, "t.csv", series=("patient_id", "when", "group"))
    assert said(dataset, "Times are not evenly spaced")
    frame = long_walks(np.arange(20.0))
    shorter = frame[(frame["patient_id"] != "p0") | (frame["when"] < 10)]
    data = shorter.to_csv(index=False).encode()
    dataset = read_table(data, "t.csv", series=("patient_id", "when", "group"))
    assert dataset.time_axis.title == "when, of the median length"
    assert said(dataset, "10 to 20 values in time")


def test_a_wide_table_is_recognised():
    columns = [f"{c}_{0.02 * t:.2f}" for c in "ab" for t in range(20)]
    frame = pd.DataFrame(walks().reshape(12, -1), columns=columns)
    mixed = frame[[*columns[::2], *columns[1::2]]]
    table = mixed.assign(id=range(12), kind=[*"xy"] * 6)
    assert guess_series(table) == "wide"
    dataset = read_table(table.to_csv(index=False).encode(), "t.csv", series="wide")
    np.testing.assert_allclose(values(dataset), walks())
    assert dataset.time_axis == (0.0, 0.02, "", "time")
    assert (dataset.target, dataset.roles["id"]) == ("kind", "ignore")
    rough = np.random.default_rng(0).permutation(frame.to_numpy(), axis=1)
    assert (
        guess_series(table.assign(**dict(zip(columns, rough.T, strict=True)))) is None
    )
    with refused("same times of each channel"):
        read_table(LONG.encode(), "t.csv", series="wide")
    assert guess_series(load_dataset("breast_cancer").frame) is None


def test_a_table_with_such_columns_stays_a_table_unless_asked():
    data = read_table(LONG.encode(), "t.csv")
    assert data.n_samples == 6 and data.sample_shape == (len(data.feature_columns),)


def test_roles_of_series_may_be_others():
    every = {"c1_t1": "ignore", "c2_t3": "target"}
    data = long(LONG.replace("?", "4"), roles=every)
    assert data.target == "c2_t3" and data.roles["label"] != "target"
    assert data.sample_shape == (len(data.feature_columns),)
    counting = "\n".join(f"{k},{k}:{'ab'[k % 2]}" for k in range(20))
    text = f"@univariate true\n@classLabel true a b\n@data\n{counting}\n"
    assert ts(text).sample_shape == (1, 2)


HEAD = "@univariate false\n@classLabel true a b\n@data\n"
OF_WORDS = "@univariate true\n@targetLabel true\n@data\n1,2:nan\n"
#: What stands in the file, what stands there instead, and what is said.
REFUSED = [
    (TS[TS.index("@data") :], "", "no @data line, it seems to be cut off"),
    (TS[TS.index("1,2,3") :], "", "no series after its @data line"),
    ("@classLabel true up down\n", "", "no line '@classLabel true', so its"),
    (" true up down", "", "Line 9 .* true or false after @class"),
    ("@timeStamps false", "@timeStamps true", "Line 11 .* no equally spaced"),
    ("@dimensions 2", "@dimensions two", "Line 6 .* number from 1 after @dimension"),
    ("@missing", "missing", "Line 4 .* begin with @ or #"),
    (":5,5,5:up\n", "\n", "Line 15 .* 1 part .* 3, 2 channels and a label;"),
    (":5,5,5:up\n", ":5,5,5", "Line 15 .* has no label at its end; correct"),
    (":5,5,5:up\n", ":5,5,5:u", "Line 15 .*'u', which @classLabel does not name"),
    (":down", ":?", "Line 14 .* has no label at its end"),
    (TS, HEAD + "1,2:3,4:a\n1,2:3,4:5,6:b\n", "Line 5 .* 4 parts .* 3, 2 channels"),
    ("1,2,3:0.5,0.5,0.5", "1,2:3,4", "Line 11 .* 2 values .* have 3, as @seriesLength"),
    ("3,2,1", "3,two,1", "Line 14 .* has 'two' in channel 1, which"),
    (TS, OF_WORDS, "Line 4 .* label 'nan', which should be a number"),
    ("3,2,1", "3,\0,1", "not a text table: it has zero bytes"),
    (TS, "\x80\x04\x95\0cos\nsystem\n", "not a text table"),
    (TS, HEAD + "1," * 400_000 + "1:a\n", "400,00. columns and would"),
    (TS, HEAD + "1:a\n" * (MAX_ROWS + 1), "rows, at most 1,000,000"),
]


@pytest.mark.parametrize(("old", "new", "words"), REFUSED, ids=[x[2] for x in REFUSED])
def test_refused_ts_files(old, new, words):
    with refused(words):
        ts(TS.replace(old, new))


LACKING = LONG.replace("s1,1,5,0,down", "s1,1,5,0,")
REFUSED_TABLES = [
    ("time", "hour", "it has no 'time' among 'sample', 'hour'"),
    (LONG.partition("\n")[0] + "\n", "", "should have the columns 'sample' and 'time'"),
    (LONG, "sample,time,y\n1,1,a\n1,2,a\n", "a channel and a label besides"),
    ("s1,1,5,0,down", "s1,1,5,0,", "Line 5 has nothing in the column 'label'; correct"),
    ("s1,1,5", ",1,5", "Line 5 has nothing .* 'sample'"),
    ("s1,2,6,1,down", "s1,2,6,1,up", r"Line 7 has another label than .* \('s1'\)"),
    ("s1,2", "s1,1", r"Line [57] has a time that its sample already has \('s1'\)"),
    ("20", "x", "Line 3 holds text in the column 'c1', which"),
    ("\ns1,1,5,0,down", "\n\n\ns1,1,5,0,", "Line 7 has nothing in the column 'label'"),
    (LONG, "sep=,\r\n" + LACKING, "Line 6 has nothing in the column 'label'"),
    (LONG, LACKING.replace("s2,1", '"s\n2",1'), "Row 4 has nothing .* 'label'"),
]


@pytest.mark.parametrize(("old", "new", "words"), REFUSED_TABLES)
def test_refused_long_tables(old, new, words):
    with refused(words):
        long(LONG.replace(old, new))


def test_series_of_a_table_that_would_become_too_large_are_refused(monkeypatch):
    monkeypatch.setattr(limits, "MAX_TABLE_BYTES", 20_000_000)
    with refused("would take 36 MB .* or shorter series"):
        long(LONG, n_times=9_000)


def test_a_file_is_read_the_same_way_again():
    for data, text in ((ts(TS), TS), (ts(UNEQUAL), UNEQUAL), (long(LONG), LONG)):
        known = {"roles": dict(data.roles), "kinds": dict(data.kinds)}
        known |= {"task": data.task, **data.reading.options()}
        again = read_table(text.encode(), data.reading.filename, **known)
        assert again.digest == data.digest and again.sample_shape == data.sample_shape
        assert data.with_roles(dict(data.roles)).sample_shape == data.sample_shape


@pytest.mark.parametrize("n_times", [0, -1, 2.5, True, "3", 10_001])
def test_refused_lengths(n_times):
    with refused(r"n_times=.* should be a whole number from 1"):
        read_frame(TS.encode(), "t.ts", n_times=n_times)


ANYTHING = st.text("@#:,?\n 1a.nT-", max_size=60).map(str.encode)
ANYTHING |= st.binary(max_size=80)


@settings(max_examples=200)
@given(ANYTHING, st.booleans(), st.sampled_from([("t.ts", False), ("t.csv", True)]))
def test_anything_is_read_or_refused_with_a_sentence(content, headed, how):
    try:
        data = read_table(HEAD.encode() * headed + content, how[0], series=how[1])
    except DatasetError as error:
        assert str(error).endswith(".") and ";" in str(error)
    else:
        assert np.prod(data.sample_shape) == len(data.feature_columns)


@pytest.mark.parametrize("seed", [0, 1])
def test_imkpl_leaves_out_the_channels_that_tell_nothing(seed):
    estimator, score = fitted(load_dataset("series", n_samples=60, seed=seed))
    assert estimator.dropped_.tolist() == [7, 8]
    weights = estimator.kernel_weights_
    assert weights[7:].tolist() == [0.0, 0.0]
    assert 2 <= np.count_nonzero(weights) <= 4
    assert score == 1.0
    assert estimator.model_.sample_shape == (9, 40)
    assert not estimator.model_.support.reshape(9, 40)[7:].any()


def test_channels_of_noise_are_not_dropped_but_get_no_weight():
    """Noise tells rows apart, so that only the fit can leave it out."""
    noise = np.random.default_rng(0).normal(size=(60, 2 * 40))
    estimator, score = fitted(load_dataset("series", n_samples=60), noise)
    assert estimator.dropped_.size == 0
    assert estimator.kernel_weights_[7:].tolist() == [0.0, 0.0]
    assert score > 0.9


NAMED = LONG.replace("sample,time,c1,c2,label", "who,when,x,y,kind")


def test_a_long_table_whose_columns_are_named():
    dataset = read_table(NAMED.encode(), "t.csv", series=("who", "when", "kind"))
    assert dataset.channels == ["x", "y"]
    np.testing.assert_array_equal(values(dataset), values(long(LONG)))
    assert dataset.reading.series == ("who", "when", "kind")
    assert dataset.reading.filename == "t.csv"


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        (("who", "day", "kind"), "has no column 'day'"),
        (("who", "when", "when"), "should be three columns"),
        (("who", "who", "kind"), "should be three columns"),
    ],
)
def test_columns_that_cannot_be_those_of_series(roles, words):
    with refused(words):
        read_table(NAMED.encode(), "t.csv", series=roles)


def test_channels_are_those_of_series_only():
    assert load_dataset("digits").channels == []
    assert load_dataset("moons").channels == []
    series = load_dataset("series", n_times=10)
    assert len(series.channels) == 9
    assert series.with_roles({series.feature_columns[3]: "ignore"}).channels == []
