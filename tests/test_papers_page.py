"""The page Papers without a browser: numbers, a run, and the way to Explore."""

from dataclasses import replace

import pytest

from pages.papers import experiments
from pages.work.store import Store
from smpcore.papers import Place, compare, read_measured
from tests.app import kernels, opened, said, session_of, sound, until
from tests.smpcore.papers.toy import MOONS, TOY

pytestmark = pytest.mark.usefixtures(kernels.__name__)


@pytest.fixture(autouse=True)
def toy(monkeypatch, tmp_path):
    """Only the toy experiment, on bundled data, measured into a folder of its own."""
    experiment = replace(
        TOY, data={**TOY.data, "moons": replace(MOONS, bundled="moons")}
    )
    for module in ("pages.papers.experiments", "smpcore.papers"):
        monkeypatch.setattr(f"{module}.EXPERIMENTS", (experiment,))
    monkeypatch.setattr(experiments, "place", lambda: Place(tmp_path))
    monkeypatch.setattr(experiments, "_runs", Store())
    monkeypatch.setattr(experiments, "_tables", Store())
    return experiment


def test_the_page_says_what_each_experiment_needs(toy):
    page = opened({}, "papers.py")
    tables = [frame.value for frame in page.dataframe if "status" in frame.value]
    overview, numbers = tables
    assert "3 not measured; 1 needs OpenML ID 31" in overview["status"].tolist()
    assert "needs OpenML ID 31" in numbers["status"].tolist()
    assert "1 of 2 data sets are here" in said(page)
    assert page.get("code")[0].value == toy.command


def test_a_run_fills_the_table_and_a_measured_model_opens_on_explore(toy, tmp_path):
    page = opened({}, "papers.py")
    page.button(key="papers_run").click().run()
    until(page, lambda page: len(read_measured(toy, tmp_path)) == 6)
    # What was drawn before the last trial ended has no numbers yet.
    page.run()
    until(page, lambda page: page.button(key="papers_use"))
    expected = compare(toy, read_measured(toy, tmp_path).values())
    share = expected.loc[expected["measure"] == "share", "measured"].dropna()
    (numbers,) = (one.value for one in page.dataframe if "measured" in one.value)
    assert numbers["measured"].dropna().tolist() == share.tolist() == [1.5, 1.5]
    page.button(key="papers_use").click().run()
    choice = session_of(sound(page)).choice
    assert (choice.data, choice.method) == ("moons", "smp")
    assert choice.values["lam"] == 0.01
