"""Interpretable multiple-kernel prototype learning: the heavy steps.

Minimises over U, Gamma >= 0 with few entries a column, and beta on the simplex
(Hosseini & Hammer, CIKM 2019, equations 3-9; K the kernel mixed with beta, H = U Gamma)

    G = tr(K (I-H) w (I-H)') + lam <1 - S K, H w> + mu <K, W> + tau sum(U)
        + rho |beta|^2 / 2,    w = diag(counts)

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
N, c, f                           rows, prototypes, kernels
K         K           (m, N)      mixed kernel, 1 on the diagonal; the rows held of it
          place       (N,) int    where row i of K is held, -1 if it is not; the next
                                  is put at held[0]
          levels      (p, N) int  level of each row in each pair of features that have
                                  few values, the first's times n_second + the second's
          tables      (2p, d, d)  weight times kernel of the values of each of them, of
                                  which sizes (2p,) count
K_l       Z, widths   (f, N)      exp(-(z_i - z_j)^2 / width) of feature l, never stored
U         U           (c, N)      prototypes as mixes of rows, transposed: u' K u = 1
U'K       KU          (c, N)
Gamma     codes       (c, N)      codes of the rows
w         counts      (N,)        rows that each row stands for
G w G'    overlap     (c, c)      Gamma diag(w) Gamma'
          pull        (c, N)      Gamma diag(w) (lam (1 - S K) - 2 K)
========  ==========  ==========  ====================================================
"""

import math
from collections import namedtuple

import numpy as np

from smpcore.solvers import kernel
from smpcore.solvers.losses import gaussians
from smpcore.solvers.nqp import ZERO, enter, entrant, start_slope

#: Squared length of a row of codes that nothing uses.
DEAD = 1e-14


#: What a row of a mixed kernel is computed of; see the table of symbols.
RowSource = namedtuple("RowSource", "levels tables sizes Z weights widths")
#: Rows of a mixed kernel that are held, and the source of the others.
HeldRows = namedtuple("HeldRows", "K place held source")
#: Work space of `mixed_row`, and of the search for a prototype.
Room = namedtuple("Room", "x e bits looked_up")
Search = namedtuple("Search", "c support x slope factor blocked z best_support best_x")


@kernel
def pair_sums(i, level, first, second, n_first, n_second, sums):
    """Write the kernel values of row i with each pair of levels of two features."""
    row, column = first[level[i] // n_second], second[level[i] % n_second]
    for a in range(n_first):
        for b in range(n_second):
            sums[a * n_second + b] = row[a] + column[b]


@kernel
def new_room(n, source):
    """Work space for rows of n entries."""
    e = np.empty(n)
    looked_up = np.empty(source.tables.shape[1] ** 2)
    return Room(np.empty(n), e, e.view(np.int64), looked_up)


@kernel
def mixed_row(i, row, source, counts, sums, room):
    """Write the first entries of row i of the mixed kernel, as many as `row` has.

    Of pairs of features with few values, sums of their tables are looked up by the
    level of each column. Sums of length 0 are not asked for; else there are no pairs,
    `row` ends at its diagonal, and what it adds to counts' K_l counts is added.
    """
    n = row.size
    x, e, bits = room.x[:n], room.e[:n], room.bits[:n]
    row[:] = 0.0
    for p in range(source.levels.shape[0]):
        level = source.levels[p]
        pair_sums(
            i, level, source.tables[2 * p], source.tables[2 * p + 1],
            source.sizes[2 * p], source.sizes[2 * p + 1], room.looked_up,
        )  # fmt: skip
        for j in range(n):
            row[j] += room.looked_up[level[j]]
    for l in range(source.Z.shape[0]):
        z, weight = source.Z[l], source.weights[l]
        if weight > 0.0:
            gaussians(z[i], z, -1.0 / source.widths[l], x, e, bits)
            for j in range(n):
                row[j] += weight * e[j]
            if sums.size > 0:
                half = -0.5 * counts[i]
                for j in range(n):
                    half += counts[j] * e[j]
                sums[l] += 2.0 * counts[i] * half


@kernel
def mix_features(source, counts, K, sums, stop):
    """Write sum_l weights_l K_l into K, and into sums counts' K_l counts if weights_l.

    Sums of length 0 are not asked for; otherwise there are no levels.
    """
    N = source.Z.shape[1]
    room, total = new_room(N, source), np.empty(N)
    sums[:] = 0.0
    for i in range(N):
        if stop[0] != 0:
            return
        mixed_row(i, total[: i + 1], source, counts, sums, room)
        for j in range(i + 1):
            K[i, j] = total[j]
            K[j, i] = total[j]


@kernel
def feature_products(Z, use, widths, rows, W, products, stop):
    """Write <K_l[rows], W> into products for the features in use."""
    f, N = Z.shape
    x, total, e = np.empty(N), np.empty(N), np.empty(N)
    bits = e.view(np.int64)
    for l in range(f):
        products[l] = 0.0
        if use[l]:
            if stop[0] != 0:
                return
            z, factor = Z[l], -1.0 / widths[l]
            for j in range(N):
                total[j] = 0.0
            for a in range(rows.size):
                gaussians(z[rows[a]], z, factor, x, e, bits)
                w = W[a]
                for j in range(N):
                    total[j] += w[j] * e[j]
            for j in range(N):
                products[l] += total[j]


@kernel
def hold_row(i, rows, room):
    """Compute row i of the mixed kernel where it is not held."""
    if rows.place[i] < 0:
        rows.place[i] = rows.held[0]
        rows.held[0] += 1
        none = room.x[:0]
        mixed_row(i, rows.K[rows.place[i]], rows.source, none, none, room)


@kernel
def prototype_objective(c, linear, support, x, size, curvature, tau):
    """Objective of a prototype x on a support after x is scaled to length 1.

    x solves Q x = -c on its support, so that its squared length x' Q x is -c' x.
    """
    length, value, total = 0.0, 0.0, 0.0
    for r in range(size):
        length -= c[support[r]] * x[r]
        value += linear[support[r]] * x[r]
        total += x[r]
    if not length > 0.0:
        return math.inf
    return curvature * length + value + tau * total / math.sqrt(length)


@kernel
def set_prototype(K, place, i, support, x, size, U, KU):
    """Make x, scaled to length 1, prototype i; return its length before."""
    for s in range(U.shape[1]):
        U[i, s] = 0.0
        KU[i, s] = 0.0
    for r in range(size):
        row, v = K[place[support[r]]], x[r]
        for s in range(U.shape[1]):
            KU[i, s] += v * row[s]
    square = 0.0
    for r in range(size):
        square += x[r] * KU[i, support[r]]
    length = math.sqrt(square)
    for r in range(size):
        U[i, support[r]] = x[r] / length
    for s in range(U.shape[1]):
        KU[i, s] /= length
    return length


@kernel
def best_prototype(rows, room, diagonal, linear, curvature, tau, least, path, search):
    """Find a prototype whose objective is below `least`; return its size, 0 if none.

    Tried are the solution with tau inside (equation 9) and, with `path`, every step on
    the way to the one without: tau inside acts on a length that scaling undoes.
    """
    c, support, x = search.c, search.support, search.x
    best_size = 0
    for attempt in range(2 if path else 1):
        inside = tau if attempt == 0 else 0.0
        for s in range(c.size):
            c[s] = (linear[s] + inside) / (2.0 * curvature)
        flat = start_slope(c, search.slope)
        size, value, n_blocked, more, steps = ZERO, 0.0, ZERO, True, 0
        while more and steps < 4 * support.size + 20:
            j, n_blocked = entrant(
                rows.K, rows.place, diagonal, flat, support, size, search.slope,
                search.factor, search.blocked, n_blocked,
            )  # fmt: skip
            more = j >= 0
            if more:
                hold_row(j, rows, room)
                size, value, more = enter(
                    rows.K, rows.place, diagonal, j, c, support, x, size, value,
                    search.slope, search.factor, search.blocked, n_blocked, search.z,
                )  # fmt: skip
            steps += 1
            if attempt == 1 or not more:
                now = prototype_objective(c, linear, support, x, size, curvature, tau)
                if now < least:
                    least, best_size = now, size
                    for r in range(size):
                        search.best_support[r], search.best_x[r] = support[r], x[r]
    return best_size


@kernel
def rows_tried(limit):
    """Most rows of K that one prototype asks for."""
    return 2 * (4 * limit + 20)


@kernel
def update_prototypes(rows, U, KU, codes, pull, overlap, worst, tau, limit, path):
    """Improve the prototypes one after the other; none gets worse.

    What a prototype's length loses its codes gain, so that H stays. One that no row
    uses becomes the next of the `worst` rows. Rows of K that are not held are computed;
    where there may be no room for all that a prototype tries, what is held is
    forgotten. Returns how many changed.
    """
    n_prototypes, N = U.shape
    limit = min(limit, N)
    K, place, held, diagonal = rows.K, rows.place, rows.held, np.ones(N)
    if held[0] == N:
        for s in range(N):
            diagonal[s] = K[place[s], s]
    room, linear = new_room(N, rows.source), np.empty(N)
    search = Search(
        np.empty(N), np.empty(limit, np.int64), np.empty(limit), np.empty(N),
        np.empty((limit, limit)), np.empty(N, np.int64), np.empty(limit),
        np.empty(limit, np.int64), np.empty(limit),
    )  # fmt: skip
    changed, n_dead = 0, 0
    for i in range(n_prototypes):
        curvature = overlap[i, i]
        if K.shape[0] < min(N, held[0] + rows_tried(limit)):
            held[0] = 0
            for s in range(N):
                place[s] = -1
        if curvature <= DEAD:
            search.best_support[0], search.best_x[0] = worst[n_dead], 1.0
            hold_row(worst[n_dead], rows, room)
            set_prototype(
                K, place, i, search.best_support, search.best_x, ZERO + 1, U, KU
            )
            n_dead += 1
            continue
        for s in range(N):
            linear[s] = pull[i, s]
        for j in range(n_prototypes):
            weight = 2.0 * overlap[j, i]
            if j != i and weight != 0.0:
                for s in range(N):
                    linear[s] += weight * KU[j, s]
        least, length = 0.0, 0.0
        for s in range(N):
            if U[i, s] > 0.0:
                length += U[i, s] * KU[i, s]
                least += (linear[s] + tau) * U[i, s]
        size = best_prototype(
            rows, room, diagonal, linear, curvature, tau, least + curvature * length,
            path, search,
        )  # fmt: skip
        if size == 0:
            continue
        changed += 1
        length = set_prototype(
            K, place, i, search.best_support, search.best_x, size, U, KU
        )
        for s in range(N):
            codes[i, s] *= length
            pull[i, s] *= length
        for j in range(n_prototypes):
            overlap[i, j] *= length
            overlap[j, i] *= length
    return changed
