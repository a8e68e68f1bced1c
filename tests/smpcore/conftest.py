"""Shared by all tests of the library."""

import importlib
import pkgutil

import numba
import pytest

import smpcore.solvers


def compiled_kernels():
    """Name -> kernel, for every kernel of every solver module."""
    found = {}
    for module in pkgutil.iter_modules(smpcore.solvers.__path__):
        name = f"smpcore.solvers.{module.name}"
        for key, value in vars(importlib.import_module(name)).items():
            if getattr(value, "__module__", "") == name and callable(value):
                found[f"{module.name}.{key}"] = value
    return found


@pytest.fixture(scope="session", autouse=True)
def one_signature_for_each_kernel():
    """A second signature would be compiled while a user waits."""
    yield
    if numba.config.DISABLE_JIT:
        return
    counts = {name: len(k.signatures) for name, k in compiled_kernels().items()}
    assert counts
    assert {name: n for name, n in counts.items() if n > 1} == {}
