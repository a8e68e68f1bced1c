"""What a sample takes of a stream on every chip: ``python -m tests.bench.streams``.

Of three channels, windows of 50 samples: a model of some samples, one of features.
"""

from __future__ import annotations

import numpy as np

from smpcore.chips import measure_costs
from tests.smpcore.codegen.test_feature_stream import featured
from tests.smpcore.codegen.test_stream import streamed


def main() -> None:
    """Print a line for each model, number format, hop and chip."""
    for kind, make in (("samples", streamed), ("features", featured)):
        for width, hop in ((None, 50), (16, 50), (8, 50), (8, 25)):
            model, stream = make(width, 50, hop)
            about = f"{kind:8} {model.number:7} hop {hop} {len(model.inputs):3} inputs"
            costs, problems = measure_costs(model, np.zeros(1), np.zeros(1), stream)
            for chip, both in costs.items():
                cost = both.linked
                print(
                    f"{about}  {chip:10}  {cost.flash:6,} B flash  {cost.ram:5,} B RAM"
                    f"  {cost.sample:7,} {cost.counted} a sample, {cost.count:8,} with"
                    " an answer",
                    *problems,
                )


if __name__ == "__main__":
    main()
