"""Where the data of the papers' experiments come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from smpcore.datasets import (
    Dataset,
    Role,
    fetch_openml,
    load_dataset,
    read_table,
    shown,
)
from smpcore.datasets.columns import is_numeric
from smpcore.errors import DatasetError, SmpcoreError


class MissingDataError(SmpcoreError):
    """The data are not on this machine; the text says what they need."""


def _in_letters(name: str) -> str:
    """A name without what separates its words, which differs between places."""
    return "".join(filter(str.isalnum, name.casefold()))


@dataclass(frozen=True)
class Source:
    """A data set of a paper."""

    make: Callable[[], Dataset] | None = None
    file: str = ""
    openml: int | None = None
    target: str = ""
    dropped: tuple[str, ...] = ()
    two_classes: bool = False
    bundled: str = ""
    unavailable: str = ""

    @property
    def option(self) -> str:
        """What the command needs for it."""
        if self.make or self.unavailable:
            return ""
        return " --data FOLDER" if self.file and not self.openml else " --download"

    @property
    def needs(self) -> str:
        """What is missing where it is not here, in words."""
        if self.unavailable:
            return f"not possible here: {self.unavailable}"
        if self.openml:
            return f"needs OpenML ID {self.openml}"
        return f"needs the file {self.file} in the folder of --data"

    def _path(self, folder: Path | None) -> Path | None:
        """The file in a folder, if it is there."""
        path = folder / self.file if folder and self.file else None
        return path if path is not None and path.is_file() else None

    def is_here(self, folder: Path | None = None, download: bool = False) -> bool:
        """Whether `load` need not refuse at once; nothing is read."""
        can_download = bool(self.openml) and download
        return bool(self.make or self._path(folder) or can_download)

    def load(self, folder: Path | None = None, download: bool = False) -> Dataset:
        """Read or make the data."""
        if self.make is not None:
            return self.make()
        if path := self._path(folder):
            with path.open("rb") as file:
                return self._prepared(read_table(file, path.name))
        if self.openml is None or not download:
            raise MissingDataError(self.needs)
        try:
            dataset = fetch_openml(self.openml)
        except DatasetError as error:
            raise MissingDataError(f"{self.needs}: {error}") from error
        if _in_letters(Path(self.file).stem) not in _in_letters(dataset.name):
            raise MissingDataError(
                f"{self.needs}, but OpenML's is {shown(dataset.name)}; use --data with "
                f"the file {self.file}."
            )
        return self._prepared(dataset)

    def _prepared(self, dataset: Dataset) -> Dataset:
        """The columns that the paper used, and its classes."""
        # OpenML's versions with two classes name their targets otherwise.
        target = self.target if self.target in dataset.roles else dataset.target
        # What is read as a row number is a feature in the papers: a rank, say.
        roles: dict[str, Role] = dict.fromkeys(dataset.roles, "feature")
        dropped = [name for name in self.dropped if name in dataset.roles]
        roles |= dict.fromkeys(dropped, "ignore")
        roles[target] = "target"
        dataset = dataset.with_roles(roles)
        values = dataset.frame[target]
        if not self.two_classes or values.nunique() == 2 or not is_numeric(values):
            return dataset
        # Few distinct numbers are taken for classes elsewhere.
        kinds = {target: "number"}
        return dataset.with_roles(kinds=kinds, task="regression").two_classes()


def bundled(*keys: str) -> dict[str, Source]:
    """Bundled data sets by their keys."""
    return {key: Source(make=partial(load_dataset, key), bundled=key) for key in keys}


def generated(key: str, **values: Any) -> Source:
    """A bundled data set that is not of the usual size."""
    return Source(make=partial(load_dataset, key, **values))


def of_openml(number: int, name: str, **more: Any) -> Source:
    """A data set of OpenML, or a file with its name; cut at its mean."""
    return Source(openml=number, file=f"{name}.arff", two_classes=True, **more)


def unavailable(why: str, *names: str) -> dict[str, Source]:
    """Data sets that nobody else can have."""
    return dict.fromkeys(names, Source(unavailable=why))
