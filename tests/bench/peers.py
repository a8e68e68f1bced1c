"""Classifiers of the peers that write C, tuned on the same folds, as programs.

They are no part of the product and not among the tests' requirements:
``pip install emlearn m2cgen micromlgen``, in an environment of its own.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

#: Packages whose versions belong to a figure.
PACKAGES = ("m2cgen", "emlearn", "micromlgen", "scikit-learn")


@dataclass(frozen=True)
class Program:
    """C of a model and how to call it.

    Parameters
    ----------
    files : dict of str to str
        With ``model.h``, which declares ``mdl_predict`` of an array of `kind`.
    kind : str
        C type of an input.
    rows : ndarray of shape (n, n_inputs)
        Test rows as the program wants them.
    labels : ndarray of shape (n,), int64
        What its own Python model says of them.
    folders : tuple of str
        Where else the compiler finds headers.
    least_bytes : int
        Of its numbers alone: what cannot fit is not compiled, it would take minutes.
    """

    files: dict[str, str]
    kind: str
    rows: np.ndarray
    labels: np.ndarray
    folders: tuple[str, ...] = ()
    least_bytes: int = 0


@dataclass(frozen=True)
class Peer:
    """A model of somebody else's library.

    Parameters
    ----------
    name : str
    candidates : list of estimators
        Of which the folds choose one.
    write : callable
        (fitted estimator, test rows) -> Program.
    counts : bool
        Whether it wants 16-bit counts, not standardised floats.
    """

    name: str
    candidates: list[Any]
    write: Callable[[Any, np.ndarray], Program]
    counts: bool = False

    def choose(self, X: np.ndarray, y: np.ndarray, folds: list) -> Any:
        """The candidate with the best mean accuracy over the folds, the first one."""
        means = []
        for candidate in self.candidates:
            hits = []
            for train, held in folds:
                fitted = clone(candidate).fit(self.rows(X, train)[train], y[train])
                hits.append(fitted.score(self.rows(X, train)[held], y[held]))
            means.append(np.mean(hits))
        return self.candidates[int(np.argmax(means))]

    def rows(self, X: np.ndarray, train: np.ndarray) -> np.ndarray:
        """Rows as the model wants them, scaled after the training rows."""
        if self.counts:
            low, high = X[train].min(axis=0), X[train].max(axis=0)
            middle, reach = (low + high) / 2, (high - low) * 0.625
            reach[reach == 0] = 1.0
            counts = np.round((X - middle) / reach * 32766)
            return np.clip(counts, -32768, 32767)
        scale = X[train].std(axis=0)
        scale[scale == 0] = 1.0
        return (X - X[train].mean(axis=0)) / scale


def _header(kind: str, n: int, more: str = "") -> str:
    return f"""\
#include <stdint.h>
#define MDL_N {n}
#define MDL_CLASSES 1
#define mdl_scores(x, scores) ((void)0)
#ifdef __cplusplus
extern "C" {{
#endif
uint8_t mdl_predict(const {kind} x[MDL_N]);
#ifdef __cplusplus
}}
#endif
{more}"""


#: m2cgen gives a score for each class, or of machines for each pair of classes.
_LARGEST = """\
    double out[{n}];
    uint8_t best = 0, k;
    score((double *)x, out);
    for (k = 1; k < {n}; ++k) {{
        if (out[k] > out[best]) {{
            best = k;
        }}
    }}
    return best;
"""
_VOTES = """\
    double out[{pairs}], *pair = out;
    uint8_t votes[{n}] = {{0}}, best = 0, k, other;
    score((double *)x, out);
    for (k = 0; k < {n}; ++k) {{
        for (other = k + 1; other < {n}; ++other) {{
            ++votes[*pair++ > 0.0 ? k : other];
        }}
    }}
    for (k = 1; k < {n}; ++k) {{
        if (votes[k] > votes[best]) {{
            best = k;
        }}
    }}
    return best;
"""


def _m2cgen(fitted: Any, rows: np.ndarray) -> Program:
    import m2cgen

    body = m2cgen.export_to_c(fitted)
    n = len(fitted.classes_)
    if isinstance(fitted, SVC) and n > 2:
        call = _VOTES.format(n=n, pairs=n * (n - 1) // 2)
    elif "double * output" in body:
        call = _LARGEST.format(n=n)
    else:
        call = "    return score((double *)x) > 0.0;\n"
    source = f'#include "mdl.h"\n{body}\nuint8_t mdl_predict(const double x[MDL_N])\n'
    files = {
        "mdl.h": _header("double", rows.shape[1]),
        "mdl.c": f"{source}{{\n{call}}}\n",
    }
    labels = _numbers(fitted, rows)
    return Program(files, "double", rows, labels, least_bytes=_least(fitted))


def _micromlgen(fitted: Any, rows: np.ndarray) -> Program:
    from micromlgen import port

    ported = fitted
    if len(fitted.classes_) == 2 and hasattr(fitted, "intercept_"):
        # Of two classes it mistakes a sign: of the score, or of a machine's constant.
        ported = deepcopy(fitted)
        ported.intercept_ = -fitted.intercept_
        if isinstance(fitted, LogisticRegression):
            ported.coef_ = -fitted.coef_
    text = port(ported).replace("<cstdarg>", "<stdarg.h>")
    name = re.search(r"class (\w+) \{", text)[1]
    source = f"""\
#include "mdl.h"
#include <math.h>
{text}
static Eloquent::ML::Port::{name} model;
uint8_t mdl_predict(const float x[MDL_N])
{{
    return (uint8_t)model.predict((float *)x);
}}
"""
    files = {"mdl.h": _header("float", rows.shape[1]), "mdl.cpp": source}
    labels = _numbers(fitted, rows)
    return Program(files, "float", rows, labels, least_bytes=_least(fitted))


def _least(fitted: Any) -> int:
    """Each number of a support vector is in the code: for each byte an instruction."""
    return 8 * getattr(fitted, "support_vectors_", np.empty(0)).size


def _emlearn(fitted: Any, rows: np.ndarray) -> Program:
    import emlearn

    counts = not isinstance(fitted, MLPClassifier)
    options = {"dtype": "int16_t"} if counts else {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "peer.h"
        with contextlib.chdir(folder):  # it leaves a folder behind where it works
            found = emlearn.convert(fitted, method="inline", **options)
        found.save(name="peer", file=str(file))
        text = file.read_text()
    kind, n = ("int16_t" if counts else "float"), rows.shape[1]
    source = f"""\
#include "mdl.h"
{text}
uint8_t mdl_predict(const {kind} x[MDL_N])
{{
    return (uint8_t)peer_predict(x, MDL_N);
}}
"""
    files = {"mdl.h": _header(kind, n), "mdl.c": source}
    folders = (str(Path(emlearn.__file__).parent),)
    return Program(files, kind, rows, _numbers(fitted, rows), folders)


def _numbers(fitted: Any, rows: np.ndarray) -> np.ndarray:
    """Class indices that the Python model gives; where trees vote, as they do in C."""
    if isinstance(fitted, RandomForestClassifier):
        votes = np.array([tree.predict(rows) for tree in fitted.estimators_])
        counts = (votes[..., None] == np.arange(len(fitted.classes_))).sum(axis=0)
        return counts.argmax(axis=1)
    return np.searchsorted(fitted.classes_, fitted.predict(rows))


def peers() -> Iterator[Peer]:
    """The peers, each with the settings it may choose from."""
    logistic = [LogisticRegression(C=C, max_iter=3000) for C in (0.01, 0.1, 1.0, 10.0)]
    machines = [SVC(C=C, gamma=g) for C in (1.0, 10.0) for g in (0.003, 0.01, 0.03)]
    trees = {
        n: [
            DecisionTreeClassifier(max_leaf_nodes=n, min_samples_leaf=m, random_state=0)
            for m in (1, 5)
        ]
        for n in (8, 16, 64)
    }
    forests = {
        n: [RandomForestClassifier(10, max_leaf_nodes=n, random_state=0)]
        for n in (16, 64)
    }
    networks = [
        MLPClassifier((n,), alpha=a, max_iter=3000, random_state=0)
        for n in (8, 16)
        for a in (1e-3, 1e-1)
    ]
    yield Peer("m2cgen logistic regression", logistic, _m2cgen)
    yield Peer("micromlgen logistic regression", logistic, _micromlgen)
    yield Peer("m2cgen SVC", machines, _m2cgen)
    yield Peer("micromlgen SVC", machines, _micromlgen)
    any_tree = [one for some in trees.values() for one in some]
    any_forest = [one for some in forests.values() for one in some]
    yield Peer("emlearn tree, 8 leaves", trees[8], _emlearn, counts=True)
    yield Peer("emlearn tree", any_tree, _emlearn, counts=True)
    yield Peer("emlearn forest of 10, 16 leaves", forests[16], _emlearn, counts=True)
    yield Peer("emlearn forest of 10", any_forest, _emlearn, counts=True)
    yield Peer("m2cgen tree", any_tree, _m2cgen)
    yield Peer("micromlgen tree", any_tree, _micromlgen)
    yield Peer("micromlgen forest of 10", any_forest, _micromlgen)
    yield Peer("emlearn MLP", networks, _emlearn)
