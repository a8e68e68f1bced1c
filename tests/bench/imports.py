"""What ``import smpcore`` costs a notebook: ``python -m tests.bench.imports``.

Seconds of CPU (user and system) in fresh processes, taken in turns: the library, and
the libraries that it cannot do without. Then the modules that take longest by
themselves, of those that only smpcore loads.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys

from tests.bench.classroom import ROOT

#: What no fit can do without; the ratio to it should be 1.15 at most.
NEEDED = "import numba, pandas, sklearn.base"
OURS = "import smpcore"
N_RUNS, N_HEAVIEST = 9, 10


def _run(*arguments: str) -> str:
    """What a fresh Python writes to its standard error."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},  # else all is compiled anew
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    ).stderr


def cpu_seconds(program: str) -> float:
    """CPU time of a fresh process that runs a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run("-c", program)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def heaviest() -> list[tuple[str, float]]:
    """Modules that smpcore adds, and their own milliseconds, the slowest first."""
    lines = _run("-X", "importtime", "-c", f"{NEEDED}\n{OURS}").splitlines()
    rows = [line.removeprefix("import time:").split("|") for line in lines]
    names = [row[-1].strip() for row in rows]
    after = len(names) - names[::-1].index("sklearn.base")
    milliseconds = [
        (name, float(row[0]) / 1000)
        for name, row in zip(names[after:], rows[after:], strict=True)
    ]
    return sorted(milliseconds, key=lambda entry: -entry[1])[:N_HEAVIEST]


def main() -> None:
    """Print the table."""
    programs = NEEDED, OURS
    for program in programs:
        cpu_seconds(program)  # files and machine code into their caches
    runs = [[cpu_seconds(program) for program in programs] for _ in range(N_RUNS)]
    needed, ours = (statistics.median(times) for times in zip(*runs, strict=True))
    print(f"{NEEDED:<36} {needed:6.2f} s CPU, median of {N_RUNS}")
    print(f"{OURS:<36} {ours:6.2f} s CPU")
    print(f"{'ratio (goal: 1.15 at most)':<36} {ours / needed:6.2f}")
    print("\nown milliseconds of the modules that smpcore adds:")
    for name, milliseconds in heaviest():
        print(f"{name:<48} {milliseconds:6.1f}")


if __name__ == "__main__":
    main()
