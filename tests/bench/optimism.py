"""What the bootstrap of a whole recipe takes: ``python -m tests.bench.optimism``.

Seconds of processor time of 200 refits of SMP on the training rows of breast cancer, on
one core: preparation, fit, calibration on folds, scores. Machine code is loaded before.
Beside them are what they give, and the score on the test rows that no refit has seen.
"""

from __future__ import annotations

import time

from threadpoolctl import threadpool_limits

from smpcore import METHODS, evaluate, load_dataset, prepare, split
from smpcore.evaluation import Recipe, bootstrap_optimism

DATA, METHOD = "breast_cancer", "smp"


def main() -> None:
    """Print the seconds, and the lines."""
    dataset, method = load_dataset(DATA), METHODS[METHOD]
    parts = split(dataset)
    defaults = method.defaults(dataset.task)
    recipe = Recipe(method.estimator_for(dataset, defaults), dataset, parts)
    with threadpool_limits(1):
        bootstrap_optimism(recipe, n_refits=2)
        start = time.process_time()
        result = bootstrap_optimism(recipe)
        seconds = time.process_time() - start
    print(f"{result.n_refits} refits, {result.failed} failed: {seconds:.1f} s CPU")
    print(result.lines.round(4).to_string(index=False))
    X = prepare(dataset, parts.train).transform(dataset.frame)
    model = method.estimator_for(dataset, defaults)
    model.fit(X[parts.train], dataset.y[parts.train])
    test = evaluate(model.model_, X[parts.test], dataset.y[parts.test])
    print(f"accuracy on {len(parts.test)} test rows: {test.accuracy:.4f}")


if __name__ == "__main__":
    main()
