"""Run the papers' experiments, or write what holds of them.

``python -m smpcore.papers list | note FILE | run NAME | all``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from tqdm import tqdm

from smpcore.datasets import plural
from smpcore.errors import SmpcoreError
from smpcore.evaluation.command import cluster_executor, run_command, stop_flag
from smpcore.methods import METHODS
from smpcore.papers import (
    EXPERIMENTS,
    Experiment,
    Place,
    by_name,
    compare,
    compared,
    missing_data,
    note,
    overview,
    read_measured,
    run_experiment,
    table_of,
)
from smpcore.papers.trial_files import MEASURED_HERE, begin_process, together
from smpcore.report import markdown_files, printed


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    return run_command(_parser(), arguments, lambda args: args.do(args))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m smpcore.papers",
        description="The experiments of the five papers: reported beside measured. "
        "Stopped or killed, the same command goes on where it was.",
    )
    commands = parser.add_subparsers(required=True, metavar="list | note | run | all")
    listed = commands.add_parser("list", help="all experiments with their status")
    listed.set_defaults(do=_list, again=False)
    listed.add_argument("--format", choices=("text", "csv"), default="text")
    written = commands.add_parser("note", help="write what holds of the papers")
    written.set_defaults(do=_note)
    written.add_argument("file", type=Path, help="ends with .html or .md")
    one = commands.add_parser("run", help="run one experiment, by its name")
    one.set_defaults(do=_run)
    one.add_argument("name")
    every = commands.add_parser("all", help="run all whose data are here")
    every.set_defaults(do=_all)
    for command in (listed, written, one, every):
        command.add_argument("--data", type=Path, help="a folder with data files")
        command.add_argument(
            "--out", type=Path, default=MEASURED_HERE, help="folder of the results"
        )
    for command in (one, every):
        add = command.add_argument
        add("--download", action="store_true", help="fetch data sets from OpenML")
        add("--jobs", type=int, default=joblib.cpu_count(), help="processes")
        add("--again", action="store_true", help="forget what was measured before")
    return parser


def _place(args: argparse.Namespace) -> Place:
    if args.data is not None and not args.data.is_dir():
        raise SmpcoreError(f"--data {args.data}: there is no such folder.")
    return Place(args.out, args.data, getattr(args, "download", False))


def _list(args: argparse.Namespace) -> None:
    place = _place(args)
    table = overview(EXPERIMENTS, lambda one: table_of(one, place))
    if args.format == "csv":
        print(table.to_csv(index=False), end="")
        return
    paper = ""
    for one, status in zip(EXPERIMENTS, table["status"], strict=True):
        if one.paper != paper:
            paper = one.paper
            print(METHODS[paper].reference if paper in METHODS else "Our own")
        print(f"  {one.name}  {one.where}: {one.title}\n      {status}")
    print("\npython -m smpcore.papers run NAME measures one of them.")


def _note(args: argparse.Namespace) -> None:
    if args.file.suffix not in (".html", ".md"):
        raise SmpcoreError(f"{args.file}: a note is a file of .html or .md.")
    place, tables = _place(args), {}

    def known(one: Experiment) -> pd.DataFrame:
        key = one.name, one.repetitions
        if key not in tables:
            tables[key] = table_of(one, place)
        return tables[key]

    section, folder = note(EXPERIMENTS, known), args.file.parent
    if args.file.suffix == ".html":
        args.file.write_text(printed(section), "utf-8")
        return
    for name, content in markdown_files(section, args.file.name).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _run(args: argparse.Namespace) -> bool:
    return _measured([by_name(EXPERIMENTS, args.name)], args)


def _all(args: argparse.Namespace) -> bool:
    place = _place(args)
    chosen = [one for one in EXPERIMENTS if not one.impossible]
    here = [one for one in chosen if len(missing_data(one, place)) < len(one.data)]
    for one in chosen:
        if one not in here:
            print(f"{one.name}: left out, its data are not here.", file=sys.stderr)
    return _measured(here, args)


def _measured(experiments: Sequence[Experiment], args: argparse.Namespace) -> bool:
    """Run experiments one after the other; print their tables."""
    place, stop, cluster = _place(args), stop_flag(), cluster_executor()
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(max(1, args.jobs), context, begin_process)
    try:
        for experiment in experiments:
            if not stop[0]:
                _run_one(experiment, place, cluster or pool, (stop, args.again))
    finally:  # a pool has no process before its first task
        pool.shutdown(wait=False, cancel_futures=True)
    return bool(stop[0])


def _run_one(
    experiment: Experiment,
    place: Place,
    executor: Executor,
    options: tuple[np.ndarray, bool],
) -> None:
    """Run one experiment with a bar; print its table."""
    stop, again = options
    missing = missing_data(experiment, place)
    if 0 < len(missing) < len(experiment.data):
        left = f"{experiment.name}: without {plural(len(missing), 'data set')}"
        print(f"{left} ({together(missing.values())}).", file=sys.stderr)
    started = time.perf_counter()
    n_trials = sum(trial.data not in missing for trial in experiment.trials())
    n_done = 0 if again else len(read_measured(experiment, place.out))
    with tqdm(
        total=n_trials, initial=n_done, desc=experiment.name, dynamic_ncols=True
    ) as bar:
        for _ in run_experiment(experiment, place, executor, stop, again):
            bar.update()
    minutes = (time.perf_counter() - started) / 60
    table = compare(experiment, read_measured(experiment, place.out).values(), missing)
    print(f"\n{experiment.title} ({experiment.where}), {minutes:.1f} minutes")
    print(experiment.protocol)
    if experiment.sizes:
        _print_ranks(experiment, table)
        return
    table = table.drop(columns=[] if experiment.axis else ["at"]).round(4)
    print(table.to_string(index=False, na_rep=""))


def _print_ranks(experiment: Experiment, table: pd.DataFrame) -> None:
    """Means of the models over the data sets, and what follows from them."""
    try:
        comparison = compared(experiment, table)
    except SmpcoreError as error:  # too few, after Stop
        print(error)
        return
    print(comparison.means.round(4).to_string())
    print(comparison.conclusion)


if __name__ == "__main__":
    sys.exit(main())
