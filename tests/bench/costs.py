"""The table of costs: ``python -m tests.bench.costs [--fit [FORM ...]]``.

With ``--fit`` random models are measured on the simulated chips, and the constants
written to ``smpcore/codegen/costs.json``, each form with the error that 19
of 20 models keep that it was not fitted to: of other folds, and of the app. In any
case models of the app are measured and printed beside their estimates. Of forms
that are named only those are fitted whose name has one of these words.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import linprog, nnls

from smpcore import METHODS
from smpcore.chips import CHIPS, Chip, measure
from smpcore.codegen import (
    CompiledModel,
    QuantModel,
    compile_model,
    quantise,
    test_vectors,
)
from smpcore.codegen.constants import has_tables
from smpcore.codegen.costs import (
    TABLE,
    Costs,
    Structure,
    estimate,
    estimated,
    structures,
)
from smpcore.codegen.program import SIMILARITIES
from smpcore.errors import ExportError
from smpcore.model import PrototypeModel
from smpcore.model.ties import training_tie
from tests.bench.export import fitted, imkpl, kernel_fitted, super_sparse, svm
from tests.smpcore.codegen.models import (
    coded_model,
    far_from_0,
    linear_code,
    mixed_linear,
    mixed_table,
    random_kernel_model,
    random_linear,
)

#: Rows that each model answers: such as try the code, as the page has them.
N_ROWS = 16
FOLDS = 10

#: Features, classes, prototypes of a class, density of random linear models.
LINEAR = (
    *((4, 2, 1, 1.0), (9, 2, 1, 0.5), (12, 3, 1, 0.3), (8, 3, 2, 0.25)),
    *((30, 4, 1, 0.1), (6, 3, 2, 1.0), (16, 10, 1, 0.3), (25, 3, 2, 1.0)),
    *((30, 3, 2, 0.6), (64, 10, 1, 0.15), (64, 10, 2, 0.3), (100, 2, 2, 0.5)),
    *((13, 3, 1, 1.0), (13, 4, 1, 1.0), (9, 6, 1, 1.0), (30, 4, 1, 1.0)),
    *((5, 2, 1, 1.0), (20, 2, 1, 0.9), (40, 2, 1, 0.8), (25, 2, 2, 0.7)),
    *((7, 3, 1, 1.0), (11, 5, 1, 0.9), (50, 3, 1, 0.2), (80, 2, 1, 0.3)),
    *((64, 4, 1, 0.7), (17, 2, 3, 1.0), (33, 3, 1, 0.65), (21, 4, 1, 0.5)),
    *((300, 2, 1, 0.1), (28, 2, 1, 0.4), (15, 2, 3, 0.3), (10, 8, 1, 0.2)),
    *((4, 3, 2, 1.0), (5, 4, 2, 1.0), (4, 10, 1, 1.0)),
)
#: The same so small that they are written out: compilers keep more or fewer terms at a
#: time, so that the most stack takes many models to find.
SMALL = (
    *((2, 3, 1, 1.0), (3, 2, 1, 1.0), (5, 2, 1, 1.0), (8, 2, 1, 1.0)),
    *((4, 2, 2, 0.5), (6, 2, 2, 0.5), (7, 2, 1, 0.7), (10, 2, 1, 0.6)),
    *((3, 3, 1, 1.0), (5, 3, 1, 0.8), (9, 3, 1, 0.3), (6, 4, 1, 0.4)),
)
#: Features, anchors, classes, density of the mixing of random sums.
SUMS = (
    *((2, 3, 2, 1.0), (4, 12, 3, 1.0), (10, 5, 2, 0.5), (20, 10, 5, 1.0)),
    *((30, 20, 2, 0.5), (8, 30, 4, 0.3), (60, 4, 3, 1.0), (4, 50, 3, 0.6)),
    *((13, 60, 3, 0.6), (3, 8, 2, 1.0), (6, 20, 3, 0.5), (12, 10, 2, 1.0)),
    *((25, 6, 4, 0.6), (16, 40, 2, 1.0), (40, 12, 3, 0.4), (64, 8, 2, 1.0)),
    (9, 15, 6, 1.0),
)
#: Prototypes, size of a code, features, anchors of random sparse codes.
CODES = (
    *((6, 3, 4, 9), (10, 3, 8, 20), (12, 5, 6, 12)),
    *((20, 4, 13, 30), (30, 6, 10, 15), (8, 2, 20, 8)),
)


def random_models() -> Iterator[CompiledModel | QuantModel]:
    """Models of every form, of many sizes."""
    preparation = mixed_table()[1]
    seeds = enumerate(LINEAR)
    linear = [_with_ties(random_linear(*sizes, seed=seed)) for seed, sizes in seeds]
    compiled = [compile_model(model) for model in linear]
    sizes = ((1, 0.5), (2, 0.8), (4, 1))
    compiled += [mixed_linear(preparation, *size) for size in sizes]
    for model in compiled:
        yield from _formats(model, ((8, 16), (8, 32), (16, 16), (16, 32)))
    yield from (compile_model(far_from_0(model, 1e4)) for model in linear[::2])
    yield from (_may_miss(one) for one in compiled[1::2])
    for kind in SIMILARITIES:
        widths = ((8, None), (16, None)) if kind in ("rbf", "laplacian") else ()
        for seed, sizes in enumerate(SUMS):
            model = _with_ties(random_kernel_model(kind, *sizes, seed))
            if seed % 2 and kind != "intersection":
                model = far_from_0(model, 1e4)
            one = compile_model(model)
            yield from _formats(one if seed % 3 else _may_miss(one), widths)


def small_models() -> Iterator[CompiledModel | QuantModel]:
    """Models whose terms are written out."""
    for seed, sizes in enumerate(SMALL):
        compiled = compile_model(_with_ties(random_linear(*sizes, seed=seed)))
        for model in _formats(compiled, ((8, 16), (8, 32), (16, 16), (16, 32))):
            if not has_tables(model) and _answers_differ(model):
                yield model


def _answers_differ(model: CompiledModel | QuantModel) -> bool:
    """Of a model with one answer to everything a compiler leaves no code."""
    return len(np.unique(test_vectors(model, n=N_ROWS).winners)) > 1


def _with_ties(model: PrototypeModel) -> PrototypeModel:
    """The same with equal scores as fitted models have them."""
    random, size = np.random.default_rng(0), (200, len(model.low))
    rows = random.uniform(model.low, model.high, size)
    return replace(model, tie=training_tie(model.scores(rows)))


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


def coded_models() -> Iterator[CompiledModel]:
    """Models whose answer is a sparse code."""
    for place, kind in enumerate(("rbf", "linear", "features", "laplacian", "cosine")):
        for seed, (m, limit, n_features, n_anchors) in enumerate(CODES):
            changes = {"n_features": n_features, "n_anchors": n_anchors}
            n_classes = 2 + (place + seed) % 3
            make = linear_code if kind == "linear" else partial(coded_model, kind)
            yield compile_model(make(m, limit, seed, n_classes=n_classes, **changes))


def told(
    model: CompiledModel | QuantModel, chip: Chip, converted: bool = False
) -> Costs | None:
    """What is measured, the most of all rows; None where the chip cannot hold it."""
    rows = test_vectors(model.source if converted else model, n=N_ROWS).rows
    try:
        found = measure(model, rows, chip, converted=converted)
    except ExportError:
        return None
    return Costs(found.flash, found.stack, int(found.counts.max()))


class Piece(NamedTuple):
    """A structure, what it takes on a chip, and whether constants are fitted to it.

    ``whole`` is what it takes together with what runs before it, and ``before`` what
    that is, where it was not measured by itself.
    """

    structure: Structure
    costs: Costs
    whole: Costs
    is_fitted: bool
    before: Structure | None = None


def pieces(
    model: CompiledModel | QuantModel, chip: Chip, is_fitted: bool, converted: bool
) -> Iterator[Piece]:
    """The last piece of a model's code, and the conversion of its inputs if wanted."""
    *before, last = structures(model)
    alone = told(model, chip)
    if alone is None:
        return
    yield Piece(last, alone, alone, is_fitted, *before)
    both = told(model, chip, True) if converted and model.is_integer else None
    if both is not None:
        # Calls follow each other: the deeper one's stack is all that is seen.
        stack = both.stack if both.stack > alone.stack else 0
        more = Costs(both.flash - alone.flash, stack, both.count - alone.count)
        yield Piece(structures(model, True)[-1], more, both, is_fitted)


def fit(found: Iterable[tuple[str, Piece]], known: Mapping) -> None:
    """Write what each part takes, from pieces of code with the names of their chips.

    Of forms without a piece, as it is known.
    """
    table, groups = defaultdict(dict, known), defaultdict(list)
    for chip, piece in found:
        groups[piece.structure.form, chip].append(piece)
    for (form, chip), own in sorted(groups.items(), key=lambda g: bool(g[1][0].before)):
        own = [_beyond(piece, table, chip) for piece in own]
        fitted = [piece for piece in own if piece.is_fitted]
        table[form][chip] = {
            "flash": _constants(fitted, "flash"),
            "stack": _stack([(p.structure, p.costs.stack) for p in own]),
            "count": _constants(fitted, "count"),
            "error": {what: _error(own, what) for what in ("flash", "count")},
        }
    TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", "ascii")


def _beyond(piece: Piece, table: Mapping, chip: str) -> Piece:
    """The piece less what the constants say of the one before it."""
    if piece.before is None:
        return piece
    first = estimate(piece.before, table[piece.before.form][chip])
    costs = piece.costs
    less = costs.flash - first.flash, costs.stack, costs.count - first.count
    return piece._replace(costs=Costs(*less))


def _constants(pieces: list[Piece], what: str) -> dict[str, float]:
    """What one part takes, none less than nothing: least squares of relative errors."""
    wanted = np.array([getattr(piece.costs, what) for piece in pieces], float)
    counts = pd.DataFrame([_counted(piece, what) for piece in pieces]).fillna(0.0)
    if counts.empty:  # of nothing nnls frees its memory twice
        raise SystemExit(f"No program was measured for its {what}; compile some first.")
    start = np.array([_start(piece, what) for piece in pieces])
    weight = 1 / np.array([getattr(piece.whole, what) for piece in pieces])
    each, _ = nnls(counts.to_numpy() * weight[:, None], (wanted - start) * weight)
    found = zip(counts, each.tolist(), strict=True)
    return {name: float(f"{size:.4g}") for name, size in found if size > 0}


def _counted(piece: Piece, what: str) -> Mapping[str, int]:
    return piece.structure.code if what == "flash" else piece.structure.work


def _start(piece: Piece, what: str) -> float:
    return float(piece.structure.table_bytes) if what == "flash" else 0.0


def _error(pieces: list[Piece], what: str) -> float:
    """Error that 19 of 20 pieces do not exceed that had no part in the constants."""
    fitted = [piece for piece in pieces if piece.is_fitted]
    order = np.random.default_rng(0).permutation(len(fitted))
    errors = []
    for fold in range(FOLDS):
        held = {int(place) for place in order[fold::FOLDS]}
        rest = [piece for n, piece in enumerate(fitted) if n not in held]
        tried = [fitted[n] for n in held]
        if fold == 0:
            tried += [piece for piece in pieces if not piece.is_fitted]
        each = _constants(rest, what)
        for piece in tried:
            counts = _counted(piece, what).items()
            guess = _start(piece, what) + sum(each.get(k, 0.0) * n for k, n in counts)
            off = guess - getattr(piece.costs, what)
            errors.append(abs(off) / getattr(piece.whole, what))
    return max(0.01, math.ceil(1000 * np.quantile(errors, 0.95)) / 1000)


def _stack(found: list[tuple[Structure, int]]) -> dict[str, float]:
    """What a call takes, and each further part: never less than was measured.

    A stack that is too small breaks a program, so that no mean of errors will do. Code
    that is written out is a leaf, and its smallest stack that of a call: on an AVR the
    return address, on a Cortex-M nothing.
    """
    counts = [structure.stack for structure, _ in found]
    array = np.array([count.get("array", 0) for count in counts])
    wanted = np.array([stack for _, stack in found]) - array
    if "term" not in counts[0]:  # arrays, and the most that anything else took
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
        for fit in (super_sparse, imkpl):
            found[f"{data} {fit.__name__}"] = kernel_fitted(data, fit, "rbf")[-1]
    for kind in ("laplacian", "cosine", "ncc", "intersection"):
        found[f"wine {kind}"] = kernel_fitted("wine", super_sparse, kind)[-1]
    for data, kind in product(("iris", "wine"), ("rbf", "poly")):
        found[f"{data} svm {kind}"] = kernel_fitted(data, svm, kind)[-1]
    for name, compiled in found.items():
        for model in _formats(compiled, ((16, None), (8, None))):
            yield name, model


def compared() -> pd.DataFrame:
    """Estimates beside measurements, of models of the app, which no constant is of."""
    lines = []
    for name, model in app_models():
        for chip in CHIPS.values():
            found, guess = told(model, chip), estimated(model, chip.name)
            if found is None:
                continue
            line = {"model": f"{name}, {model.number}", "chip": chip.name}
            for what in ("flash", "stack", "count"):
                own, real = getattr(guess, what), getattr(found, what)
                line |= {what: real, f"{what} estimated": own}
                line[f"{what} off %"] = round(100 * (own / real - 1), 1) if real else 0
            lines.append(line)
    return pd.DataFrame(lines)


def main() -> None:
    """Print the table, and the worst errors; ``--fit cosine ncc`` first fits these."""
    if "--fit" in sys.argv[1:]:
        words = sys.argv[sys.argv.index("--fit") + 1 :] or [""]
        known = json.loads(TABLE.read_text("ascii"))
        random = ((model, True) for model in (*random_models(), *coded_models()))
        small = ((model, True) for model in small_models())
        own = ((model, False) for _, model in app_models())
        fit(
            (
                (chip.name, piece)
                for model, is_fitted in (*random, *small, *own)
                if any(word in structures(model)[-1].form for word in words)
                for chip in CHIPS.values()
                for piece in pieces(model, chip, is_fitted, words == [""])
            ),
            {} if words == [""] else known,
        )
    table = compared()
    print(table.to_string(index=False))
    for what in ("flash", "count"):
        off = table[f"{what} off %"].abs()
        for chip, own in off.groupby(table.chip):
            print(
                f"{what}, {chip}: median error {own.median():.1f} %, largest "
                f"{own.max():.1f} %, at most 10 % in {(own <= 10).mean():.0%} of cells"
            )
    less = (table["stack estimated"] - table["stack"]).min()
    print(f"stack: the estimate is never more than {-min(0, less)} bytes too low")


if __name__ == "__main__":
    main()
