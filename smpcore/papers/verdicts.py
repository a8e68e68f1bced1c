"""Whether numbers that are measured here are those that a paper prints.

Compared are means of a model over the data sets of a table: a paper's five divisions of
the rows are too few to tell about a single number. The divisions of the paper are
unknown, so the two samples are independent. Divisions share rows: the variance of each
mean is ``(1 / n + n_test / n_train) s^2``, after Nadeau and Bengio (Inference for the
generalization error, Machine Learning 52, 2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from smpcore.evaluation import holm

#: Measure -> how far two means may differ that count as equal: one for each measure
#: that papers print, fixed before any difference was computed. Chosen from spreads
#: alone: five halves and five printed ones of 15 data sets, each with a standard
#: deviation of about .05, have a corrected standard error of .02, so that no narrower
#: margin would find equality where there is equality.
MARGINS: dict[str, float] = {
    "accuracy": 0.05,
    "test accuracy": 0.05,
    "accuracy %": 5.0,
    "IP %": 5.0,
    "DR %": 5.0,
    "test error": 0.05,
    "MAE, sd or years": 1.0,
}
#: Of both tests.
LEVEL = 0.05
#: A rule that more placebos pass is not used.
MOST_PLACEBOS = 0.2
#: Divisions behind a printed spread, and test rows for each training row: halves.
SPLITS, RATIO = 5, 1.0
#: Simulated tables, and deranged ones.
N_DRAWS = 200
REPRODUCED, DIFFERS, UNDECIDED = "reproduced", "differs", "undecided"
#: In place of a verdict where the paper's data are not here, and what differences of
#: relative numbers, in percent, are drawn in units of.
OTHER_DATA, RELATIVE_MARGIN = "on other data", 5.0


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What is decided about the models of a table.

    Parameters
    ----------
    rows : DataFrame
        A row for each model and measure that is printed and measured: means over data
        sets, their difference with its interval, p-values of both tests, and which of
        reproduced, differs and undecided it is.
    placebo : float
        Share that is called reproduced of printed means of other models which are
        further from a model's own than the margin; NaN if there are none.
    permuted : float
        Share that is called reproduced of all printed means of other models: where it
        is as large as that of the models' own, the table cannot fail.
    power : float
        Share of models that would be called reproduced if all were equal.
    """

    rows: pd.DataFrame
    placebo: float
    permuted: float
    power: float

    @property
    def is_used(self) -> bool:
        """Whether the rule tells a model's numbers from those of others."""
        return not self.placebo > MOST_PLACEBOS

    @property
    def short(self) -> str:
        """How many models have which verdict; empty if there is none."""
        counts = self.rows["verdict"].value_counts()
        names = REPRODUCED, DIFFERS, UNDECIDED
        return "; ".join(f"{counts.get(one, 0)} {one}" for one in names if len(counts))

    @property
    def summary(self) -> str:
        """How many models have which verdict, and how good the rule is; in words."""
        n, undecided = len(self.rows), (self.rows["verdict"] == UNDECIDED).sum()
        if not n:
            return ""
        placebo = (
            "no two printed means are further apart than the margin"
            if np.isnan(self.placebo)
            else f"placebo rate {100 * self.placebo:.0f} %"
        )
        if not self.is_used:
            placebo += ", so the rule is not used"
        if np.isfinite(self.permuted):
            right = 100 * (self.rows["verdict"] == REPRODUCED).mean()
            placebo += (
                f"; with its columns permuted {100 * self.permuted:.0f} % would be "
                f"called reproduced, in order {right:.0f} %"
            )
        margin, decided = self.rows["margin"].iloc[0], 100 * (1 - undecided / n)
        return (
            f"Of {n} means: {self.short} (margin {margin:g}; decided {decided:.0f} %; "
            f"{placebo}; equal ones would be called reproduced in "
            f"{100 * self.power:.0f} %)."
        )


class _Sample(NamedTuple):
    """Means of divisions, their standard deviations and numbers, (..., models, sets).

    Where a model has no number on a data set, the mean is NaN.
    """

    mean: np.ndarray
    sd: np.ndarray
    n: np.ndarray

    def drawn(self, random: np.random.Generator) -> _Sample:
        """Other divisions of the same rows, with the expectation 0, many times."""
        shape = N_DRAWS, *self.mean.shape
        mean = random.normal(size=shape) * self.sd / np.sqrt(self.n)
        spread = random.chisquare(self.n - 1, shape) / (self.n - 1)
        return _Sample(mean + 0.0 * self.mean, self.sd * np.sqrt(spread), self.n)


def _tested(printed: _Sample, measured: _Sample, margin: float) -> pd.DataFrame:
    """Both tests of the difference of means over data sets, a row a model or draw."""
    apart = measured.mean - printed.mean
    known = np.isfinite(apart)
    n = known.sum(axis=-1)
    total, squares = 0.0, 0.0
    for one in (printed, measured):
        each = np.where(known, (1 / one.n + RATIO) * one.sd**2, 0.0)
        total = total + each.sum(axis=-1)
        squares = squares + (each**2 / np.maximum(one.n - 1, 1)).sum(axis=-1)
    error = np.maximum(np.sqrt(total) / n, 1e-9)
    t = stats.t(np.maximum(total**2 / np.maximum(squares, 1e-300), 1.0))
    difference = np.where(known, apart, 0.0).sum(axis=-1) / n
    half = t.ppf(1 - LEVEL) * error
    columns = {
        "data sets": n,
        "difference": difference,
        "low": difference - half,
        "high": difference + half,
        "margin": np.full(n.shape, margin),
        "p different": 2 * t.sf(np.abs(difference) / error),
        "p not equal": t.sf((margin - np.abs(difference)) / error),
    }
    shape = np.broadcast_shapes(*(one.shape for one in columns.values()))
    return pd.DataFrame(
        {name: np.broadcast_to(one, shape).ravel() for name, one in columns.items()}
    )


def _samples(cells: pd.DataFrame) -> tuple[np.ndarray, _Sample, _Sample]:
    """Models, and what is printed and measured of them, of one measure."""
    alone = cells["reported_sd"].isna()
    digits = cells["reported"].map(lambda x: len(f"{x:.9f}".rstrip("0").split(".")[1]))
    # Where no spread is printed, what is known is as sure as its last digit.
    cells = cells.assign(
        reported_sd=cells["reported_sd"].mask(alone, 10.0**-digits / np.sqrt(12.0)),
        reported_n=np.where(alone, 1e9, SPLITS),
    )

    def sample(*names: str) -> _Sample:
        mean, sd, n = (
            cells.pivot_table(name, "model", "data", sort=False) for name in names
        )
        filled = (one.fillna(2.0).to_numpy() for one in (sd, n))
        return _Sample(mean.to_numpy(), *filled)

    printed = sample("reported", "reported_sd", "reported_n")
    return cells["model"].unique(), printed, sample("measured", "measured_sd", "n")


def _placebos(printed: _Sample, measured: _Sample, margin: float) -> np.ndarray:
    """Of each printed mean of another model: is it reproduced, and is it far enough?"""
    random, means = np.random.default_rng(0), np.nanmean(printed.mean, axis=1)
    models = np.arange(len(means))
    orders = np.array([random.permutation(models) for _ in range(N_DRAWS)])
    orders = orders[(orders != models).all(axis=1)]
    tests = _tested(_Sample(*(part[orders] for part in printed)), measured, margin)
    far = np.abs(means[orders] - means) > margin
    return np.column_stack([tests["p not equal"] < LEVEL, far.ravel()])


def verdicts(table: pd.DataFrame) -> Verdicts:
    """Compare the models of a table with what the paper prints of them.

    Parameters
    ----------
    table : DataFrame
        Numbers of one experiment, from `smpcore.papers.compare`.

    Returns
    -------
    Verdicts
        Equal within the margin by two one-sided tests: reproduced. Else another mean by
        Welch's test with Holm's correction over the table: differs. Else undecided, as
        is every model where the rule does not tell it from placebos.
    """
    cells = table[(table["status"] == "compared") & table["measured_sd"].notna()]
    rows, passed, equal = [], [], []
    random = np.random.default_rng(0)
    for measure, part in cells.groupby("measure", sort=False):
        models, *samples = _samples(part)
        margin = MARGINS[measure]
        tests = _tested(*samples, margin)
        rows.append(tests.assign(model=models, measure=measure))
        passed.append(_placebos(*samples, margin))
        drawn = _tested(*(one.drawn(random) for one in samples), margin)
        equal.append(drawn["p not equal"] < LEVEL)
    if not rows:
        return Verdicts(pd.DataFrame({"verdict": []}), np.nan, np.nan, np.nan)
    results, hits = pd.concat(rows, ignore_index=True), np.concatenate(passed)
    results["p different"] = holm(results["p different"])
    far = hits[hits[:, 1], 0]
    placebo, permuted = (
        float(one.mean()) if len(one) else np.nan for one in (far, hits[:, 0])
    )
    equal_within, differ = (
        results[f"p {one}"] < LEVEL for one in ("not equal", "different")
    )
    names = np.where(differ, DIFFERS, UNDECIDED)
    names = np.where(equal_within, REPRODUCED, names)
    if placebo > MOST_PLACEBOS:
        names = np.full(len(names), UNDECIDED)
    power = float(np.concatenate(equal).mean())
    return Verdicts(results.assign(verdict=names), placebo, permuted, power)


def relative_differences(table: pd.DataFrame, base: str) -> pd.DataFrame:
    """Compare how far models are from the paper's own, here and in print, on any data.

    Parameters
    ----------
    table : DataFrame
        Numbers of one experiment, whose printed ones are of data that are not here.
    base : str
        The paper's own model.

    Returns
    -------
    DataFrame
        A row for each other model and measure: logarithms of its numbers relative to
        the own model's, in percent, means over data sets measured here minus those
        printed, with a 90 % interval by Welch's test.
    """
    rows = []
    table = table[table["at"].isna() & table["measure"].isin(MARGINS)]
    for measure, part in table.groupby("measure", sort=False):
        here, printed = (
            100 * np.log(wide.div(wide[base], axis=0))
            for wide in (
                part.pivot_table(column, "data", "model")
                for column in ("measured", "reported")
            )
        )
        for model in here.columns.intersection(printed.columns).drop(base):
            samples = here[model].dropna(), printed[model].dropna()
            test = stats.ttest_ind(*samples, equal_var=False)
            low, high = test.confidence_interval(1 - 2 * LEVEL)
            apart = samples[0].mean() - samples[1].mean()
            rows.append((model, measure, apart, low, high))
    columns = "model", "measure", "difference", "low", "high"
    result = pd.DataFrame(rows, columns=columns)
    return result.assign(margin=RELATIVE_MARGIN, verdict=OTHER_DATA)
