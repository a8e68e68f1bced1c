"""Public data that are not bundled: the operator's files, and what OpenML gave."""

from __future__ import annotations

from pages.work import openml_sets, server_files
from smpcore import Dataset


def is_source(key: str) -> bool:
    """Whether a key can name such data."""
    return key.startswith((server_files.PREFIX, openml_sets.PREFIX))


def listed() -> list[str]:
    """Keys that can be chosen."""
    return [*server_files.listed(), *openml_sets.listed()]


def title(key: str) -> str:
    """Name of the data for people."""
    home = openml_sets if key.startswith(openml_sets.PREFIX) else server_files
    return home.title(key)


def load(key: str) -> Dataset:
    """The data set of a key.

    Raises
    ------
    SmpcoreError
        If it is not there.
    """
    home = openml_sets if key.startswith(openml_sets.PREFIX) else server_files
    return home.load(key)
