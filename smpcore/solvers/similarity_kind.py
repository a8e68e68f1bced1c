"""What a similarity is: compiled functions, and plain data for all who use it.

A similarity is a file in `similarities`. Where prototypes are moved, it is a function
of the product t = x . z or the distance t = |x - z|_1, and of a number for each row and
each prototype, the measure: two passes over the data at most, whichever it is.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: What t is.
PRODUCT, DISTANCE = 0, 1

#: What is measured of a prototype: nothing; the sum of its entries, their squares, its
#: length, its length less its mean. Of the last two, rows come with length 1.
NOTHING, TOTAL, SQUARE, LENGTH, DEVIATION = 0, 1, 2, 3, 4

#: Shortest prototype that has a direction, and smallest sum of a histogram.
SHORTEST = 1e-12


class Export(NamedTuple):
    """How a program adds a similarity up, as `smpcore.codegen.program` reads it.

    Parameters
    ----------
    step : str
        What feature t and anchor entry a add to the total. "square": (t - a)^2;
        "absolute": ``|t - a|``; "product": a t; "exp2": share 2^-((t - a)^2);
        "overlap": min(t, a), and max(t, a) to a second total.
    finish : str
        "exp2": 2^-total, of no total below 0; "power": total^degree; "none": the total
        itself; "ratio": the first total over the second.
    words : str
        The formula, in a program's words.
    normalise : str
        What the features are divided by, and made less of, before: "", "length", or
        "mean and length".
    power : int
        Of a distance in integers, the power of a difference that adds up; 0: it has no
        integer form.
    """

    step: str
    finish: str
    words: str
    normalise: str = ""
    power: int = 0

    @property
    def is_exponential(self) -> bool:
        """Whether 2^-u is needed."""
        return "exp2" in (self.step, self.finish)


class SimilarityKind(NamedTuple):
    """What estimators, sliders, programs and reports need to know of a similarity.

    Parameters
    ----------
    values : callable
        ``(X, anchors, similarity)`` to an array (n_samples, n_anchors).
    formula : str
        Of an input x and an anchor z, both scaled, in words; empty: too many terms.
    title : str
        On the slider of the super-sparse methods; empty: not offered there.
    place : int
        Where lists have it: ascending, those with the same number by name.
    parameters : tuple of str
        Fields of `Similarity` that it uses, of gamma, degree and coef0.
    standardised : bool
        Whether features are scaled first; otherwise rows are taken as they are.
    takes_sparse : bool
        Whether rows may come as a sparse matrix.
    by_distance : bool
        Whether it falls with the distance, so that a prototype can be far from all
        rows.
    vanishes : bool
        Whether it goes to 0 with the distance, so that a prototype can be useless.
    power : int
        Power of a scaled unit that gamma is per.
    reach : callable or None
        gamma to the unit of a solver's first step; None: the spread of the rows.
    least : float
        Least value of a feature, of rows and of prototypes.
    in_ball : bool
        Whether prototypes stay in the unit ball: longer ones make a ridge void.
    value : compiled function or None
        ``(form, t, a, b)`` to the value and its slope along t, along -t where t is a
        distance; a and b are the measures of row and prototype. None: prototypes are
        not moved.
    exponential : bool
        Whether the similarity is e to the `value`, and its slope times that.
    over : int
        What t is: `PRODUCT` or `DISTANCE`.
    measure : int
        What a and b are, from `NOTHING` to `DEVIATION`.
    pull : compiled function or None
        ``(w, s)``, w the weight of a row's slope and s its similarity. With a measure
        of z, what a row takes from the gradient along z; of a distance, what it takes
        where z is the larger. None: nothing.
    at_equal : float
        Share of `pull` that counts where a feature is equal, so that a distance has no
        slope.
    export : Export or None
        How a program has it; None: it cannot be exported.
    """

    values: Callable[[np.ndarray, np.ndarray, Any], np.ndarray]
    formula: str = ""
    title: str = ""
    place: int = 99
    parameters: tuple[str, ...] = ()
    standardised: bool = False
    takes_sparse: bool = False
    by_distance: bool = False
    vanishes: bool = False
    power: int = 2
    reach: Callable[[float], float] | None = None
    least: float = -math.inf
    in_ball: bool = False
    value: Callable[..., tuple[float, float]] | None = None
    exponential: bool = False
    over: int = PRODUCT
    measure: int = NOTHING
    pull: Callable[[float, float], float] | None = None
    at_equal: float = 0.0
    export: Export | None = None
