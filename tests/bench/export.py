"""Models as people fit them, for the tests and the bench of exported C."""

from __future__ import annotations

import numpy as np
import pandas as pd

from smpcore import (
    Dataset,
    IMKPLClassifier,
    MultiPrototypeSVC,
    SuperSparseClassifier,
    SuperSparseRegressor,
    compile_model,
    load_dataset,
    prepare,
    split,
)
from smpcore.codegen.program import SIMILARITIES

#: Similarities that invented cases may have; one weight per feature is IMKPL's.
PLAIN = sorted(set(SIMILARITIES) - {"features"})


def random_table(preparation, n: int, seed: int = 0) -> pd.DataFrame:
    """Raw rows: numbers uniform over the training range, any level, some missing."""
    random = np.random.default_rng(seed)
    columns = {}
    for given in preparation.inputs:
        if given.kind == "category":
            values = random.choice([*given.levels, "never seen"], n).astype(object)
        else:
            values = random.uniform(given.low, given.high, n)
            values = np.round(values) if given.integer else values
        columns[given.name] = np.where(random.random(n) < 0.02, np.nan, values)
    return pd.DataFrame(columns)


def fitted(key: str, method):
    """What `kernel_fitted` gives of a method at its defaults."""
    return kernel_fitted(key, at_defaults, method)


def at_defaults(X: np.ndarray, y: np.ndarray, method, **changes):
    """A method at its defaults, but for some values."""
    task = "regression" if y.dtype.kind == "f" else "classification"
    values = {**method.defaults(task), **changes}
    return method.estimator(values, task).fit(X, y).model_


def svm(X: np.ndarray, y: np.ndarray, kind: str):
    """A kernel SVM; a cubic one for "poly"."""
    estimator = MultiPrototypeSVC(kernel=kind, degree=3, coef0=1.0)
    return estimator.fit(X, y).model_


def super_sparse(X: np.ndarray, y: np.ndarray, kind: str):
    """A few invented cases, 40 steps."""
    scaled = kind != "intersection"  # which wants numbers that are not negative
    estimator = SuperSparseClassifier(similarity=kind, max_iter=40, standardize=scaled)
    return estimator.fit(X, y).model_


def imkpl(X: np.ndarray, y: np.ndarray, kind: str):
    """Mixes of real cases with a code, at the defaults."""
    return IMKPLClassifier(kernels=kind).fit(X, y).model_


def super_sparse_regression(X: np.ndarray, y: np.ndarray, kind: str):
    """The same with numbers to predict."""
    return SuperSparseRegressor(similarity=kind, max_iter=40).fit(X, y).model_


def kernel_fitted(key: str, fit, *options):
    """What `fitted_to` gives of a bundled data set."""
    return fitted_to(load_dataset(key), fit, *options)


def fitted_to(dataset: Dataset, fit, *options, **division):
    """Model, preparation, raw test rows, and the compiled model."""
    parts = split(dataset, **division)
    preparation = prepare(dataset, parts.train)
    X = preparation.transform(dataset.frame)
    model = fit(X[parts.train], dataset.y[parts.train], *options)
    compiled = compile_model(model, preparation)
    return model, preparation, dataset.frame.iloc[parts.test], compiled
