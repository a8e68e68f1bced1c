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

from pages.explore.canvas import pack
from tests.test_live import decode

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
    assert built == ROOT / "assets" / "canvas.js"
    anew = "run `npm run build` in assets/canvas, with esbuild of Debian 12"
    assert built.read_text("utf-8") == output_of(*build), anew


def test_the_example_of_a_payload_is_what_python_writes():
    owner = np.array([0, 1], np.uint8)
    prototypes = {
        "weights": np.array([[1.5, -2.0], [0.0, 0.25]]),
        "owner": owner,
        "count": np.array([70_000, 1]),
        "bias": np.array([0.5, -0.5]),
        "caption": "Prüfung ±",
    }
    picture = {
        "grid": [3, 2],
        "winner": np.array([[0, 1, 2], [255, 1, 0]], np.uint8),
        "runner": np.array([[1, 0, 1], [255, 0, 1]], np.uint8),
        "margin": np.arange(6, dtype=np.uint8).reshape(2, 3),
        "margin_max": 1.25,
        "lines": {"coef": np.empty((0, 3)), "owner": owner, "tie": 1e-6},
        "predicted": owner,
        "hollow": np.zeros(2, np.uint8),
        "own_share": np.float64(1.0),
        "prototypes": prototypes,
        "bars": None,
        "readouts": [
            {"key": "k", "name": "Accuracy", "value": "100 %", "detail": "2 of 2 rows"}
        ],
        "strip": {"nonzeros": np.int64(3), "training": 1.0},
        "canonical": True,
        "coarse": None,
        "ms": 2.5,
        "chain": "ab",
        "knot": None,
        "value": 0.03,
    }
    control = {
        "name": "lam",
        "group": "method",
        "label": "λ",
        "scale": "log",
        "low": 0.001,
        "high": 1.0,
        "zero": True,
        "value": 0.03,
        "options": [],
        "help": "",
        "advanced": False,
        "scrub": True,
        "shown": True,
        "marks": [],
    }
    content = {
        "v": 1,
        "seq": np.int64(7),
        "busy": 0,
        "kind": "picture",
        "picture": picture,
        "job": None,
        "path": {
            "param": "lam",
            "values": [0.001, 1.0],
            "from_right": False,
            "score": "Accuracy",
            "count": "non-zeros",
        },
        "controls": [control],
        "undo": "",
        "notices": [{"level": "info", "text": "Prüfung ±"}],
    }
    payload = (TESTS / "payload.bin").read_bytes()
    assert payload == pack(content)
    decode(payload)  # it is what the schema says
