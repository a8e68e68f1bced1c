"""Python of `SparseCode`: the search for the code of an input, and its votes."""

from __future__ import annotations

#: Reads constants of `scripts`.
SPARSE_CODE = '''\
def _pair(i, j, n):
    return GRAM[i * n + j]


def _append(factor, support, chosen, n):
    """Add a row to the factor, whose diagonal holds reciprocals; return the pivot."""
    row = []
    pivot = _pair(chosen, chosen, n)
    for r, above in enumerate(factor):
        rest = _pair(chosen, support[r], n)
        for t in range(r):
            rest = _float32(rest - _float32(above[t] * row[t]))
        row.append(_float32(rest * above[r]))
        pivot = _float32(pivot - _float32(row[r] * row[r]))
    row.append(_inverse_root(pivot))
    factor.append(row)
    return pivot


def _solve(factor, support, alike):
    """Best weights on the support, whatever their signs."""
    z = []
    for r, j in enumerate(support):
        rest = alike[j]
        for t in range(r):
            rest = _float32(rest - _float32(factor[r][t] * z[t]))
        z.append(_float32(rest * factor[r][r]))
    for r in range(len(z) - 1, -1, -1):
        rest = z[r]
        for t in range(r + 1, len(z)):
            rest = _float32(rest - _float32(factor[t][r] * z[t]))
        z[r] = _float32(rest * factor[r][r])
    return z


def _share(x, z):
    """Share of the way from x to z on which a weight stays above 0."""
    if z > 0:
        return 2.0
    if not x > z:
        return 0.0
    root = _inverse_root(_float32(x - z))
    return _float32(_float32(x * root) * root)


def _drop(amount, z, free, support):
    """Go towards the solution until a weight is 0, and take it out."""
    shares = [_share(x, z[r]) for r, x in enumerate(amount)]
    first = 0
    for r, share in enumerate(shares):
        # What is no number comes first.
        if shares[first] == shares[first] and not share >= shares[first]:
            first = r
    share = shares[first]
    moved = []
    for r, x in enumerate(amount):
        moved.append(_float32(x + _float32(share * _float32(z[r] - x))))
    largest = 0.0
    for x in moved:
        if x > largest:
            largest = x
    gone = _float32(GONE * largest)
    kept = []
    for r, j in enumerate(support):
        if r == first or (not z[r] > 0 and moved[r] <= gone):
            free[j] = True
        else:
            kept.append(r)
    return [support[r] for r in kept], [moved[r] for r in kept]


def _enters(alike, free, support, amount, flat, equal):
    """Prototype with the steepest slope, the lowest of equal ones; or None."""
    n = len(alike)
    slopes = []
    for j, own in enumerate(alike):
        slope = -own
        for r, i in enumerate(support):
            slope = _float32(slope + _float32(amount[r] * _pair(i, j, n)))
        slopes.append(slope if free[j] and slope == slope else float("inf"))
    near = _float32(min(slopes) + equal)
    for j, slope in enumerate(slopes):
        if slope <= near and slope < -flat:
            return j
    return None


def sparse_code(alike):
    """Prototypes that reconstruct the input together, found greedily; their votes."""
    n = len(alike)
    free = [value == value for value in alike]
    largest = max([abs(value) for value in alike if value == value] + [0.0])
    flat, equal = _float32(FLAT * largest), _float32(EQUAL * largest)
    support, amount, factor = [], [], []
    value = 0.0
    step = 0
    while step < MOST_STEPS:
        chosen = _enters(alike, free, support, amount, flat, equal)
        if chosen is None:
            break
        free[chosen] = False
        pivot = _append(factor, support, chosen, n)
        if not pivot > _float32(DEPENDENT * _pair(chosen, chosen, n)):
            factor.pop()  # it depends on the others
            continue
        support.append(chosen)
        amount.append(0.0)
        step += 1
        z = _solve(factor, support, alike)
        while not all(weight > 0 for weight in z):
            support, amount = _drop(amount, z, free, support)
            factor = []
            for r, j in enumerate(support):
                _append(factor, support[:r], j, n)
            z = _solve(factor, support, alike)
        amount = z
        lower = 0.0
        for r, j in enumerate(support):
            own = _float32(-0.5 * alike[j])
            lower = _float32(lower + _float32(own * amount[r]))
        fell = _float32(value - lower) > _float32(LITTLE * abs(lower))
        if not fell or len(support) == CODE_SIZE:
            break
        value = lower
    votes = [0.0] * N_OUTPUTS
    for r, j in enumerate(support):
        for k in range(N_OUTPUTS):
            vote = _float32(VOTES[j * N_OUTPUTS + k] * amount[r])
            votes[k] = _float32(votes[k] + vote)
    if not support:
        votes[WITHOUT_CODE] = UNREPRESENTED
    return votes
'''
