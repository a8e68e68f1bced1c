r"""A model as a program: a short list of operations, each with one exact meaning.

A fitted model is lowered once to a tuple of the operations below. Everything else reads
that tuple: `run` (the NumPy emulator, which is the specification), `bounds` (rounding
errors), `constants` (tables in flash), `valid_programs`, `json_text`, `costs`, and the
targets. A reader is a function that is registered for each type of operation, so no
reader asks of which kind the model is, and a new target is one folder.

There are five programs, in floats or in integers:

    WeightedInputs                                          linear prototypes
    Features, Similarities, WeightedSums                    prototypes of similarities
    ... , SparseCode                                        either, as a sparse code
    WeightedInputs                                          linear, in integers
    FixedPointFeatures, FixedPointSimilarities, WeightedSums

**Why the operations are large.** Loops over rows and terms as scalar instructions would
have to be recognised again before they become C that is as small as it is now: written
out, dense, sparse, in pairs of products. An operation says what is computed and in
which order it is rounded; how a loop is written is each target's own business.

**Numbers.** In floats every operation is rounded to float32 on its own, in the order
that is written here. In integers everything is exact: it is proved for each program
that no score and no partial sum leaves its type (`largest`). Values of the inputs are

    float     x - offset of a number, with a missing one replaced first
    integer   the integer q that the input's conversion gives

and of a category the index of its level. The *term* of an (input, level) is that value
where the level is -1, otherwise 1 if the value is the level and 0 if it is not.

**Answer.** The operations give a score for each row of the model. The score of a class
is the largest score among the rows that `prototype_labels` gives it (in floats, of
those that are numbers: `LOWEST` where none is). The class is the lowest whose score is
within `tie` of the largest; `fallback` where no score is a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smpcore.codegen.fixed_point import FixedPointExp2
from smpcore.codegen.similarities import SIMILARITIES, Similarity

#: Score of a class without any: the lowest float32.
LOWEST = -np.finfo(np.float32).max


@dataclass(frozen=True, eq=False, kw_only=True)
class Operation:
    """What all operations share: read-only arrays of the right type.

    `INDICES` are int64. `NUMBERS` are in the format of the program: float32, or int64
    where they are given as integers; the first of them has an entry for each value that
    the operation gives. `TERMS` are those that a prediction multiplies by.
    """

    INDICES: ClassVar[tuple[str, ...]] = ()
    NUMBERS: ClassVar[tuple[str, ...]] = ()
    TERMS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self.INDICES + self.NUMBERS:
            given = getattr(self, name)
            if given is None:
                continue
            array = np.array(given)
            whole = name in self.INDICES or array.dtype.kind in "iu"
            with np.errstate(over="ignore"):  # an infinite number is refused later
                array = array.astype(np.int64 if whole else np.float32)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def numbers(self) -> dict[str, np.ndarray]:
        """The `NUMBERS` that there are, by name."""
        found = {name: getattr(self, name) for name in self.NUMBERS}
        return {name: values for name, values in found.items() if values is not None}

    @property
    def n_values(self) -> int:
        """How many values it gives."""
        return len(getattr(self, self.NUMBERS[0]))

    @property
    def n_terms(self) -> int:
        """Multiplications by a number of the model's own."""
        return sum(getattr(self, name).size for name in self.TERMS)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedInputs(Operation):
    """Sparse rows of weights over the inputs.

        score_j = (...((bias_j + w_1 term_1) + w_2 term_2)... + w_n term_n)

    Parameters
    ----------
    bias : ndarray of shape (n_rows,)
    start : ndarray of shape (n_rows + 1,), int64
        Row j has the terms ``start[j]:start[j + 1]``.
    input, level : ndarray of shape (n_terms,), int64
        Input of each term, and level of a category that it is 1 for; -1 for a number.
    weight : ndarray of shape (n_terms,)
    """

    INDICES = ("start", "input", "level")
    NUMBERS = ("bias", "weight")
    TERMS = ("weight",)
    n_rows = Operation.n_values

    bias: np.ndarray
    start: np.ndarray
    input: np.ndarray
    level: np.ndarray
    weight: np.ndarray

    @property
    def row(self) -> np.ndarray:
        """Row of each term."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.start))

    def terms(self, row: int) -> Iterator[tuple[int, int, int | np.float32]]:
        """Input, level (-1: a number) and weight of each term of a row, in order."""
        own = slice(self.start[row], self.start[row + 1])
        places, weights = (self.input[own], self.level[own]), self.weight[own]
        whole = weights.dtype.kind == "i"  # a float has to stay one of 32 bits
        weights = weights.tolist() if whole else weights
        return zip(*(place.tolist() for place in places), weights, strict=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class Features(Operation):
    """Scaled terms of inputs, float32.

        t_f = term_f factor_f + move_f
        m = (sum over f of t_f) (1 / n),  t_f = t_f - m            "mean and length"
        t_f = t_f inverse_root(sum over f of t_f^2)                both kinds of length

    Sums begin with 0 and go through the features in their order. A row without any
    length is all 0.

    Parameters
    ----------
    input, level : ndarray of shape (n_features,), int64
    factor : ndarray of shape (n_features,)
    move : ndarray of shape (n_features,) or None
        None: nothing is added.
    normalise : {"", "length", "mean and length"}
    """

    INDICES = ("input", "level")
    NUMBERS = ("factor", "move")
    n_features = Operation.n_values

    input: np.ndarray
    level: np.ndarray
    factor: np.ndarray
    move: np.ndarray | None = None
    normalise: str = ""

    @property
    def is_moved(self) -> bool:
        """Whether anything is added to a feature."""
        return self.move is not None and bool(self.move.any())

    @property
    def share(self) -> np.float32:
        """What the sum of the features is multiplied by to give their mean."""
        return np.float32(1 / self.n_features)


@dataclass(frozen=True, eq=False, kw_only=True)
class Similarities(Operation):
    """Similarity of the features to each anchor, float32; see `similarities`.

    Totals begin with `constant` and go through the features in their order. 2^-u is
    `primitives.exp2_minus`, a ratio ``(part r) r`` with r = inverse_root(whole), and a
    power is multiplied out from the left.

    Parameters
    ----------
    similarity : str
        Name in `SIMILARITIES`.
    constant : ndarray of shape (n_anchors,)
    anchor : ndarray of shape (n_anchors, n_features)
    share : ndarray of shape (n_features,) or None
        Weight of each feature where each has an exponential of its own.
    degree : int
        Of a power; 1 otherwise.
    """

    NUMBERS = ("constant", "anchor", "share")
    TERMS = ("anchor",)

    similarity: str
    constant: np.ndarray
    anchor: np.ndarray
    share: np.ndarray | None = None
    degree: int = 1

    @property
    def kind(self) -> Similarity:
        """How the totals become similarities."""
        return SIMILARITIES[self.similarity]


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedSums(Operation):
    """Rows as sums of what the anchors give.

        score_j = ((bias_j + 0) + w_1j s_1) + w_2j s_2 + ...

    Parameters
    ----------
    bias : ndarray of shape (n_rows,)
    start : ndarray of shape (n_anchors + 1,), int64
        Anchor i has the terms ``start[i]:start[i + 1]``.
    row : ndarray of shape (n_terms,), int64
        Row that each term adds to, ascending within an anchor.
    weight : ndarray of shape (n_terms,)
    first_row : int
        Rows before this one have no weight.
    """

    INDICES = ("start", "row")
    NUMBERS = ("bias", "weight")
    TERMS = ("weight",)
    n_rows = Operation.n_values

    bias: np.ndarray
    start: np.ndarray
    row: np.ndarray
    weight: np.ndarray
    first_row: int = 0

    @property
    def n_anchors(self) -> int:
        """Similarities that are added up."""
        return len(self.start) - 1

    @property
    def is_dense(self) -> bool:
        """Whether every anchor adds to every row from `first_row` on: no indices."""
        return len(self.weight) == self.n_anchors * (self.n_rows - self.first_row)

    def terms(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows and weights of each anchor."""
        for first, end in zip(self.start[:-1], self.start[1:], strict=True):
            yield self.row[first:end], self.weight[first:end]

    def mixing(self) -> np.ndarray:
        """Weights as a table, shape (n_anchors, n_rows)."""
        mixing = np.zeros((self.n_anchors, self.n_rows), dtype=self.weight.dtype)
        anchor = np.repeat(np.arange(self.n_anchors), np.diff(self.start))
        mixing[anchor, self.row] = self.weight
        return mixing


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseCode(Operation):
    """Votes of a sparse code of the scores so far, float32; see `sparse_code`.

    With s the scores and z >= 0 the code of at most `size` entries that minimises
    ``z' gram z / 2 - s' z`` greedily,

        score of an output = (0 + vote z_1) + vote z_2 ...,  in the order z was found

    An input without any code gives the output `fallback` the score `unrepresented`.

    Parameters
    ----------
    size : int
        Most prototypes in a code.
    gram : ndarray of shape (n_prototypes, n_prototypes)
        Inner products of the prototypes, symmetric.
    votes : ndarray of shape (n_prototypes, n_outputs)
    fallback : int
    unrepresented : float
    """

    NUMBERS = ("gram", "votes")

    size: int
    gram: np.ndarray
    votes: np.ndarray
    fallback: int
    unrepresented: float

    @property
    def n_values(self) -> int:
        """See `Operation.n_values`."""
        return self.votes.shape[1]

    @property
    def n_prototypes(self) -> int:
        """Prototypes that a code can hold."""
        return len(self.gram)

    @property
    def n_terms(self) -> int:
        """See `Operation.n_terms`: of a symmetric table one half."""
        return self.n_prototypes * (self.n_prototypes + 1) // 2

    @property
    def limit(self) -> int:
        """Most entries of a code."""
        return min(self.size, self.n_prototypes)


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedPointFeatures(Operation):
    """Features as whole numbers.

        t_f = clip((term_f factor_f + origin_f) >> places_f, 0, top)

    As 0 <= factor < 2^15, ``|origin|`` < 2^30 and ``|term|`` <= 2^15, the sum stays
    below 2^31 in size.

    Parameters
    ----------
    input, level, places : ndarray of shape (n_features,), int64
    factor, origin : ndarray of shape (n_features,), int64
    top : int
    feature : ndarray of shape (n_features,), int64
        Features of the model in floats that these stand for.
    per_unit : float
        Whole numbers per unit of a feature there, the same for all.
    zero : ndarray of shape (n_features,), float64
        What 0 stands for there.
    """

    INDICES = ("input", "level", "places", "feature")
    NUMBERS = ("factor", "origin")
    n_features = Operation.n_values

    input: np.ndarray
    level: np.ndarray
    factor: np.ndarray
    origin: np.ndarray
    places: np.ndarray
    top: int
    feature: np.ndarray
    per_unit: float
    zero: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedPointSimilarities(Operation):
    """Similarity of whole features to each anchor, in Q.15.

        d_i = sum over f of |t_f - a_if|^power,   s_i = 2^-(d_i / exp2.scale)

    The largest d_i, for any bits of the inputs, is at most 2^32 - 1 (`grid`), and s_i
    is below 2^15 (`fixed_point`).

    Parameters
    ----------
    anchor : ndarray of shape (n_anchors, n_features), int64
    power : {1, 2}
    exp2 : FixedPointExp2
    """

    NUMBERS = ("anchor",)
    TERMS = ("anchor",)

    anchor: np.ndarray
    power: int
    exp2: FixedPointExp2


#: Name -> operation, for who reads programs from text.
OPERATIONS = {kind.__name__: kind for kind in Operation.__subclasses__()}
