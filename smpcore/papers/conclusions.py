"""What papers conclude, in their words, and whether the numbers here say the same.

Beside them stands what each experiment does: its protocol.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
DEPENDS, NOT_TESTED = "depends on the reading", "not tested here"
#: From the best to the worst.
VERDICTS = HOLDS, DEPENDS, IN_PART, FAILS
#: How often our numbers are shuffled between models.
N_SHUFFLES = 400


class Numbers:
    """Numbers of one data set, printed or measured: NaN where there is none."""

    def __init__(self, data: str, rows: pd.DataFrame, column: str) -> None:
        self.data = data
        places = [None if np.isnan(at) else at for at in rows["at"]]
        keys = zip(rows["model"], rows["measure"], places, strict=True)
        self._values = dict(zip(keys, rows[column], strict=True))
        #: Model -> the one whose numbers are given for it.
        self.swapped: dict[str, str] = {}
        #: Models, and places of each measure, that were looked at.
        self.models: set[str] = set()
        self.places: dict[str, dict[float | None, None]] = {}

    def __call__(self, model: str, measure: str, at: float | None = None) -> float:
        """A number of a model, or of its curve at a place."""
        self.models.add(model)
        places = self.places.setdefault(measure, {})
        places.setdefault(at)
        name = self.swapped.get(model, model)
        # One that is given for another may have its number at another place.
        tried = (at,) if name == model else (at, *reversed(places))
        for one in tried:
            if (value := self._values.get((name, measure, one))) is not None:
                return float(value)
        return float("nan")

    @property
    def rivals(self) -> list[str]:
        """All models that have one of the numbers that were looked at."""
        places = self.places
        keys = (key for key in self._values if key[2] in places.get(key[1], ()))
        return [*dict.fromkeys(key[0] for key in keys)]

    def curve(self, model: str, measure: str) -> np.ndarray:
        """The values of a curve, along its axis."""
        values = self._values.items()
        self.models.add(model)
        self.places.setdefault(measure, {key[2]: None for key in self._values})
        model = self.swapped.get(model, model)
        points = [(key[2], x) for key, x in values if key[:2] == (model, measure)]
        return np.array([x for _, x in sorted(points)])


#: Whether it holds, for each comparison on a data set: 0, 1, a share, or NaN.
Check = Callable[[Numbers], Iterable[float]]


@dataclass(frozen=True)
class Claim:
    """A model's measure is in relation to ``factor * measure + more`` of all rivals."""

    model: str
    relation: Callable[[float, float], bool]
    rivals: tuple[str, ...]
    measure: str
    factor: float = 1.0
    more: float = 0.0

    def __call__(self, numbers: Numbers) -> Iterator[float]:
        """Whether it holds; nothing where a number is missing."""
        value = numbers(self.model, self.measure)
        others = [numbers(one, self.measure) for one in self.rivals]
        if np.isfinite([value, *others]).all():
            limits = (self.factor * other + self.more for other in others)
            # Files hold six digits.
            yield all(self.relation(round(value, 5), round(x, 5)) for x in limits)


@dataclass(frozen=True)
class Holds:
    """Trials have tested it themselves: the share of them in which it held."""

    measure: str
    models: tuple[str, ...]

    def __call__(self, numbers: Numbers) -> Iterator[float]:
        """The share for each model."""
        return (numbers(model, self.measure) for model in self.models)


class Conclusion(NamedTuple):
    """A sentence of a paper, and what tells whether it holds.

    ``reading`` is how its words are taken where they leave that open; `is_main` says
    whether it is in the summary of all papers; `name` is that of its check.
    """

    words: str
    where: str
    check: Check
    reading: str
    is_main: bool
    name: str = ""


def read_rows(path: Path) -> list[dict[str, str]]:
    """The lines of a file of comma-separated values."""
    return [*csv.DictReader(path.read_text("utf-8").splitlines())]


@cache
def _lines() -> list[dict[str, str]]:
    return read_rows(Path(__file__).with_name("conclusions.csv"))


def conclusions_of(experiment: str, checks: Mapping[str, Check]) -> list[Conclusion]:
    """What a paper concludes from a table or figure, with what tests each sentence."""
    return [
        Conclusion(
            line["words"],
            line["where"],
            checks[line["check"]],
            line["reading"],
            line["main"] == "yes",
            line["check"],
        )
        for line in _lines()
        if line["experiment"] == experiment
    ]


@cache
def _parts() -> dict[str, str]:
    text = Path(__file__).with_name("protocols.md").read_text("utf-8")
    heads = (part.partition("\n") for part in text.split("\n## ")[1:])
    return {name: " ".join(words.split()) for name, _, words in heads}


def protocol_of(experiment: str, constants: Mapping[str, Any]) -> str:
    """What an experiment does, by ``protocols.md``, with constants in their places."""

    def filled(text: str) -> str:
        return re.sub(r"\$\{(\w+)\}", lambda place: value(place[1]), text)

    def value(name: str) -> str:
        if name in _parts():
            return filled(_parts()[name])
        if isinstance(constants[name], int | float):
            return f"{constants[name]:g}"
        one = constants[name]
        return one if isinstance(one, str) else ", ".join(map(str, one))

    return filled(_parts().get(experiment, ""))


def where_known(holds: bool, *values: float) -> float:
    """Whether it holds, or NaN where one of the values is."""
    return float(holds) if np.isfinite(values).all() else np.nan


class Finding(NamedTuple):
    """How often a conclusion holds, in the paper's own numbers and in those here."""

    verdict: str
    held: float
    n: int
    printed_held: float
    printed_n: int

    @property
    def above(self) -> float:
        """The share of comparisons in which it holds."""
        return self.held / self.n if self.n else np.nan


class Tested(NamedTuple):
    """Numbers of each data set: those measured here, and those of the paper."""

    measured: list[Numbers]
    printed: list[Numbers]


def numbers_of(table: pd.DataFrame) -> Tested:
    """The numbers of an experiment's table, by data set."""
    return Tested(*(_by_data(table, one) for one in ("measured", "reported")))


def _by_data(table: pd.DataFrame, column: str) -> list[Numbers]:
    known = table[table[column].notna()]
    by_data = known.groupby("data", sort=False)
    return [Numbers(str(data), rows, column) for data, rows in by_data]


def _count(check: Check, numbers: Iterable[Numbers]) -> tuple[float, int]:
    """In how many comparisons it holds, and how many there are."""
    each = [float(held) for one in numbers for held in check(one)]
    known = [held for held in each if held == held]  # NaN is not
    return sum(known), len(known)


def _is_enough(held: float, n: int, wanted: float) -> bool:
    return n > 0 and held / n >= wanted - 1e-9


def finding_of(check: Check, numbers: Tested, wanted: float | None = None) -> Finding:
    """Test a conclusion on the numbers of its experiment.

    It holds if it does so in every comparison, or as often as in the paper's own
    numbers, or in the share of them that is wanted; in part, if in half or more.
    """
    held, n = _count(check, numbers.measured)
    printed, n_printed = _count(check, numbers.printed)
    if wanted is None:
        wanted = printed / n_printed if n_printed else 1.0
    if not n:
        verdict = NOT_TESTED
    elif _is_enough(held, n, wanted):
        verdict = HOLDS
    else:
        verdict = IN_PART if held / n >= 0.5 else FAILS
    return Finding(verdict, held, n, printed, n_printed)


def shuffled_share(check: Check, numbers: Tested) -> float:
    """How often a conclusion would hold if no model were better than another.

    Of each data set, the numbers of all models that have those that it looks at are
    given to one another, `N_SHUFFLES` times with a seed. NaN where it compares none.
    """
    printed, n_printed = _count(check, numbers.printed)
    wanted = printed / n_printed if n_printed else 1.0
    random, totals = np.random.default_rng(0), [(0.0, 0)] * N_SHUFFLES
    compared = False
    for one in numbers.measured:
        if isinstance(check, Holds) or not _count(check, [one])[1]:
            continue
        models, before = one.rivals, one.swapped
        compared |= len(one.models) > 1
        places = np.tile(np.arange(len(models)), (N_SHUFFLES, 1))
        for i, order in enumerate(random.permuted(places, axis=1).tolist()):
            one.swapped = {a: models[b] for a, b in zip(models, order, strict=True)}
            held, n = _count(check, [one])
            totals[i] = totals[i][0] + held, totals[i][1] + n
        one.swapped = before
    passed = [_is_enough(*total, wanted) for total in totals]
    return float(np.mean(passed)) if compared else float("nan")
