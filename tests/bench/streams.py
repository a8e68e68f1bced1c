"""What a stream takes on every chip: ``python -m tests.bench.streams [CHIP]``.

Of three channels: models of some samples, and models of features, whose samples come as
whole numbers. Bytes of the struct, the largest count of a sample without an answer and
with one, and the sum of all samples from one answer to the next.
"""

from __future__ import annotations

import sys

import numpy as np

from smpcore.chips import CHIPS, measure
from smpcore.chips.programs import NOT_DUE
from smpcore.codegen.targets.c99.stream import state_bytes
from smpcore.datasets.series_features import PLAIN, feature_names
from smpcore.errors import ExportError
from tests.smpcore.codegen.test_feature_stream import featured
from tests.smpcore.codegen.test_stream import streamed

_SHAPES = ((50, 50), (50, 25), (128, 64), (128, 16), (128, 1))
_NAMES = {
    "all": feature_names,
    "no bands": lambda _: PLAIN,
    "means": lambda _: ["mean"],
}


def main(*chips: str) -> None:
    """Print a line for each model, number format, window, hop and chip."""
    for shape in _SHAPES:
        for width in (None, 16, 8):
            _print(f"samples {shape}", *streamed(width, *shape, 0.1), chips)
        for kind, names in _NAMES.items():
            made = featured(16, *shape, [*names(shape[0])], density=1.0)
            _print(f"features {shape}, {kind}", *made, chips)
    for name in feature_names(128):  # of each channel this one alone
        _print(f"feature {name}", *featured(16, 128, 16, [name], density=1.0), chips)
    for names in (["high-pass 2"], ["high-pass 2", "low-pass 16"]):
        made = featured(16, 128, 16, ["mean"], density=1.0, filters=tuple(names))
        _print(f"feature mean behind {', '.join(names)}", *made, chips)


def _print(about: str, model, stream, chips) -> None:
    """A line for each chip."""
    random = np.random.default_rng(0)
    samples = random.normal(0, 2000, (stream.n_times + 2 * stream.hop, 3))
    samples = samples.astype(np.int16) if stream.width(model) else samples
    if stream.width(model) == 8:
        samples //= 64
    for name in chips or CHIPS:
        about_chip = f"{about}: {model.number:7} {len(model.inputs):3} inputs {name:10}"
        state = state_bytes(model, stream, aligned=name != "ATmega328P")
        try:
            result = measure(model, samples, CHIPS[name], stream=stream)
        except ExportError as error:
            print(f"{about_chip} {state:6,} B of state; {str(error)[:60]!r}")
            continue
        due = result.winners != NOT_DUE
        most = [int(result.counts[rows].max(initial=0)) for rows in (~due, due)]
        print(
            f"{about_chip} {result.flash:6,} B flash {state:6,} B of state "
            f"{result.stack:4,} B stack {most[0]:7,} {CHIPS[name].counted} a sample "
            f"{most[1]:9,} with an answer {result.counts[-stream.hop :].sum():9,} a hop"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
