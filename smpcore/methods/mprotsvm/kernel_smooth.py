"""Multi-prototype SVM with its margins smoothed: rows' shares of sums over all rows.

The loss of a row is the largest of zero and the u_r = 1 - f_y + f_r of its rivals. Here
it is made smooth (Nesterov, Mathematical Programming 2005, section 4):

    max { sum_r p_r u_r - h/2 sum_r p_r^2 : p >= 0, sum_r p_r <= 1 },

at most h / 2 below it. The p that attain it, times C_i, are dual masses that meet the
conditions of `kernel`, whatever the prototypes: they give a bound.
"""

import math

import numpy as np

from smpcore.solvers import kernel


@kernel
def largest(f, lo, hi):
    """Place of the largest of f[lo:hi], the first of equal ones."""
    place = lo
    for r in range(lo + 1, hi):
        if f[r] > f[place]:
            place = r
    return place


@kernel
def smooth_rows(F, tied, y_encoded, starts, limits, h, masses):
    """Sums over the rows of a block, and their dual masses.

    Row i has the scores F[i] and is tied to the prototype of its class that is largest
    in tied[i], which may be F itself. ``masses`` (rows, R) is overwritten: what each
    prototype gains of the row, the mass of its own and minus those of rivals. Returns
    the loss as tied, the loss if every row took its best prototype, the mass, what
    masses and margins make together, and the smooth loss; of mass 0 the last two are 0.
    """
    R = F.shape[1]
    chosen, amount = np.empty(R, dtype=np.int64), np.empty(R)
    loss, free, mass, met, smooth = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(F.shape[0]):
        f, C, row = F[i], limits[i], masses[i]
        lo, hi = starts[y_encoded[i]], starts[y_encoded[i] + 1]
        y = largest(tied[i], lo, hi)
        top = -math.inf
        for r in range(R):
            row[r] = 0.0
            if (r < lo or r >= hi) and f[r] > top:
                top = f[r]
        free += C * max(0.0, 1.0 - f[largest(f, lo, hi)] + top)
        u = 1.0 - f[y] + top
        loss += C * max(0.0, u)
        if not u > 1e-9 * h:  # exact steps leave rows there: rounding decides nothing
            continue
        # p_r = [u_r / h - t]_+, by Newton from the left as in `exact_step`.
        t, m = max(0.0, u / h - 1.0), 0
        for r in range(R):
            if (r < lo or r >= hi) and 1.0 - f[y] + f[r] > t * h:
                chosen[m], amount[m] = r, (1.0 - f[y] + f[r]) / h
                m += 1
        m_before = 0
        while m_before != m:
            total = 0.0
            for e in range(m):
                total += amount[e]
            t = max(0.0, (total - 1.0) / m)
            m_before, m = m, 0
            for e in range(m_before):
                chosen[m], amount[m] = chosen[e], amount[e]
                m += 1 if amount[e] > t else 0
        s = 0.0
        for e in range(m):
            p = amount[e] - t
            s += p
            met += C * p * amount[e] * h
            smooth += C * p * (amount[e] - 0.5 * p) * h
            row[chosen[e]] = -C * p
        row[y] = C if t > 0.0 else C * s
        mass += row[y]
    return loss, free, mass, met, smooth


@kernel
def smooth_change(masses, limits, h, change):
    """Replace changes of the scores by what they change of the masses.

    ``masses`` are those of `smooth_rows`; ``change`` (rows, R) is overwritten.
    """
    for i in range(masses.shape[0]):
        row, df, y = masses[i], change[i], -1
        for r in range(row.size):
            if row[r] > 0.0:
                y = r
        n, total = 0, 0.0
        for r in range(row.size):
            if row[r] < 0.0:
                n += 1
                total += df[r] - df[y]
        # At most mass only its distribution changes.
        mean = total / n if n and row[y] >= limits[i] else 0.0
        moved, df_y = 0.0, df[y]
        for r in range(row.size):
            gain = limits[i] / h * (df[r] - df_y - mean) if row[r] < 0.0 else 0.0
            df[r] = -gain
            moved += gain
        if y >= 0:
            df[y] = moved
