"""Series as a stream: on every window the answer of all its samples at once."""

import re
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from smpcore import codegen
from smpcore.chips import CHIPS, measure
from smpcore.chips.programs import NOT_DUE
from smpcore.codegen import (
    TARGETS,
    SensorRange,
    Stream,
    compile_model,
    emit_stream,
    quantise,
)
from smpcore.codegen.targets.c99.common import c_type
from smpcore.codegen.targets.c99.stream import state_bytes, taken_type
from smpcore.datasets.columns import cells
from smpcore.errors import ExportError
from tests.smpcore.codegen.c_programs import Part, answers_of
from tests.smpcore.codegen.models import one_value, random_linear
from tests.smpcore.codegen.toolchain import (
    SANITIZE,
    STRICT,
    CommandFailed,
    bundle,
    run,
    unpack,
)

_FUNCTION = """
static void ask_{name}_stream(uint32_t n)
{{
    static const unsigned char fills[] = {{0x00, 0xff, 0xa5}};
    static struct {name}_stream begun, stream;
    float sample[{M}_STREAM_N];
    {taken} x[{M}_STREAM_N];
    {row} row[{M}_N];
    uint32_t k, left, noise = 1;

    if (sizeof stream != {state}) {{
        exit(4); /* boards are judged by that */
    }}
    {name}_stream_start(&begun);
    for (k = 0; k < sizeof fills; ++k) {{
        memset(&stream, fills[k], sizeof stream);
        {name}_stream_start(&stream);
        (void){name}_stream_predict(&stream);
        if (memcmp(&stream, &begun, sizeof stream)) {{
            exit(2); /* it has something of the memory that it begins in */
        }}
    }}
    for (k = 0; k < {M}_STREAM_N; ++k) {{
        x[k] = ({taken})INT16_MIN;
    }}
    for (k = 1200; k > 0; --k) {{
        noise = noise * 75U % 65537U; /* anywhere in a window */
        left = noise % (2U * {M}_STREAM_WINDOW + {M}_STREAM_HOP);
        for (; left > 0; --left) {{
            if ({name}_stream_push(&stream, x) && {changes}) {{
                (void){name}_stream_{ask}(&stream);
            }}
        }}
        {name}_stream_start(&stream);
        if (memcmp(&stream, &begun, sizeof stream)) {{
            exit(3); /* it has something of the samples before */
        }}
    }}
    for (; n > 0; --n) {{
        get(sample, sizeof sample);
        {convert};
        if ({name}_stream_push(&stream, x)) {{
            PUT({answer}, {name}_stream_{ask}(&stream));
            {name}_stream_inputs(&stream, row);
            put(row, sizeof row);
        }}
    }}
}}
"""
CHANNELS = ("x, g", "y, g", "z, g")


def streamed(width, n_times, hop, density=0.4, seed=0, regression=False):
    """A model of some samples of a window, with its stream."""
    n, names = 3 * n_times, tuple(cells([*CHANNELS], n_times))
    # A sensor has one range, whatever the time.
    center = np.repeat([1.0, -20.0, 0.0], n_times)
    scale = np.repeat([1.0, 5.0, 0.1], n_times)
    parts = {"center": center, "low": center - 2 * scale, "high": center + 2 * scale}
    parts |= {"scale": scale, "feature_names": names, "seed": seed, "density": density}
    make = partial(random_linear, n_features=n, **parts)
    model = compile_model(one_value(make, 6) if regression else make())
    stream = Stream(CHANNELS, names, hop)
    return (
        quantise(model, width, stream.ranges(model, {})) if width else model
    ), stream


def series(model, n, seed=0):
    """Samples of the three channels, some of them far outside of the ranges."""
    random = np.random.default_rng(seed)
    walk = random.normal([1.0, -20.0, 0.0], [1.0, 5.0, 0.1], (n, 3))
    walk[:: n // 7] *= 100
    return walk.astype(np.float32)


def windows(model, stream, samples):
    """What the batch form is given: the used samples of each window."""
    begins = range(0, len(samples) - stream.n_times + 1, stream.hop)
    rows = np.array([samples[b : b + stream.n_times].T.ravel() for b in begins])
    return rows[:, [entry.index for entry in model.source.inputs]].astype(float)


SHAPES = [(40, 40), (40, 39), (40, 20), (40, 13), (40, 1), (7, 3), (1, 1), (300, 8)]


def _part(place, model, stream, samples):
    """Give a stream a sample at a time, take answer and inputs of each window."""
    (given, score), p = model.types, f"m{place}"
    words = {"name": p, "M": p.upper(), "convert": "memcpy(x, sample, sizeof x)"}
    if stream.width(model):
        words["convert"] = f"{p}_stream_quantise(sample, x)"
    answer = score if model.is_regression else np.dtype("u1")
    types = {"taken": taken_type(model, stream), "row": given, "answer": answer}
    words |= {name: c_type(kind) for name, kind in types.items()}
    words["state"] = state_bytes(model, stream)
    words["ask"] = "debounced" if stream.debounces else "predict"
    words["changes"] = int(stream.debounces)
    files, n = emit_stream(model, p, stream), len(samples)
    record = np.dtype([("answer", answer), ("row", given, (len(model.inputs),))])
    asks = _FUNCTION.format(**words), samples.tobytes(), n, record
    return Part(f"{p}_stream", files, *asks, len(stream.begins(n)))


def check(compiler, cases, *flags):
    """What C says of windows is what the emulator says of their rows, bit for bit.

    A case is a model, its stream, samples, and the rows of their windows. A stream
    begins the same in any memory, and after any samples.
    """
    parts = [_part(place, *one[:3]) for place, one in enumerate(cases)]
    answers = answers_of(parts, compiler, [*STRICT, *SANITIZE, *flags])
    for (model, stream, _, batch), told in zip(cases, answers, strict=True):
        rows = model.to_inputs(batch)
        assert told["row"].tobytes() == rows.astype(told["row"].dtype.base).tobytes()
        undelayed = model.winners(rows)
        wanted = stream.debounced(undelayed)
        if model.is_regression:
            undelayed = wanted = model.scores(rows)[:, 0]
        assert told["answer"].tobytes() == wanted.astype(told["answer"].dtype).tobytes()
        assert len({*undelayed}) > 1


def every_second(shapes, width):
    """Shapes and whether their model is a regression: each is for some widths."""
    for place, shape in enumerate(shapes):
        yield *shape, (place + (width or 0) // 8) % 2 == 1


def with_debouncing(model, stream):
    """Classifiers debounce their answers, each in another way."""
    ways = {} if model.is_regression else {"votes": 1 + stream.hop % 6}
    return replace(stream, **ways, hold=len(ways) * (stream.n_times + stream.hop) % 4)


def test_a_debounced_answer_is_that_of_most_of_the_last():
    """By hand, and by counting anew with dictionaries."""
    _, stream = streamed(None, 7, 3)
    debounced = {
        (3, 0): [0, 0, 0, 1, 1, 1, 1, 2, 2],
        (1, 2): [0, 1, 1, 1, 1, 2, 2, 2, 2],
        (4, 1): [0, 0, 0, 0, 1, 1, 1, 1, 2],
    }
    for (votes, hold), wanted in debounced.items():
        one = replace(stream, votes=votes, hold=hold)
        assert [*one.debounced([0, 1, 0, 1, 1, 2, 1, 2, 2])] == wanted, (votes, hold)
    for seed in range(40):
        random = np.random.default_rng(seed)
        votes, hold = random.integers(1, 9), random.integers(0, 5)
        answers = random.integers(0, 3, 200).tolist()
        steady, since, wanted = answers[0], hold, []
        for k in range(len(answers)):
            count = Counter(answers[: k + 1][-votes:])
            (winner, n), since = count.most_common(1)[0], since + 1
            if n > count.total() - n and winner != steady and since > hold:
                steady, since = winner, 0
            wanted.append(steady)
        one = replace(stream, votes=votes, hold=hold)
        assert [*one.debounced(answers)] == wanted


@pytest.mark.parametrize("width", [None, 16, 8])
def test_every_window_is_answered_as_at_once(tool, width):
    cases = []
    for n_times, hop, regression in every_second(SHAPES, width):
        dense = 0.9 if n_times == 1 else 0.02 if n_times > 100 else 0.4
        model, stream = streamed(width, n_times, hop, dense, n_times + hop, regression)
        stream = with_debouncing(model, stream)
        samples = series(model, 1000)
        cases.append((model, stream, samples, windows(model, stream, samples)))
    check(tool("gcc"), cases)


@pytest.mark.parametrize("width", [None, 16, 8])
def test_many_samples_overflow_no_place_of_a_ring(tool, width):
    """Also where C defines what becomes of a number that is too large."""
    cases, n = [], 2**17
    for n_times, hop, regression in every_second([(40, 40), (40, 13), (7, 3)], width):
        model, stream = streamed(width, n_times, hop, regression=regression)
        samples = series(model, n)
        cases.append((model, stream, samples, windows(model, stream, samples)))
    check(tool("clang"), cases, "-fsanitize=integer")


@pytest.mark.parametrize(("n_times", "hop"), SHAPES)
def test_no_sample_is_kept_that_no_window_needs(n_times, hop):
    """Counted sample by sample, when the tenth window is answered."""
    model, stream = streamed(None, n_times, hop, 0.02 if n_times > 100 else 0.4)
    used = [divmod(entry.index, n_times) for entry in model.inputs]
    needed = {(c, n * hop + t) for n in range(9, 9 + n_times) for c, t in used}
    kept = sum(time < 9 * hop + n_times for _, time in needed)
    header = emit_stream(model, "mdl", stream)["mdl_stream.h"].decode()
    assert f"#define MDL_STREAM_SLOTS {kept} " in header


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(
    ("width", "converted", "hop"), [(None, 0, 13), (16, 0, 40), (8, 1, 13)]
)
def test_a_chip_answers_every_window(simulated, chip, width, converted, hop):
    model, stream = streamed(width, 40, hop, 0.1, 1)
    stream = replace(stream, votes=3, hold=1)
    samples = given = series(model, 250)
    rows = model.to_inputs(windows(model, stream, samples))
    if width and not converted:
        given = stream.quantise(model, samples)
    found = measure(model, given, simulated(chip), STRICT, bool(converted), stream)
    due = check_due(found, model, rows, range(39, 250, hop), stream)
    assert found.counts[due].min() > found.counts[~due].max() > 0
    state = state_bytes(model, stream, aligned=chip != "ATmega328P")
    assert 0 <= found.ram - state - 3 * converted < 4  # and the integers of a sample
    slots = len(rows[0]) if hop == 40 else 2 * len(rows[0])
    assert found.ram < slots * found.scores.itemsize + 38


def check_due(found, model, rows, times, stream):
    """A chip answers at these times, as the emulator, bit for bit."""
    due = found.winners != NOT_DUE
    assert [*np.flatnonzero(due)] == [*times]
    scores = model.scores(rows).astype(found.scores.dtype)
    assert found.scores[due].tobytes() == scores.tobytes()
    wanted = stream.debounced(model.winners(rows))
    np.testing.assert_array_equal(found.winners[due], wanted)
    return due


@pytest.mark.parametrize("width", [None, 8])
@pytest.mark.parametrize("target", TARGETS)
def test_every_target_in_c_has_the_stream(tool, tmp_path, target, width):
    """Its self-test passes, and its README calls what the header declares."""
    model, stream = streamed(width, 12, 5)
    stream = replace(stream, votes=3, hold=1) if width else stream
    vectors = codegen.test_vectors(model, n=8)
    if not TARGETS[target].in_c:
        if model.number in TARGETS[target].numbers:
            with pytest.raises(ExportError, match="has no stream, only C has"):
                bundle(model, vectors, target=target, stream=stream)
        return
    paths = unpack(bundle(model, vectors, "walk", target, stream), tmp_path)
    texts = {path: (tmp_path / path).read_text() for path in paths}
    page, header = texts["README.md"], next(p for p in paths if "_stream.h" in p)
    called = {*re.findall(r"\bwalk_stream_\w+", page)}
    assert called == {*re.findall(r"\bwalk_stream_\w+(?=\()", texts[header])}
    assert "WALK_IN_" not in "".join(texts.values())
    sources = [p for p in paths if re.search(r"walk(_\w+)?\.c$", p)]
    sources = [p for p in sources if not re.search("board|example", p)]
    flags = [*STRICT[1:], "-fsyntax-only", f"-I{(tmp_path / header).parent}"]
    for compiler, language in (("gcc", "-std=c99"), ("g++", "-xc++")):
        run(tool(compiler), *flags, language, *sources, cwd=tmp_path)
    if target == "c99":
        for way, needed in (("simavr", "avr-gcc"), ("qemu", "arm-none-eabi-gcc")):
            tool(needed)
            said = run("sh", "-c", f"make {way} 2>&1", cwd=tmp_path).decode()
            assert "stream: 0 of 8 differ" in said
        assert "selftest: 0 of 8 differ" in stream_tested(tool, tmp_path)


def stream_tested(tool, folder):
    """What a zip tells of itself; of floats a wrong number is noticed in each table."""
    said = run(tool("make"), "host", cwd=folder).decode()
    assert "stream: 0 of 8 differ" in said
    source = folder / "walk_stream.c"
    right = source.read_text()
    rest = [p for p in folder.glob("*.c") if p != source and "board" not in p.name]
    build = partial(run, tool("gcc"), "-w", cwd=folder)
    build("-c", *rest)
    tables = re.findall(r"^static const .*?};", right, re.S | re.M)
    for table in tables if "float32" in right else ():
        begin = table.index("{")
        numbers = [*re.finditer(r"(?<=[{ ])\d", table[begin:])]
        place = begin + numbers[len(numbers) // 2].start()
        other = f"{table[:place]}{int(table[place]) % 9 + 1}{table[place + 1 :]}"
        source.write_text(right.replace(table, other))
        build(source, *folder.glob("*.o"), "-o", "wrong")
        with pytest.raises(CommandFailed):  # differs, or reads beyond its end
            run(folder / "wrong")
    return said


def test_what_cannot_be_a_stream_is_refused():
    model, stream = streamed(None, 40, 40)
    with pytest.raises(ExportError, match="hop=41 should be from 1 to 40"):
        Stream(CHANNELS, stream.columns, 41)
    with pytest.raises(ExportError, match="votes=0 should be from 1 to 31"):
        replace(stream, votes=0)
    value, stream = streamed(None, 7, 3, regression=True)
    with pytest.raises(ExportError, match="numbers are not debounced"):
        emit_stream(value, "mdl", replace(stream, hold=1))
    model, stream = streamed(None, 40, 40)
    with pytest.raises(ExportError, match="is no sample of a channel"):
        emit_stream(model, "mdl", Stream(CHANNELS, tuple("abc"), 1))
    apart, first = stream.ranges(model, {}), model.inputs[0].name
    apart[first] = SensorRange(apart[first].low - 1, apart[first].high)
    with pytest.raises(ExportError, match="Channel 'x, g' has several ranges"):
        emit_stream(quantise(model, 8, apart), "mdl", stream)
