"""Columns in many notations: an offer to read numbers gives what was meant, or none."""

import numpy as np
import pytest

from smpcore.datasets import apply_steps, read_table, suggest_codes
from smpcore.datasets.columns import as_numbers

N = 40
SCALES = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "Mio": 1e6, "B": 1e9, "bn": 1e9}


def grouped(value, digits, group, decimal):
    """A number with a sign between thousands and one before decimals."""
    parts = str.maketrans(",.", "\0\1")
    text = f"{value:,.{digits}f}".translate(parts)
    return text.replace("\0", group).replace("\1", decimal)


def signs(rng):
    """A sign between thousands and one before decimals."""
    pairs = [",.", ".,", "'.", " ,", "\u202f,", "’."]
    return pairs[rng.integers(len(pairs))]


def values(rng, n=N):
    """Numbers of any size, and how many decimals they have."""
    low, digits = rng.choice([0, 1, 100, 1000]), int(rng.integers(0, 5))
    numbers = rng.uniform(low, low + rng.choice([1, 10, 900, 3e6]), n)
    numbers *= rng.choice([-1, 1], n) if rng.random() < 0.3 else 1
    return np.round(numbers, digits) + 0.0, digits


def in_form(form):
    """Numbers written alike: what `form` makes of each."""

    def column(rng):
        numbers, digits = values(rng)
        pair = signs(rng)
        return [form.format(grouped(v, digits, *pair)) for v in numbers], numbers

    return column


def of_units(**units):
    """Numbers of several units, each with the size of one."""

    def column(rng):
        numbers, digits = values(rng)
        names = rng.choice([*units], N)
        meant = numbers * [units[name] for name in names]
        pairs = zip(numbers, names, strict=True)
        return [f"{v:.{digits}f} {name}" for v, name in pairs], meant

    return column


def scaled(rng):
    """Thousands and millions, of money or not, some or all of one sort."""
    numbers = np.round(rng.uniform(1, 900, N), int(rng.integers(0, 2)))
    names = rng.choice(rng.choice([*SCALES], rng.integers(1, 4)), N)
    form = rng.choice(["€{}{}", "{}{}", "$ {} {}"])
    meant = numbers * [SCALES[name] for name in names]
    pairs = zip(numbers, names, strict=True)
    return [form.format(f"{v:g}", name) for v, name in pairs], meant


def marked(rng):
    """Marks of footnotes behind some numbers."""
    numbers, digits = values(rng)
    mark = rng.choice(["*", "†", "**", " *", "[1]", "¹", "a", "p"])
    some = rng.random(N) < rng.choice([0.02, 0.1, 0.3])
    pairs = zip(numbers, some, strict=True)
    return [f"{v:.{digits}f}" + mark * bool(one) for v, one in pairs], numbers


def scientific(rng):
    """Powers of ten."""
    texts = [f"{v:.3e}" for v in values(rng)[0]]
    sign = signs(rng)[1]
    return [one.replace(".", sign) for one in texts], np.array([*map(float, texts)])


def some_grouped(rng):
    """Thousands are parted in some of the numbers only."""
    numbers = np.round(rng.uniform(0, 10 ** rng.integers(3, 7, N)))
    pair = signs(rng)
    return [grouped(v, 0, *pair) for v in numbers], numbers


def two_hands(rng):
    """Decimal points and commas in one column."""
    numbers, digits = values(rng)
    pairs = rng.choice([",.", ".,"], N)
    return [
        grouped(v, digits, *pair) for v, pair in zip(numbers, pairs, strict=True)
    ], numbers


def shares(rng):
    """Percentages, and bare shares among them."""
    numbers, bare = np.round(rng.uniform(1, 99, N), 1), rng.random(N) < 0.2
    pairs = zip(numbers, bare, strict=True)
    return [f"{v / 100:.3f}" if one else f"{v}%" for v, one in pairs], numbers


def with_words(rng):
    """A word in place of some numbers, which is no number."""
    numbers, digits = values(rng)
    some = rng.random(N) < rng.choice([0.02, 0.2])
    pairs = zip(numbers, some, strict=True)
    texts = ["high" if one else f"{v:.{digits}f}" for v, one in pairs]
    return texts, np.where(some, np.inf, numbers)


NOTATIONS = {
    **{form: in_form(form) for form in ("{}", "€{}", "{} EUR", "{} kg", "{}%", "({})")},
    **{"g and mg": of_units(g=1, mg=1e-3), "weeks": of_units(weeks=7, days=1)},
    **{"kB and MB": of_units(kB=1e3, MB=1e6), "x10^3": in_form("{}x10^3")},
    **{one.__name__: one for one in (scaled, marked, scientific, some_grouped)},
    **{one.__name__: one for one in (two_hands, shares, with_words)},
}
#: What a form means beside the number in it.
FACTORS = {"({})": -1, "x10^3": 1e3}


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("name", NOTATIONS)
@pytest.mark.parametrize("seed", range(6))
def test_an_offer_to_read_numbers_gives_what_was_meant(name, seed, sign):
    cells, meant = NOTATIONS[name](np.random.default_rng([seed, *name.encode()]))
    meant = meant * FACTORS.get(name, 1)
    rows = [f'"{cell}"{sign}{i % 7}{sign}{"pq"[i % 2]}' for i, cell in enumerate(cells)]
    text = "\n".join([sign.join("xny"), *rows])
    data = read_table(text.encode(), "t.csv")
    offers = [one for one in suggest_codes(data) if one.step.column == "x"]
    offers = [one for one in offers if not one.step.is_empty]
    right = []
    for one in offers:
        column = apply_steps(data.whole, [one.step])["x"]
        numbers = as_numbers(column)
        there = ~np.isnan(numbers)
        assert there.mean() >= 0.95, one.reason
        right.append(np.allclose(numbers[there], meant[there], rtol=1e-9))
        again = apply_steps(column.to_frame(), [one.step])["x"]
        np.testing.assert_array_equal(as_numbers(again), numbers)
        if len(offers) > 1:  # asked, with what each reading gives
            assert "two ways" in one.reason
    assert not offers or sum(right) == 1, [one.reason for one in offers]
