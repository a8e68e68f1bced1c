"""A model as a program: a short list of operations, each with one exact meaning.

A fitted model is lowered once to a tuple of the operations below. Everything else reads
that tuple: `run` (the NumPy emulator, which is the specification), `bounds` and
`rounding` (errors), `constants` (tables in flash), `describe`, `costs`, and the
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

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from smpcore.codegen.arithmetic import FixedPointExp2
from smpcore.codegen.inputs import CompiledInput
from smpcore.model import PrototypeModel
from smpcore.similarity import SIMILARITIES as KINDS
from smpcore.similarity import Export


class Folded(NamedTuple):
    """A similarity's constants, float64."""

    #: The feature's scaled value is ``factor * (x - offset)``.
    factor: np.ndarray
    #: What the total of each anchor begins with.
    constant: np.ndarray
    anchors: np.ndarray  # (n_anchors, n_features)


def _distances(model: PrototypeModel, offset: np.ndarray) -> Folded:
    """``2^-(total of distances)``: what each feature is multiplied by on both sides."""
    similarity, log2_e = model.similarity, np.log2(np.e)
    step = SIMILARITIES[similarity.kind].step
    if step == "exp2":  # sum_f weights_f exp(-(x_f - z_f)^2 / widths_f)
        factor = np.sqrt(log2_e / np.array(similarity.widths)) / model.scale
    elif step == "square":  # exp(-gamma |x - z|^2)
        factor = np.sqrt(similarity.gamma * log2_e) / model.scale
    else:  # exp(-gamma |x - z|_1)
        factor = similarity.gamma * log2_e / model.scale
    anchors = factor * model.scale * model.anchors + factor * (model.center - offset)
    return Folded(factor, np.zeros(len(anchors)), anchors)


def _poly(model: PrototypeModel, offset: np.ndarray) -> Folded:
    """``(gamma x . z + coef0)^degree``: all in the anchors, the centre in constants."""
    anchors = model.similarity.gamma * model.anchors / model.scale
    constant = model.similarity.coef0 - anchors @ (model.center - offset)
    return Folded(np.ones(model.n_features), constant, anchors)


def _unit(model: PrototypeModel, offset: np.ndarray) -> Folded:
    """``x . z / (|x| |z|)``: anchors of length 1, of "ncc" less their mean."""
    anchors = model.anchors
    if "mean" in SIMILARITIES[model.similarity.kind].normalise:
        anchors = anchors - anchors.mean(axis=1, keepdims=True)
    length = np.linalg.norm(anchors, axis=1, keepdims=True)
    anchors = anchors / np.where(length > 0, length, 1.0)
    return Folded(1 / model.scale, np.zeros(len(anchors)), anchors)


def _overlap(model: PrototypeModel, offset: np.ndarray) -> Folded:
    """``sum_f min(x_f, z_f) / sum_f max(x_f, z_f)``: anchors as they are."""
    return Folded(1 / model.scale, np.zeros(len(model.anchors)), model.anchors)


#: How programs add up the similarities that they have.
SIMILARITIES = {
    name: kind.export for name, kind in KINDS.items() if kind.export is not None
}


def fold(model: PrototypeModel, offset: np.ndarray) -> Folded:
    """Constants of a model's similarity, given the offset of each feature."""
    export = SIMILARITIES[model.similarity.kind]
    if export.step == "overlap":
        return _overlap(model, offset)
    if export.step != "product":
        return _distances(model, offset)
    return _unit(model, offset) if export.normalise else _poly(model, offset)


#: Score of a class without any: the lowest float32.
LOWEST = -np.finfo(np.float32).max


@dataclass(frozen=True, eq=False, kw_only=True)
class Operation(ABC):
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

    @abstractmethod
    def formula(self, v: str) -> str:
        """What it computes, given what an input's value is called."""

    @abstractmethod
    def rules(self, n: int) -> Iterator[Rule]:
        """What its parts have to fulfil where it is given n values."""


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

    def formula(self, v: str) -> str:
        """See `Operation.formula`."""
        return f"score of a row = ((bias + w1*{v}1) + w2*{v}2) + ..."

    def rules(self, n: int) -> Iterator[Rule]:
        """See `Operation.rules`."""
        n_terms = len(self.weight)
        chained = _chained(self.start, self.n_rows, n_terms)
        yield "start should lead through all terms", chained


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

    def formula(self, v: str) -> str:
        """See `Operation.formula`."""
        return f"t = factor * {v}{'' if self.move is None else ' + move'}"

    def rules(self, n: int) -> Iterator[Rule]:
        """See `Operation.rules`."""
        factor, move = self.factor, self.move
        fits = move is None or len(move) == self.n_features
        yield "move should have a number for each feature", fits
        # A feature of 0 times an input, and moved, never varies.
        least = (factor > 0) if move is None else (factor >= 0)
        yield "factor should be above 0", bool(least.all())
        places = self.input[factor != 0]
        in_order = (self.level >= 0).any() or np.array_equal(places, np.arange(n))
        yield "features that are numbers should be all inputs in order", bool(in_order)


@dataclass(frozen=True, eq=False, kw_only=True)
class Similarities(Operation):
    """Similarity of the features to each anchor, float32; see `Export`.

    Totals begin with `constant` and go through the features in their order. 2^-u is
    `arithmetic.exp2_minus`, a ratio ``(part r) r`` with r = inverse_root(whole), and a
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
    def kind(self) -> Export:
        """How the totals become similarities."""
        return SIMILARITIES[self.similarity]

    def formula(self, v: str) -> str:
        """See `Operation.formula`."""
        return self.kind.words

    def rules(self, n: int) -> Iterator[Rule]:
        """See `Operation.rules`."""
        known = self.similarity in SIMILARITIES
        yield f"similarity should be one of {sorted(SIMILARITIES)}", known
        anchor, each = self.anchor, self.kind.step == "exp2"
        fits = anchor.ndim == 2 and anchor.shape[1] == n and len(anchor) > 0
        yield "anchor should be a table with a column for each factor", fits
        fits = self.constant.shape == anchor.shape[:1]
        yield "constant should have a number for each anchor", fits
        share = self.share
        fits = (
            len(share) == n
            if each and share is not None
            else share is None and not each
        )
        yield "share should have a number for each feature of an exponential each", fits
        whole = type(self.degree) is int and self.degree >= 1
        yield "degree should be a whole number from 1 on", whole


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

    def formula(self, v: str) -> str:
        """See `Operation.formula`."""
        return "score of a row = bias + sum of weight * s"

    def rules(self, n: int) -> Iterator[Rule]:
        """See `Operation.rules`."""
        row, n_terms = self.row, len(self.weight)
        chained = _chained(self.start, n, n_terms)
        yield "start should lead through all terms", chained
        fits = len(row) == n_terms and ((row >= 0) & (row < self.n_rows)).all()
        fits = fits and all((np.diff(rows) > 0).all() for rows, _ in self.terms())
        yield (
            "row should be a row for each term, ascending within an anchor",
            bool(fits),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseCode(Operation):
    """Votes of a sparse code of the scores so far, float32; see `run.sparse_codes`.

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

    def formula(self, v: str) -> str:
        """See `Operation.formula`."""
        return (
            "code z >= 0 of at most size entries that minimises z' gram z / 2 - "
            "(scores)' z greedily; score of an output = sum of votes * z"
        )

    def rules(self, n: int) -> Iterator[Rule]:
        """See `Operation.rules`."""
        gram, votes = self.gram, self.votes
        fits = gram.shape == (n, n) and np.array_equal(gram, gram.T)
        yield "gram should be symmetric, with a row for each prototype", bool(fits)
        fits = votes.ndim == 2 and len(votes) == len(gram) and bool(votes.any())
        yield "votes should have a number for each prototype and output", fits
        whole = type(self.size) is int and self.size >= 1
        yield "size should be a whole number from 1 on", whole
        known = 0 <= self.fallback < votes.shape[1]
        yield "fallback should be an output of the votes", known


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

    def formula(self, v: str) -> str:
        """See `Operation.formula`."""
        return f"t = clip(({v} * factor + origin) >> places, 0, top)"

    def rules(self, n: int) -> Iterator[Rule]:
        """See `Operation.rules`."""
        each = self.origin, self.places, self.feature, self.zero
        fits = all(len(numbers) == self.n_values for numbers in each)
        yield "origin, places, feature, zero should have a number for each factor", fits
        bounded = (0 <= self.places).all() and (self.places < 31).all()
        yield "places should be shifts of less than 31 bits", bool(bounded)


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedPointSimilarities(Operation):
    """Similarity of whole features to each anchor, in Q.15.

        d_i = sum over f of |t_f - a_if|^power,   s_i = 2^-(d_i / exp2.scale)

    The largest d_i, for any bits of the inputs, is at most 2^32 - 1 (`rounding`), and
    s_i is below 2^15 (`arithmetic`).

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

    def formula(self, v: str) -> str:
        """See `Operation.formula`."""
        return (
            f"d = sum of {'(t - anchor)^2' if self.power == 2 else '|t - anchor|'}; "
            "coarse = d >> drop; u = (coarse * gain + half) >> down; "
            "s = 2^-(u / 4096) in Q.15 by table, 0 where coarse > last"
        )

    def rules(self, n: int) -> Iterator[Rule]:
        """See `Operation.rules`."""
        anchor = self.anchor
        fits = anchor.ndim == 2 and anchor.shape[1] == n and len(anchor) > 0
        yield "anchor should be a table with a column for each factor", fits
        yield "power should be 1 or 2", self.power in (1, 2)


#: A rule, and whether it holds.
Rule = tuple[str, bool]


def rules(
    operations: Sequence[Operation],
    inputs: Sequence[CompiledInput],
    n_rows: int,
    is_integer: bool,
) -> Iterator[Rule]:
    """Rules of each operation, given what comes before it."""
    n = len(inputs)
    for operation in operations:
        finite = all(np.isfinite(v).all() for v in operation.numbers.values())
        yield f"{', '.join(operation.numbers)} should be finite", finite
        kinds = {values.dtype.kind for values in operation.numbers.values()}
        same = kinds == {"i" if is_integer else "f"}
        yield f"{type(operation).__name__} should be in the program's numbers", same
        if isinstance(operation, Features | FixedPointFeatures | WeightedInputs):
            yield from _places_fit(operation, inputs)
        yield from operation.rules(n)
        n = operation.n_values
    yield f"operations should give {n_rows} scores, one for each label", n == n_rows


def _places_fit(
    operation: Features | FixedPointFeatures | WeightedInputs,
    inputs: Sequence[CompiledInput],
) -> Iterator[Rule]:
    place, level = operation.input, operation.level
    is_rows = isinstance(operation, WeightedInputs)
    n = operation.n_terms if is_rows else operation.n_values
    yield (
        "each term should have an input, a level and a weight",
        len(place) == len(level) == n,
    )
    known = (place >= 0) & (place < len(inputs))
    yield "input should be an index of inputs", bool(known.all())
    n_levels = np.array([len(entry.levels) for entry in inputs])[place]
    fits = ((level >= 0) == (n_levels > 0)).all() and (level < n_levels).all()
    yield "level should be a level of its input, -1 for a number", bool(fits)


def _chained(start: np.ndarray, n: int, n_terms: int) -> bool:
    """Whether places lead through all terms, n times."""
    steps = len(start) == n + 1 and bool((np.diff(start) >= 0).all())
    return steps and start[0] == 0 and start[-1] == n_terms
