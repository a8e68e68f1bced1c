"""Compilers, chips, and models made of random numbers."""

import os

import pytest

from smpcore.chips import CHIPS, available
from tests.smpcore.codegen.models import mixed_linear, mixed_table, random_linear


@pytest.fixture(scope="session")
def simulated(tool):
    """A chip; where it cannot be simulated the test is skipped, in CI it fails."""

    def find(name):
        for command in CHIPS[name].needs:
            tool(command)
        if CHIPS[name] not in available():
            assert os.environ.get("CI") != "true", "libsimavr-dev, libelf-dev missing"
            pytest.skip("libsimavr-dev and libelf-dev are not installed")
        return CHIPS[name]

    return find


@pytest.fixture(scope="session")
def random_model():
    """A model with linear prototypes of random numbers."""
    return random_linear


@pytest.fixture(scope="session")
def mixed():
    """A table of numbers and categories with missing values, and its preparation."""
    return mixed_table()


@pytest.fixture(scope="session")
def mixed_model(mixed):
    """A compiled model of the mixed table; the year needs an offset."""
    _, preparation = mixed
    return mixed_linear(preparation)
