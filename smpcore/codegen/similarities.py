"""The similarities of programs: what a feature adds, and what becomes of the total."""

from __future__ import annotations

from typing import NamedTuple


class Similarity(NamedTuple):
    """How a total over features becomes a similarity.

    Parameters
    ----------
    step : {"square", "absolute", "product", "exp2", "overlap"}
        What feature t and anchor entry a add to the total: (t - a)^2; ``|t - a|``;
        a t; share 2^-((t - a)^2); min(t, a), and max(t, a) to a second total.
    finish : {"exp2", "power", "none", "ratio"}
        2^-total; total^degree; the total itself; the first total over the second.
    normalise : {"", "length", "mean and length"}
        What the features are divided by, and made less of, before.
    """

    step: str
    finish: str
    normalise: str = ""

    @property
    def is_exponential(self) -> bool:
        """Whether 2^-u is needed."""
        return "exp2" in (self.step, self.finish)


#: The similarities that programs have; their parameters are folded into the arrays.
SIMILARITIES = {
    "rbf": Similarity("square", "exp2"),
    "poly": Similarity("product", "power"),
    "laplacian": Similarity("absolute", "exp2"),
    "cosine": Similarity("product", "none", "length"),
    "ncc": Similarity("product", "none", "mean and length"),
    "features": Similarity("exp2", "none"),
    "intersection": Similarity("overlap", "ratio"),
}
