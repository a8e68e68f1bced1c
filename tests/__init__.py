"""Tests of the library and of the pages."""

import time
from collections.abc import Iterator

#: Seconds after which what was waited for never comes; a busy machine is quicker.
PATIENCE = 120.0


def attempts(pause: float = 0.0) -> Iterator[None]:
    """Try again, with pauses of so many seconds, as long as there is patience."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)
