"""A notebook says, once, that kernels are compiled, and never that they are loaded."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: Two kernels that compile fast; numba's own events of other code are not ours.
TWO_KERNELS = """
import numba
import numpy as np
import smpcore
numba.njit(lambda x: x + 1)(1)
print("other code is compiled", flush=True)
from smpcore.solvers.prox import project_l1_ball, soft_threshold
soft_threshold(1.0, 0.5)
project_l1_ball(np.ones(3), 1.0, np.ones(3), 0.0)
"""


def _shown(folder):
    """What a program shows that sets up no logging, as in a notebook."""
    command = [sys.executable, "-c", TWO_KERNELS]
    variables = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    run = subprocess.run(
        command, cwd=ROOT, env=variables, text=True, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return run.stdout


def test_compiling_is_said_once_and_loading_is_not(tmp_path):
    other, ours = _shown(tmp_path).split("other code is compiled\n")
    assert other == ""
    assert ours.count("smpcore is compiling its solvers, once on this machine") == 1
    assert str(tmp_path) in ours
    assert ours.count("\n") == 1
    assert _shown(tmp_path) == "other code is compiled\n"
