"""Own pictures and series that are brought as a file."""

import io
from dataclasses import replace
from datetime import date, timedelta

import msgspec
import numpy as np
import pytest
from msgspec.structs import asdict
from sklearn.datasets import load_digits

from pages.state import state_file, table_store
from smpcore.datasets import declared_times, read_table
from tests.app import bring, brought, kernels, opened, session_of
from tests.test_live import figure_of

pytestmark = pytest.mark.usefixtures(kernels.__name__)
DIGITS = load_digits()
ROWS = slice(0, 300)


def on_explore(page):
    """The figure that Explore shows of the same visit."""
    page.switch_page("pages/explore.py").run()
    assert not page.exception
    return figure_of(page)


def as_npz():
    file = io.BytesIO()
    np.savez(file, X=DIGITS.images[ROWS], y=DIGITS.target[ROWS])
    return file.getvalue()


def test_an_npz_file_of_pictures_is_drawn_as_pictures():
    page = bring(opened({"data": "moons"}, "data.py"), as_npz(), "mine.npz")
    assert not page.error
    assert on_explore(page)["scene"]["image"] == [8, 8]
    page.switch_page("pages/prototypes.py").run()
    assert not page.exception and not page.error


def test_no_table_without_pixels_is_offered_as_pictures():
    page = opened({"data": "breast_cancer"}, "data.py")
    assert "Rows as images" not in [one.label for one in page.selectbox]


def test_a_state_file_brings_the_pictures_back():
    page = bring(opened({"data": "moons"}, "data.py"), as_npz(), "mine.npz")
    (dataset, _) = table_store.find(session_of(page).choice.token)
    record = state_file.record_of(dataset)
    plain = replace(dataset, sample_shape=(64,))
    again, _ = state_file.apply_record(plain, record)
    assert again.sample_shape == (8, 8)


@pytest.mark.parametrize("names", [("series", "time [s]", "kind"), "wide"])
def test_a_state_file_brings_series_and_their_rate_back(names):
    draw = np.random.default_rng(0)
    values = np.round(np.cumsum(draw.normal(size=(12, 9)), axis=1), 3)
    kinds = np.array(["rest", "walk"])[np.arange(12) % 2]
    if names == "wide":
        lines = ["kind," + ",".join(f"a_{t}" for t in range(9))]
        lines += [
            ",".join(map(str, line)) for line in zip(kinds, *values.T, strict=True)
        ]
    else:
        lines = [",".join(names) + ",a"]
        lines += [
            f"s{i},{t / 8},{kinds[i]},{values[i, t]}"
            for i in range(12)
            for t in range(9)
        ]
    content = "\n".join(lines).encode()
    dataset = read_table(content, "walks.csv", series=names)
    declared = replace(dataset, time_axis=declared_times(0.02))
    written = msgspec.json.encode(state_file.record_of(declared))
    record = msgspec.json.decode(written, type=state_file.TableRecord)
    noted = asdict(record.reading)
    options = {name: value for name, value in noted.items() if value is not None}
    read = read_table(content, "walks.csv", **options)
    again, words = state_file.apply_record(read, record)
    assert (again.sample_shape, words) == ((1, 9), [])
    assert again.digest == declared.digest
    np.testing.assert_array_equal(again.time_axis.times(9), np.arange(9) * 0.02)


@pytest.mark.parametrize("series", ["long", ["a", "b"], ["a"] * 4, [1, 2, 3], True])
def test_a_state_file_with_other_series_is_refused(series):
    reading = {"skip": 0, "header": 1, "footer": 0, "series": series}
    record = {"name": "x", "digest": "y", "columns": None, "reading": reading}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(record, state_file.TableRecord)


@pytest.mark.parametrize("days", [1, 30, 366])
def test_series_that_come_slowly_have_a_page(days):
    lines = ["sample,date,kind,a"]
    for i in range(40):
        for t in range(8):
            day = date(1990, 1, 1) + timedelta(days * t)
            lines.append(f"s{i},{day},{'xy'[i % 2]},{i % 7 + t}")
    content = "\n".join(lines).encode()
    dataset = read_table(content, "slow.csv", series=("sample", "date", "kind"))
    page = opened(brought(dataset), "data.py")
    (rate,) = (one for one in page.number_input if one.label == "Samples per second")
    assert rate.value == pytest.approx(1 / (86_400 * days))
