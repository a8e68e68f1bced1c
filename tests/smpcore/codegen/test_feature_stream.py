"""Features of series: what they mean, and the same bits in C, a sample at a time."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import signal

from smpcore import codegen
from smpcore.chips import CHIPS, measure
from smpcore.chips.programs import NOT_DUE
from smpcore.codegen import (
    FeatureStream,
    compile_model,
    emit_stream,
    quantise,
)
from smpcore.codegen.targets.c99.stream import state_bytes
from smpcore.datasets import CleaningStep, apply_steps, make_dataset, prepare
from smpcore.datasets.biquads import VALUE_BITS, biquad, filter_names, filtered
from smpcore.datasets.columns import cells
from smpcore.datasets.series_features import (
    Channel,
    counts,
    feature_names,
    hann,
    is_spectral,
    series_features,
)
from smpcore.datasets.spectrum import LARGEST, Blocks, spectra
from smpcore.errors import DatasetError, ExportError
from tests.smpcore.codegen.models import one_value, random_linear
from tests.smpcore.codegen.test_stream import (
    check,
    check_due,
    every_second,
    stream_tested,
    with_debouncing,
)
from tests.smpcore.codegen.toolchain import STRICT, bundle, contents, unpack

CHANNELS = ("x", "y, mg", "z")
COUNTS = (0.01, 1.0, 2.0**-12)


def movements(n, seed=0):
    """Samples of an accelerometer: three kinds of movement, one after the other."""
    random = np.random.default_rng(seed)
    time = np.arange(n)
    kind = time // 150 % 3
    speed = np.array([0.0, 0.2, 0.9])[kind]
    swing = np.sin(np.cumsum(speed))[:, None] * [3.0, 400.0, 0.2]
    samples = swing + random.normal([9.8, 0.0, 0.0], [0.1, 20.0, 0.05], (n, 3))
    samples[:, 1] = np.round(samples[:, 1])
    return samples.astype(np.float32), kind


def steps_of(n_times, names=None, filters=()):
    return tuple(
        CleaningStep(
            cells([channel], n_times)[0],
            features=names or feature_names(n_times),
            n_times=n_times,
            count=count,
            filters=filters,
        )
        for channel, count in zip(CHANNELS, COUNTS, strict=True)
    )


def rows_of(samples, n_times, hop):
    """Each window as a row of a table of series."""
    begins = range(0, len(samples) - n_times + 1, hop)
    rows = [samples[b : b + n_times].T.ravel() for b in begins]
    return pd.DataFrame(rows, columns=cells([*CHANNELS], n_times)).astype(float)


def featured(
    width, n_times, hop, names=None, density=0.6, regression=False, filters=()
):
    """A model on features of windows, with its stream and its preparation."""
    steps = steps_of(n_times, names, filters)
    samples, kind = movements(n_times * 40)
    frame = rows_of(samples, n_times, n_times)
    frame["kind"] = kind[n_times - 1 :: n_times].astype(str)
    roles = dict.fromkeys(frame, "ignore") | {"kind": "target"}
    dataset = make_dataset(frame, "moves", roles=roles, cleaning=steps)
    preparation = prepare(dataset, np.arange(30))
    X = preparation.transform(dataset.frame.iloc[:30])
    sized = {"center": X.mean(axis=0), "scale": X.std(axis=0) + 1e-3}
    sized |= {"low": X.min(axis=0), "high": X.max(axis=0), "density": density}
    make = partial(random_linear, n_features=X.shape[1], **sized)
    model = compile_model(one_value(make, 6) if regression else make(), preparation)
    return (quantise(model, width) if width else model), FeatureStream.of(steps, hop)


def test_features_are_what_their_names_say():
    """By NumPy on the counts, and by the Fourier transform of each block."""
    samples = rows_of(movements(2000)[0], 200, 67).to_numpy()[:, :200]
    samples = samples - 9.8  # so that zero is crossed
    names, q = feature_names(200), counts(samples, 0.001) * 0.001
    assert np.abs(q - samples).max() < 0.00051
    found = dict(
        zip(names, series_features(Channel(samples, 0.001), names).T, strict=True)
    )
    close = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(found["mean"], q.mean(axis=1), **close)
    np.testing.assert_allclose(found["standard deviation"], q.std(axis=1), **close)
    np.testing.assert_allclose(found["minimum"], q.min(axis=1), **close)
    np.testing.assert_allclose(found["maximum"], q.max(axis=1), **close)
    np.testing.assert_allclose(found["range"], q.max(axis=1) - q.min(axis=1), **close)
    np.testing.assert_allclose(found["variance"], q.var(axis=1), **close)
    np.testing.assert_allclose(found["RMS"] ** 2, (q**2).mean(axis=1), **close)
    sizes = np.abs(q[:, 1:] - q[:, :-1])
    np.testing.assert_allclose(found["jerk"], sizes.mean(axis=1), **close)
    sides = np.sign(q - q.mean(axis=1, keepdims=True))
    turns = (sides[:, 1:] * sides[:, :-1] < 0).sum(axis=1)
    np.testing.assert_array_equal(found["mean crossings"], turns)
    assert turns.max() > 3
    crossed = (np.sign(q + 1e-9)[:, 1:] != np.sign(q + 1e-9)[:, :-1]).sum(axis=1)
    np.testing.assert_array_equal(found["zero crossings"], crossed)
    assert crossed.max() > 3
    part, steps = (
        np.linspace(-1, 1, len(q))[:, None],
        (Channel(samples, 0.001), ["correlation"]),
    )
    other = 100 * part * samples + np.random.default_rng(0).normal(0, 50, q.shape)
    (share,) = series_features(*steps, Channel(other, 0.1)).T
    wanted = [np.corrcoef(*pair)[0, 1] for pair in zip(samples, other, strict=True)]
    np.testing.assert_allclose(share, wanted, atol=1e-3)
    assert min(wanted) < -0.5 and max(wanted) > 0.5
    assert not series_features(*steps, Channel(np.ones_like(other), 1.0)).any()
    bands = [name for name in names if name.startswith("band")]
    assert bands == [f"band {2**k}" for k in range(1, 7)]
    for name in bands:
        block = 400 // int(name.split()[1])
        blocks = q[:, : 200 // block * block].reshape(len(q), -1, block)
        weights = np.sin(np.pi * (np.arange(block) + 0.5) / block) ** 2
        power = np.abs(np.fft.rfft(blocks * weights)[:, :, 2]) ** 2
        wanted = 4 / block * np.sqrt(power.mean(axis=1))
        np.testing.assert_allclose(found[name], wanted, rtol=2e-3, atol=0.003)


@pytest.mark.parametrize("n_times", [8, 100, 1000])
def test_no_signal_leaves_the_numbers_of_c(n_times):
    """The worst signal of each band: full scale, with the signs of its response."""
    for name in feature_names(n_times):
        if not name.startswith("band"):
            continue
        block = 2 * n_times // int(name.split()[1])
        angle = 4 * np.pi / block
        worst = np.sign(np.sin(angle * np.arange(block, 0, -1)))
        level = change = largest = 0
        for q in worst * (2**15 - 1):
            change += q - 4 * np.sin(angle / 2) ** 2 * level
            level += change
            largest = max(largest, abs(level), abs(change))
        assert largest < 2**31 - 2**16, name


def asked(model, stream, samples):
    """What `check` compares of a model on features."""
    windows = rows_of(samples, stream.n_times, stream.hop)
    rows = model.rows(apply_steps(windows, stream.steps))
    return model, stream, samples, rows


def spectral_names(n_times):
    return [name for name in feature_names(n_times) if is_spectral(name)]


def integer_spectrum(block):
    """Power of each bin, an integer at a time, by the definition of each stage."""
    n, hann_of = len(block), hann(len(block)).tolist()
    mean = (sum(block) + n // 2) // n
    top, times = max(abs(x - mean) for x in block) + 1, 3
    while top > LARGEST:
        top, times = -(-top // 2), times + 1
    while 0 < times <= 3 and 2 * top <= LARGEST:
        top, times = 2 * top, times - 1
    halved = 2 ** max(times - 3, 0)
    factor = 2 ** max(3 - times, 0)
    mean = (factor * sum(block) + n // 2) // n
    values = [(factor * x - mean + halved // 2) // halved for x in block]
    values = [x * w // 2**16 for x, w in zip(values, hann_of, strict=True)]
    z = [*zip(values[::2], values[1::2], strict=True)]

    def turn(a, b, k):
        c, s = (round(f(2 * np.pi * k / n) * 2**14) for f in (np.cos, np.sin))
        return (a * c + b * s + 2**13) // 2**14, (b * c - a * s + 2**13) // 2**14

    def fitted(stage):
        nonlocal times
        top, shift = max(max(map(abs, one)) for row in stage for one in row), 0
        while top > LARGEST:
            top, shift = -(-top // 2), shift + 1
        times += shift
        half = 2**shift // 2
        return [[tuple((v + half) // 2**shift for v in x) for x in y] for y in stage]

    # Transforms of every second number, from those of one number each.
    stage, apart = [[one] for one in z], len(z)
    while apart > 1:
        stage, apart = fitted(stage), apart // 2
        joined = []
        for even, odd in zip(stage[:apart], stage[apart:], strict=True):
            turned = [turn(*x, k * apart * 2) for k, x in enumerate(odd)]
            pairs = [*zip(even, turned, strict=True)]
            joined.append([(a + c, b + d) for (a, b), (c, d) in pairs])
            joined[-1] += [(a - c, b - d) for (a, b), (c, d) in pairs]
        stage = joined
    (z,), power = fitted(stage), [0] * (n // 2)
    for k in range(1, n // 4 + 1):
        (a, b), (x, y) = z[k], z[-k]
        odd, even = turn(b + y, x - a, k)
        even = -even
        power[n // 2 - k] = ((a + x - odd) // 2) ** 2 + ((b - y + even) // 2) ** 2
        power[k] = ((a + x + odd) // 2) ** 2 + ((b - y - even) // 2) ** 2
    return [one * 4**times for one in power]


@pytest.mark.parametrize("n_times", [64, 100, 512, 1000])
def test_spectra_are_those_of_slow_whole_numbers_and_near_numpy(n_times):
    random, time = np.random.default_rng(n_times), np.arange(n_times)
    tone = np.sin(2 * np.pi * 0.11 * time) + random.normal(0, 0.02, n_times)
    rows = [a * tone + b for a, b in ((3, 0), (90, 9000), (900, 0), (32000, -900))]
    rows += [32767 * np.sign(tone), 0 * tone, 5 + (time == 7)]
    q = np.rint(np.clip(rows, -(2**15), 2**15 - 1)).astype(np.int64)
    size, n_blocks, step = Blocks.of(n_times)
    found = spectra(q, hann(size), 16)
    for row, powers in zip(q.tolist(), found.tolist(), strict=True):
        for k, power in enumerate(powers):
            assert power == integer_spectrum(row[k * step : k * step + size])
    blocks = q[:, np.arange(n_blocks)[:, None] * step + np.arange(size)]
    weights = np.sin(np.pi * (np.arange(size) + 0.5) / size) ** 2
    blocks = (blocks - blocks.mean(axis=-1, keepdims=True)) * weights
    exact = np.abs(np.fft.rfft(blocks)[..., 1:-1]) ** 2
    near = np.sqrt(found[..., 1:] / 4**3) - np.sqrt(exact)
    most = np.sqrt(exact.max(axis=-1, keepdims=True))
    assert (np.abs(near) < 0.001 * most + 0.02 * size).all()
    assert found.sum() * size < 2**63
    names = spectral_names(n_times)
    values = dict(zip(names, series_features(Channel(q, 1.0), names).T, strict=True))
    total = sum(values[name] for name in names if "power" in name)
    mean_square = 2 * exact.sum(axis=-1).mean(axis=1) / size**2 / (3 / 8)
    np.testing.assert_allclose(total[:5], mean_square[:5], rtol=0.02)
    power, bins = exact.sum(axis=1), np.arange(1, size // 2)
    centroid = (power * bins).sum(axis=1) / np.maximum(power.sum(axis=1), 1e-9)
    found = values["spectral centroid"] / n_times
    np.testing.assert_allclose(found[1:4], centroid[1:4] / size, rtol=0.02)
    assert (np.abs(values["spectral peak"][:5] / n_times - 0.11) <= 1 / size).all()
    assert not any(values[name][5] for name in names)


@pytest.mark.parametrize("width", [None, 16])
def test_every_window_has_the_spectra_of_its_row(tool, width):
    cases = []
    for n_times, hop in [(64, 64), (100, 13), (600, 300)]:
        filters = ("high-pass 2",) if hop == 13 else ()
        names = [*spectral_names(n_times), "mean crossings"]
        model, stream = featured(width, n_times, hop, names, 0.7, filters=filters)
        samples, _ = movements(1500, seed=1)
        samples[700:720] *= 1000  # beyond 16 bits
        samples[300:400] = 0
        cases.append(asked(model, stream, samples))
    check(tool("clang"), cases, "-fsanitize=integer")


@pytest.mark.parametrize("n_times", [8, 100, 128, 1000])
def test_filters_are_those_of_scipy_and_no_signal_leaves_their_numbers(n_times):
    """Stable by the poles; rounding and values within their bounds, also at rest."""
    random = np.random.default_rng(0)
    noise = random.integers(-(2**15), 2**15, n_times)
    for name in filter_names(n_times):
        one, (kind, _, cycles) = biquad(name, n_times), name.partition("-pass ")
        b, a = signal.butter(2, 2 * int(cycles) / n_times, kind)
        rest = np.sign(signal.lfilter(b, a, np.eye(1, n_times)[0])[::-1]) * 2**15
        rows = np.array([noise, rest, np.full(n_times, 12345), noise // 999])
        rows = np.clip(rows, -(2**15), 2**15 - 1).astype(np.int64)
        begin = signal.lfilter_zi(b, a) * rows[:, :1]
        wanted, _ = signal.lfilter(b, a, rows.astype(float), zi=begin)
        near = 0.6 + 2e-4 * np.abs(rows).max(axis=1, keepdims=True)
        found = filtered(rows, (name,))
        assert (np.abs(found - wanted.clip(-(2**15), 2**15 - 1)) < near).all(), name
        assert (found[2] == (12345 if kind == "low" else 0)).all()
        # The same whole coefficients, in Python's numbers without an end.
        damping, level = one.damping / 2**24, one.level / 2**24
        poles = np.roots([1, level + damping - 2, 1 - damping])
        assert one.is_stable and np.abs(poles).max() < 1
        y = change = exact = slope = 0.0
        largest = slip = 0.0
        x1 = x2 = 0
        for x in [*rest.astype(int), *[0] * 50]:
            taps = one.gain * (x + 2 * one.sign * x1 + x2) * 2**VALUE_BITS
            new = taps - one.level * int(y) - one.damping * int(change) + 2**23
            change = int(change) + (new >> 24)
            y, x1, x2 = int(y) + change, x, x1
            slope += taps / 2**24 - level * exact - damping * slope
            exact += slope
            largest, slip = max(largest, abs(y)), max(slip, abs(y - exact))
        most = one.most_rounding * 2**VALUE_BITS
        assert slip <= most + 1e-3
        assert largest - most <= one.most_gain * 2 ** (15 + VALUE_BITS) < 2**30
        for start in range(-40, 40, 7):  # at rest it stays as near as its bound says
            y, change = start * 64, start
            for _ in range(40 * n_times // int(cycles)):
                new = -one.level * y - one.damping * change + 2**23
                change += new >> 24
                y += change
            assert abs(y) <= most


@pytest.mark.parametrize("width", [None, 16])
def test_every_window_is_filtered_as_its_row(tool, width):
    cases = []
    for n_times, hop in [(64, 64), (50, 13), (8, 1)]:
        ways = [("high-pass 1",), ("high-pass 1", "low-pass 2"), ("low-pass 2",)]
        filters = ways[len(cases)]
        names = ["mean crossings", "correlation", "RMS", "maximum"]
        model, stream = featured(width, n_times, hop, names, 1.0, filters=filters)
        samples, _ = movements(1000, seed=1)
        samples[700:720] *= 1000  # beyond 16 bits
        cases.append(asked(model, stream, samples))
    check(tool("clang"), cases, "-fsanitize=integer")


SHAPES = [(50, 50), (50, 25), (50, 13), (50, 1), (8, 8), (1000, 500)]


@pytest.mark.parametrize("width", [None, 16, 8])
def test_every_window_has_the_features_of_its_samples(tool, width):
    cases = []
    for n_times, hop, regression in every_second(SHAPES, width):
        model, stream = featured(width, n_times, hop, regression=regression)
        samples, _ = movements(max(1500, 4 * n_times), seed=1)
        samples[700:720] *= 1000  # beyond 16 bits
        samples[40:46] *= -np.float32(1)
        stream = with_debouncing(model, stream)
        cases.append(asked(model, stream, samples))
    check(tool("gcc"), cases)


@pytest.mark.parametrize("width", [None, 8])
def test_many_samples_overflow_nothing(tool, width):
    """Also where C defines what becomes of a number that is too large."""
    model, stream = featured(width, 50, 13)
    samples, _ = movements(2**17, seed=3)
    samples[1000:50000] *= 1000  # beyond 16 bits
    check(tool("clang"), [asked(model, stream, samples)], "-fsanitize=integer")


def test_a_gap_counts_as_zero_in_c_and_has_no_features_in_the_table(tool):
    """The header says so, and the README; a window without a gap is the same."""
    model, stream = featured(None, 50, 50)
    samples, _ = movements(400, seed=1)
    samples[[60, 170], [0, 1]] = np.nan
    *_, zero = asked(model, stream, np.nan_to_num(samples))
    check(tool("gcc"), [(model, stream, samples, zero)])
    missing = apply_steps(rows_of(samples, 50, 50), stream.steps)
    gone = missing[[*stream.steps[0].feature_columns]].isna().all(axis=1)
    assert [*np.flatnonzero(gone)] == [1]
    packed = contents(bundle(model, codegen.test_vectors(model, n=8), stream=stream))
    texts = [packed[name].decode() for name in ("mdl_stream.h", "README.md")]
    assert all("counts as 0" in text and "mdl_stream_start" in text for text in texts)
    sizes = (state_bytes(model, stream, aligned) for aligned in (True, False))
    words = "takes {:,} bytes of RAM (on an AVR {:,})".format(*sizes)
    assert words in texts[1].replace("\n", " ")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(
    ("width", "hop", "filters"),
    [(None, 64, ()), (16, 25, ("high-pass 1", "low-pass 8")), (8, 64, ())],
)
def test_a_chip_has_the_same_features(simulated, chip, width, hop, filters):
    n_times = max(hop, 50)
    model, stream = featured(width, n_times, hop, filters=filters)
    samples, _ = movements(400, seed=2)
    rows = model.to_inputs(asked(model, stream, samples)[-1])
    found = measure(model, samples, simulated(chip), STRICT, True, stream)
    state = state_bytes(model, stream, aligned=chip != "ATmega328P")
    assert 0 <= found.ram - state - 6 < 4  # and the counts of a sample
    check_due(found, model, rows, range(n_times - 1, 400, hop), stream)


@pytest.mark.parametrize("hop", [16, 1])
def test_windows_that_overlap_share_one_ring(simulated, hop):
    """Three axes of 128 samples: 768 bytes; a sample without an answer costs little."""
    model, stream = featured(16, 128, hop, ["mean", "minimum", "band 8"], 1.0)
    assert state_bytes(model, stream, aligned=False) == 2 * 3 * 128 + 2 + 1
    samples = stream.quantise(model, movements(160, seed=2)[0])
    found = measure(model, samples, simulated("ATmega328P"), STRICT, False, stream)
    assert found.counts[found.winners == NOT_DUE].max() < 400


def test_a_stack_that_overwrites_the_stream_is_no_measurement(simulated):
    model, stream = featured(16, 128, 16, density=1.0)
    samples = stream.quantise(model, movements(160, seed=2)[0])
    with pytest.raises(ExportError, match="takes more stack than an ATmega328P"):
        measure(model, samples, simulated("ATmega328P"), STRICT, False, stream)


def test_a_ring_has_the_channels_in_use_alone(tool):
    model, stream = featured(16, 50, 13, ["maximum"], density=0.2)
    assert [one.name for one in model.source.inputs] == ["x maximum", "z maximum"]
    assert state_bytes(model, stream) == 2 * (2 * 50) + 2 + 1 + 1  # one is padding
    check(tool("gcc"), [asked(model, stream, movements(1500, seed=1)[0])])


def test_a_program_has_only_what_its_features_need(tool):
    samples, cases = movements(1500, seed=1)[0], []
    numbers = {"mean": 1, "zero crossings": 1, "maximum": 1, "band 4": 4, "RMS": 1}
    numbers |= {"variance": 2, "range": 2, "jerk": 2, "mean crossings": 50}
    numbers["correlation"] = 3
    for name, n in numbers.items():
        model, stream = featured(None, 50, 50, [name], density=1.0)
        cases.append(asked(model, stream, samples))
        slots = len(model.inputs) * n
        header = emit_stream(model, "mdl", stream)["mdl_stream.h"].decode()
        assert f"#define MDL_STREAM_SLOTS {slots} " in header
    check(tool("gcc"), cases)


@pytest.mark.parametrize(("width", "hop"), [(None, 50), (8, 13)])
def test_a_zip_tests_its_features(tool, tmp_path, width, hop):
    model, stream = featured(width, 50, hop, density=1.0)
    vectors = codegen.test_vectors(model, n=8)
    unpack(bundle(model, vectors, "walk", stream=stream), tmp_path)
    assert "selftest: 0 of 8 differ" in stream_tested(tool, tmp_path)


def test_what_is_no_feature_is_refused():
    with pytest.raises(DatasetError, match=r"\['median'\] are none of 8 samples"):
        CleaningStep("x_t1", features=("median",), n_times=8)
    with pytest.raises(DatasetError, match=r"filters=\['high-pass 3'\] are none of 8"):
        CleaningStep("x_t1", features=("mean",), n_times=8, filters=("high-pass 3",))
    with pytest.raises(DatasetError, match=r"count=0\.0 should be a number above 0"):
        CleaningStep("x_t1", features=("mean",), n_times=8, count=0.0)
    model, stream = featured(None, 8, 8)
    with pytest.raises(ExportError, match="is no feature of a channel"):
        emit_stream(model, "mdl", FeatureStream.of(stream.steps[1:], 8))
