"""C of a model on features of series: sums, extremes and bands of windows.

Windows that share no sample take each as it comes. Where they overlap, samples wait in
one ring, and those of a window are taken when its answer is due: a sample costs little,
and a hop no more than if each window under way took it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from smpcore.codegen.constants import smallest
from smpcore.codegen.inputs import CompiledInput, QuantInput, SensorRange
from smpcore.codegen.names import identifier, shorten
from smpcore.codegen.targets.c99.common import Source, unsigned
from smpcore.codegen.targets.c99.stream import Stream, begin_wait, struct_bytes
from smpcore.datasets.biquads import FACTOR_BITS, VALUE_BITS, biquad
from smpcore.datasets.series_features import (
    SINE_BITS,
    WINDOW_BITS,
    Channel,
    band,
    hann,
    is_spectral,
    per_unit,
    scale,
    series_features,
)
from smpcore.datasets.spectrum import (
    COSINE_BITS,
    GAINED_BITS,
    LARGEST,
    Blocks,
    bins_of,
    cosines,
)
from smpcore.errors import ExportError

_FILE = "feature_stream.c"
#: Places of the code that a part has something in.
_ROLES = ("members", "functions", "take", "collect", "inputs")
#: Tables that belong to no part alone.
_SHARED = ("hann", "kept_channel", "cosine", "window")
#: Feature -> its part of the code; every other one is a band, or power of one.
_PARTS = {
    "mean": "mean",
    "standard deviation": "deviation",
    "variance": "variance",
    "RMS": "rms",
    "zero crossings": "crossings",
    "mean crossings": "turns",
    "minimum": "minimum",
    "maximum": "maximum",
    "range": "range",
    "jerk": "jerk",
    "correlation": "correlation",
    "spectral peak": "peak",
    "spectral centroid": "centroid",
}
#: Parts that are made of spectra.
_SPECTRAL = ("power", "peak", "centroid")
#: What is known of a window -> parts that read it; each channel has it once.
_SUMS = {
    "sum": ("mean", "deviation", "variance", "turns", "correlation"),
    "squares": ("deviation", "variance", "rms", "correlation"),
    "least": ("minimum", "range"),
    "most": ("maximum", "range"),
}
#: Parts that keep numbers of their own while samples come, and how many.
_NUMBERS = {"crossings": 1, "jerk": 2, "correlation": 1, "band": 4}


@dataclass(frozen=True)
class FeatureStream(Stream):
    """As `Stream`, of a model whose inputs are features of the channels.

    Parameters
    ----------
    steps : tuple of CleaningStep
        What made the features, a step for each channel.
    """

    steps: tuple[Any, ...] = ()
    has_names: ClassVar[bool] = True

    @classmethod
    def of(cls, steps: Any, hop: int, votes: int = 1, hold: int = 0) -> FeatureStream:
        """The stream of steps that made features."""
        columns = tuple(name for step in steps for name in step.samples)
        channels = tuple(step.channel for step in steps)
        return cls(channels, columns, hop, votes, hold, tuple(steps))

    def width(self, model: Any) -> int:
        """Samples are counted in 16 bits, whatever the model takes."""
        return 16

    def has_ring(self, model: Any) -> bool:
        """Whether samples wait: for several windows, the mean of theirs, a filter."""
        waits = self.hop < self.n_times or any(step.filters for step in self.steps)
        return waits or not {"turns", *_SPECTRAL}.isdisjoint(self._used(model))

    def ranges(
        self, model: Any, ranges: Mapping[str, SensorRange]
    ) -> dict[str, SensorRange]:
        """Those of the features, as they are."""
        return dict(ranges)

    def samples(self, model: Any) -> list[QuantInput]:
        """How a value of each channel becomes a count."""
        taken: set[str] = set()
        samples = []
        for step in self.steps:
            ends = -(2**15) * step.count, (2**15 - 1) * step.count
            names = step.channel, identifier(step.channel, taken)
            given = CompiledInput(0, *names, "number", *ends)
            counted = float(per_unit(step.count))
            samples.append(
                QuantInput(given, *ends, per_unit=counted, exact=step.count == 1)
            )
        return samples

    def window_inputs(self, model: Any, samples: np.ndarray) -> np.ndarray:
        """Features of the windows as the model takes them; samples are counts."""
        times, columns = self.begins(len(samples)) + np.arange(self.n_times), {}
        channels = [
            Channel(samples[times, c] * step.count, step.count, step.filters)
            for c, step in enumerate(self.steps)
        ]
        for c, (step, channel) in enumerate(zip(self.steps, channels, strict=True)):
            other = channels[self._next(c)]
            features = series_features(channel, [*step.features], other)
            columns |= dict(zip(step.feature_columns, features.T, strict=True))
        rows = [columns[entry.name] for entry in model.source.inputs]
        return model.to_inputs(np.column_stack(rows))

    def note(self, c: Source, one: QuantInput) -> str:
        """Comment behind the name of a channel."""
        return f" /* {one.formula} */"

    def _used(self, model: Any) -> dict[str, list[tuple[int, int, str]]]:
        """Part of the code -> input, channel and name of each feature of the model."""
        known = {
            column: (channel, name)
            for channel, step in enumerate(self.steps)
            for column, name in zip(step.feature_columns, step.features, strict=True)
        }
        used: dict[str, list[tuple[int, int, str]]] = {}
        for place, entry in enumerate(model.source.inputs):
            if entry.name not in known:
                raise ExportError(
                    f"Input {shorten(entry.name)} is no feature of a channel, so the "
                    "model has no stream; export it without one."
                )
            channel, name = known[entry.name]
            other = "power" if is_spectral(name) else "band"
            used.setdefault(_PARTS.get(name, other), []).append((place, channel, name))
        return used

    def tables(self, model: Any) -> dict[str, np.ndarray]:
        """Input, channel and scale of each feature, and what its part needs."""
        used, tables = self._used(model), {}
        # Where a sample has its channels: in a ring are those in use alone.
        kept = np.arange(len(self.steps))
        if self.has_ring(model):
            both = [one[1] for part in used.values() for one in part]
            both += [self._next(one[1]) for one in used.get("correlation", ())]
            kept = np.unique(both)
            tables["kept_channel"] = smallest(kept)
        tables |= self._filters(kept) | self._spectra(used, kept)
        sums = {}
        for name, parts in _SUMS.items():
            read = {one[1] for part in parts for one in used.get(part, ())}
            if "correlation" in parts:
                read |= {self._next(one[1]) for one in used.get("correlation", ())}
            if read:
                sums[name] = sorted(read)
                tables[f"{name}_channel"] = smallest(np.searchsorted(kept, sums[name]))
        for part, features in used.items():
            places, channels, names = zip(*features, strict=True)
            of = [(n, self.n_times, self.steps[c].count) for _, c, n in features]
            tables[f"{part}_input"] = smallest(np.array(places))
            tables[f"{part}_scale"] = np.array([scale(*one) for one in of])
            if part in _NUMBERS or part == "turns":
                tables[f"{part}_channel"] = smallest(np.searchsorted(kept, channels))
            for name in (name for name, parts in _SUMS.items() if part in parts):
                table = np.searchsorted(sums[name], channels)
                tables[f"{part}_of_{name}"] = smallest(table)
                if part == "correlation":
                    table = np.searchsorted(sums[name], [*map(self._next, channels)])
                    tables[f"{part}_with_{name}"] = smallest(table)
            if part == "correlation":
                others = np.searchsorted(kept, [*map(self._next, channels)])
                tables[f"{part}_other"] = smallest(others)
            if part == "band":
                constants = np.array([band(name, self.n_times) for name in names])
                blocks = tables["band_block"] = constants[:, 0].astype(np.uint16)
                sizes, kind = np.unique(blocks, return_inverse=True)
                tables["band_begin"] = smallest((np.cumsum(sizes) - sizes)[kind])
                tables["hann"] = np.concatenate([*map(hann, sizes)])
                for k, name in ((2, "factor"), (3, "sine")):
                    tables[f"band_{name}"] = constants[:, k].astype(np.int32)
        return tables

    def _spectra(self, used: Any, kept: np.ndarray) -> dict[str, np.ndarray]:
        """Channels of spectra, which of them each feature has, and constants."""
        spectral = {part: used[part] for part in _SPECTRAL if part in used}
        if not spectral:
            return {}
        channels = np.unique([one[1] for part in spectral.values() for one in part])
        size = Blocks.of(self.n_times).size
        tables = {"cosine": cosines(size), "window": hann(size)}
        tables["spectrum_channel"] = smallest(np.searchsorted(kept, channels))
        for part, features in spectral.items():
            of = np.searchsorted(channels, [one[1] for one in features])
            tables[f"{part}_spectrum_of"] = smallest(of)
        if "power" in spectral:
            bins = [bins_of(name) for *_, name in spectral["power"]]
            tables["power_first"] = smallest(np.array([one.start for one in bins]))
            tables["power_end"] = smallest(np.array([one.stop for one in bins]))
        return tables

    def _filters(self, kept: np.ndarray) -> dict[str, np.ndarray]:
        """Channel and coefficients of each filter of the channels that are kept."""
        rows = [
            (place, *biquad(name, self.n_times))
            for place, channel in enumerate(kept)
            for name in self.steps[channel].filters
        ]
        if not rows:
            return {}
        channel, sign, *factors = np.array(rows).T
        names = ("gain", "level", "damping")
        tables = {"channel": smallest(channel), "twice": (2 * sign).astype(np.int8)}
        tables |= dict(zip(names, np.int32(factors), strict=True))
        return {f"filter_{name}": table for name, table in tables.items()}

    def _next(self, channel: int) -> int:
        """The channel that correlations of a channel are with."""
        return (channel + 1) % len(self.steps)

    def n_slots(self, model: Any) -> int:
        """Samples in the ring, or numbers that are kept of the window under way."""
        tables = self.tables(model)
        if self.has_ring(model):
            return self.n_times * len(tables["kept_channel"])
        kept = dict.fromkeys(_SUMS, 1) | _NUMBERS
        return sum(n * len(tables.get(f"{p}_channel", ())) for p, n in kept.items())

    def stack_bytes(self, model: Any) -> int:
        """Bytes of the inputs, the floats that integers are made of, and a window."""
        size = model.types[0].itemsize + 4 * model.is_integer
        window = struct_bytes(model, self)["struct mdl_stream_window"]
        ring = self.has_ring(model) * window
        tables = self.tables(model)
        ring += 2 * self.n_slots(model) if "filter_channel" in tables else 0
        ring += 4 * len(tables.get("cosine", ()))  # a block
        return len(model.inputs) * size + ring

    def code(self, c: Source, words: Mapping[str, Any]) -> tuple[str, str, str]:
        """What stands before the struct, its members, and the functions."""
        whole, ring = c.model.is_integer, self.has_ring(c.model)
        tables = {name: one for name, one in c.tables.items() if name not in _SHARED}
        sizes = {name.split("_")[0]: len(table) for name, table in tables.items()}
        kept = c.tables.get("kept_channel", ())
        words = {
            **words,
            "apart": not ring,
            "ring": ring,
            "begin_wait": begin_wait(c) if ring else "",
            "time": unsigned(self.n_times),
            "stride": len(kept) or words["n_channels"],
            "counter": unsigned(max(*sizes.values(), len(kept))),
            "factor_bits": FACTOR_BITS,
            "value_bits": VALUE_BITS,
            "filters": "filter" in sizes,
            "signal": "signal" if "filter" in sizes else "stream->ring",
            "oldest": "0" if "filter" in sizes else "stream->slot",
            "sine_bits": SINE_BITS,
            "window_bits": WINDOW_BITS,
            "convert": f"    {words['name']}_quantise(values, x);\n" if whole else "",
            "slot": unsigned(self.n_times * words["n_channels"] * 2),
            "to": c.text(f"to {'integers' if whole else 'floats'}", words, _FILE),
        }
        if "band" in sizes:
            begin = c.fetch("band_begin", "k")
            words["hann"] = c.fetch("hann", f"{begin} + left")
        needed = {
            "root": {"band", "deviation", "rms", "correlation"},
            "float": {"variance", "power"},
            "share": {"correlation", "centroid"},
        }
        for name, of in needed.items():
            words[name] = c.text(name, words, _FILE) if of & {*sizes} else ""
        if "spectrum" in sizes:
            words |= self._spectrum_words(sizes["spectrum"], words)
        parts = [words | self._part(c, words, part, n) for part, n in sizes.items()]
        for role in _ROLES:
            words[role] = "".join(c.text(role, part, _FILE) for part in parts)
        words["spectrum"] = ""
        if "spectrum" in sizes:
            words["spectrum"] = c.text("spectrum", words, _FILE)
        window, members, code = (
            c.text(name, words, _FILE) for name in ("window", "stream", "code")
        )
        return window, members, code

    def _spectrum_words(self, n: int, words: Mapping[str, Any]) -> dict[str, Any]:
        """Sizes of a transform."""
        blocks = Blocks.of(self.n_times)
        return {
            "n_spectra": n,
            "size": blocks.size,
            "size_bits": blocks.size.bit_length() - 1,
            "n_bins": blocks.size // 2,
            "bin": unsigned(blocks.size // 2),
            "n_blocks": blocks.n_blocks,
            "block_step": blocks.step * words["stride"],
            "largest": LARGEST,
            "gained": GAINED_BITS,
            "cosine_bits": COSINE_BITS,
            # Whole words move faster on an AVR; 1.5 * LARGEST leaves room for that.
            "to_word": 2 ** (16 - COSINE_BITS),
        }

    def _part(
        self, c: Source, words: Mapping[str, Any], part: str, n: int
    ) -> dict[str, Any]:
        """Words of a part of the code: how many there are of it, and its tables."""
        tables = (name for name in c.tables if name.startswith(f"{part}_"))
        read = {name.removeprefix(f"{part}_"): c.fetch(name, "k") for name in tables}
        step = "at = ({slot})(at + {stride})".format(**words)
        return {
            "part": part,
            part: True,
            "spread": part in ("deviation", "variance"),
            "online": part in _SUMS or part in _NUMBERS,
            "n": n,
            "extreme": part in ("least", "most"),
            "beyond": "<" if part == "least" else ">",
            "each": f"at = {read.get('channel')}, rest = n; rest > 0; --rest, {step}",
            **read,
        }
