"""Pictures of a table: every row counted once, no user's tag obeyed."""

import numpy as np
import pandas as pd
import pytest

from smpcore import SmpcoreError, load_dataset, read_table, split
from smpcore.datasets import make_dataset
from smpcore.figures import class_balance, missing_values, scatter, series


@pytest.mark.parametrize("key", ["iris", "digits", "breast_cancer"])
def test_class_balance_counts_every_row_once(key):
    dataset = load_dataset(key)
    figure = class_balance(dataset, split(dataset))
    counts = dict.fromkeys(map(str, dataset.classes), 0)
    for bar in figure.data:
        for label, count in zip(bar.y, bar.x, strict=True):
            counts[label] += count
    assert list(counts.values()) == np.bincount(dataset.y_encoded).tolist()
    assert [bar.name for bar in figure.data] == ["training", "validation", "test"]


def test_class_balance_of_numbers_and_of_many_classes():
    dataset = load_dataset("diabetes")
    figure = class_balance(dataset, split(dataset))
    assert sum(len(part.x) for part in figure.data) == dataset.n_samples
    sizes = np.arange(1, 61)
    y = np.repeat([f"c{i}" for i in sizes], sizes)
    frame = pd.DataFrame({"x": np.arange(len(y)) * 0.5, "y": y})
    dataset = make_dataset(frame, "t", roles={"y": "target"})
    figure = class_balance(dataset, split(dataset))
    assert figure.data[0].y[:2] == ("c60", "c59")
    assert len(figure.data[0].y) == 40


def table():
    frame = pd.DataFrame(
        {
            "<b>a</b>": [1.0, np.nan, np.nan, 4.0],
            "w": ["u", None, "<i>v</i>", "u"],
            "full": [1, 2, 3, 5],
            "y": ["p", "q", "p", "<a href=x>"],
        }
    )
    return make_dataset(frame, "t", roles={"y": "target"})


def test_missing_values_are_sorted_shares():
    (bars,) = missing_values(table()).data
    assert list(bars.x) == [50, 25]
    assert bars.y == ("&lt;b>a&lt;/b>", "w")


def test_scatter_shows_the_rows_it_is_given_and_no_others():
    dataset = table()
    figure = scatter(dataset, np.array([0, 2, 3]), "<b>a</b>", "w")
    assert [trace.name for trace in figure.data] == ["&lt;a href=x>", "p", "q"]
    assert [len(trace.x) for trace in figure.data] == [1, 2, 0]
    assert list(figure.data[1].y) == ["u", "&lt;i>v&lt;/i>"]
    assert figure.layout.xaxis.title.text == "&lt;b>a&lt;/b>"


def test_scatter_tells_many_classes_apart():
    y = np.repeat(np.arange(70), 2)
    frame = pd.DataFrame({"x": np.arange(140.0), "y": y})
    dataset = make_dataset(frame, "t", roles={"y": "target"}, task="classification")
    looks = {
        (trace.marker.color, trace.marker.symbol)
        for trace in scatter(dataset, np.arange(140), "x", "x").data
    }
    assert len(looks) == 70


def test_scatter_thins_many_rows_evenly():
    dataset = load_dataset("moons", n_samples=5000)
    figure = scatter(dataset, np.arange(5000), "x1", "x2")
    assert 1000 < sum(len(trace.x) for trace in figure.data) <= 2000


def test_scatter_of_a_regression_is_coloured_by_value():
    dataset = load_dataset("diabetes")
    (points,) = scatter(dataset, np.arange(100), "age", "bmi").data
    assert list(points.marker.color) == dataset.y[:100].tolist()


def test_series_draw_some_of_each_class_and_no_other_row():
    dataset = load_dataset("series", n_times=10)
    train = split(dataset).train
    figure = series(dataset, train, per_class=2)
    assert len(figure.data) == len(dataset.channels) * len(dataset.classes)
    assert len({(t.line.color, t.line.dash) for t in figure.data}) == 4
    assert sum(bool(trace.showlegend) for trace in figure.data) == 4
    seen = dataset.frame[dataset.feature_columns].iloc[train].to_numpy()
    label = dataset.y_encoded[train]
    for number, trace in enumerate(figure.data):
        code, channel = divmod(number, 9)
        drawn = np.reshape(trace.y, (2, 11))[:, :10]
        rows = seen[label == code, 10 * channel : 10 * channel + 10]
        assert all((rows == line).all(axis=1).any() for line in drawn)


def test_series_of_many_channels_and_without_classes():
    lines = "\n".join(
        ":".join(f"{i},{j},{i + j}" for j in range(15)) + f":{0.5 * i}"
        for i in range(9)
    )
    data = f"@targetLabel true\n@dimension 15\n@data\n{lines}\n".encode()
    dataset = read_table(data, "t.ts")
    figure = series(dataset, np.arange(9))
    names = [trace.name for trace in figure.data[::12]]
    assert names == [
        f"{third} third of the target" for third in ("low", "middle", "high")
    ]
    assert len(figure.data) == 3 * 12


def test_a_table_is_no_series():
    with pytest.raises(SmpcoreError, match="should hold series"):
        series(load_dataset("digits"), np.arange(5))
