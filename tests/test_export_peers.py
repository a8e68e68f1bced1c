"""The export page shows measured models of other libraries, where there are any."""

import pandas as pd
import pytest

from pages.export import peers, settings
from smpcore import load_dataset
from smpcore.chips import CHIPS, measured_names, measured_peers, points_of
from tests.app import kernels, opened

pytestmark = pytest.mark.usefixtures(kernels.__name__)
TITLE = "Compared with other libraries"
IRIS = measured_peers(load_dataset("iris").digest)


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """On a busy machine the comparison would otherwise go on behind a progress bar."""
    monkeypatch.setattr(settings, "QUICK_SECONDS", 60.0)


def _section(data, **more):
    page = opened({"data": data, **more}, "export.py")
    return next((one for one in page.expander if one.label == TITLE), None)


def _table(section):
    return section.dataframe[0].value.set_index("model")


def test_a_measured_set_has_two_charts_and_their_numbers_on_each_chip():
    """Another number format moves the own mark only; what is better is said to be."""
    shown = {}
    for number, chip in (("float32", "ATmega328P"), ("int8", "ATmega328P")):
        keys = {"p.export_format": number, "p.export_chip": chip}
        section = _section("iris", method="smallk", **keys)
        charts = section.get("plotly_chart")
        assert len(charts) == 2
        table = shown[number] = _table(section)
        assert table.index[0] == f"your model, {number}"
        others = table.iloc[1:]
        assert others.index.str.startswith("emlearn").any()
        assert others["accuracy"].str.contains(r" % \(.*–.* %\)$").all()
        assert {"flash, bytes", f"{CHIPS[chip].counted} per prediction"} <= {*table}
        words = " ".join(caption.value for caption in section.caption)
        helps = " ".join(caption.help or "" for caption in section.caption)
        assert "on the validation rows" in words and "emlearn" in helps
        assert chip in words and "settings chosen by cross" in helps
        for chart in charts:
            assert f"your model, {number}" in chart.proto.spec
        points = pd.DataFrame(points_of(IRIS["chips"][chip]))
        own = float(table.accuracy.iloc[0].split()[0]) / 100, _flash(table)
        better = points[(points.group != "ours") & (points.flash_most <= own[1])]
        better = better[better.accuracy > own[0] + 1e-3].model
        (sentence,) = (m.value for m in section.markdown if "accurate" in m.value)
        assert all(name in sentence.replace("\\", "") for name in better)
        assert sentence.startswith("**More") or better.empty
    assert _flash(shown["float32"]) > 3 * _flash(shown["int8"])
    assert shown["float32"].iloc[1:].equals(shown["int8"].iloc[1:])


def _flash(table):
    return int(table["flash, bytes"].iloc[0].replace(",", ""))


@pytest.mark.parametrize(
    ("flash", "accuracy", "names"),
    [
        (500, 0.9, "**More accurate than yours in no more flash:** emlearn tree (95"),
        (499, 0.9, "No model of others is more accurate"),
        (500, 0.95, "No model of others is more accurate"),
    ],
)
def test_a_rival_that_is_better_is_shown_as_better(flash, accuracy, names):
    models = [
        {"model": "ours, at most 512 B of flash", "ours": True, "flash": [9, 9, 9]},
        {"model": "emlearn tree", "ours": False, "flash": [400, 450, 500]},
    ]
    rest = {"accuracy": [0.95, 0.01], "interval": [0.9, 0.97], "splits": 10}
    points = points_of([model | rest | {"refused": 0} for model in models])
    assert peers.better(pd.DataFrame(points), accuracy, flash).startswith(names)


def test_another_set_has_one_sentence():
    section = _section("moons")
    assert not section.get("plotly_chart")
    (caption,) = section.caption
    words = caption.value.replace("\\", "")
    assert "not on this table" in words
    assert all(name in words for name in measured_names())


def test_a_regression_has_none():
    assert _section("diabetes") is None
