"""Is the smallest change beaten? ``python -m tests.bench.counterfactuals [N [KEY]]``.

Of N rows (default: 60) the length of the headline is compared with every length
in the table below it, with a scan of all single columns, with a scan of all pairs of
the 12 columns that help most, with a random search that asks for ten times as many
answers of the model as the headline took, and with the page's own search of ten times
the effort: from ten times as many rows, pairs of columns, exchanges and changes that
are made shorter. All of them end within the training range (a
row outside of it comes back with all columns, as on the page), on
values with the columns' digits and on whole levels, and leave fixed columns alone.
Printed: of how many rows the headline is beaten by more than .1, 1 and 5 %, the mean
and the largest share, and the CPU and the answers of the model that it took.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from smpcore import Dataset
from smpcore.explain import CaseExplainer, flip_search
from tests.shown.oracle import Fit, fit

#: The search's own limits with ten times the effort: of columns, ten times the pairs.
TEN_TIMES = {"_HELPERS": 38, "_STARTS": 40, "_SHORTENED": 30, "_EXCHANGES": 240}
#: Values of a number on each side in a scan of one column, and of a pair of columns.
ONE, TWO = 400, 12
CASES = (
    ("smp", "patients", 2),
    ("smp", "breast_cancer", 1),
    ("supersparse", "breast_cancer", 1),
    ("imkpl", "breast_cancer", 1),
    ("supersparse", "patients", 2),
    ("imkpl", "patients", 2),
)


def patients(n: int = 300, seed: int = 0) -> Dataset:
    """Numbers with digits and without, levels, and a column that stays as it is."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": draw.integers(20, 90, n),
            "pulse": draw.normal(75, 12, n).round(),
            "crp": draw.gamma(2, 8, n).round(1),
            "weight": draw.normal(75, 14, n).round(1),
            "hb": draw.normal(13.5, 1.5, n).round(1),
            "children": draw.poisson(1.3, n),
            "smokes": draw.choice(["yes", "no"], n),
            "pain": draw.choice(["none", "chest", "back", "other"], n),
            "ward": draw.choice(["a", "b", "c"], n),
        }
    )
    risk = (frame["age"] - 55) / 20 + (frame["crp"] - 16) / 10 - frame["hb"] + 13.5
    risk += 1.5 * (frame["pain"] == "chest") + 0.8 * (frame["smokes"] == "yes")
    risk += draw.normal(0, 0.8, n) - 0.02 * (frame["pulse"] - 75) ** 2 / 12
    frame["ill"] = np.where(risk > np.median(risk), "yes", "no")
    roles = dict.fromkeys(frame, "feature") | {"ill": "target"}
    return Dataset("patients", frame, roles, "classification")


class Searched:
    """A row, its answer, and what else could change it."""

    def __init__(self, of: Any, place: int) -> None:
        """Of a fit and a row of its table."""
        model, train = of.model, of.parts["train"]
        self.model, self.preparation = model, of.preparation
        parts = model, of.preparation, of.X[train], of.y[train]
        self.explainer = CaseExplainer(*parts)
        self.row = of.table.frame.iloc[[place]]
        self.case, self.seconds, self.asked = self._explained()
        self.x = of.X[place]
        # Every change brings a row back into the training range.
        self.start, free = self.x.copy(), model.support.copy()
        free[of.preparation.fixed_features] = False
        self.start[free] = np.clip(self.x, model.low, model.high)[free]

    def _explained(self) -> tuple[Any, float, int]:
        """The case, its CPU, and how many rows the model has scored for it."""
        kind, asked = type(self.model), []
        scores, start = kind.scores, time.process_time()

        def counted(model: Any, X: np.ndarray) -> np.ndarray:
            asked.append(len(X))
            return scores(model, X)

        with mock.patch.object(kind, "scores", counted):
            case = self.explainer.explain(self.row, "this row")
        return case, time.process_time() - start, sum(asked)

    def ten_times(self) -> tuple[float, float]:
        """The shortest of a search of ten times the effort; how many times it was."""
        with mock.patch.multiple(flip_search, **TEN_TIMES):
            case, _, asked = self._explained()
        if case.changed is None:
            return np.inf, asked / self.asked
        return float(self.lengths(case.changed[None])[0]), asked / self.asked

    @property
    def headline(self) -> float:
        """Length of the change that is shown first."""
        return float(self.lengths(self.case.changed[None])[0])

    @property
    def below(self) -> float:
        """Length of the shortest change in the table below it."""
        lines = [float(o["standard deviations"]) for o in self.case.others]
        return min(lines, default=np.inf)

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Sum of the changes, in standard deviations."""
        return np.abs((rows - self.x) / self.model.scale).sum(axis=1)

    def flips(self, rows: np.ndarray) -> np.ndarray:
        """Whether the answer is another one."""
        before = self.model.predict(self.x[None])[0]
        return self.model.predict(rows) != before

    def values(self, spec: Any, most: int) -> np.ndarray:
        """Other values of a column, features of each in a line."""
        if spec.kind == "category":
            places = np.array(spec.feature_levels)
            return np.equal.outer(np.arange(len(spec.levels)), places).astype(float)
        low, high = (ends[spec.first] for ends in (self.model.low, self.model.high))
        now, unit = self.x[spec.first], 10.0**spec.decimals
        sides = [np.linspace(now, end, most + 1)[1:] for end in (low, high)]
        values = np.rint(np.concatenate(sides) * unit) / unit
        return np.unique(values[(values >= low) & (values <= high)])[:, None]

    @cached_property
    def columns(self) -> list[Any]:
        """Columns that the model uses and that may be changed."""
        fixed = self.preparation.fixed_features
        return [
            spec
            for spec in self.preparation.inputs
            if spec.first not in fixed and self.model.support[spec.features].any()
        ]

    def moved(self, specs: Any, most: int) -> np.ndarray:
        """All rows with other values in these columns."""
        values = [self.values(spec, most) for spec in specs]
        places = np.indices([len(v) for v in values]).reshape(len(specs), -1)
        rows = np.repeat(self.start[None], places.shape[1], axis=0)
        for spec, own, place in zip(specs, values, places, strict=True):
            rows[:, spec.features] = own[place]
        return rows

    def shortest(self, rows: np.ndarray) -> float:
        """Length of the shortest of these changes that gives another answer."""
        rows = rows[self.lengths(rows) < self.headline]
        if not len(rows):
            return np.inf
        return self.lengths(rows[self.flips(rows)]).min(initial=np.inf)

    def single(self) -> float:
        """The shortest change of one column."""
        return min(self.shortest(self.moved([c], ONE)) for c in self.columns)

    def pairs(self) -> float:
        """The shortest change of two of the columns that help most."""
        before = self.model.decide(self.model.scores(self.x[None]))[0]

        def help(spec: Any) -> float:
            scores = self.model.scores(self.moved([spec], TWO))
            return (np.delete(scores, before, 1).max(1) - scores[:, before]).max()

        best = sorted(self.columns, key=help)[-12:]
        two = itertools.combinations(best, 2)
        return min(self.shortest(self.moved(pair, TWO)) for pair in two)

    def random(self, seed: int = 0) -> float:
        """The shortest change of a few columns by chance, anew and from the best."""
        draw, best = np.random.default_rng(seed), (self.headline, self.case.changed)
        found = np.inf
        for _ in range(max(1, 10 * self.asked // 1000)):
            rows = np.repeat(self.start[None], 1000, axis=0)
            rows[500:] = best[1]
            for _ in range(4):
                of = draw.integers(len(self.columns), size=1000)
                for number, spec in enumerate(self.columns):
                    chosen = (of == number) & (draw.random(1000) < 0.7)
                    rows[chosen, spec.features] = self._drawn(spec, rows[chosen], draw)
            rows = rows[self.lengths(rows) < best[0]]
            rows = rows[self.flips(rows)] if len(rows) else rows
            if len(rows):
                lengths = self.lengths(rows)
                found = float(lengths.min())
                best = found, rows[lengths.argmin()]
        return found

    def _drawn(self, spec: Any, rows: np.ndarray, draw: Any) -> np.ndarray:
        """Levels, the row's own value, or numbers near or far from those now."""
        n = len(rows)
        if spec.kind == "category":
            values = draw.choice(self.values(spec, 1), n)
        else:
            low, high = (e[spec.first] for e in (self.model.low, self.model.high))
            width = (high - low) * 10.0 ** draw.uniform(-3, 0, n)
            values = rows[:, spec.first] + width * draw.normal(size=n)
            unit = 10.0**spec.decimals
            values = (np.rint(values * unit) / unit).clip(low, high)[:, None]
        back = draw.random(n) < 0.2
        values[back] = self.start[spec.features]
        return values


WAYS = "table below", "one column", "two columns", "at random", "ten times"


def shares(method: str, data: str, step: int, n: int) -> Iterator[tuple]:
    """Of each row by how much each way is shorter; CPU, answers, and times of these."""
    of = Fit(method, data, patients()) if data == "patients" else fit(method, data)
    rows = np.arange(0, step * n, step)[: len(of.X)]
    for place in rows:
        row = Searched(of, int(place))
        longer, times = row.ten_times()
        if row.case.changed is None:
            beaten = (0.0,) * 4 + (float(longer < np.inf),)
            yield beaten, row.seconds, row.asked, times
            continue
        ways = row.below, row.single(), row.pairs(), row.random(), longer
        beaten = tuple(max(0.0, 1 - w / row.headline) for w in ways)
        yield beaten, row.seconds, row.asked, times


def main() -> None:
    """Print a line for each way of each model."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    for method, data, step in CASES:
        if sys.argv[2:] and method not in sys.argv[2:]:
            continue
        lines = zip(*shares(method, data, step, n), strict=True)
        beaten, seconds, asked, times = lines
        print(
            f"{method}, {data}, {len(beaten)} rows: CPU a row median "
            f"{np.median(seconds):.2f} s, most {max(seconds):.2f} s; "
            f"{int(np.median(asked)):,} answers of the model; ten times the effort "
            f"took {np.median(times):.1f} times as many",
            flush=True,
        )
        for way, of in zip(WAYS, np.array(beaten).T, strict=True):
            more = [int((of > share).sum()) for share in (0.001, 0.01, 0.05)]
            print(
                f"  {way:12} shorter by over .1 % in {more[0]:2}, over 1 % in "
                f"{more[1]:2}, over 5 % in {more[2]:2}; mean {of.mean():.2%}, at most "
                f"{of.max():.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
