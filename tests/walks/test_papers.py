"""Somebody compares the papers' numbers with those that are measured here."""

from __future__ import annotations

import re

import pytest

from smpcore import METHODS
from smpcore.papers import EXPERIMENTS, Place, missing_data
from smpcore.papers.trial_files import MEASURED_HERE, path_of
from tests.bench.classroom import ROOT


def titles(paper: str) -> list[str]:
    """Experiments of a paper, as they are listed."""
    return [f"{e.where}: {e.title}" for e in EXPERIMENTS if e.paper == paper]


@pytest.mark.parametrize("turn", range(2))
def test_each_experiment_is_looked_at(visit, turn):
    visit.open("papers")
    papers = {m.title: key for key, m in METHODS.items()} | {
        "Our own comparisons": "all"
    }
    for title, key in list(papers.items())[turn::2]:
        visit.click("radio", title)
        for name in titles(key):
            visit.choose("Experiment", name)
            visit.reads(name)
            visit.reads(re.compile(r"python -m smpcore\.papers run|cannot|not"))


@pytest.fixture
def unmeasured(site):
    """An experiment whose data are here; what the walk measures of it is deleted."""
    bundled = [e for e in EXPERIMENTS if not (e.impossible or missing_data(e, Place()))]
    here = next(e for e in bundled if e.name == "supersparse-start")  # short trials
    path = path_of(here.name, ROOT / MEASURED_HERE)
    was = path.read_bytes() if path.exists() else None
    yield here
    if was is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(was)


def test_a_run_is_begun_and_stopped(visit, unmeasured):
    here = unmeasured
    visit.open("papers")
    titles_of = {key: m.title for key, m in METHODS.items()}
    visit.click("radio", titles_of.get(here.paper, "Our own comparisons"))
    visit.choose("Experiment", f"{here.where}: {here.title}")
    visit.click("button", re.compile("Measure what is missing"))
    visit.reads(re.compile(r"\d+ % of [\d,]+ trials?"))
    visit.click("button", re.compile("Stop"))
    visit.reads("Measure what is missing")
