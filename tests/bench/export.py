"""Size and faithfulness of exported C: ``python -m tests.bench.export``.

For each bundled classification set and each method at its defaults: bytes on two
chips, and whether the compiled C gives the label of the float64 model, from raw rows.
Then the same of support vector machines and of digits with few anchors.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from smpcore import (
    METHODS,
    IMKPLClassifier,
    SuperSparseClassifier,
    SuperSparseRegressor,
    compile_model,
    list_datasets,
    load_dataset,
    prepare,
    split,
)
from smpcore.chips import CHIPS, measure, sizes
from smpcore.codegen import agreement
from smpcore.codegen.program import Features, WeightedSums
from smpcore.codegen.similarities import SIMILARITIES
from smpcore.errors import ExportError
from smpcore.similarity import Similarity
from tests.smpcore.codegen.c_programs import answers_in_c, case
from tests.smpcore.codegen.kernel_models import kernel_model, svm_model

#: The chips whose flash is told.
SIZED = ["ATmega328P", "Cortex-M0"]
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
    """Model, preparation, raw test rows and compiled model at the defaults."""
    dataset = load_dataset(key)
    parts = split(dataset)
    preparation = prepare(dataset, parts.train)
    X = preparation.transform(dataset.frame)
    estimator = method.estimator(method.defaults())
    model = estimator.fit(X[parts.train], dataset.y[parts.train]).model_
    compiled = compile_model(model, preparation)
    return model, preparation, dataset.frame.iloc[parts.test], compiled


def _agreeing(model, preparation, compiled, table) -> str:
    expected = model.predict(preparation.transform(table))
    (found,) = answers_in_c([case(compiled, compiled.rows(table))])
    return f"{(model.classes[found['predict']] == expected).sum()}/{len(table)}"


def svm(X: np.ndarray, y: np.ndarray, kind: str):
    """A kernel SVM at scikit-learn's defaults; a cubic one for "poly"."""
    degree, coef0 = (3, 1.0) if kind == "poly" else (1, 0.0)
    return svm_model(X, y, kind=kind, degree=degree, coef0=coef0)[0]


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


def few_anchors(X: np.ndarray, y: np.ndarray, n: int):
    """RBF model of n training rows, mixed by least squares with a small ridge."""
    classes, number = np.unique(y, return_inverse=True)
    order = np.random.default_rng(0).permutation(len(X))
    rank = np.empty(len(X))
    for k in range(len(classes)):
        own = order[number[order] == k]
        rank[own] = np.arange(len(own))
    chosen = np.lexsort((number, rank))[:n]
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0] = 1.0
    scaled = (X - center) / scale
    how = Similarity("rbf", gamma=0.25 / X.shape[1])
    alike = np.column_stack([how.values(scaled, scaled[chosen]), np.ones(len(X))])
    targets = 2.0 * np.eye(len(classes))[number] - 1
    ridge = alike.T @ alike + 1e-3 * len(X) * np.eye(n + 1)
    solution = np.linalg.solve(ridge, alike.T @ targets)
    places = {"center": center, "scale": scale, "low": X.min(0), "high": X.max(0)}
    places |= {"bias": solution[-1], "classes": classes}
    return kernel_model(scaled[chosen], solution[:-1], how, **places)


def kernel_fitted(key: str, fit, *options):
    """Model, preparation, test rows, their labels, and the compiled model."""
    dataset = load_dataset(key)
    parts = split(dataset)
    preparation = prepare(dataset, parts.train)
    X = preparation.transform(dataset.frame)
    model = fit(X[parts.train], dataset.y[parts.train], *options)
    compiled = compile_model(model, preparation)
    test = dataset.frame.iloc[parts.test]
    return model, preparation, test, dataset.y[parts.test], compiled


def kernel_models(sets: list[str]) -> pd.DataFrame:
    """Size and faithfulness of models that are not linear."""
    wanted = [
        (key, f"svm {kind}", svm, kind) for key in sets for kind in ("rbf", "poly")
    ]
    wanted += [("digits", f"super-sparse {kind}", super_sparse, kind) for kind in PLAIN]
    wanted += [
        (key, f"imkpl {kind}", imkpl, kind)
        for key in ("wine", "digits")
        for kind in ("features", "rbf", "linear")
    ]
    wanted += [("digits", f"rbf, {n} anchors", few_anchors, n) for n in (10, 40)]
    lines = []
    for key, name, fit, option in wanted:
        model, preparation, test, y, compiled = kernel_fitted(key, fit, option)
        found = agreement(compiled, model, test, preparation)
        drawn = random_table(preparation, 2_000)
        random_found = agreement(compiled, model, drawn, preparation)
        lines.append(
            {
                "data": key,
                "model": name,
                "anchors": compiled.find(WeightedSums).n_anchors,
                "features": compiled.find(Features).n_features,
                "right": f"{(compiled.predict_frame(test) == y).mean():.3f}",
                "tables": compiled.table_bytes,
                **{f"{chip} flash": _flash(compiled, chip) for chip in SIZED},
                "stack": compiled.stack_bytes,
                "AVR ms": _milliseconds(compiled, compiled.rows(test)),
                "test rows": _agreeing(model, preparation, compiled, test),
                "proved": found.n_certified,
                "random rows": _agreeing(model, preparation, compiled, drawn),
                "proved too": random_found.n_certified,
                "broken": found.n_broken + random_found.n_broken,
            }
        )
    return pd.DataFrame(lines)


def _milliseconds(compiled, rows: np.ndarray) -> str:
    """Time of a prediction at 16 MHz, median of five rows."""
    try:
        found = measure(compiled, rows[:5], CHIPS["ATmega328P"])
    except ExportError:
        return "-"
    return f"{np.median(found.counts) / 16_000:.2f}"


def _flash(compiled, chip: str) -> str:
    """Bytes of flash, and of RAM if any."""
    flash, ram = sizes(compiled, CHIPS[chip])
    return f"{flash} + {ram} RAM" if ram else str(flash)


def main() -> None:
    """Print the table."""
    head = ["data", "method", "rows", "terms", "inputs"]
    head += [f"{chip} flash" for chip in SIZED]
    lines = [[*head, "stack", "AVR ms", "test rows", "random rows"]]
    sets = [info.key for info in list_datasets() if info.task == "classification"]
    for key in sets:
        for name, method in METHODS.items():
            try:
                model, preparation, test, compiled = fitted(key, method)
            except ExportError as error:
                print(f"{key}, {name}: {error}")
                continue
            flash = [_flash(compiled, chip) for chip in SIZED]
            counts = [compiled.n_rows, compiled.n_terms, len(compiled.inputs)]
            tables = (test, random_table(preparation, 10_000))
            same = [_agreeing(model, preparation, compiled, t) for t in tables]
            time = _milliseconds(compiled, compiled.rows(test))
            lines.append(
                [key, name, *counts, *flash, compiled.stack_bytes, time, *same]
            )
    frame = pd.DataFrame(lines[1:], columns=lines[0])
    print(frame.to_string(index=False))
    print(kernel_models(sets).to_string(index=False))
    print(
        "Bytes: program with the model minus the same program without it; the inputs "
        "(4 bytes each) are in both. Rows: equal labels of compiled C and float64. "
        "AVR ms: a prediction at 16 MHz in simavr, - where it does not fit."
    )


if __name__ == "__main__":
    main()
