"""What each operation is in Python: functions of its constants.

Floats of Python have 64 bits: a sum or product of two float32, rounded to float32, has
the bits of the emulator. Integers are exact.
"""

from __future__ import annotations

from smpcore.codegen.targets.python.literals import declared
from smpcore.codegen.targets.python.sparse_code import SPARSE_CODE
from smpcore.codegen.targets.scripts import EXP2, INVERSE_ROOT


def rounded(text: str, whole: bool) -> str:
    """Text in which what stands in {{ }} is rounded to float32; not if it is whole."""
    before, after = ("", "") if whole else ("_float32(", ")")
    return text.replace("{{", before).replace("}}", after)


_TERM = '''\
def _term(values, f):
    """Value of the input of a term; 1 or 0 of one of its levels."""
    value, level = values[INPUT[f]], LEVEL[f]
    return value if level < 0 else int(value == level)
'''

_WEIGHTED_INPUTS = '''\
def weighted_inputs(values):
    """Sums of weighted inputs."""
    totals = []
    for row, total in enumerate(BIAS):
        for f in range(START[row], START[row + 1]):
            total = {{total + {{WEIGHT[f] * _term(values, f)}}}}
        totals.append(total)
    return totals
'''

_ADDED = """\
def _added(values):
    total = 0.0
    for value in values:
        total = _float32(total + value)
    return total
"""

_FEATURES = {
    "features": '''\
def features(values):
    """Scaled inputs."""
''',
    "not moved": """\
    t = [_float32(_term(values, f) * FACTOR[f]) for f in range(len(FACTOR))]
""",
    "moved": """\
    t = [_float32(_term(values, f) * FACTOR[f]) for f in range(len(FACTOR))]
    t = [_float32(v + MOVE[f]) for f, v in enumerate(t)]
""",
    "less the mean": """\
    mean = _float32(_added(t) * ONE_OF_ALL)
    t = [_float32(v - mean) for v in t]
""",
    "of length 1": """\
    root = _inverse_root(_added([_float32(v * v) for v in t]))
    return [_float32(v * root) for v in t]
""",
    "of any length": "    return t\n",
}

_BITS = """\
def _bits(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


def _from_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]
"""

_EXP2_MINUS = (
    declared(EXP2)
    + '''

def _exp2_minus(u):
    """2^-u."""
    if not u < CUTOFF:
        return u if u != u else 0.0
    whole = int(_float32(u + 0.5))
    rest = _float32(u - whole)
    power = EXP2[0]
    for coefficient in EXP2[1:]:
        power = _float32(_float32(power * rest) + coefficient)
    return _float32(power * _from_bits((127 - whole) << 23))
'''
)

_INVERSE_ROOT = (
    declared(INVERSE_ROOT)
    + '''

def _inverse_root(square):
    """1 / sqrt(square); 0 for a number that is too small."""
    if not LEAST_SQUARE < square < MOST_SQUARE:
        return 0.0 * square
    root = _from_bits(GUESS - (_bits(square) >> 1))
    half = _float32(0.5 * square)
    for _ in range(NEWTON_STEPS):
        rest = _float32(1.5 - _float32(_float32(half * root) * root))
        root = _float32(root * rest)
    return root
'''
)

_SIMILARITIES = '''\
def similarities(t):
    """Similarity of the features to each anchor."""
    n = len(t)
    found = []
    for i, total in enumerate(CONSTANT):
        whole = total
        for f in range(n):
            a = ANCHOR[i * n + f]
@step@@finish@    return found
'''

#: What a feature adds.
_STEPS = {
    "step square": """\
            apart = _float32(t[f] - a)
            total = _float32(total + _float32(apart * apart))
""",
    "step absolute": "            total = _float32(total + abs(_float32(t[f] - a)))\n",
    "step product": "            total = _float32(total + _float32(a * t[f]))\n",
    "step exp2": """\
            apart = _float32(t[f] - a)
            alike = _exp2_minus(_float32(apart * apart))
            total = _float32(total + _float32(SHARE[f] * alike))
""",
    "step overlap": """\
            whole = _float32(whole + (a if t[f] < a else t[f]))
            total = _float32(total + (t[f] if t[f] < a else a))
""",
}

#: What becomes of the total.
_FINISHES = {
    "finish exp2": "        found.append(_exp2_minus(total))\n",
    "finish power": """\
        power = total
        for _ in range(1, DEGREE):
            power = _float32(power * total)
        found.append(power)
""",
    "finish none": "        found.append(total)\n",
    "finish ratio": """\
        root = _inverse_root(whole)
        found.append(_float32(_float32(total * root) * root))
""",
}

_WEIGHTED_SUMS = '''\
def weighted_sums(alike):
    """Sums of weighted similarities."""
    sums = [bias + 0 for bias in BIAS]
    for i, value in enumerate(alike):
        for k in range(START[i], START[i + 1]):
            row = ROW[k]
            sums[row] = {{sums[row] + {{WEIGHT[k] * value}}}}
    return sums
'''

_FIXED_POINT_FEATURES = '''\
def _feature(values, f):
    count = _term(values, f)
    return min(max((count * FACTOR[f] + ORIGIN[f]) >> PLACES[f], 0), TOP)


def fixed_point_features(values):
    """Whole features."""
    return [_feature(values, f) for f in range(len(FACTOR))]
'''

_FIXED_POINT_SIMILARITIES = '''\
def _whole_exp2(distance):
    """2^-(distance / scale) in steps of 2^-15."""
    coarse = distance >> DROP
    if coarse > LAST:
        return 0
    u = (coarse * GAIN + HALF) >> DOWN
    k, rest, whole = u >> 7 & 31, u & 127, u >> 12
    part = TABLE[k] - (((TABLE[k] - TABLE[k + 1]) * rest + 64) >> 7)
    return (part + ((1 << whole) >> 1)) >> whole


def fixed_point_similarities(t):
    """Similarity of the features to each anchor."""
    n = len(t)
    found = []
    for i in range(N_ANCHORS):
        distance = 0
        for f in range(n):
            d = t[f] - ANCHOR[i * n + f]
            distance += @size@
        found.append(_whole_exp2(distance))
    return found
'''

#: See `scripts.functions_of`.
TEXTS = {
    "name": "snake_case",
    "term": _TERM,
    "weighted inputs": _WEIGHTED_INPUTS,
    "added": _ADDED,
    "bits": _BITS,
    "exp2": _EXP2_MINUS,
    "inverse root": _INVERSE_ROOT,
    "similarities": _SIMILARITIES,
    "weighted sums": _WEIGHTED_SUMS,
    "sparse code": SPARSE_CODE,
    "fixed point features": _FIXED_POINT_FEATURES,
    "fixed point similarities": _FIXED_POINT_SIMILARITIES,
    "power 1": "abs(d)",
    "power 2": "d * d",
    **_FEATURES,
    **_STEPS,
    **_FINISHES,
}
