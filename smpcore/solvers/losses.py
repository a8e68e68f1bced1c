"""Losses of multi-prototype classifiers, with gradient and the entropy of their dual.

The score s_j of rivals (prototypes of the other classes) against the own prototype a:

    SMOOTH (eq. 4)    log(1 + sum_j c_j exp(s_j - s_a))
    MAX (eq. 2)       log(1 + exp(max_j s_j - s_a))
        annealed      log(1 + exp(T log sum_j exp(s_j / T) - s_a)), between the two
    HINGE             max(0, 1 + max_j s_j - s_a)
        annealed      T log(1 + sum_j exp((1 + s_j - s_a) / T)), which is above it

========  ================  ==========  ================================================
symbol    name              shape       meaning
========  ================  ==========  ================================================
X         X                 (m, n)      rows = examples
y         y_encoded         (m,) int    class of each example
a_i       assign            (m,) int    prototype each example is tied to
u_i       weights           (m,)        weight of each example, sum 1
W         W                 (N, n)      rows = prototypes
pc        prototype_labels  (N,) int    class of each prototype
log c_j   offsets           (N,)        added to a rival's score: it stands for c_j
                                        rivals
          kind              int         SMOOTH, MAX or HINGE
          ties              Ties        y, a, u, pc, log c and kind
          room              tuple       work, see `loss_room`
T         temperature       number      1: the smooth loss; to 0: the max or hinge loss
S         S                 (N + 1, k)  scores of a block of k rows; last row: own
                                        prototype
E         E                 (N, k)      exponentials of the scores
Q                           (m, N)      softmax over K_i = {a_i} and the rivals
D         (in S)            (N, k)      u (Q - e), e = one-hot of a_i
1 - Q_ia  miss              (m,)        probability that the rivals get
G         G                 (N, n)      gradient, D X
========  ================  ==========  ================================================
"""

import math
from collections import namedtuple

import numpy as np

from . import kernel

Ties = namedtuple("Ties", "y_encoded assign weights prototype_labels offsets kind")

FAR = -1e200

#: Prototypes up to which products of a matrix with a vector are faster.
FEW = 4

#: Kinds of losses.
SMOOTH, MAX, HINGE = 0, 1, 2
LOSSES = {"smooth": SMOOTH, "max": MAX, "hinge": HINGE}


@kernel
def exponentials(x, e, bits):
    """Write exp(x), x <= 0, into e; `bits` is e seen as integers.

    libm's exp takes one number per call; this one (Cody-Waite reduction, Taylor
    polynomial of degree 13, error 2 ulp) is vectorised by the compiler: three times as
    fast. Adding 1.5 * 2**52 leaves the rounded multiple of log 2 in the lowest bits.
    """
    magic = 6755399441055744.0
    n = x.size
    for i in range(n):
        e[i] = max(x[i], -700.0) * 1.4426950408889634 + magic
    for i in range(n):
        bits[i] = (bits[i] << 52) + (1023 << 52)
    for i in range(n):
        z = max(x[i], -700.0)
        k = (z * 1.4426950408889634 + magic) - magic
        r = (z - k * 0.6931471803691238) - k * 1.9082149292705877e-10
        s = 1 / 479001600 + r * (1 / 6227020800)
        s = 1 / 3628800 + r * (1 / 39916800 + r * s)
        s = 1 / 40320 + r * (1 / 362880 + r * s)
        s = 1 / 720 + r * (1 / 5040 + r * s)
        s = 1 / 24 + r * (1 / 120 + r * s)
        s = 1.0 + r * (1.0 + r * (0.5 + r * (1 / 6 + r * s)))
        e[i] = s * e[i] if x[i] >= -700.0 else 0.0


@kernel
def gaussians(here, z, factor, x, e, bits):
    """Write exp(factor (here - z)^2) into e, factor < 0; x is room for exponents."""
    for j in range(x.size):
        apart = here - z[j]
        x[j] = factor * apart * apart
    exponentials(x, e, bits)


@kernel
def log_one_plus(z):
    """log(1 + z), 0 <= z <= 1, as 2 artanh(z / (2 + z)); a loop over it is vectorised.

    The series ends where its terms, at most 9**-k / (2 k + 1), are below rounding.
    """
    s = z / (2.0 + z)
    t = s * s
    p = 1 / 27 + t * (1 / 29 + t * (1 / 31 + t * (1 / 33 + t * (1 / 35))))
    p = 1 / 19 + t * (1 / 21 + t * (1 / 23 + t * (1 / 25 + t * p)))
    p = 1 / 11 + t * (1 / 13 + t * (1 / 15 + t * (1 / 17 + t * p)))
    p = 1 / 3 + t * (1 / 5 + t * (1 / 7 + t * (1 / 9 + t * p)))
    return 2.0 * s * (1.0 + t * p)


@kernel
def softmax_block(S, E, ties, T, triple, miss):
    """Losses of one block of k examples; its scores S become D.

    S and E are flat: the k scores of prototype 0, of prototype 1, ..., and in S room
    for those of the own prototypes. Returns the annealed loss and its entropy, the true
    loss and its entropy: the same if `kind` is SMOOTH, where T is 1. The entropy is
    the convex function of Q that the dual has; for HINGE it has the term -(1 - Q_ia).
    """
    y_encoded, assign, weights, prototype_labels, offsets, kind = ties
    best, mass, spread = triple[0], triple[1], triple[2]
    N, k = prototype_labels.size, y_encoded.size
    own = S[N * k :]
    for i in range(k):
        own[i] = S[assign[i] * k + i]
        best[i] = FAR
    for j in range(N):
        s = S[j * k : (j + 1) * k]
        for i in range(k):
            s[i] = s[i] + offsets[j] if y_encoded[i] != prototype_labels[j] else FAR
            best[i] = max(best[i], s[i])
    for j in range(N):
        s = S[j * k : (j + 1) * k]
        for i in range(k):
            s[i] = (s[i] - best[i]) / T
    exponentials(S[: N * k], E, E.view(np.int64))
    for i in range(k):
        mass[i] = 0.0
        spread[i] = 0.0
    for j in range(N):
        s, e = S[j * k : (j + 1) * k], E[j * k : (j + 1) * k]
        for i in range(k):
            mass[i] += e[i]
            spread[i] += e[i] * (s[i] - offsets[j])
    outer, shift = (T, 1.0) if kind == HINGE else (1.0, 0.0)
    # Loops over few arrays are vectorised; those that sum, or call log, are not.
    lead, among, tail, small = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    for i in range(k):  # of a single rival it is 0, and log is slow
        among[i] = math.log(mass[i]) if mass[i] != 1.0 else 0.0
    for i in range(k):
        own[i] = best[i] - own[i] + shift
    for i in range(k):
        lead[i] = (own[i] + T * among[i]) / outer
        tail[i] = -abs(lead[i])
    exponentials(tail, small, small.view(np.int64))
    for i in range(k):
        tail[i] = log_one_plus(small[i])
    for i in range(k):
        q = 1.0 / (1.0 + small[i])
        miss[i] = q if lead[i] >= 0.0 else small[i] * q
    for i in range(k):
        r, q = lead[i], miss[i]
        small[i] = q * min(r, 0.0) - (1.0 - q) * max(r, 0.0) - tail[i]
    for i in range(k):
        among[i] = miss[i] * T * (spread[i] / mass[i] - among[i])
    for i in range(k):
        spread[i] = weights[i] * miss[i]
    for i in range(k):
        mass[i] = spread[i] / mass[i]
    loss, entropy, true_loss, true_entropy = 0.0, 0.0, 0.0, 0.0
    for i in range(k):
        loss += weights[i] * outer * (max(lead[i], 0.0) + tail[i])
        entropy += weights[i] * (outer * small[i] + among[i] - shift * miss[i])
    for i in range(k if kind != SMOOTH else 0):
        margin = own[i]
        if kind == MAX:
            rest = math.log1p(math.exp(-abs(margin)))
            true_loss += weights[i] * (max(margin, 0.0) + rest)
            true_entropy += weights[i] * small[i]
        else:
            true_loss += weights[i] * max(margin, 0.0)
            true_entropy -= weights[i] * miss[i]
    for j in range(N):
        s, e = S[j * k : (j + 1) * k], E[j * k : (j + 1) * k]
        for i in range(k):
            s[i] = e[i] * mass[i] if assign[i] != j else -spread[i]
    if kind == SMOOTH:
        return loss, entropy, loss, entropy
    return loss, entropy, true_loss, true_entropy


@kernel
def loss_room(N, n, most):
    """Scores, exponentials and gradient of a block of at most so many rows."""
    rows = max(16, min(most, 262144 // (N * n)))
    S, E, triple = np.empty((N + 1) * rows), np.empty(N * rows), np.empty((3, rows))
    return S, E, triple, np.empty((N, n))


@kernel
def loss_and_gradient(X, ties, T, W, G, miss, room):
    """Annealed and true loss with their entropies at W; gradient of the former in G.

    X is read once, a block of rows at a time: scores, softmax and gradient while the
    block is in the cache.
    """
    S, E, triple, part = room
    N = W.shape[0]
    rows = triple.shape[1]
    loss, entropy, true_loss, true_entropy = 0.0, 0.0, 0.0, 0.0
    for j in range(N):
        for r in range(G.shape[1]):
            G[j, r] = 0.0
    for first in range(0, miss.size, rows):
        last = min(first + rows, miss.size)
        k = last - first
        Xk, scores = X[first:last], S[: N * k].reshape(N, k)
        if N > FEW:
            np.dot(W, Xk.T, scores)
        for j in range(N if N <= FEW else 0):
            np.dot(Xk, W[j], scores[j])
        block = Ties(
            ties.y_encoded[first:last], ties.assign[first:last],
            ties.weights[first:last], ties.prototype_labels, ties.offsets, ties.kind,
        )  # fmt: skip
        f, h, true_f, true_h = softmax_block(
            S[: (N + 1) * k], E[: N * k], block, T, triple, miss[first:last]
        )
        loss += f
        entropy += h
        true_loss += true_f
        true_entropy += true_h
        if N > FEW:
            np.dot(scores, Xk, part)
        for j in range(N if N <= FEW else 0):
            np.dot(scores[j], Xk, part[j])
        for j in range(N):
            for r in range(G.shape[1]):
                G[j, r] += part[j, r]
    return loss, entropy, true_loss, true_entropy


@kernel
def scaled_entropy(s, entropy, kind, miss, weights):
    """Entropy term of s Q + (1 - s) e, from that of Q."""
    if kind == HINGE:
        return s * entropy
    smooth = kind == SMOOTH
    scaled = s * entropy if smooth else 0.0
    for i in range(miss.size):
        q, stay = miss[i], 1.0 - s * miss[i]
        if q > 0.0:
            scaled += weights[i] * stay * math.log(stay)
            if not smooth:
                scaled += weights[i] * s * q * math.log(s * q)
            elif q < 1.0:
                stays = (1.0 - q) * math.log1p(-q)
                scaled += weights[i] * s * (q * math.log(s) - stays)
    return scaled
