"""The table of costs: ``python -m tests.bench.costs [--fit [FORM]]``.

With ``--fit`` random models are measured on the simulated chips, and the constants
written to ``smpcore/codegen/costs.json``: of every form, or of those whose name holds a
text; ``conversion`` is that of floats to integers. In any case models of the app are
measured and printed beside their estimates.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.optimize import linprog, nnls

from smpcore import METHODS, SuperSparseClassifier
from smpcore.chips import CHIPS, Chip, Measured, measure
from smpcore.codegen import CompiledModel, QuantModel, compile_model, quantise, sample
from smpcore.codegen.costs import (
    TABLE,
    Costs,
    code_parts,
    conversion_bytes,
    conversion_code,
    conversion_form,
    conversion_parts,
    estimated,
    form_of,
    has_tables,
    parts,
    stack_parts,
)
from smpcore.codegen.similarities import SIMILARITIES
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel
from smpcore.model.ties import training_tie
from tests.bench.export import fitted, kernel_fitted, svm
from tests.smpcore.codegen.kernel_models import random_kernel_model
from tests.smpcore.codegen.random_models import (
    mixed_linear,
    mixed_table,
    random_linear,
)

#: Models of one form, and what each takes on a chip.
Pairs = list[tuple[CompiledModel | QuantModel, Costs]]

#: Rows that each model answers.
N_ROWS = 12

#: Features, classes, prototypes of a class, density of random linear models.
LINEAR = (
    *((4, 2, 1, 1.0), (9, 2, 1, 0.5), (12, 3, 1, 0.3), (8, 3, 2, 0.25)),
    *((30, 4, 1, 0.1), (6, 3, 2, 1.0), (16, 10, 1, 0.3), (25, 3, 2, 1.0)),
    *((30, 3, 2, 0.6), (64, 10, 1, 0.15), (64, 10, 2, 0.3), (100, 2, 2, 0.5)),
    *((13, 3, 1, 1.0), (13, 4, 1, 1.0), (9, 6, 1, 1.0), (30, 4, 1, 1.0)),
)
#: The same so small that they are written out: compilers keep more or fewer terms at a
#: time, so that the most stack takes many models to find.
SMALL = (
    *((2, 2, 1, 1.0), (3, 2, 1, 1.0), (5, 2, 1, 1.0), (8, 2, 1, 1.0)),
    *((4, 2, 2, 0.5), (6, 2, 2, 0.5), (7, 2, 1, 0.7), (10, 2, 1, 0.6)),
    *((3, 3, 1, 1.0), (5, 3, 1, 0.8), (9, 3, 1, 0.3), (6, 4, 1, 0.4)),
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
    linear = [
        _with_ties(random_linear(*sizes, seed=seed))
        for seed, sizes in enumerate(LINEAR)
    ]
    compiled = [compile_model(model) for model in linear]
    compiled += [
        mixed_linear(preparation, n, d) for n, d in ((1, 0.5), (2, 0.8), (4, 1))
    ]
    for model in compiled:
        yield from _formats(model, ((8, 16), (8, 32), (16, 16), (16, 32)))
    yield from (compile_model(_far(model)) for model in linear[::2])
    yield from (_may_miss(one) for one in compiled[1::2])
    for kind in SIMILARITIES:
        widths = ((8, None), (16, None)) if kind in ("rbf", "laplacian") else ()
        for seed, sizes in enumerate(SUMS):
            model = _with_ties(random_kernel_model(kind, *sizes, seed))
            if seed % 2 and kind != "intersection":
                model = _far(model)
            one = compile_model(model)
            yield from _formats(one if seed % 3 else _may_miss(one), widths)


def small_models() -> Iterator[CompiledModel | QuantModel]:
    """Models whose terms are written out."""
    for seed, sizes in enumerate(SMALL):
        compiled = compile_model(_with_ties(random_linear(*sizes, seed=seed)))
        for model in _formats(compiled, ((8, 16), (8, 32), (16, 16), (16, 32))):
            if not has_tables(model):
                yield model


def _with_ties(model: PrototypeModel) -> PrototypeModel:
    """The same with equal scores as fitted models have them."""
    rows = np.random.default_rng(0).uniform(
        model.low, model.high, (200, len(model.low))
    )
    return replace(model, tie=training_tie(model.scores(rows)))


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


def told(
    model: CompiledModel | QuantModel, chip: Chip, converted: bool = False
) -> Costs | None:
    """What is measured; None where the chip cannot hold it."""
    rows = sample(model.source, N_ROWS) if converted else rows_of(model)
    try:
        found: Measured = measure(model, rows, chip, converted=converted)
    except ExportError:
        return None
    return Costs(found.flash, found.stack, round(float(np.median(found.counts))))


def fit(text: str) -> None:
    """Measure random models of some forms, and write what each part takes."""
    table = json.loads(TABLE.read_text("ascii")) if text else {}
    small = _measured(small_models(), text)
    for (form, chip), pairs in _measured(random_models(), text).items():
        table.setdefault(form, {})[chip] = {
            "flash": _constants(pairs, "flash"),
            "stack": _stack([*pairs, *small.get((form, chip), [])]),
            "count": _constants(pairs, "count"),
        }
    for (form, chip), pairs in _conversions(text).items():
        table.setdefault(form, {})[chip] = {
            "flash": _least_squares(
                [cost.flash - conversion_bytes(quant) for quant, cost in pairs],
                [cost.flash for _, cost in pairs],
                [conversion_code(quant) for quant, _ in pairs],
            ),
            "stack": {"call": float(max(cost.stack for _, cost in pairs))},
            "count": _least_squares(
                [cost.count for _, cost in pairs],
                [cost.count for _, cost in pairs],
                [conversion_parts(quant) for quant, _ in pairs],
            ),
        }
    TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", "ascii")


def _measured(
    models: Iterable[CompiledModel | QuantModel], text: str
) -> dict[tuple[str, str], Pairs]:
    """Form and chip -> models whose form's name holds a text, and what they take."""
    seen: dict[tuple[str, str], Pairs] = {}
    for model in models:
        if text not in form_of(model):
            continue
        for chip in CHIPS.values():
            costs = told(model, chip)
            if costs is not None:
                seen.setdefault((form_of(model), chip.name), []).append((model, costs))
    return seen


def _conversions(text: str) -> dict[tuple[str, str], Pairs]:
    """Form and chip -> models, and what the conversion of their inputs takes."""
    wide = (
        quantise(compile_model(random_linear(300, 2, 1, density)), width)
        for width in (8, 16)
        for density in (0.9, 1.0)
    )
    seen: dict[tuple[str, str], Pairs] = {}
    for model in (*random_models(), *wide):
        if not isinstance(model, QuantModel) or text not in conversion_form(model):
            continue
        for chip in CHIPS.values():
            both, alone = told(model, chip, True), told(model, chip)
            if both is None or alone is None:
                continue
            # The calls follow each other: the deeper one's stack is all that is seen.
            stack = both.stack if both.stack > alone.stack else 0
            costs = Costs(both.flash - alone.flash, stack, both.count - alone.count)
            key = conversion_form(model), chip.name
            seen.setdefault(key, []).append((model, costs))
    return seen


def _constants(pairs: Pairs, what: str) -> dict[str, float]:
    """What one part takes, none less than nothing: least squares of relative errors."""
    wanted = np.array([float(getattr(costs, what)) for _, costs in pairs])
    counters = {"flash": code_parts, "count": parts}
    counts = [counters[what](model) for model, _ in pairs]
    known = np.zeros(len(pairs))
    if what == "flash":
        known = np.array([m.table_bytes if has_tables(m) else 0 for m, _ in pairs])
    return _least_squares(wanted - known, wanted, counts)


def _least_squares(
    wanted: np.ndarray, of: np.ndarray, parts: Iterable[Mapping[str, int]]
) -> dict[str, float]:
    """What one part takes so that errors are small beside the whole."""
    weight = 1 / np.asarray(of, float)
    counts = pd.DataFrame(list(parts)).fillna(0.0)
    each, _ = nnls(counts.to_numpy() * weight[:, None], np.asarray(wanted) * weight)
    found = zip(counts, each.tolist(), strict=True)
    return {name: float(f"{size:.4g}") for name, size in found if size > 0}


def _stack(pairs: Pairs) -> dict[str, float]:
    """What a call takes, and each further part: never less than was measured.

    A stack that is too small breaks a program, so that no mean of errors will do. Code
    that is written out is a leaf, and its smallest stack that of a call: on an AVR the
    return address, on a Cortex-M nothing.
    """
    counts = [stack_parts(model) for model, _ in pairs]
    array = np.array([count["array"] for count in counts])
    wanted = np.array([costs.stack for _, costs in pairs]) - array
    if has_tables(pairs[0][0]):  # arrays, and the most that anything else took
        return {"call": float(wanted.max()), "array": 1.0}
    terms = np.array([count["term"] for count in counts], float)
    table = np.column_stack([np.ones(len(terms)), terms])
    least = [(float(wanted.min()), None), (0.0, None)]
    found = linprog(table.sum(axis=0), -table, -wanted, bounds=least).x
    upward = (math.ceil(1e3 * number - 1e-6) / 1e3 for number in found)
    named = zip(("call", "term"), upward, strict=True)
    return {name: n for name, n in named if n > 0} | {"array": 1.0}


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
