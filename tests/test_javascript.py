"""The live figure's script: its modules, and what is built of them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from smpcore.live import pack

ROOT = Path(__file__).parents[1]
MODULES = ROOT / "assets" / "canvas"
TESTS = ROOT / "tests" / "javascript"


def output_of(*command: str) -> str:
    if shutil.which(command[0]) is None:
        assert os.environ.get("CI") != "true", f"{command[0]} is missing: install it"
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=MODULES, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_modules_do_what_their_tests_say():
    told = output_of("node", "--test", *map(str, sorted(TESTS.glob("*.test.js"))))
    assert "# fail 0" in told and "# pass 0" not in told


def test_the_script_is_built_from_the_modules():
    scripts = json.loads((MODULES / "package.json").read_text("utf-8"))["scripts"]
    *build, outfile = shlex.split(scripts["build"])
    built = (MODULES / outfile.removeprefix("--outfile=")).resolve()
    assert built == ROOT / "smpcore" / "live" / "figure.js"
    anew = "run `npm run build` in assets/canvas, with esbuild of Debian 12"
    assert built.read_text("utf-8") == output_of(*build), anew


def test_the_example_of_a_payload_is_what_python_writes():
    payload = (TESTS / "payload.bin").read_bytes()
    assert payload == pack(
        {
            "seq": np.int64(7),
            "text": "Prüfung ±",
            "winner": np.array([[0, 1, 2], [255, 1, 0]], np.uint8),
            "weights": np.array([[1.5, -2.0], [0.0, 0.25]]),
            "count": [np.array([70_000, 1])],
            "empty": np.empty((0, 3)),
        }
    )
    with pytest.raises(ValueError, match="JSON"):
        pack({"value": float("nan")})
