"""Memory that is free goes back to the system."""

from __future__ import annotations

import contextlib
import ctypes
import gc

import pyarrow


def give_back() -> None:
    """Collect garbage and return what is free: after large tables glibc keeps it."""
    gc.collect()
    pyarrow.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)
