"""What the visitor has chosen: one record decides which model is on the screen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pages.shared import cached, private
from smpcore import METHODS, Dataset, Split, list_datasets

BUNDLED = {info.key: info for info in list_datasets()}
#: In place of a bundled key: the visitor's own table.
MINE = "mine"


@dataclass(frozen=True)
class Choice:
    """Everything that decides which model is on the screen.

    Parameters
    ----------
    data : str
        A bundled key, or `MINE`.
    data_values : dict
        Parameters of a generated data set.
    token : str
        Of the visitor's own table.
    validation, test : float
        Shares of the rows.
    seed : int
        Of the split.
    method : str
    values : dict
        Of the method's parameters.
    view : dict
        ``kind`` ("pca" or "axes"), ``first``, ``second``, ``at`` (feature -> value).
    open_test : bool
        Whether the test part is open now.
    opened : dict
        Digest of a data set -> how often its test part was opened.
    """

    data: str = "moons"
    data_values: dict[str, Any] = field(default_factory=dict)
    token: str = ""
    validation: float = 0.2
    test: float = 0.2
    seed: int = 0
    method: str = next(iter(METHODS))
    values: dict[str, Any] = field(default_factory=dict)
    view: dict[str, Any] = field(default_factory=dict)
    open_test: bool = False
    opened: dict[str, int] = field(default_factory=dict)

    @property
    def all_values(self) -> dict[str, Any]:
        """The method's parameters, defaults filled in."""
        method = METHODS[self.method]
        values = {**method.defaults(), **self.values}
        for param in method.params:
            if param.scale == "class" and values[param.name] is not None:
                values[param.name] = self._label(values[param.name])
        return values

    def _label(self, text: Any) -> Any:
        """The class that reads like this; None if the data have no such class."""
        found = [c for c in self.dataset().classes.tolist() if str(c) == str(text)]
        return found[0] if found else None

    @property
    def times_opened(self) -> int:
        """How often the test part of these data was opened."""
        return self.opened.get(self.dataset().digest, 0)

    def dataset(self) -> Dataset:
        """The data set itself."""
        return self._table()[0]

    def _table(self) -> tuple[Dataset, Split | None]:
        if self.data == MINE:
            return private.visit(self.token)
        values = {p.name: p.start for p in BUNDLED[self.data].params}
        values.update(self.data_values)
        return cached.bundled(self.data, cached.pairs(values)), None

    def parts(self) -> cached.Parts:
        """The data set, split and prepared."""
        dataset, division = self._table()
        if division is None:
            division = cached.split_of(dataset, self.validation, self.test, self.seed)
        return cached.parts(dataset, division)

    def view_of(self, data: cached.Parts) -> dict[str, Any]:
        """The view, made to fit these data."""
        n = len(data.preparation.feature_names)
        first = min(int(self.view.get("first", 0)), n - 1)
        second = min(int(self.view.get("second", 1)), n - 1)
        kind = self.view.get("kind", "pca") if n > 2 else "axes"
        at = self.view.get("at", {}) if kind == "axes" else {}
        fixed = [(i, v) for i, v in sorted(at.items()) if i < n]
        fixed = [(i, v) for i, v in fixed if i not in (first, second)]
        return {"kind": kind, "first": first, "second": second, "at": tuple(fixed)}
