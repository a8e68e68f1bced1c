"""What a visitor sees first is typical of its kind."""

import numpy as np

from pages.state.links import read_url
from pages.state.session import FIRST
from smpcore import load_dataset
from tests.bench.first_screen import SEEDS, accuracies, fusions


def test_seed_0_is_typical_and_prototypes_merge_inside_the_slider():
    choice, notices = read_url(FIRST)
    assert not notices and "seed" not in choice.data_values
    options = choice.data_values
    tables = [load_dataset(choice.data, **options, seed=s) for s in range(SEEDS)]
    found = np.array([accuracies(table) for table in tables])
    mean, spread = found.mean(axis=0), found.std(axis=0)
    assert mean[0] > mean[1] + 1 and found[0, 0] > found[0, 1]
    assert (np.abs(found[0] - mean) < 0.5 * spread).all()
    first, last = fusions(tables[0])
    assert 10 <= first <= last <= 90
