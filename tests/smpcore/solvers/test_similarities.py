"""A similarity is a file: found, fitted, exported, wherever it stands in the list."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import smpcore

#: 1 / (1 + gamma |x - z|^2): a slope that no other similarity has.
CAUCHY = """
from scipy.spatial.distance import cdist

from .. import inlined
from ..similarity_kind import SQUARE, SimilarityKind


def _values(X, anchors, similarity):
    return 1 / (1 + similarity.gamma * cdist(X, anchors, "sqeuclidean"))


@inlined
def value(form, t, a, b):
    s = 1.0 / (1.0 + form.gamma * max(a + b - 2.0 * t, 0.0))
    return s, 2.0 * form.gamma * s * s


@inlined
def pull(w, s):
    return w


KIND = SimilarityKind(
    _values,
    parameters=("gamma",),
    standardised=True,
    value=value,
    measure=SQUARE,
    pull=pull,
)
"""
TRIAL = """
import numpy as np
from scipy.optimize import check_grad
from sklearn.datasets import load_iris
from smpcore.codegen import compile_model, export
from smpcore.methods.supersparse import SuperSparseClassifier
from smpcore.methods.supersparse.problem import Objective, evaluate, standard_rows
from smpcore.similarity import SMOOTH, Similarity

assert SMOOTH[0] == "first" and SMOOTH[-2:] == ("cauchy", "intersection")
X, y = (part[::8] for part in load_iris(return_X_y=True))
models = []
for similarity in ("laplacian", "first", "cauchy"):
    fitted = SuperSparseClassifier(3, similarity=similarity, max_iter=5).fit(X, y)
    assert fitted.objective_ < fitted.history_.objective[0]
    models.append(fitted.model_)
known, new = map(compile_model, models[:2])
assert (known.scores(X) == new.scores(X)).all()
assert (models[0].anchors == models[1].anchors).all()
export(models[1])

rows = standard_rows(X, X[:, :2], np.full(len(X), 1 / len(X)), "cauchy")
objective, Z = Objective(rows, Similarity("cauchy", 0.5), 1e-3), X[:3] + 0.1


def at(flat):
    return evaluate(objective, flat.reshape(Z.shape))


apart = check_grad(lambda z: at(z)[0], lambda z: at(z)[1].ravel(), Z.ravel())
assert apart < 1e-5, apart
"""


def test_a_new_file_is_a_similarity_wherever_it_stands(tmp_path):
    """In Python: to compile everything for one more would take half a minute."""
    source = Path(smpcore.__file__).parent
    shutil.copytree(source, tmp_path / "smpcore", ignore=lambda *_: ["__pycache__"])
    folder = tmp_path / "smpcore/solvers/similarities"
    (folder / "cauchy.py").write_text(CAUCHY)
    known = (folder / "laplacian.py").read_text()
    assert known.count("place=1") == 1
    (folder / "first.py").write_text(known.replace("place=1", "place=-1"))
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", TRIAL]
    done = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
