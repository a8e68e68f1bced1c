"""What fresh processes load and say: a program, the app, and a first notebook."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

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
assert soft_threshold(1.0, 0.5) == 0.5
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


def test_processes_that_begin_together_with_an_empty_cache_spoil_nothing(tmp_path):
    """As servers do that are started at once: what each compiles is the same."""
    with ThreadPoolExecutor() as pool:
        shown = [*pool.map(_shown, [tmp_path] * 4)]
    assert sum("smpcore is compiling" in text for text in shown) >= 1
    assert _shown(tmp_path) == "other code is compiled\n"


#: Code of other people, compiled by numba before and after smpcore is used, and the
#: settings that they share with it.
NEIGHBOURS = """
import logging, os, pathlib, signal, sys, tempfile, threading, warnings
import numba, numpy as np, pandas, scipy.stats, sklearn
from numba.core import config, event
from numba.experimental import jitclass

kept = pathlib.Path(tempfile.mkdtemp(), "kept.py")
def compile_all():
    @jitclass([("x", numba.float64)])
    class Point:
        def __init__(self, x):
            self.x = x
        def twice(self):
            return 2 * self.x
    @numba.njit(parallel=True)
    def total(a):
        answer = 0.0
        for i in numba.prange(a.size):
            answer += a[i]
        return answer
    answers = [Point(1.0).twice(), total(np.ones(9))]
    for space in ({}, {"__name__": None}, {"__name__": "smpcore.x"}):
        exec("def more(x): return x + 1", space)
        answers.append(numba.njit(space["more"])(1))
    answers += numba.vectorize(lambda x: x + 1)(np.ones(2)).tolist()
    answers.append(numba.cfunc("float64(float64)")(lambda x: x + 1).ctypes(1.0))
    kept.write_text("def f(x): return 3 * x")
    exec(compile(kept.read_text(), kept, "exec"), space := {"__name__": "__main__"})
    cached = numba.njit(cache=True)(space["f"])
    answers.append(cached(1.0))
    return answers, cached.stats.cache_path

def settings():
    options = {name: vars(config)[name] for name in vars(config) if name.isupper()}
    hooks = sys.excepthook, threading.excepthook, sys.displayhook, sys.stdout
    signals = [signal.getsignal(number) for number in signal.valid_signals()]
    logs = logging.root.handlers[:], logging.root.level, warnings.filters[:]
    ours = np.geterr(), sklearn.get_config(), str(pandas.options.d), {**os.environ}
    return options, sum(event._registered.values(), []), hooks, signals, logs, ours

before = settings(), compile_all()
import smpcore
assert (settings(), compile_all()) == before
X = np.random.default_rng(0).normal(size=(30, 4))
smpcore.SMPClassifier().fit(X, X[:, 0] > 0)
assert (settings(), compile_all()) == before
"""

#: A library whose losses are jitclasses, each compiled when it is first used.
SKGLM = """
import numpy as np, skglm
from sklearn import linear_model
X = np.random.default_rng(0).normal(size=(60, 4))
y = X @ [1.0, 0.5, 0.0, 0.0]
wanted = linear_model.Lasso(alpha=0.1).fit(X, y).coef_
assert np.allclose(skglm.Lasso(alpha=0.1).fit(X, y).coef_, wanted, atol=1e-3)
import smpcore
fitted = skglm.SparseLogisticRegression(alpha=0.001).fit(X, X[:, 0] > 0)
assert fitted.score(X, X[:, 0] > 0) > 0.9
smpcore.SMPClassifier().fit(X, X[:, 0] > 0)
net = skglm.ElasticNet(alpha=0.1, l1_ratio=0.5).fit(X, y)
wanted = linear_model.ElasticNet(alpha=0.1, l1_ratio=0.5).fit(X, y).coef_
assert np.allclose(net.coef_, wanted, atol=1e-3)
"""


@pytest.mark.parametrize("script", [NEIGHBOURS, SKGLM], ids=["numba", "skglm"])
def test_other_libraries_that_numba_compiles_do_not_notice_this_one(script):
    command = [sys.executable, "-W", "ignore", "-c", script]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
