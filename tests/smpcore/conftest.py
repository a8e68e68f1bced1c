"""Shared by all tests of the library."""

import importlib
from collections import Counter
from pathlib import Path

import numba
import pytest

import smpcore
from smpcore.solvers import kernel_files


def compiled_kernels():
    """Name -> kernel, for every kernel of every file that has some."""
    found = {}
    top = Path(smpcore.__file__).parents[1]
    for path in kernel_files():
        if path.stem == "__init__":
            continue
        name = ".".join(path.relative_to(top).with_suffix("").parts)
        for key, value in vars(importlib.import_module(name)).items():
            if getattr(value, "__module__", "") == name and hasattr(value, "py_func"):
                found[f"{name}.{key}"] = value
    return found


def _kind_of_rows(signature):
    """What a kernel for several kinds of rows is compiled for, one by one."""
    kind = str(signature[0]).partition("(")[0] if signature else ""
    return kind if kind in ("DenseRows", "GramRows", "SparseRows") else ""


@pytest.fixture(scope="session", autouse=True)
def one_signature_for_each_kernel():
    """A second signature would be compiled while a user waits."""
    yield
    if numba.config.DISABLE_JIT:
        return
    counts = {
        name: max(Counter(map(_kind_of_rows, kernel.signatures)).values(), default=0)
        for name, kernel in compiled_kernels().items()
    }
    assert counts
    assert {name: n for name, n in counts.items() if n > 1} == {}
