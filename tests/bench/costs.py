"""The table of costs: ``python -m tests.bench.costs [--fit [FORM]]``.

With ``--fit`` random models are measured on the simulated chips, and the constants
written to ``smpcore/codegen/costs.json``: of every form, or of those whose name holds a
text. In any case models of the app are measured and printed beside their estimates.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from smpcore import METHODS, SuperSparseClassifier
from smpcore.chips import CHIPS, Chip, Measured, measure
from smpcore.codegen import CompiledModel, QuantModel, compile_model, quantise, sample
from smpcore.codegen.costs import (
    TABLE,
    Costs,
    code_parts,
    estimated,
    form_of,
    has_tables,
    parts,
    stack_parts,
)
from smpcore.codegen.kernels import KERNELS
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel
from tests.bench.export import fitted, kernel_fitted, svm
from tests.smpcore.codegen.kernel_models import random_kernel_model
from tests.smpcore.codegen.random_models import (
    mixed_linear,
    mixed_table,
    random_linear,
)

#: Rows that each model answers.
N_ROWS = 12

#: Features, classes, prototypes of a class, density of random linear models.
LINEAR = (
    *((4, 2, 1, 1.0), (9, 2, 1, 0.5), (12, 3, 1, 0.3), (8, 3, 2, 0.25)),
    *((30, 4, 1, 0.1), (6, 3, 2, 1.0), (16, 10, 1, 0.3), (25, 3, 2, 1.0)),
    *((30, 3, 2, 0.6), (64, 10, 1, 0.15), (64, 10, 2, 0.3), (100, 2, 2, 0.5)),
    *((13, 3, 1, 1.0), (13, 4, 1, 1.0), (9, 6, 1, 1.0), (30, 4, 1, 1.0)),
)
#: Features, anchors, classes, density of the mixing of random sums.
SUMS = (
    *((2, 3, 2, 1.0), (4, 12, 3, 1.0), (10, 5, 2, 0.5), (20, 10, 5, 1.0)),
    *((30, 20, 2, 0.5), (8, 30, 4, 0.3), (60, 4, 3, 1.0), (4, 50, 3, 0.6)),
    (13, 60, 3, 0.6),
)


def random_models() -> Iterator[CompiledModel | QuantModel]:
    """Models of every form, of many sizes."""
    _, preparation = mixed_table()
    linear = [random_linear(*sizes, seed=seed) for seed, sizes in enumerate(LINEAR)]
    compiled = [compile_model(model) for model in linear]
    compiled += [
        mixed_linear(preparation, n, d) for n, d in ((1, 0.5), (2, 0.8), (4, 1))
    ]
    for model in compiled:
        yield from _formats(model, ((8, 16), (8, 32), (16, 16), (16, 32)))
    yield from (compile_model(_far(model)) for model in linear[::2])
    yield from (_may_miss(one) for one in compiled[1::2])
    for kind in KERNELS:
        widths = ((8, None), (16, None)) if kind in ("rbf", "laplacian") else ()
        for seed, sizes in enumerate(SUMS):
            model = random_kernel_model(kind, *sizes, seed)
            if seed % 2 and kind != "intersection":
                model = _far(model)
            one = compile_model(model)
            yield from _formats(one if seed % 3 else _may_miss(one), widths)


def _far(model: PrototypeModel) -> PrototypeModel:
    """The same far from 0, so that its inputs need offsets."""
    places = {name: getattr(model, name) + 1e4 for name in ("center", "low", "high")}
    return replace(model, **places)


def _may_miss(compiled: CompiledModel) -> CompiledModel:
    """The same with a rule for missing numbers."""
    inputs = (
        replace(one, missing=one.low) if one.kind == "number" else one
        for one in compiled.inputs
    )
    return replace(compiled, inputs=tuple(inputs))


def _formats(
    compiled: CompiledModel, widths: Iterable[tuple[int, int | None]]
) -> Iterator[CompiledModel | QuantModel]:
    """A model in floats, and in integers as far as there are any."""
    yield compiled
    for width, accumulator in widths:
        try:
            yield quantise(compiled, width, accumulator=accumulator)
        except ExportError:  # too uneven for 16 bits, or no integer form
            continue


def rows_of(model: CompiledModel | QuantModel, n: int = N_ROWS) -> np.ndarray:
    """Rows of the training range, as the model takes them."""
    if isinstance(model, QuantModel):
        return model.quantise(sample(model.source, n))
    return sample(model, n)


def told(model: CompiledModel | QuantModel, chip: Chip) -> Costs | None:
    """What is measured; None where the chip cannot hold it."""
    try:
        found: Measured = measure(model, rows_of(model), chip)
    except ExportError:
        return None
    return Costs(found.flash, found.stack, round(float(np.median(found.counts))))


def fit(text: str) -> None:
    """Measure random models of some forms, and write what each part takes."""
    seen: dict[tuple[str, str], list[tuple[CompiledModel | QuantModel, Costs]]] = {}
    for model in random_models():
        if text not in form_of(model):
            continue
        for chip in CHIPS.values():
            costs = told(model, chip)
            if costs is not None:
                seen.setdefault((form_of(model), chip.name), []).append((model, costs))
    table = json.loads(TABLE.read_text("ascii")) if text else {}
    for (form, chip), pairs in seen.items():
        table.setdefault(form, {})[chip] = {
            what: _constants(pairs, what) for what in Costs._fields
        }
    TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", "ascii")


def _constants(
    pairs: list[tuple[CompiledModel | QuantModel, Costs]], what: str
) -> dict[str, float]:
    """What one part takes, none less than nothing: least squares of relative errors."""
    wanted = np.array([float(getattr(costs, what)) for _, costs in pairs])
    looped = what == "stack" and has_tables(pairs[0][0])
    if looped:  # arrays, and the most that anything else took
        array = np.array([stack_parts(model)["array"] for model, _ in pairs])
        return {"call": float((wanted - array).max()), "array": 1.0}
    counters = {"flash": code_parts, "stack": stack_parts, "count": parts}
    counts = pd.DataFrame([counters[what](model) for model, _ in pairs]).fillna(0.0)
    known = np.zeros(len(pairs))
    if what == "flash":
        known = np.array([m.table_bytes if has_tables(m) else 0 for m, _ in pairs])
    weight = 1 / np.maximum(wanted, 8)  # a leaf of a Cortex-M takes no stack
    each, _ = nnls(counts.to_numpy() * weight[:, None], (wanted - known) * weight)
    found = zip(counts, each.tolist(), strict=True)
    return {name: float(f"{size:.4g}") for name, size in found if size > 0}


def app_models() -> Iterator[tuple[str, CompiledModel | QuantModel]]:
    """Models as people fit them: methods at their defaults, and kernel models."""
    found = {}
    for data in ("iris", "wine", "breast_cancer", "digits"):
        for method in ("smp", "smallk", "mprotsvm"):
            found[f"{data} {method}"] = fitted(data, METHODS[method])[-1]
        found[f"{data} supersparse"] = kernel_fitted(data, _super_sparse)[-1]
    for data in ("iris", "wine"):
        for kind in ("rbf", "poly"):
            found[f"{data} svm {kind}"] = kernel_fitted(data, svm, kind)[-1]
    for name, compiled in found.items():
        for model in _formats(compiled, ((16, None), (8, None))):
            yield f"{name}: {form_of(model)}", model


def _super_sparse(X: np.ndarray, y: np.ndarray) -> PrototypeModel:
    return SuperSparseClassifier(max_iter=40).fit(X, y).model_


def compared() -> pd.DataFrame:
    """Estimates beside measurements, of models of the app."""
    lines = []
    for name, model in app_models():
        for chip in CHIPS.values():
            found, guess = told(model, chip), estimated(model, chip.name)
            if found is None or guess is None:
                continue
            line = {"model": name, "chip": chip.name}
            for what in Costs._fields:
                own, real = getattr(guess, what), getattr(found, what)
                line |= {what: real, f"{what} estimated": own}
                line[f"{what} off %"] = round(100 * (own / real - 1), 1) if real else 0
            lines.append(line)
    return pd.DataFrame(lines)


def main() -> None:
    """Print the table, and the worst errors."""
    if "--fit" in sys.argv[1:]:
        fit("".join(sys.argv[2:]))
    table = compared()
    print(table.to_string(index=False))
    for chip, own in table.groupby("chip"):
        far = ", ".join(
            f"{what} {off.median():.1f} / {off.max():.1f}"
            for what in ("flash", "count")
            for off in [own[f"{what} off %"].abs()]
        )
        stack = own["stack estimated"] - own["stack"]
        print(
            f"{chip}: median / worst error in %: {far}; stack {stack.min()} to "
            f"{stack.max()} bytes too much"
        )


if __name__ == "__main__":
    main()
