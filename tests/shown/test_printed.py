"""A changed cell of a printed table breaks the sum of its column.

Sums were taken when the tables had been compared with the papers, cell by cell.
"""

import csv
from pathlib import Path

import pytest

from smpcore.papers.imkpl import tables

PAPERS = Path(tables.__file__).parents[1]
#: Model -> sums of the printed accuracies and of their spreads, in hundredths.
SMALL = {
    **{"LSVM": (1287, 91), "RF": (1247, 78), "AB": (1231, 90), "LR": (1297, 81)},
    **{"DT": (1210, 99), "kNN": (1217, 83), "RSVM": (1260, 104), "GB": (1224, 85)},
    **{"GP": (1275, 85), "SMaLL": (1323, 75)},
}
SMP = {
    **{"LSVM": (1538, 89), "RF": (1496, 97), "AB": (1495, 101), "LR": (1560, 82)},
    **{"DT": (1453, 104), "kNN": (1475, 87), "RSVM": (1515, 105), "GB": (1489, 97)},
    **{"QDA": (1461, 116), "GP": (1544, 83), "SMP": (1602, 79)},
}
IMKPL = {
    "_IP_DR": [712, 672, 560, 507, 486, 291, 320],
    "_ACC_KERNELS": [1001.15, 338.04, 1617.64, 980.87, 2107.55, 330.76, 322.29],
}


@pytest.mark.parametrize(("folder", "sums"), [("small", SMALL), ("smp", SMP)])
def test_accuracies(folder, sums):
    with (PAPERS / folder / "table_1.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    for model, expected in sums.items():
        pairs = [line[model].split("±") for line in lines]
        shares = [sum(round(100 * float(pair[i])) for pair in pairs) for i in (0, 1)]
        assert tuple(shares) == expected, model
    assert {*lines[0]} == {"data", *sums}


@pytest.mark.parametrize(("name", "sums"), IMKPL.items())
def test_measures_of_imkpl(name, sums):
    lines = [line.split() for line in getattr(tables, name).values()]
    shown = [sum(float(cell) for cell in line if cell != "-") for line in lines]
    assert shown == pytest.approx(sums)
