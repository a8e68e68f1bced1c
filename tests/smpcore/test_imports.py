"""What ``import smpcore`` loads, and what the app loads before anybody visits it."""

import json
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
