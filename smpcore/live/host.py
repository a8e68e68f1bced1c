"""What a figure is given by the place it lives in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from smpcore.datasets import Dataset, Split
from smpcore.live.choice import Choice

#: A table, and its parts if its points were drawn.
Drawing = tuple[Dataset, Split] | None


@dataclass(frozen=True, eq=False)
class Host:
    """What figures of one place share: the app has one, each notebook cell its own.

    Parameters
    ----------
    table : callable
        Choice -> its table, and the parts if its points were drawn.
    computed : module or object
        What is computed of a table once: ``split_of``, ``parts``, ``with_question``,
        ``forbidding``, ``problem``, ``bounds``, ``cautions``, ``is_large``,
        ``is_slow``, ``path_point`` and ``uncompiled``, as `computed.Computed` has them.
    fits : module or object
        What runs fits: ``fit``, ``recorded_fit``, ``has_printed``, ``printed_run`` of
        parts, a method and its values. A fit is as `notebook.Fit`.
    studies : module or object
        ``view`` and ``map_of`` of parts, ``training_scores`` of a fit's request.
    stopped_after : callable
        Seconds -> context with a stop flag that rises after them.
    """

    table: Callable[[Choice], tuple[Dataset, Split | None]]
    computed: Any
    fits: Any
    studies: Any
    stopped_after: Callable[[float], AbstractContextManager[np.ndarray]]
