"""Reported beside measured: a row for each number, and a line for each experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from smpcore.papers.conclusions import FAILS, HOLDS, IN_PART, NOT_TESTED, finding_of
from smpcore.papers.experiment import Experiment, Reported
from smpcore.papers.trial_files import (
    SHIPPED,
    Measured,
    Place,
    missing_data,
    read_measured,
    together,
)
from smpcore.papers.verdicts import MARGINS, verdicts

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
#: Numbers of an experiment, from `table_of`.
TableOf = Callable[[Experiment], pd.DataFrame]
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
    data, models = [*experiment.data], [*experiment.models]

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
        of = one.trial.data, one.trial.model
        seconds.setdefault(of, []).append(one.seconds)
        numbers = {(*of, name, None): v for name, v in one.outcome.measures.items()}
        for name, points in one.outcome.curves.items():
            numbers |= {(*of, name, at): value for at, value in points.items()}
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
    return pd.DataFrame([_line(one, table_of(one)) for one in experiments])


def _line(experiment: Experiment, table: pd.DataFrame) -> dict[str, str]:
    each = [finding_of(one, table).verdict for one in experiment.conclusions]
    counts = {one: each.count(one) for one in (HOLDS, IN_PART, FAILS, NOT_TESTED)}
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
