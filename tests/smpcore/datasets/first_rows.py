"""Tables whose first row is names that are numbers, and tables that have no names."""

import numpy as np

#: Cells of a first column by its name, and the numbers that other names may be.
KEYS = {
    "country": "C{}",
    "Station": "S{:02}",
    "nr": "{}",
    "": "Alb {}",
    "patient": "p{}",
}


def _rows(cells, form="{}"):
    return [[form.format(cell) for cell in row] for row in cells.tolist()]


def _numbers(rng, n_rows, width):
    """Values that are not like years, of one kind."""
    shape = n_rows, width
    size = 10 ** rng.uniform(4, 7, (n_rows, 1)) * rng.uniform(0.9, 1.1, shape)
    curves = np.cumsum(rng.normal(0.5, 1, shape), 1) + rng.normal(50, 10, (n_rows, 1))
    kinds = [(rng.normal(0, 10, shape), "{:.1f}"), (rng.integers(0, 20, shape), "{}")]
    kinds += [(rng.uniform(size=shape), "{:.3f}"), (size, "{:.0f}"), (curves, "{:.2f}")]
    return _rows(*kinds[rng.integers(len(kinds))])


def _names(rng, width):
    """Years, dates, or times that rise; or numbers from 1."""
    year, step = int(rng.integers(1950, 2000)), int(rng.choice([1, 5, -1]))
    days = [f"{i + 1:02}.03.{year}" for i in range(width)]
    months = [f"{year}-{i + 1:02}-01" for i in range(width)]
    minutes = sorted(rng.choice([0, 5, 10, 15, 30, 60, 120, 240, 480], width, False))
    every = [year + step * i for i in range(width)]
    kinds = [every, every, days, months, minutes, range(1, width + 1)]
    return [str(name) for name in kinds[rng.integers(len(kinds))]]


def named_by_numbers(rng):
    """Names, and rows below them."""
    n_rows, width = int(rng.choice([3, 4, 5, 8, 15, 30])), int(rng.integers(2, 9))
    names, rows = _names(rng, width), _numbers(rng, n_rows, width)
    key, has_label = str(rng.choice([*KEYS])), rng.random() < 0.5
    rows = [[KEYS[key].format(i + 1), *row] for i, row in enumerate(rows)]
    if has_label:
        labels = rng.choice(["yes", "no"], n_rows)
        rows = [[*row, label] for row, label in zip(rows, labels, strict=True)]
    return [key, *names, *["class"] * has_label], rows


def _measured(rng, n_rows):
    sizes = rng.normal([5.8, 3, 3.7, 1.2], [0.8, 0.4, 1.7, 0.7], (n_rows, 4))
    species = rng.choice(["setosa", "virginica"], n_rows)
    rows = _rows(sizes, "{:.1f}")
    return [[*row, kind] for row, kind in zip(rows, species, strict=True)]


def _pixels(rng, n_rows):
    grey = rng.integers(0, 256, (n_rows, 64))
    return _rows(np.c_[rng.integers(0, 10, n_rows), np.where(grey > 128, grey, 0)])


def _dated(rng, n_rows):
    counts = _rows(rng.integers(0, 500, (n_rows, 3)))
    return [[f"2024-01-{i % 28 + 1:02}", *row] for i, row in enumerate(counts)]


def _people(rng, n_rows):
    ages, sexes = rng.integers(18, 90, n_rows), rng.choice(["male", "female"], n_rows)
    rest = _rows(rng.uniform(18, 40, (n_rows, 2)), "{:.1f}")
    return [[str(a), s, *r] for a, s, r in zip(ages, sexes, rest, strict=True)]


def _by_year(rng, n_rows):
    values = _rows(rng.normal(50, 10, (n_rows, 3)), "{:.1f}")
    return [[str(1990 + i), *row] for i, row in enumerate(values)]


def _in_order(rng, n_rows):
    x = np.sort(rng.uniform(0, 100, n_rows))
    return _rows(np.c_[x, 3 * x + rng.normal(size=n_rows)], "{:.2f}")


def _answers(rng, n_rows):
    return _rows(rng.integers(0, 2, (n_rows, 8)))


NAMELESS = [_measured, _pixels, _dated, _people, _by_year, _in_order, _answers]
NAMELESS += [lambda rng, n_rows: _numbers(rng, n_rows, int(rng.integers(2, 9)))]


def nameless(rng):
    """Rows without names."""
    kind = NAMELESS[rng.integers(len(NAMELESS))]
    return kind(rng, int(rng.choice([3, 5, 10, 30, 100])))
