"""Programs of several models in C: compiled once, and asked for everything they tell.

Each model has a prefix of its own, so that a compiler, its sanitizers and an analyser
see about ten models at a time.
"""

from collections.abc import Iterator, Sequence
from itertools import starmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from smpcore import codegen
from smpcore.codegen import emit_c99, sample
from smpcore.codegen.inputs import container_ends
from smpcore.codegen.program import SparseCode
from smpcore.codegen.targets.c99.common import MAX_MASK, c_type
from smpcore.codegen.targets.c99.source import training_ranges
from smpcore.codegen.vectors import discriminating_inputs, saturating_row
from tests.smpcore.codegen.toolchain import run, write

_MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
{includes}
#define PUT(type, value) \\
    do {{ const type one = value; put(&one, sizeof one); }} while (0)
static void get(void *to, size_t size)
{{
    if (fread(to, size, 1, stdin) != 1) {{
        exit(1);
    }}
}}
static void put(const void *from, size_t size)
{{
    if (fwrite(from, size, 1, stdout) != 1) {{
        exit(1);
    }}
}}
{functions}
int main(void)
{{
{calls}
    return 0;
}}
"""

_FUNCTION = """
static void ask_{name}(uint32_t n)
{{
    static {number} x[{M}_N];
    static {score} scores[{outputs}];
    static float values[{M}_N];
    static {number} quantised[{M}_N];
    static uint8_t outside[({M}_N + 7) / 8];
    static uint16_t shares[{outputs}];

    (void)quantised;
    (void)outside;
    (void)shares;
    for (; n > 0; --n) {{
        get(x, sizeof x);
        get(values, sizeof values);
{steps}    }}
}}
"""


class Case(NamedTuple):
    """A model and what it is asked.

    Parameters
    ----------
    model : CompiledModel or QuantModel
    rows : ndarray of shape (n, n_inputs)
        What its C takes.
    values : ndarray of shape (n, n_inputs)
        Of integers also what is converted to them.
    """

    model: Any
    rows: np.ndarray
    values: np.ndarray


def case(model: Any, rows: np.ndarray, values: np.ndarray | None = None) -> Case:
    """A model with rows in the types of its C."""
    with np.errstate(over="ignore"):
        rows = np.asarray(rows).astype(model.types[0])
        values = np.float32(rows if values is None else values)
    return Case(model, rows, values)


def odd_case(model: Any, n: int, seed: int = 0) -> Case:
    """A model with rows of every kind: inside its ranges, far outside, any bits."""
    source = model.source
    values = odd_rows(source, n, seed)
    if not model.is_integer:
        return case(model, values)
    return case(model, near_rows(model, values, n, seed), values[:n])


def odd_rows(compiled: Any, n: int, seed: int = 0) -> np.ndarray:
    """Rows inside and far outside the range, with missing and infinite values."""
    rows = sample(compiled, n, seed)
    random = np.random.default_rng(seed)
    spread = np.array([entry.high - entry.low for entry in compiled.inputs])
    rows[::2] += 10 * spread * random.normal(size=rows[::2].shape)
    rows[::5][random.random(rows[::5].shape) < 0.3] = np.nan
    levels = np.flatnonzero([entry.kind == "category" for entry in compiled.inputs])
    some = random.integers(-2, 5, (n, len(levels)))
    rows[:, levels] = some + random.choice([0, 0, 0.5], some.shape)
    rows[-4:] = [[3.4e38], [-3.4e38], [np.inf], [0.0]]
    code = compiled.find(SparseCode)
    if code is None or code.n_prototypes < 100:  # of more, vectors take long
        rows = np.vstack([rows, codegen.test_vectors(compiled, n=64).rows])
    return rows


def any_integers(quant: Any, n: int, seed: int = 0) -> np.ndarray:
    """Any bits that inputs may have, the corners first."""
    random = np.random.default_rng(seed)
    least, most = container_ends(quant.width)
    rows = random.integers(least, most + 1, (n, len(quant.inputs)))
    rows[0], rows[1], rows[2] = least, most, saturating_row(quant)
    return rows


def near_rows(quant: Any, raw: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    """Rows of integers: any bits, the worst of each anchor, and rows near `raw`.

    Random bits are far from every anchor: alone they would try nothing but zeros.
    """
    random = np.random.default_rng(seed)
    rows = any_integers(quant, n, seed)
    near = quant.quantise(raw)[random.integers(0, len(raw), n // 2)]
    steps = random.integers(-3, 4, near.shape) * (random.random(near.shape) < 0.2)
    rows[n - len(near) :] = np.clip(near + steps, *container_ends(quant.width))
    chosen = list(discriminating_inputs(quant, any_integers(quant, 8, seed)))[: n // 4]
    rows[3 : 3 + len(chosen)] = chosen
    return rows


def _bytes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)


def _fields(model: Any, p: str) -> Iterator[tuple[str, str, tuple[int, ...], str]]:
    """Name, type and shape of all that a model tells of a row, and how C gives it."""
    n, classes, array = len(model.inputs), model.n_outputs, "put({0}, sizeof {0});"
    score = str(model.types[1])
    give = f"{p}_scores(x, scores);"
    if model.is_regression:
        give = f"scores[0] = {p}_predict(x);"
    yield "scores", score, (classes,), give + array.format("scores")
    numbers = {}
    if not model.is_regression:
        margin = f"u{score}" if model.is_integer else score
        numbers |= {"predict": "uint32", "margin": margin}
        if model.not_sure >= 0:
            numbers["sure"] = "uint8"
    if model.probability and classes == 2:
        numbers["probability"] = "uint16"
    elif model.probability:
        give = f"{p}_probabilities(x, shares);" + array.format("shares")
        yield "probability", "uint16", (classes,), give
    if model.is_integer:
        numbers["saturated"] = "uint32"
        give = f"{p}_quantise(values, quantised);" + array.format("quantised")
        yield "quantise", str(model.types[0]), (n,), give
    for name, kind in numbers.items():
        yield name, kind, (), f"PUT({c_type(np.dtype(kind))}, {p}_{name}(x));"
    more = ", outside" if n > MAX_MASK else ""
    yield "outside", "uint32", (), f"PUT(uint32_t, {p}_check_inputs(x{more}));"
    if more:
        yield "bits", "uint8", ((n + 7) // 8,), array.format("outside")


def expected(case: Case) -> dict[str, np.ndarray]:
    """What the emulator says of each of `_fields`."""
    model, rows, values = case
    given = rows.astype(np.int64 if model.is_integer else np.float64)
    scores = model.scores(given)
    low, high = training_ranges(model)
    outside = (rows < low) | (rows > high)
    if all(entry.missing is None for entry in model.source.inputs):
        outside |= np.isnan(rows)
    told = {"scores": scores, "outside": outside.sum(axis=1)}
    if rows.shape[1] > MAX_MASK:
        told["bits"] = np.packbits(outside, axis=1, bitorder="little")
    else:
        told["outside"] = (outside << np.arange(rows.shape[1])).sum(axis=1)
    if model.is_integer:
        told["saturated"] = model.saturated(given)
        told["quantise"] = model.quantise(values)
    if not model.is_regression:
        with np.errstate(invalid="ignore", over="ignore"):
            margin = model.margins(given)
        told |= {"predict": model.winners(given), "margin": margin}
        told["sure"] = margin > model.not_sure
    if model.probability:
        told["probability"] = model.probability.of_scores(scores)
    return told


def union_files(models: Sequence[Any]) -> dict[str, bytes]:
    """The C files of models, each with a prefix of its own."""
    files = {}
    for place, model in enumerate(models):
        files |= emit_c99(model, f"m{place}")
    return files


class Part(NamedTuple):
    """What a program does with one model.

    Parameters
    ----------
    name : str
        Of its header, without the ending.
    files : dict of str to bytes
    function : str
        C of `static void ask_NAME(uint32_t n)`, which gets and puts.
    given : bytes
        What it gets, all in all.
    n : int
        What it is called with.
    record : dtype
        What it puts at a time.
    n_records : int
        How often it does.
    """

    name: str
    files: dict[str, bytes]
    function: str
    given: bytes
    n: int
    record: np.dtype
    n_records: int


def answers_of(
    parts: Sequence[Part], compiler: str, flags: Sequence[str]
) -> list[np.ndarray]:
    """Compile one program of all these parts, run it, and tell what each has put."""
    main = _MAIN.format(
        includes="".join(f'#include "{one.name}.h"\n' for one in parts),
        functions="".join(one.function for one in parts),
        calls="\n".join(f"    ask_{one.name}({one.n});" for one in parts),
    )
    files = {"main.c": main.encode()}
    for one in parts:
        files |= one.files
    with TemporaryDirectory() as folder:
        write(folder, files)
        sources = [name for name in files if name.endswith(".c")]
        command = [compiler, "-std=c99", "-ffp-contract=off", *flags]
        run(*command, "-o", "run", *sources, cwd=folder)
        told = run(Path(folder) / "run", given=b"".join(one.given for one in parts))
    found, at = [], 0
    for one in parts:
        found.append(np.frombuffer(told, one.record, one.n_records, at))
        at += found[-1].nbytes
    assert at == len(told)
    return found


def _part(place: int, case: Case) -> Part:
    """Ask a model all that it tells of each of its rows."""
    (model, rows, values), p = case, f"m{place}"
    fields = list(_fields(model, p))
    record = np.dtype([field[:3] for field in fields])
    words = {"name": p, "M": p.upper(), "outputs": model.n_outputs}
    words |= {"number": c_type(rows.dtype), "score": c_type(record["scores"].base)}
    words["steps"] = "".join(f"        {give}\n" for *_, give in fields)
    given = np.hstack([_bytes(rows), _bytes(values)]).tobytes()
    n = len(rows)
    return Part(p, emit_c99(model, p), _FUNCTION.format(**words), given, n, record, n)


def assert_same_in_c(
    cases: Sequence[Case], compiler: str = "gcc", flags: Sequence[str] = ("-O2",)
) -> list[np.ndarray]:
    """C tells of every row all that the emulator tells, bit for bit; return that."""
    answers = answers_of(list(starmap(_part, enumerate(cases))), compiler, flags)
    for one, found in zip(cases, answers, strict=True):
        wanted = expected(one)
        for name in found.dtype.names:
            np.testing.assert_array_equal(found[name], wanted[name], name)
        signs = np.signbit(found["scores"]) == np.signbit(wanted["scores"])
        assert (signs | np.isnan(wanted["scores"])).all()
    return answers
