"""What each operation is in JavaScript: functions of its constants.

Numbers of JavaScript are 64-bit floats. In 32-bit floats `round` is `Math.fround`: a
sum or product of two float32 in 64 bits, rounded to float32, has the bits of the
emulator. Of integers `round` does nothing: they are exact below 2^53.
"""

from __future__ import annotations

from smpcore.codegen.targets.javascript.literals import declared
from smpcore.codegen.targets.javascript.sparse_code import SPARSE_CODE
from smpcore.codegen.targets.scripts import EXP2, INVERSE_ROOT

_TERM = """\
/** Value of the input of a term; 1 or 0 of one of its levels. */
function term(values, f) {
  const value = values[INPUT[f]];
  return LEVEL[f] < 0 ? value : Number(value === LEVEL[f]);
}
"""

_WEIGHTED_INPUTS = """\
function weightedInputs(values) {
  return Array.from(BIAS, (bias, row) => {
    let total = bias;
    for (let f = START[row]; f < START[row + 1]; ++f) {
      total = round(total + round(WEIGHT[f] * term(values, f)));
    }
    return total;
  });
}
"""

_ADDED = """\
const added = (values) => values.reduce((total, value) => round(total + value), 0);
"""

_FEATURES = {
    "features": "function features(values) {\n",
    "not moved": """\
  let t = Array.from(FACTOR, (factor, f) => round(term(values, f) * factor));
""",
    "moved": (
        "  let t = Array.from(FACTOR, (factor, f) => "
        "round(round(term(values, f) * factor) + MOVE[f]));\n"
    ),
    "less the mean": """\
  const mean = round(added(t) * ONE_OF_ALL);
  t = t.map((v) => round(v - mean));
""",
    "of length 1": """\
  const root = inverseRoot(added(t.map((v) => round(v * v))));
  return t.map((v) => round(v * root));
}
""",
    "of any length": "  return t;\n}\n",
}

#: The bits of a float32 are the same in every engine; an operator ** need not be.
_BITS = """\
const bits = new Uint32Array(1);
const float = new Float32Array(bits.buffer);
"""

_EXP2_MINUS = (
    declared(EXP2)
    + """
/** 2^-u. */
function exp2Minus(u) {
  if (!(u < CUTOFF)) return Number.isNaN(u) ? u : 0;
  const whole = Math.floor(round(u + 0.5));
  const rest = round(u - whole);
  const power = EXP2.reduce((sum, next) => round(round(sum * rest) + next));
  bits[0] = (127 - whole) << 23;
  return round(power * float[0]);
}
"""
)

_INVERSE_ROOT = (
    declared(INVERSE_ROOT)
    + """
/** 1 / sqrt(square); 0 for a number that is too small. */
function inverseRoot(square) {
  if (!(square > LEAST_SQUARE && square < MOST_SQUARE)) return 0 * square;
  float[0] = square;
  bits[0] = GUESS - (bits[0] >>> 1);
  let root = float[0];
  const half = round(0.5 * square);
  for (let step = 0; step < NEWTON_STEPS; ++step) {
    root = round(root * round(1.5 - round(round(half * root) * root)));
  }
  return root;
}
"""
)

_SIMILARITIES = """\
function similarities(t) {
  const n = t.length;
  return Array.from(CONSTANT, (constant, i) => {
    let total = constant;
    let whole = constant;
    for (let f = 0; f < n; ++f) {
      const a = ANCHOR[i * n + f];
@step@    }
@finish@  });
}
"""

#: What a feature adds.
_STEPS = {
    "step square": """\
      const apart = round(t[f] - a);
      total = round(total + round(apart * apart));
""",
    "step absolute": "      total = round(total + Math.abs(round(t[f] - a)));\n",
    "step product": "      total = round(total + round(a * t[f]));\n",
    "step exp2": """\
      const apart = round(t[f] - a);
      const alike = exp2Minus(round(apart * apart));
      total = round(total + round(SHARE[f] * alike));
""",
    "step overlap": """\
      whole = round(whole + (t[f] < a ? a : t[f]));
      total = round(total + (t[f] < a ? t[f] : a));
""",
}

#: What becomes of the total.
_FINISHES = {
    "finish exp2": "    return exp2Minus(total);\n",
    "finish power": """\
    let power = total;
    for (let k = 1; k < DEGREE; ++k) power = round(power * total);
    return power;
""",
    "finish none": "    return total;\n",
    "finish ratio": """\
    const root = inverseRoot(whole);
    return round(round(total * root) * root);
""",
}

_WEIGHTED_SUMS = """\
function weightedSums(alike) {
  const sums = Array.from(BIAS, (bias) => bias + 0);
  alike.forEach((value, i) => {
    for (let k = START[i]; k < START[i + 1]; ++k) {
      sums[ROW[k]] = round(sums[ROW[k]] + round(WEIGHT[k] * value));
    }
  });
  return sums;
}
"""

_FIXED_POINT_FEATURES = """\
function fixedPointFeatures(values) {
  return FACTOR.map((factor, f) => {
    const sum = term(values, f) * factor + ORIGIN[f]; // below 2^31
    return Math.min(Math.max(sum, 0) >> PLACES[f], TOP);
  });
}
"""

_FIXED_POINT_SIMILARITIES = """\
/** 2^-(distance / scale) in steps of 2^-15; >>> as a distance can be above 2^31. */
function wholeExp2(distance) {
  const coarse = distance >>> DROP;
  if (coarse > LAST) return 0;
  const u = (coarse * GAIN + HALF) >>> DOWN;
  const k = (u >> 7) & 31;
  const rest = u & 127;
  const whole = u >> 12;
  const part = TABLE[k] - (((TABLE[k] - TABLE[k + 1]) * rest + 64) >> 7);
  return (part + ((1 << whole) >> 1)) >> whole;
}

function fixedPointSimilarities(t) {
  return Array.from({ length: N_ANCHORS }, (_, i) => {
    let distance = 0;
    for (let f = 0; f < t.length; ++f) {
      const d = t[f] - ANCHOR[i * t.length + f];
      distance += @size@;
    }
    return wholeExp2(distance);
  });
}
"""

#: See `scripts.functions_of`.
TEXTS = {
    "name": "camelCase",
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
    "power 1": "Math.abs(d)",
    "power 2": "d * d",
    **_FEATURES,
    **_STEPS,
    **_FINISHES,
}
