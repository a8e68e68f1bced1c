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
NOT_TESTED = "not tested here"
#: From the best to the worst.
VERDICTS = HOLDS, IN_PART, FAILS


class Numbers:
    """Numbers of one data set, printed or measured: NaN where there is none."""

    def __init__(self, data: str, rows: pd.DataFrame, column: str) -> None:
        self.data = data
        places = [None if np.isnan(at) else at for at in rows["at"]]
        keys = zip(rows["model"], rows["measure"], places, strict=True)
        self._values = dict(zip(keys, rows[column], strict=True))

    def __call__(self, model: str, measure: str, at: float | None = None) -> float:
        """A number of a model, or of its curve at a place."""
        return float(self._values.get((model, measure, at), np.nan))

    def curve(self, model: str, measure: str) -> np.ndarray:
        """The values of a curve, along its axis."""
        values = self._values.items()
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
    whether it is in the summary of all papers.
    """

    words: str
    where: str
    check: Check
    reading: str
    is_main: bool


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


def _count(check: Check, table: pd.DataFrame, column: str) -> tuple[float, int]:
    """In how many comparisons it holds, and how many there are."""
    known = table[table[column].notna()]
    each = np.array(
        [
            float(held)
            for data, rows in known.groupby("data", sort=False)
            for held in check(Numbers(str(data), rows, column))
        ]
    )
    return float(np.nansum(each)), int(np.isfinite(each).sum())


def finding_of(conclusion: Conclusion, table: pd.DataFrame) -> Finding:
    """Test a conclusion on the numbers of its experiment.

    It holds if it does so in every comparison, or as often as in the paper's own
    numbers; in part, if in half of them or more.
    """
    held, n = _count(conclusion.check, table, "measured")
    printed, n_printed = _count(conclusion.check, table, "reported")
    wanted = printed / n_printed if n_printed else 1.0
    if not n:
        verdict = NOT_TESTED
    elif held / n >= wanted - 1e-9:
        verdict = HOLDS
    else:
        verdict = IN_PART if held / n >= 0.5 else FAILS
    return Finding(verdict, held, n, printed, n_printed)
