"""Write every bundle of the tests' matrix: ``python -m tests.bench.bundles FOLDER``.

Run it before and after a change of what writes code, each time into another folder:
``diff -r`` of both shows all that the change does to the files of users.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from smpcore.codegen import TARGETS, test_vectors
from smpcore.errors import ExportError
from tests.smpcore.codegen.models import every_kind, groups
from tests.smpcore.codegen.test_feature_stream import featured
from tests.smpcore.codegen.test_stream import SHAPES, streamed
from tests.smpcore.codegen.toolchain import bundle, unpack


def matrix() -> Iterator[tuple[str, Any, Any]]:
    """Name, model and stream of everything that tests export."""
    for group, models in groups().items():
        for name, model in models.items():
            yield f"{group}, {name}", model, None
    for key, model in every_kind().items():
        yield ", ".join(key), model, None
    for width, regression in product((None, 8, 16), (False, True)):
        kind = f"{width or 'float'}, {'value' if regression else 'classes'}"
        for shape in SHAPES:
            yield (
                f"stream, {kind}, {shape}",
                *streamed(width, *shape, 0.4, 0, regression),
            )
        yield f"features, {kind}", *featured(width, 100, 25, regression=regression)


def main(folder: Path) -> None:
    """Write each bundle into a folder of its own, without what a target refuses."""
    for name, model, stream in matrix():
        vectors = test_vectors(model, n=8)
        for target, what in TARGETS.items():
            if stream and not what.in_c:
                continue
            try:
                packed = bundle(model, vectors, "mdl", target, stream)
            except ExportError:
                continue
            unpack(packed, folder / target / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
