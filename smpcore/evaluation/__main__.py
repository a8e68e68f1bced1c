"""Sweep methods over a data set without the app, and go on where one has stopped.

python -m smpcore.evaluation --data FILE --methods all --folds 5 --out results.parquet
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import joblib
from tqdm import tqdm

from smpcore.baselines import GROUPS
from smpcore.datasets import (
    AFTERWARDS,
    TABLE_FORMATS,
    Dataset,
    Split,
    check_fit,
    list_datasets,
    load_dataset,
    read_table,
    split,
)
from smpcore.errors import SmpcoreError
from smpcore.evaluation.command import cluster_executor, run_command, stop_flag
from smpcore.evaluation.executors import edition
from smpcore.evaluation.folds import folds
from smpcore.evaluation.journal import Journal, Subject
from smpcore.evaluation.sweep import ParameterPath, baseline_paths, method_path, sweep
from smpcore.methods import METHODS

#: Seconds between two writings of the result file.
WRITE = 30.0


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    return run_command(_parser(), arguments, _run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m smpcore.evaluation",
        description="Sweep methods over folds of the training rows. Every fit is the "
        "canonical one of its values. Started again, it does what is missing; "
        "Trade-off opens its file.",
    )
    add = parser.add_argument
    known = ", ".join(TABLE_FORMATS)
    data = f"a file ({known}), a folder of Parquet files, or a bundled set"
    add("--data", required=True, help=data)
    add("--target", help="the column to predict; by default the one the app takes")
    add("--group", help="a column whose rows stay together")
    add("--time", help="a column of times: folds are blocks")
    add("--weight", help="a column of how many rows each stands for")
    add("--ignore", action="append", default=[], help="a column to leave out")
    late = "a column that is known only after the outcome: no input"
    add("--afterwards", action="append", default=[], help=late)
    add("--methods", default="all", help=f"all, or some of {','.join(METHODS)}")
    add("--baselines", action="store_true", help="scikit-learn's models too")
    add("--folds", type=_at_least(2), default=5)
    few = _at_least(2)
    add("--points", type=few, default=30, help="values of each method at most")
    add("--validation", type=float, default=0.2, help="share kept for choosing")
    add("--test", type=float, default=0.2, help="share that stays closed")
    add("--seed", type=int, default=0, help="of the division into parts")
    add("--jobs", type=_jobs, default=-1, help="threads; -1: one per core")
    add("--out", required=True, type=Path, help="the result file, Parquet")
    return parser


def _at_least(least: int) -> Callable[[str], int]:
    """What reads an option that is a number of things."""

    def read(text: str) -> int:
        if not (text.isdecimal() and int(text) >= least):
            raise argparse.ArgumentTypeError(
                f"{text!r} should be a whole number from {least} on"
            )
        return int(text)

    return read


def _jobs(text: str) -> int:
    return -1 if text == "-1" else _at_least(1)(text)


def _check_place(out: Path) -> None:
    if not out.name or out.is_dir():
        raise SmpcoreError(
            f"--out {out} is a folder: name a file, say results.parquet."
        )
    if not out.parent.is_dir():
        raise SmpcoreError(f"--out: there is no folder {out.parent}; make it first.")


def _run(args: argparse.Namespace) -> bool:
    _check_place(args.out)
    dataset = _dataset(args)
    parts = split(dataset, args.validation, args.test, args.seed)
    check_fit(dataset, parts)
    paths = _paths(args, dataset, parts)
    drawn = folds(dataset, parts.with_censored, args.folds)
    summary = f"{dataset.name}: {dataset.task} of {dataset.target}"
    weighted = f", rows weighted by {dataset.weight}" if dataset.weight else ""
    print(f"{summary}, {_grouped(dataset)}{weighted}.", file=sys.stderr)
    subject = Subject(
        dataset.name, dataset.digest, parts.key, dataset.task, args.folds, edition()
    )
    with Journal(args.out, subject) as journal:
        for notice in (*dataset.notices, *parts.notices, *journal.notices):
            print(notice, file=sys.stderr)
        n_threads = joblib.cpu_count() if args.jobs == -1 else args.jobs
        executor = cluster_executor() or ThreadPoolExecutor(n_threads)
        return _swept(args, journal, (dataset, drawn, paths), executor)


def _grouped(dataset: Dataset) -> str:
    """Which rows stay together, in words."""
    for role in ("group", "time"):
        for name, dataset_role in dataset.roles.items():
            if dataset_role == role:
                return f"folds by {role} column {name}"
    return "each row by itself"


def _swept(
    args: argparse.Namespace, journal: Journal, of: tuple, executor: Executor
) -> bool:
    """Fit what is missing; whether it was stopped before its end."""
    *_, drawn, paths = of
    stop, done = stop_flag(), set(journal.rows)
    wanted = {
        (path.key, path.parameter, value) for path in paths for value in path.grid
    }
    n_fits = len(drawn) * len(wanted)
    bar = tqdm(total=n_fits, desc="fits", unit="fit", dynamic_ncols=True)
    bar.update(sum(key[:3] in wanted for key in done))
    options = {"mode": "cold", "executor": executor, "stop": stop, "done": done}
    written, before = time.monotonic(), len(done)
    try:
        for row in sweep(*of, **options):
            journal.add(row)
            bar.update()
            if time.monotonic() - written > WRITE:
                journal.write()
                written = time.monotonic()
    finally:
        bar.close()
        journal.write()
    new = len(journal.rows) - before
    print(f"{args.out}: {new} new fits, {len(journal.rows)} in all.")
    return bool(stop[0])


def _dataset(args: argparse.Namespace) -> Dataset:
    roles = _roles(args)
    if args.data in {info.key for info in list_datasets()}:
        if roles:
            raise SmpcoreError(
                f"--data {args.data} is a bundled set, whose columns have their "
                "roles: leave out --target, --group, --time, --weight, --ignore and "
                "--afterwards."
            )
        return load_dataset(args.data)
    path = Path(args.data)
    if path.is_dir():
        return read_table(path, path.name, roles=roles or None)
    if not path.is_file():
        raise SmpcoreError(f"There is no file {args.data}, nor a bundled set.")
    with path.open("rb") as file:
        return read_table(file, path.name, roles=roles or None)


def _roles(args: argparse.Namespace) -> dict[str, str]:
    """Column -> its role, of those that are named."""
    named = [(name, "ignore") for name in args.ignore]
    named += [(name, AFTERWARDS) for name in args.afterwards]
    for role in ("target", "group", "time", "weight"):
        if name := getattr(args, role):
            named.append((name, role))
    for name, _ in named:
        if len({role for other, role in named if other == name}) > 1:
            raise SmpcoreError(f"Column {name} is given two roles: choose one.")
    return dict(named)


def _paths(
    args: argparse.Namespace, dataset: Dataset, parts: Split
) -> list[ParameterPath]:
    able = [key for key, row in METHODS.items() if row.learns(dataset, dataset.task)]
    named = able if args.methods == "all" else args.methods.split(",")
    named = list(dict.fromkeys(name.strip() for name in named))
    for key in named:
        if key not in able:
            raise SmpcoreError(
                f"--methods: {key!r} is not one of {', '.join(able)}, which learn "
                f"{dataset.task}."
            )
    where = dataset, parts.with_censored
    paths = [method_path(key, *where, n_points=args.points) for key in named]
    return paths + (baseline_paths(dataset.task, GROUPS) if args.baselines else [])


if __name__ == "__main__":
    sys.exit(main())
