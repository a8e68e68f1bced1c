"""Columns in many notations: an offer to read numbers gives what was meant, or none.

Marks of missing values likewise: of the whole table, counted, and changeable.
"""

import numpy as np
import pytest

from smpcore.datasets import apply_steps, read_frame, read_table, suggest_codes
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
        size = {"kB": 1e3, "MB": 1e6}.get(one.step.unit, 1)  # on one scale
        right.append(np.allclose(size * numbers[there], meant[there], rtol=1e-9))
        again = apply_steps(column.to_frame(), [one.step])["x"]
        np.testing.assert_array_equal(as_numbers(again), numbers)
        if len(offers) > 1:  # asked, with what each reading gives
            assert "two ways" in one.reason
    assert not offers or sum(right) == 1, [one.reason for one in offers]


def rows_of(*columns):
    """A text table of columns, each a list with its name first."""
    return "\n".join(map(";".join, zip(*columns, strict=True))).encode()


@pytest.mark.parametrize(
    ("cells", "meant"),
    [
        (["12.5 %", "-", "7 %", "n/a"], [12.5, np.nan, 7.0, np.nan]),
        (["(574%)", "1'306%", "-", "497%"], [-574.0, 1306.0, np.nan, 497.0]),
        (["(63.14 kg)*", "7.5 kg", "8 kg-†", "9 kg [a]"], [-63.14, 7.5, -8.0, 9.0]),
        (["+US$4", "US$-3", "+US$15", "US$7"], [4.0, -3.0, 15.0, 7.0]),
    ],
)
def test_marks_and_signs_around_a_unit(cells, meant):
    text = rows_of(["x", *cells * 5], ["y", *"pq" * (len(cells) * 5 // 2)])
    data = read_table(text, "t.csv")
    offers = [one for one in suggest_codes(data) if one.step.column == "x"]
    (offer, *_) = [one for one in offers if one.step.numbers]
    got = as_numbers(apply_steps(data.whole, [offer.step])["x"])
    np.testing.assert_allclose(got, meant * 5)


@pytest.mark.parametrize("mark", ["-", "--", ".", "k.A.", "n.a.", "–", "#NULL!", "NA"])
def test_a_mark_among_numbers_is_missing_in_the_whole_table(mark):
    rng = np.random.default_rng([*mark.encode()])
    numbers = [f"{v:.1f}" for v in rng.uniform(0, 90, N)]
    drugs = rng.choice(["ASS", "Ibuprofen", "keins"], N).tolist()
    for at in (0, 7, 8):
        numbers[at] = mark
    for at in (1, 7):
        drugs[at] = mark
    text = rows_of(["x", *numbers], ["drug", *drugs], ["y", *("pq" * N)[:N]])
    frame, reading, notices = read_frame(text, "t.csv")
    assert frame["x"].dtype == float and frame["x"].isna().sum() == 3
    assert frame["drug"].isna().sum() == 2
    assert {*reading.missing_counts} == {(mark, "x", 3), (mark, "drug", 2)}
    is_usual = mark in ("NA", "#NULL!")
    assert is_usual or any(f"'{mark}' is read as missing" in n for n in notices)
    again = read_frame(text, "t.csv", **reading.options())[0]
    assert again.equals(frame)
    options = {"not_missing": (mark,)} if is_usual else {"missing": ()}
    kept = read_frame(text, "t.csv", **options)[0]
    assert (kept["drug"] == mark).sum() == 2 and (kept["x"] == mark).sum() == 3


def test_words_that_may_be_levels_are_left_to_the_visitor():
    text = rows_of(
        ["x", *(f"{i}" for i in range(30)), "unknown"], ["y", *("ab" * 31)[:31]]
    )
    assert read_frame(text, "t.csv")[0]["x"].iloc[-1] == "unknown"


def test_a_further_mark_is_missing_everywhere():
    text = rows_of(
        ["x", "1", "2", "s.o."], ["z", "s.o.", "u", "v"], ["y", "a", "b", "a"]
    )
    frame = read_frame(text, "t.csv", missing=("s.o.",))[0]
    assert frame["x"].tolist()[:2] == [1, 2] and frame.isna().sum().sum() == 2


@pytest.mark.parametrize("codes", [["EU", "APAC"], ["DE", "FR", "US"], ["MEA", "SA"]])
def test_NA_among_alike_codes_is_a_level_which_is_said_and_can_be_changed(codes):
    regions = [*codes, "NA"] * 9
    n = len(regions)
    text = rows_of(
        ["size", *(f"{i % 5}" for i in range(n - 1)), "NA"],
        ["region", *regions],
        ["y", *("ab" * n)[:n]],
    )
    data = read_table(text, "t.csv")
    assert (data.whole["region"] == "NA").sum() == 9 and data.whole["size"].isna().sum()
    assert data.reading.doubtful_levels == (("region", "level"),)
    assert any("NA is read as a level" in notice for notice in data.notices)
    assert not any(one.step.column == "region" for one in suggest_codes(data))
    other = read_table(text, "t.csv", levels=("region",))
    assert other.whole["region"].isna().sum() == 9
    assert other.reading.doubtful_levels == (("region", "missing"),)


def test_NA_among_words_is_missing():
    text = rows_of(["drug", *["aspirin", "none", "NA"] * 9], ["y", *("ab" * 27)[:27]])
    frame, reading, _ = read_frame(text, "t.csv")
    assert frame["drug"].isna().sum() == 9 and not reading.doubtful_levels


@pytest.mark.parametrize("sign", [";", "\t", ","])
def test_decimal_commas_that_begin_far_down_are_decimals_and_said(sign):
    cells = [f"{i % 50}" for i in range(5_000)] + [f"{i},{i % 10}" for i in range(60)]
    quote = '"' if sign == "," else ""
    rows = [f"{quote}{cell}{quote}{sign}{'ab'[i % 2]}" for i, cell in enumerate(cells)]
    text = "\n".join([f"x{sign}y", *rows]).encode()
    frame, _, notices = read_frame(text, "t.csv")
    assert frame["x"].tolist() == [float(cell.replace(",", ".")) for cell in cells]
    assert "Column 'x' has decimal commas." in notices
    assert read_frame(text, "t.csv", decimal=".")[0]["x"].dtype != float


@pytest.mark.parametrize("seed", range(8))
def test_columns_of_fixed_widths_are_cut_at_their_places(seed):
    rng = np.random.default_rng(seed)
    names = ["Ann Lee", "Bo", "Mia von Berg", "Al"]
    table = {
        "name": rng.choice(names, N),
        "age": rng.integers(18, 99, N),
        "size": np.round(rng.uniform(0, 200, N), 1),
        "place": rng.choice(["New York", "Rome"], N),
        "y": rng.choice(["a", "b"], N),
    }
    order = [*rng.permutation([*table][:-1]), "y"]
    width = {n: max(map(len, map(str, [n, *table[n]]))) + 1 for n in order}
    cells = [order, *zip(*(table[name] for name in order), strict=True)]
    lines = [
        "".join(str(c).ljust(width[n]) for n, c in zip(order, row, strict=True))
        for row in cells
    ]
    text = "\n".join(line.rstrip() for line in lines).encode() + b"\n" * (seed % 2)
    frame, reading, _ = read_frame(text, "t.txt")
    assert reading.widths == tuple(width[name] for name in order[:-1])
    assert list(frame) == order and reading.footer == 0
    for name in order:
        assert [*map(str, frame[name])] == [*map(str, table[name])], name
    again = read_frame(text, "t.txt", **reading.options())[0]
    assert again.equals(frame)
    by_hand = read_frame(text, "t.txt", widths=reading.widths)[0]
    assert by_hand.equals(frame)


def test_words_in_lines_are_no_columns_of_fixed_widths():
    words = "one two three four five six seven".split()
    rng = np.random.default_rng(0)
    rows = [" ".join(rng.choice(words, 4)) + f" {i}" for i in range(30)]
    text = "\n".join(["a b c d n", *rows]).encode()
    frame, reading, _ = read_frame(text, "t.txt")
    assert not reading.widths and frame.shape == (30, 5)
