"""How many wrong lines of what is shown survive the tests.

``python -m tests.bench.mutants draw`` draws the mutants anew (their seed is fixed);
``python -m tests.bench.mutants run tests/test_readouts.py`` applies each to a copy of
the project and runs these tests there: a mutant that no test fails for has survived.

Mutants lie in ``mutants.csv`` by file and by the text of their line, so that code may
move within a file. Those that change nothing that can be shown are replaced by the next
ones drawn; the reason stands with them.
"""

from __future__ import annotations

import ast
import csv
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("mutants.csv")
SEED, WANTED = 20_26, 60
#: What is shown: read-outs, rates, sizes, explanations, the report, printed tables.
FILES = (
    "pages/ui/readouts.py",
    "pages/ui/explanation_sheet.py",
    "pages/performance/*.py",
    "pages/prototypes/*.py",
    "pages/compare/*.py",
    "pages/tradeoff/sweeps.py",
    "pages/export/counts.py",
    "smpcore/evaluation/scores.py",
    "smpcore/evaluation/sweep.py",
    "smpcore/evaluation/operating.py",
    "smpcore/evaluation/calibrate.py",
    "smpcore/evaluation/subgroups.py",
    "smpcore/explain/*.py",
    "smpcore/report/*.py",
    "smpcore/papers/*/table*",
)
#: One operator in place of another.
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
_WORDS = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "argmin": "argmax",
    "argmax": "argmin",
    "mean": "median",
    "median": "mean",
    "train": "validation",
    "validation": "train",
    "n_features": "n_prototypes",
    "n_prototypes": "n_features",
    "hits": "rows",
}

#: A number in a printed table, and how many a line of one has.
_CELL, _FEWEST_CELLS = re.compile(r"(?<![\w.])\d*\.?\d+(?=[ ,\"±]|$)"), 6


@dataclass(frozen=True)
class Mutant:
    """A line, and what it is made to be.

    Parameters
    ----------
    file : str
        Path in the project.
    nth : int
        Which of the lines with this text.
    line, wrong : str
        Without the spaces around them.
    equivalent : str
        Why it changes nothing that can be shown; then another one counts instead.
    """

    file: str
    nth: int
    line: str
    wrong: str
    equivalent: str = ""

    def apply(self, root: Path) -> bool:
        """Write the wrong line; whether the line was there."""
        path = root / self.file
        if not path.exists():
            return False
        lines = path.read_text("utf-8").split("\n")
        places = [i for i, text in enumerate(lines) if text.strip() == self.line]
        if len(places) <= self.nth:
            return False
        at = places[self.nth]
        lines[at] = lines[at].replace(self.line, self.wrong)
        path.write_text("\n".join(lines), "utf-8")
        return True


def _changes(source: str) -> Iterator[tuple[int, int, int, str]]:
    """Line, first and last column, and another text, of all that can be changed."""
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            text = lines[node.lineno - 1].encode()[
                node.col_offset : node.end_col_offset
            ]
            yield (
                node.lineno,
                node.col_offset,
                node.end_col_offset,
                _number(text.decode()),
            )
        elif isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp):
            yield from _operators(node, lines)
        elif isinstance(node, ast.Attribute) and node.attr in _WORDS:
            end = node.end_col_offset
            yield node.end_lineno, end - len(node.attr), end, _WORDS[node.attr]
        elif isinstance(node, ast.Name) and node.id in _WORDS:
            yield node.lineno, node.col_offset, node.end_col_offset, _WORDS[node.id]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.lineno, node.col_offset, node.col_offset + 4, ""


def _operators(node: ast.expr, lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """Operators between operands that stand on one line."""
    if isinstance(node, ast.BinOp):
        parts, operators = [node.left, node.right], [node.op]
    elif isinstance(node, ast.Compare):
        parts, operators = [node.left, *node.comparators], node.ops
    else:
        parts, operators = node.values, [node.op] * (len(node.values) - 1)
    for left, right, operator in zip(parts, parts[1:], operators, strict=False):
        wrong = _OPERATORS.get(type(operator))
        if wrong is None or left.end_lineno != right.lineno:
            continue
        between = lines[right.lineno - 1].encode()[
            left.end_col_offset : right.col_offset
        ]
        text = between.decode().strip("() ")
        if text and " " not in text:
            start = left.end_col_offset + between.index(text.encode())
            yield right.lineno, start, start + len(text), wrong


def _number(text: str) -> str:
    """Another number of the same kind: its first digit that is not 0 is another one."""
    place = next((i for i, sign in enumerate(text) if sign in "123456789"), None)
    if place is None:
        return "1" if text == "0" else f"{text}1"
    return f"{text[:place]}{(int(text[place]) + 2) % 9 + 1}{text[place + 1 :]}"


def candidates(root: Path = ROOT) -> list[Mutant]:
    """Every wrong line that could be drawn, in the order of the files.

    Parameters
    ----------
    root : Path

    Returns
    -------
    list of Mutant
    """
    every = []
    for pattern in FILES:
        for path in sorted(root.glob(pattern)):
            file, source = path.relative_to(root).as_posix(), path.read_text("utf-8")
            lines = source.split("\n")
            read = _printed if "papers" in path.parts else _changes
            for number, start, end, wrong in read(source):
                raw = lines[number - 1].encode()
                line = raw.decode().strip()
                changed = (raw[:start] + wrong.encode() + raw[end:]).decode().strip()
                nth = sum(text.strip() == line for text in lines[: number - 1])
                every.append(Mutant(file, nth, line, changed))
    return every


def _printed(source: str) -> Iterator[tuple[int, int, int, str]]:
    """Numbers of a table as a paper prints it: lines of a file, or of texts in code."""
    for number, line in enumerate(source.split("\n"), 1):
        if len(found := list(_CELL.finditer(line))) < _FEWEST_CELLS:
            continue
        for cell in found:
            start = len(line[: cell.start()].encode())
            yield number, start, start + len(cell[0]), _number(cell[0])


def drawn() -> list[Mutant]:
    """The mutants as they were drawn."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [
            Mutant(row["file"], int(row["nth"]), row["line"], row["wrong"], row["why"])
            for row in csv.DictReader(file)
        ]


def draw() -> None:
    """Draw files evenly, and of each a line; keep the reasons of equivalent ones."""
    reasons = {}
    if TABLE.exists():
        reasons = {(m.file, m.line, m.wrong): m.equivalent for m in drawn()}
    by_file: dict[str, list[Mutant]] = {}
    for mutant in candidates():
        by_file.setdefault(mutant.file, []).append(mutant)
    choose = random.Random(SEED)
    for mutants in by_file.values():
        choose.shuffle(mutants)
    files, rows = sorted(by_file), []
    for _ in count():
        mutants = by_file[choose.choice(files)]
        if not mutants:
            continue
        mutant = mutants.pop()
        why = reasons.get((mutant.file, mutant.line, mutant.wrong), "")
        rows.append([mutant.file, mutant.nth, mutant.line, mutant.wrong, why])
        if sum(not row[-1] for row in rows) == WANTED:
            break
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerows([["file", "nth", "line", "wrong", "why"], *rows])


def run(tests: list[str]) -> None:
    """Say of each mutant whether these tests notice it."""
    survived, gone = [], []
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", *tests]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        ignored = shutil.ignore_patterns(".venv", ".git", "__pycache__")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for mutant in [m for m in drawn() if not m.equivalent]:
            if not mutant.apply(copy):
                gone.append(mutant)
                continue
            done = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, text=True
            )
            shutil.copy(ROOT / mutant.file, copy / mutant.file)
            # With threads that go on a run may end by a signal after its last line;
            # who ends so before it has noticed a wrong line, too.
            has_crashed = done.returncode < 0 and " passed" not in done.stdout
            is_noticed = done.returncode == 1 or " failed" in done.stdout or has_crashed
            word = "noticed" if is_noticed else "SURVIVED"
            print(f"{word}: {mutant.file}: {mutant.line} -> {mutant.wrong}", flush=True)
            survived += [mutant] * (not is_noticed)
    print(f"{len(survived)} of {WANTED} survived, {len(gone)} have gone")


if __name__ == "__main__":
    if sys.argv[1:2] == ["draw"]:
        draw()
    else:
        run(sys.argv[2:])
