"""The readable models of other packages beside the five methods, by stored numbers.

`tests/bench/rivals.py` measures them, in an environment of their own: their packages
are no part of this program. Means of tables are compared by Student's t, as tables are
independent; folds of one table are not, so these by the corrected t test of
`smpcore.evaluation.corrected_t_test`. Both are corrected by Holm: the first for all
pairs, the second for all tables and methods of a rival.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from smpcore.datasets import plural
from smpcore.evaluation import LEVEL, corrected_t_test, holm, paired_difference
from smpcore.evaluation.differences import corrected
from smpcore.methods import METHODS
from smpcore.papers.experiment import Experiment
from smpcore.papers.trial_files import SHIPPED, Measured, Place, read_measured

#: As in the stored file: explainable boosting machine, sums of trees, optimal tree, and
#: score with whole points.
RIVALS = "EBM", "FIGS", "STreeD", "FasterRisk"
#: What is compared; of the second less is better.
_MEASURES = "accuracy", "log-loss"
#: Columns of a measure: how much better a rival is than a method, and the interval.
_PARTS = "advantage", "low", "high"


class Beside(NamedTuple):
    """Each rival beside each method, and what that says.

    ``rows`` has a row for each pair: mean advantages of the rival over the tables with
    their intervals, and on how many tables alone it is clearly better and worse.
    """

    rows: pd.DataFrame
    sentences: list[str]


def beside_methods(experiment: Experiment, place: Place) -> Beside:
    """Compare the rivals with the five methods.

    Parameters
    ----------
    experiment : Experiment
        The comparison.
    place : Place
        Trials that are measured there count before those that are shipped.

    Returns
    -------
    Beside
    """
    measured = read_measured(experiment, SHIPPED, place.out).values()
    titles = [method.title for method in METHODS.values()]
    trials = pd.DataFrame(
        {**one.trial._asdict(), **one.outcome.measures} for one in measured
    )
    theirs = trials[trials["model"].isin(experiment.rivals)]
    trials = trials[trials["data"].isin(theirs["data"])]
    pairs = [*product(experiment.rivals, titles)]
    rows = pd.DataFrame(pairs, columns=["rival", "method"])
    for measure in _MEASURES:
        values = trials.pivot_table(measure, ["data", "repetition"], "model")
        values = values.reindex(columns=[*titles, *experiment.rivals])
        rows = rows.join(_advantages(values, pairs, measure))
    numbers = trials.groupby(["model", "data"])["numbers"].mean().clip(lower=1)
    sizes = np.exp(np.log(numbers).groupby("model").mean())
    sentences = [
        _sentence(name, rows[rows["rival"] == name], sizes)
        for name in experiment.rivals
    ]
    sentences.append(_provenance(experiment, measured, {*theirs["data"]}))
    rows = rows.assign(method=rows["method"].map(_short))
    return Beside(rows.loc[:, rows.notna().any()], sentences)


def _provenance(
    experiment: Experiment, measured: Iterable[Measured], data: set[str]
) -> str:
    """With which packages they were measured, and on which tables they were not."""
    ours = [one for one in measured if one.trial.model in experiment.rivals]
    text = f"Measured with {'; '.join(dict.fromkeys(one.edition for one in ours))}."
    missing = [name for name in experiment.data if name not in data]
    return text + (f" Not measured on {', '.join(missing)}." if missing else "")


def _short(title: str) -> str:
    return title.split(":")[0]


def _advantages(
    values: pd.DataFrame, pairs: list[tuple[str, str]], measure: str
) -> pd.DataFrame:
    """How much better the first of each pair is, positive where it is."""
    sign = -1.0 if measure == "log-loss" else 1.0
    gains = [sign * (values[a] - values[b]).dropna() for a, b in pairs]
    means = [gain.groupby("data").mean().to_numpy() for gain in gains]
    known = [i for i, one in enumerate(means) if len(one)]
    results = corrected(
        [partial(paired_difference, -means[i], 0 * means[i]) for i in known]
    )
    names = [f"{measure}: {part}" for part in (*_PARTS, "tables")]
    rows = [
        (one.mean, one.low, one.high, len(means[i]))
        for one, i in zip(results, known, strict=True)
    ]
    table = pd.DataFrame(rows, index=known, columns=names).reindex(range(len(pairs)))
    if measure == "accuracy":
        table = table.join(_on_single_tables(gains, pairs))
    return table


def _on_single_tables(
    gains: list[pd.Series], pairs: list[tuple[str, str]]
) -> pd.DataFrame:
    """On how many tables alone the first of a pair is clearly better, and worse."""
    folds = [gain.unstack().to_numpy() for gain in gains]
    # Of n folds each holds out one of n parts: n - 1 times as many rows train.
    p_values = [corrected_t_test(d, d.shape[1] - 1, 1) for d in folds]
    rivals, rows = [rival for rival, _ in pairs], []
    for rival in dict.fromkeys(rivals):
        here = [i for i, one in enumerate(rivals) if one == rival]
        clear = holm(np.concatenate([p_values[i] for i in here])) < LEVEL
        limits = np.cumsum([len(p_values[i]) for i in here])[:-1]
        for i, of_tables in zip(here, np.split(clear, limits), strict=True):
            means = np.nanmean(folds[i], axis=1)
            rows.append([(of_tables & (s * means > 0)).sum() for s in (1, -1)])
    return pd.DataFrame(rows, columns=["tables: better", "tables: worse"])


def _sentence(rival: str, rows: pd.DataFrame, sizes: pd.Series) -> str:
    """Where a rival is the better choice, where it is not, and what it stores."""
    rows = rows.set_index("method")
    better, worse = (_clear(rows, "accuracy", sign) for sign in (1, -1))
    n_tables = plural(int(rows["accuracy: tables"].max()), "table")
    text = f"{rival}: on {n_tables} "
    if better:
        text += (
            "it is the better choice where accuracy counts more than size; it is more "
            f"accurate than {_list(better)}"
        )
    else:
        text += f"it is not clearly more accurate than any of the {len(rows)} methods"
    text += f", and less accurate than {_list(worse)}. " if worse else ". "
    hardest = rows.loc[rows["accuracy: advantage"].idxmin()]
    mean, low, high = (100 * hardest[f"accuracy: {part}"] for part in _PARTS)
    text += (
        f"Its accuracy less that of {_short(str(hardest.name))}, the best of them: "
        f"{mean:+.1f} points (95 % interval {low:+.1f} to {high:+.1f}). "
    )
    ours = ", ".join(f"{_short(name)} {sizes[name]:,.0f}" for name in rows.index)
    text += f"Numbers stored: {sizes[rival]:,.0f} ({ours}). "
    for words, sign in (("lower", 1), ("higher", -1)):
        if losses := _clear(rows, "log-loss", sign):
            text += f"Its log-loss is {words} than that of {_list(losses)}. "
    counts = rows[["tables: better", "tables: worse"]].sum()
    return text + (
        f"On single tables it is clearly more accurate in {counts.iloc[0]} and less in "
        f"{counts.iloc[1]} of {int(rows['accuracy: tables'].sum())} comparisons."
    )


def _clear(rows: pd.DataFrame, measure: str, sign: int) -> list[str]:
    """Methods that a rival is clearly ahead of, or behind, with the interval."""
    unit, of, digits = (100, " points", 1) if measure == "accuracy" else (1, "", 3)
    columns = [f"{measure}: {part}" for part in _PARTS]
    each = []
    for name, values in (unit * sign * rows[columns]).iterrows():
        mean, *limits = values
        low, high = sorted(limits)
        if low > 0:
            each.append(
                f"{_short(str(name))} by {mean:.{digits}f}{of} "
                f"(95 % interval {low:.{digits}f} to {high:.{digits}f})"
            )
    return each


def _list(names: list[str]) -> str:
    """Names in a sentence."""
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])
