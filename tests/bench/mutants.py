"""How many wrong lines of what is shown the tests let pass.

``python -m tests.bench.mutants draw --seed 1 --n 60 [--where pages/performance]`` draws
wrong lines at random and writes them to ``.mutants/1-60.csv``.
``python -m tests.bench.mutants record [TESTS]`` notes once which tests execute what;
tests that are named are added to what was noted before.
``python -m tests.bench.mutants run --seed 1 --n 60`` makes each line wrong in a copy of
the project and runs the tests that execute it, the nearest first, until one fails. Two
copies at a time; what was decided stays in the file, so that a run can be resumed.

A line that no test executes has survived. *Not decided* is a mutant whose tests took
longer than LIMIT seconds. One that changes nothing is a survivor, too.

Mutants are by file and by the text of their line. The operators are those of cosmic-ray
and mutmut that make a line wrong and leave it a line; these two run all tests, or need
the code to be written anew, so that only their idea is used here.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[2]
#: What was drawn and recorded: no part of the project.
FOLDER = ROOT / ".mutants"
RECORD = FOLDER / "executed.sqlite"
#: What shows things.
SHOWN = (
    "pages/**/*.py",
    "smpcore/report/*.py",
    "smpcore/explain/*.py",
    "smpcore/evaluation/*.py",
    "smpcore/figures/*.py",
    "smpcore/chips/*.py",
    "smpcore/readouts.py",
)
HIDDEN = ("pages/work/", "pages/state/")
#: Tests that are recorded: those without a browser, a compiler or a second process.
TESTS = (
    *("tests/shown", "tests/smpcore/explain", "tests/smpcore/evaluation"),
    *("tests/test_*.py", "tests/smpcore/test_*.py"),
)
#: Seconds for the tests of one mutant.
LIMIT = 300
_OPERATORS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.And: "or",
    ast.Or: "and",
}
#: Line of a change, first and last byte of what it replaces there, and its text.
Change = tuple[int, int, int, str]


@dataclass
class Mutant:
    """A line, what it is made to be, and what the tests said.

    Parameters
    ----------
    file : str
        Path in the project.
    number : int
        Of the line, from 1.
    line, wrong : str
        Without the spaces around them.
    state : {"", "noticed", "survived", "not decided", "not executed"}
        Empty: it was not run yet.
    by : str
        The test that noticed it.
    """

    file: str
    number: int
    line: str
    wrong: str
    state: str = ""
    by: str = ""

    def apply(self, root: Path) -> None:
        """Write the wrong line into a copy of the project."""
        path = root / self.file
        lines = path.read_text("utf-8").split("\n")
        text = lines[self.number - 1]
        if text.strip() != self.line:
            raise SystemExit(f"{self.file} has changed: draw its mutants anew.")
        lines[self.number - 1] = text.replace(self.line, self.wrong)
        path.write_text("\n".join(lines), "utf-8")


def changes(source: str) -> Iterator[Change]:
    """All that can be made wrong in a module, each within a line.

    Parameters
    ----------
    source : str

    Yields
    ------
    tuple
    """
    lines = [line.encode() for line in source.split("\n")]
    for node in ast.walk(ast.parse(source)):
        for line, start, end, wrong in _wrong(node, lines):
            if lines[line - 1][start:end].decode() != wrong:
                yield line, start, end, wrong


def _text(node: ast.expr, lines: list[bytes]) -> str:
    return lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()


def _wrong(node: ast.AST, lines: list[bytes]) -> Iterator[Change]:
    if isinstance(node, ast.expr | ast.stmt) and node.lineno != node.end_lineno:
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            yield from _condition(node.test, lines)
        elif isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp):
            yield from _operators(node, lines)
        return
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        at = node.lineno, node.col_offset, node.end_col_offset
        yield *at, repr(node.value + 1 if node.value != 1 else 0)
        if type(node.value) is int and node.value:
            yield *at, repr(node.value - 1)
    elif isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp):
        yield from _operators(node, lines)
        at = node.lineno, node.col_offset, node.end_col_offset
        terms = node.values if isinstance(node, ast.BoolOp) else []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            terms = [node.left]
        yield from ((*at, _text(term, lines)) for term in terms[:1])  # without others
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        at = node.lineno, node.col_offset, node.end_col_offset
        yield *at, _text(node.operand, lines)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield from _condition(node.test, lines)
    elif isinstance(node, ast.Call) and len(node.args) > 1:
        one, two = node.args[:2]
        is_starred = isinstance(one, ast.Starred) or isinstance(two, ast.Starred)
        if not is_starred and _text(node.func, lines) not in ("min", "max"):
            swapped = f"{_text(two, lines)}, {_text(one, lines)}"
            yield node.lineno, one.col_offset, two.end_col_offset, swapped
    elif isinstance(node, ast.Subscript):
        yield from _ends(node.slice, lines)


def _condition(test: ast.expr, lines: list[bytes]) -> Iterator[Change]:
    """A condition that is always met, and one that never is."""
    if test.lineno == test.end_lineno:
        for word in ("True", "False"):
            yield test.lineno, test.col_offset, test.end_col_offset, word


def _ends(place: ast.expr, lines: list[bytes]) -> Iterator[Change]:
    """First for last."""
    if isinstance(place, ast.Constant) and place.value == 0:
        yield place.lineno, place.col_offset, place.end_col_offset, "-1"
    elif _text(place, lines) == "-1":
        yield place.lineno, place.col_offset, place.end_col_offset, "0"


def _operators(node: ast.expr, lines: list[bytes]) -> Iterator[Change]:
    """Operators between operands, the second of which stands on the line."""
    if isinstance(node, ast.BinOp):
        parts, operators = [node.left, node.right], [node.op]
    elif isinstance(node, ast.Compare):
        parts, operators = [node.left, *node.comparators], node.ops
    else:
        parts, operators = node.values, [node.op] * (len(node.values) - 1)
    for left, right, operator in zip(parts, parts[1:], operators, strict=False):
        wrong = _OPERATORS.get(type(operator))
        start = left.end_col_offset if left.end_lineno == right.lineno else 0
        between = lines[right.lineno - 1][start : right.col_offset]
        text = between.decode().strip("() ")
        if wrong and text and " " not in text:
            at = start + between.index(text.encode())
            yield right.lineno, at, at + len(text), wrong


def candidates(where: str = "") -> list[Mutant]:
    """Every wrong line that could be drawn, in the order of the files.

    Parameters
    ----------
    where : str
        Only those of files whose path begins with this.

    Returns
    -------
    list of Mutant
    """
    every = []
    for path in sorted({path for pattern in SHOWN for path in ROOT.glob(pattern)}):
        file, source = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
        if file.startswith(HIDDEN) or not file.startswith(where):
            continue
        lines = source.split("\n")
        for number, start, end, wrong in sorted({*changes(source)}):
            raw = lines[number - 1].encode()
            changed = (raw[:start] + wrong.encode() + raw[end:]).decode().strip()
            every.append(Mutant(file, number, lines[number - 1].strip(), changed))
    return every


def draw(path: Path, seed: int, n: int, where: str) -> None:
    """Draw so many, each line at most once."""
    every, chosen = candidates(where), {}
    random.Random(seed).shuffle(every)
    for mutant in every:
        if len(chosen) < n:
            chosen.setdefault((mutant.file, mutant.number), mutant)
    _write(path, [*chosen.values()])
    print(f"{len(chosen)} of {len(every)} are in {path}")


def _write(path: Path, mutants: list[Mutant]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Mutant)])
        table.writeheader()
        table.writerows(map(asdict, mutants))


def _read(path: Path) -> list[Mutant]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [Mutant(**row | {"number": int(row["number"])}) for row in rows]


def record(tests: Sequence[str]) -> None:
    """Run tests once, and note which of them execute which line."""
    FOLDER.mkdir(exist_ok=True)
    is_more = tests != TESTS
    tests = sorted(str(path) for test in tests for path in ROOT.glob(test))
    sources = ["--cov=pages", "--cov=smpcore", "--cov-context=test", "--cov-report="]
    sources += ["--cov-append"] if is_more else []
    subprocess.run(
        [*_pytest(), "-n", "2", *sources, *tests],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "COVERAGE_FILE": str(RECORD)},
        check=False,  # a test that fails has executed its lines, too
    )


def _pytest() -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


class Executed:
    """Which tests execute a line, as `record` has noted it."""

    def __init__(self) -> None:
        from coverage import CoverageData

        self._data = CoverageData(str(RECORD))
        self._data.read()
        self._of: dict[str, dict[int, list[str]]] = {}
        self._sizes: Counter[str] = Counter()
        for file in self._data.measured_files():
            self._of[file] = self._data.contexts_by_lineno(file)
            for tests in self._of[file].values():
                self._sizes.update(tests)

    def tests(self, mutant: Mutant) -> list[str]:
        """Those of its line: of what is shown first, then those of fewest lines.

        A line of a module runs when that is read; those of its other lines then.
        """
        of_file = self._of.get(str(ROOT / mutant.file), {})
        of_line = of_file.get(mutant.number, [])
        if of_line == [""]:
            of_line = {test for tests in of_file.values() for test in tests}
        names = {test.partition("|")[0] for test in of_line}
        sizes = {name: self._sizes[f"{name}|run"] for name in names - {""}}
        return sorted(
            sizes, key=lambda name: (not name.startswith("tests/shown"), sizes[name])
        )


def run(path: Path) -> None:
    """Decide the mutants of a file that are not decided yet, and print a summary."""
    mutants, executed, copies = _read(path), Executed(), Queue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for name in ("one", "two"):
            skipped = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".mutants")
            shutil.copytree(ROOT, Path(folder, name), ignore=skipped)
            copies.put(Path(folder, name))

        def decide(mutant: Mutant) -> None:
            copy = copies.get()
            try:
                _decide(mutant, executed.tests(mutant), copy)
            finally:
                shutil.copy(ROOT / mutant.file, copy / mutant.file)
                copies.put(copy)
            _write(path, mutants)
            told = f"{mutant.file}:{mutant.number}: {mutant.line} -> {mutant.wrong}"
            print(f"{mutant.state}: {told} {mutant.by}", flush=True)

        list(pool.map(decide, [mutant for mutant in mutants if not mutant.state]))
    counts = Counter(mutant.state for mutant in mutants)
    print(", ".join(f"{count} {state}" for state, count in counts.most_common()))


def _decide(mutant: Mutant, tests: list[str], copy: Path) -> None:
    """Run the tests of a mutant in a copy of the project."""
    if not tests:
        mutant.state = "not executed"
        return
    mutant.apply(copy)
    listed = copy / "tests.txt"
    listed.write_text("\n".join(tests), "utf-8")
    options = {"cwd": copy, "capture_output": True, "text": True, "timeout": LIMIT}
    environment = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*_pytest(), "-x", "--tb=no", f"@{listed}"],
            env=os.environ | environment,
            **options,
        )
    except subprocess.TimeoutExpired:
        mutant.state = "not decided"
        return
    # With threads that go on a run may end by a signal after its last line.
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    has_ended = done.returncode < 0 and " passed" in done.stdout and not failed
    has_passed = done.returncode == 0 or has_ended
    mutant.state = "survived" if has_passed else "noticed"
    mutant.by = failed[0].split(" - ")[0].removeprefix("FAILED ") if failed else ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["draw", "record", "run"])
    parser.add_argument("tests", nargs="*", default=TESTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--where", default="")
    given = parser.parse_args()
    name = "-".join(filter(None, [str(given.seed), str(given.n), given.where]))
    table = FOLDER / f"{name.replace('/', '-')}.csv"
    if given.command == "draw":
        draw(table, given.seed, given.n, given.where)
    elif given.command == "record":
        record(given.tests)
    else:
        run(table)
