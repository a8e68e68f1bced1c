"""Ours and the peers' on chips: ``python -m tests.bench.chip [data set ...]``.

For each split, the recipe of each entry is chosen by cross-validation on the training
rows, before the test rows are touched; then it is fitted on all training rows, compiled
for each chip, and asked there (simavr, QEMU). Accuracies are of what the chip computes:
of our integer models by their emulator, which the chip has to equal on every score; of
the peers by their Python model, beside how often the chip agrees with it.

``--data FILE_OR_FOLDER`` (any number of times): a table of one's own, or where to look
for the names. ``--save``: into the file that the app ships. ``--splits N``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats

from smpcore import Dataset
from smpcore.chips import CHIPS, Chip
from smpcore.chips.peers import PEERS, SCHEMA, TABLE
from smpcore.chips.programs import ChipProgram, simulated
from smpcore.errors import ExportError
from smpcore.evaluation.comparison import corrected_error
from smpcore.evaluation.scores import wilson
from tests.bench.chip_data import Rows, split_rows, tables
from tests.bench.chip_recipes import N_ASKED, Picks, l1_model, line, scored
from tests.bench.peers import PACKAGES, Peer, Program, peers

RANGES = (
    *("flash", "RAM", "cycles", "stack", "weights"),
    *("flash, from floats", "cycles, from floats"),
)
OURS = "ours, at most "
#: Our line that the l1 logistic regression has as many weights as.
_ALIKE = "ours, at most 512 B of flash"
#: From so many classes fewer candidates are tried.
_MANY_CLASSES = 10
#: Flash of a Cortex-M that a peer has to fit in: few boards have more.
_ROOM = 256 * 1024


def _measured(program: Program, truth: np.ndarray, chip: Chip) -> dict[str, Any]:
    """What a peer's program takes on a chip."""
    accuracy = {"accuracy": float((program.labels == truth).mean())}
    if program.least_bytes > (chip.flash or _ROOM):
        why = f"its numbers alone take {program.least_bytes:,} bytes of flash"
        return accuracy | {"refused": why}
    try:
        with tempfile.TemporaryDirectory() as folder:
            return accuracy | _on_chip(program, Path(folder), chip)
    except ExportError as error:
        return accuracy | {"refused": str(error)[:100]}


def _on_chip(program: Program, folder: Path, chip: Chip) -> dict[str, Any]:
    sources = ["mdl.cpp" if "mdl.cpp" in program.files else "mdl.c"]
    is_avr = chip.tools == "avr"
    libraries = ("-lm",) if is_avr else ("-lm", "-lc_nano", "-lgcc")
    chip = replace(chip, libraries=libraries)
    double = "f4" if is_avr else "f8"
    given = np.dtype({"double": double, "float": "f4", "int16_t": "i2"}[program.kind])
    types = {"INPUT": program.kind, "SCORE": "uint8_t", "ANSWER": "uint8_t"}
    options = [f"-D{name}={kind}" for name, kind in types.items()]
    options += [f"-I{place}" for place in program.folders]
    for file, text in program.files.items():
        (folder / file).write_text(text)
    built = ChipProgram(folder, chip, options, sources)
    added = built.sizes()
    record = np.dtype("u4, u4, u1, u2")
    record.names = "count", "stack", "scores", "winner"
    told = simulated(built, program.rows[:N_ASKED].astype(given), record)
    most = {key: int(told[key].max()) for key in ("count", "stack")}
    agrees = float((told["winner"] == program.labels[:N_ASKED]).mean())
    costs = {"flash": added.flash, "RAM": added.ram, "cycles": most["count"]}
    return costs | {"stack": most["stack"], "agrees": agrees}


def _peer_lines(peer: Peer, rows: Rows) -> list[dict[str, Any]]:
    """A peer on every chip, tuned on the folds and fitted on the training rows."""
    chosen = peer.choose(rows.X, rows.y, rows.folds)
    scaled = peer.rows(rows.X, rows.train)
    fitted = chosen.fit(scaled[rows.train], rows.y[rows.train])
    program = peer.write(fitted, scaled[rows.test])
    numbers = np.searchsorted(fitted.classes_, rows.y[rows.test])
    return [
        {"name": peer.name, "chip": name} | _measured(program, numbers, chip)
        for name, chip in CHIPS.items()
    ]


def one_split(dataset: Dataset, seed: int) -> list[dict[str, Any]]:
    """Every entry on one split."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")  # a peer turns underflow into an error for all
    rows = split_rows(dataset, seed)
    large = len(np.unique(rows.y)) >= _MANY_CLASSES
    picks, lines = Picks(rows, scored(rows, large)), []
    for name, chip in CHIPS.items():
        lines += [{"chip": name} | one for one in picks.lines(chip)]
    alike = [one["weights"] for one in lines if one["name"] == _ALIKE]
    if alike and not large:
        name = "l1 logistic regression, as many weights, through our C"
        model, theirs = l1_model(rows, alike[0])
        for chip in CHIPS.values():
            same = {"name": name, "chip": chip.name, "in Python": theirs}
            lines.append(same | line(model, rows, chip))
    lines += [one for peer in peers() for one in _peer_lines(peer, rows)]
    return [{"split": seed, "refused": None, "chosen": None} | one for one in lines]


def run(name: str, dataset: Dataset, splits: int) -> dict[str, Any]:
    """Measure all entries on a data set, print them, and return what is saved."""
    sizes = split_rows(dataset, 0)
    n_train, n_test = len(sizes.train), len(sizes.test)
    tasks = [delayed(one_split)(dataset, seed) for seed in range(splits)]
    lines = pd.DataFrame([line for split in Parallel(2)(tasks) for line in split])
    n_classes, n_inputs = len(np.unique(dataset.y)), len(sizes.preparation.inputs)
    print(
        f"\n{name}: {n_inputs} inputs, {n_classes} classes; {splits} splits, {n_train} "
        f"training and {n_test} test rows of {len(dataset.y)}"
    )
    chips = {}
    for chip, own in lines.groupby("chip", sort=False):
        beside = at_equal_flash(own, n_train, n_test)
        chips[chip] = entries(own, beside, n_train, n_test)
        table = pd.DataFrame(chips[chip])
        table = table.drop(columns=["ours", "beside"], errors="ignore")
        print(f"\n{name}, {chip}\n{table.to_string(index=False, na_rep='-')}")
        print(f"\n{name}, {chip}, at equal flash: ours within the limit below the peer")
        print(beside.to_string(index=False), flush=True)
    for why in lines.refused.dropna().unique()[:6]:
        print(" -", why)
    sizes = {"digest": dataset.digest, "training": n_train, "test": n_test}
    return sizes | {"chips": chips}


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
    quantile = stats.t.ppf(0.975, len(known) - 1)
    return float(corrected_error(known, n_train, n_test) * quantile)


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


def at_equal_flash(lines: pd.DataFrame, n_train: int, n_test: int) -> pd.DataFrame:
    """Each peer that fits, beside ours of the largest limit that is not above it.

    The limit is that of the peer's smallest program, so that none of ours is larger; if
    there is none, the largest one whose programs happen to be as small.
    "level": 0 lies in the interval of the difference.
    """
    out = []
    limits = {
        int(name.removeprefix(OURS).removesuffix(" B of flash").replace(",", "")): name
        for name in lines.name.unique()
        if name.startswith(OURS) and name.endswith("flash")
    }
    accuracy = lines.pivot_table(index="split", columns="name", values="accuracy")
    most = lines.groupby("name").flash.max()
    for name, own in lines[lines.name.str.startswith(PEERS)].groupby("name"):
        if own.flash.isna().any():
            continue
        below = [limit for limit in limits if limit <= own.flash.min()]
        below = below or [n for n in limits if most[limits[n]] <= own.flash.min()]
        entry = {"peer": name, "flash": int(own.flash.min())}
        if not below:
            out.append(entry | {"verdict": "smaller than any limit of ours"})
            continue
        mine = accuracy[limits[max(below)]]
        difference = 100 * (mine - accuracy[name]).to_numpy()
        mean, half = np.nanmean(difference), _half(difference, n_train, n_test)
        entry |= {"ours within": max(below), "difference": round(mean, 2)}
        entry |= {"half": round(half, 2), "verdict": "level"}
        if abs(mean) > half or not np.isfinite(half):
            entry["verdict"] = "first" if mean > 0 else "behind"
        out.append(entry)
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
        mean, spread = float(own.accuracy.mean()), float(own.accuracy.std(ddof=1))
        entry = {"model": name, "ours": name.startswith("ours"), "splits": len(own)}
        entry["accuracy"] = [round(mean, 5), round(spread, 5)]
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


def main() -> None:
    """Print the tables of each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="data set")
    parser.add_argument("--data", action="append", default=[], type=Path)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--splits", type=int, default=10)
    chosen = parser.parse_args()
    names = chosen.names
    if not names and not any(place.is_file() for place in chosen.data):
        names = ["breast_cancer", "digits"]
    for name, dataset in tables(names, chosen.data):
        found = run(name, dataset, chosen.splits)
        if chosen.save:
            save({name: found})
    print(
        "Flash, RAM: a program with the model less the same without it. Cycles (on a "
        "Cortex-M instructions) and stack: the most of all rows asked; least, median "
        "and most of the splits. Of accuracies: mean and standard deviation; half of "
        "the 95 % interval of Nadeau and Bengio. Ours take whole numbers, peers what "
        "their C takes: scaled floats, whose scaling is not counted, or 16-bit counts. "
        "The chip equals our emulator on every score asked, or this fails."
    )


if __name__ == "__main__":
    main()
