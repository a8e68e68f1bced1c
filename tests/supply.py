"""What the program is made of: versions with hashes, licences, a bill of materials.

``python -m tests.supply`` writes them anew into ``.github``: the newest versions that
``requirements.txt`` allows, for every system (``requirements.lock``), and of what is
then installed by its hashes on this one a CycloneDX file and a table of licences.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import venv
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
REQUIREMENTS, FOLDER = ROOT / "requirements.txt", ROOT / ".github"
LOCK, BILL = FOLDER / "requirements.lock", FOLDER / "bill.json"
LICENCES = FOLDER / "licences.csv"
#: Of the environment that writes them, which the program itself does not need.
TOOLS = "uv>=0.9,<1", "cyclonedx-bom>=7,<8"


def environment(folder: Path, *packages: str) -> Path:
    """A new environment's folder of programs, with packages in it."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    install = [programs / "python", "-m", "pip", "install", "-q", *packages]
    subprocess.run(install, check=True)
    return programs


def lock(tools: Path, requirements: Path, to: Path) -> None:
    """Write the newest versions that a file of requirements allows."""
    command = [tools / "uv", "pip", "compile", "-q", "--universal", "--no-annotate"]
    command += ["--python-version", "3.11", "--generate-hashes"]
    command += ["--no-emit-index-url", "--custom-compile-command"]
    command += ["python -m tests.supply", requirements, "--output-file", to]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def licence(part: dict) -> str:
    """A package's licence, as it declares it: an expression, identifiers or a name."""
    names = [
        one.get("expression") or one["license"].get("id") or one["license"].get("name")
        for one in part.get("licenses", [])
    ]
    named = [name.splitlines()[0].split(" :: ")[-1] for name in names if name]
    return "; ".join(dict.fromkeys(name for name in named if name != "OSI Approved"))


def main() -> None:
    """Write all three."""
    with tempfile.TemporaryDirectory() as made:
        tools = environment(Path(made, "tools"), *TOOLS)
        lock(tools, REQUIREMENTS, LOCK)
        locked = environment(Path(made, "new"), "--require-hashes", "-r", str(LOCK))
        command = [tools / "cyclonedx-py", "environment", "--output-reproducible"]
        subprocess.run([*command, "-o", BILL, locked / "python"], check=True)
    parts = json.loads(BILL.read_text("utf-8"))["components"]
    rows = [
        {"name": part["name"], "version": part["version"], "licence": licence(part)}
        for part in sorted(parts, key=lambda part: part["name"].lower())
    ]
    pd.DataFrame(rows).to_csv(LICENCES, index=False)
    unnamed = [row["name"] for row in rows if not row["licence"]]
    print(f"{len(rows)} packages; they do not name a licence: {unnamed or 'none'}")


if __name__ == "__main__":
    main()
