"""Reported beside measured, and what holds of the papers' conclusions.

A row for each number, a line for each experiment, ranks of models and a summary.
Friedman's test and Nemenyi's critical difference are after Demšar: Statistical
Comparisons of Classifiers over Multiple Data Sets. JMLR 7, 2006.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from smpcore.errors import SmpcoreError
from smpcore.evaluation.comparison import on_front
from smpcore.methods import METHODS
from smpcore.papers.conclusions import (
    NOT_TESTED,
    VERDICTS,
    Conclusion,
    finding_of,
    numbers_of,
    shuffled_share,
)
from smpcore.papers.experiment import Experiment, Reported, by_name
from smpcore.papers.readings import TableOf, multiverse
from smpcore.papers.trial_files import (
    SHIPPED,
    Measured,
    Place,
    missing_data,
    read_measured,
    together,
)
from smpcore.papers.verdicts import (
    MARGINS,
    RELATIVE_MARGIN,
    relative_differences,
    verdicts,
)

#: Of Friedman's test and of the critical difference.
LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mean ranks of models, 1 for the best."""

    mean: pd.Series
    n_sets: int
    p_value: float
    critical: float

    @property
    def groups(self) -> list[list[str]]:
        """Largest sets of models, by rank, that do not clearly differ."""
        names, values = list(self.mean.index), self.mean.to_numpy()
        limits = np.searchsorted(values, values + self.critical, side="right")
        spans = [names[i:end] for i, end in enumerate(limits)]
        return [
            one for i, one in enumerate(spans) if not i or limits[i] > limits[i - 1]
        ]


def mean_ranks(table: pd.DataFrame, measure: str) -> Ranks:
    """Rank the models on every data set that all of them were measured on."""
    rows = table[(table["measure"] == measure) & table["measured"].notna()]
    # Files hold six digits: equal accuracies are equal in fewer.
    values = rows.pivot_table("measured", "data", "model").dropna().round(5)
    n_sets, n_models = values.shape
    if n_models < 3 or n_sets < 5:
        raise SmpcoreError(
            f"{n_models} models on {n_sets} data sets are too few to rank: measure "
            "three on five at least."
        )
    ranks = values.rank(axis="columns", ascending=False)
    p_value = stats.friedmanchisquare(*values.to_numpy().T).pvalue
    spread = np.sqrt(n_models * (n_models + 1) / (6.0 * n_sets))
    quantile = stats.studentized_range.ppf(1 - LEVEL, n_models, np.inf) / np.sqrt(2)
    mean = ranks.mean().sort_values(kind="stable")
    return Ranks(mean, n_sets, float(p_value), float(quantile * spread))


def conclusion(ranks: Ranks, ours: set[str]) -> str:
    """What the ranks say, in sentences."""
    names = list(ranks.mean.index)
    best = names[0]
    near = ranks.groups[0]
    text = (
        f"On {ranks.n_sets} data sets {best} has the best mean rank, "
        f"{ranks.mean.iloc[0]:.2f} of {len(names)}. "
    )
    if ranks.p_value >= LEVEL:
        return text + (
            f"Friedman's test finds no difference between the models "
            f"(p = {ranks.p_value:.2g})."
        )
    text += (
        f"Friedman's test finds differences (p = {ranks.p_value:.2g}); mean ranks "
        f"within {ranks.critical:.2f} do not clearly differ. "
    )
    level = [name for name in near[1:] if name in ours or best in ours]
    lost = [name for name in names if name in ours and name not in near]
    if level:
        text += f"Not clearly behind {best}: {', '.join(level)}. "
    if lost:
        text += f"Clearly behind it: {', '.join(lost)}."
    return text.strip()


def model_means(
    table: pd.DataFrame, score: str, sizes: Sequence[str] = ()
) -> pd.DataFrame:
    """Average each measure over the data sets that all models were measured on."""
    rows = table[table["measured"].notna() & table["at"].isna()]
    values = rows.pivot_table("measured", ["data", "model"], "measure")
    complete = values[score].unstack().dropna().index
    values = values.loc[complete]
    logs = values.assign(**{size: np.log(values[size].clip(lower=1)) for size in sizes})
    means = logs.groupby("model", sort=False).mean().sort_values(score, ascending=False)
    means = means.assign(**{size: np.exp(means[size]) for size in sizes})
    y = means[score].to_numpy()
    fronts = {f"front, {one}": on_front(means[one].to_numpy(), y) for one in sizes}
    return means.assign(**fronts)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models over the data sets that all of them were measured on.

    Parameters
    ----------
    ranks : Ranks
        By the measure that the experiment names.
    means : DataFrame
        As of `model_means`, and ``mean rank``.
    ours : frozenset of str
        Names of the methods of this program.
    conclusion : str
        What follows from the ranks.
    """

    ranks: Ranks
    means: pd.DataFrame
    ours: frozenset[str]
    conclusion: str


def _short(title: str) -> str:
    """A method's name without what explains it."""
    return title.split(":")[0]


def compared(
    experiment: Experiment, table: pd.DataFrame, rivals: bool = False
) -> Comparison:
    """Sum up an experiment whose models are ranked.

    Parameters
    ----------
    experiment : Experiment
        With a measure in `ranked`.
    table : DataFrame
        Its numbers, from `smpcore.papers.compare`.
    rivals : bool
        Whether models that were measured elsewhere, on fewer data sets, are in it.

    Returns
    -------
    Comparison

    Raises
    ------
    SmpcoreError
        If there are too few models or data sets to rank.
    """
    if not rivals:
        table = table[~table["model"].isin(experiment.rivals)]
    table = table.assign(model=table["model"].map(_short))
    score = experiment.ranked
    ours = {_short(method.title) for method in METHODS.values()}
    ranks = mean_ranks(table, score)
    means = model_means(table, score, experiment.sizes)
    return Comparison(
        ranks=ranks,
        means=means.assign(**{"mean rank": ranks.mean}),
        ours=frozenset(ours),
        conclusion=conclusion(ranks, ours),
    )


#: Columns of `compare`.
COLUMNS = (
    "data",
    "model",
    "measure",
    "at",
    "reported",
    "reported_sd",
    "measured",
    "measured_sd",
    "n",
    "seconds",
    "status",
)
#: What tells a number of an experiment from the others.
Key = tuple[str, str, str, float | None]


def compare(
    experiment: Experiment,
    measured: Iterable[Measured],
    missing: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Set each reported number beside the measured one.

    Parameters
    ----------
    experiment : Experiment
        With the numbers that the paper prints.
    measured : iterable of Measured
        Trials of the experiment.
    missing : mapping of str to str, optional
        Data sets that are not here -> what they need.

    Returns
    -------
    DataFrame
        With the columns `COLUMNS`, a row for each number that the paper prints or that
        was measured. ``at`` is the place on the experiment's axis, ``n`` the divisions
        of the rows. What is decided of numbers that have both is in `verdicts`.
    """
    printed = {_key(one): one for one in experiment.reported}
    values, seconds = _values(measured)
    rows = []
    for key in _in_order(experiment, {**printed, **dict.fromkeys(values)}):
        data, _, measure, _ = key
        sample = np.array(values.get(key, ()), dtype=np.float64)
        reported = printed.get(key)
        row = dict(zip(COLUMNS[:4], key, strict=True)) | _numbers(sample, reported)
        # A trial of several divisions says itself how far these are spread.
        spread = values.get((*key[:2], f"{measure}, standard deviation", None), [])
        if len(sample) == 1 and spread:
            row |= {"measured_sd": spread[0], "n": experiment.n_halves}
        row["at"] = np.nan if key[3] is None else key[3]
        row["seconds"] = np.mean(seconds[key[:2]]) if key[:2] in seconds else np.nan
        if len(sample):
            row["status"] = _status(row, experiment, measure)
        else:
            why = experiment.omitted.get(key[1]) or (missing or {}).get(data)
            none = "measured: no finite value" if key in values else "not measured"
            row["status"] = experiment.impossible or why or none
        rows.append(row)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def table_of(experiment: Experiment, place: Place) -> pd.DataFrame:
    """Set the numbers of an experiment beside what is known: its table of `compare`.

    Parameters
    ----------
    experiment : Experiment
        With the numbers that the paper prints.
    place : Place
        Trials that are measured there count before those that are shipped.

    Returns
    -------
    DataFrame
    """
    measured = read_measured(experiment, SHIPPED, place.out)
    missing = {} if experiment.impossible else missing_data(experiment, place)
    return compare(experiment, measured.values(), missing)


def _key(reported: Reported) -> Key:
    at = None if np.isnan(reported.at) else reported.at
    return reported.data, reported.model, reported.measure, at


def _in_order(experiment: Experiment, keys: Iterable[Key]) -> list[Key]:
    """Data sets and models in the order of the experiment, curves along their axis."""
    data, models = [*experiment.data], [*experiment.models, *experiment.rivals]

    def place(key: Key) -> tuple:
        places = (
            names.index(name) if name in names else len(names)
            for name, names in zip(key, (data, models), strict=False)
        )
        return *places, key[3] is not None, key[2] if key[3] else "", key[3] or 0.0

    return sorted(keys, key=place)


def _values(
    measured: Iterable[Measured],
) -> tuple[dict[Key, list[float]], dict[tuple[str, str], list[float]]]:
    """What was measured of each number over repetitions, and what trials took."""
    values: dict[Key, list[float]] = {}
    seconds: dict[tuple[str, str], list[float]] = {}
    for one in measured:
        pair = one.trial.data, one.trial.model
        seconds.setdefault(pair, []).append(one.seconds)
        numbers = {(*pair, name, None): v for name, v in one.outcome.measures.items()}
        for name, points in one.outcome.curves.items():
            numbers |= {(*pair, name, at): value for at, value in points.items()}
        for key, value in numbers.items():
            values.setdefault(key, []).extend([value] if np.isfinite(value) else [])
    return values, seconds


def _numbers(sample: np.ndarray, reported: Reported | None) -> dict[str, Any]:
    """Both means with their standard deviations over repetitions."""
    return {
        "reported": reported.value if reported else np.nan,
        "reported_sd": reported.spread if reported else np.nan,
        "measured": sample.mean() if len(sample) else np.nan,
        "measured_sd": sample.std(ddof=1) if len(sample) > 1 else np.nan,
        "n": len(sample),
    }


def _status(row: Mapping[str, Any], experiment: Experiment, measure: str) -> str:
    """What a measured number is beside the reported one."""
    if {measure, (row["model"], measure)} & {*experiment.settings}:
        return "a setting, no result"
    if np.isnan(row["reported"]):
        return "measured, not printed" if experiment.reported else "measured"
    if measure in experiment.elsewhere:
        return "measured on another machine"
    return "compared" if measure in MARGINS else "measured, no margin"


def overview(experiments: Sequence[Experiment], table_of: TableOf) -> pd.DataFrame:
    """A line for each experiment.

    Parameters
    ----------
    experiments : sequence of Experiment
        In the order of the lines.
    table_of : callable
        ``table_of(experiment)`` gives its numbers.

    Returns
    -------
    DataFrame
        Columns ``paper, experiment, where, command, conclusions, numbers, status``: how
        many conclusions hold, which verdicts numbers have, and what is missing.
    """
    return pd.DataFrame([_line(one, table_of) for one in experiments])


def _line(experiment: Experiment, table_of: TableOf) -> dict[str, str]:
    table = table_of(experiment)
    lines = experiment.conclusions
    each = [multiverse(one, experiment, table_of).verdict for one in lines]
    counts = {one: each.count(one) for one in (*VERDICTS, NOT_TESTED)}
    return {
        "paper": experiment.paper,
        "experiment": experiment.name,
        "where": experiment.where,
        "command": "" if experiment.impossible else experiment.command,
        "conclusions": "; ".join(f"{n} {one}" for one, n in counts.items() if n),
        "numbers": verdicts(table).short,
        "status": experiment.impossible or _in_short(table["status"]),
    }


def _in_short(statuses: pd.Series) -> str:
    """How many numbers have which status; what is missing comes last, together."""
    missing = statuses[statuses.str.startswith("needs")]
    counts = statuses.drop(missing.index).value_counts(sort=False)
    parts = [f"{n} {status}" for status, n in counts.items()]
    if len(missing):
        is_file = missing.str.startswith("needs the file")
        needs = together(missing.mask(is_file, "needs --data FOLDER"))
        if len(missing) > 1:
            needs = needs.replace("needs", "need")
        parts.append(f"{len(missing)} {needs}")
    return "; ".join(parts) or "not measured"


#: Model that ours are set beside.
_BESIDE = "RBF-SVM"


def _of(held: float, n: int) -> str:
    """How many of how many, or nothing."""
    return f"{held:.3g} of {n}" if n else ""


def conclusions_table(
    experiments: Sequence[Experiment], table_of: TableOf, main: bool = True
) -> pd.DataFrame:
    """What papers conclude, and in how many readings it holds.

    Parameters
    ----------
    experiments : sequence of Experiment
        In the order of the rows.
    table_of : callable
        ``table_of(experiment)`` gives its numbers.
    main : bool
        Leave out what is not in the summary of all papers.

    Returns
    -------
    DataFrame
        A row for each sentence with the columns ``paper, kind, verdict, readings,
        here, printed, best, chance, claim, where, reading, open, experiment``. Kind is
        one of the verdicts, without what it depends on. Readings say in how many it
        holds; here and printed in how many comparisons it does, in our
        own reading, in the numbers that are measured here and in those of the paper;
        best is the reading that favours the paper most, chance how often it would hold
        with our numbers shuffled between models, and open what is not measured.
    """
    return pd.DataFrame(
        [
            _concluded(line, one, table_of)
            for one in experiments
            for line in one.conclusions
            if line.is_main or not main
        ]
    )


def _concluded(
    line: Conclusion, experiment: Experiment, table_of: TableOf
) -> dict[str, str]:
    """A row of `conclusions_table`."""
    result = multiverse(line, experiment, table_of)
    first, best = result.first, result.best_finding
    chance = shuffled_share(line.check, numbers_of(table_of(experiment)))
    readings = f"{result.n_holds} of {result.n}" if result.n > 1 else ""
    if not readings and result.unmeasured:
        readings = "one only"
    favours = f"{result.best} ({_of(best.held, best.n)})" if result.best else ""
    return {
        "paper": METHODS[experiment.paper].title.split(":")[0],
        "kind": result.verdict,
        "verdict": result.words,
        "readings": readings,
        "here": _of(first.held, first.n),
        "printed": _of(first.printed_held, first.printed_n),
        "best": favours,
        "chance": "" if np.isnan(chance) else f"{100 * chance:.0f} %",
        "claim": f"“{line.words}”",
        "where": line.where,
        "reading": line.reading,
        "open": "; ".join(result.unmeasured),
        "experiment": experiment.name,
    }


def lead(experiment: Experiment, table: pd.DataFrame) -> str:
    """Say whether the paper's method leads its table, as it does in print.

    Parameters
    ----------
    experiment : Experiment
        One whose models are ranked and compared with the paper's own.
    table : DataFrame
        Its numbers.

    Returns
    -------
    str
        Empty if there is no such lead to look for.
    """
    check = experiment.checks.get("lead")
    if not experiment.ranked or check is None:
        return ""
    (line,) = experiment.conclusions
    finding, of = finding_of(line.check, numbers_of(table)), experiment.ranked
    if finding.verdict == NOT_TESTED:
        return ""
    here = mean_ranks(table, of)
    printed = mean_ranks(table.assign(measured=table["reported"]), of)
    is_first = here.mean.index[0] == check.model
    return (
        f"The lead is {'' if is_first else 'not '}found: {check.model} is not below "
        f"any other model on {_of(finding.held, finding.n)} data sets (printed: "
        f"{_of(finding.printed_held, finding.printed_n)}), and its mean rank is "
        f"{here.mean[check.model]:.2f} of {len(here.mean)} (printed: "
        f"{printed.mean[check.model]:.2f}; critical difference {here.critical:.2f})."
    )


def _instead(experiments: Sequence[Experiment], table_of: TableOf, model: str) -> str:
    """Say what is found in place of a lead: size, at which accuracy."""
    one = next(one for one in experiments if one.sizes)
    numbers = table_of(one)
    means = compared(one, numbers).means
    score, size = one.ranked, one.sizes[0]
    parts = (
        f"{name} {means.loc[name, score]:.3f} with {means.loc[name, size]:,.0f} {size}"
        for name in (model, _BESIDE)
    )
    n = numbers["data"].nunique()
    return (
        f"Found instead: small models. In nested cross-validation on {n} tables the "
        f"mean {score} is {' and '.join(parts)} ({one.name})."
    )


def first_line(experiments: Sequence[Experiment], table_of: TableOf, name: str) -> str:
    """Say first of a table of accuracies what it is printed for, and what is found.

    Parameters
    ----------
    experiments : sequence of Experiment
        Those of all papers.
    table_of : callable
        ``table_of(experiment)`` gives its numbers.
    name : str
        Of the experiment whose first line it is.

    Returns
    -------
    str
        Empty where no model leads.
    """
    one = by_name(experiments, name)
    text = lead(one, table_of(one))
    if not text:
        return ""
    size = _instead(experiments, table_of, one.checks["lead"].model)
    return f"{text} {size}"


def differences(
    experiments: Sequence[Experiment], table_of: TableOf
) -> tuple[pd.DataFrame, list[str]]:
    """Differences of measured and printed means, of several experiments.

    Parameters
    ----------
    experiments : sequence of Experiment
        Those of one paper, say.
    table_of : callable
        ``table_of(experiment)`` gives its numbers.

    Returns
    -------
    rows : DataFrame
        As of `verdicts`, or of `relative_differences` where the paper's data are not
        here, with the column ``experiment``.
    summaries : list of str
        What is decided in each.
    """
    parts, decided = [pd.DataFrame()], []
    for one in experiments:
        result = verdicts(table_of(one))
        rows, text = result.rows, result.summary
        if one.beside:
            rows = relative_differences(table_of(one), one.beside)
            others = ((rows["low"] > 0) | (rows["high"] < 0)).sum()
            text = (
                f"Of {len(rows)} differences to {one.beside}, in percent of its "
                f"numbers and on other data than the paper's, {others} are not the "
                f"printed ones (90 % interval; margin {RELATIVE_MARGIN:g} %)."
            )
        if len(rows):
            parts.append(rows.assign(experiment=one.name))
            decided.append(f"{one.name}: {text}")
    return pd.concat(parts), decided
