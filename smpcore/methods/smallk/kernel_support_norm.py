"""The k-support norm: its value, its proximal map, and the set behind it.

The squared norm is the tightest convex stand-in for "ridge, and at most k weights":

    ||v||_k^2 = min { sum_r v_r^2 / e_r : 0 <= e <= 1, sum e <= k }

========  ==========  ==========  ====================================================
symbol    name        shape       meaning
========  ==========  ==========  ====================================================
v         v           (n,)        weights of one prototype, without its bias
k         k           int         0 < k < n
e         shares      (n,)        share of each feature: 1 is fully in, 0 is out
beta      beta        number      step length times weight of the norm
          sizes       (2, n)      work: sorted sizes, ascending, and their running sum
========  ==========  ==========  ====================================================

Every map below sorts once and then walks along a line whose slope changes at known
places: O(n log n), and exact.
"""

from smpcore.solvers import kernel

#: Weights no larger are taken for 0: dividing by them could overflow.
NEGLIGIBLE = 1e-150


@kernel
def sort_sizes(v, sizes):
    """Write the sorted sizes of v and their running sum; count those that are not 0."""
    n_nonzeros, total = 0, 0.0
    for r in range(v.size):
        sizes[0, r] = abs(v[r])
        if sizes[0, r] > NEGLIGIBLE:
            n_nonzeros += 1
    sizes[0].sort()
    for i in range(v.size):
        total += sizes[0, i]
        sizes[1, i] = total
    return n_nonzeros


@kernel
def sum_largest_squares(v, k, sizes):
    """Sum of the k largest squares of v: the conjugate of the squared norm, doubled."""
    sort_sizes(v, sizes)
    total = 0.0
    for i in range(v.size - k, v.size):
        total += sizes[0, i] * sizes[0, i]
    return total


@kernel
def squared_support_norm(v, k, shares, sizes):
    """Squared k-support norm of v, and the shares e that attain it.

    They are min(1, c |v|): the largest weights are fully in, the rest divide what is
    left of k in proportion to their size. Up to k nonzero weights are all fully in.
    """
    n = v.size
    head = 0.0
    if sort_sizes(v, sizes) <= k:
        for r in range(n):
            shares[r] = 1.0 if abs(v[r]) > NEGLIGIBLE else 0.0
            head += v[r] * v[r]
        return head
    last, left = n - 1, k
    while left > 1 and sizes[0, last] * left > sizes[1, last]:
        head += sizes[0, last] * sizes[0, last]
        last -= 1
        left -= 1
    for r in range(n):
        fully = abs(v[r]) > sizes[0, last]
        shares[r] = 1.0 if fully else abs(v[r]) * left / sizes[1, last]
    return head + sizes[1, last] * sizes[1, last] / left


@kernel
def support_norm_prox(v, beta, k, sizes, x):
    """Write argmin ||x - v||^2 / 2 + beta ||x||_k^2 / 2 into x.

    x = v t / (t + beta) with t = min(1, max(0, c |v| - beta)) and c such that the t
    sum to k. As c grows, weights enter at beta / |v| and are full at
    (1 + beta) / |v|, the largest first: between two such events the sum is linear.
    """
    n = v.size
    n_nonzeros = sort_sizes(v, sizes)
    if n_nonzeros <= k:
        for r in range(n):
            x[r] = v[r] / (1.0 + beta)
        return
    entering, filling = n - 1, n - 1  # next of the sorted sizes to enter, to be full
    c = 0.0
    while filling >= n - n_nonzeros:
        largest = sizes[0, filling]
        enters = entering >= n - n_nonzeros
        enters = enters and beta * largest <= (1.0 + beta) * sizes[0, entering]
        event = beta / sizes[0, entering] if enters else (1.0 + beta) / largest
        slope = sizes[1, filling] - (sizes[1, entering] if entering >= 0 else 0.0)
        level = k - (n - 1 - filling) + beta * (filling - entering)
        if slope * event >= level:
            if level > 0.0:
                c = max(c, level / slope)
            break
        c = event
        if enters:
            entering -= 1
        else:
            filling -= 1
    for r in range(n):
        t = min(1.0, max(0.0, c * abs(v[r]) - beta))
        x[r] = v[r] * t / (t + beta)


@kernel
def project_shares(e, k, sizes):
    """Nearest point with 0 <= e <= 1 and sum <= k, in place.

    It is min(1, max(0, e - t)), t >= 0. As t falls, shares enter at t = e and are full
    at t = e - 1, the largest first. Entries above 1 must not be cut before: that would
    change the order.
    """
    n = e.size
    total = 0.0
    for r in range(n):
        sizes[0, r] = e[r]
        total += min(1.0, max(0.0, e[r]))
    t = 0.0
    if total > k:
        sizes[0].sort()
        total = 0.0
        for i in range(n):
            total += sizes[0, i]
            sizes[1, i] = total
        entering, filling = n - 1, n - 1
        while filling >= 0:
            enters = entering >= 0 and sizes[0, entering] >= sizes[0, filling] - 1.0
            event = sizes[0, entering] if enters else sizes[0, filling] - 1.0
            active = filling - entering
            inside = sizes[1, filling] - (sizes[1, entering] if entering >= 0 else 0.0)
            level = k - (n - 1 - filling)
            if inside - event * active >= level:
                t = (inside - level) / active if active > 0 else t
                break
            t = event
            if enters:
                entering -= 1
            else:
                filling -= 1
    for r in range(n):
        e[r] = min(1.0, max(0.0, e[r] - t))
