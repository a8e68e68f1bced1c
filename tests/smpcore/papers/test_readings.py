"""What papers leave open: which readings there are, and what they decide."""

from dataclasses import replace
from operator import ge, gt

import numpy as np
import pandas as pd
import pytest

from smpcore.papers import EXPERIMENTS, readings
from smpcore.papers.conclusions import (
    Claim,
    Conclusion,
    Holds,
    numbers_of,
    shuffled_share,
)
from smpcore.papers.experiment import Experiment
from smpcore.papers.protocols import Fit
from smpcore.papers.readings import multiverse, open_of, other_readings, readings_of

LINE = Conclusion("", "", Claim("a", gt, ("b",), "m"), "", True, "lead")
HEAD = "experiment", "checks", "factor", "level", "change"


@pytest.fixture
def opened(monkeypatch):
    """Say what is open in the conclusion "lead" of an experiment "it"."""

    def opened(*levels):
        lines = [dict(zip(HEAD, ("it", "lead", *one), strict=True)) for one in levels]
        monkeypatch.setattr(readings, "_lines", lambda: lines)

    return opened


def numbers(**values):
    rows = [
        {"data": data, "model": model, "measure": "m", "at": np.nan, "measured": value}
        for model, column in values.items()
        for data, value in enumerate(column)
    ]
    return pd.DataFrame(rows).assign(reported=np.nan)


def became(**values):
    one = Experiment("it", "", "", models=dict.fromkeys(values))
    return multiverse(LINE, one, lambda _: numbers(**values))


def test_one_factor_is_changed_at_a_time_then_two_and_what_is_only_listed_is_not(
    opened,
):
    opened(
        ("equal", "above", ""),
        ("equal", "within .1", "within 0.1"),
        ("equal", "within .2", "within 0.2"),
        ("enough", "all", ""),
        ("enough", "half", "enough 0.5"),
        ("share", "half", ""),
        ("share", ".7", "-"),
    )
    names = [[one.level for one in reading] for reading in readings_of("it", "lead")]
    alone = [["within .1"], ["within .2"], ["half"]]
    assert names[:4] == [[], *alone]
    assert names[4:] == [["within .1", "half"], ["within .2", "half"]]
    assert [*open_of("it", "lead")] == ["equal", "enough", "share"]
    assert became(a=[2.0], b=[1.0]).unmeasured == ("share: .7",)


def test_pairs_are_drawn_with_a_seed_where_they_are_many(opened):
    opened(
        ("equal", "own", ""),
        *(("equal", f"{i}", f"within {i}") for i in range(6)),
        ("enough", "own", ""),
        *(("enough", f"{i}", f"enough {i / 10}") for i in range(6)),
    )
    first = readings_of("it", "lead")
    assert len(first) == 1 + 12 + 12 and first == readings_of("it", "lead")


@pytest.mark.parametrize(
    ("a", "b", "words", "n_holds"),
    [
        ([2, 2], [1, 1], "holds", 4),
        ([2, 1], [1, 2], "depends on enough", 2),
        ([1, 1], [1.05, 1.05], "depends on equal", 2),
        ([1, 0], [1.05, 9], "depends on equal with enough", 1),
        ([0, 0], [1, 1], "does not hold in any reading", 0),
    ],
)
def test_the_verdict_names_what_it_depends_on(a, b, words, n_holds, opened):
    opened(
        ("equal", "above", ""),
        ("equal", "within .1", "within 0.1"),
        ("enough", "all", ""),
        ("enough", "half", "enough 0.5"),
    )
    result = became(a=a, b=b)
    assert (result.words, result.n_holds, result.n) == (words, n_holds, 4)


def test_without_other_readings_the_verdict_is_that_of_the_one(opened):
    opened()
    assert became(a=[1], b=[2]).words == "does not hold"
    assert became(a=[2, 1], b=[1, 2]).words == "holds in part"
    assert became(a=[np.nan], b=[2]).words == "not tested here"


def test_the_most_favourable_reading_is_shown(opened):
    opened(
        ("equal", "above", ""),
        ("equal", "within .1", "within 0.1"),
        ("equal", "within .2", "within 0.2"),
    )
    result = became(a=[1, 1], b=[1.05, 1.15])
    assert result.best == "equal: within .2" and result.best_finding.held == 2
    assert became(a=[2], b=[1]).best == ""


def test_trials_of_another_reading_stand_in_place_of_our_own(opened):
    opened(("setting", "one", ""), ("setting", "other", "set k=2"))

    one = Experiment("it", "", "", models=dict.fromkeys("ab", Fit(None, ({"k": 1},))))
    anew = other_readings(replace(one, checks={"lead": LINE.check}))
    assert [*anew.models] == ["a [setting: other]"]
    assert anew.models["a [setting: other]"].experiment.models["a"].grid == [{"k": 2}]
    tables = {
        "it": numbers(a=[1], b=[2]),
        "it-readings": numbers(**{"a [setting: other]": [3]}),
    }
    whole = replace(one, others=(anew,))
    result = multiverse(LINE, whole, lambda one: tables[one.name])
    assert result.words == "depends on setting" and result.best_finding.held == 1
    tables["it"] = numbers(a=[1, 1], b=[2, 2])
    for half in ([np.nan, np.nan], [3, np.nan]):
        tables["it-readings"] = numbers(**{"a [setting: other]": half})
        result = multiverse(LINE, whole, lambda one: tables[one.name])
        assert (result.words, result.n) == ("does not hold", 1), "nothing is made up"
        assert result.unmeasured == ("setting: other",)


def test_shuffled_numbers_pass_as_often_as_chance_has_it():
    def share(check, **values):
        return shuffled_share(check, numbers_of(numbers(**values)))

    best = Claim("a", gt, ("b", "c", "d"), "m")
    values = {name: [float(i)] for i, name in enumerate("abcd")}
    assert share(best, **values) == pytest.approx(0.25, abs=0.07)
    near = Claim("a", ge, ("b",), "m", more=-9.0)
    assert share(near, a=[1.0], b=[2.0], c=[3.0]) == 1.0
    assert np.isnan(share(Holds("m", ("a",)), a=[1.0], b=[0.0]))


def test_each_line_names_a_conclusion_and_each_change_can_be_made():
    known = {one.name: one for one in EXPERIMENTS}
    for line in readings._lines():
        one = known[line["experiment"]]
        names = {each.name for each in one.conclusions}
        assert names >= {*line["checks"].split("|")}, line
    for one in EXPERIMENTS:
        for line in one.conclusions:
            for levels in open_of(one.name, line.name).values():
                changes = [level.change for level in levels]
                assert changes[0] == "" and all(changes[1:]), levels
            for reading in readings_of(one.name, line.name):
                readings._judged(one, line.check, reading)


def test_a_proposition_has_no_readings_and_other_main_conclusions_have_some():
    for one in EXPERIMENTS:
        for line in one.conclusions:
            is_proved = line.where.startswith(("Proposition", "Theorem"))
            if line.is_main:
                assert bool(open_of(one.name, line.name)) != is_proved, line.words
