"""What commands share: refusals in words, Ctrl-C, and the cluster that they run on."""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import numpy as np

from smpcore.errors import SmpcoreError
from smpcore.evaluation.executors import engine


def run_command(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    work: Callable[[argparse.Namespace], object],
) -> int:
    """Do the work of a command, which says whether it was stopped.

    The command ends with 1 if it was, and with 2 where it is refused in words.
    """
    args = parser.parse_args(arguments)
    warnings.simplefilter("ignore", UserWarning)  # a fit's status says the same
    try:
        is_stopped = work(args)
    except KeyboardInterrupt:
        is_stopped = True
    except (SmpcoreError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    if is_stopped:
        print("Stopped; the same command goes on.", file=sys.stderr)
    return int(bool(is_stopped))


def stop_flag() -> np.ndarray:
    """A flag that Ctrl-C raises; another Ctrl-C ends the command at once."""
    stop = np.zeros(1, dtype=np.int64)

    def stopped(*_: object) -> None:
        stop[0] = 1
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, stopped)
    return stop


def cluster_executor() -> Executor | None:
    """The cluster's, if there is one; what there is to say of it is printed."""
    cluster = engine()
    if cluster.words:
        print(cluster.words, file=sys.stderr)
    return cluster.executor
