"""What IMKPL starts from: factors of its kernels, nearest rows, and medoids.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
N         n                       rows
K         K           (m, N)      rows of the mixed kernel; of all N, symmetric
z, delta  z, width    (N,)        a feature and its squared width
L'        columns     (r, N)      exp(-(z_i - z_j)^2 / delta) = (L L')_ij
========  ==========  ==========  ====================================================
"""

import math

import numpy as np

from smpcore.solvers import kernel
from smpcore.solvers.losses import gaussians


@kernel
def eliminate(z, width, rounding, columns):
    """Write columns of L by Cholesky's elimination, the row of largest error first.

    Returns how many; as many as there is room for if some errors may be larger than
    `rounding`.
    """
    residual, x, e = np.ones(z.size), np.empty(z.size), np.empty(z.size)
    bits = e.view(np.int64)
    for step in range(columns.shape[0]):
        pivot = residual.argmax()
        if residual[pivot] <= rounding:
            return step
        column = columns[step]
        gaussians(z[pivot], z, -1.0 / width, x, e, bits)
        column[:] = e
        for t in range(step):
            v = columns[t, pivot]
            for i in range(z.size):
                column[i] -= v * columns[t, i]
        scale = 1.0 / math.sqrt(residual[pivot])
        for i in range(z.size):
            column[i] *= scale
            residual[i] -= column[i] * column[i]
        residual[pivot] = 0.0
    return columns.shape[0]


@kernel
def keep_largest(row, first, last, size, found, values):
    """Keep the columns of the largest values in falling order; return their number.

    Of equal values the first is kept; `size` columns were found before.
    """
    for j in range(first, last):
        v = row[j]
        if size < found.size or (size > 0 and v > values[size - 1]):
            r = size if size < found.size else size - 1
            while r > 0 and values[r - 1] < v:
                found[r], values[r] = found[r - 1], values[r - 1]
                r -= 1
            found[r], values[r] = j, v
            size = min(size + 1, found.size)
    return size


@kernel
def nearest_rows(K, here, start, stop, inside, outside):
    """Write the columns of the largest values of each row in start:stop, and elsewhere.

    Row `a` of K is of row `here[a]`, which is not near itself.
    """
    none = np.int64(0)  # written as 0 it were of another type than the other numbers
    for a in range(K.shape[0]):
        row, i = K[a], here[a]
        values = np.empty(inside.shape[1])
        size = keep_largest(row, start, i, none, inside[a], values)
        keep_largest(row, i + 1, stop, size, inside[a], values)
        values = np.empty(outside.shape[1])
        size = keep_largest(row, none, start, none, outside[a], values)
        keep_largest(row, stop, row.size, size, outside[a], values)


@kernel
def nearest_medoids(K, medoids, cluster, likeness):
    """Write the number of the medoid that each row is most like."""
    likeness[:] = -math.inf
    for q in range(medoids.size):
        row = K[medoids[q]]
        for i in range(row.size):
            if row[i] > likeness[i]:
                likeness[i], cluster[i] = row[i], q
    for q in range(medoids.size):
        cluster[medoids[q]] = q


@kernel
def choose_medoids(K, counts, most_steps, medoids, cluster):
    """Write medoids of all rows, and the number of the one that each is most like.

    The first is the row most like all; each further one the row least like those
    before; then k-medoids. Of equal rows the first is taken.
    """
    n = K.shape[0]
    likeness, total = np.empty(n), np.zeros(n)
    for i in range(n):
        for j in range(n):
            total[j] += counts[i] * K[i, j]
    medoids[0] = total.argmax()
    likeness[:] = K[medoids[0]]
    for q in range(1, medoids.size):
        likeness[medoids[q - 1]] = math.inf
        medoids[q] = likeness.argmin()
        for i in range(n):
            likeness[i] = max(likeness[i], K[medoids[q], i])
    for _ in range(most_steps):
        nearest_medoids(K, medoids, cluster, likeness)
        moved = False
        for q in range(medoids.size):
            total[:] = 0.0
            for i in range(n):
                if cluster[i] == q:
                    for j in range(n):
                        total[j] += counts[i] * K[i, j]
            best = medoids[q]
            largest = -math.inf
            for i in range(n):
                if cluster[i] == q and total[i] > largest:
                    best, largest = i, total[i]
            moved = moved or best != medoids[q]
            medoids[q] = best
        if not moved:
            return
    nearest_medoids(K, medoids, cluster, likeness)
