"""Public data that are not bundled: the operator's files, and what OpenML gave."""

from __future__ import annotations

from pages.shared import fetched, shelf
from smpcore import Dataset


def is_source(key: str) -> bool:
    """Whether a key can name such data."""
    return key.startswith((shelf.PREFIX, fetched.PREFIX))


def listed() -> list[str]:
    """Keys that can be chosen."""
    return [*shelf.listed(), *fetched.listed()]


def title(key: str) -> str:
    """Name of the data for people."""
    home = fetched if key.startswith(fetched.PREFIX) else shelf
    return home.title(key)


def load(key: str) -> Dataset:
    """The data set of a key.

    Raises
    ------
    SmpcoreError
        If it is not there.
    """
    home = fetched if key.startswith(fetched.PREFIX) else shelf
    return home.load(key)
