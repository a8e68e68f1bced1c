"""Results of ``tests.bench.chip``: tables to read, and the file that the app ships."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from smpcore.chips.peers import PEERS, SCHEMA, TABLE
from smpcore.evaluation.comparison import corrected_error
from smpcore.evaluation.scores import wilson
from tests.bench.peers import PACKAGES

RANGES = (
    *("flash", "RAM", "cycles", "stack", "weights"),
    *("flash, from floats", "cycles, from floats"),
)
OURS = "ours, at most "


def _interval(shares: pd.Series, n_train: int, n_test: int) -> list[float]:
    """95 % interval of a mean share, between 0 and 1.

    Wilson's, of as many rows as have the standard error of Nadeau and Bengio: that of a
    single split where all splits are equal.
    """
    mean = float(shares.mean())
    error = corrected_error(shares.to_numpy(), n_train, n_test)
    n = mean * (1 - mean) / error**2 if error > 0 else 0
    n = n or n_test
    return [round(end, 5) for end in wilson(mean * n, n)]


def _half(differences: np.ndarray, n_train: int, n_test: int) -> float:
    """Half of the 95 % interval of a mean difference (Nadeau and Bengio)."""
    known = differences[np.isfinite(differences)]
    if len(known) < 2:
        return np.nan
    return float(
        corrected_error(known, n_train, n_test) * stats.t.ppf(0.975, len(known) - 1)
    )


def _groups(lines: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Models; of limits that gave the same ones on all splits the tightest."""
    seen = set()
    for name, own in lines.groupby("name", sort=False):
        what = "flash" if name.endswith("flash") else "cycles"
        same = what, tuple(zip(own.split, own.flash, own.accuracy, strict=True))
        if name.startswith(OURS) and same in seen:
            continue
        seen.add(same)
        yield name, own


def table(lines: pd.DataFrame) -> pd.DataFrame:
    """Mean and spread of accuracy, least and most of everything else."""
    out = []
    for name, own in _groups(lines):
        percent = 100 * own.accuracy
        entry = {
            "model": name,
            "splits": len(own),
            "accuracy %": f"{percent.mean():.1f} ± {percent.std():.1f}",
        }
        for what in RANGES:
            known = own[what].dropna() if what in own else []
            entry[what] = f"{known.min():.0f}-{known.max():.0f}" if len(known) else "-"
        entry["agrees with its Python"] = (
            f"{100 * own.agrees.mean():.1f} %" if own.agrees.notna().any() else "-"
        )
        entry["does not fit"] = int(own.refused.notna().sum())
        entry["chosen"] = ", ".join(
            f"{count} x {kind}" for kind, count in own.chosen.value_counts().items()
        )
        out.append(entry)
    return pd.DataFrame(out)


def at_equal_flash(lines: pd.DataFrame, n_train: int, n_test: int) -> pd.DataFrame:
    """Each peer that fits, beside ours of the largest limit that is not above it.

    The limit is that of the peer's smallest program, so that none of ours is larger.
    "level": 0 lies in the interval of the difference.
    """
    out = []
    limits = {
        int(name.removeprefix(OURS).removesuffix(" B of flash").replace(",", "")): name
        for name in lines.name.unique()
        if name.startswith(OURS) and name.endswith("flash")
    }
    accuracy = lines.pivot_table(index="split", columns="name", values="accuracy")
    for name, own in lines[lines.name.str.startswith(PEERS)].groupby("name"):
        if own.flash.isna().any():
            continue
        below = [limit for limit in limits if limit <= own.flash.min()]
        entry = {"peer": name, "flash": int(own.flash.min())}
        if not below:
            out.append(entry | {"verdict": "smaller than any limit of ours"})
            continue
        mine = accuracy[limits[max(below)]]
        difference = 100 * (mine - accuracy[name]).to_numpy()
        mean, half = np.nanmean(difference), _half(difference, n_train, n_test)
        verdict = "level"
        if abs(mean) > half or not np.isfinite(half):
            verdict = "first" if mean > 0 else "behind"
        out.append(
            entry
            | {
                "ours within": max(below),
                "difference": round(mean, 2),
                "half": round(half, 2),
                "verdict": verdict,
            }
        )
    return pd.DataFrame(out)


def entries(
    lines: pd.DataFrame, beside: pd.DataFrame, n_train: int, n_test: int
) -> list[dict[str, Any]]:
    """Lines of a data set on a chip as they are saved, see `smpcore.chips.peers`."""
    found = []
    compared = {one["peer"]: one for one in beside.to_dict("records")}
    for name, own in _groups(lines):
        if len(own) < 2:  # one split has no spread
            continue
        entry = {
            "model": name,
            "ours": name.startswith("ours"),
            "splits": len(own),
            "accuracy": [round(float(own.accuracy.mean()), 5)],
        }
        entry["accuracy"].append(round(float(own.accuracy.std(ddof=1)), 5))
        entry["interval"] = _interval(own.accuracy, n_train, n_test)
        if own.agrees.notna().any():
            entry["agrees"] = round(float(own.agrees.mean()), 4)
        if one := compared.get(name):
            entry["beside"] = {"ours": "", "points": []}
            if one.get("half", np.nan) >= 0:
                limit = f"{one['ours within']:,.0f} B of flash"
                points = [one["difference"], one["half"]]
                entry["beside"] = {"ours": f"{OURS}{limit}", "points": points}
        for what in RANGES:
            known = own[what].dropna() if what in own else []
            if len(known):
                key = what.lower().replace(", ", "_").replace(" ", "_")
                entry[key] = [int(known.min()), int(known.median()), int(known.max())]
        entry["refused"] = int(own.refused.notna().sum())
        if own.chosen.notna().any():
            entry["chosen"] = own.chosen.value_counts().to_dict()
        found.append(entry)
    return found


def save(sets: dict[str, dict[str, Any]], file: Path = TABLE) -> None:
    """Write results beside those of other data sets that the file already has.

    Parameters
    ----------
    sets : dict of str to dict
        Name of a data set -> what is saved of it.
    file : Path
    """
    known = {}
    if file.exists():
        known = json.loads(file.read_text("ascii"))["sets"]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    versions = {name: version(name) for name in PACKAGES}
    for name, entry in sets.items():
        known[name] = {"date": today, "versions": versions, **entry}
    text = json.dumps({"schema": SCHEMA, "sets": known}, indent=1, sort_keys=True)
    text = re.sub(r"\n {6,}|\n {5}(?=})", " ", text)  # a model, a line
    file.write_text(text + "\n", "ascii")
