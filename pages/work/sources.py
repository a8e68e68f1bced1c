"""Public data that are not bundled: the operator's files, and what OpenML gave."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from pages.work import openml_sets, server_files
from smpcore import Dataset


def is_source(key: str) -> bool:
    """Whether a key can name such data."""
    return key.startswith((server_files.PREFIX, openml_sets.PREFIX))


def listed(chosen: Iterable[str]) -> list[str]:
    """Keys that can be chosen: of OpenML those that the visitor has chosen before."""
    fetched = {key for key in chosen if key.startswith(openml_sets.PREFIX)}
    return [*server_files.listed(), *sorted(fetched)]


def _source(key: str) -> ModuleType:
    return openml_sets if key.startswith(openml_sets.PREFIX) else server_files


def title(key: str) -> str:
    """Name of the data for people."""
    return _source(key).title(key)


def load(key: str) -> Dataset:
    """The data set of a key."""
    return _source(key).load(key)
