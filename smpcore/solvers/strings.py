"""Edit distances of strings, and those of every string that is one edit away.

A string is a row of codes 0, 1, ... with -1 behind its end.

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
x         x           (L,) int    a string of n_x codes
z         z           (L,) int    a string of n_z codes
          ahead       (L+1, L+1)  distance of the first i codes of x to the first k of z
          behind      (L+1, L+1)  distance of x from code i on to z from code k on
A         letters     number      codes are 0, ..., A - 1
          out         (edits,)    distance of x to every z with one edit
========  ==========  ==========  ====================================================

Edits in order: put letter a in the place of code k (k A + a); before code k or at the
end (n_z A + k A + a); leave code k out ((2 n_z + 1) A + k).
"""

import numpy as np

from . import kernel


@kernel
def count_codes(x):
    """Codes before the padding."""
    for i in range(x.size):
        if x[i] < 0:
            return i
    return x.size


@kernel
def fill_ahead(x, n_x, z, n_z, ahead):
    """Write the distances of all beginnings; return that of the whole strings."""
    for i in range(n_x + 1):
        for k in range(n_z + 1):
            if i == 0 or k == 0:
                ahead[i, k] = i + k
            else:
                swap = ahead[i - 1, k - 1] + (1 if x[i - 1] != z[k - 1] else 0)
                ahead[i, k] = min(swap, ahead[i - 1, k] + 1, ahead[i, k - 1] + 1)
    return ahead[n_x, n_z]


@kernel
def fill_behind(x, n_x, z, n_z, behind):
    """Write the distances of all ends."""
    for i in range(n_x, -1, -1):
        for k in range(n_z, -1, -1):
            if i == n_x or k == n_z:
                behind[i, k] = (n_x - i) + (n_z - k)
            else:
                swap = behind[i + 1, k + 1] + (1 if x[i] != z[k] else 0)
                behind[i, k] = min(swap, behind[i + 1, k] + 1, behind[i, k + 1] + 1)


@kernel
def edit_distances(X, Z, out):
    """Write the distance of each row of X to each row of Z."""
    size = max(X.shape[1], Z.shape[1]) + 1
    ahead = np.empty((size, size), dtype=np.int64)
    for j in range(Z.shape[0]):
        n_z = count_codes(Z[j])
        for i in range(X.shape[0]):
            out[i, j] = fill_ahead(X[i], count_codes(X[i]), Z[j], n_z, ahead)


@kernel
def neighbour_distances(X, z, letters, out):
    """Write the distance of each row of X to every string one edit from z.

    The letter that is put in stands opposite a code of x or opposite none; what lies
    before and behind it is in the tables. So a whole table of neighbours costs no more
    than a few distances.
    """
    size = max(X.shape[1], z.size) + 1
    ahead = np.empty((size, size), dtype=np.int64)
    behind = np.empty((size, size), dtype=np.int64)
    n_z = count_codes(z)
    leave_out = (2 * n_z + 1) * letters
    for row in range(X.shape[0]):
        x = X[row]
        n_x = count_codes(x)
        fill_ahead(x, n_x, z, n_z, ahead)
        fill_behind(x, n_x, z, n_z, behind)
        for k in range(n_z + 1):
            for skipped in range(2):  # 1: code k gives way, 0: it stays
                after = k + skipped
                if after > n_z:
                    continue
                start = k * letters + (0 if skipped == 1 else n_z * letters)
                other, without = n_x + n_z + 1, n_x + n_z + 1
                for i in range(n_x + 1):
                    without = min(without, ahead[i, k] + behind[i, after])
                    if i < n_x:
                        other = min(other, ahead[i, k] + behind[i + 1, after] + 1)
                other = min(other, without + 1)
                for a in range(letters):
                    out[row, start + a] = other
                for i in range(n_x):
                    place = start + x[i]
                    same = ahead[i, k] + behind[i + 1, after]
                    out[row, place] = min(out[row, place], same)
                if skipped == 1:
                    out[row, leave_out + k] = without
