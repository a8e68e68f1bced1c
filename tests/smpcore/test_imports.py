"""What fresh processes load and say: a program, the app, and a first notebook."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: What takes long to load and is used in some functions only. scipy.stats and pyarrow
#: are not among them: scikit-learn and pandas load them by themselves.
LATER = [
    "distributed",
    "openml",
    "plotly",
    "pyarrow.csv",
    "pyarrow.parquet",
    "sklearn.cluster",
    "sklearn.datasets",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.pipeline",
    "sklearn.svm",
    "streamlit",
]

FIRST_PICTURE = """
from pages.work import warmup
warmup.start_up()
before = set(sys.modules)
dataset = smpcore.load_dataset("moons")
parts = smpcore.split(dataset)
X = smpcore.prepare(dataset, parts.train).transform(dataset.frame)
smpcore.SMPClassifier().fit(X[parts.train], dataset.y[parts.train])
"""


def _loaded(program: str) -> set[str]:
    """Modules that a fresh process has loaded after a program, or since ``before``."""
    program = f"import json, sys\nbefore = set()\nimport smpcore\n{program}\n"
    program += "print(json.dumps(sorted(set(sys.modules) - before)))"
    command = [sys.executable, "-W", "ignore", "-c", program]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {*json.loads(run.stdout.splitlines()[-1])}


def test_importing_the_library_loads_no_more_than_a_fit_needs():
    loaded = _loaded("")
    assert "smpcore.methods.smp.estimator" in loaded
    assert loaded.isdisjoint(LATER)


def test_the_app_loads_before_the_first_visitor_what_the_library_leaves_for_later():
    loaded = _loaded(FIRST_PICTURE)
    assert [name for name in loaded if name.startswith(("sklearn", "scipy"))] == []


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
    """In a notebook; nobody waits for kernels without knowing why."""
    other, ours = _shown(tmp_path).split("other code is compiled\n")
    assert other == ""
    assert ours.count("smpcore is compiling its solvers, once on this machine") == 1
    assert str(tmp_path) in ours
    assert ours.count("\n") == 1
    assert _shown(tmp_path) == "other code is compiled\n"
