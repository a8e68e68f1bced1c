"""What papers leave open, and whether a conclusion holds however it is read.

A line of ``readings.csv`` is a level of a factor that a paper does not name; the first
level of a factor is how the experiment reads it. A conclusion is tested in that
reading, then with one factor at another level, then with two, drawn with a seed.
Levels either judge stored numbers otherwise, or need trials: those of an experiment's
other readings are an experiment too, ``NAME-readings``.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from smpcore.papers.conclusions import (
    DEPENDS,
    FAILS,
    HOLDS,
    IN_PART,
    NOT_TESTED,
    Check,
    Claim,
    Conclusion,
    Finding,
    Holds,
    Tested,
    finding_of,
    numbers_of,
    read_rows,
)
from smpcore.papers.experiment import Case, Experiment, Outcome, Trial
from smpcore.papers.protocols import Fit

#: Two factors are changed at once in so many readings of a conclusion at most.
MOST_PAIRS = 12
#: Of a level that is listed as open, but for which nothing is measured.
NOT_MEASURED = "-"


class Level(NamedTuple):
    """A level of a factor, and what makes it of the experiment's own reading."""

    factor: str
    level: str
    change: str

    @property
    def words(self) -> str:
        """The level with its factor."""
        return f"{self.factor}: {self.level}"

    @property
    def kind(self) -> str:
        """Which of `_MEASURED` or `_JUDGED` it is."""
        return self.change.partition(" ")[0]

    @property
    def value(self) -> str:
        """What the kind needs."""
        return self.change.partition(" ")[2]


#: Levels other than the experiment's own: none, one or two.
Reading = tuple[Level, ...]


class _Variant(NamedTuple):
    """An experiment as it is judged in a reading, with more of its tables."""

    experiment: Experiment
    check: Check
    beside: tuple[str, ...] = ()
    wanted: float | None = None


def _with_share(experiment: Experiment, value: str, ours: str) -> Experiment:
    """Another share of the rows for training."""
    divide = partial(experiment.divide, share=float(value))
    return replace(experiment, divide=divide)


def _with_values(experiment: Experiment, value: str, ours: str) -> Experiment:
    """Other settings of our model, or of the whole experiment."""
    more = {
        name: json.loads(x)
        for name, _, x in (one.partition("=") for one in value.split(" "))
    }
    fit = experiment.models[ours]
    if not isinstance(fit, Fit):
        return replace(experiment, values={**experiment.values, **more})
    fit = fit._replace(grid=[one | more for one in fit.grid])
    return replace(experiment, models={**experiment.models, ours: fit})


#: Kind of a level -> the experiment whose trials it needs.
_MEASURED: dict[str, Callable[[Experiment, str, str], Experiment]] = {
    "share": _with_share,
    "set": _with_values,
}


def _first(variant: _Variant, value: str) -> _Variant:
    """The first repetitions only."""
    one = replace(variant.experiment, repetitions=int(value))
    return variant._replace(experiment=one)


def _from(variant: _Variant, value: str) -> _Variant:
    """Another experiment, which tests the same sentence."""
    (other,) = (one for one in variant.experiment.others if one.name == value)
    (check,) = other.checks.values()
    return variant._replace(experiment=other, check=check)


def _named(variant: _Variant, value: str) -> _Variant:
    """Another check of the experiment, with a limit."""
    name, _, limit = value.partition(" ")
    check = variant.experiment.checks[name]
    more = {"limit": float(limit)} if limit else {}
    return variant._replace(check=partial(check, **more) if more else check)


def _within(variant: _Variant, value: str) -> _Variant:
    """Another limit of what counts as equal, near or far."""
    check, limit = variant.check, float(value)
    if isinstance(check, Claim):
        upwards = check.relation in (operator.ge, operator.gt)
        relation = operator.ge if upwards else operator.le
        more = -limit if upwards else limit
        return variant._replace(check=replace(check, relation=relation, more=more))
    return variant._replace(check=partial(check, limit=limit))


def _other_model(variant: _Variant, value: str) -> _Variant:
    """Another model of the experiment, or of another one, in place of the paper's."""
    place, _, model = value.rpartition(": ")
    check = variant.check
    if isinstance(check, Claim):
        check = replace(check, model=model)
    elif isinstance(check, Holds):
        check = replace(check, models=(model,))
    else:
        check = partial(check, models=(model,))
    return variant._replace(check=check, beside=(place,) if place else ())


def _other_rivals(variant: _Variant, value: str) -> _Variant:
    check = replace(variant.check, rivals=tuple(value.split("|")))
    return variant._replace(check=check)


def _other_measure(variant: _Variant, value: str) -> _Variant:
    return variant._replace(check=replace(variant.check, measure=value))


def _wanted(variant: _Variant, value: str) -> _Variant:
    """The share of comparisons that are enough."""
    return variant._replace(wanted=float(value))


#: Kind of a level -> how stored numbers are judged.
_JUDGED: dict[str, Callable[[_Variant, str], _Variant]] = {
    "first": _first,
    "from": _from,
    "check": _named,
    "within": _within,
    "model": _other_model,
    "rivals": _other_rivals,
    "measure": _other_measure,
    "enough": _wanted,
}


@cache
def _lines() -> list[dict[str, str]]:
    return read_rows(Path(__file__).with_name("readings.csv"))


def open_of(experiment: str, check: str) -> dict[str, list[Level]]:
    """What a paper leaves open in a conclusion: levels by factor, our own first.

    Parameters
    ----------
    experiment, check : str
        Names of the experiment and of what tests the conclusion.

    Returns
    -------
    dict of str to list of Level
    """
    factors: dict[str, list[Level]] = {}
    for line in _lines():
        if line["experiment"] == experiment and check in line["checks"].split("|"):
            level = Level(line["factor"], line["level"], line["change"])
            factors.setdefault(level.factor, []).append(level)
    return factors


def readings_of(experiment: str, check: str) -> list[Reading]:
    """The readings in which a conclusion is tested: our own first.

    Parameters
    ----------
    experiment, check : str
        As in `open_of`.

    Returns
    -------
    list of tuple of Level
        Our own, each other level alone, then pairs of levels of two factors.
    """
    factors = open_of(experiment, check).values()
    others = [
        [one for one in levels[1:] if one.change != NOT_MEASURED] for levels in factors
    ]
    pairs = [
        (a, b)
        for left, right in combinations(others, 2)
        for a in left
        for b in right
        if "from" not in (a.kind, b.kind) and (a.kind != b.kind or a.kind == "set")
    ]
    random = np.random.default_rng([*f"{experiment} {check}".encode()])
    drawn = sorted(random.permutation(len(pairs))[:MOST_PAIRS])
    alone = [(one,) for levels in others for one in levels]
    return [(), *alone, *(pairs[i] for i in drawn)]


def _ours(experiment: Experiment, check: Check) -> str:
    """The model of a conclusion."""
    if isinstance(check, Claim):
        return check.model
    return (
        check.models[0] if isinstance(check, Holds) else next(iter(experiment.models))
    )


def _needs_trials(reading: Reading) -> bool:
    return any(one.kind in _MEASURED for one in reading)


def _anew(
    reading: Reading, experiment: Experiment, check: Check, model: str
) -> Reading:
    """The levels of a reading for which a model needs trials of its own."""
    if not _needs_trials(reading):
        return ()
    ours = _ours(experiment, check)
    is_theirs = model != ours and isinstance(experiment.models[ours], Fit)
    kinds = {"share"} if is_theirs else {*_MEASURED}
    return tuple(one for one in reading if one.kind in kinds)


def _models(experiment: Experiment, check: Check) -> Sequence[str]:
    if isinstance(check, Claim):
        return check.model, *check.rivals
    return check.models if isinstance(check, Holds) else tuple(experiment.models)


def _label(model: str, levels: Reading) -> str:
    return f"{model} [{'; '.join(one.words for one in levels)}]"


class _Anew(NamedTuple):
    """A model of an experiment that is declared otherwise."""

    experiment: Experiment
    model: str


def _measure(case: Case) -> Outcome:
    experiment, model = case.declared
    trial = Trial(case.trial.data, model, case.trial.repetition)
    return experiment.run(trial, case.dataset)


def beside(experiment: str) -> list[str]:
    """Names of the experiments whose trials other readings of one use.

    Parameters
    ----------
    experiment : str
        Name of the experiment.

    Returns
    -------
    list of str
    """
    levels = [
        Level(line["factor"], line["level"], line["change"])
        for line in _lines()
        if line["experiment"] == experiment
    ]
    names = [one.value for one in levels if one.kind == "from"]
    places = (one.value.rpartition(": ")[0] for one in levels if one.kind == "model")
    return [*dict.fromkeys([*names, *filter(None, places)])]


def other_readings(experiment: Experiment) -> Experiment | None:
    """The experiment that measures the other readings of one.

    Parameters
    ----------
    experiment : Experiment
        Whose conclusions can be read otherwise.

    Returns
    -------
    Experiment or None
        None where no level needs trials.
    """
    models: dict[str, _Anew] = {}
    for name, check in experiment.checks.items():
        for reading in readings_of(experiment.name, name):
            judged = _judged(experiment, check, reading).check
            for model in _models(experiment, judged):
                levels = _anew(reading, experiment, judged, model)
                one, ours = experiment, _ours(experiment, judged)
                for level in levels:
                    one = _MEASURED[level.kind](one, level.value, ours)
                if levels:
                    models[_label(model, levels)] = _Anew(one, model)
    if not models:
        return None
    return Experiment(
        name=f"{experiment.name}-readings",
        where=experiment.where,
        title=f"{experiment.title}: other readings",
        paper=experiment.paper,
        protocol=f"As {experiment.name}, but for what the names say.",
        data={key: one for key, one in experiment.data.items() if not one.unavailable},
        models=models,
        measure=_measure,
        repetitions=experiment.repetitions,
        settings=tuple(
            (label, one[1])
            for one in experiment.settings
            if not isinstance(one, str)
            for label, anew in models.items()
            if anew.model == one[0]
        ),
        elsewhere=experiment.elsewhere,
        axis=experiment.axis,
    )


def _judged(experiment: Experiment, check: Check, reading: Reading) -> _Variant:
    variant = _Variant(experiment, check)
    for one in reading:
        if one.kind in _JUDGED:
            variant = _JUDGED[one.kind](variant, one.value)
    return variant


#: Numbers of an experiment.
TableOf = Callable[[Experiment], pd.DataFrame]


class _Numbers:
    """Numbers of a conclusion's readings: each table is taken apart once."""

    def __init__(self, experiment: Experiment, table_of: TableOf) -> None:
        self._experiment, self._table_of = experiment, table_of
        self._others = {one.name: one for one in experiment.others}
        self._known: dict[tuple, Tested] = {}

    def of(self, variant: _Variant, reading: Reading) -> Tested:
        """The numbers of a reading, with those that are measured for it."""
        one, check = variant.experiment, variant.check
        labels = {
            model: _label(model, levels)
            for model in (_models(one, check) if reading else ())
            if (levels := _anew(reading, one, check, model))
        }
        key = one.name, one.repetitions, variant.beside, tuple(labels.items())
        if key not in self._known:
            self._known[key] = numbers_of(self._table(variant, labels))
        return self._known[key]

    def _table(self, variant: _Variant, labels: dict[str, str]) -> pd.DataFrame:
        more = (self._others[name] for name in variant.beside)
        table = pd.concat(map(self._table_of, (variant.experiment, *more)))
        if not labels:
            return table
        anew = self._table_of(self._others[f"{self._experiment.name}-readings"])
        names = {label: model for model, label in labels.items()}
        mine = anew[anew["model"].isin(names)]
        is_replaced = table["model"].isin(labels)
        rest = table.assign(measured=table["measured"].mask(is_replaced))
        return pd.concat([rest, mine.assign(model=mine["model"].map(names))])


class Multiverse(NamedTuple):
    """What becomes of a conclusion in all of its readings.

    Parameters
    ----------
    verdict : str
        It holds in all readings, depends on the reading, holds in part in one at
        best, or in none.
    first : Finding
        In the experiment's own reading.
    n_holds, n : int
        In how many readings it holds, and how many are measured.
    factors : tuple of str
        What it depends on: alone, or where none does, two together.
    best : str
        The reading that favours the paper most; empty if it is our own.
    best_finding : Finding
        What is found in it.
    unmeasured : tuple of str
        Levels that are open, too, but not measured.
    """

    verdict: str
    first: Finding
    n_holds: int
    n: int
    factors: tuple[str, ...]
    best: str
    best_finding: Finding
    unmeasured: tuple[str, ...]

    @property
    def words(self) -> str:
        """The verdict, with what it depends on."""
        if self.verdict == DEPENDS:
            return f"depends on {', '.join(self.factors)}"
        several = self.verdict == FAILS and self.n > 1
        return f"{FAILS} in any reading" if several else self.verdict


def multiverse(
    line: Conclusion, experiment: Experiment, table_of: TableOf
) -> Multiverse:
    """Test a conclusion in every reading that is measured.

    Parameters
    ----------
    line : Conclusion
        A sentence of the paper.
    experiment : Experiment
        That it is concluded from.
    table_of : callable
        ``table_of(experiment)`` gives its numbers.

    Returns
    -------
    Multiverse
    """
    numbers, results = _Numbers(experiment, table_of), {}
    for reading in readings_of(experiment.name, line.name):
        one = _judged(experiment, line.check, reading)
        results[reading] = finding_of(one.check, numbers.of(one, reading), one.wanted)
    first = results[()]
    # One whose trials are not yet there for each data set has no result.
    results = {
        reading: result
        for reading, result in results.items()
        if result.n >= (max(1, first.n) if _needs_trials(reading) else 1)
    }
    good = {one: result.verdict == HOLDS for one, result in results.items()}
    n_holds, verdicts = sum(good.values()), [one.verdict for one in results.values()]
    best = max(results, key=lambda one: (good[one], results[one].above), default=())
    levels = open_of(experiment.name, line.name).values()
    left = (one for each in levels for one in each[1:] if (one,) not in results)
    if not first.n:
        verdict = NOT_TESTED
    elif n_holds in (0, len(results)):
        verdict = HOLDS if n_holds else IN_PART if IN_PART in verdicts else FAILS
    else:
        verdict = DEPENDS
    return Multiverse(
        verdict=verdict,
        first=first,
        n_holds=n_holds,
        n=len(results),
        factors=_decisive(good) if verdict == DEPENDS else (),
        best="; ".join(one.words for one in best),
        best_finding=results.get(best, first),
        unmeasured=tuple(one.words for one in left),
    )


def _decisive(good: dict[Reading, bool]) -> tuple[str, ...]:
    """Factors that change the verdict of our own reading, as few at once as do."""
    changing = [one for one, holds in good.items() if holds != good[()]]
    fewest = min(map(len, changing))
    sets = (one for one in changing if len(one) == fewest)
    names = (" with ".join(level.factor for level in one) for one in sets)
    return tuple(dict.fromkeys(names))
