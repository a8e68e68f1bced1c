"""Try what is newer than the requirements allow: no part of CI.

``python -m tests.next_versions [NAME ...]`` lifts the upper bounds of these packages
(of all, without names), installs what is then newest into a new environment, says which
versions are above the bounds, which undocumented names of Streamlit are gone, and runs
the tests of pages, visitors and solvers there.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.supply import REQUIREMENTS, ROOT, environment

#: The only file with names that Streamlit does not document.
VISITORS = ROOT / "pages" / "work" / "visitors.py"
TESTS = (
    "tests/test_middleware.py",
    "tests/test_app.py",
    "tests/test_server_page.py",
    "tests/test_widgets.py",
    "tests/smpcore/solvers",
    "tests/smpcore/methods",
)


def lifted(text: str, names: set[str]) -> str:
    """Requirements without the upper bounds of some packages; of all for no names."""
    lines = []
    for line in text.split():
        name = canonicalize_name(Requirement(line).name)
        is_lifted = not names or name in names
        lines.append(re.sub(r",?<[^,]+", "", line) if is_lifted else line)
    return "\n".join(lines)


def undocumented() -> list[tuple[str, str]]:
    """Modules and names of Streamlit on which visitors.py rests."""
    tree = ast.parse(VISITORS.read_text("utf-8"))
    return [
        (node.module, name.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stream")
        for name in node.names
    ]


def main(names: list[str]) -> int:
    """Print what is newer and what broke; how the tests ended."""
    allowed = REQUIREMENTS.read_text("utf-8")
    with tempfile.TemporaryDirectory() as made:
        newer = Path(made, "requirements.txt")
        newer.write_text(lifted(allowed, {canonicalize_name(n) for n in names}))
        for_tests = ["-r", str(ROOT / "tests" / "requirements.txt")]
        python = environment(Path(made, "new"), "-r", str(newer), *for_tests) / "python"
        ask = "from importlib.metadata import version; print(version({!r}))"
        for line in allowed.split():
            one = Requirement(line)
            command = [python, "-c", ask.format(one.name)]
            there = subprocess.check_output(command, text=True).strip()
            if not one.specifier.contains(there, prereleases=True):
                print(f"{one.name} {there} is not within {one.specifier}")
        for module, name in undocumented():
            command = [python, "-c", f"from {module} import {name}"]
            if subprocess.run(command, capture_output=True).returncode:
                print(f"Streamlit has no {module}.{name} any more")
        tests = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
        return subprocess.run(tests, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
