"""Size and faithfulness of exported C: ``python -m tests.bench.export``.

For each bundled classification set and each method at its defaults: bytes on two
chips, and whether the compiled C gives the label of the float64 model, from raw rows.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from smpcore import (
    METHODS,
    compile_model,
    list_datasets,
    load_dataset,
    prepare,
    split,
)
from tests.smpcore.codegen.toolchain import CHIPS, answers_in_c, chip_size


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
    _, winners = answers_in_c(compiled, compiled.rows(table))
    return f"{(model.classes[winners] == expected).sum()}/{len(table)}"


def main() -> None:
    """Print the table."""
    head = ["data", "method", "rows", "terms", "inputs"]
    head += [f"{chip} flash" for chip in CHIPS] + [f"{chip} RAM" for chip in CHIPS]
    lines = [[*head, "test rows", "random rows"]]
    sets = [info.key for info in list_datasets() if info.task == "classification"]
    for key in sets:
        for name, method in METHODS.items():
            model, preparation, test, compiled = fitted(key, method)
            sizes = [chip_size(compiled, chip) for chip in CHIPS]
            sizes = [flash for flash, _ in sizes] + [ram for _, ram in sizes]
            counts = [compiled.n_rows, compiled.n_terms, len(compiled.inputs)]
            tables = (test, random_table(preparation, 10_000))
            same = [_agreeing(model, preparation, compiled, t) for t in tables]
            lines.append([key, name, *counts, *sizes, *same])
    frame = pd.DataFrame(lines[1:], columns=lines[0])
    print(frame.to_string(index=False))
    print(
        "Bytes: program with the model minus the same program without it; the inputs "
        "(4 bytes each) are in both. Rows: equal labels of compiled C and float64."
    )


if __name__ == "__main__":
    main()
