"""What the visitor has chosen: one record decides which model is on the screen."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

from pages.state import table_store
from pages.work import cache, sources
from smpcore import (
    METHODS,
    Dataset,
    PrototypeModel,
    Split,
    at_threshold,
    forbiddable,
    list_datasets,
)

BUNDLED = {info.key: info for info in list_datasets()}
#: In place of a bundled key: the visitor's own table.
MINE = "mine"
#: What the target of a task is, in words.
ANSWERS = {"classification": "a class", "regression": "a number"}


@dataclass(frozen=True)
class Choice:
    """Everything that decides which model is on the screen.

    Parameters
    ----------
    data : str
        A bundled key, `MINE`, or the key of one of `sources`.
    data_values : dict
        Parameters of a generated data set.
    two_classes : bool
        A number to predict is cut at its mean.
    token : str
        Of the visitor's own table.
    others : tuple of str
        Of more tables of the visitor's own, which are at hand.
    forbidden : tuple of str
        What models must not use, of `forbiddable`.
    validation, test : float
        Shares of the rows.
    seed : int
        Of the split.
    method : str
    values : dict
        Of the method's parameters.
    view : dict
        ``kind`` (of `view_kinds`), ``first``, ``second``, ``at`` (feature -> value).
    open_test : bool
        Whether the test part is open now.
    opened : dict
        Digest of a `table` -> how often its test part was opened.
    threshold, band : float
        Of a model of two classes: the margin of the second class from which on it is
        the answer, and how near to that the model is not sure.
    set_for : str
        `key` of the model that these two were set for: no other has them.
    """

    data: str = "moons"
    data_values: dict[str, Any] = field(default_factory=dict)
    two_classes: bool = False
    token: str = ""
    others: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    validation: float = 0.2
    test: float = 0.2
    seed: int = 0
    method: str = next(iter(METHODS))
    values: dict[str, Any] = field(default_factory=dict)
    view: dict[str, Any] = field(default_factory=dict)
    open_test: bool = False
    opened: dict[str, int] = field(default_factory=dict)
    threshold: float = 0.0
    band: float = 0.0
    set_for: str = ""

    @property
    def own(self) -> tuple[str, ...]:
        """Tokens of the visitor's own tables, the one shown last first."""
        return (self.token, *self.others) if self.token else self.others

    @property
    def source(self) -> tuple[str, str]:
        """Which data: of two tables of the visitor's own also which one."""
        return self.data, self.token if self.data == MINE else ""

    @property
    def key(self) -> str:
        """Short text that is the same for the same model only."""
        data = self.data, sorted(self.data_values.items()), self.token, self.two_classes
        data = (*data, *self.forbidden)
        parts = self.validation, self.test, self.seed
        own = self.method, sorted(self.all_values.items())
        words = repr((data, parts, own)).encode()
        return hashlib.blake2b(words, digest_size=8).hexdigest()

    @property
    def operating(self) -> str:
        """Threshold and band of this very model in words; empty if none is set."""
        if self.set_for != self.key or not (self.threshold or self.band):
            return ""
        words = f"Threshold moved to {self.threshold:.4g}" if self.threshold else ""
        if self.band:
            words += f"{' and n' if words else 'N'}ot sure within {self.band:.4g} of it"
        return words

    def at_work(self, estimator: Any) -> Any:
        """The fitted estimator with the threshold and the band set for its model."""
        classes = estimator.model_.classes
        if not self.operating or classes is None or len(classes) != 2:
            return estimator
        moved = copy.copy(estimator)
        model = estimator.model_
        moved.model_ = at_threshold(model, self.threshold, band=self.band)
        return moved

    @property
    def task(self) -> str:
        """What the data ask for."""
        if self.data in BUNDLED and not self.two_classes:
            return BUNDLED[self.data].task
        return self.dataset().task

    def settled(self) -> tuple[Choice, str]:
        """The nearest choice that can learn these data, and what was changed, in words.

        Returns
        -------
        choice : Choice
        said : str
            Empty if nothing was changed.
        """
        known = forbiddable(self.whole()) if self.forbidden else {}
        kept = tuple(name for name in known if name in self.forbidden)
        kept = kept if len(kept) < len(known) else ()
        if lost := [name for name in self.forbidden if name not in kept]:
            choice, said = replace(self, forbidden=kept).settled()
            named = ", ".join(name[:40] for name in lost[:5])
            more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
            told = f"No longer forbidden, as the columns are others now: {named}{more}."
            return choice, f"{told} {said}".strip()
        method, asked = METHODS[self.method], ANSWERS[self.task]
        if self.task not in method.estimators:
            other = next(m for m in METHODS.values() if self.task in m.estimators)
            said = f"{method.title} does not answer with {asked}, which these data "
            said += f"ask for: {other.title} is shown instead."
            return replace(self, method=other.key, values={}), said
        allowed = method.kept(self.values, self.task)
        if len(allowed) == len(self.values):
            return self, ""
        lost = [p for p in method.params if p.name in set(self.values) - set(allowed)]
        left = ", ".join(dict.fromkeys(param.label for param in lost))
        said = f"Left out, since these data ask for {asked}: {left}."
        return replace(self, values=allowed), said

    @property
    def all_values(self) -> dict[str, Any]:
        """The method's parameters, defaults filled in."""
        method = METHODS[self.method]
        values = {**method.defaults(self.task), **self.values}
        for param in method.controls(self.task):
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
        return self.opened.get(self.table().digest, 0)

    def dataset(self) -> Dataset:
        """The data set that models learn from."""
        whole = self.whole()
        return cache.forbidding(whole, self.forbidden) if self.forbidden else whole

    def whole(self) -> Dataset:
        """The data set with the features that are forbidden."""
        return self._posed()[0]

    def table(self) -> Dataset:
        """The same before its number to predict becomes two classes."""
        return self._source()[0]

    def _posed(self) -> tuple[Dataset, Split | None]:
        dataset, division = self._source()
        if self.two_classes and dataset.task == "regression":
            return cache.two_classes(dataset), division
        return dataset, division

    def _source(self) -> tuple[Dataset, Split | None]:
        if self.data == MINE:
            return table_store.visit(self.token)
        if self.data not in BUNDLED:
            return sources.load(self.data), None
        values = {p.name: p.start for p in BUNDLED[self.data].params}
        values.update(self.data_values)
        return cache.bundled(self.data, cache.pairs(values)), None

    def parts(self) -> cache.Parts:
        """The data set, split and prepared."""
        whole, division = self._posed()
        if division is None:
            division = cache.split_of(whole, self.validation, self.test, self.seed)
        return cache.parts(self.dataset(), division)

    def model(self, data: cache.Parts) -> PrototypeModel:
        """The canonical model, with the threshold that is set for it."""
        fit = cache.fit(data, self.method, self.all_values)
        return self.at_work(fit.finished()).model_

    def view_of(self, data: cache.Parts) -> dict[str, Any]:
        """The view, made to fit these data."""
        n = len(data.preparation.feature_names)
        kinds = view_kinds(n, self.task)
        kind = self.view.get("kind")
        kind = kind if kind in kinds else next(iter(kinds))
        first = min(int(self.view.get("first", 0)), n - 1)
        second = min(int(self.view.get("second", 1)), n - 1)
        second = first if kind == "curve" else second
        at = self.view.get("at", {}) if kind != "pca" else {}
        fixed = [(i, v) for i, v in sorted(at.items()) if i < n]
        fixed = [(i, v) for i, v in fixed if i not in (first, second)]
        return {"kind": kind, "first": first, "second": second, "at": tuple(fixed)}


def view_kinds(n_features: int, task: str) -> dict[str, str]:
    """Pictures that there are of so many features, with their names."""
    kinds = {}
    if n_features > 2:
        kinds["pca"] = "main plane (PCA)"
    if n_features > 1 or task == "classification":
        kinds["axes"] = "two features"
    if task == "regression":
        kinds["curve"] = "one feature"
    return kinds
