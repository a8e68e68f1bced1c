r"""The probability of class 1 of two, as a table of a few lines over the lead.

    lead   = score of class 1 - score of class 0
    lead   = clip(lead, -below, above)                   0 where that is no number
    place  = trunc((lead + below) per_unit + 1/2)        in floats, each step rounded
    place  = (lead + below) >> drop                      in integers
    k      = the last segment with begin_k <= place
    answer = value_k + (slope_k (place - begin_k) >> 15)

The answer counts in 1/32768, is at least 1 and at most 32767, and never falls where the
lead grows. A place is below 2^16, and slope_k (place - begin_k) at most 2^30.

Of two classes `Calibration.probabilities` is a function of the lead that never falls.
So over all leads of one place it lies between its values at the ends of the place, and
the answer is off the most at one of them: `error` is the largest over all places,
computed one by one, and holds for every lead.

Of more classes the table is that of the exponential, over how far a class is behind:

    lead_k   = (score_k + offset_k) - largest of these   0 at most
    answer_k = (2^15 e_k + sum / 2) // sum               e_k: the table at lead_k

clipped to 1 and 32767. With each e_k off by at most a, a share p of n classes is off by
at most a (1 - p) + p (n - 1) a over the sum of all e_k, which is (n - 1) a / (1 - a) at
most. An offset of whole steps is half a step off, which moves log-odds by a step at
most. Where isotonic curves follow the softmax there is no table.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smpcore.errors import ExportError
from smpcore.model import Calibration

#: A probability of 1.
ONE = 1 << 15
#: Bits of a slope behind its point.
SLOPE_BITS = 15
MOST_SEGMENTS = 16
#: Share of the rows that the interval of a number covers.
COVERAGE = 0.9

#: Places are numbers of 16 bits.
_PLACES = 1 << 16
#: Log-odds from which a sigmoid is as good as 0 or 1 in 1/32768.
_FLAT = 12.0
#: No score in floats is so large for inputs that make sense, and twice it is a float32.
_FAR = 1e37
#: The place of a lead in floats is rounded to this much of a place.
_SLACK = 0.02
#: Log-odds where every calibration is at its end.
_ENDS = 800.0
#: What the rounding of a line may cost, in 1/32768.
_TINY = 1e-6
#: Tolerances are halved so often in search of the least.
_HALVINGS = 14

#: Segments: first place and real start, slope in 1/32768 for each place.
_Lines = list[tuple[int, float, float]]


@dataclass(frozen=True, eq=False, kw_only=True)
class ProbabilityTable:
    """Constants of one model, see the top of this file."""

    below: float
    above: float
    per_unit: float = 1.0
    drop: int = 0
    begin: np.ndarray
    value: np.ndarray
    slope: np.ndarray
    offset: np.ndarray = ()
    error: float = 1.0

    def __post_init__(self) -> None:
        kinds = dict.fromkeys(("begin", "value", "slope"), np.int64)
        kinds["offset"] = np.int64 if self.is_integer else np.float32
        for name, kind in kinds.items():
            array = np.array(getattr(self, name), dtype=kind)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if not self._holds():
            raise ExportError(
                f"A table of probabilities should have 1 to {MOST_SEGMENTS} ascending "
                "segments that never fall; export the model again."
            )

    def _holds(self) -> bool:
        """Whether no sum leaves its type and no answer falls."""
        n = len(self.begin)
        if not (1 <= n <= MOST_SEGMENTS and len(self.value) == len(self.slope) == n):
            return False
        numbers = self.below, self.above, self.per_unit
        if not (np.isfinite(numbers).all() and min(numbers) >= 0 <= self.drop < 32):
            return False
        ends = np.append(self.begin[1:], _PLACES) - 1
        # The last segment goes on up to the place of the largest lead only.
        ends[-1] = max(int(self.places(self._leads([self.above]))[0]), self.begin[-1])
        rises = self.slope * (ends - self.begin)
        last = self.value + (rises >> SLOPE_BITS)
        return bool(
            self.begin[0] == 0
            and (np.diff(self.begin) > 0).all()
            and ends[-1] < _PLACES
            and self.value[0] >= 1
            and (self.slope >= 0).all()
            and (self.value[1:] >= last[:-1]).all()
            and last[-1] < ONE
        )

    @property
    def is_integer(self) -> bool:
        """Whether leads are whole numbers."""
        return isinstance(self.above, int)

    @property
    def kind(self) -> str:
        """What the function that gives it is called."""
        return "probabilities" if len(self.offset) else "probability"

    def _leads(self, leads: Any) -> np.ndarray:
        return np.array(leads, np.int64 if self.is_integer else np.float32)

    def places(self, leads: np.ndarray) -> np.ndarray:
        """Places of leads."""
        if self.is_integer:
            return (np.clip(leads, -self.below, self.above) + self.below) >> self.drop
        below, above, unit = map(np.float32, (self.below, self.above, self.per_unit))
        known = np.where(np.isnan(leads), np.float32(0), leads)
        scaled = (np.clip(known, -below, above) + below) * unit
        return (scaled + np.float32(0.5)).astype(np.int64)

    def at(self, places: np.ndarray) -> np.ndarray:
        """Answers at places, int64 in 1/32768."""
        k = np.searchsorted(self.begin, places, side="right") - 1
        rise = self.slope[k] * (places - self.begin[k])
        return self.value[k] + (rise >> SLOPE_BITS)

    def of_scores(self, scores: np.ndarray) -> np.ndarray:
        """Probability in 1/32768 of each class; of two that of class 1 only."""
        given = self._leads(scores)
        with np.errstate(over="ignore", invalid="ignore"):
            if not len(self.offset):
                return self.at(self.places(given[:, 1] - given[:, 0]))
            given = given + self.offset
            parts = self.at(self.places(given - given.max(axis=1, keepdims=True)))
        total = parts.sum(axis=1, keepdims=True)
        return (((parts << SLOPE_BITS) + total // 2) // total).clip(1, ONE - 1)


def probability_table(model: Any, calibration: Calibration) -> ProbabilityTable:
    """Write the calibration of two classes as a table."""
    slope, offsets = calibration.slope, calibration.offsets
    offset = float(offsets[1] - offsets[0])
    # Log-odds outside which the probability does not change any more.
    low, high = -_FLAT, _FLAT
    if calibration.curves:
        first, second = (curve[0] for curve in calibration.curves)
        low, high = min(-first[-1], second[0]), max(-first[0], second[-1])
    # A lead of 0 is always inside, so that nothing is taken from an unsigned number.
    reach = np.array([max(offset - low, 0.0), max(high - offset, 0.0)])
    reach = reach / slope if slope else np.zeros(2)

    def shares(leads: np.ndarray) -> np.ndarray:
        scores = np.column_stack([np.zeros(len(leads)), leads])
        return np.maximum.accumulate(calibration.probabilities(scores)[:, 1]) * ONE

    far = (_ENDS + abs(offset)) / slope if slope else 1.0
    return _table(model, shares, reach, far)


def softmax_table(model: Any, calibration: Calibration) -> ProbabilityTable | None:
    """Write the softmax of several classes as a table; None where there is none."""
    slope, n = calibration.slope, len(calibration.offsets)
    if not slope or calibration.curves:
        return None
    offset, half_step = calibration.offsets / slope, 0.0
    if model.is_integer:
        offset, half_step = np.rint(offset / model.step), model.step / 2
    if not (np.abs(offset) < 2.0**31).all():
        return None

    def shares(leads: np.ndarray) -> np.ndarray:
        return np.exp(slope * np.minimum(leads, 0.0)) * ONE

    made = _table(model, shares, np.array([_FLAT, 0.0]) / slope, _ENDS / slope)
    error = (n - 1) * made.error / (1 - made.error) + 1.5 / ONE
    error += np.tanh(slope * half_step / 2)
    return replace(made, offset=offset, error=float(error))


def _table(
    model: Any,
    shares: Callable[[np.ndarray], np.ndarray],
    reach: np.ndarray,
    far: float,
) -> ProbabilityTable:
    """Few lines over the leads inside a reach, for what never falls as a lead grows."""
    if model.is_integer:
        lead, edges = _whole_places(model, reach)
        far = min(far, 2 * model.largest * model.step)
    else:
        lead, edges = _float_places(reach)
    edges[[0, 1], [0, -1]] = -far, far
    least, most = (shares(np.clip(one, -far, far)).clip(1, ONE - 1) for one in edges)
    lines = _fewest_errors(least, most)
    made = ProbabilityTable(**lead, **_whole_lines(lines, len(least)))
    answers = made.at(np.arange(len(least)))
    real = [shares(np.clip(one, -far, far)) for one in edges]
    error = max(float(np.abs(answers - one).max()) for one in real) / ONE
    return replace(made, error=error)


def calibrated(model: Any, calibration: Calibration) -> Any:
    """Give a program what its calibration says of its answers."""
    if not model.is_regression:
        make = probability_table if model.n_outputs == 2 else softmax_table
        return replace(model, probability=make(model, calibration))
    if calibration.spread.size:
        return model  # the code has one width for all rows, which would not be this
    # Half the width of an interval, rounded up; none where the format has none.
    low, high = calibration.interval(np.zeros(1), COVERAGE)[0]
    width = (high - low) / 2 / model.step
    if model.is_integer:
        half = int(np.ceil(width)) if width < 2**31 - 1 else None
        return replace(model, half_width=half)
    with np.errstate(over="ignore"):
        near = np.float32(width)
        near = np.nextafter(near, np.float32(np.inf)) if float(near) < width else near
    return replace(model, half_width=float(near) if np.isfinite(near) else None)


def _whole_places(model: Any, reach: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """How whole leads become places, and the real leads at the ends of each place."""
    counts = np.minimum(reach / model.step, 2 * model.largest)
    if counts.sum() > 2**32 - 2:  # both together are to fit 32 bits
        counts = np.minimum(counts, 2**31 - 1)
    below, above = (int(np.ceil(one)) for one in counts)
    drop = max((below + above).bit_length() - 16, 0)
    first = np.arange(((below + above) >> drop) + 1) << drop
    edges = np.stack([first, first + (1 << drop) - 1]) - below
    return {"below": below, "above": above, "drop": drop}, edges * model.step


def _float_places(reach: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """How leads in floats become places, and the leads at the ends of each place."""
    below, above = map(float, np.minimum(reach, _FAR).astype(np.float32))
    n = _PLACES - 2 if below + above > 1e-30 else 0
    unit = float(np.float32(n / (below + above))) if n else 1.0
    last = int(
        np.float32(np.float32(below) + np.float32(above)) * np.float32(unit) + 0.5
    )
    middles = np.arange(last + 1)
    edges = np.stack([middles - (0.5 + _SLACK), middles + (0.5 + _SLACK)])
    return {"below": below, "above": above, "per_unit": unit}, edges / unit - below


def _fewest_errors(least: np.ndarray, most: np.ndarray) -> _Lines:
    """Few lines between both, but for an error that is as small as was found."""
    low, high, best = 0.0, float(ONE), None
    # A place where the probability jumps gets the middle: nothing is nearer there.
    inside = (least + most) / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        bounds = np.minimum(most - middle, inside), np.maximum(least + middle, inside)
        lines = _lines_within(*bounds)
        if lines is None:
            low = middle
        else:
            high, best = middle, lines
    return best or [(0, float(least[0] + most[-1]) / 2, 0.0)]


def _lines_within(lower: np.ndarray, upper: np.ndarray) -> _Lines | None:
    """Lines between two rising bounds, none below the one before; None: too many."""
    lower, upper = np.maximum(lower, 1.0), np.minimum(upper, ONE - 1.0)
    lines, begin, floor = [], 0, 1.0
    while begin < len(lower):
        if len(lines) == MOST_SEGMENTS:
            return None
        fits = functools.partial(_line, lower[begin:], upper[begin:], floor)
        lengths = range(1, len(lower) - begin + 1)
        length = bisect_left(lengths, True, key=lambda n: fits(n) is None)
        if not length:
            return None
        start, slope = fits(length)
        lines.append((begin, start, slope))
        floor, begin = start + slope * (length - 1), begin + length
    return lines


def _line(
    lower: np.ndarray, upper: np.ndarray, floor: float, n: int
) -> tuple[float, float] | None:
    """The flattest line over n places between two bounds, if there is one.

    It begins where their chord would.
    """
    lower, upper = lower[:n], upper[:n]
    if n == 1:
        start = max(float(lower[0]), floor)
        return (start, 0.0) if start <= float(upper[0]) + _TINY else None
    steps = np.arange(n)
    ends = lower[[0, -1]] + upper[[0, -1]]
    chord = float(ends[1] - ends[0]) / (2 * (n - 1))
    start = max(min(float((lower - chord * steps).max()), float(upper[0])), floor)
    slope = max(float(((lower - start)[1:] / steps[1:]).max()), 0.0)
    room = float((upper - start - slope * steps).min())
    return (start, slope) if room >= -_TINY else None


def _whole_lines(lines: _Lines, n_places: int) -> dict[str, list[int]]:
    """Lines as whole numbers, none of them below the one before."""
    floor, rows = 1, []
    ends = [*(begin for begin, _, _ in lines[1:]), n_places]
    for (begin, start, slope), end in zip(lines, ends, strict=True):
        value = min(max(round(start), floor), ONE - 1)
        steps = end - 1 - begin
        gain = int(slope * 2**SLOPE_BITS)
        room = (ONE - 1 - value) << SLOPE_BITS
        gain = min(gain, room // steps) if steps else 0
        floor = value + (gain * steps >> SLOPE_BITS)
        rows.append((begin, value, gain))
    begins, values, gains = map(list, zip(*rows, strict=True))
    return {"begin": begins, "value": values, "slope": gains}
