"""The export page shows measured models of other libraries, where there are any."""

import pytest

from pages.export import settings
from smpcore.chips import measured_names
from tests.app import kernels, opened

pytestmark = pytest.mark.usefixtures(kernels.__name__)
TITLE = "Compared with other libraries"


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """On a busy machine the comparison would otherwise go on behind a progress bar."""
    monkeypatch.setattr(settings, "QUICK_SECONDS", 60.0)


def _section(data, **more):
    page = opened({"data": data, **more}, "export.py")
    return next((one for one in page.expander if one.label == TITLE), None)


def _table(section):
    return section.dataframe[0].value.set_index("model")


@pytest.mark.parametrize("number", ["float32", "int8"])
def test_a_measured_set_has_two_charts_and_their_numbers(number):
    section = _section("iris", method="smallk", **{"p.export_format": number})
    charts = section.get("plotly_chart")
    assert len(charts) == 2
    shown = _table(section)
    assert shown.index[0] == f"your model, {number}"
    own, others = shown.iloc[0], shown.iloc[1:]
    assert int(own["flash"].replace(",", "")) > 50
    assert others.index.str.startswith("emlearn").any()
    assert others["accuracy"].str.contains("±").all()
    words = " ".join(caption.value for caption in section.caption)
    assert "on the validation rows" in words and "emlearn" in words
    for chart in charts:
        assert f"your model, {number}" in chart.proto.spec


def test_a_number_format_changes_the_mark_only():
    both = [
        _table(_section("iris", method="smallk", **{"p.export_format": number}))
        for number in ("float32", "int8")
    ]
    flash = [int(one.flash.iloc[0].replace(",", "")) for one in both]
    assert flash[0] > 3 * flash[1]
    assert both[0].iloc[1:].equals(both[1].iloc[1:])


def test_another_set_has_one_sentence():
    section = _section("moons")
    assert not section.get("plotly_chart")
    (caption,) = section.caption
    words = caption.value.replace("\\", "")
    assert "not on this table" in words
    assert all(name in words for name in measured_names())


def test_a_regression_has_none():
    assert _section("diabetes") is None
